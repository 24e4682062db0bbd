"""The `compare` command: what two tables say at each address."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arch import Arch, Row
from emu.check.compare import KINDS, Stretch, code_of, code_ranges, compare_tables
from emu.errors import UsageError
from emu.image import Image, load_image
from emu.report.output import refuse_inputs, write_report
from emu.report.text import text_of
from emu.rowtext import row_text
from emu.symbols import FunctionNames
from emu.tables import Table
from emu.unwind.sources import read_table

_SECTIONS = (".sframe", ".eh_frame", ".eh_frame_hdr")
_KINDS = ("sframe", "cfi")


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two tables."""

    title: str
    image: Image
    kind: str
    table: Table | None


def compare(first: str, second: str | None, format: str, output: str | None) -> int:
    """Compare two tables; 1 if they contradict each other anywhere.

    Args:
        first: a file, or ``FILE:sframe`` or ``FILE:cfi``.
        second: likewise; None: the file's .sframe against its own .eh_frame.

    Raises:
        UsageError: a file has no such table, they are for different machines, or have no code
            in common.
        ImageError: a file is unusable.
    """
    path, kind = _split(first)
    refuse_inputs(output, path, None if second is None else _split(second)[0])
    if second is None:
        if kind is not None:
            raise UsageError(f"{first}: one file alone is compared with itself, without :{kind}")
        sides = (_side(path, "sframe"), _side(path, "cfi"))
    else:
        sides = (_side(path, kind), _side(*_split(second)))
    arch = sides[0].image.arch
    if (
        arch is None
        or sides[1].image.arch is not arch
        or ((sides[0].image.kind == "rel") != (sides[1].image.kind == "rel"))
    ):
        raise UsageError(f"{sides[1].title}: not of the same machine and kind as {sides[0].title}")
    _check_common(sides[0], sides[1])
    code = code_of(sides[0].image, sides[1].image)
    stretches = list(compare_tables(sides[0].table, sides[1].table, code))
    counts: Counter[str] = Counter()
    for stretch in stretches:
        counts[stretch.kind] += stretch.end - stretch.start
    names = FunctionNames(sides[0].image)
    sections = {part.name: part.first for part in code}
    differences = [
        _difference(stretch, part, names, sections, arch)
        for stretch in stretches
        if stretch.kind == "differs"
        for part in _by_function(stretch, names, sections)
    ]
    answer = {
        "first": sides[0].title,
        "second": sides[1].title,
        "arch": arch.name,
        "addresses": {kind: counts[kind] for kind in KINDS},
        "coverage": {
            "executable": sum(counts.values()),
            "first": counts["equal"] + counts["differs"] + counts["only_first"],
            "second": counts["equal"] + counts["differs"] + counts["only_second"],
        },
        "sizes": {side.image.path: _sizes(side.image) for side in sides},
        "differences": differences,
    }
    text = json.dumps(answer, indent=1) + "\n" if format == "json" else _text(answer)
    write_report(text, output)
    return int(counts["differs"] > 0)


def _split(name: str) -> tuple[str, str | None]:
    match = re.fullmatch(r"(.+):(sframe|cfi)", name)
    return (match[1], match[2]) if match else (name, None)


def _side(path: str, kind: str | None) -> _Side:
    image = load_image(path)
    if image.arch is None:
        raise UsageError(f"{path}: machine {image.machine} is not supported")
    if kind is None:
        kind = next((k for k in _KINDS if read_table(image, k) is not None), "sframe")
    table = read_table(image, kind)
    if table is None:
        raise UsageError(f"{path}: no {'.sframe' if kind == 'sframe' else '.eh_frame'} in it")
    if table.corrupt:
        raise UsageError(f"{path}: {kind}: {table.corrupt}")
    return _Side(f"{path}:{kind}", image, kind, table)


def _check_common(first: _Side, second: _Side) -> None:
    """Refuse two files that have no address to compare them at."""
    one, other = first.image, second.image
    if one.kind == "rel":
        if code_of(one, other):
            return
        what = "no section of code has the same name in both"
    else:
        ranges = code_ranges(one), code_ranges(other)
        if any(low < end and start < high for low, high in ranges[0] for start, end in ranges[1]):
            return
        if not all(ranges):
            raise UsageError(f"{(second if ranges[0] else first).title}: no code in it")
        places = [f"at {part[0][0]:#x} to {part[-1][1]:#x}" for part in ranges]
        what = f"its code is {places[1]}, that of the other {places[0]}"
    raise UsageError(f"{second.title}: no code in common with {first.title}: {what}")


def _by_function(
    stretch: Stretch, names: FunctionNames, sections: dict[str, int]
) -> Iterator[tuple[int, int]]:
    """A stretch cut where functions end."""
    at = stretch.start
    while at < stretch.end:
        bounds = names.bounds(at, sections[stretch.section])
        end = stretch.end if bounds is None else max(at + 1, min(stretch.end, bounds[1]))
        yield at, end
        at = end


def _difference(
    stretch: Stretch,
    part: tuple[int, int],
    names: FunctionNames,
    sections: dict[str, int],
    arch: Arch,
) -> dict[str, Any]:
    place = names.place(part[0], sections[stretch.section])
    return {
        "function": place.function,
        "section": place.section,
        "start": hex(part[0]),
        "end": hex(part[1]),
        "first": _row(stretch.first, arch),
        "second": _row(stretch.second, arch),
    }


def _row(row: Row | None, arch: Arch) -> str | None:
    return None if row is None else row_text(row, arch)


def _sizes(image: Image) -> dict[str, int]:
    return {
        name: section.size for name in _SECTIONS if (section := image.section(name)) is not None
    }


def _text(answer: dict[str, Any]) -> str:
    total = answer["coverage"]["executable"] or 1
    lines = [f"first   {answer['first']}", f"second  {answer['second']}", ""]
    lines += [
        f"{kind.replace('_', ' '):<12} {number:>10} bytes of code  {100 * number / total:5.1f} %"
        for kind, number in answer["addresses"].items()
    ]
    for path, sizes in answer["sizes"].items():
        lines.append(f"sizes        {path}: " + ", ".join(f"{n} {s}" for n, s in sizes.items()))
    for item in answer["differences"]:
        where = item["function"] or item["section"]
        lines += [
            "",
            f"differs {where} [{item['start']}, {item['end']})",
            f"  first   {item['first']}",
            f"  second  {item['second']}",
        ]
    lines += ["", f"{len(answer['differences'])} differences"]
    return text_of(lines)
