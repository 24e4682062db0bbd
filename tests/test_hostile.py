"""A short run over damaged sections, and proof that such a run can fail."""

import ctypes
import faulthandler
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import hostile, mutants
from benchmarks.mutants import Original
from emu.native import COMPILED
from emu.sframe.decode import Decoded, decode
from emu.sframe.faults import Faults
from emu.sframe.packed import pack_section
from emu.tables import PackedTable
from testprogs.unpack import unpack

PLANTED = 100
"""A number whose mutant gets as far as being looked up, and whose memory is measured."""


@pytest.fixture(scope="module")
def known() -> list[Original]:
    unpack()
    return mutants.originals()


def broken(known: list[Original], reader: hostile.Reader, **options: Any) -> str:
    """Why the planted reader fails on one section."""
    ((number, why),) = hostile.run([PLANTED], 1, known, reader, **options).broken
    assert number == PLANTED
    return why


def decoder(wrong: Callable[[Decoded], object]) -> hostile.Reader:
    """One that does something wrong after it has decoded a section."""

    def decode_wrong(data: bytes, **options: Any) -> Decoded:
        decoded = decode(data, **options)
        wrong(decoded)
        return decoded

    return hostile.Reader(decode_wrong)


def test_short_run(known: list[Original]) -> None:
    """Thousands of damaged sections break no rule: `make hostile` reads a million."""
    totals = hostile.run_all(3000, 1, 1, known)
    assert totals.broken == []
    assert totals.count == 3000
    assert totals.refused < totals.count * 2 // 3
    assert totals.faultless > 200
    assert totals.measured == 60
    assert totals.packed > 200 or not COMPILED


def test_mutants_come_again(known: list[Original]) -> None:
    """Seed and number say all of a mutant."""
    first = [mutants.mutant(1, number, known) for number in range(200)]
    assert first == [mutants.mutant(1, number, list(known)) for number in range(200)]
    assert first != [mutants.mutant(2, number, known) for number in range(200)]


def test_every_kind_is_there(known: list[Original]) -> None:
    """All versions and ABIs are damaged."""
    found = {(original.data[2], original.data[4]) for original in known}
    assert found == {(version, abi) for version in (1, 2, 3) for abi in (1, 2, 3, 4)}


def test_exception_is_caught(known: list[Original]) -> None:
    """A decoder that raises something else than it may is found."""

    def wrong(decoded: Decoded) -> None:
        raise IndexError("planted")

    assert "IndexError: planted" in broken(known, decoder(wrong))


def test_loop_is_caught(known: list[Original]) -> None:
    """A decoder that does not end is found."""

    def wrong(decoded: Decoded) -> None:
        while True:
            pass

    assert "more than 0.1 s" in broken(known, decoder(wrong), seconds=0.1)


def test_appetite_is_caught(known: list[Original]) -> None:
    """A decoder that takes memory for what a section only announces is found."""
    assert "bytes of memory" in broken(known, decoder(lambda decoded: bytes(1 << 20)))


def test_offset_outside_is_caught(known: list[Original]) -> None:
    """A fault at an offset that the section does not have is found."""

    def wrong(decoded: Decoded) -> None:
        faults = decoded.faults
        assert isinstance(faults, Faults)
        faults.__init__()  # type: ignore[misc]
        faults.add(1 << 20, "planted")
        faults.sort()

    assert "outside of the section" in broken(known, decoder(wrong))


@pytest.mark.compiled
def test_read_outside_is_caught(known: list[Original]) -> None:
    """Packing code that reads a byte behind the section dies of it, and the run goes on."""

    def pack(data: bytes, *rest: Any) -> PackedTable | None:
        if isinstance(data, memoryview):
            faulthandler.disable()  # it is in a process of its own
            ctypes.string_at(np.frombuffer(data, np.uint8).ctypes.data + len(data), 1)
        return pack_section(data, *rest)

    totals = hostile.run_all(12, 1, 1, known, reader=hostile.Reader(pack=pack))
    assert totals.broken
    assert {why for _, why in totals.broken} == {"the process ended with -11"}


def test_stuck_process_is_ended(known: list[Original]) -> None:
    """Where no alarm gets through, the process is ended and another one goes on."""

    def wrong(decoded: Decoded) -> None:
        import signal

        if decoded.header.num_fdes and os.getpid() != parent and decoded.faults:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            time.sleep(60)

    parent = os.getpid()
    totals = hostile.run_all(5, 1, 1, known, reader=decoder(wrong), grace=0.2)
    assert totals.broken
    assert all("the process ended with -9" in why for _, why in totals.broken)


def test_worst_sections_take_little(known: list[Original]) -> None:
    """The decode of the worst sections known takes less than 20 times their bytes."""
    found = list(hostile.growth([10_000]))
    assert len(found) == len(mutants.WORST)
    assert [worst.name for worst in found if worst.peak > hostile.TIMES] == []
