"""The frame that each method has for a state."""

from errno import EINVAL

from arch import CfaRule, RegRule, Row, RuleKind
from arch.row import UNKNOWN
from emu.kernel.events import Refusal, WindowRefusal
from emu.kernel.frame import Frame
from emu.kernel.lookup import find_frame
from emu.kernel.policy import Policy
from emu.kernel.registry import Registry
from emu.kernel.search import signed32
from emu.kernel.state import State

OUTERMOST = Frame(Row(CfaRule(0, 0), UNKNOWN, UNKNOWN, 0, outermost=True))
"""The stack ends here; nothing else of it is looked at."""


def sframe_frame(state: State, registry: Registry) -> Frame:
    """The frame by the section of the ip; a section whose look-up ends in EFAULT may go.

    Raises:
        Refusal: EINVAL or EFAULT.
        Crash, ReadLimit: see `find_frame`.
    """
    section = registry.find(state.ip)
    try:
        return find_frame(
            registry.reader, section, state.memory, state.task.arch, state.ip, state.tell
        )
    except Refusal as refusal:
        kept = refusal.errno == EINVAL or isinstance(refusal, WindowRefusal)
        if section is not None and not kept:
            event = registry.fail(section)
            if event is not None:
                state.tell(event)
        raise
    finally:
        state.memory.end_lookup()


def fp_frame(state: State, policy: Policy) -> Frame:
    """The frame by the machine's convention (unwind_user_fp_get_frame).

    Raises:
        Refusal: EINVAL, there is none, or the back chain cannot be read.
    """
    facts = state.task.arch.kernel
    if facts.chain is not None and policy.name in facts.served:
        return _chain_frame(state, facts.chain, facts.wrapper)
    if facts.frame is None:
        raise Refusal(EINVAL, "no such convention")
    at_entry = policy.entry_frame and state.topmost and state.task.at_entry
    if at_entry and facts.entry_frame is not None:
        return Frame(facts.entry_frame)
    return Frame(facts.frame)


def _chain_frame(state: State, chain: Row, wrapper: tuple[int, int] | None) -> Frame:
    """The word at SP is the caller's SP; 0 there ends the stack, but in the vDSO.

    Offsets are held in 32 bits: stacks that lie further apart are misread. In the vDSO the SP
    that is taken is the one that the caller's own frame points to.
    """
    sp = state.sp
    caller = _word(state, sp)
    low, high = state.task.vdso
    ra_at = caller + chain.cfa.addend + chain.ra.offset
    if not caller and wrapper is not None and low <= state.ip < high:
        ra_at = sp + wrapper[0]
        caller = _word(state, sp + wrapper[1])
    elif not caller:
        return OUTERMOST
    cfa = signed32(caller - sp + chain.cfa.addend)
    return Frame(
        Row(
            CfaRule(chain.cfa.register, cfa),
            RegRule(RuleKind.AT_CFA, offset=signed32(ra_at - sp - cfa)),
            UNKNOWN,
            chain.sp_offset,
        )
    )


def _word(state: State, address: int) -> int:
    """One get_user."""
    try:
        return int.from_bytes(state.memory.get(address, 8), state.task.arch.byte_order)
    except Refusal as refusal:
        raise Refusal(EINVAL, refusal.reason) from refusal
