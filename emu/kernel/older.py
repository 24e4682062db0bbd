"""User walks of machines that the generic unwinder does not serve; no page fault is taken."""

from collections.abc import Iterator
from errno import EINVAL

from arch import Row
from arch.kernel import OlderWalk
from emu.kernel.events import Refusal
from emu.kernel.frame import Frame
from emu.kernel.policy import Support
from emu.kernel.state import State, UserTask
from emu.kernel.trace import Failure, KernelTrace
from emu.kernel.user_memory import UserMemory
from emu.unwind.step import ALIGNMENT


def walk_older(task: UserTask, most: int) -> KernelTrace:
    """perf_callchain_user of the machine.

    Args:
        task: whose stack.
        most: entries, the interrupted ip among them.
    """
    memory = UserMemory(task.sample.memory, task.residency, faulting=False)
    state = State(task, memory)
    walks = {OlderWalk.RECORDS: _records, OlderWalk.CHAIN: _chain}
    older = task.arch.kernel.older
    ips: list[int] = []
    failures: list[Failure] = []
    if most and not task.kernel_thread:
        ips.append(state.ip)
    if ips and older is not None:
        callers = walks[older](state)
        try:
            while len(ips) < most:
                ip = next(callers, None)
                if ip is None:
                    break
                ips.append(ip)
        except Refusal as refusal:
            failures.append(Failure(older.value, state.ip, refusal.errno, refusal.reason))
    method = "" if older is None else older.value
    return KernelTrace(
        tuple(ips), 0, Support.OLDER, (method,) * max(0, len(ips) - 1), tuple(failures),
        tuple(state.events), memory.reads, memory.bytes, memory.page_faults,
        memory.longest,
    )  # fmt: skip


def _records(state: State) -> Iterator[int]:
    """Each record lies above the one before; SP has no part in it."""
    row = state.task.arch.frame_pointer_row
    assert row is not None
    # Signatures of pointer authentication are stripped from every address.
    frame = Frame(Row(row.cfa, row.ra, row.fp, row.sp_offset, ra_signed=True))
    while state.fp:
        record = state.fp
        state.advance(frame, ALIGNMENT)
        yield state.ip
        if state.fp <= record:
            raise Refusal(EINVAL, "the next record is not above this one")


def _chain(state: State) -> Iterator[int]:
    """The word at SP is the caller's SP; neither the end nor growth is looked for."""
    arch = state.task.arch
    facts, order = arch.kernel, arch.byte_order
    assert facts.chain is not None
    low, high = state.task.vdso
    frame = Frame(facts.chain)
    while True:
        inside = facts.wrapper is not None and low <= state.ip < high
        if inside and facts.wrapper is not None and not _word(state, state.sp, order):
            # A frame of the wrapper's own: what lies behind it must be readable.
            ra_at, size = facts.wrapper
            ip = _word(state, state.sp + ra_at, order)
            state.sp += size
            if _word(state, state.sp, order) & 7:
                raise Refusal(EINVAL, "SP is not aligned")
        else:
            state.advance(frame, ALIGNMENT)
            ip = state.ip
        state.ip = ip
        if ip % facts.ip_unit or not facts.ip_lowest <= ip < arch.layout.user_end:
            raise Refusal(EINVAL, f"{ip:#x} is no address of an instruction")
        yield ip


def _word(state: State, address: int, order: str) -> int:
    """One get_user."""
    raw = state.memory.get(address, 8)
    return int.from_bytes(raw, "little" if order == "little" else "big")
