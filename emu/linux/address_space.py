"""System calls that change the address space (mm/mmap.c, mm/mprotect.c).

What mappings of files hold, emu.linux.file_memory says.
"""

from collections.abc import Callable

from arch.descriptor import AddressLayout
from emu.linux.advice import Advice
from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.guest import Guest
from emu.linux.mappings import MappedFile, Mapping, Mappings
from emu.linux.remapping import Remapping
from emu.linux.space import Space, whole_pages
from emu.memory import EXECUTE, PAGE, READ, WRITE

PROT_READ, PROT_WRITE, PROT_EXEC, PROT_SEM = 1, 2, 4, 8
PROT_GROWSDOWN, PROT_GROWSUP = 0x0100_0000, 0x0200_0000
MAP_TYPE, MAP_PRIVATE, MAP_SHARED_VALIDATE = 0xF, 2, 3
MAP_FIXED, MAP_ANONYMOUS, MAP_FIXED_NOREPLACE = 0x10, 0x20, 0x10_0000
MAP_HUGETLB = 0x4_0000


def permissions(prot: int) -> int:
    """Page permissions of PROT bits: what may be written or executed may be read.

    So it is on all three machines (protection_map in arch/*/mm), without protection keys.
    """
    if not prot & (PROT_READ | PROT_WRITE | PROT_EXEC):
        return 0
    return READ | (WRITE if prot & PROT_WRITE else 0) | (EXECUTE if prot & PROT_EXEC else 0)


class AddressSpace:
    """The mappings of one process.

    Args:
        guest: its memory, and the engine to tell of changes.
        layout: where the machine puts things.
        brk_start: first address of the heap, page-aligned.
        stack: start and end of the main stack.
        mappings: of files; those of the program are in it already.
        to_map: the file behind a descriptor for a mapping with these PROT and MAP bits, and
            whether it may be written; CallError where it cannot be mapped so.
    """

    def __init__(
        self, guest: Guest, layout: AddressLayout, brk_start: int, stack: tuple[int, int],
        mappings: Mappings, to_map: Callable[[int, int, int], tuple[MappedFile, bool]],
    ) -> None:  # fmt: skip
        self._guest = guest
        self._memory = guest.memory
        self.space = Space(guest, layout, stack, mappings)
        """What is where."""
        self._brk_start = self._brk = brk_start
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
            **Remapping(self._guest, self.space).calls(),
            **Advice(self._guest, self.space).calls(),
        }

    # ---- the heap

    def brk(self, address: int) -> int:
        """brk(2): the new end of the heap, or the old one if that cannot be."""
        if not self._brk_start <= address <= self.space.end:
            return self._brk
        old, new = whole_pages(self._brk), whole_pages(address)
        if new > old:
            size = new - old
            if not self._memory.is_free(old, size) or not self.space.fits(old, size):
                return self._brk
            self.space.map(old, size, READ | WRITE)
        elif new < old:
            self.space.unmap(new, old - new)
        self._brk = address
        return address

    @property
    def heap(self) -> tuple[int, int]:
        """Its start and its end."""
        return self._brk_start, self._brk

    # ---- mappings

    def mmap(
        self, address: int, length: int, prot: int, flags: int, descriptor: int, offset: int
    ) -> int:
        """mmap(2)."""
        size = whole_pages(length)
        if not length or offset % PAGE or not 1 <= flags & MAP_TYPE <= MAP_SHARED_VALIDATE:
            raise CallError(Errno.EINVAL)
        file = None if flags & MAP_ANONYMOUS else self._to_map(descriptor, prot, flags)
        if file is not None and offset + size >> 63:
            raise CallError(Errno.EOVERFLOW)
        if size > self.space.end or flags & MAP_HUGETLB:
            raise CallError(Errno.ENOMEM)
        if flags & (MAP_FIXED | MAP_FIXED_NOREPLACE):
            self.space.check_fixed(address, size)
            if flags & MAP_FIXED_NOREPLACE and not self._memory.is_free(address, size):
                raise CallError(Errno.EEXIST)
        else:
            address = self.space.place(whole_pages(address), size)
        if not self.space.fits(address, size):
            raise CallError(Errno.ENOMEM)
        self.space.map(address, size, permissions(prot))
        if file is not None:
            shared = flags & MAP_TYPE != MAP_PRIVATE
            self.space.show(Mapping(
                address, address + size, offset, permissions(prot), file[0], shared, file[1]
            ))  # fmt: skip
        return address

    def munmap(self, address: int, length: int) -> int:
        """munmap(2)."""
        size = whole_pages(length)
        if address % PAGE or not size or address + size > self.space.end:
            raise CallError(Errno.EINVAL)
        self.space.unmap(address, size)
        return 0

    def mprotect(self, address: int, length: int, prot: int) -> int:
        """mprotect(2)."""
        known = PROT_READ | PROT_WRITE | PROT_EXEC | PROT_SEM
        if address % PAGE or prot & ~(known | PROT_GROWSDOWN) or address + length >> 64:
            raise CallError(Errno.EINVAL)
        size = whole_pages(length)
        if not size:
            return 0
        if prot & PROT_GROWSDOWN:
            # "From the start of the stack": how a program makes its stack executable.
            start, end = self.space.stack
            if not start <= address < end:
                raise CallError(Errno.EINVAL)
            address, size = start, address + size - start
        if prot & PROT_WRITE and any(
            each.shared and not each.may_write
            for each in self.space.mappings.inside(address, address + size)
        ):
            raise CallError(Errno.EACCES)
        self._guest.forget_code(address, size)
        if not self._memory.protect(address, size, permissions(prot)):
            raise CallError(Errno.ENOMEM)
        self.space.mappings.protect(address, address + size, permissions(prot))
        for mapping in self.space.mappings.inside(address, address + size):
            self.space.files.close_behind(mapping)
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
