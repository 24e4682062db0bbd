"""Rows in words, as reports print them."""

from arch import Arch, CfaRule, Row, RuleKind
from arch.row import RegRule


def row_text(row: Row, arch: Arch) -> str:
    """A row on one line: ``CFA=sp+160 RA=c-48 FP=u``."""
    if row.outermost:
        return "outermost"
    ra = _rule(row.ra, arch)
    if row.ra.kind is RuleKind.KEEP:
        ra = f"r{arch.ra}"
    cfa = f"CFA{'>=' if row.cfa_is_bound else '='}{_cfa(row.cfa, arch)}"
    text = f"{cfa} RA={ra}{'[s]' if row.ra_signed else ''} FP={_rule(row.fp, arch)}"
    return text + " signal" if row.signal else text


def _cfa(rule: CfaRule, arch: Arch) -> str:
    text = f"{arch.register_name(rule.register)}{rule.offset:+d}"
    if rule.deref:
        text = f"({text})"
    return f"{text}{rule.addend:+d}" if rule.addend else text


def _rule(rule: RegRule, arch: Arch) -> str:
    if rule.kind is RuleKind.KEEP:
        return "u"
    if rule.kind is RuleKind.UNKNOWN:
        return "?"
    if rule.kind is RuleKind.AT_CFA:
        return f"c{rule.offset:+d}"
    name = arch.register_name(rule.register)
    if rule.kind is RuleKind.AT_REGISTER:
        return f"({name}{rule.offset:+d})"
    return f"{name}{rule.offset:+d}" if rule.offset else name
