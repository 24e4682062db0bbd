"""A file in memory for the sweep: where its code is, what its addresses mean, what is constant.

Nothing is placed below 1 MiB or above the descriptor's `mmap_base`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from emu.elf.layout import SHN_UNDEF, STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC
from emu.errors import ImageError
from emu.image import Image
from emu.memory import READ, WRITE, Memory
from emu.sweep.linked import place_linked
from emu.sweep.objects import place_object
from emu.sweep.placement import CodeSpan
from emu.symbols import FunctionNames
from emu.tables import FunctionRows, Table

__all__ = ["CodeSpan", "Placed", "place_file"]


@dataclass(frozen=True, eq=False)
class Placed:
    """A file in memory, relocated. Addresses without another word are runtime addresses."""

    image: Image
    memory: Memory
    spans: tuple[CodeSpan, ...]
    """Executable code, ascending."""
    undefined: Mapping[int, str]
    """Address that stands for each undefined symbol -> its name. Nothing is mapped there."""
    slots: Mapping[int, str]
    """Entry of the global offset table that is filled with a symbol's address -> its name."""
    unapplied: Counter[str]
    """Relocations that were not applied, by type."""
    names: FunctionNames
    _bias: int = 0
    _bases: Mapping[int, int] = field(default_factory=dict)
    """By section index, in a relocatable file."""
    _sections: tuple[tuple[int, int, int], ...] = ()
    """(start, end, index), ascending, in a relocatable file."""

    def runtime(self, section: int, address: int) -> int:
        """Where something lies.

        Args:
            section: of a relocatable file; elsewhere it does not matter.
            address: link-time address; in a relocatable file the offset in the section.

        Raises:
            ImageError: the section is not in memory.
        """
        if self.image.kind != "rel":
            return address + self._bias
        if section not in self._bases:
            raise ImageError(f"{self.image.path}: section {section} is not loaded")
        return self._bases[section] + address

    def place(self, table: Table) -> Table:
        """The table with runtime addresses; `section` of each function becomes -1.

        Of a relocatable file, functions are left out that lie in a section that is not loaded,
        or behind its end, where other code is now.
        """
        functions = tuple(
            FunctionRows(
                self.runtime(function.section, function.start), function.size, function.starts,
                function.rows, function.rep_size,
            )
            for function in table.functions
            if self.image.kind != "rel" or self._holds(function.section, function.start)
        )  # fmt: skip
        return replace(table, functions=functions)

    def link(self, runtime: int) -> int:
        """The link-time address; in a relocatable file the offset in the section that is there.

        What is in no section stays as it is.
        """
        if self.image.kind != "rel":
            return runtime - self._bias
        section = self._section(runtime)
        return runtime if section < 0 else runtime - self._bases[section]

    def span_at(self, runtime: int) -> CodeSpan | None:
        """The stretch of code that holds an address."""
        at = bisect_right(self.spans, runtime, key=lambda span: span.start) - 1
        return self.spans[at] if at >= 0 and runtime < self.spans[at].end else None

    def function_at(self, runtime: int) -> tuple[str | None, int | None, str]:
        """Function, its start, and section of an address; undefined symbols have names too."""
        if runtime in self.undefined:
            return self.undefined[runtime], runtime, ""
        section = self._section(runtime)
        if self.image.kind == "rel" and section < 0:
            return None, None, ""
        offset = runtime - self.link(runtime)
        place = self.names.place(runtime - offset, section)
        start = None if place.start is None else place.start + offset
        return place.function, start, place.section

    def functions(self) -> Mapping[str, int]:
        """Address of each defined function, by its name with and without a symbol version.

        Of several with one name a global one counts before a weak one before a local one.
        """
        return self._functions

    @cached_property
    def _functions(self) -> dict[str, int]:
        rank = {STB_GLOBAL: 0, STB_WEAK: 1}
        best: dict[str, tuple[int, int, int]] = {}
        for symbol in self.image.symbols:
            section = symbol.section_index
            if symbol.kind not in (STT_FUNC, STT_GNU_IFUNC) or section == SHN_UNDEF:
                continue
            if self.image.kind == "rel" and section not in self._bases:
                continue
            found = rank.get(symbol.binding, 2), 0, self.runtime(section, symbol.value)
            for name in {symbol.name, symbol.name.split("@", 1)[0]}:
                # The default version of a name has two @, others have one.
                other = name != symbol.name and "@@" not in symbol.name
                candidate = found[0], int(other), found[2]
                best[name] = min(best.get(name, candidate), candidate)
        return {name: address for name, (_, _, address) in best.items()}

    def readable_constant(self, address: int) -> bool:
        """The byte there is mapped, and nothing can change it."""
        row = self.memory.find(address)
        return row is not None and row[3] & (READ | WRITE) == READ

    def _holds(self, section: int, offset: int) -> bool:
        return section in self._bases and offset < self.image.sections[section].size

    def _section(self, runtime: int) -> int:
        """Index of the section of a relocatable file, or -1."""
        at = bisect_right(self._sections, runtime, key=lambda section: section[0]) - 1
        if at < 0 or runtime >= self._sections[at][1]:
            return -1
        return self._sections[at][2]


def place_file(image: Image, memory: Memory) -> Placed:
    """Map a file and apply its relocations: executable, shared library or relocatable object.

    Raises:
        ImageError: the machine is not supported, the file is damaged or does not fit.
    """
    arch = image.arch
    if arch is None:
        raise ImageError(f"{image.path}: machine {image.machine} is not supported")
    place = place_object if image.kind == "rel" else place_linked
    placement = place(image, arch, memory)
    sections = [
        (start, start + image.sections[index].size, index)
        for index, start in placement.bases.items()
        if image.sections[index].size
    ]
    return Placed(
        image=image,
        memory=memory,
        spans=placement.spans,
        undefined=placement.undefined,
        slots=placement.slots,
        unapplied=placement.unapplied,
        names=FunctionNames(image),
        _bias=placement.bias,
        _bases=placement.bases,
        _sections=tuple(sorted(sections)),
    )
