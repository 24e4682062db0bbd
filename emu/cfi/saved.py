"""The rules of callee-saved registers in .eh_frame, which rows do not have.

A row says where the caller's SP, FP and PC are; .eh_frame says the same of every register that
a function must keep (`Arch.callee_saved`). A register without a rule still has the caller's
value (the psABI makes it "same value", DWARF 5 section 6.4.1), so only the others are listed.
SP is one of them where it is not the CFA itself (s390x). Unwinders take it from its rule if it has
one (libgcc, unwind-dw2.c, uw_update_context_1), and if not, it still has the caller's value, too
(GDB, s390_dwarf2_frame_init_reg; elfutils, s390_cfi.c): a function that moves it has to say so.

One pass over the section makes these and the rows: nothing is read twice, and where there is no
row there are no rules.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arch.descriptor import Arch
from arch.row import RegRule, RuleKind
from emu.cfi.entries import Fde, read_lsda
from emu.cfi.functions import Described, Reading, describe, in_order
from emu.cfi.instructions import Op, decode
from emu.cfi.reading import EhFrame, Pointer
from emu.cfi.rules import RegisterCfa, Rule, State
from emu.cfi.states import LOCATIONS, Span
from emu.cfi.table import arch_of, as_table, code_at_zero, read_frame
from emu.cfi.translate import Translator
from emu.errors import CfiError
from emu.image import Image
from emu.tables import NoRow, Table


@dataclass(frozen=True, slots=True)
class SavedRule:
    """Where the caller's value of a register is."""

    register: int
    """DWARF number of the register that has this value in the caller."""
    rule: RegRule
    """AT_CFA, REGISTER, AT_REGISTER; or UNKNOWN: it is said to be lost, or nobody can follow
    what is said."""


@dataclass(frozen=True, slots=True)
class SavedRows:
    """One FDE: which callee-saved registers are elsewhere, by ascending offset.

    `rules[k]` hold for offsets [starts[k], starts[k+1]), the last up to the end of the function;
    starts[0] is 0. There are none where the table has no row (corrupt, refused) or the stack ends.
    """

    start: int
    """Link-time address; in a relocatable object the offset in its section."""
    size: int
    """Bytes of the whole FDE, which `FunctionRows` cut where rows repeat."""
    section: int
    """Relocatable objects: index of the section that `start` counts in; else -1."""
    lsda: Pointer | None
    """The language-specific data area."""
    signal: bool
    """A signal frame."""
    starts: tuple[int, ...]
    rules: tuple[tuple[SavedRule, ...], ...]
    """By ascending number of the register; FP, which rows have, is not among them, and SP only
    where that is not the CFA in other words."""
    lsda_fault: str = ""
    """Why `lsda` is None, though the FDE has one."""
    arguments: tuple[tuple[int, int], ...] = ()
    """(offset, bytes): from there on so much has been pushed for the next call, and a landing pad
    is entered without it (DW_CFA_GNU_args_size; libgcc's uw_install_context)."""


def read_saved(image: Image) -> tuple[SavedRows, ...]:
    """All FDEs of the file's .eh_frame that are not left out of its table, in order of address.

    Raises:
        CfiError: the file is for a machine that has no descriptor.
        ImageError: the symbol or relocation table contradicts itself.
    """
    both = read_both(image)
    return both[1] if both else ()


def read_both(image: Image) -> tuple[Table, tuple[SavedRows, ...]] | None:
    """The table, as `cfi_table` has it, and what it does not say; None where there is none.

    Errors are those of `read_saved`.
    """
    frame = read_frame(image)
    if frame is None:
        return None
    reading, saved = read_rows(frame, arch_of(image), code_at_zero(image))
    return as_table(frame, reading), saved


