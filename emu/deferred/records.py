"""What tracers write and tools read: samples, deferred stacks, notes of loss.

Beside what a tool sees, samples and stacks carry the truth: the task's serial number and the
number of its entry. Stitchers may not look at it.
"""

import struct
from dataclasses import dataclass
from typing import Literal

from emu.deferred.tasks import Stack

ByteOrder = Literal["little", "big"]
_SAMPLE_ID = 16
"""sample_id with TID and TIME: u32 pid, u32 tid, u64 time."""

CONTEXT_KERNEL = (1 << 64) - 128
CONTEXT_USER = (1 << 64) - 512
CONTEXT_USER_DEFERRED = (1 << 64) - 640
"""Markers in call chains (enum perf_callchain_context)."""
RECORD_LOST, RECORD_SAMPLE, RECORD_CALLCHAIN_DEFERRED = 2, 9, 22
MISC_USER = 2
DEFER_CALLCHAIN, DEFER_OUTPUT = 38, 39
"""Bits of perf_event_attr: ask for deferral; receive the records."""
RESERVED_BITS = 24
"""Of perf_event_attr, after these two."""


@dataclass(frozen=True, slots=True)
class Abi:
    """One revision of the perf ABI of deferred chains.

    Args:
        name: of the revision.
        cookie: the record begins with the cookie.
        marker: the record's first address is CONTEXT_USER, counted in its nr.
        misc: header.misc of the record.
        chain_cookie: a sample's chain ends with the cookie, after the marker.
        attr_bits: bits of perf_event_attr that it defines.
    """

    name: str
    cookie: bool
    marker: bool
    misc: int
    chain_cookie: bool
    attr_bits: tuple[int, ...]


POSTING_2024 = Abi("2024", False, True, 0, False, (DEFER_CALLCHAIN,))
POSTING_2024_V3 = Abi("2024-v3", True, True, MISC_USER, False, (DEFER_CALLCHAIN,))
MERGED = Abi("merged", True, False, MISC_USER, True, (DEFER_CALLCHAIN, DEFER_OUTPUT))


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a tracer.

    Args:
        time: position in the run.
        tid: -1 where the sample does not say.
        pid: likewise.
        cookie: of the user stack to come, as the reader gets it; 0: none.
        chain: addresses and markers, as perf writes them; empty for ftrace-like tracers.
        event: who took it.
        waits: the reader can tell that its user part comes later.
        serial: truth: the task.
        entry: truth: the stay in the kernel.
    """

    time: int
    tid: int
    pid: int
    cookie: int
    chain: tuple[int, ...]
    event: str
    waits: bool
    serial: int
    entry: int

    @property
    def size(self) -> int:
        """Bytes in a ring buffer: header, pid, tid, time, nr and the chain."""
        return 8 + 8 + 8 + 8 + 8 * len(self.chain)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A user stack, unwound on the way to user space; arguments as of `Sample`.

    Args:
        ips: as in the record, a leading marker included.
        abi: the layout in the buffer.
    """

    time: int
    tid: int
    pid: int
    cookie: int
    ips: Stack
    abi: Abi
    serial: int
    entry: int

    @property
    def size(self) -> int:
        """Bytes in a ring buffer: header, cookie, nr, addresses, sample_id unless it is off."""
        return 8 + 8 * self.abi.cookie + 8 + 8 * len(self.ips) + _SAMPLE_ID * (self.tid >= 0)

    def encode(self, byte_order: ByteOrder) -> bytes:
        """The PERF_RECORD_CALLCHAIN_DEFERRED as bytes."""
        order = "<" if byte_order == "little" else ">"
        words = ((self.cookie,) if self.abi.cookie else ()) + (len(self.ips), *self.ips)
        tail = b""
        if self.tid >= 0:
            tail = struct.pack(f"{order}IIQ", self.pid, self.tid, self.time)
        head = struct.pack(f"{order}IHH", RECORD_CALLCHAIN_DEFERRED, self.abi.misc, self.size)
        return head + struct.pack(f"{order}{len(words)}Q", *words) + tail


@dataclass(frozen=True, slots=True)
class Lost:
    """So many entries did not fit before this one (PERF_RECORD_LOST)."""

    time: int
    count: int

    @property
    def size(self) -> int:
        """Bytes in a ring buffer: header, id, count, sample_id."""
        return 8 + 16 + _SAMPLE_ID


@dataclass(frozen=True, slots=True)
class Round:
    """All buffers were read once (PERF_RECORD_FINISHED_ROUND); a tool's own mark."""


Entry = Sample | Deferred | Lost | Round


def attr_bit(bit: int, byte_order: ByteOrder) -> int:
    """A bit of perf_event_attr's bit field, counted from the least significant of its u64."""
    # Bit fields are laid out from the top on big-endian machines: 63 - bit.
    return bit if byte_order == "little" else 63 - bit


class Chain:
    """A call chain while it is made (struct perf_callchain_entry_ctx).

    Args:
        max_stack: most addresses (sample_max_stack, kernel.perf_event_max_stack).
        max_contexts: most markers (kernel.perf_event_max_contexts_per_stack).
    """

    def __init__(self, max_stack: int = 127, max_contexts: int = 8) -> None:
        self.entries: list[int] = []
        self._addresses, self._contexts, self._full = max_stack, max_contexts, False

    def context(self, value: int) -> bool:
        """Add a marker, or a cookie, which counts as one; whether there was room."""
        if not self._contexts:
            # From here on no address is taken either (contexts_maxed).
            self._full = True
            return False
        self._contexts -= 1
        self.entries.append(value)
        return True

    def addresses(self, ips: Stack) -> None:
        """Add addresses while there is room."""
        room = 0 if self._full else self._addresses
        self.entries.extend(ips[:room])
        self._addresses -= min(room, len(ips))
