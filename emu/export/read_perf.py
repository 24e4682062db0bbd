"""perf.data files as stored, of either byte order: events, features, records.

Files, not pipes; what `perf record -z` compresses is refused. The file is not trusted: every
section lies in it before it is read, and a record that contradicts itself raises with its offset.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from arch import ByteOrder
from emu.errors import RecordingError
from emu.export.perf_decode import Decoder
from emu.export.perf_fields import CorruptRecordError
from emu.export.perf_layout import (
    ATTR,
    ATTR_SIZE,
    HEADER_SIZE,
    MAGIC,
    RECORD_HEADER,
    SMALLEST_ATTR,
    Event,
    Feature,
    RecordType,
    attr_flags,
)
from emu.export.perf_records import Record
from emu.image import read_file

_PIPE_HEADER = 16
_LARGEST_ATTR = 4096
_MOST_EVENTS = 1 << 14
_FEATURES = 256


@dataclass(frozen=True, slots=True)
class PerfFile:
    """A recording.

    Args:
        path: of the file.
        data: all of its bytes.
        byte_order: of the machine that it tells of.
        events: at least one.
        machine: as uname(1) calls it; empty: the file does not say.
        span: (offset, size) of the records.
        decoder: reads its records.
    """

    path: str
    data: bytes
    byte_order: ByteOrder
    events: tuple[Event, ...]
    machine: str
    span: tuple[int, int]
    decoder: Decoder

    def records(self) -> Iterator[tuple[int, Record]]:
        """Each record with its offset, in the order of the file.

        Raises:
            RecordingError: at the first one that cannot be read.
        """
        order = "<" if self.byte_order == "little" else ">"
        at, end = self.span[0], sum(self.span)
        while at < end:
            if at + RECORD_HEADER > end:
                self.fail(at, "the data ends inside the header of a record")
            kind, misc, size = struct.unpack_from(order + "IHH", self.data, at)
            if size < RECORD_HEADER or at + size > end:
                self.fail(at, f"a record of {size} bytes, {end - at} are left")
            if kind in (RecordType.COMPRESSED, RecordType.COMPRESSED2):
                self.fail(at, "compressed records: record without -z")
            yield at, self._decode(at, kind, misc, size)
            if kind == RecordType.AUXTRACE:
                # Its trace follows it; the size is the first field.
                if size < RECORD_HEADER + 8:
                    self.fail(at, f"a trace announced in {size} bytes")
                (trace,) = struct.unpack_from(order + "Q", self.data, at + RECORD_HEADER)
                at += trace
            at += size

    def record(self, offset: int) -> Record:
        """The record at an offset that `records` gave."""
        order = "<" if self.byte_order == "little" else ">"
        kind, misc, size = struct.unpack_from(order + "IHH", self.data, offset)
        return self._decode(offset, kind, misc, size)

    def _decode(self, at: int, kind: int, misc: int, size: int) -> Record:
        try:
            return self.decoder.decode(kind, misc, self.data[at + RECORD_HEADER : at + size])
        except CorruptRecordError as error:
            self.fail(at, f"record of type {kind}: {error}")

    def fail(self, offset: int, reason: str) -> NoReturn:
        """Refuse the file."""
        raise RecordingError(f"{self.path}: offset {offset:#x}: {reason}")


def read_perf(path: str) -> PerfFile:
    """Read the headers of the file `path`.

    Raises:
        ImageError: it cannot be read.
        RecordingError: it is no perf.data file, or damaged.
    """
    return parse_perf(path, read_file(path))


def parse_perf(path: str, data: bytes) -> PerfFile:
    """`read_perf` for bytes already read; `path` only names them."""

    def fail(offset: int, reason: str) -> NoReturn:
        raise RecordingError(f"{path}: offset {offset:#x}: {reason}")

    def part(what: str, offset: int, size: int) -> bytes:
        if offset + size > len(data):
            fail(offset, f"{what}: {size} bytes reach past the end of the file")
        return data[offset : offset + size]

    if data[:8] not in (MAGIC, MAGIC[::-1]):
        fail(0, "not a perf.data file")
    byte_order: ByteOrder = "little" if data[:8] == MAGIC else "big"
    order = "<" if byte_order == "little" else ">"
    if len(data) < HEADER_SIZE:
        if len(data) >= _PIPE_HEADER and struct.unpack_from(order + "Q", data, 8) == (16,):
            fail(8, "the output of a pipe: record with -o")
        fail(len(data), "the file ends inside its header")
    header_size, attr_size, *parts = struct.unpack_from(order + "12Q", data, 8)
    if header_size != HEADER_SIZE:
        reason = "the output of a pipe: record with -o" if header_size == _PIPE_HEADER else (
            f"a header of {header_size} bytes, not {HEADER_SIZE}"
        )  # fmt: skip
        fail(8, reason)
    if not SMALLEST_ATTR + 16 <= attr_size <= _LARGEST_ATTR:
        fail(16, f"attrs of {attr_size} bytes")
    at_attrs, attrs_size, at_data, data_size = parts[:4]
    attrs = part("attrs", at_attrs, attrs_size)
    part("data", at_data, data_size)
    if not attrs_size or attrs_size % attr_size or attrs_size // attr_size > _MOST_EVENTS:
        fail(24, f"{attrs_size} bytes of attrs of {attr_size} each")
    names = {bit for bit in range(_FEATURES) if parts[6 + bit // 64] >> bit % 64 & 1}
    features: dict[int, bytes] = {}
    for number, bit in enumerate(sorted(names)):
        row = part("features", at_data + data_size + 16 * number, 16)
        offset, size = struct.unpack(order + "QQ", row)
        if bit == Feature.ARCH:
            features[bit] = part("a feature", offset, size)
    events = []
    total = 0
    for place in range(0, attrs_size, attr_size):
        raw = attrs[place : place + attr_size]
        at_ids, ids_size = struct.unpack(order + "QQ", raw[-16:])
        total += ids_size
        if total > len(data):
            fail(at_attrs + place + attr_size - 8, "the ids of events are more than the file has")
        ids = part("ids of an event", at_ids, ids_size // 8 * 8)
        events.append(_event(raw[:-16], order, ids))
    machine = _text(features.get(Feature.ARCH, b""), order)
    span = (at_data, data_size)
    return PerfFile(
        path, data, byte_order, tuple(events), machine, span, Decoder(byte_order, events)
    )


def _event(attr: bytes, order: str, ids: bytes) -> Event:
    """Of a shorter attr the fields that it lacks are 0; what is longer is newer than we know."""
    (kind, _, config, period, sample_type, read_format, flags, branches, registers, stack,
     frames) = struct.unpack(order + ATTR, attr[:ATTR_SIZE].ljust(ATTR_SIZE, b"\0"))  # fmt: skip
    return Event(
        name="", sample_type=sample_type, flags=attr_flags(flags, order), period=period,
        ids=struct.unpack(f"{order}{len(ids) // 8}Q", ids), type=kind, config=config,
        read_format=read_format, branch_sample_type=branches, user_registers=registers,
        user_stack=stack, most_frames=frames,
    )  # fmt: skip


def _text(feature: bytes, order: str) -> str:
    if len(feature) < 4:
        return ""
    (size,) = struct.unpack_from(order + "I", feature)
    return feature[4 : 4 + size].partition(b"\0")[0].decode("utf-8", "backslashreplace")
