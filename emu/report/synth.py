"""The `synth` command: a .sframe made from a file's .eh_frame.

What the format cannot say is left out, a row at a time, and named with the reason. With
``--like-gas`` whole functions are left out, also those that only the assembler cannot translate.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from emu.cfi.table import DescribedFunction, read_described
from emu.elf.rewrite import find_room
from emu.errors import ImageError, UnwindlabError, UsageError
from emu.image import Image, load_image
from emu.report.output import refuse_inputs, write_file, write_report
from emu.report.text import text_of
from emu.sframe.encode import Encoding, Entry, Target, encode_rows
from emu.symbols import FunctionNames
from emu.tables import FunctionRows


@dataclass(frozen=True, slots=True)
class Refused:
    """A function or a stretch of one that is not in the table."""

    function: FunctionRows
    row: int | None
    end: int | None
    """Offsets in the function of a stretch; no end: all of the function."""
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A table made from an .eh_frame."""

    encoding: Encoding
    places: tuple[tuple[int, int], ...]
    """By FDE of the table: section (-1 in a linked file) and start of its code."""
    given: int
    """FDEs of the .eh_frame."""
    functions: int
    """Those of them that are in the table; it may have several FDEs for one."""
    refused: tuple[Refused, ...]
    faults: tuple[str, ...]
    """FDEs of the .eh_frame that could not be read."""

    @property
    def data(self) -> bytes:
        """The section."""
        return self.encoding.encoded.data

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return sum(len(function.rows) for function in self.encoding.encoded.form.functions)

    def reasons(self) -> dict[str, int]:
        """How many refusals there are for each reason."""
        counts = Counter(refused.reason for refused in self.refused)
        return dict(sorted(counts.items()))


def synth(
    path: str,
    output: str | None,
    version: int = 3,
    like_gas: bool = False,
    format: str = "text",
    report_output: str | None = None,
) -> int:
    """Put a table made from .eh_frame into a copy of a file and print what is not in it.

    Args:
        path: a program or a library; of a relocatable object only the report is made.
        output: the copy; None: only the report is made.
        version: of SFrame.
        like_gas: see `synthesize`.
        format: of the report, ``text`` or ``json``.
        report_output: file for the report; None: stdout.

    Returns:
        The exit status: 0, whatever was refused.

    Raises:
        UnwindlabError: no table can be made or nothing can be written.
    """
    refuse_inputs(output, path)
    refuse_inputs(report_output, path)
    image = load_image(path)
    if image.kind == "rel":
        if output is not None:
            reason = "in a relocatable object starts are relocations, which are not written here"
            raise UsageError(f"{path}: {reason}; leave out -o for the report")
        synthesis = synthesize(image, version, address=None, like_gas=like_gas)
        room = None
    else:
        room = find_room(path, image.data)
        synthesis = synthesize(image, version, address=room.address, like_gas=like_gas)
    if room is not None and output is not None:
        write_file(output, room.fill(synthesis.data), like=path)
    answer = _answer(image, synthesis, output, None if room is None else room.address)
    text = json.dumps(answer, indent=1) + "\n" if format == "json" else _text(answer)
    write_report(text, report_output)
    return 0


