"""perf.data field by field, at the offsets of linux/perf_event.h and tools/perf/util/header.h."""

import io
import struct

import pytest

from arch import Arch
from emu.errors import UsageError
from emu.export.perf_layout import AttrFlag, Event
from emu.export.perf_records import PerfSample, SampleId
from emu.export.perfdata import Host, write_perf
from tests.emu.export.recording import HIGH, events, recording, records

_FEATURES = (3, 4, 6, 7, 12)


def mark(arch: Arch) -> str:
    """Byte order for struct."""
    return "<" if arch.byte_order == "little" else ">"


def words(arch: Arch, data: bytes, offset: int, count: int = 1) -> tuple[int, ...]:
    """Eight-byte words."""
    return struct.unpack_from(f"{mark(arch)}{count}Q", data, offset)


def bodies(arch: Arch, data: bytes) -> list[tuple[int, int, bytes]]:
    """(type, misc, whole record) of each."""
    at, size = words(arch, data, 40, 2)
    end, found = at + size, []
    while at < end:
        kind, misc, size = struct.unpack_from(mark(arch) + "IHH", data, at)
        found.append((kind, misc, data[at : at + size]))
        at += size
    assert at == end
    return found


def of_kind(arch: Arch, kind: int) -> list[tuple[int, bytes]]:
    """(misc, whole record) of each of a type."""
    return [(m, body) for k, m, body in bodies(arch, recording(arch)) if k == kind]


def test_header(arch: Arch) -> None:
    """Magic in the file's byte order, sizes, sections, and the map of features."""
    data = recording(arch)
    assert data[:8] == (b"PERFILE2" if arch.byte_order == "little" else b"2ELIFREP")
    header, attr, at_attrs, attrs, at_data, size, types, none = words(arch, data, 8, 8)
    assert (header, attr, types, none) == (104, 152, 0, 0)
    assert (at_attrs, attrs, at_data) == (104 + 24, 304, 104 + 24 + 304)
    assert words(arch, data, 72, 4) == (sum(1 << bit for bit in _FEATURES), 0, 0, 0)
    assert at_data + size < len(data)


def test_attr(arch: Arch) -> None:
    """perf_event_attr of 136 bytes, and where the ids of the event are."""
    data = recording(arch)
    at = words(arch, data, 24)[0] + 152
    assert struct.unpack_from(mark(arch) + "II", data, at) == (1, 136)
    config, period, sample_type, read_format = words(arch, data, at + 8, 4)
    assert (config, period, read_format) == (0, 7, 0)
    assert sample_type == 0x10000 | 1 | 2 | 4 | 128 | 256 | 32 | 4096 | 8192
    assert words(arch, data, at + 80) == (arch.export.perf_mask,)
    assert struct.unpack_from(mark(arch) + "I", data, at + 88) == (64,)
    assert struct.unpack_from(mark(arch) + "H", data, at + 108) == (40,)
    assert words(arch, data, at + 136, 2) == (104 + 16, 8)
    assert words(arch, data, 104, 3) == (11, 12, 13)


def test_flags(arch: Arch) -> None:
    """Bit fields begin at the lowest bit of a little-endian word, at the highest of the other."""
    data = recording(arch)
    (flags,) = words(arch, data, words(arch, data, 24)[0] + 40)
    bits = {8, 9, 13, 18, 23, 24, 38, 39}
    if arch.byte_order == "big":
        bits = {63 - bit for bit in bits}
    assert flags == sum(1 << bit for bit in bits)


def test_features(arch: Arch) -> None:
    """Tables behind the data, contents where they say: strings, CPUs, descriptions of events."""
    data = recording(arch)
    at = sum(words(arch, data, 40, 2))
    content = {}
    for number, bit in enumerate(_FEATURES):
        offset, size = words(arch, data, at + 16 * number, 2)
        content[bit] = data[offset : offset + size]
    assert offset + size == len(data)
    length = int.from_bytes(content[6][:4], arch.byte_order)
    assert (length, content[6][4:].rstrip(b"\0")) == (64, arch.name.encode())
    assert struct.unpack(mark(arch) + "II", content[7]) == (4, 4)
    assert struct.unpack_from(mark(arch) + "II", content[12]) == (2, 136)
    assert content[12][8 + 136 + 4 + 4 :].startswith(b"chains\0")


def test_sizes_of_records(arch: Arch) -> None:
    """Every record is a multiple of eight bytes, else perf gives up."""
    assert all(len(body) % 8 == 0 for _, _, body in bodies(arch, recording(arch)))


