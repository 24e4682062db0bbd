"""Calls that make files without a name: pipes, counters, memory; and no sockets."""

import itertools
from collections.abc import Callable

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.counters import EventCounter, anonymous_node
from emu.linux.descriptors import O_CLOEXEC, Descriptors
from emu.linux.guest import Guest
from emu.linux.pipes import Pipe, PipeNode, PipeReader, PipeWriter
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.open_files import O_NONBLOCK, O_RDWR, O_WRONLY, RegularFile

_EFD_SEMAPHORE = 1
_MFD_CLOEXEC, _MFD_ALLOW_SEALING, _MFD_NOEXEC_SEAL, _MFD_EXEC = 1, 2, 8, 0x10
_MEMFD_NAME_MAX = 249
_FIRST_PIPE = 4
"""Inodes 1 to 3 are the streams."""
_NEW_SOCKETS = ("socket", "socketpair")
_NEW_SOCKETCALLS, _LAST_SOCKETCALL = (1, 8), 20
"""SYS_SOCKET, SYS_SOCKETPAIR, and SYS_SENDMMSG (uapi/linux/net.h)."""
_ON_SOCKETS = (
    "bind", "connect", "listen", "accept", "accept4", "getsockname", "getpeername", "sendto",
    "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "setsockopt", "getsockopt",
    "shutdown",
)  # fmt: skip


class Channels:
    """Makes pipes and the like.

    Args:
        guest: memory of the caller.
        byte_order: of the numbers in a counter.
        o_direct: the machine's O_DIRECT, which a pipe may have.
        o_largefile: the machine's O_LARGEFILE, which files in memory have.
        files: the tree, for files in memory.
        descriptors: where open files go.
        broken: sends SIGPIPE.
    """

    def __init__(
        self, guest: Guest, byte_order: str, o_direct: int, o_largefile: int, files: FileSystem,
        descriptors: Descriptors, broken: Callable[[], None],
    ) -> None:  # fmt: skip
        self._guest = guest
        self._order = byte_order
        self._o_direct = o_direct
        self._o_largefile = o_largefile
        self._files = files
        self._descriptors = descriptors
        self._broken = broken
        self._numbers = itertools.count(_FIRST_PIPE)

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        table: CallTable = {
            "pipe": (1, lambda result: self.pipe2(result, 0)), "pipe2": (2, self.pipe2),
            "eventfd": (1, lambda value: self.eventfd2(value, 0)), "eventfd2": (2, self.eventfd2),
            "memfd_create": (2, self.memfd_create),
        }  # fmt: skip
        table["socketcall"] = (2, self.socketcall)
        for name in _NEW_SOCKETS:
            table[name] = (0, self.no_socket)
        for name in _ON_SOCKETS:
            table[name] = (1, self.not_a_socket)
        return table

    def pipe2(self, result: int, flags: int) -> int:
        """pipe2(2)."""
        flags &= 0xFFFF_FFFF
        if flags & ~(O_CLOEXEC | O_NONBLOCK | self._o_direct):
            raise CallError(Errno.EINVAL)
        pipe = Pipe()
        node = PipeNode(next(self._numbers), self._files.owner, self._files.now(), pipe,
                        self._broken)  # fmt: skip
        kept = flags & ~O_CLOEXEC
        close = bool(flags & O_CLOEXEC)
        reader = self._descriptors.add(PipeReader(node, kept, pipe), close_on_exec=close)
        try:
            writer = self._descriptors.add(
                PipeWriter(node, kept | O_WRONLY, pipe, self._broken), close_on_exec=close
            )
        except CallError:
            self._descriptors.close(reader)
            raise
        try:
            self._guest.store(result, "ii", reader, writer)
        except CallError:
            self._descriptors.close(reader)
            self._descriptors.close(writer)
            raise
        return 0

    def eventfd2(self, value: int, flags: int) -> int:
        """eventfd2(2)."""
        flags &= 0xFFFF_FFFF
        if flags & ~(O_CLOEXEC | O_NONBLOCK | _EFD_SEMAPHORE):
            raise CallError(Errno.EINVAL)
        node = anonymous_node(self._files.owner, self._files.now())
        counter = EventCounter(
            node, flags & O_NONBLOCK, value & 0xFFFF_FFFF, bool(flags & _EFD_SEMAPHORE), self._order
        )
        return self._descriptors.add(counter, close_on_exec=bool(flags & O_CLOEXEC))

    def memfd_create(self, name: int, flags: int) -> int:
        """memfd_create(2), without seals and huge pages."""
        flags &= 0xFFFF_FFFF
        known = _MFD_CLOEXEC | _MFD_ALLOW_SEALING | _MFD_NOEXEC_SEAL | _MFD_EXEC
        if flags & ~known:
            raise CallError(Errno.EINVAL)
        text = self._guest.text(name, _MEMFD_NAME_MAX + 1)
        if len(text) > _MEMFD_NAME_MAX:
            raise CallError(Errno.EINVAL)
        path = b"/memfd:" + text + b" (deleted)"
        self._descriptors.free()
        node = self._files.nameless(0o666 if flags & _MFD_NOEXEC_SEAL else 0o777, path)
        file = RegularFile(node, O_RDWR | self._o_largefile, lambda: path, self._files.now)
        return self._descriptors.add(file, close_on_exec=bool(flags & _MFD_CLOEXEC))

    def no_socket(self) -> int:
        """socket(2): refused by design, there is no network."""
        raise CallError(Errno.EAFNOSUPPORT, refused=True)

    def socketcall(self, call: int, arguments: int) -> int:
        """socketcall(2): all of these calls behind one number."""
        call = int32(call)
        if not 1 <= call <= _LAST_SOCKETCALL:
            raise CallError(Errno.EINVAL)
        (first,) = self._guest.unpack("Q", arguments)
        return self.no_socket() if call in _NEW_SOCKETCALLS else self.not_a_socket(first)

    def not_a_socket(self, descriptor: int) -> int:
        """connect(2) and the like: no descriptor is a socket."""
        self._descriptors.get(descriptor)
        raise CallError(Errno.ENOTSOCK)
