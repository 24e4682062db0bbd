"""Guest memory as system calls see it: a bad pointer is EFAULT, never our exception."""

import struct
from typing import Any, Protocol

from arch import ByteOrder
from emu.errors import MemoryFault
from emu.linux.calls import CallError, Errno
from emu.memory import EXECUTE, PAGE, WRITE, Memory

PATH_MAX = 4096
IOV_MAX = 1024
"""Most parts of a readv or writev (Linux UIO_MAXIOV)."""
_LARGEST = 64 << 20
"""Bytes of one structure or string; callers with more to move do it in parts."""


class Translations(Protocol):
    """The part of the engine that must hear of changed mappings and code."""

    def flush_tlb(self) -> None:
        """Forget cached page translations."""

    def forget_code(self, start: int, end: int) -> None:
        """Forget translated code of a range, which must still be mapped."""


class Guest:
    """Checked access to the memory of the guest.

    Args:
        memory: its address space.
        byte_order: of the machine.
        translations: told when a call writes over code.
    """

    def __init__(self, memory: Memory, byte_order: ByteOrder, translations: Translations) -> None:
        self.memory = memory
        self.translations = translations
        self._order = "<" if byte_order == "little" else ">"

    def read(self, address: int, size: int) -> bytes:
        """Bytes; CallError(EFAULT) unless all of them are readable."""
        if size > _LARGEST:
            raise CallError(Errno.EFAULT)
        try:
            return self.memory.read(address, size)
        except MemoryFault:
            raise CallError(Errno.EFAULT) from None

    def write(self, address: int, data: bytes) -> None:
        """Store bytes; CallError(EFAULT), and nothing stored, unless all are writable."""
        try:
            self.memory.write(address, data)
        except MemoryFault:
            raise CallError(Errno.EFAULT) from None
        self.forget_code(address, len(data))

    def readable_part(self, address: int, size: int) -> bytes:
        """As many of the bytes as are readable from the start, up to 64 KiB.

        The kernel copies page by page and tells how far it came.
        """
        data = b""
        size = min(size, 16 * PAGE)
        while len(data) < size:
            part = min(size - len(data), PAGE - (address + len(data)) % PAGE)
            try:
                data += self.memory.read(address + len(data), part)
            except MemoryFault:
                break
        return data

    def writable_part(self, address: int, size: int) -> int:
        """How many of the bytes are writable from the start."""
        end = address + size
        place = address
        while place < end:
            row = self.memory.find(place)
            if row is None or not row[3] & WRITE:
                break
            place = min(row[1], end)
        return place - address

    def unpack(self, layout: str, address: int) -> tuple[Any, ...]:
        """Values of a structure; `layout` is of the struct module, without byte order."""
        layout = self._order + layout
        return struct.unpack(layout, self.read(address, struct.calcsize(layout)))

    def pack(self, layout: str, *values: Any) -> bytes:
        """Bytes of a structure."""
        return struct.pack(self._order + layout, *values)

    def store(self, address: int, layout: str, *values: Any) -> None:
        """Write a structure."""
        self.write(address, self.pack(layout, *values))

    def text(self, address: int, longest: int) -> bytes:
        """A string up to its zero or `longest` bytes; CallError(EFAULT)."""
        try:
            return self.memory.read_text(address, longest)
        except MemoryFault:
            raise CallError(Errno.EFAULT) from None

    def path(self, address: int) -> bytes:
        """A file name; CallError for one that is unreadable, too long or empty."""
        text = self.text(address, PATH_MAX)
        if len(text) == PATH_MAX:
            raise CallError(Errno.ENAMETOOLONG)
        if not text:
            raise CallError(Errno.ENOENT)
        return text

    def parts(self, address: int, count: int) -> list[tuple[int, int]]:
        """(address, size) of each struct iovec of a readv or writev."""
        if count > IOV_MAX:
            raise CallError(Errno.EINVAL)
        words = self.unpack(f"{2 * count}Q", address) if count else ()
        if any(size >> 63 for size in words[1::2]):
            raise CallError(Errno.EINVAL)
        return list(zip(words[::2], words[1::2], strict=True))

    def forget_code(self, address: int, size: int) -> None:
        """Drop translated code of a range: the emulator notices no changes but the guest's own."""
        for start, end, _, allowed in self.memory.inside(address, size):
            if allowed & EXECUTE:
                low, high = max(start, address), min(end, address + size)
                self.translations.forget_code(low, high)
