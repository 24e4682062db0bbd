"""The modules of a running process, found by its file mappings as a profiler finds them."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check.codemap import CheckedModule, CodeRange, CodeSegment
from emu.errors import UnwindlabError
from emu.image import Image, Segment, parse_image
from emu.linux.mappings import MappedFile, Mapping, segment_at
from emu.memory import EXECUTE, PAGE
from emu.symbols import FunctionNames
from emu.unwind.lookup import RowTable

_FOREVER = (1 << 62) - 1


class Modules:
    """What is known of each file that the process has mapped as code.

    Args:
        arch: of the process; files for another machine are no modules.
        table: the rows of a file that are checked.
        debug: the separate debug file of a build id, or None.
    """

    def __init__(
        self,
        arch: Arch,
        table: Callable[[Image], RowTable],
        debug: Callable[[bytes], Image | None] = lambda build_id: None,
    ) -> None:
        self._arch = arch
        self._table = table
        self._debug = debug
        self._by_file: dict[int, CheckedModule | None] = {}
        self._kept: list[MappedFile] = []
        self._names: set[str] = set()
        self._owners = 0
        self.biases: dict[str, int] = {}
        """By name: runtime minus link-time address, where it was mapped last."""

    def __iter__(self) -> Iterator[CheckedModule]:
        return (module for module in self._by_file.values() if module is not None)

    def of(self, file: MappedFile, image: Image | None = None) -> CheckedModule | None:
        """The module of a file; None: it is no ELF file of the machine.

        Args:
            file: what is mapped.
            image: the same, if it has been read already.
        """
        # A file is one object as long as something refers to it, and `_kept` does.
        if id(file) not in self._by_file:
            self._kept.append(file)
            self._by_file[id(file)] = self._read(file, image)
        return self._by_file[id(file)]

    def ranges(self, mappings: Iterable[Mapping]) -> list[CodeRange]:
        """Executable memory that holds code of modules."""
        found = []
        for mapping in mappings:
            if not mapping.permissions & EXECUTE:
                continue
            module = self.of(mapping.file)
            segment = None if module is None else segment_at(module.image, mapping.offset)
            if module is None or segment is None:
                continue
            low = segment.vaddr & -PAGE
            bias = mapping.start - low - (mapping.offset - (segment.offset & -PAGE))
            end = min(mapping.end, (segment.vaddr + segment.memsz + PAGE - 1 & -PAGE) + bias)
            if mapping.start < end:
                self.biases[module.name] = bias
                found.append(CodeRange(mapping.start, end, bias, self._code(module, segment)))
        return found

    def _read(self, file: MappedFile, image: Image | None) -> CheckedModule | None:
        try:
            image = image or parse_image(file.path.decode("utf-8", "backslashreplace"), file.data())
            if image.arch is not self._arch:
                return None
            debug = self._debug(image.build_id) if image.build_id else None
        except UnwindlabError:
            return None
        table = self._table(image)
        names = FunctionNames(debug or image, (start for start, _ in table.function_bounds))
        functions = function_owners(names, table, self._owners)
        self._owners += len(functions)
        name = image.name if image.name not in self._names else image.path
        self._names.add(name)
        return CheckedModule(name, image, names, table, functions)

    def _code(self, module: CheckedModule, segment: Segment) -> CodeSegment:
        start = segment.vaddr & -PAGE
        for known in module.segments:
            if known.start == start:
                return known
        end = segment.vaddr + segment.memsz + PAGE - 1 & -PAGE
        return CodeSegment(module, start, end, self._arch.instruction_unit.bit_length() - 1)


def function_owners(names: FunctionNames, table: RowTable, base: int) -> npt.NDArray[np.int64]:
    """Disjoint functions by symbols and table entries: int64[n, 3] of start, end, owner.

    The owner of a function is its number, from `base` + 1; that of a cold part, which a
    compiler moved out of its function, is the function's.
    """
    ends: dict[int, int] = {}
    starts, stops = names.all_bounds()
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        # A label inside a function is no function.
        bounds = names.bounds(start)
        if bounds is not None and bounds[0] == start:
            ends[start] = max(ends.get(start, 0), stop)
    for start, stop in table.function_bounds:
        inside = names.bounds(start)
        if inside is None or inside[0] == start or stop > inside[1]:
            ends[start] = max(ends.get(start, 0), stop)
    ordered = sorted(ends)
    following = [*ordered[1:], _FOREVER][: len(ordered)]
    called = [names.place(start).function for start in ordered]
    numbers = {name: base + number for number, name in enumerate(called, 1) if name is not None}
    rows = []
    for number, (start, after, name) in enumerate(
        zip(ordered, following, called, strict=True), base + 1
    ):
        whole, cold, _ = (name or "").partition(".cold")
        owner = numbers.get(whole, number) if cold else number
        rows.append((start, min(ends[start], after), owner))
    return np.array(rows, np.int64).reshape(-1, 3)
