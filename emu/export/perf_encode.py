"""Records of perf.data to bytes, for one byte order and the events of one file.

Fields stand in the order of perf_event.h, each record padded to eight bytes.
"""

import struct
from collections.abc import Sequence

from arch import ByteOrder
from emu.errors import UsageError
from emu.export.perf_layout import (
    LARGEST_RECORD,
    PROT_EXEC,
    RECORD_HEADER,
    AttrFlag,
    Event,
    Misc,
    RecordType,
    SampleType,
)
from emu.export.perf_records import (
    Comm,
    DeferredChain,
    FinishedRound,
    Lost,
    Mmap,
    Other,
    PerfSample,
    Record,
    SampleId,
    Task,
)

_ABI_64 = 2
"""PERF_SAMPLE_REGS_ABI_64."""


class Encoder:
    """Writes records.

    Args:
        byte_order: of the machine.
        events: of the file; a sample belongs to the one with its id, else to the first.
    """

    def __init__(self, byte_order: ByteOrder, events: Sequence[Event]) -> None:
        self._order = "<" if byte_order == "little" else ">"
        self._by_id = {number: event for event in events for number in event.ids}
        # The kernel has all events of a buffer agree on the ids at the ends of records.
        self._first = events[0]

    def encode(self, record: Record) -> bytes:
        """A whole record.

        Raises:
            UsageError: it is too large for the format.
        """
        kind, misc, body = self._body(record)
        if not isinstance(record, FinishedRound | PerfSample | Other):
            body += self._sample_id(record.where)
        size = RECORD_HEADER + len(body)
        if size > LARGEST_RECORD:
            raise UsageError(f"a record of {size} bytes: perf.data has room for {LARGEST_RECORD}")
        return struct.pack(self._order + "IHH", kind, misc, size) + body

    def _body(self, record: Record) -> tuple[int, int, bytes]:
        """Type, misc and what stands before the sample id."""
        pack = self._pack
        match record:
            case PerfSample():
                return RecordType.SAMPLE, record.misc, self._sample(record)
            case Mmap():
                return self._mmap(record)
            case Comm():
                exec_bit = Misc.COMM_EXEC if record.exec else 0
                body = pack("II", record.pid, record.tid) + _text(record.name)
                return RecordType.COMM, Misc.USER | exec_bit, body
            case Task():
                ids = (record.pid, record.parent, record.tid, record.parent_tid)
                kind = RecordType.EXIT if record.ends else RecordType.FORK
                return kind, 0, pack("IIIIQ", *ids, record.time)
            case Lost(samples=True):
                return RecordType.LOST_SAMPLES, 0, pack("Q", record.count)
            case Lost():
                return RecordType.LOST, 0, pack("QQ", record.event, record.count)
            case DeferredChain():
                words = (record.cookie, len(record.chain), *record.chain)
                return RecordType.CALLCHAIN_DEFERRED, Misc.USER, self._words(words)
            case FinishedRound():
                return RecordType.FINISHED_ROUND, 0, b""
            case Other():
                return record.type, 0, record.body

    def _mmap(self, record: Mmap) -> tuple[int, int, bytes]:
        pack = self._pack
        mode = Misc.KERNEL if record.kernel else Misc.USER
        misc = mode | (0 if record.protection & PROT_EXEC else Misc.MMAP_DATA)
        place = pack("IIQQ", *record.device, record.inode, 0)
        if record.build_id:
            misc |= Misc.MMAP_BUILD_ID
            place = pack("B3x20s", len(record.build_id), record.build_id)
        pid = record.pid & 0xFFFF_FFFF
        head = pack("IIQQQ", pid, record.tid, record.address, record.size, record.offset)
        rest = pack("II", record.protection, record.flags) + _text(record.path)
        return RecordType.MMAP2, misc, head + place + rest

    def _sample(self, record: PerfSample) -> bytes:
        event, where = self._by_id.get(record.where.id, self._first), record.where
        wanted, pack = event.sample_type, self._pack
        registers: tuple[int, ...] = (0,)
        if record.registers:
            registers = (_ABI_64, *record.registers)
        stack = record.stack + bytes(-len(record.stack) % 8)
        copied = pack("Q", len(stack)) + stack
        if stack:
            copied += pack("Q", len(record.stack))
        parts = (
            (SampleType.IDENTIFIER, pack("Q", where.id)),
            (SampleType.IP, pack("Q", record.ip)),
            (SampleType.TID, pack("II", where.pid, where.tid)),
            (SampleType.TIME, pack("Q", where.time)),
            (SampleType.ADDR, pack("Q", record.address)),
            (SampleType.ID, pack("Q", where.id)),
            (SampleType.STREAM_ID, pack("Q", where.id)),
            (SampleType.CPU, pack("II", where.cpu, 0)),
            (SampleType.PERIOD, pack("Q", record.period)),
            (SampleType.CALLCHAIN, self._words((len(record.chain), *record.chain))),
            (SampleType.REGS_USER, self._words(registers)),
            (SampleType.STACK_USER, copied),
        )
        return b"".join(data for bit, data in parts if wanted & bit)

    def _sample_id(self, where: SampleId) -> bytes:
        wanted, pack = self._first.sample_type, self._pack
        if not self._first.has(AttrFlag.SAMPLE_ID_ALL):
            return b""
        parts = (
            (SampleType.TID, pack("II", where.pid, where.tid)),
            (SampleType.TIME, pack("Q", where.time)),
            (SampleType.ID, pack("Q", where.id)),
            (SampleType.STREAM_ID, pack("Q", where.id)),
            (SampleType.CPU, pack("II", where.cpu, 0)),
            (SampleType.IDENTIFIER, pack("Q", where.id)),
        )
        return b"".join(data for bit, data in parts if wanted & bit)

    def _pack(self, layout: str, *fields: object) -> bytes:
        return struct.pack(self._order + layout, *fields)

    def _words(self, words: Sequence[int]) -> bytes:
        return struct.pack(f"{self._order}{len(words)}Q", *words)


def _text(text: bytes) -> bytes:
    """With its zero, padded to eight bytes."""
    text += b"\0"
    return text + bytes(-len(text) % 8)
