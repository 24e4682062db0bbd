"""What every group of system calls shares: error numbers, outcomes, argument widths.

A group is a class that holds one part of the process's state; its `calls()` maps names
to (number of arguments, implementation). An implementation gets unsigned 64-bit
arguments and returns the result, or raises `CallError` or `RunEnded`.
"""

from collections.abc import Callable
from enum import IntEnum

CallTable = dict[str, tuple[int, Callable[..., int]]]


class Errno(IntEnum):
    """Error numbers (Linux asm-generic/errno-base.h and errno.h; equal on all machines here)."""

    EPERM = 1
    ENOENT = 2
    ESRCH = 3
    EINTR = 4
    EIO = 5
    ENXIO = 6
    E2BIG = 7
    EBADF = 9
    ECHILD = 10
    EAGAIN = 11
    ENOMEM = 12
    EACCES = 13
    EFAULT = 14
    EBUSY = 16
    EEXIST = 17
    EXDEV = 18
    ENODEV = 19
    ENOTDIR = 20
    EISDIR = 21
    EINVAL = 22
    EMFILE = 24
    ENOTTY = 25
    EFBIG = 27
    ENOSPC = 28
    ESPIPE = 29
    EROFS = 30
    EMLINK = 31
    EPIPE = 32
    ERANGE = 34
    ENAMETOOLONG = 36
    ENOSYS = 38
    ENOTEMPTY = 39
    ELOOP = 40
    ENODATA = 61
    EOVERFLOW = 75
    ENOTSOCK = 88
    EOPNOTSUPP = 95
    EAFNOSUPPORT = 97
    ETIMEDOUT = 110


class CallError(Exception):
    """A system call fails with an error number.

    Args:
        number: what the guest finds in errno.
        refused: it fails by design (the guest may not see the host), and is counted so.
        unsupported: it fails because this part of the call is not implemented; a name for
            the report, empty if it is an ordinary failure.
    """

    def __init__(self, number: Errno, *, refused: bool = False, unsupported: str = "") -> None:
        super().__init__(number.name)
        self.number = number
        self.refused = refused
        self.unsupported = unsupported


class RunEndedError(Exception):
    """The process does not go on after this system call.

    Args:
        status: the exit status, or None.
        signal: the name of the signal that killed it, or empty.
        reason: in words, where neither says enough.
    """

    def __init__(self, status: int | None = None, signal: str = "", reason: str = "") -> None:
        super().__init__(reason or signal or f"exit {status}")
        self.status = status
        self.signal = signal
        self.reason = reason


def int32(value: int) -> int:
    """An argument that the kernel takes as a C int."""
    return ((value & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000


def int64(value: int) -> int:
    """An argument that the kernel takes as a long."""
    return ((value & (1 << 64) - 1) ^ 1 << 63) - (1 << 63)
