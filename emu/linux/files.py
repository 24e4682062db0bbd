"""All of a process that has to do with files: it puts the parts together.

The tree (emu.linux.vfs), the descriptor table, and the groups of calls on them.
"""

from collections.abc import Callable

from arch import Arch
from emu.linux.attributes import FileAttributes
from emu.linux.calls import CallError, CallTable, Errno
from emu.linux.channels import Channels
from emu.linux.clock import Clock
from emu.linux.copying import Copying
from emu.linux.descriptors import Descriptors
from emu.linux.directories import Directories
from emu.linux.epoll import Epoll
from emu.linux.guest import Guest
from emu.linux.names import Names
from emu.linux.opening import Opening
from emu.linux.ownership import Ownership
from emu.linux.paths import Paths
from emu.linux.pipes import Input, Output
from emu.linux.storage import Storage
from emu.linux.transfers import Transfers
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.nodes import Regular
from emu.linux.vfs.open_files import O_PATH, OpenFile

_PROT_WRITE, _MAP_SHARED = 2, 1
OPEN_MAX = 1024
"""Descriptors of a process that sets no other limit (RLIMIT_NOFILE)."""


class Files:
    """The files of one process.

    Args:
        guest: memory of the caller.
        arch: its machine.
        filesystem: the tree.
        clock: of the process.
        stdin: all that can be read from descriptor 0.
        broken: called before EPIPE, to send SIGPIPE.
        limit: RLIMIT_NOFILE.
    """

    def __init__(
        self, guest: Guest, arch: Arch, filesystem: FileSystem, clock: Clock, stdin: bytes,
        broken: Callable[[], None], limit: Callable[[], int] = lambda: OPEN_MAX,
    ) -> None:  # fmt: skip
        self.filesystem = filesystem
        owner, now = filesystem.owner, clock.realtime
        self.stdout = Output(2, owner, now)
        self.stderr = Output(3, owner, now)
        self.descriptors = Descriptors(guest, limit, arch.files.o_direct)
        for stream in (Input(stdin, 1, owner, now), self.stdout, self.stderr):
            self.descriptors.add(stream)
        self.paths = Paths(guest, filesystem, self.descriptors)
        self._groups = (
            self.descriptors,
            Opening(guest, arch.files, self.paths, self.descriptors, broken),
            Transfers(guest, self.descriptors),
            FileAttributes(guest, arch.stat, arch.files, self.paths, self.descriptors),
            Names(guest, self.paths, self.descriptors),
            Ownership(guest, self.paths, self.descriptors),
            Storage(self.paths, self.descriptors),
            Directories(guest, self.descriptors),
            Copying(guest, self.descriptors),
            Channels(
                guest,
                arch.byte_order,
                arch.files.o_direct,
                arch.files.o_largefile,
                filesystem,
                self.descriptors,
                broken,
            ),
            Epoll(guest, arch.files.epoll_data, filesystem, self.descriptors, clock),
        )

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        table: CallTable = {}
        for group in self._groups:
            table |= group.calls()
        return table

    def find(self, descriptor: int) -> OpenFile | None:
        """What can be waited for by a descriptor; not what was opened with O_PATH."""
        file = self.descriptors.find(descriptor)
        return None if file is None or file.flags & O_PATH else file

    def to_map(self, descriptor: int, prot: int, flags: int) -> tuple[Regular, bool]:
        """The file that mmap(2) is to map with these PROT and MAP bits, and if it may be written.

        Raises:
            CallError: EBADF, EACCES, ENODEV (do_mmap).
        """
        file = self.descriptors.get(descriptor)
        if not file.readable:
            raise CallError(Errno.EACCES)
        if flags & _MAP_SHARED and prot & _PROT_WRITE and not file.writable:
            raise CallError(Errno.EACCES)
        if not isinstance(file.node, Regular):
            raise CallError(Errno.ENODEV)
        return file.node, file.writable
