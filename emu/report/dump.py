"""The `dump` command: a .sframe section decoded, as text or JSON, with every fault."""

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass

from emu.errors import ImageError, SFrameError, UnwindlabError
from emu.image import MAGIC, Image, parse_image, read_file
from emu.report.output import refuse_inputs, write_pieces
from emu.report.text import printable
from emu.sframe.container import SECTION_NAME, decode_contained, find_section
from emu.sframe.decode import Decoded, Fde, decode
from emu.sframe.layout import FLEX, magic_order
from emu.sframe.stored import StoredRow
from emu.symbols import FunctionNames

_TYPES = {0: "default", FLEX: "flex"}
_KEPT = 1024
"""Texts of rows that are kept; a hostile section may have a million."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is dumped."""

    path: str
    size: int
    """Bytes of the section."""
    decoded: Decoded | None
    """None: an empty section."""
    image: Image | None
    """None: a raw section."""
    names: FunctionNames | None
    """None: a raw section, or an empty one."""

    def function(self, fde: Fde) -> str | None:
        """Name of the function that a FDE is about."""
        if self.names is None:
            return None
        return self.names.place(fde.start, fde.section).function

    def section(self, fde: Fde) -> str | None:
        """Name of its section, in a relocatable file."""
        if self.image is None or fde.section < 0:
            return None
        return self.image.sections[fde.section].name


def dump(path: str, format: str, output: str | None) -> int:
    """Print a decoded section.

    Args:
        path: an ELF file or a raw section.
        format: ``text`` or ``json``.
        output: file to write; None for stdout.

    Returns:
        The exit status: 1 if there are faults.

    Raises:
        UnwindlabError: nothing can be decoded, or the output cannot be written.
    """
    refuse_inputs(output, path)
    subject = _read(path)
    write_pieces(_json(subject) if format == "json" else _text(subject), output)
    return 1 if subject.decoded is not None and subject.decoded.faults else 0


def section_lines(decoded: Decoded, size: int, path: str, format: str) -> Iterator[str]:
    """What is printed of a raw section of `size` bytes that is decoded already."""
    subject = _Subject(path, size, decoded, None, None)
    return _json(subject) if format == "json" else _text(subject)


def _read(path: str) -> _Subject:
    data = read_file(path)
    if data[: len(MAGIC)] != MAGIC:
        if not data:
            raise ImageError(f"{path}: offset 0x0: the file is empty")
        if magic_order(data) is None:
            raise ImageError(f"{path}: offset 0x0: neither ELF nor SFrame")
        try:
            return _Subject(path, len(data), decode(data), None, None)
        except SFrameError as error:
            raise UnwindlabError(f"{path}: {error}") from error
    image = parse_image(path, data)
    contained = find_section(image)
    if contained is None:
        raise ImageError(f"{path}: offset 0x28: no section {SECTION_NAME}")
    if not contained.data:
        return _Subject(path, 0, None, image, None)
    try:
        decoded = decode_contained(image, contained)
    except SFrameError as error:
        raise UnwindlabError(f"{path}: {SECTION_NAME}: {error}") from error
    return _Subject(path, len(contained.data), decoded, image, FunctionNames(image))


def _json(subject: _Subject) -> Iterator[str]:
    """One object. Rows are written by hand, which is several times as fast as json.dumps."""
    decoded = subject.decoded
    header = decoded.header if decoded is not None else None
    head = {
        "version": header.version.number if header else None,
        "abi": header.abi_name if header else None,
        "flags": header.flag_names if header else [],
        "fixed_fp": header.fixed_fp if header else None,
        "fixed_ra": header.fixed_ra if header else None,
        "num_fdes": header.num_fdes if header else 0,
        "num_fres": header.num_fres if header else 0,
    }
    yield json.dumps(head)[:-1] + ', "fdes": ['
    if decoded is not None:
        tail = functools.lru_cache(_KEPT)(lambda number: _tail(stored[number]))
        stored = decoded.rows.stored
        for number, fde in enumerate(decoded.fdes):
            comma = ",\n" if number else "\n"
            yield f'{comma}{json.dumps(_fde(subject, fde))[:-1]}, "rows": ['
            comma = ""
            for start, content in _rows(decoded, fde):
                yield f'{comma}{{"start": {start}, {tail(content)}'
                comma = ", "
            yield "]}"
    yield '],\n"faults": ['
    quoted = functools.lru_cache(_KEPT)(json.dumps)
    for number, fault in enumerate(decoded.faults if decoded is not None else ()):
        comma = ",\n" if number else "\n"
        yield f'{comma}{{"offset": {fault.offset}, "reason": {quoted(fault.reason)}}}'
    yield "]}\n"


