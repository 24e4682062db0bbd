"""Recordings read back: ours, perf's own, and what nobody should write."""

import contextlib
import json
import lzma
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import ALL, Arch
from arch.s390x import S390X
from emu.errors import RecordingError, UnwindlabError, UsageError
from emu.export.files import Files
from emu.export.perf_records import Other, PerfSample
from emu.export.perf_samples import machine_of, stack_samples
from emu.export.read_perf import PerfFile, parse_perf, read_perf
from emu.image import load_image
from emu.unwind.walker import walk
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt
from tests.emu.export.recording import events, recording, records

RECORDED = Path(__file__).parents[2] / "data" / "recorded"
_BYTES = {arch.name: recording(arch) for arch in ALL}


def read_back(arch: Arch) -> PerfFile:
    """The recording made by hand."""
    return parse_perf("made.data", _BYTES[arch.name])


def test_every_record(arch: Arch) -> None:
    """What is read is what was written."""
    assert [record for _, record in read_back(arch).records()] == records(arch)


def test_events_and_machine(arch: Arch) -> None:
    """All of an event but its name; the machine by its feature."""
    file = read_back(arch)
    for got, wanted in zip(file.events, events(arch), strict=True):
        assert got.flags == wanted.flags
        assert got.ids == wanted.ids
        assert (got.sample_type, got.period) == (wanted.sample_type, wanted.period)
        assert got.user_registers == wanted.user_registers
        assert (got.user_stack, got.most_frames) == (wanted.user_stack, wanted.most_frames)
    assert machine_of(file) is arch


def test_a_record_that_is_not_known(arch: Arch) -> None:
    """It is passed over."""
    data = recording(arch, Other(79, bytes(16)))
    assert [r for _, r in parse_perf("x", data).records()][-1] == Other(79, bytes(16))


def test_a_recording_of_perf(
    tmp_path: Path, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """perf's samples of a running program are walked as perf itself walks them.

    perf shows a caller as the last byte of its call. Where a copy of a stack is too short, or
    code has no rows, both end at the same frame.
    """
    path = tmp_path / "perf.data"
    path.write_bytes(lzma.decompress((RECORDED / "work.data.xz").read_bytes()))
    file = read_perf(str(path))
    arch = machine_of(file)
    files = Files(arch)
    files.add("/work", load_image(str(prebuilt["x86_64", "work-musl-v3-O2"].path)))
    walked = []
    for sample in stack_samples(file, arch):
        places = files.places(sample.code)
        if places:
            trace = walk(sample.sample, files.tables(places, "cfi"))
            pcs = [trace.frames[0].pc, *(pc - 1 for pc in trace.return_addresses)]
            walked.append([sample.time, [hex(pc) for pc in pcs]])
    wanted = json.loads((RECORDED / "expected.json").read_text())["perf"]
    assert walked == wanted


# ---- what nobody should write


def changed(arch: Arch, offset: int, new: bytes) -> bytes:
    """The recording with other bytes."""
    data = bytearray(_BYTES[arch.name])
    data[offset : offset + len(new)] = new
    return bytes(data)


def word(arch: Arch, value: int) -> bytes:
    """Eight bytes."""
    return value.to_bytes(8, arch.byte_order)


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (8, 16, "offset 0x8: the output of a pipe"),
        (8, 105, "offset 0x8: a header of 105 bytes"),
        (16, 40, "offset 0x10: attrs of 40 bytes"),
        (32, 1 << 60, "attrs: 1152921504606846976 bytes reach past the end"),
        (32, 300, "offset 0x18: 300 bytes of attrs of 152 each"),
        (32, 0, "offset 0x18: 0 bytes of attrs"),
        (48, 1 << 40, "data: 1099511627776 bytes reach past the end"),
        (128 + 136, 1 << 50, "ids of an event: 16 bytes reach past the end"),
        (128 + 144, 1 << 50, "the ids of events are more than the file has"),
    ],
)
def test_damaged_headers(arch: Arch, offset: int, value: int, reason: str) -> None:
    """Each with the file, an offset, and the reason."""
    with pytest.raises(RecordingError, match=r"made\.data: offset 0x.*") as caught:
        parse_perf("made.data", changed(arch, offset, word(arch, value)))
    assert reason.removeprefix("offset ") in str(caught.value)


@pytest.mark.parametrize("size", [0, 7, 8, 100, 103])
def test_cut_off_in_the_header(arch: Arch, size: int) -> None:
    """Not a file of perf, or one that ends too early."""
    with pytest.raises(RecordingError, match=r"made\.data: offset 0x"):
        parse_perf("made.data", _BYTES[arch.name][:size])


@pytest.mark.parametrize(
    ("kind", "size", "reason"),
    [
        (9, 0, "a record of 0 bytes"),
        (9, 65528, "a record of 65528 bytes"),
        (9, 16, "record of type 9: byte 8: 8 bytes, 0 are left"),
        (22, 16, "record of type 22: no room for its sample id"),
        (81, 8, "compressed records: record without -z"),
        (71, 8, "a trace announced in 8 bytes"),
    ],
)
def test_damaged_records(arch: Arch, kind: int, size: int, reason: str) -> None:
    """The first record lies about itself: its offset, its type, and the byte in it."""
    file = read_back(arch)
    order = "<" if arch.byte_order == "little" else ">"
    head = struct.pack(order + "IHH", kind, 0, size)
    bad = parse_perf("made.data", changed(arch, file.span[0], head))
    with pytest.raises(RecordingError, match=f"offset {file.span[0]:#x}: {reason}"):
        list(bad.records())


def test_a_count_in_a_chain_that_lies(arch: Arch) -> None:
    """Nothing is made of a count before it is compared with what is left."""
    at = next(o for o, r in read_back(arch).records() if isinstance(r, PerfSample)) + 56
    bad = parse_perf("made.data", changed(arch, at, word(arch, 1 << 61)))
    with pytest.raises(RecordingError, match="2305843009213693952 words, 24 bytes are left"):
        list(bad.records())


def test_a_machine_that_is_not_known(arch: Arch) -> None:
    """A recording of another machine, of which no file is here either."""
    data = _BYTES[arch.name].replace(arch.name.encode() + b"\0", b"mips\0")
    with pytest.raises(UsageError, match="recorded on 'mips': not one of x86_64, aarch64, s390x"):
        machine_of(parse_perf("made.data", data))


@settings(max_examples=300, deadline=None)
@given(
    arch=st.sampled_from(ALL),
    changes=st.lists(
        st.tuples(st.integers(0, 1800), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6
    ),
    size=st.integers(0, 4000),
)
def test_any_bytes(arch: Arch, changes: list[tuple[int, bytes]], size: int) -> None:
    """A recording, or one of our own errors; and what is read can be walked."""
    data = bytearray(_BYTES[arch.name])
    for offset, new in changes:
        data[offset : offset + len(new)] = new
    with contextlib.suppress(UnwindlabError):
        file = parse_perf("made.data", bytes(data[: size if size > 800 else None]))
        machine = machine_of(file)
        files = Files(machine)
        for sample in stack_samples(file, machine):
            places = files.places(sample.code)
            trace = walk(sample.sample, files.tables(places, "cfi"), most=10)
            assert trace.stop is not Verdict.EXACT


def test_big_endian_is_read_as_such() -> None:
    """The other byte order is told from the magic."""
    assert read_back(S390X).byte_order == "big"
