"""Where in the address space something may go, and how mappings come and go (mm/mmap.c).

Addresses are chosen as Linux does, from `mmap_base` downwards, but without randomness.
"""

from arch.descriptor import AddressLayout
from emu.errors import MemoryFault
from emu.linux.calls import CallError, Errno
from emu.linux.file_memory import FileMemory
from emu.linux.guest import Guest
from emu.linux.mappings import Mapping, Mappings
from emu.memory import PAGE

MMAP_MIN_ADDR = 0x10000
"""Below it nothing may be mapped (Linux vm.mmap_min_addr), so that null pointers fault."""
STACK_GAP = 256 * PAGE
"""Free space that Linux keeps below a stack (stack_guard_gap)."""


def whole_pages(size: int) -> int:
    """A size, rounded up to pages."""
    return (size + PAGE - 1) & -PAGE


class Space:
    """The address space of one process.

    Args:
        guest: its memory, and the engine to tell of changes.
        layout: where the machine puts things.
        stack: start and end of the main stack.
        mappings: of files; those of the program are in it already.
    """

    def __init__(
        self, guest: Guest, layout: AddressLayout, stack: tuple[int, int], mappings: Mappings
    ) -> None:
        self._guest = guest
        self._memory = guest.memory
        self._layout = layout
        self.stack = stack
        self.mappings = mappings
        self.files = FileMemory(guest, mappings)

    @property
    def end(self) -> int:
        """The first address beyond user space."""
        return self._layout.user_end

    def check_fixed(self, address: int, size: int) -> None:
        """A mapping may be at the address that its caller demands; CallError."""
        if address % PAGE:
            raise CallError(Errno.EINVAL)
        if address + size > self.end:
            raise CallError(Errno.ENOMEM)
        if address < MMAP_MIN_ADDR:
            raise CallError(Errno.EPERM)

    def place(self, hint: int, size: int) -> int:
        """Where a mapping goes for which the caller demands no address; CallError(ENOMEM)."""
        if hint >= MMAP_MIN_ADDR and self.may_follow(hint, size):
            return hint
        address = self._memory.free_range(size, self._layout.mmap_base)
        if address < MMAP_MIN_ADDR:
            raise CallError(Errno.ENOMEM)
        return address

    def may_follow(self, address: int, size: int) -> bool:
        """Free, inside user space, and not in the gap below the stack."""
        if address + size > self.end or not self._memory.is_free(address, size):
            return False
        return address >= self.stack[1] or address + size <= self.stack[0] - STACK_GAP

    def fits(self, address: int, size: int) -> bool:
        """The limit of the memory allows it, counting what it replaces."""
        replaced = sum(
            min(end, address + size) - max(start, address)
            for start, end, _, _ in self._memory.inside(address, size)
        )
        return self._memory.mapped - replaced + size <= self._memory.limit

    def map(self, address: int, size: int, allowed: int) -> None:
        """Map zeros in place of whatever was there; CallError(ENOMEM)."""
        self._guest.forget_code(address, size)
        try:
            self._memory.map(address, size, allowed)
        except MemoryFault:
            raise CallError(Errno.ENOMEM) from None
        finally:
            self.mappings.remove(address, address + size)
            self._guest.translations.flush_tlb()

    def show(self, mapping: Mapping) -> None:
        """Map a file over fresh memory, or leave none there; CallError."""
        try:
            self.files.add(mapping)
        except CallError:
            self.unmap(mapping.start, mapping.end - mapping.start)
            raise

    def unmap(self, address: int, size: int) -> None:
        """Nothing is mapped there any more."""
        self._guest.forget_code(address, size)
        self._memory.unmap(address, size)
        self.mappings.remove(address, address + size)
        self._guest.translations.flush_tlb()
