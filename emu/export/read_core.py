"""What a core says of a process: its threads, its memory, and which file is where."""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from arch import Arch
from arch.export import NT_PRSTATUS
from emu.elf.layout import PF_R, PF_W, PF_X, PT_LOAD, fail
from emu.errors import ImageError, MemoryFault, UnwindlabError, UsageError
from emu.export.core_file import CoreFile, Note, parse_core
from emu.export.core_notes import EXTRA, NT_AUXV, NT_FILE, NT_PRPSINFO, OWNER, STATUS_SIZE
from emu.export.files import Files, MappedCode
from emu.export.registers import Thread, thread_of, unpack
from emu.export.stored_memory import USER_END, StoredMemory
from emu.image import Image, parse_image, read_file
from emu.machine.entry_stack import Aux
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory
from emu.sample import Sample

AT_SYSINFO_EHDR = 33
VDSO = "[vdso]"
_MOST_VDSO = 1 << 20
_TID = 32
"""Offset of pr_pid in NT_PRSTATUS."""
_NAME, _NAME_SIZE = 40, 16
"""Of pr_fname in NT_PRPSINFO."""
_MANY_FILES = 1 << 20


@dataclass(frozen=True, slots=True)
class FilePart:
    """Memory [start, end) that holds a file from `offset` on, as NT_FILE tells; bytes."""

    start: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class Core:
    """A process as its core tells of it.

    Args:
        path: of the core.
        arch: the machine.
        threads: the one that stopped first.
        memory: what is stored.
        parts: which file is where, by address.
        code: (start, end) of executable memory, by address.
        auxiliary: the auxiliary vector.
        name: of the program, at most 15 bytes.
    """

    path: str
    arch: Arch
    threads: tuple[Thread, ...]
    memory: Memory
    parts: tuple[FilePart, ...]
    code: tuple[tuple[int, int], ...]
    auxiliary: dict[int, int]
    name: bytes

    def sample(self, thread: Thread) -> Sample:
        """Where a thread stands, for a walk."""
        return Sample(self.arch, thread.pc, thread.registers, self.memory)

    def files(self, root: str = "", program: Image | None = None) -> Files:
        """Finds the files of this core.

        Args:
            root: folder with the files of its machine; empty: this host's own.
            program: what ran, wherever it was.

        Raises:
            UsageError: `program` is for another machine.
        """
        if program is not None and program.arch is not self.arch:
            raise UsageError(f"{program.path}: for another machine than {self.path}")
        files = Files(self.arch, root, (), self._check)
        main = self._main_path()
        if program is not None and main:
            self._check(main, program)
            files.add(main, program)
        vdso = self._vdso()
        if vdso is not None:
            files.add(VDSO, vdso)
        return files

    def mapped_code(self, program: Image | None = None) -> list[MappedCode]:
        """Where code of files is; without NT_FILE that of `program`, by AT_ENTRY."""
        found = [
            MappedCode(max(part.start, start), min(part.end, end),
                       part.offset + max(0, start - part.start), part.path)
            for part in self.parts
            for start, end in self._code_inside(part.start, part.end)
        ]  # fmt: skip
        if not self.parts and program is not None:
            bias = self.auxiliary.get(Aux.ENTRY, program.entry) - program.entry
            found = [
                MappedCode((s.vaddr & -PAGE) + bias, s.vaddr + s.memsz + PAGE - 1 + bias & -PAGE,
                           s.offset & -PAGE, program.path)
                for s in program.segments
                if s.kind == PT_LOAD and s.flags & PF_X
            ]  # fmt: skip
        at = self.auxiliary.get(AT_SYSINFO_EHDR)
        row = None if at is None else self.memory.find(at)
        if at is not None and row is not None:
            found.append(MappedCode(at, row[1], 0, VDSO))
        return found

    def _code_inside(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        number = bisect_right(self.code, start, key=lambda each: each[0])
        for low, high in islice(self.code, max(0, number - 1), None):
            if low >= end:
                return
            if start < high:
                yield low, high

    def _main_path(self) -> str:
        """The file that AT_PHDR points into, else AT_ENTRY."""
        for kind in (Aux.PHDR, Aux.ENTRY):
            at = self.auxiliary.get(kind, 0)
            for part in self.parts:
                if part.start <= at < part.end:
                    return part.path
        return ""

    def _check(self, path: str, image: Image) -> None:
        """The page with a file's header must be what the core has of it."""
        for part in self.parts:
            if part.path == path and part.offset == 0:
                stored = self.memory.read_some(part.start, 64)
                if stored and stored != image.data[: len(stored)]:
                    raise ImageError(f"{image.path}: not the file that {self.path} is of")

    def _vdso(self) -> Image | None:
        at = self.auxiliary.get(AT_SYSINFO_EHDR)
        data = b"" if at is None else self.memory.read_some(at, _MOST_VDSO)
        try:
            return parse_image(VDSO, data) if data else None
        except UnwindlabError:
            return None


def read_core(path: str) -> Core:
    """Read the core `path`.

    Raises:
        ImageError: it cannot be read, is no core of a known machine, or is damaged: with the
            file, the offset and the reason.
    """
    return core_of(path, read_file(path))


def core_of(path: str, data: bytes) -> Core:
    """`read_core` for bytes already read; `path` only names them."""
    file = parse_core(path, data)
    threads = tuple(_threads(file))
    if not threads:
        fail(path, 0, "no registers of a thread (NT_PRSTATUS) in it")
    auxiliary: dict[int, int] = {}
    parts: list[FilePart] = []
    name = b""
    for note in file.notes:
        if note.owner != OWNER:
            continue
        if note.type == NT_AUXV:
            auxiliary.update(_vector(file, note))
        elif note.type == NT_FILE:
            parts += _files(file, note)
        elif note.type == NT_PRPSINFO:
            name = note.content[_NAME : _NAME + _NAME_SIZE].partition(b"\0")[0]
    return Core(
        path, file.arch, threads, _memory(file), tuple(_disjoint(parts)), tuple(_code(file)),
        auxiliary, name,
    )  # fmt: skip


def _disjoint(parts: Iterable[FilePart]) -> Iterator[FilePart]:
    """By address; what lies over an earlier one is no mapping."""
    end = 0
    for part in sorted(parts, key=lambda each: each.start):
        if part.start >= end:
            end = part.end
            yield part


def _code(file: CoreFile) -> list[tuple[int, int]]:
    """Executable memory by address, neighbours put together."""
    found: list[tuple[int, int]] = []
    for load in sorted(file.loads, key=lambda each: each.vaddr):
        start, end = load.vaddr, load.vaddr + load.memsz
        if not load.flags & PF_X or start == end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _memory(file: CoreFile) -> StoredMemory:
    memory = StoredMemory(len(file.data) + 1)
    for load in sorted(file.loads, key=lambda each: each.vaddr):
        if not load.filesz or load.vaddr + load.filesz > USER_END:
            continue  # such as the page of old system calls at the end of the address space
        flags = ((PF_R, READ), (PF_W, WRITE), (PF_X, EXECUTE))
        allowed = sum(bit for flag, bit in flags if load.flags & flag)
        try:
            memory.store(load.vaddr, file.stored(load), allowed | READ)
        except MemoryFault as fault:
            fail(file.path, load.offset, f"a segment of memory that cannot be: {fault}")
    memory.seal()
    return memory


def _threads(file: CoreFile) -> Iterator[Thread]:
    """A thread's notes are NT_PRSTATUS and all up to the next one."""
    facts, order = file.arch.export, file.arch.byte_order
    known: dict[str, int] = {}
    tid = -1
    for note in file.notes:
        layout = next(
            (n for n in facts.notes if n.type == note.type and n.owner == note.owner), None
        )
        if layout is None or note.owner not in (OWNER, EXTRA):
            continue
        content = note.content
        if layout.type == NT_PRSTATUS:
            if tid >= 0:
                yield thread_of(file.arch, tid, known)
            if len(content) < STATUS_SIZE + layout.size:
                size = STATUS_SIZE + layout.size
                fail(file.path, note.offset, f"NT_PRSTATUS of {len(content)} bytes, not {size}")
            tid = int.from_bytes(content[_TID : _TID + 4], order)
            known, content = {}, content[STATUS_SIZE:]
        elif len(content) < layout.size:
            fail(file.path, note.offset, f"note {note.type:#x} of {len(content)} bytes")
        known |= unpack(layout, content, order)
    if tid >= 0:
        yield thread_of(file.arch, tid, known)


def _vector(file: CoreFile, note: Note) -> Iterable[tuple[int, int]]:
    order = "<" if file.arch.byte_order == "little" else ">"
    whole = len(note.content) // 16 * 16
    for kind, value in struct.iter_unpack(order + "QQ", note.content[:whole]):
        if kind == Aux.NULL:
            return
        yield kind, value


def _files(file: CoreFile, note: Note) -> Iterator[FilePart]:
    order = "<" if file.arch.byte_order == "little" else ">"
    content = note.content
    if len(content) < 16:
        fail(file.path, note.offset, f"NT_FILE of {len(content)} bytes")
    count, page = struct.unpack_from(order + "QQ", content)
    if count > min(_MANY_FILES, (len(content) - 16) // 24):
        fail(file.path, note.offset, f"NT_FILE of {count} files in {len(content)} bytes")
    names = content[16 + 24 * count :].split(b"\0")
    if len(names) < count:
        fail(file.path, note.offset, f"NT_FILE of {count} files has {len(names)} names")
    for number in range(count):
        start, end, offset = struct.unpack_from(order + "QQQ", content, 16 + 24 * number)
        if start < end and offset * page < 1 << 63:
            path = names[number].decode("utf-8", "surrogateescape")
            yield FilePart(start, end, offset * page, path)
