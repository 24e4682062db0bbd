"""Drive a shadow stack as the check does: one instruction after the other."""

from dataclasses import dataclass, field

from arch import Arch
from arch.descriptor import InstructionKind
from emu.truth import shadow
from emu.truth.classify import enter_first, has_switched, jump, land, lands, push
from emu.truth.shadow import ShadowStacks, close_window, open_window, place, split, switch

TOP = 0x7FFF_0000
"""SP at the start of the tests' programs."""
BASE = TOP + 0x1000
CALL_SIZE = 5
FUNCTION_SIZE = 0x1000
"""Functions stand one behind the other."""
CALLEE = 99
"""Owner of a called function before it is said which one it is."""
MAIN_SIZE = 1 << 20
"""Bytes of the main stack below SP: as much as any other stack may grow at once."""


@dataclass
class Driver:
    """A program in the making; each method is one instruction that it has executed.

    `sp` is the stack pointer as the *program's functions* see it: a call pushes a return
    address where the machine does so.
    """

    arch: Arch
    sp: int = TOP
    stacks: ShadowStacks = field(init=False)

    def __post_init__(self) -> None:
        """Begin at TOP, with nothing called."""
        self.stacks = ShadowStacks(self.arch, TOP, BASE, MAIN_SIZE)
        self.pushed = 0 if self.arch.ra_in_register else 8

    def call(self, site: int, fp: int = 0) -> int:
        """Call from `site`; the return address. SP becomes that of the callee."""
        self.stacks.words[shadow.PREVIOUS_PC] = site
        self.stacks.words[shadow.NEXT_PC] = site + CALL_SIZE
        self.stacks.words[shadow.PREVIOUS_FP] = fp
        self.stacks.words[shadow.PREVIOUS_OWNER] = site // FUNCTION_SIZE
        self.sp -= self.pushed
        self._place(CALLEE)
        assert push(self.stacks.block, self.sp)
        self.stacks.words[shadow.PREVIOUS_OWNER] = CALLEE
        return site + CALL_SIZE

    def move(self, distance: int) -> None:
        """SP changes, and the next instruction follows."""
        self.sp += distance
        self._place(int(self.stacks.words[shadow.PREVIOUS_OWNER]))

    def go(
        self,
        pc: int,
        sp: int | None = None,
        kind: InstructionKind = InstructionKind.INDIRECT,
        ra: int = 0,
        fp: int = 0,
    ) -> None:
        """Control goes to `pc`, by a jump or a return, and SP to `sp`.

        Args:
            ra: the return address there, where the machine has it at a function's start.
        """
        if sp is not None:
            self.sp = sp
        owner, entry = pc // FUNCTION_SIZE, pc % FUNCTION_SIZE == 0
        self._place(owner)
        words, block = self.stacks.words, self.stacks.block
        words[shadow.PREVIOUS_KIND] = kind
        elsewhere = owner != words[shadow.PREVIOUS_OWNER]
        window = words[shadow.WINDOW]
        if window > shadow.SWITCHED and elsewhere:
            if not has_switched(block, owner, entry):
                close_window(block)
                window = shadow.CLOSED
            elif window == shadow.FELL:
                split(block, self.sp)
        if window and (window == shadow.SWITCHED or elsewhere):
            if lands(block, owner):
                land(block, pc, self.sp, fp, owner, entry, ra)
        else:
            jump(block, pc, self.sp, owner, entry)
            if entry and elsewhere:
                enter_first(block, self.sp, ra, fp)
        words[shadow.PREVIOUS_OWNER] = owner

    def _place(self, owner: int) -> None:
        block = self.stacks.block
        where = place(block, self.sp, owner)
        if where == shadow.FAR:
            open_window(block, shadow.FELL, self.sp, owner)
        elif where != shadow.SAME:
            switch(block, where, self.sp, owner)
        words = self.stacks.words
        if words[shadow.WINDOW] == shadow.FELL and self.sp >= words[shadow.WINDOW_LOW]:
            close_window(block)
        words[shadow.PREVIOUS_SP] = self.sp

    def back(self, ra: int) -> None:
        """The plain return: SP is what it was before the call."""
        self.go(ra, self.sp + self.pushed, InstructionKind.RETURN)

    @property
    def returns_to(self) -> list[int]:
        """Return addresses of the current stack, innermost first."""
        return [ra for ra, _, _ in self.stacks.frames()]

    @property
    def bottom(self) -> int:
        """How the current stack ends."""
        return int(self.stacks.words[shadow.BOTTOM])

    @property
    def window(self) -> int:
        """Whether, and why, the caller of what runs is not known yet."""
        return int(self.stacks.words[shadow.WINDOW])

    @property
    def switches(self) -> int:
        """How often the stack changed."""
        return int(self.stacks.words[shadow.SWITCHES])

    def counts(self) -> tuple[int, int, int]:
        """Calls, returns, abandoned frames."""
        words = self.stacks.words
        return tuple(int(words[w]) for w in (shadow.CALLS, shadow.RETURNS, shadow.ABANDONED))
