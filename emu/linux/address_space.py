"""System calls that change the address space (mm/mmap.c, mm/mremap.c, mm/mprotect.c).

Addresses are chosen as Linux does, from `mmap_base` downwards, but without randomness. A
private mapping of a file is a copy of what the file holds when it is made.
"""

from collections.abc import Callable
from dataclasses import replace

from arch.descriptor import AddressLayout
from emu.errors import MemoryFault
from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.guest import Guest
from emu.linux.mappings import MappedFile, Mapping, Mappings
from emu.memory import EXECUTE, PAGE, READ, WRITE

PROT_READ, PROT_WRITE, PROT_EXEC, PROT_SEM = 1, 2, 4, 8
PROT_GROWSDOWN, PROT_GROWSUP = 0x0100_0000, 0x0200_0000
MAP_TYPE, MAP_PRIVATE, MAP_SHARED_VALIDATE = 0xF, 2, 3
MAP_FIXED, MAP_ANONYMOUS, MAP_FIXED_NOREPLACE = 0x10, 0x20, 0x10_0000
MAP_HUGETLB = 0x4_0000
MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2
MADV_DONTNEED, MADV_REMOVE = 4, 9
_PART = 1 << 20
"""Bytes of a file that are copied at a time."""
_ADVICE = frozenset((0, 1, 2, 3, 4, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23))
MEMBARRIER_COMMANDS = 1 | 8 | 16
"""Global, private expedited and its registration: with one thread nothing is to be done."""

MMAP_MIN_ADDR = 0x10000
"""Below it nothing may be mapped (Linux vm.mmap_min_addr), so that null pointers fault."""
STACK_GAP = 256 * PAGE
"""Free space that Linux keeps below a stack (stack_guard_gap)."""


def permissions(prot: int) -> int:
    """Page permissions of PROT bits: what may be written or executed may be read.

    So it is on all three machines (protection_map in arch/*/mm), without protection keys.
    """
    if not prot & (PROT_READ | PROT_WRITE | PROT_EXEC):
        return 0
    return READ | (WRITE if prot & PROT_WRITE else 0) | (EXECUTE if prot & PROT_EXEC else 0)


def _pages(size: int) -> int:
    return (size + PAGE - 1) & -PAGE


