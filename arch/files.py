"""What differs between machines about files: flags and layouts (Linux uapi headers)."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StatLayout:
    """struct stat or struct statfs: field -> (offset, size), and its size in bytes."""

    size: int
    fields: Mapping[str, tuple[int, int]]


def _words(*names: str) -> Mapping[str, tuple[int, int]]:
    """Fields of eight bytes, one after the other."""
    return {name: (8 * i, 8) for i, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Flags of open(2) and structures; the defaults are those of asm-generic."""

    o_direct: int = 0o40000
    o_largefile: int = 0o100000
    o_directory: int = 0o200000
    o_nofollow: int = 0o400000
    statfs: StatLayout = field(
        default_factory=lambda: StatLayout(
            size=120,
            fields=_words(
                "type", "bsize", "blocks", "bfree", "bavail", "files", "ffree", "fsid", "namelen",
                "frsize", "flags",
            ),
        )
    )  # fmt: skip
    epoll_data: int = 8
    """Offset of the data in struct epoll_event, which ends behind these eight bytes."""
    cpuinfo: bytes = b""
    """/proc/cpuinfo of one CPU: what programs look for in it."""
