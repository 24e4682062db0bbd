"""The files of a process that is only known from a recording: found again on this host."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from arch import Arch
from emu.errors import ImageError, UnwindlabError
from emu.image import Image, load_image, parse_image
from emu.linux.calls import CallError
from emu.linux.credentials import OWNER
from emu.linux.mappings import segment_at
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.host import HostRoot
from emu.linux.vfs.nodes import Regular
from emu.memory import PAGE
from emu.symbols import FunctionNames
from emu.unwind.lookup import RowTable
from emu.unwind.sources import has_table, row_table
from emu.unwind.walker import ModuleTable


@dataclass(frozen=True, slots=True)
class MappedCode:
    """Executable memory [start, end) that holds a file from `offset` on; bytes."""

    start: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where code of a file is; `bias` is runtime minus link-time address."""

    start: int
    end: int
    bias: int
    image: Image


class Files:
    """Finds files by the names in a recording, and what they say of addresses.

    Args:
        arch: of the process; files for another machine are not taken.
        root: folder that holds the files of the recorded machine; empty: this host's own.
        given: files to take for all of the same name, wherever they were.
        check: raises ImageError for a file that is not what was mapped; called once for each.
    """

    def __init__(
        self,
        arch: Arch,
        root: str = "",
        given: Iterable[Image] = (),
        check: Callable[[str, Image], None] = lambda path, image: None,
    ) -> None:
        self._arch = arch
        # Links in it mean files in it.
        self._tree = FileSystem(HostRoot(root), OWNER, lambda: 0) if root else None
        self._given = {image.name: image for image in given}
        self._check = check
        self._images: dict[str, Image | None] = {}
        self._tables: dict[tuple[str, str], RowTable] = {}
        self._names: dict[str, FunctionNames | None] = {}
        self.problems: list[str] = []
        """Why a file is not used, one line each."""

    def add(self, path: str, image: Image) -> None:
        """Know an image that is in no file, such as one that the kernel maps."""
        self._images[path] = image

    def image(self, path: str) -> Image | None:
        """The file of that name; None: it cannot be used, and `problems` says why."""
        if path not in self._images:
            self._images[path] = self._find(path)
        return self._images[path]

    def _find(self, path: str) -> Image | None:
        try:
            image = self._given.get(path.rpartition("/")[2])
            if image is None:
                if not path.startswith("/"):
                    return None  # [stack], [vdso], //anon
                image = load_image(path) if self._tree is None else _read(self._tree, path)
            if image.arch is not self._arch:
                raise ImageError(f"{image.path}: for another machine than the recording")
            self._check(path, image)
        except (UnwindlabError, ValueError) as error:
            self.problems.append(str(error))
            return None
        return image

    def places(self, code: Iterable[MappedCode]) -> list[Place]:
        """Where each usable file has its code."""
        found = []
        for part in code:
            image = self.image(part.path)
            segment = None if image is None else segment_at(image, part.offset)
            if image is None or segment is None:
                continue
            bias = part.start - (segment.vaddr & -PAGE) - (part.offset - (segment.offset & -PAGE))
            end = min(part.end, (segment.vaddr + segment.memsz + PAGE - 1 & -PAGE) + bias)
            if part.start < end:
                found.append(Place(part.start, end, bias, image))
        return found

    def has(self, places: Iterable[Place], kind: str) -> bool:
        """Some of the files have a table of that kind, or the machine the convention."""
        if kind == "fp":
            return self._arch.frame_pointer_row is not None
        if kind == "backchain":
            return self._arch.back_chain_row is not None
        return any(has_table(place.image, kind) for place in places)

    def tables(self, places: Iterable[Place], kind: str) -> list[ModuleTable]:
        """Rows of one kind, for a walk."""
        return [
            ModuleTable(place.start, place.end, place.bias, self._table(place.image, kind))
            for place in places
        ]

    def _table(self, image: Image, kind: str) -> RowTable:
        key = (image.path, kind)
        if key not in self._tables:
            self._tables[key] = row_table(image, self._arch, kind)
        return self._tables[key]

    def where(self, places: Iterable[Place], pc: int, back: int = 0) -> str:
        """``libc.so.6: puts+0x12``, or the address; looked up `back` bytes earlier."""
        place = next((each for each in places if each.start <= pc - back < each.end), None)
        if place is None:
            return f"{pc:#x}"
        address = pc - place.bias
        names = self._names_of(place.image)
        found = None if names is None else names.place(address - back)
        if found is None or found.function is None or found.start is None:
            return f"{place.image.name}: {address:#x}"
        return f"{place.image.name}: {found.function}+{address - found.start:#x}"

    def _names_of(self, image: Image) -> FunctionNames | None:
        if image.path not in self._names:
            try:
                self._names[image.path] = FunctionNames(image)
            except UnwindlabError as error:
                self.problems.append(str(error))
                self._names[image.path] = None
        return self._names[image.path]


def _read(tree: FileSystem, path: str) -> Image:
    try:
        node = tree.lookup(path.encode("utf-8", "surrogateescape"))
        if not isinstance(node, Regular):
            raise ImageError(f"{path}: no regular file below --root")
        return parse_image(path, node.data())
    except CallError as error:
        raise ImageError(f"{path}: not below --root ({error})") from error