class AddressSpace:
    """The mappings of one process.

    Args:
        guest: its memory, and the engine to tell of changes.
        layout: where the machine puts things.
        brk_start: first address of the heap, page-aligned.
        stack: start and end of the main stack.
        mappings: of files; those of the program are in it already.
        to_map: the file behind a descriptor for a mapping with these PROT and MAP bits;
            CallError where it cannot be mapped so.
    """

    def __init__(
        self, guest: Guest, layout: AddressLayout, brk_start: int, stack: tuple[int, int],
        mappings: Mappings, to_map: Callable[[int, int, int], MappedFile],
    ) -> None:  # fmt: skip
        self._guest = guest
        self._memory = guest.memory
        self._layout = layout
        self._brk_start = self._brk = brk_start
        self._stack = stack
        self._mappings = mappings
        self._to_map = to_map

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "brk": (1, self.brk),
            "mmap": (6, self.mmap),
            "munmap": (2, self.munmap),
            "mprotect": (3, self.mprotect),
            "pkey_mprotect": (4, self.pkey_mprotect),
            "pkey_alloc": (2, self.pkey_alloc),
            "pkey_free": (1, self.pkey_free),
            "mremap": (5, self.mremap),
            "madvise": (3, self.madvise),
            "msync": (2, self.must_be_mapped),
            "mlock": (2, self.must_be_mapped),
            "munlock": (2, self.must_be_mapped),
            "mlock2": (2, self.must_be_mapped),
            "mlockall": (0, self.nothing),
            "munlockall": (0, self.nothing),
            "mincore": (3, self.mincore),
            "membarrier": (2, self.membarrier),
        }

    # ---- the heap

    def brk(self, address: int) -> int:
        """brk(2): the new end of the heap, or the old one if that cannot be."""
        if not self._brk_start <= address <= self._layout.user_end:
            return self._brk
        old, new = _pages(self._brk), _pages(address)
        if new > old:
            size = new - old
            if not self._memory.is_free(old, size) or not self._fits(old, size):
                return self._brk
            self._map(old, size, READ | WRITE)
        elif new < old:
            self._unmap(new, old - new)
        self._brk = address
        return address

    # ---- mappings

    def mmap(
        self, address: int, length: int, prot: int, flags: int, descriptor: int, offset: int
    ) -> int:
        """mmap(2)."""
        size = _pages(length)
        if not length or offset % PAGE or not 1 <= flags & MAP_TYPE <= MAP_SHARED_VALIDATE:
            raise CallError(Errno.EINVAL)
        file = None if flags & MAP_ANONYMOUS else self._to_map(descriptor, prot, flags)
        if file is not None and offset + size >> 63:
            raise CallError(Errno.EOVERFLOW)
        if size > self._layout.user_end or flags & MAP_HUGETLB:
            raise CallError(Errno.ENOMEM)
        if flags & (MAP_FIXED | MAP_FIXED_NOREPLACE):
            self._check_fixed(address, size)
            if flags & MAP_FIXED_NOREPLACE and not self._memory.is_free(address, size):
                raise CallError(Errno.EEXIST)
        else:
            address = self._place(_pages(address), size)
        if not self._fits(address, size):
            raise CallError(Errno.ENOMEM)
        self._map(address, size, permissions(prot))
        if file is not None:
            shared = flags & MAP_TYPE != MAP_PRIVATE
            mapping = Mapping(address, address + size, offset, permissions(prot), file, shared)
            self._fill(mapping)
            self._mappings.add(mapping)
        return address

    def _fill(self, mapping: Mapping) -> None:
        """Copy what the file holds."""
        file, offset = mapping.file, mapping.offset
        held = min(mapping.end - mapping.start, file.size - offset)
        for at in range(0, held, _PART):
            part = file.read(offset + at, min(_PART, held - at))
            self._memory.write(mapping.start + at, part, force=True)
        self._close_behind(mapping)

    def _close_behind(self, mapping: Mapping) -> None:
        """Pages behind the end of a file cannot be accessed (SIGBUS)."""
        first = max(mapping.start, mapping.behind_file)
        if first < mapping.end:
            self._memory.protect(first, mapping.end - first, 0)

    def munmap(self, address: int, length: int) -> int:
        """munmap(2)."""
        size = _pages(length)
        if address % PAGE or not size or address + size > self._layout.user_end:
            raise CallError(Errno.EINVAL)
        self._unmap(address, size)
        return 0

    def mprotect(self, address: int, length: int, prot: int) -> int:
        """mprotect(2)."""
        known = PROT_READ | PROT_WRITE | PROT_EXEC | PROT_SEM
        if address % PAGE or prot & ~(known | PROT_GROWSDOWN) or address + length >> 64:
            raise CallError(Errno.EINVAL)
        size = _pages(length)
        if not size:
            return 0
        if prot & PROT_GROWSDOWN:
            # "From the start of the stack": how a program makes its stack executable.
            start, end = self._stack
            if not start <= address < end:
                raise CallError(Errno.EINVAL)
            address, size = start, address + size - start
        self._forget(address, size)
        if not self._memory.protect(address, size, permissions(prot)):
            raise CallError(Errno.ENOMEM)
        self._mappings.protect(address, address + size, permissions(prot))
        for mapping in self._mappings.inside(address, address + size):
            self._close_behind(mapping)
        self._guest.translations.flush_tlb()
        return 0

    def pkey_mprotect(self, address: int, length: int, prot: int, key: int) -> int:
        """pkey_mprotect(2) without any key."""
        if int32(key) != -1:
            raise CallError(Errno.EINVAL)
        return self.mprotect(address, length, prot)

    def pkey_alloc(self, flags: int, rights: int) -> int:
        """pkey_alloc(2): the CPU has no keys."""
        raise CallError(Errno.EINVAL if flags or rights & ~3 else Errno.ENOSPC)

    def pkey_free(self, key: int) -> int:
        """pkey_free(2): no key was given out."""
        raise CallError(Errno.EINVAL)

    def mremap(self, old: int, old_length: int, new_length: int, flags: int, target: int) -> int:
        """mremap(2), without duplication and MREMAP_DONTUNMAP."""
        old_size, new_size = _pages(old_length), _pages(new_length)
        if (
            old % PAGE
            or not old_size
            or not new_size
            or new_size > self._layout.user_end
            or flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)
            or flags & 3 == MREMAP_FIXED
        ):
            raise CallError(Errno.EINVAL)
        if not self._memory.is_mapped(old, old_size):
            raise CallError(Errno.EFAULT)
        if flags & MREMAP_FIXED:
            self._check_fixed(target, new_size)
            if target < old + old_size and old < target + new_size:
                raise CallError(Errno.EINVAL)
            return self._move(old, old_size, new_size, target)
        if new_size <= old_size:
            if new_size < old_size:
                self._unmap(old + new_size, old_size - new_size)
            return old
        more = new_size - old_size
        if self._may_follow(old + old_size, more):
            if not self._fits(old + old_size, more):
                raise CallError(Errno.ENOMEM)
            mapping = self._mappings.find(old + old_size - 1)
            self._map(old + old_size, more, self._permissions_at(old + old_size - 1))
            self._continue(mapping, old + old_size, more)
            return old
        if not flags & MREMAP_MAYMOVE:
            raise CallError(Errno.ENOMEM)
        return self._move(old, old_size, new_size, self._place(0, new_size))

    def madvise(self, address: int, length: int, advice: int) -> int:
        """madvise(2): only MADV_DONTNEED does anything, the pages are as they were at first."""
        size = _pages(length)
        if address % PAGE or int32(advice) not in _ADVICE or address + size >> 63:
            raise CallError(Errno.EINVAL)
        if not self._memory.is_mapped(address, size):
            raise CallError(Errno.ENOMEM)
        if int32(advice) == MADV_DONTNEED:
            self._forget(address, size)
            for start, end, offset, _ in self._rows(address, size):
                low, high = max(start, address), min(end, address + size)
                self._memory.buffer[offset + low - start : offset + high - start] = 0
            for mapping in self._mappings.inside(address, address + size):
                self._fill(mapping)
        return 0

    def must_be_mapped(self, address: int, length: int) -> int:
        """mlock(2), munlock(2), msync(2): nothing to do for memory that exists."""
        start = address & -PAGE
        if not self._memory.is_mapped(start, _pages(address + length - start)):
            raise CallError(Errno.ENOMEM)
        return 0

    def mincore(self, address: int, length: int, result: int) -> int:
        """mincore(2): everything is resident."""
        if address % PAGE:
            raise CallError(Errno.EINVAL)
        size = _pages(length)
        if not self._memory.is_mapped(address, size):
            raise CallError(Errno.ENOMEM)
        self._guest.write(result, b"\1" * (size // PAGE))
        return 0

    def membarrier(self, command: int, flags: int) -> int:
        """membarrier(2) of a process with one thread."""
        if int32(command) == 0:
            return MEMBARRIER_COMMANDS
        if flags or int32(command) not in (1, 8, 16):
            raise CallError(Errno.EINVAL)
        return 0

    def nothing(self) -> int:
        """A call that has no effect here."""
        return 0

    # ---- inside

    def _check_fixed(self, address: int, size: int) -> None:
        if address % PAGE:
            raise CallError(Errno.EINVAL)
        if address + size > self._layout.user_end:
            raise CallError(Errno.ENOMEM)
        if address < MMAP_MIN_ADDR:
            raise CallError(Errno.EPERM)

    def _place(self, hint: int, size: int) -> int:
        """Where a mapping goes for which the caller demands no address."""
        if hint >= MMAP_MIN_ADDR and self._may_follow(hint, size):
            return hint
        address = self._memory.free_range(size, self._layout.mmap_base)
        if address < MMAP_MIN_ADDR:
            raise CallError(Errno.ENOMEM)
        return address

    def _may_follow(self, address: int, size: int) -> bool:
        """Free, inside user space, and not in the gap below the stack."""
        if address + size > self._layout.user_end or not self._memory.is_free(address, size):
            return False
        return address >= self._stack[1] or address + size <= self._stack[0] - STACK_GAP

    def _fits(self, address: int, size: int) -> bool:
        """The limit of the memory allows it, counting what it replaces."""
        replaced = sum(
            min(end, address + size) - max(start, address)
            for start, end, _, _ in self._rows(address, size)
        )
        return self._memory.mapped - replaced + size <= self._memory.limit

    def _rows(self, address: int, size: int) -> list[tuple[int, int, int, int]]:
        if self._memory.is_free(address, size):
            return []
        return [
            row for row in self._memory.intervals if row[0] < address + size and address < row[1]
        ]

    def _permissions_at(self, address: int) -> int:
        row = self._memory.find(address)
        return row[3] if row else 0

    def _forget(self, address: int, size: int) -> None:
        """Drop translated code of a range; before the change, while it can be looked up."""
        for start, end, _, allowed in self._rows(address, size):
            if allowed & EXECUTE:
                low, high = max(start, address), min(end, address + size)
                self._guest.translations.forget_code(low, high)

    def _map(self, address: int, size: int, allowed: int) -> None:
        self._forget(address, size)
        try:
            self._memory.map(address, size, allowed)
        except MemoryFault:
            raise CallError(Errno.ENOMEM) from None
        finally:
            self._mappings.remove(address, address + size)
            self._guest.translations.flush_tlb()

    def _continue(self, mapping: Mapping | None, address: int, size: int) -> None:
        """A mapping has grown by fresh memory: of a file, it goes on in the file."""
        if mapping is not None:
            offset = mapping.offset + address - mapping.start
            more = replace(mapping, start=address, end=address + size, offset=offset)
            self._fill(more)
            self._mappings.add(more)

    def _unmap(self, address: int, size: int) -> None:
        self._forget(address, size)
        self._memory.unmap(address, size)
        self._mappings.remove(address, address + size)
        self._guest.translations.flush_tlb()

    def _move(self, old: int, old_size: int, new_size: int, target: int) -> int:
        if not self._fits(target, new_size):
            raise CallError(Errno.ENOMEM)
        source = self._rows(old, min(old_size, new_size))
        mapping = self._mappings.find(old + old_size - 1)
        self._map(target, new_size, self._permissions_at(old + old_size - 1))
        for start, end, offset, allowed in source:
            low, high = max(start, old), min(end, old + min(old_size, new_size))
            self._copy(offset + low - start, target + low - old, high - low)
            self._memory.protect(target + low - old, high - low, allowed)
        self._mappings.move(old, old + min(old_size, new_size), target)
        if new_size > old_size and mapping is not None:
            moved = replace(mapping, start=mapping.start - old + target)
            self._continue(moved, target + old_size, new_size - old_size)
        self._unmap(old, old_size)
        return target

    def _copy(self, source: int, target: int, size: int) -> None:
        """Copy inside the host buffer: the pages may be such as the guest cannot read."""
        row = self._memory.find(target)
        assert row is not None
        place = row[2] + target - row[0]
        self._memory.buffer[place : place + size] = self._memory.buffer[source : source + size]
