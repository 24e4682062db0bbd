"""Character devices that need no hardware: null(4), full(4), random(4), tty(4)."""

import stat
from collections.abc import Callable
from random import Random

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.nodes import Attributes, Directory, Link
from emu.linux.vfs.open_files import OpenFile, Positioned, VirtualNode

DEVICE = 5
"""st_dev of /dev."""
_SHARED_MEMORY, _TERMINALS = 0x17, 0x18
"""st_dev of /dev/shm and /dev/pts."""
_ROOT = 0


class Device(VirtualNode):
    """A character device; opening it fails unless a class below says otherwise."""

    kind = stat.S_IFCHR

    def __init__(self, attributes: Attributes, path: bytes, major: int, minor: int) -> None:
        super().__init__(attributes, path)
        self.major, self.minor = major, minor

    @property
    def rdev(self) -> int:
        """As makedev(3) makes it."""
        return self.major << 8 | self.minor


class NullDevice(Device):
    """/dev/null, /dev/zero and /dev/full."""

    def open(self, flags: int, name: Callable[[], bytes]) -> OpenFile:
        """Minor 3 is null, 5 zero, 7 full."""
        return NullFile(self, flags, name, zeros=self.minor != 3, full=self.minor == 7)


class NullFile(Positioned):
    """Nothing, or zeros, and no storage.

    Args:
        zeros: it reads as zeros, else as its end.
        full: writing is ENOSPC.
    """

    pollable = False

    def __init__(
        self, node: Device, flags: int, name: Callable[[], bytes], *, zeros: bool, full: bool
    ) -> None:
        super().__init__(node, flags, name)
        self._zeros, self._full = zeros, full

    def read_at(self, offset: int, size: int) -> bytes:
        """Zeros or nothing."""
        return bytes(size) if self._zeros else b""

    def write_at(self, offset: int, data: bytes) -> int:
        """Take all, or nothing."""
        if self._full:
            raise CallError(Errno.ENOSPC)
        return len(data)

    def seek(self, offset: int, whence: int) -> int:
        """The position stays 0 (null_lseek)."""
        self.position = 0
        return 0


class RandomDevice(Device):
    """/dev/random and /dev/urandom.

    Args:
        random: of the process; both devices and every open file continue it.
    """

    def __init__(self, attributes: Attributes, path: bytes, minor: int, random: Random) -> None:
        super().__init__(attributes, path, 1, minor)
        self._random = random

    def open(self, flags: int, name: Callable[[], bytes]) -> OpenFile:
        """Reading gives the next bytes."""
        return RandomFile(self, flags, name, self._random)


class RandomFile(Positioned):
    """Bytes of the seed."""

    def __init__(self, node: Device, flags: int, name: Callable[[], bytes], random: Random) -> None:
        super().__init__(node, flags, name)
        self._random = random

    def read_at(self, offset: int, size: int) -> bytes:
        """The next bytes, whatever the position."""
        return self._random.randbytes(size)

    def write_at(self, offset: int, data: bytes) -> int:
        """Entropy that nobody needs."""
        return len(data)

    def seek(self, offset: int, whence: int) -> int:
        """The position does not matter (noop_llseek)."""
        return self.position


def mount_devices(files: FileSystem, seed: int) -> None:
    """Put /dev over the tree; its random bytes come from the seed."""
    random = Random(f"devices {seed}")

    def attributes(permissions: int, device: int = DEVICE) -> Attributes:
        return files.attributes(permissions, device=device, owner=_ROOT)

    devices = Directory(attributes(0o755), b"/dev")
    files.top.cover(b"dev", devices)
    for name, minor in ((b"null", 3), (b"zero", 5), (b"full", 7)):
        devices.add(name, NullDevice(attributes(0o666), b"/dev/" + name, 1, minor))
    for name, minor in ((b"random", 8), (b"urandom", 9)):
        devices.add(name, RandomDevice(attributes(0o666), b"/dev/" + name, minor, random))
    devices.add(b"tty", Device(attributes(0o666), b"/dev/tty", 5, 0))
    devices.add(b"shm", Directory(attributes(0o1777, _SHARED_MEMORY), b"/dev/shm"))
    devices.add(b"pts", Directory(attributes(0o755, _TERMINALS), b"/dev/pts"))
    links = {b"fd": b"/proc/self/fd", b"stdin": b"/proc/self/fd/0",
             b"stdout": b"/proc/self/fd/1", b"stderr": b"/proc/self/fd/2"}  # fmt: skip
    for name, target in links.items():
        devices.add(name, Link(attributes(0o777), b"/dev/" + name, target))