def _tail(row: StoredRow) -> str:
    """The end of a row's object, behind its start."""
    values = {"cfa": row.cfa_text, "fp": row.fp_text, "ra": row.ra_text}
    return json.dumps({**values, "ra_signed": row.ra_signed})[1:]


def _fde(subject: _Subject, fde: Fde) -> dict[str, object]:
    values: dict[str, object] = {
        "start": hex(fde.start),
        "size": fde.size,
        "pc_type": "mask" if fde.mask else "inc",
        "type": _type(fde),
        "rep_size": fde.rep_size,
        "signal": fde.signal,
        "pauth_key": fde.pauth_key,
    }
    section = subject.section(fde)
    if section is not None:
        values["section"] = section
    if subject.names is not None:
        values["function"] = subject.function(fde)
    return values


def _type(fde: Fde) -> str:
    return _TYPES.get(fde.kind, f"unknown ({fde.kind})")


def _rows(decoded: Decoded, fde: Fde) -> Iterator[tuple[int, int]]:
    """Start and number in `stored` of each row that counts."""
    part = slice(fde.first, fde.last)
    pairs = zip(decoded.rows.starts[part], decoded.rows.contents[part], strict=True)
    return ((start, content) for start, content in pairs if content >= 0)


def _text(subject: _Subject) -> Iterator[str]:
    """Line by line; there may be a million."""
    return (f"{printable(line)}\n" for line in _lines(subject))


def _lines(subject: _Subject) -> Iterator[str]:
    decoded = subject.decoded
    if decoded is None:
        yield f"{subject.path}: {SECTION_NAME} is empty"
        return
    header = decoded.header
    yield (
        f"{subject.path}: SFrame V{header.version.number}, {header.abi_name}, "
        f"{header.byte_order}-endian, {subject.size} bytes"
    )
    yield f"  flags     {', '.join(header.flag_names) or 'none'}"
    yield f"  fixed FP  {_fixed(header.fixed_fp)}"
    yield f"  fixed RA  {_fixed(header.fixed_ra)}"
    yield f"  FDEs      {header.num_fdes} at {header.fdes_at:#x}"
    yield f"  FREs      {header.num_fres} at {header.fres_at:#x}, {header.fre_len} bytes"
    stored = decoded.rows.stored
    tail = functools.lru_cache(_KEPT)(lambda number: _columns(stored[number]))
    for number, fde in enumerate(decoded.fdes):
        yield ""
        yield _title(subject, number, fde)
        # Rows of a repeated block have no address of their own.
        base, width = (0, 8) if fde.mask else (fde.start, 16)
        if fde.first < fde.last:
            yield f"    {'START' if fde.mask else 'STARTPC':<{width}}  {'CFA':<12}{'FP':<12}RA"
        elif not fde.no_rows:
            yield "    no rows"
        for start, content in _rows(decoded, fde):
            yield f"    {base + start & 0xFFFF_FFFF_FFFF_FFFF:0{width}x}  {tail(content)}"
    faults = decoded.faults
    yield ""
    yield f"{len(faults)} fault{'' if len(faults) == 1 else 's'}"
    for fault in faults:
        yield f"  offset {fault.offset:#x}: {fault.reason}"


def _fixed(offset: int) -> str:
    return f"c{offset:+d}" if offset else "none"


def _title(subject: _Subject, number: int, fde: Fde) -> str:
    parts = [f"[{number}] {fde.start:#x}, {fde.size} bytes"]
    section, function = subject.section(fde), subject.function(fde)
    if section is not None:
        parts.append(f"in {section}")
    if function is not None:
        parts.append(f"<{function}>")
    if fde.kind:
        parts.append(_type(fde))
    if fde.mask:
        size = "" if fde.rep_size is None else f" every {fde.rep_size} bytes"
        parts.append(f"repeats{size}")
    if fde.signal:
        parts.append("signal frame")
    if fde.pauth_key == "b":
        parts.append("key B")
    if fde.no_rows:
        parts.append(f"({fde.no_rows})")
    return " ".join(parts)


def _columns(row: StoredRow) -> str:
    signed = " [s]" if row.ra_signed else ""
    if row.cfa_text is None:
        return "RA undefined"
    return f"{row.cfa_text:<12}{row.fp_text:<12}{row.ra_text}{signed}"
