"""Stitching: the numbered rows of section 9, on files written by hand."""

from emu.deferred.records import (
    CONTEXT_USER,
    CONTEXT_USER_DEFERRED,
    MERGED,
    Deferred,
    Entry,
    Round,
    Sample,
    attr_bit,
)
from emu.deferred.stitch import as_perf7, by_cookie, by_tid, perf_order
from tests.emu.deferred.playing import Played

KERNEL_IP = 0xFFFF_FFFF_8100_0000


def sample(time: int, tid: int = 1, cookie: int = 9, entry: int = 1) -> Sample:
    chain = (KERNEL_IP, CONTEXT_USER_DEFERRED, cookie)
    return Sample(time, tid, tid, cookie, chain, "e", True, tid, entry)


def record(time: int, tid: int = 1, cookie: int = 9, entry: int = 1) -> Deferred:
    return Deferred(time, tid, tid, cookie, (0x10, 0x20), MERGED, tid, entry)


def test_stitching_1() -> None:
    """A sample waits if bit 38 is set and the last but one entry of its chain is the marker."""
    from emu.deferred.perf import EventAttr

    text = "cpu0 run A\ncpu0 syscall\ncpu0 nmi\ncpu0 sample e\ncpu0 return\ncpu0 return"
    for attr, waits in ((EventAttr("e"), [True]), (EventAttr("e", defer_output=False), [True]),
                        (EventAttr("e", defer_callchain=False), [False]),
                        (EventAttr("e", max_contexts=2), [False])):  # fmt: skip
        file = Played(text, tracers=(), events=[attr]).session.files["perf"]
        assert [entry.waits for entry in file if isinstance(entry, Sample)] == waits


def test_stitching_2() -> None:
    """Waiting samples of all buffers are held in one list until a record comes."""
    stitched = as_perf7([record(30), Round(), sample(20, cookie=9)])
    assert [one.record is not None for one in stitched] == [True]


def test_stitching_3() -> None:
    """One record settles all samples of its tid: equal cookies merge, others stay as they are."""
    file: list[Entry] = [sample(1), sample(2, cookie=8), sample(3, tid=2), record(4)]
    stitched = as_perf7(file)
    assert [one.chain for one in stitched] == [
        (KERNEL_IP, CONTEXT_USER_DEFERRED, 0x10, 0x20),
        (KERNEL_IP, CONTEXT_USER_DEFERRED, 8),
        (KERNEL_IP, CONTEXT_USER_DEFERRED, 9),
    ]
    assert as_perf7([sample(1), record(4, tid=-1)])[0].record is None


def test_stitching_4() -> None:
    """At the end the rest is delivered unmerged, the cookie in the chain."""
    stitched = as_perf7([sample(1), sample(2, tid=2), record(3, tid=2)])
    assert [(one.sample.time, one.chain[-1]) for one in stitched] == [(2, 0x20), (1, 9)]


def test_stitching_6() -> None:
    """A record earlier in the file is found across one round's end, not across two."""
    assert as_perf7([record(20), Round(), sample(10)])[0].record is not None
    assert as_perf7([record(20), Round(), Round(), sample(10)])[0].record is None
    same = [sample(5, tid=2), sample(5, tid=1)]
    assert perf_order(same) == same


def test_reader_leniency() -> None:
    """A leading marker and nr 0 are no fault; on big endian bits 38 and 39 are 25 and 24."""
    marked = Deferred(4, 1, 1, 9, (CONTEXT_USER, 0x10), MERGED, 1, 1)
    assert as_perf7([sample(1), marked])[0].chain[-2:] == (CONTEXT_USER, 0x10)
    empty = Deferred(4, 1, 1, 9, (), MERGED, 1, 1)
    assert as_perf7([sample(1), empty])[0].chain == (KERNEL_IP, CONTEXT_USER_DEFERRED)
    assert [attr_bit(bit, "big") for bit in (38, 39)] == [25, 24]
    assert attr_bit(38, "little") == 38


def test_tid_alone_takes_the_next_stack() -> None:
    """By tid the next stack of the tid is given to all that wait, whatever its cookie."""
    file = [sample(1), sample(2), record(5, cookie=8, entry=2)]
    assert [one.outcome for one in by_tid(file)] == ["wrong", "wrong"]
    assert [one.outcome for one in by_cookie(file)] == ["missing", "missing"]


def test_order_matters_to_perf_alone() -> None:
    """A lost record and a later one of the tid: perf gives up a sample that a cookie would save."""
    file = [sample(1), record(2, cookie=8, entry=2), record(3)]
    assert by_cookie(file)[0].outcome == "right"
    assert as_perf7(file)[0].outcome == "missing"


def test_a_sample_after_its_stack_is_lost_to_perf_alone() -> None:
    """Asked for after delivery, the stack lies before the sample: perf 7 does not merge them."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 return at callback
          cpu0 nmi
          cpu0 sample t
          cpu0 return
    """)
    assert played.outcomes("cookie") == {"right": 2}
    assert played.outcomes("perf7") == {"right": 1, "missing": 1}


def test_cookie_0_is_no_cookie() -> None:
    """A sample that was told cookie 0 finds no stack, not even one of cookie 0."""
    assert by_cookie([sample(1, cookie=0), record(2, cookie=0)])[0].outcome == "missing"
