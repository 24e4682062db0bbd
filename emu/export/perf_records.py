"""The records of perf.data as values."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SampleId:
    """Who, when and where: at the end of each record but samples, if the event asks for it.

    `time` is in nanoseconds; what the event does not ask for is 0.
    """

    pid: int = 0
    tid: int = 0
    time: int = 0
    cpu: int = 0
    id: int = 0
    """Of the event."""


NOBODY = SampleId()


@dataclass(frozen=True, slots=True)
class Mmap:
    """A file is mapped at [address, address + size)."""

    pid: int
    tid: int
    address: int
    size: int
    offset: int
    """In the file, bytes."""
    path: bytes
    protection: int = 5
    """PROT_ bits; MMAP, the older record, only tells whether it is code."""
    flags: int = 2
    """MAP_PRIVATE."""
    build_id: bytes = b""
    """At most 20 bytes; with one, device and inode are not stored."""
    device: tuple[int, int] = (0, 0)
    inode: int = 0
    where: SampleId = NOBODY
    kernel: bool = False
    """Of the kernel, in every process; `pid` is -1 then."""


@dataclass(frozen=True, slots=True)
class Comm:
    """A thread has another name; `exec`: it runs another program."""

    pid: int
    tid: int
    name: bytes
    exec: bool = False
    where: SampleId = NOBODY


@dataclass(frozen=True, slots=True)
class Task:
    """FORK: `pid` and `tid` are new, made by the others; EXIT: they are no more."""

    pid: int
    parent: int
    tid: int
    parent_tid: int
    time: int
    ends: bool = False
    where: SampleId = NOBODY


@dataclass(frozen=True, slots=True)
class Lost:
    """Records (LOST), or with `samples` only samples (LOST_SAMPLES), found no room."""

    count: int
    samples: bool = False
    event: int = 0
    """Id; LOST_SAMPLES has none of its own."""
    where: SampleId = NOBODY


@dataclass(frozen=True, slots=True)
class DeferredChain:
    """The user part of chains that end with this cookie."""

    cookie: int
    chain: tuple[int, ...]
    where: SampleId = NOBODY


@dataclass(frozen=True, slots=True)
class FinishedRound:
    """All records before it are older than all that follow the next one."""


@dataclass(frozen=True, slots=True)
class PerfSample:
    """One sample; what the event does not ask for is 0 or empty."""

    where: SampleId
    ip: int = 0
    address: int = 0
    period: int = 0
    chain: tuple[int, ...] = ()
    registers: tuple[int, ...] = ()
    """One for each bit of the event's mask; empty: a thread of the kernel."""
    stack: bytes = b""
    """From SP on."""
    misc: int = 2


@dataclass(frozen=True, slots=True)
class Other:
    """A record that is not looked into."""

    type: int
    body: bytes = field(repr=False)


Record = (
    Mmap | Comm | Task | Lost | DeferredChain | FinishedRound | PerfSample | Other
)
