"""The state of a walk, and the one core applied to it (unwind_user_next_common)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from errno import EINVAL

import numpy as np

from arch import Arch, Row, RuleKind
from emu.kernel.events import Crash, Event, Name, Refusal
from emu.kernel.frame import Frame, Packer
from emu.kernel.registry import Registry
from emu.kernel.search import Tell
from emu.kernel.user_memory import Residency, UserMemory
from emu.sample import Sample
from emu.unwind.step import DONE, FAULT, FP, FP_SLOT, RA, RA_SLOT, RESULT_WORDS, SP, step
from emu.verdict import Verdict

_MASK = (1 << 64) - 1
_REGISTERS = 128
_LOADED = (RuleKind.AT_CFA, RuleKind.AT_REGISTER)


@dataclass(slots=True)
class UserTask:
    """What the kernel has of the current task when it walks its user stack.

    Args:
        sample: registers and memory.
        residency: which pages are absent.
        registry: its sections; None: the revision has none.
        vdso: [start, end) of the vDSO's text.
        kernel_thread: it has no user registers.
        at_entry: a uprobe on the first instruction of a function stopped it.
    """

    sample: Sample
    residency: Residency = field(default_factory=Residency)
    registry: Registry | None = None
    vdso: tuple[int, int] = (0, 0)
    kernel_thread: bool = False
    at_entry: bool = False

    @property
    def arch(self) -> Arch:
        """Its machine."""
        return self.sample.arch

    @property
    def has_sections(self) -> bool:
        """current_has_sframe."""
        return self.registry is not None and len(self.registry) > 0


class State:
    """struct unwind_user_state, with what it is advanced by.

    Args:
        task: whose stack it is.
        memory: what of it is read.
    """

    def __init__(self, task: UserTask, memory: UserMemory) -> None:
        arch, sample = task.arch, task.sample
        self.task, self.memory = task, memory
        self.ip, self.sp = sample.pc, sample.registers[arch.sp]
        self.fp = sample.registers[arch.fp]
        self.topmost, self.done = True, False
        self.events: list[Event] = []
        self.tell: Tell = self.events.append
        self._swap = int(arch.byte_order == "big")
        self._packer = Packer(arch)
        self._file = np.zeros(_REGISTERS, np.int64)
        for number, value in sample.registers.items():
            self._file[number] = _signed(value)
        self._result = np.zeros(RESULT_WORDS, np.int64)

    def advance(self, frame: Frame, checks: int) -> None:
        """Become the caller.

        Args:
            frame: how.
            checks: which of the step's checks the revision has.

        Raises:
            Refusal: EINVAL; nothing has changed, so another method may be tried.
            Crash: the revision's next ip was never set.
        """
        if frame.row.outermost:
            self.done = True
            return
        if frame.cfa_warns:
            self.tell(Event(Name.WARN, self.ip, "no case for the CFA rule"))
            raise Refusal(EINVAL, "no case for the CFA rule")
        if frame.cfa_unreadable:
            raise Refusal(EINVAL, "the CFA counts from a register that cannot be read")
        found = self._step(frame, checks)
        if found is not Verdict.EXACT:
            done = self._result[DONE // 8]
            if found is Verdict.REFUSED and (
                (done == 1 and frame.ra_warns) or (done == 2 and frame.fp_warns)
            ):
                self.tell(Event(Name.WARN, self.ip, "no case for a rule"))
            raise Refusal(EINVAL, found.text)
        values = [int(self._result[at // 8]) & _MASK for at in (RA, SP, FP)]
        if frame.ra_unset:
            raise Crash(Name.UNINITIALISED_RA, self.ip)
        self.ip, self.sp, self.fp = values
        if frame.row.fp.kind is RuleKind.UNKNOWN:
            self.fp = 0
        self.topmost = False

    def _step(self, frame: Frame, checks: int) -> Verdict:
        """The core, again for each page that it has to wait for."""
        words, result = self._packer.pack(frame), self._result
        while True:
            found = Verdict(
                step(
                    words.ctypes.data, _signed(self.sp), _signed(self.fp), self._file.ctypes.data,
                    self.memory.header, self._swap, int(self.topmost), result.ctypes.data, checks,
                )
            )  # fmt: skip
            if found is not Verdict.UNREADABLE or not self.memory.take_fault(
                int(result[FAULT // 8]) & _MASK, 8
            ):
                self.memory.count(*_loads(frame.row, found, result.tolist()))
                return found


def _loads(row: Row, found: Verdict, result: Sequence[int]) -> tuple[int, int]:
    """How many words the step has read, or tried to, and their bytes."""
    done = result[DONE // 8]
    if found is Verdict.EXACT:
        count = row.cfa.deref + bool(result[RA_SLOT // 8]) + bool(result[FP_SLOT // 8])
    else:
        # The word that failed is the last one that was asked for.
        failed = found is Verdict.UNREADABLE or (found is Verdict.OUTERMOST and done == 0)
        count = failed + (done >= 1 and row.cfa.deref) + (done >= 2 and row.ra.kind in _LOADED)
    return count, 8 * count


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
