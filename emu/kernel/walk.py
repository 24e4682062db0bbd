"""A user stack walked by a policy: the loops around the step.

    2024      user_unwind_start makes the first step, so the loop yields callers only; perf stores
              the interrupted ip by hand; one method for the whole walk
    2025 on   unwind_user stores the ip of each frame; methods are tried in turn for each
"""

from collections.abc import Callable, Sequence
from errno import EINVAL

from emu.kernel.events import Crash, Event, Name, Refusal
from emu.kernel.methods import fp_frame, sframe_frame
from emu.kernel.older import walk_older
from emu.kernel.policy import TRUTH, Method, Policy, Support
from emu.kernel.state import State, UserTask
from emu.kernel.trace import Failure, KernelTrace
from emu.kernel.user_memory import ReadLimit, UserMemory


def walk(
    policy: Policy, task: UserTask, most: int, *, truth: Sequence[int] = (),
    faulting: bool = True, hypothetical: bool = False, wanted: Method = Method.AUTO,
) -> KernelTrace:  # fmt: skip
    """Walk the current task's user stack.

    Args:
        policy: the revision.
        task: whose stack.
        most: entries.
        truth: return addresses as they really are, innermost first, for the policy of that name.
        faulting: page faults may be taken (deferred); else absent pages end the walk (atomic).
        hypothetical: the generic unwinder also where the revision does not serve the machine.
        wanted: the method that the caller asks for; only revisions of 2024 let it, and perf asks
            for FP where no page fault may be taken.
    """
    if policy is TRUTH:
        ips = (task.sample.pc, *truth)[:most]
        return KernelTrace(ips, 0, Support.SUPPORTED)
    memory = UserMemory(task.sample.memory, task.residency, faulting=faulting)
    support = policy.support(task.arch)
    if support is Support.OLDER and not hypothetical:
        return walk_older(task, most)
    if support is Support.OLDER:
        support = Support.HYPOTHETICAL
    walker = _Walker(policy, State(task, memory), support)
    if policy.each_frame:
        return walker.unwind_user(most)
    return walker.perf_of_2024(most, wanted if faulting else Method.FP)


def loop_of_2024(
    policy: Policy, task: UserTask, most: int, wanted: Method, *, faulting: bool = True
) -> KernelTrace:
    """for_each_user_frame of 2024 for whoever is not perf: callers only, by the method asked for.

    Args:
        policy, task, most, faulting: as for `walk`.
        wanted: the method.
    """
    memory = UserMemory(task.sample.memory, task.residency, faulting=faulting)
    walker = _Walker(policy, State(task, memory), policy.support(task.arch))
    return walker.loop_of_2024(most, wanted)


