"""Programs and their interpreters into memory, page by page as Linux maps them (fs/binfmt_elf.c).

A segment maps whole pages of the file: bytes of the file before its start and behind
its end are seen too, except that a bss zeroes the rest of its first page. Where two
segments touch one page, the later one has it, contents and permissions.
"""

from dataclasses import dataclass
from itertools import pairwise

from arch import Arch
from emu.errors import ImageError, MemoryFault
from emu.image import PF_R, PF_W, PF_X, PT_LOAD, Image, Segment
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory

PT_GNU_STACK = 0x6474E551
MMAP_MIN_ADDR = 0x10000
"""Linux vm.mmap_min_addr: nothing is mapped below, so that null pointers fault."""
STACK_ROOM = 16 << 20
"""Bytes below the top of the stack that no segment may touch: the stack and its gap."""
_LARGEST_ALIGNMENT = 1 << 30


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program in memory; all addresses are runtime addresses."""

    bias: int
    """Runtime minus link-time address."""
    entry: int
    phdr: int
    """Where the program headers lie, 0 if in no segment."""
    phnum: int
    brk: int
    """First page behind the last segment: the start of the heap."""
    ranges: tuple[tuple[int, int, int], ...]
    """(start, end, permissions) of each segment, page-aligned, in the order of the file."""
    executable_stack: bool

    @property
    def start(self) -> int:
        """First address of the module."""
        return min(start for start, _, _ in self.ranges)

    @property
    def end(self) -> int:
        """First address behind the module."""
        return max(end for _, end, _ in self.ranges)


def load(image: Image, memory: Memory) -> Loaded:
    """Map a program; a position-independent one without interpreter relocates itself.

    Raises:
        ImageError: it cannot run here, or its segments cannot be mapped.
    """
    arch = _runnable(image)
    segments = _segments(image, memory)
    _check_entry(image, segments)
    return _map_all(image, arch, segments, memory, arch.layout.pie_base)


def load_interpreter(image: Image, memory: Memory) -> Loaded:
    """Map a program interpreter, above all that will be mapped later (load_elf_interp).

    Raises:
        ImageError: it cannot be one, or its segments cannot be mapped.
    """
    arch = _runnable(image)
    segments = _segments(image, memory)
    _check_entry(image, segments)
    low, high = _down(min(s.vaddr for s in segments)), max(s.vaddr + s.memsz for s in segments)
    return _map_all(
        image, arch, segments, memory, memory.free_range(_up(high) - low, arch.layout.mmap_base)
    )


def _runnable(image: Image) -> Arch:
    arch = image.arch
    if arch is None:
        raise ImageError(f"{image.path}: machine {image.machine} is not supported")
    if image.kind == "rel":
        raise ImageError(f"{image.path}: a relocatable object cannot be run")
    return arch


def _check_entry(image: Image, segments: list[Segment]) -> None:
    if not any(s.flags & PF_X and s.vaddr <= image.entry < s.vaddr + s.memsz for s in segments):
        raise ImageError(f"{image.path}: entry {image.entry:#x} is in no executable segment")


def map_file(image: Image, arch: Arch, memory: Memory) -> Loaded:
    """Map a program or library that need not be complete: nothing will run from its entry.

    Raises:
        ImageError: its segments cannot be mapped.
    """
    return _map_all(image, arch, _segments(image, memory), memory, arch.layout.pie_base)


def _map_all(
    image: Image, arch: Arch, segments: list[Segment], memory: Memory, base: int
) -> Loaded:
    bias = _bias(base, image, segments)
    _check_place(image, arch, segments, bias)
    try:
        ranges = tuple(_map(image, segment, bias, memory) for segment in segments)
    except MemoryFault as fault:
        raise ImageError(f"{image.path}: cannot be mapped: {fault}") from fault
    stacks = [s for s in image.segments if s.kind == PT_GNU_STACK]
    return Loaded(
        bias=bias,
        entry=image.entry + bias,
        phdr=_headers(image, segments, bias),
        phnum=image.phnum,
        brk=max(end for _, end, _ in ranges),
        ranges=ranges,
        executable_stack=any(s.flags & PF_X for s in stacks),
    )


def _down(address: int) -> int:
    return address & -PAGE


def _up(address: int) -> int:
    return (address + PAGE - 1) & -PAGE


def _segments(image: Image, memory: Memory) -> list[Segment]:
    """What is to be mapped; refused is what Linux refuses, and overlaps, which it maps."""
    path = image.path
    segments = [s for s in image.segments if s.kind == PT_LOAD and s.memsz]
    if not segments:
        raise ImageError(f"{path}: no segment to load")
    total = 0
    for segment in segments:
        where = f"{path}: segment at {segment.vaddr:#x}"
        if segment.filesz > segment.memsz:
            raise ImageError(f"{where}: {segment.filesz} bytes in the file, {segment.memsz} loaded")
        if segment.filesz and segment.offset + segment.filesz > len(image.data):
            raise ImageError(f"{where}: its bytes end behind the file")
        if segment.filesz and (segment.vaddr - segment.offset) % PAGE:
            raise ImageError(f"{where}: address and offset {segment.offset:#x} differ in a page")
        total += _up(segment.vaddr + segment.memsz) - _down(segment.vaddr)
        if total > memory.limit - memory.mapped:
            raise ImageError(f"{where}: {total} bytes are over the limit of {memory.limit}")
    ordered = sorted(segments, key=lambda s: s.vaddr)
    for first, second in pairwise(ordered):
        if first.vaddr + first.memsz > second.vaddr:
            raise ImageError(f"{path}: segments at {first.vaddr:#x} and {second.vaddr:#x} overlap")
    return segments


def _bias(base: int, image: Image, segments: list[Segment]) -> int:
    """0 for a file with fixed addresses; else its lowest page goes to `base`, or below."""
    if image.kind == "exec":
        return 0
    wanted = [s.align for s in segments if s.align & (s.align - 1) == 0]
    alignment = min(max([PAGE, *wanted]), _LARGEST_ALIGNMENT)
    bias = base - _down(min(s.vaddr for s in segments))
    return bias & -alignment


def _check_place(image: Image, arch: Arch, segments: list[Segment], bias: int) -> None:
    low = bias + min(s.vaddr for s in segments)
    high = bias + max(s.vaddr + s.memsz for s in segments)
    if low < MMAP_MIN_ADDR:
        raise ImageError(f"{image.path}: segment at {low:#x}: below {MMAP_MIN_ADDR:#x}")
    end = arch.layout.stack_top - STACK_ROOM
    if high > end:
        raise ImageError(
            f"{image.path}: segment up to {high:#x}: "
            f"user space ends, or the stack begins, at {end:#x}"
        )


def _map(image: Image, segment: Segment, bias: int, memory: Memory) -> tuple[int, int, int]:
    """Map one segment; its page range and permissions.

    page  . file page .  file pages . page with bss . zero pages .
          |--|########################|000000000000|0000000000000|
             vaddr        vaddr + filesz    page border      vaddr + memsz
    """
    start = _down(segment.vaddr)
    end = _up(segment.vaddr + segment.memsz)
    # What may be written or executed may be read, on all machines here.
    allowed = (
        (READ if segment.flags & (PF_R | PF_W | PF_X) else 0)
        | (WRITE if segment.flags & PF_W else 0)
        | (EXECUTE if segment.flags & PF_X else 0)
    )
    memory.map(start + bias, end - start, allowed)
    if segment.filesz:
        first = segment.offset - (segment.vaddr - start)
        file_end = segment.offset + segment.filesz
        if segment.memsz == segment.filesz:
            file_end = min(first + _up(segment.vaddr + segment.filesz) - start, len(image.data))
        memory.write(start + bias, image.data[first:file_end], force=True)
    return start + bias, end + bias, allowed


def _headers(image: Image, segments: list[Segment], bias: int) -> int:
    """Runtime address of the program headers (load_elf_binary: phdr_addr)."""
    for segment in segments:
        if segment.offset <= image.phoff < segment.offset + segment.filesz:
            return image.phoff - segment.offset + segment.vaddr + bias
    return 0
