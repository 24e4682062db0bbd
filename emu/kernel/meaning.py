"""What the kernel makes of a row's words: the frame that its step is given."""

from errno import EINVAL

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.row import KEEP
from emu.kernel.events import Event, Name, Refusal
from emu.kernel.frame import Frame
from emu.kernel.rows import Found, flex_rules
from emu.kernel.search import Function, Place
from emu.sframe import layout
from emu.sframe.layout import CONTROL_DEREF, CONTROL_NUMBER_SHIFT, CONTROL_REGISTER


def frame_of(place: Place, arch: Arch, function: Function, found: Found) -> Frame:
    """The frame of a row.

    Raises:
        Refusal: EINVAL, V3 has no CFA rule for it.
    """
    if place.reader.version < 3:
        return _plain(place, arch, found)
    words = list(found.words)
    if not found.count:
        # The control words are 0, so no CFA rule can be made of them, before anything is said
        # of the end of the stack.
        place.tell(Event(Name.OUTERMOST_REFUSED, place.ip))
        raise Refusal(EINVAL, "outermost, but the CFA has no register")
    section = place.section
    ra = (CONTROL_DEREF if section.fixed_ra else 0, section.fixed_ra)
    fp = (CONTROL_DEREF if section.fixed_fp else 0, section.fixed_fp)
    if function.kind == layout.FLEX:
        cfa = words[0], words[1]
        (own_ra, own_fp), _ = flex_rules(found.words, found.count)
        ra, fp = own_ra or ra, own_fp or fp
    else:
        base = arch.sp if found.info & layout.BASE_SP else arch.fp
        cfa = base << CONTROL_NUMBER_SHIFT | CONTROL_REGISTER, words.pop(0)
        if not section.fixed_ra and words:
            offset = words.pop(0)
            # 0 is the filler of a machine that saves FP and not RA.
            ra = (CONTROL_DEREF if offset else 0, offset)
        if not section.fixed_fp and words:
            offset = words.pop(0)
            fp = (CONTROL_DEREF if offset else 0, offset)
    if not cfa[0] & CONTROL_REGISTER:
        raise Refusal(EINVAL, "the CFA has no register")
    return _ruled(place, arch, cfa, ra, fp)


def _cfa_offset(word: int, arch: Arch) -> int:
    """SFRAME_CFA_OFFSET of the machine."""
    return word * arch.sframe.cfa_scale + arch.sframe.cfa_bias


def _plain(place: Place, arch: Arch, found: Found) -> Frame:
    """V2: a base and three offsets, of which RA's is followed even if it is 0, or not at all."""
    section, words = place.section, list(found.words)
    base = arch.sp if found.info & layout.BASE_SP else arch.fp
    cfa = CfaRule(base, _cfa_offset(words.pop(0), arch))
    ra = section.fixed_ra or (words.pop(0) if words else 0)
    fp = section.fixed_fp or (words.pop(0) if words else 0)
    unset = not ra and not place.reader.bounded
    row = Row(
        cfa,
        # What is not loaded is not looked at either: any rule that cannot fail does.
        RegRule(RuleKind.REGISTER, arch.sp) if unset else RegRule(RuleKind.AT_CFA, offset=ra),
        RegRule(RuleKind.AT_CFA, offset=fp) if fp else KEEP,
        arch.sp_offset,
    )
    return Frame(row, ra_unset=unset)


def _ruled(
    place: Place, arch: Arch, cfa: tuple[int, int], ra: tuple[int, int], fp: tuple[int, int]
) -> Frame:
    """V3: a rule for each, from a control word and an offset."""
    readable = arch.kernel.registers
    register, deref = cfa[0] >> CONTROL_NUMBER_SHIFT, bool(cfa[0] & CONTROL_DEREF)
    named = register in (arch.sp, arch.fp)
    if deref and named:
        place.tell(Event(Name.NO_DEREF_CASE, place.ip))
    rules = [_rule(*ra), _rule(*fp)]
    warns = [rule is None for rule in rules]
    unreadable = [
        rule is not None
        and rule.kind in (RuleKind.REGISTER, RuleKind.AT_REGISTER)
        and rule.register not in readable
        for rule in rules
    ]
    if rules[0] == KEEP and not arch.ra_in_register:
        # The machine's hook for a RA register is the generic one, which only warns.
        warns[0] = True
    given = [
        KEEP if rule is None or wrong else rule
        for rule, wrong in zip(rules, unreadable, strict=True)
    ]
    row = Row(
        CfaRule(register if named or register in readable else arch.sp,
                _cfa_offset(cfa[1], arch), deref),
        given[0], given[1], arch.sp_offset,
    )  # fmt: skip
    return Frame(
        row,
        cfa_warns=deref and named,
        cfa_unreadable=not named and register not in readable,
        ra_warns=warns[0],
        ra_unreadable=unreadable[0],
        fp_warns=warns[1],
        fp_unreadable=unreadable[1],
    )


def _rule(control: int, offset: int) -> RegRule | None:
    """A rule of RA or FP; None: CFA + offset itself, for which the step has no case."""
    if not control:
        return KEEP
    if control & CONTROL_REGISTER:
        kind = RuleKind.AT_REGISTER if control & CONTROL_DEREF else RuleKind.REGISTER
        return RegRule(kind, control >> CONTROL_NUMBER_SHIFT, offset)
    return RegRule(RuleKind.AT_CFA, offset=offset) if control & CONTROL_DEREF else None