class _Walker:
    """One walk."""

    def __init__(self, policy: Policy, state: State, support: Support) -> None:
        self._policy, self._state, self._support = policy, state, support
        self._ips: list[int] = []
        self._methods: list[str] = []
        self._failures: list[Failure] = []
        self._type = Method.AUTO
        """Of 2024: state->type, zeroed at the start."""

    # ---- 2025 on

    def unwind_user(self, most: int) -> KernelTrace:
        """unwind_user."""
        state = self._state
        if most == 0:
            return self._trace(-EINVAL)
        state.done = state.task.kernel_thread
        available = self._available()
        while not state.done:
            self._ips.append(state.ip)
            if len(self._ips) >= most:
                break
            self._guarded(lambda: self._next(available))
        return self._trace(0)

    def _available(self) -> list[Method]:
        """The methods that the start finds."""
        return [
            method
            for method in self._policy.methods
            if method is not Method.SFRAME or self._state.task.has_sections
        ]

    def _next(self, available: Sequence[Method]) -> None:
        """unwind_user_next: a failed look-up gives way to the next method, a rule does not."""
        state = self._state
        for method in available:
            try:
                if method is Method.SFRAME:
                    assert state.task.registry is not None
                    frame = sframe_frame(state, state.task.registry)
                else:
                    frame = fp_frame(state, self._policy)
            except Refusal as refusal:
                self._fail(method, refusal)
                continue
            try:
                state.advance(frame, self._policy.checks)
            except Refusal as refusal:
                self._fail(method, refusal)
                if method is Method.SFRAME:
                    break
                continue
            self._took(method)
            return
        state.done = True

    # ---- 2024

    def perf_of_2024(self, most: int, wanted: Method) -> KernelTrace:
        """The walk of perf in the eleventh patch: the ip by hand, then the loop over callers."""
        state = self._state
        if state.task.kernel_thread or not self._store(state.ip, most):
            return self._trace(0)
        if wanted is Method.SFRAME:
            # bool unwind_type
            self._tell(Name.TYPE_IN_BOOL, "SFRAME 2 becomes FP 1")
            wanted = Method.FP
        return self.loop_of_2024(most, wanted)

    def loop_of_2024(self, most: int, wanted: Method) -> KernelTrace:
        """for_each_user_frame(&state, wanted)."""
        state = self._state
        status = self._guarded(lambda: self._start_2024(wanted))
        while not state.done and self._store(state.ip, most):
            status = self._guarded(self._next_2024)
        return self._trace(status)

    def _start_2024(self, wanted: Method) -> int:
        """user_unwind_start, which ends in the first step."""
        state = self._state
        possible = state.task.has_sections
        if wanted is Method.AUTO:
            self._type = Method.SFRAME if possible else Method.FP
        elif wanted is Method.SFRAME and not possible:
            # The state is still all zeros, and nothing says that the walk is over.
            self._tell(Name.START_NOT_DONE)
            state.ip = state.sp = state.fp = 0
            return -EINVAL
        elif Name.BUG_UNSET_TYPE not in self._policy.flaws:
            self._type = wanted
        return self._next_2024()

    def _next_2024(self) -> int:
        """user_unwind_next."""
        state, method = self._state, self._type
        try:
            if method is Method.AUTO:
                raise Crash(Name.BUG_UNSET_TYPE, state.ip)
            if method is Method.SFRAME:
                assert state.task.registry is not None
                frame = sframe_frame(state, state.task.registry)
            else:
                frame = fp_frame(state, self._policy)
        except Refusal as refusal:
            self._fail(method, refusal)
            state.done = True
            return -refusal.errno
        try:
            state.advance(frame, self._policy.checks)
        except Refusal as refusal:
            self._fail(method, refusal)
            state.done = True
            if method is Method.SFRAME:
                # The variable still has what the look-up returned.
                self._tell(Name.FAILED_LOAD_RETURNS_0)
                return 0
            return -EINVAL
        self._took(method)
        return 0

    def _store(self, ip: int, most: int) -> bool:
        """perf_callchain_store."""
        if len(self._ips) >= most:
            return False
        self._ips.append(ip)
        return True

    # ---- both

    def _guarded(self, work: Callable[[], int | None]) -> int:
        """Do one step; what is undefined, and what does not end, ends the walk here."""
        state = self._state
        try:
            return work() or 0
        except Crash as crash:
            state.tell(crash.event)
        except ReadLimit:
            self._tell(Name.READ_LIMIT)
        state.done = True
        return -EINVAL

    def _tell(self, name: Name, text: str = "") -> None:
        self._state.tell(Event(name, self._state.ip, text))

    def _took(self, method: Method) -> None:
        if not self._state.done:
            self._methods.append(method.name.lower())

    def _fail(self, method: Method, refusal: Refusal) -> None:
        self._failures.append(
            Failure(method.name.lower(), self._state.ip, refusal.errno, refusal.reason)
        )

    def _trace(self, status: int) -> KernelTrace:
        memory = self._state.memory
        return KernelTrace(
            tuple(self._ips), status, self._support, tuple(self._methods), tuple(self._failures),
            tuple(self._state.events), memory.reads, memory.bytes, memory.page_faults,
            memory.longest,
        )  # fmt: skip
