"""perf.data files in the byte order of the machine that they tell of.

    header: where the parts are, and a map of the features
    ids of events
    attrs: a perf_event_attr for each event, and where its ids are
    data: the records
    where each feature is, in the order of their bits
    features
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from arch import Arch
from emu.errors import UsageError
from emu.export.perf_encode import Encoder
from emu.export.perf_layout import (
    ATTR,
    ATTR_SIZE,
    HEADER_SIZE,
    MAGIC,
    STRING,
    Event,
    Feature,
    attr_flags,
)
from emu.export.perf_records import Record


@dataclass(frozen=True, slots=True)
class Host:
    """The machine of a recording, as features tell of it."""

    arch: Arch
    cpus: int = 1
    name: str = "unwindlab"
    release: str = "6.12.0"


def write_perf(
    file: BinaryIO, host: Host, events: Sequence[Event], records: Iterable[Record]
) -> None:
    """Write a recording.

    Args:
        file: empty, open for writing, with seek.
        host: the machine.
        events: at least one; samples name them by their ids.
        records: in the order of the file, which should be that of time: a mapping or a name
            serves only samples behind it. A user part stands behind all samples it is for.

    Raises:
        UsageError: a record does not fit the format.
    """
    if not events or (len(events) > 1 and any(not event.ids for event in events)):
        raise UsageError("perf.data: every event of several needs an id")
    order = "<" if host.arch.byte_order == "little" else ">"
    encoder = Encoder(host.arch.byte_order, events)
    ids = b"".join(struct.pack(order + "Q", number) for event in events for number in event.ids)
    at_attrs = HEADER_SIZE + len(ids)
    attrs, at_ids = b"", HEADER_SIZE
    for event in events:
        size = 8 * len(event.ids)
        attrs += encode_attr(event, order) + struct.pack(order + "QQ", at_ids, size)
        at_ids += size
    at_data = at_attrs + len(attrs)
    file.seek(at_data)
    size = 0
    for record in records:
        size += file.write(encoder.encode(record))
    features = _features(host, events, order)
    at = at_data + size + 16 * len(features)
    for content in features.values():
        file.write(struct.pack(order + "QQ", at, len(content)))
        at += len(content)
    for content in features.values():
        file.write(content)
    bits = [sum(1 << f % 64 for f in features if f // 64 == word) for word in range(4)]
    parts = (at_attrs, len(attrs), at_data, size, 0, 0)
    file.seek(0)
    file.write(MAGIC if order == "<" else MAGIC[::-1])
    file.write(struct.pack(order + "12Q", HEADER_SIZE, ATTR_SIZE + 16, *parts, *bits))
    file.write(ids + attrs)


def encode_attr(event: Event, order: str) -> bytes:
    """The perf_event_attr of an event."""
    return struct.pack(
        order + ATTR, event.type, ATTR_SIZE, event.config, event.period, event.sample_type,
        event.read_format, attr_flags(event.flags, order), event.branch_sample_type,
        event.user_registers, event.user_stack, event.most_frames,
    )  # fmt: skip


def _features(host: Host, events: Sequence[Event], order: str) -> dict[Feature, bytes]:
    def text(value: str) -> bytes:
        data = value.encode() + b"\0"
        data += bytes(-len(data) % STRING)
        return struct.pack(order + "I", len(data)) + data

    described = struct.pack(order + "II", len(events), ATTR_SIZE)
    for event in events:
        described += encode_attr(event, order) + struct.pack(order + "I", len(event.ids))
        described += text(event.name) + struct.pack(f"{order}{len(event.ids)}Q", *event.ids)
    return {
        # Of a big-endian file perf tells from this one how the map of features is stored.
        Feature.HOSTNAME: text(host.name),
        Feature.OSRELEASE: text(host.release),
        Feature.ARCH: text(host.arch.name),
        Feature.NRCPUS: struct.pack(order + "II", host.cpus, host.cpus),
        Feature.EVENT_DESC: described,
    }
