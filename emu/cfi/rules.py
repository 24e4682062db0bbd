"""The row machine: call-frame instructions -> the rules that hold at each offset.

DWARF 5 sections 6.4.1 to 6.4.3. Only the CFA and the rules of the return address, FP and
SP are followed, for what happens to any other register cannot change a row; and those of other
registers where the caller names them (emu.cfi.saved). The signature
state of the return address is one more pseudo register, so remember and restore include
it (AADWARF64, sections 4.1 and 5.3 "RA_SIGN_STATE").
"""

from enum import IntEnum
from typing import NamedTuple, TypeAlias

from arch.descriptor import Arch
from emu.cfi.entries import Cie
from emu.cfi.instructions import Instruction, Op
from emu.errors import CfiError

RA_SIGN_STATE = 34
"""DWARF number of the pseudo register, on machines with pointer authentication."""


_LIMIT = 1 << 63


class RuleIs(IntEnum):
    """How the caller's value of a register is found (DWARF 5 section 6.4.1)."""

    UNDEFINED = 0
    SAME_VALUE = 1
    OFFSET = 2
    VAL_OFFSET = 3
    REGISTER = 4
    EXPRESSION = 5
    VAL_EXPRESSION = 6

    # States are looked up by their rules; an enumeration's own hash is a function in Python.
    __hash__ = int.__hash__


_UNDEFINED, _AT_CFA = RuleIs.UNDEFINED, RuleIs.OFFSET


class Rule(NamedTuple):
    """The rule of one register."""

    kind: RuleIs
    value: int = 0
    """Bytes from the CFA, already scaled, or a register's DWARF number."""
    expression: bytes = b""


class RegisterCfa(NamedTuple):
    """CFA = register + offset."""

    register: int
    offset: int


class ExpressionCfa(NamedTuple):
    """CFA = what a DWARF expression yields."""

    expression: bytes


Cfa: TypeAlias = RegisterCfa | ExpressionCfa | None


class State(NamedTuple):
    """The rules at one place; None: no instruction has given one."""

    cfa: Cfa = None
    ra: Rule | None = None
    fp: Rule | None = None
    sp: Rule | None = None
    signed: bool = False
    """The return address carries a signature."""
    refusal: str = ""
    """Something was said that we cannot follow."""
    others: tuple[tuple[int, Rule], ...] = ()
    """Of the other registers that are followed, in their order: number and rule, if it has one."""

    @property
    def outermost(self) -> bool:
        """The return address is undefined: the stack ends (DWARF 5 section 6.4.4)."""
        return self.ra is not None and self.ra.kind is _UNDEFINED


# Most is one of these, and names of an enumeration are functions in Python.
_DEF_CFA_OFFSET, _OFFSET, _RESTORE = Op.DEF_CFA_OFFSET, Op.OFFSET, Op.RESTORE
_REMEMBER_STATE, _RESTORE_STATE = Op.REMEMBER_STATE, Op.RESTORE_STATE