def read_rows(
    frame: EhFrame, arch: Arch, code_at_zero: bool = False
) -> tuple[Reading, tuple[SavedRows, ...]]:
    """Rows and saved registers of a section; the arguments are those of `read_functions`."""
    others = tuple(number for number in arch.callee_saved if number != arch.fp)
    described, faults = describe(frame, arch, code_at_zero, others)
    reader = _Reader(frame, arch)
    saved = sorted((reader.rows(one) for one in described), key=lambda s: (s.section, s.start))
    return in_order(described, faults), tuple(saved)


_Stretches: TypeAlias = tuple[tuple[int, ...], tuple[tuple[SavedRule, ...], ...]]


class _Reader:
    """Turns states into rules, each different combination once.

    The functions that it is asked for must all stay until the last one.
    """

    def __init__(self, frame: EhFrame, arch: Arch) -> None:
        self._frame = frame
        self._translator = Translator(arch, saved=True)
        self._sp = arch.sp
        self._known: dict[
            tuple[tuple[tuple[int, Rule], ...], Rule | None, bool], tuple[SavedRule, ...]
        ] = {}
        self._at_entry = RegisterCfa(arch.sp, -arch.sp_offset)
        self._stretches: dict[int, _Stretches] = {}
        self._equal: dict[tuple[SavedRule, ...], tuple[SavedRule, ...]] = {}

    def rows(self, described: Described) -> SavedRows:
        """The rules of one FDE."""
        fde = described.fde
        # Functions that are alike have one object here.
        known = self._stretches.get(id(described.states))
        if known is None:
            known = self._stretches[id(described.states)] = self._turned(described.states)
        starts, rules = known
        lsda, fault = self._lsda(fde)
        return SavedRows(
            fde.location.value, fde.size, fde.location.section, lsda, fde.cie.signal,
            starts, rules, fault, self._arguments(fde) if lsda else (),
        )  # fmt: skip

    def _turned(self, states: Sequence[Span]) -> _Stretches:
        """Where rules change, and to which."""
        starts: list[int] = []
        rules: list[tuple[SavedRule, ...]] = []
        for offset, state in states:
            found = self._rules(state)
            if not rules or found is not rules[-1]:
                starts.append(offset)
                rules.append(found)
        return tuple(starts), tuple(rules)

    def _arguments(self, fde: Fde) -> tuple[tuple[int, int], ...]:
        """What the FDE says of pushed arguments; few do, so it is read once more for them."""
        frame = self._frame
        if Op.GNU_ARGS_SIZE not in frame.data[fde.start : fde.end]:
            return ()
        found: list[tuple[int, int]] = []
        offset = 0
        with contextlib.suppress(CfiError):
            for instruction in decode(frame, fde.start, fde.end, fde.cie.encoding):
                if instruction.op is Op.GNU_ARGS_SIZE:
                    found.append((offset, instruction.first))
                elif instruction.op is Op.SET_LOC:
                    offset = instruction.first - fde.location.value
                elif instruction.op in LOCATIONS:
                    offset += instruction.first * fde.cie.code_factor
        return tuple(found)

    def _rules(self, state: State | NoRow) -> tuple[SavedRule, ...]:
        # Where the return address is undefined nothing else is followed, not even the CFA.
        if isinstance(state, NoRow) or state.outermost:
            return ()
        key = state.others, state.sp, state.sp is None and state.cfa != self._at_entry
        rules = self._known.get(key)
        if rules is None:
            each = [SavedRule(n, self._translator.rule(n, rule)) for n, rule in state.others]
            stack = self._translator.stack_pointer(*key[1:])
            if stack is not None:
                each.append(SavedRule(self._sp, stack))
                each.sort(key=lambda one: one.register)
            rules = tuple(one for one in each if one.rule.kind is not RuleKind.KEEP)
            # Equal ones are one object, so that a look tells whether anything changes.
            rules = self._known[key] = self._equal.setdefault(rules, rules)
        return rules

    def _lsda(self, fde: Fde) -> tuple[Pointer | None, str]:
        try:
            return read_lsda(self._frame, fde), ""
        except CfiError as error:
            return None, str(error)
