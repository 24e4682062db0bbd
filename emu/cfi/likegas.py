"""What the assembler would refuse to write SFrame for, seen from its .eh_frame.

GNU as makes SFrame from the same directives as .eh_frame and leaves a function out as soon as
it meets one that it cannot translate, even where the format could say it. Here the instructions
of a FDE are read as the assembler read its directives: gas 2.47.50 for V3; 2.40 and 2.44, which
refuse every expression, for V1 and V2 (binutils, gas/gen-sframe.c, and what the tools answer).

Some instructions can only come from ``.cfi_escape``, of which the assembler knows the shortest
forms; two of them in one directive look here like two directives.
"""

from dataclasses import dataclass
from enum import StrEnum

from arch.descriptor import Arch
from emu.cfi.entries import Fde
from emu.cfi.instructions import Instruction, Op, decode
from emu.cfi.reading import EhFrame
from emu.errors import CfiError

_WORD_END = 1 << 31
_ROWS_END = 1 << 16
_BREG0, _BREG31, _DEREF = 0x70, 0x8F, 0x06


class GasReason(StrEnum):
    """Why the assembler leaves a function out; the values are for reports."""

    CFA_REGISTER = "gas-cfa-register"
    """The CFA on another register than SP and FP."""
    CFA_OFFSET = "gas-cfa-offset"
    """Too large, or given before there is a register."""
    REGISTER = "gas-register"
    """SP, FP or RA in another register."""
    VAL_OFFSET = "gas-val-offset"
    UNDEFINED = "gas-undefined"
    """FP or SP."""
    FP_WITHOUT_RA = "gas-fp-without-ra"
    REMEMBER = "gas-remember"
    """A state is remembered before there is a row."""
    RETURN_COLUMN = "gas-return-column"
    SIGNED_WITH_PC = "gas-signed-with-pc"
    EXPRESSION = "gas-expression"
    INSTRUCTION = "gas-instruction"
    """One that has no directive."""
    ROW_COUNT = "gas-row-count"


@dataclass(frozen=True, slots=True)
class GasRefusal:
    """The first thing in a function that the assembler cannot translate."""

    reason: GasReason
    text: str
    offset: int
    """Where it stands in the function."""


class _Refused(Exception):
    def __init__(self, reason: GasReason, text: str) -> None:
        super().__init__(text)
        self.reason, self.text = reason, text


@dataclass(slots=True)
class _Rules:
    """What the assembler follows of a row."""

    cfa: int | None = None
    """The CFA's register; None: none yet."""
    fp_saved: bool = False
    ra_saved: bool = False

    def copy(self) -> "_Rules":
        return _Rules(self.cfa, self.fp_saved, self.ra_saved)


_LOCATIONS = {
    Op.ADVANCE_LOC, Op.ADVANCE_LOC1, Op.ADVANCE_LOC2, Op.ADVANCE_LOC4, Op.ADVANCE_LOC8, Op.SET_LOC,
}  # fmt: skip


def gas_refusal(frame: EhFrame, fde: Fde, arch: Arch, version: int) -> GasRefusal | None:
    """Why the assembler of a SFrame version writes nothing for a function; None: it does.

    What is malformed is not looked at: the rows say so themselves.
    """
    translation = _Translation(arch, version, fde)
    try:
        if fde.cie.return_column != arch.ra:
            text = f"the return address is in column {fde.cie.return_column}"
            raise _Refused(GasReason.RETURN_COLUMN, text)
        for start, end in ((fde.cie.start, fde.cie.end), (fde.start, fde.end)):
            for instruction in decode(frame, start, end, fde.cie.encoding):
                translation.execute(instruction)
        translation.finish()
    except _Refused as refused:
        return GasRefusal(refused.reason, refused.text, translation.offset)
    except CfiError:
        return None
    return None


