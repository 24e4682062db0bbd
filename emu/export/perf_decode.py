"""Bytes of perf.data to records, for one byte order and the events of one file.

Nothing read is trusted: every count is compared with the bytes that are left before anything
is made of it.
"""

import struct
from collections.abc import Sequence

from arch import ByteOrder
from emu.export.perf_fields import Fields, skip_branches, skip_counts
from emu.export.perf_layout import PROT_EXEC, AttrFlag, Event, Misc, RecordType, SampleType
from emu.export.perf_records import (
    NOBODY,
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


class Decoder:
    """Reads records; the arguments are those of `emu.export.perf_encode.Encoder`."""

    def __init__(self, byte_order: ByteOrder, events: Sequence[Event]) -> None:
        self._order = "<" if byte_order == "little" else ">"
        self._by_id = {number: event for event in events for number in event.ids}
        self._first = events[0]

    def event_of(self, where: SampleId) -> Event:
        """The event that a sample is of."""
        return self._by_id.get(where.id, self._first)

    def decode(self, kind: int, misc: int, body: bytes) -> Record:
        """A record from what follows its header.

        Raises:
            CorruptRecordError: a count in it does not fit.
        """
        fields = Fields(self._order, body)
        if kind == RecordType.SAMPLE:
            return self._read_sample(fields, misc)
        if kind == RecordType.FINISHED_ROUND:
            return FinishedRound()
        if kind >= RecordType.FIRST_OF_TOOLS:
            return Other(kind, body)
        where = self._read_sample_id(fields)
        kernel = misc & Misc.CPUMODE == Misc.KERNEL
        match kind:
            case RecordType.MMAP2:
                pid, tid, address, size, offset = fields.take("IIQQQ")
                place = fields.raw(24)
                build_id, device, inode = b"", (0, 0), 0
                if misc & Misc.MMAP_BUILD_ID:
                    build_id = place[4 : 4 + min(place[0], 20)]
                else:
                    major, minor, inode, _ = struct.unpack(self._order + "IIQQ", place)
                    device = (major, minor)
                protection, flags = fields.take("II")
                return Mmap(
                    pid, tid, address, size, offset, fields.text(), protection, flags, build_id,
                    device, inode, where, kernel,
                )  # fmt: skip
            case RecordType.MMAP:
                pid, tid, address, size, offset = fields.take("IIQQQ")
                protection = 1 if misc & Misc.MMAP_DATA else 1 | PROT_EXEC
                return Mmap(
                    pid, tid, address, size, offset, fields.text(), protection, where=where,
                    kernel=kernel,
                )
            case RecordType.COMM:
                pid, tid = fields.take("II")
                return Comm(pid, tid, fields.text(), bool(misc & Misc.COMM_EXEC), where)
            case RecordType.FORK | RecordType.EXIT:
                ends = kind == RecordType.EXIT
                pid, parent, tid, parent_tid, time = fields.take("IIIIQ")
                return Task(pid, parent, tid, parent_tid, time, ends, where)
            case RecordType.LOST:
                event, count = fields.take("QQ")
                return Lost(count, False, event, where)
            case RecordType.LOST_SAMPLES:
                return Lost(fields.word(), True, 0, where)
            case RecordType.CALLCHAIN_DEFERRED:
                return DeferredChain(fields.word(), fields.words(fields.word()), where)
        return Other(kind, body)

    def _read_sample(self, fields: Fields, misc: int) -> PerfSample:
        event = self._first
        if event.sample_type & SampleType.IDENTIFIER:
            event = self._by_id.get(fields.word(), event)
            fields.at -= 8
        wanted = event.sample_type
        found = {
            bit: fields.take(layout) if wanted & bit else (0, 0)
            for bit, layout in (
                (SampleType.IDENTIFIER, "Q"), (SampleType.IP, "Q"), (SampleType.TID, "II"),
                (SampleType.TIME, "Q"), (SampleType.ADDR, "Q"), (SampleType.ID, "Q"),
                (SampleType.STREAM_ID, "Q"), (SampleType.CPU, "II"), (SampleType.PERIOD, "Q"),
            )
        }  # fmt: skip
        if wanted & SampleType.READ:
            skip_counts(fields, event.read_format)
        chain = fields.words(fields.word()) if wanted & SampleType.CALLCHAIN else ()
        if wanted & SampleType.RAW:
            (size,) = fields.take("I")
            fields.raw(size)
        if wanted & SampleType.BRANCH_STACK:
            skip_branches(fields, event.branch_sample_type)
        registers: tuple[int, ...] = ()
        if wanted & SampleType.REGS_USER and fields.word():
            registers = fields.words(event.user_registers.bit_count())
        stack = b""
        if wanted & SampleType.STACK_USER:
            size = fields.word()
            stack = fields.raw(size)
            if size:
                stack = stack[: fields.word()]
        pid, tid = found[SampleType.TID]
        ids = found[SampleType.IDENTIFIER][0] or found[SampleType.ID][0]
        time, cpu = found[SampleType.TIME][0], found[SampleType.CPU][0]
        return PerfSample(
            SampleId(pid, tid, time, cpu, ids), found[SampleType.IP][0], found[SampleType.ADDR][0],
            found[SampleType.PERIOD][0], chain, registers, stack, misc,
        )  # fmt: skip

    def _read_sample_id(self, fields: Fields) -> SampleId:
        """What stands at the end; `fields` ends before it afterwards."""
        if not self._first.has(AttrFlag.SAMPLE_ID_ALL):
            return NOBODY
        found: dict[SampleType, int] = {}
        pid = tid = 0
        for bit in (
            SampleType.IDENTIFIER, SampleType.CPU, SampleType.STREAM_ID, SampleType.ID,
            SampleType.TIME, SampleType.TID,
        ):  # fmt: skip
            if not self._first.sample_type & bit:
                continue
            last = fields.take_last()
            if bit is SampleType.TID:
                pid, tid = struct.unpack(self._order + "II", last)
            else:
                layout = "I4x" if bit is SampleType.CPU else "Q"
                (found[bit],) = struct.unpack(self._order + layout, last)
        ids = found.get(SampleType.IDENTIFIER, found.get(SampleType.ID, 0))
        return SampleId(pid, tid, found.get(SampleType.TIME, 0), found.get(SampleType.CPU, 0), ids)