class Machine:
    """The current rules, changed by one instruction after the other.

    Args:
        arch: the registers that matter.
        cie: its data alignment factor scales offsets.
        initial: the state that DW_CFA_restore goes back to; None inside a CIE itself.
        others: registers to follow beside the three roles.
    """

    def __init__(
        self, arch: Arch, cie: Cie, initial: State | None, others: tuple[int, ...] = ()
    ) -> None:
        self._arch = arch
        self._others = others
        self._factor = cie.data_factor
        self._initial: dict[int, Rule | None] | None = None
        self._initial_signed = False
        self._remembered: list[State] = []
        self._listed: tuple[tuple[int, Rule], ...] | None = None
        """Rules of `others`, as a state has them; None: one has changed."""
        self._set_state(initial or State())
        if initial is not None:
            self._initial = dict(self._rules)
            self._initial_signed = initial.signed

    @property
    def state(self) -> State:
        """The rules that hold now."""
        rules, arch = self._rules, self._arch
        ra, fp, sp = rules[arch.ra], rules[arch.fp], rules[arch.sp]
        others = self._listed
        if others is None:
            found = [(n, rule) for n in self._others if (rule := rules[n]) is not None]
            others = self._listed = tuple(found)
        return State(self._cfa, ra, fp, sp, self._signed, self._refusal, others)

    def _set_state(self, state: State) -> None:
        arch = self._arch
        self._cfa, self._signed, self._refusal = state.cfa, state.signed, state.refusal
        self._rules = {arch.ra: state.ra, arch.fp: state.fp, arch.sp: state.sp}
        if self._others:
            self._rules |= dict.fromkeys(self._others) | dict(state.others)
        self._listed = state.others

    def execute(self, instruction: Instruction) -> None:
        """Apply an instruction that does not move the location.

        Raises:
            CfiError: not allowed in this state.
        """
        op, first, second, _ = instruction
        if op is _DEF_CFA_OFFSET:
            self._set_cfa(self._current(op).register, first)
        elif op is _OFFSET:
            self._set_rule(first, _AT_CFA, second * self._factor)
        elif op is _RESTORE:
            self._restore(first)
        elif op is _REMEMBER_STATE:
            self._remembered.append(self.state)
        elif op is _RESTORE_STATE:
            if not self._remembered:
                raise CfiError("a state is restored that was never remembered")
            self._set_state(self._remembered.pop())
        else:
            self._execute(instruction)

    def _execute(self, instruction: Instruction) -> None:
        """As `execute`, of the less frequent ones."""
        op, first, second, block = instruction
        factor = self._factor
        match op:
            case Op.OFFSET_EXTENDED | Op.OFFSET_EXTENDED_SF:
                self._set_rule(first, RuleIs.OFFSET, second * factor)
            case Op.RESTORE_EXTENDED:
                self._restore(first)
            case Op.DEF_CFA:
                self._set_cfa(first, second)
            case Op.DEF_CFA_REGISTER:
                self._set_cfa(first, self._current(op).offset)
            case Op.DEF_CFA_SF:
                self._set_cfa(first, second * factor)
            case Op.DEF_CFA_OFFSET_SF:
                self._set_cfa(self._current(op).register, first * factor)
            case Op.DEF_CFA_EXPRESSION:
                self._cfa = ExpressionCfa(block)
            case Op.GNU_NEGATIVE_OFFSET_EXTENDED:
                self._set_rule(first, RuleIs.OFFSET, -second * factor)
            case Op.VAL_OFFSET | Op.VAL_OFFSET_SF:
                self._set_rule(first, RuleIs.VAL_OFFSET, second * factor)
            case Op.REGISTER:
                self._set_rule(first, RuleIs.REGISTER, second)
            case Op.UNDEFINED:
                self._set_rule(first, RuleIs.UNDEFINED)
            case Op.SAME_VALUE:
                self._set_rule(first, RuleIs.SAME_VALUE)
            case Op.EXPRESSION:
                self._set_rule(first, RuleIs.EXPRESSION, 0, block)
            case Op.VAL_EXPRESSION:
                self._set_rule(first, RuleIs.VAL_EXPRESSION, 0, block)
            case Op.NEGATE_RA_STATE | Op.NEGATE_RA_STATE_WITH_PC:
                self._negate_ra_state(op)
            case Op.GNU_ARGS_SIZE:
                pass  # outgoing arguments of the next call: part of the frame already
            case _:
                raise CfiError(f"{op.name} is not allowed here")

    def _set_cfa(self, register: int, offset: int) -> None:
        _check_offset(offset)
        self._cfa = RegisterCfa(register, offset)

    def _current(self, op: Op) -> RegisterCfa:
        """The CFA rule that `op` changes a part of."""
        if not isinstance(self._cfa, RegisterCfa):
            raise CfiError(f"{op.name} where the CFA is not register + offset")
        return self._cfa

    def _set_rule(
        self, register: int, kind: RuleIs, value: int = 0, expression: bytes = b""
    ) -> None:
        if register in self._rules:
            # What is said of another register makes no row corrupt, followed or not.
            if register not in self._others:
                _check_offset(value)
            self._rules[register] = Rule(kind, value, expression)
            self._listed = None
        elif register == RA_SIGN_STATE and self._arch.sframe.pauth:
            self._refusal = "the signature state has a rule of its own"

    def _restore(self, register: int) -> None:
        if self._initial is None:
            raise CfiError("a rule is restored inside the CIE that would define it")
        if register in self._rules:
            self._rules[register] = self._initial[register]
            self._listed = None
        elif register == RA_SIGN_STATE and self._arch.sframe.pauth:
            self._signed = self._initial_signed

    def _negate_ra_state(self, op: Op) -> None:
        if not self._arch.sframe.pauth:
            raise CfiError(f"instruction {int(op):#04x} has no meaning on this machine")
        if op is Op.NEGATE_RA_STATE_WITH_PC:
            # The PC of the signing instruction is part of the signature.
            self._refusal = "the return address is signed with the PC"
        else:
            self._signed = not self._signed


def _check_offset(value: int) -> None:
    if not -_LIMIT <= value < _LIMIT:
        raise CfiError("an offset exceeds 64 bits")