class _Translation:
    """The assembler's state while it goes through the directives of a function."""

    def __init__(self, arch: Arch, version: int, fde: Fde) -> None:
        self._arch = arch
        self._fde = fde
        self._factor = fde.cie.data_factor
        facts = arch.sframe
        self._tracks_ra = not facts.fixed_ra_offset
        # FLEX is written where it is needed: for a RA that has left its fixed slot, a realigned
        # stack, or values that leaf functions keep in registers.
        self._flex = version >= 3 and (not self._tracks_ra or facts.registers_in_offsets)
        self._parks = facts.registers_in_offsets and version >= 2
        self._escapes = version >= 3
        self._rules = _Rules()
        self._changed = False
        self._first: _Rules | None = None
        self._last: _Rules | None = None
        self._remembered: _Rules | None = None
        self._rows = 0
        self.offset = 0

    def execute(self, instruction: Instruction) -> None:
        """Translate an instruction."""
        op, first, second, block = instruction
        arch, rules = self._arch, self._rules
        match op:
            case _ if op in _LOCATIONS:
                self._advance(op, first)
            case Op.DEF_CFA | Op.DEF_CFA_SF:
                self._check_offset(second * (self._factor if op is Op.DEF_CFA_SF else 1))
                self._base(first)
            case Op.DEF_CFA_REGISTER:
                self._base(first)
            case Op.DEF_CFA_OFFSET | Op.DEF_CFA_OFFSET_SF:
                self._check_offset(first * (self._factor if op is Op.DEF_CFA_OFFSET_SF else 1))
                self._check_base()
                self._changed = True
            case Op.OFFSET | Op.OFFSET_EXTENDED | Op.OFFSET_EXTENDED_SF:
                self._saved(first, True)
            case Op.RESTORE | Op.RESTORE_EXTENDED:
                initial = self._first or rules
                self._saved(first, initial.fp_saved if first == arch.fp else initial.ra_saved)
            case Op.SAME_VALUE:
                self._saved(first, False)
            case Op.REGISTER:
                self._register(first)
            case Op.VAL_OFFSET | Op.VAL_OFFSET_SF:
                self._value(first, second * self._factor)
            case Op.UNDEFINED:
                self._undefined(first)
            case Op.REMEMBER_STATE:
                if self._last is None and not (self._changed and self._escapes):
                    raise _Refused(GasReason.REMEMBER, "a state is remembered before any row")
                self._remembered = rules.copy()
            case Op.RESTORE_STATE:
                if self._remembered is not None:
                    self._rules = self._remembered.copy()
                    self._changed = True
            case Op.NEGATE_RA_STATE if arch.sframe.pauth:
                self._changed = True
            case Op.NEGATE_RA_STATE_WITH_PC:
                raise _Refused(GasReason.SIGNED_WITH_PC, "the return address is signed with the PC")
            case Op.DEF_CFA_EXPRESSION | Op.EXPRESSION | Op.GNU_ARGS_SIZE if self._escapes:
                self._escape(op, first, block)
            case _:
                text = f"{op.name} has no directive that could be translated"
                raise _Refused(GasReason.INSTRUCTION, text)

    def finish(self) -> None:
        """The function ends."""
        self._row()
        if self._rows >= _ROWS_END:
            raise _Refused(GasReason.ROW_COUNT, f"{self._rows} rows")

    def _advance(self, op: Op, operand: int) -> None:
        self._row()
        if op is Op.SET_LOC:
            self.offset = operand - self._fde.location.value
        else:
            self.offset += operand * self._fde.cie.code_factor

    def _row(self) -> None:
        """What was said since the last location becomes a row."""
        if not self._changed:
            return
        rules = self._rules
        filler = not self._tracks_ra or self._arch.sframe.zero_ra_is_filler
        if rules.fp_saved and not rules.ra_saved and not filler:
            raise _Refused(GasReason.FP_WITHOUT_RA, "FP is saved, RA is not")
        self._last = rules.copy()
        self._first = self._first or self._last
        self._rows += 1
        self._changed = False

    def _base(self, register: int) -> None:
        if register not in (self._arch.sp, self._arch.fp) and not self._flex:
            name = self._arch.register_name(register)
            raise _Refused(GasReason.CFA_REGISTER, f"the CFA counts from {name}")
        self._rules.cfa = register
        self._changed = True

    def _check_base(self) -> None:
        if self._rules.cfa is None:
            raise _Refused(GasReason.CFA_OFFSET, "the CFA has an offset before it has a register")

    def _check_offset(self, offset: int) -> None:
        facts = self._arch.sframe
        word = (offset - facts.cfa_bias) // facts.cfa_scale
        if not -_WORD_END <= word < _WORD_END:
            raise _Refused(GasReason.CFA_OFFSET, f"CFA offset {offset} is too large")

    def _saved(self, register: int, saved: bool) -> None:
        if register == self._arch.fp:
            self._rules.fp_saved, self._changed = saved, True
        elif register == self._arch.ra and (self._tracks_ra or self._flex):
            self._rules.ra_saved, self._changed = saved, True

    def _role(self, register: int) -> str:
        """SP, FP or RA, or empty."""
        arch = self._arch
        return {arch.sp: "SP", arch.fp: "FP", arch.ra: "RA"}.get(register, "")

    def _register(self, register: int) -> None:
        role = self._role(register)
        if not role or (role == "SP" and self._arch.sp_offset):
            return
        if role == "SP" or not (self._flex or self._parks):
            raise _Refused(GasReason.REGISTER, f"{role} is kept in another register")
        self._saved(register, True)

    def _value(self, register: int, offset: int) -> None:
        role = self._role(register)
        if role == "SP" and offset == self._arch.sp_offset:
            return
        if role in ("SP", "FP") or (role and self._tracks_ra):
            raise _Refused(GasReason.VAL_OFFSET, f"{role} is an address: CFA{offset:+d}")

    def _undefined(self, register: int) -> None:
        role = self._role(register)
        if not self._escapes:
            return  # the older ones pass it over
        if role in ("SP", "FP"):
            raise _Refused(GasReason.UNDEFINED, f"{role} is undefined")
        if role:
            self._changed = True

    def _escape(self, op: Op, first: int, block: bytes) -> None:
        arch = self._arch
        if op is Op.GNU_ARGS_SIZE:
            # A size of more than one byte is not read.
            if first and (first >= 0x80 or self._rules.cfa != arch.fp):
                text = f"arguments of {first} bytes while the CFA is not on FP"
                raise _Refused(GasReason.EXPRESSION, text)
            return
        if op is Op.DEF_CFA_EXPRESSION:
            on_fp = len(block) == 3 and block[0] == _BREG0 + arch.fp and block[2] == _DEREF
            if not on_fp or self._tracks_ra:
                text = f"CFA by the expression {block[:32].hex()}"
                raise _Refused(GasReason.EXPRESSION, text)
            self._base(arch.fp)
            return
        role = self._role(first)
        if len(block) == 2 and first < 0x80:
            if role == "FP":
                # With any base; where it is another than FP, the assembler's FDE is wrong.
                self._changed = True
                return
            harmful = role == "SP" or (role and self._tracks_ra) or first == self._rules.cfa
            if not harmful:
                return
        text = f"{role or arch.register_name(first)} by the expression {block[:32].hex()}"
        raise _Refused(GasReason.EXPRESSION, text)