def test_mmap2(arch: Arch) -> None:
    """Ids, range, offset in the file, device or build id, protection, flags, name; sample id."""
    (misc, first), (build, second), (data, _), (kernel, _) = of_kind(arch, 10)
    assert (misc, build, data, kernel) == (2, 2 | 1 << 14, 2 | 1 << 13, 1)
    assert struct.unpack_from(mark(arch) + "IIQQQIIQQII", first, 8) == (
        100, 101, 0x10000, 0x2000, 0x1000, 8, 1, 42, 0, 5, 2
    )  # fmt: skip
    assert first[72:88] == b"/bin/program\0\0\0\0"
    assert struct.unpack(mark(arch) + "IIQIIQ", first[88:]) == (100, 101, 5, 3, 0, 11)
    assert second[40:44] == b"\x14\0\0\0"
    assert second[44:64] == bytes(range(20))


def test_comm_and_tasks(arch: Arch) -> None:
    """COMM with the mark of an exec; FORK and EXIT."""
    (misc, comm), (plain, _) = of_kind(arch, 3)
    assert (misc, plain) == (2 | 1 << 13, 2)
    assert comm[8:24] == struct.pack(mark(arch) + "II", 100, 101) + b"name\0\0\0\0"
    wanted = (102, 100, 102, 101)
    for kind, time in ((7, 6), (4, 12)):
        ((_, body),) = of_kind(arch, kind)
        assert struct.unpack_from(mark(arch) + "IIIIQ", body, 8) == (*wanted, time)


def test_loss(arch: Arch) -> None:
    """LOST with the event's id and the count; LOST_SAMPLES with the count alone."""
    ((_, lost),) = of_kind(arch, 2)
    ((_, samples),) = of_kind(arch, 13)
    assert words(arch, lost, 8, 2) == (11, 3)
    assert words(arch, samples, 8) == (4,)


def test_deferred_chain(arch: Arch) -> None:
    """Cookie, number, addresses, sample id; `misc` says user."""
    (misc, body), (_, empty) = of_kind(arch, 22)
    assert misc == 2
    assert words(arch, body, 8, 5) == (HIGH, 3, 0x10010, 0x10020, 0x10030)
    assert words(arch, empty, 8, 2) == (1, 0)
    assert len(empty) == 8 + 16 + 32


def test_sample_of_a_chain(arch: Arch) -> None:
    """IDENTIFIER, IP, TID, TIME, CPU, PERIOD, CALLCHAIN, in that order."""
    body = of_kind(arch, 9)[0][1]
    assert words(arch, body, 8, 2) == (11, 0x10010)
    assert struct.unpack_from(mark(arch) + "IIQIIQ", body, 24) == (100, 101, 5, 3, 0, 1000)
    assert words(arch, body, 56, 4) == (3, (1 << 64) - 512, 0x10010, 0x10020)
    assert len(body) == 88


def test_sample_of_a_stack(arch: Arch) -> None:
    """Behind the chain: ABI 2 and a word for each register; padded bytes, and how many count."""
    body, bare = (each for _, each in of_kind(arch, 9)[1:3])
    count = len(arch.export.perf)
    assert words(arch, body, 56, 2) == (0, 2)
    at = 72 + 8 * count
    assert words(arch, body, at) == (64,)
    assert body[at + 8 : at + 8 + 61] == bytes(range(61))
    assert words(arch, body, at + 72) == (61,)
    # A thread of the kernel: no ABI, no stack, no count of its bytes.
    assert words(arch, bare, 72, 2) == (0, 0)
    assert len(bare) == 88


def test_a_stack_that_fits_no_record(arch: Arch) -> None:
    """The size of a record has 16 bits."""
    with pytest.raises(UsageError, match=r"perf\.data has room for 65528"):
        recording(arch, PerfSample(SampleId(id=13), registers=(1,), stack=bytes(65_500)))


def test_events_without_ids(arch: Arch) -> None:
    """Of several events each needs one."""
    with pytest.raises(UsageError, match="every event of several needs an id"):
        write_perf(io.BytesIO(), Host(arch), [*events(arch), Event("x", 1)], [])


def test_no_sample_ids_unless_asked_for(arch: Arch) -> None:
    """Without SAMPLE_ID_ALL records end with their own fields."""
    file = io.BytesIO()
    flags = 1 << AttrFlag.MMAP
    write_perf(file, Host(arch), [Event("x", 1 | 2 | 4, flags)], records(arch)[:1])
    ((_, _, body),) = bodies(arch, file.getvalue())
    assert len(body) == 24