def synthesize(
    image: Image, version: int, *, address: int | None, like_gas: bool = False
) -> Synthesis:
    """Make a table.

    Args:
        image: the file.
        version: of SFrame, 1 to 3.
        address: of the table in the linked file; None in a relocatable one.
        like_gas: leave out whatever the assembler of that version leaves out.

    Raises:
        UnwindlabError: the file has no .eh_frame, or nothing of it can be used.
        ValueError: there is no such version.
    """
    if image.arch is None:
        raise UsageError(f"{image.path}: machine {image.machine} is not supported")
    found = read_described(image, version if like_gas else None)
    if found is None:
        raise ImageError(f"{image.path}: offset 0x28: no .eh_frame in it")
    described, faults = found
    if faults and not described:
        raise UnwindlabError(f"{image.path}: .eh_frame: {faults[0]}")
    # Only what came after the first releases of V2 uses its errata; there nothing else can be
    # like the assembler where that knew the machine no earlier.
    errata = not like_gas or image.arch.sframe.registers_in_offsets
    target = Target.of(image.arch, version, errata=errata)
    refused: list[Refused] = []
    entries: list[Entry] = []
    origins: list[int] = []
    for number, one in enumerate(described):
        entries += _entries(one, version, refused)
        origins += [number] * (len(entries) - len(origins))
    encoding = encode_rows(entries, target, address=address, split=not like_gas)
    refused += [
        Refused(
            entries[loss.entry].function, loss.row, loss.end, str(loss.misfit.reason),
            loss.misfit.text,
        )
        for loss in encoding.refusals
    ]  # fmt: skip
    refused.sort(key=lambda one: (one.function.section, one.function.start, one.row or 0))
    sections = [entries[source].function.section for source in encoding.sources]
    places = tuple(zip(sections, encoding.starts, strict=True))
    inside = {origins[source] for source in encoding.sources}
    return Synthesis(encoding, places, len(described), len(inside), tuple(refused), faults)


def _entries(one: DescribedFunction, version: int, refused: list[Refused]) -> Iterator[Entry]:
    gas = one.gas
    for function in one.functions:
        if gas is None:
            yield Entry(function, one.key_b, one.signal)
            continue
        refused.append(Refused(function, gas.offset, None, str(gas.reason), gas.text))
        if one.signal and version >= 3:
            # The assembler keeps the mark: unwinders know how to leave a signal frame.
            yield Entry(replace(function, starts=(), rows=()), one.key_b, True)


def _answer(
    image: Image, synthesis: Synthesis, output: str | None, address: int | None
) -> dict[str, Any]:
    names = FunctionNames(image)
    form = synthesis.encoding.encoded.form
    return {
        "file": image.path,
        "arch": form.arch.name,
        "version": form.version,
        "output": output,
        "address": None if address is None else hex(address),
        "size": len(synthesis.data),
        "given": synthesis.given,
        "functions": synthesis.functions,
        "fdes": len(form.functions),
        "rows": synthesis.rows,
        "refused": synthesis.reasons(),
        "refusals": [_refusal(one, names) for one in synthesis.refused],
        "faults": list(synthesis.faults),
    }


def _refusal(one: Refused, names: FunctionNames) -> dict[str, Any]:
    function = one.function
    place = names.place(function.start, function.section)
    return {
        "function": place.function,
        "section": place.section,
        "start": hex(function.start),
        "row": one.row,
        "end": one.end,
        "reason": one.reason,
        "text": one.text,
    }


def _text(answer: dict[str, Any]) -> str:
    where = "" if answer["address"] is None else f" at {answer['address']}"
    lines = [
        f"{answer['file']}: {answer['arch']}, .eh_frame -> SFrame V{answer['version']}",
        f"  .eh_frame  {answer['given']} functions, {len(answer['faults'])} unreadable",
        f"  .sframe    {answer['functions']} functions, {answer['fdes']} FDEs, "
        f"{answer['rows']} rows, {answer['size']} bytes{where}",
    ]
    if answer["output"] is not None:
        lines.append(f"  written to {answer['output']}")
    lines.append(f"{sum(answer['refused'].values())} refusals")
    lines += [f"  {count:>6}  {reason}" for reason, count in answer["refused"].items()]
    lines += [f"  {fault}" for fault in answer["faults"]]
    lines += [_line(one) for one in answer["refusals"]]
    return text_of(lines)


def _line(one: dict[str, Any]) -> str:
    line = f"  {one['start']} <{one['function'] or one['section']}>"
    if one["row"] is not None:
        line += f" +{one['row']:#x}"
    if one["end"] is not None:
        line += f"..+{one['end']:#x}"
    whole = "" if one["end"] is not None else ", the whole function"
    return f"{line}: {one['reason']}: {one['text']}{whole}"
