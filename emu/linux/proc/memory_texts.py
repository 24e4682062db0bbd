"""/proc/PID/maps and its relatives (fs/proc/task_mmu.c)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from emu.linux.mappings import Mapping
from emu.linux.proc.view import View
from emu.memory import EXECUTE, READ, WRITE

_NAME_AT = 73
"""Column of the name in a line (seq_setwidth in show_vma_header_prefix, and a space)."""
_ESCAPED = {ord("\n"): "\\012"}


@dataclass(frozen=True, slots=True)
class Area:
    """A line of maps."""

    start: int
    end: int
    permissions: int
    mapping: Mapping | None = None
    name: bytes = b""


def maps(view: View) -> bytes:
    """/proc/PID/maps."""
    return b"".join(_line(view, area) for area in areas(view))


def areas(view: View) -> list[Area]:
    """All of the address space, ascending; neighbours that are alike are one."""
    joined: list[Area] = []
    for area in _pieces(view):
        last = joined[-1] if joined else None
        if last is not None and last.end == area.start and _alike(last, area):
            joined[-1] = Area(last.start, area.end, last.permissions, last.mapping, last.name)
        else:
            joined.append(area)
    return joined


def _pieces(view: View) -> Iterator[Area]:
    heap, stack = view.addresses.heap, (view.stack.low, view.stack.high)
    for start, end, _, allowed in view.memory.intervals:
        place = start
        for mapping in view.mappings.inside(start, end):
            yield from _anonymous(place, mapping.start, allowed, heap, stack)
            # Of pages behind the end of the file the memory has others.
            yield Area(mapping.start, mapping.end, mapping.permissions, mapping, mapping.file.path)
            place = mapping.end
        yield from _anonymous(place, end, allowed, heap, stack)


def _anonymous(
    start: int, end: int, allowed: int, heap: tuple[int, int], stack: tuple[int, int]
) -> Iterator[Area]:
    borders = [start, *(x for x in sorted((*heap, *stack)) if start < x < end), end]
    for low, high in pairwise(borders):
        if low < high:
            name = b""
            if heap[0] <= low and high <= heap[1] + 4095 & -4096:
                name = b"[heap]"
            elif stack[0] <= low < stack[1]:
                name = b"[stack]"
            yield Area(low, high, allowed, None, name)


def _alike(first: Area, second: Area) -> bool:
    if first.permissions != second.permissions or first.name != second.name:
        return False
    if first.mapping is None or second.mapping is None:
        return first.mapping is second.mapping
    return (
        first.mapping.file is second.mapping.file
        and first.mapping.shared == second.mapping.shared
        and first.mapping.offset + first.end - first.start == second.mapping.offset
    )


def _line(view: View, area: Area) -> bytes:
    allowed = "".join(
        letter if area.permissions & bit else "-"
        for bit, letter in ((READ, "r"), (WRITE, "w"), (EXECUTE, "x"))
    )
    mapping = area.mapping
    name, offset, device, number = area.name, 0, 0, 0
    if mapping is not None:
        offset = mapping.offset
        name, device, number = view.identity(mapping.file)
    head = (
        f"{area.start:08x}-{area.end:08x} {allowed}{'s' if mapping and mapping.shared else 'p'} "
        f"{offset:08x} {device >> 8:02x}:{device & 0xFF:02x} {number} "
    )
    if not name:
        return head.encode() + b"\n"
    shown = name.decode("utf-8", "surrogateescape").translate(_ESCAPED)
    return head.ljust(_NAME_AT).encode() + shown.encode("utf-8", "surrogateescape") + b"\n"


def statm(view: View) -> bytes:
    """/proc/PID/statm: everything that is mapped is resident."""
    found = areas(view)
    shared = sum(each.end - each.start for each in found if each.mapping) >> 12
    code = view.code[1] - view.code[0] + 4095 >> 12
    data = sum(
        each.end - each.start for each in found if each.permissions & WRITE and not each.mapping
    ) >> 12  # fmt: skip
    return b"%d %d %d %d 0 %d 0\n" % (view.pages, view.pages, shared, code, data)
