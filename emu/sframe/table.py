"""A decoded .sframe section as a table of rows: what its bytes mean on their machine.

What `dump` calls a fault is not always a stretch without rows. A function is corrupt as a
whole where its rows cannot be found, its repeated block has no size, or a table flagged sorted
has it out of order; from some offset on where a row cannot be read or its start does not
ascend. Reserved bits, wrong totals and overlapping functions mislead no look-up.
"""

from typing import TypeAlias

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.row import KEEP
from emu.errors import SFrameError
from emu.image import Image
from emu.sframe.container import decode_contained, find_section
from emu.sframe.decode import Decoded, Fde
from emu.sframe.stored import StoredRow
from emu.tables import FunctionRows, NoRow, Table
from emu.verdict import Verdict

_TOP = 1 << 63

Meanings: TypeAlias = dict[tuple[int, bool], Row | NoRow]
"""By index in `Rows.stored`, and whether it stands in a signal frame."""


def sframe_table(image: Image) -> Table | None:
    """The rows of the image's .sframe section; None where it has none or an empty one.

    Raises:
        ImageError: the file around the section is damaged.
    """
    contained = find_section(image)
    if contained is None or not contained.data:
        return None
    size = len(contained.data)
    try:
        decoded = decode_contained(image, contained)
    except SFrameError as error:
        return Table("sframe", (), size, corrupt=str(error))
    if decoded.header.arch.elf_machine != image.machine:
        reason = f"made for {decoded.header.abi_name}, the file is for machine {image.machine}"
        return Table("sframe", (), size, corrupt=reason)
    return Table("sframe", function_rows(decoded, image.kind == "rel"), size)


def function_rows(decoded: Decoded, relocatable: bool = False) -> tuple[FunctionRows, ...]:
    """The functions that can be looked up, in stored order.

    Left out are those of size 0, those in the upper half of the address space, which no user
    program has, and in a relocatable file those whose place is unknown.
    """
    meanings: Meanings = {}
    return tuple(
        fde_rows(fde, decoded, meanings)
        for fde in decoded.fdes
        if fde.size and fde.start + fde.size < _TOP and (not relocatable or fde.section >= 0)
    )


def fde_rows(fde: Fde, decoded: Decoded, meanings: Meanings) -> FunctionRows:
    """One function; `meanings` keeps what its rows have in common with those of others."""
    whole = _whole(fde, decoded)
    if whole is not None:
        return FunctionRows(fde.start, fde.size, (0,), (whole,), 0, fde.section)
    starts, rows = _rows(fde, decoded, decoded.header.arch, meanings)
    return FunctionRows(fde.start, fde.size, starts, rows, _rep_size(fde, decoded), fde.section)


def _rep_size(fde: Fde, decoded: Decoded) -> int:
    """Bytes of the repeated block; 0 where nothing repeats."""
    if not fde.mask:
        return 0
    return decoded.header.arch.sframe.v1_rep_size if fde.rep_size is None else fde.rep_size


def _whole(fde: Fde, decoded: Decoded) -> NoRow | None:
    """Why the function has no rows at all, if so."""
    if fde.no_rows:
        return NoRow(Verdict.CORRUPT, fde.no_rows)
    if fde.disordered:
        return NoRow(Verdict.CORRUPT, "out of order in a table flagged sorted")
    if fde.mask and fde.rep_size == 0:
        return NoRow(Verdict.CORRUPT, "rows repeat every 0 bytes")
    if fde.mask and not _rep_size(fde, decoded):
        return NoRow(Verdict.REFUSED, "rows repeat, this version does not say how often")
    if fde.first == fde.last and fde.cut is None:
        if fde.signal:
            return NoRow(Verdict.REFUSED, "signal frame")
        return NoRow(Verdict.NO_FRE, "function without rows")
    return None


def _rows(
    fde: Fde, decoded: Decoded, arch: Arch, meanings: Meanings
) -> tuple[tuple[int, ...], tuple[Row | NoRow, ...]]:
    """Starts and rows up to the first one that is wrong; behind it the function is corrupt."""
    starts: list[int] = []
    rows: list[Row | NoRow] = []
    wrong, reason = fde.cut, "a row cannot be read"
    previous = -1
    for index in range(fde.first, fde.last):
        start, content = decoded.rows.starts[index], decoded.rows.contents[index]
        if start <= previous:
            wrong, reason = start, "row starts do not ascend"
            break
        if content < 0:
            wrong, reason = start, "the words of a row are wrong"
            break
        previous = start
        starts.append(start)
        key = content, fde.signal
        meaning = meanings.get(key)
        if meaning is None:
            meaning = meanings[key] = row_meaning(decoded.rows.stored[content], arch, fde.signal)
        rows.append(meaning)
    if wrong is not None:
        while starts and starts[-1] >= wrong:
            starts.pop()
            rows.pop()
        starts.append(wrong)
        rows.append(NoRow(Verdict.CORRUPT, reason))
    return tuple(starts), tuple(rows)


def row_meaning(stored: StoredRow, arch: Arch, signal: bool) -> Row | NoRow:
    """The row that a function of `arch` gets from stored bytes, or why there is none.

    Rules that say no more than that a register keeps its value become KEEP, so that rows of
    equal meaning are equal.
    """
    if stored.cfa is None:
        # The rules of a row that ends the stack are not followed.
        cfa = CfaRule(arch.sp, arch.entry_cfa_offset)
        return Row(cfa, KEEP, KEEP, arch.sp_offset, outermost=True, signal=signal)
    if stored.ra is None or stored.fp is None:
        return NoRow(Verdict.REFUSED, "a register's value is CFA + offset, not loaded")
    ra, fp = _plain(stored.ra, arch.ra), _plain(stored.fp, arch.fp)
    for register in (stored.cfa.register, ra.register, fp.register):
        if register != -1 and arch.register(register) is None:
            return NoRow(Verdict.REFUSED, f"register {register} cannot be read on this machine")
    if ra.kind is RuleKind.KEEP and not arch.ra_in_register:
        return NoRow(Verdict.REFUSED, "no rule for the return address, which is in no register")
    return Row(
        cfa=stored.cfa,
        ra=ra,
        fp=fp,
        sp_offset=arch.sp_offset,
        ra_signed=stored.ra_signed and arch.sframe.pauth,
        signal=signal,
    )


def _plain(rule: RegRule, own: int) -> RegRule:
    """KEEP for a rule that names the register's own value."""
    return KEEP if rule == RegRule(RuleKind.REGISTER, own, 0) else rule
