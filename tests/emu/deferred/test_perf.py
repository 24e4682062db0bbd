"""The perf side of the posting of 2024 and of the merged form: rows of sections 9 and 14."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from emu.deferred.perf import EventAttr
from emu.deferred.records import (
    CONTEXT_KERNEL,
    CONTEXT_USER,
    CONTEXT_USER_DEFERRED,
    DEFER_CALLCHAIN,
    DEFER_OUTPUT,
    MERGED,
    POSTING_2024,
    POSTING_2024_V3,
    RECORD_CALLCHAIN_DEFERRED,
    RESERVED_BITS,
    Abi,
    Chain,
    Deferred,
    Lost,
    Sample,
)
from emu.deferred.ring import Ring
from emu.deferred.tasks import Task
from tests.emu.deferred.playing import Played, union

NMI = "cpu0 nmi\ncpu0 sample e\ncpu0 return\n"
CALL = f"cpu0 run A\ncpu0 syscall\n{NMI}cpu0 return\n"
K = 0xFFFF_FFFF_8100_0000
FIRST = union(0, 3)


def perf(text: str, *attrs: EventAttr, posting: bool = False, **options: Any) -> Played:
    return Played(
        text, events=attrs or (EventAttr("e"),), posting=posting, tracers=(), **options
    )


def samples(played: Played) -> list[Sample]:
    return [entry for entry in played.session.files["perf"] if isinstance(entry, Sample)]


def records(played: Played) -> list[Deferred]:
    return [entry for entry in played.session.files["perf"] if isinstance(entry, Deferred)]


def user(played: Played, name: str = "A") -> tuple[int, ...]:
    return played.session.tasks[name].stack


def encoded(abi: Abi, ips: Sequence[int]) -> bytes:
    return Deferred(7, 2, 1, FIRST, tuple(ips), abi, 0, 0).encode("little")


def test_abi_marker() -> None:
    """The marker is -640 as a u64."""
    assert struct.pack("<Q", CONTEXT_USER_DEFERRED) == struct.pack("<q", -640)


def test_abi_record() -> None:
    """The record's type is 22 in all revisions."""
    heads = {encoded(abi, [1])[:4] for abi in (POSTING_2024, POSTING_2024_V3, MERGED)}
    assert heads == {struct.pack("<I", 22)}
    assert RECORD_CALLCHAIN_DEFERRED == 22


def test_abi_layout() -> None:
    """nr, ips, sample_id in 2024; cookie, nr, ips, sample_id after it."""
    tail = struct.pack("<IIQ", 1, 2, 7)
    assert encoded(POSTING_2024, [5, 6])[8:] == struct.pack("<3Q", 2, 5, 6) + tail
    for abi in (POSTING_2024_V3, MERGED):
        assert encoded(abi, [5, 6])[8:] == struct.pack("<4Q", FIRST, 2, 5, 6) + tail
    big = Deferred(7, 2, 1, 9, (5,), MERGED, 0, 0).encode("big")
    assert big == struct.pack(">IHHQQQIIQ", 22, 2, 48, 9, 1, 5, 1, 2, 7)


def test_abi_first_ip() -> None:
    """The posting's record begins with the user marker, the merged one with an address."""
    posting, merged = perf(CALL, posting=True), perf(CALL)
    assert records(posting)[0].ips == (CONTEXT_USER, *user(posting))
    assert records(merged)[0].ips == user(merged)
    assert [abi.marker for abi in (POSTING_2024, POSTING_2024_V3, MERGED)] == [True, True, False]


def test_abi_misc() -> None:
    """header.misc is 0 in the posting, USER later."""
    assert [struct.unpack_from("<H", encoded(abi, []), 4)[0]
            for abi in (POSTING_2024, POSTING_2024_V3, MERGED)] == [0, 2, 2]  # fmt: skip


def test_abi_attr_38() -> None:
    """Bit 38 asks for deferral; without it the user part is taken at once."""
    assert DEFER_CALLCHAIN == 38
    played = perf(CALL, EventAttr("e", defer_callchain=False))
    assert samples(played)[0].chain == (CONTEXT_KERNEL, K, CONTEXT_USER, *user(played))
    assert records(played) == []


def test_abi_attr_39() -> None:
    """Bit 39, in the merged form alone, is who receives the records."""
    assert DEFER_OUTPUT == 39
    assert [DEFER_OUTPUT in abi.attr_bits
            for abi in (POSTING_2024, POSTING_2024_V3, MERGED)] == [False, False, True]  # fmt: skip
    played = perf(CALL, EventAttr("e", defer_output=False))
    assert samples(played)[0].waits
    assert records(played) == []


def test_abi_chain_end() -> None:
    """A chain ends with the marker in the posting, with marker and cookie in the merged form."""
    assert samples(perf(CALL, posting=True))[0].chain[-1] == CONTEXT_USER_DEFERRED
    assert samples(perf(CALL))[0].chain[-2:] == (CONTEXT_USER_DEFERRED, FIRST)


def test_abi_sent_to() -> None:
    """The posting sends a record to the event that asked, the merged form to all that want it."""
    attrs = EventAttr("e"), EventAttr("f"), EventAttr("g", task="B"), EventAttr("h", task="A")
    assert len(records(perf(CALL, *attrs, posting=True))) == 1
    assert len(records(perf(CALL, *attrs))) == 3


def test_attr_reserved() -> None:
    """24 attr bits are left after these two; a record without sample_id_all has no sample_id."""
    assert DEFER_OUTPUT + 1 + RESERVED_BITS == 64
    record = Deferred(7, -1, -1, 9, (5,), MERGED, 0, 0)
    assert record.encode("little") == struct.pack("<IHHQQQ", 22, 2, 32, 9, 1, 5)
    assert record.size == 32


def test_deferral_condition() -> None:
    """Without user chains, in a foreign task or after a refusal there is no deferral."""
    assert samples(perf(CALL, EventAttr("e", user=False)))[0].chain == (CONTEXT_KERNEL, K)
    assert samples(perf(CALL, EventAttr("e", task="B")))[0].chain == (CONTEXT_KERNEL, K)
    refused = Played(
        "cpu0 run A\ncpu0 syscall\n" + NMI, design="posting-v4", events=[EventAttr("e")]
    )
    assert samples(refused)[0].chain[-4:] == (CONTEXT_USER, *user(refused))


def test_contexts_limit() -> None:
    """Marker and cookie count as contexts, and are missing when these are used up."""
    chains = [samples(perf(CALL, EventAttr("e", max_contexts=most)))[0].chain for most in (1, 2, 3)]
    assert chains == [
        (CONTEXT_KERNEL, K),
        (CONTEXT_KERNEL, K, CONTEXT_USER_DEFERRED),
        (CONTEXT_KERNEL, K, CONTEXT_USER_DEFERRED, FIRST),
    ]


def test_max_stack() -> None:
    """Addresses of kernel and user part share max_stack; markers do not count."""
    played = perf(CALL, EventAttr("e", defer_callchain=False, max_stack=2))
    assert samples(played)[0].chain == (CONTEXT_KERNEL, K, CONTEXT_USER, user(played)[0])
    chain = Chain(max_stack=3, max_contexts=1)
    assert [chain.context(CONTEXT_USER), chain.context(CONTEXT_KERNEL)] == [True, False]
    chain.addresses((1, 2))
    assert chain.entries == [CONTEXT_USER]


def test_records_elsewhere() -> None:
    """Samples and records may lie in different buffers; read together they still merge."""
    played = Played("", tracers=())
    session = played.session
    session.event(EventAttr("e", defer_output=False), "one")
    session.event(EventAttr("f"), "two")
    from emu.deferred.steps import read_steps

    session.play(read_steps(CALL))
    session.finish()
    assert played.outcomes("perf7") == {"right": 1}
    assert session.rings["one"].read() == []


def test_posting_mechanism() -> None:
    """One flag for the event: all its samples until the record share it, other tasks' too."""
    played = perf(
        f"cpu0 run A\ncpu0 syscall\n{NMI}{NMI}cpu1 run B\ncpu1 syscall\ncpu1 nmi\n"
        "cpu1 sample e\ncpu1 return\ncpu1 return\ncpu0 return",
        posting=True,
    )
    assert [sample.chain[-1] for sample in samples(played)] == [CONTEXT_USER_DEFERRED] * 3
    assert [record.tid for record in records(played)] == [1]
    assert played.outcomes("tid") == {"right": 2, "missing": 1}


def test_posting_record() -> None:
    """At most 127 addresses and the marker; a full buffer loses it and pending is cleared."""
    played = perf(f"cpu0 run A\ncpu0 syscall\n{NMI}", EventAttr("e", max_stack=500), posting=True)
    played.session.tasks["A"].stack = tuple(range(1, 201))
    kernel = played.session.kernel
    kernel.leave(kernel.cpus[0])
    played.session.read()
    assert records(played)[0].ips == (CONTEXT_USER, *range(1, 128))
    full = perf(f"cpu0 run A\ncpu0 syscall\n{NMI}fill perf\ncpu0 return\nread\n{CALL[11:]}",
                posting=True)  # fmt: skip
    assert len(records(full)) == 1
    assert full.session.rings["perf"].lost == 1


def test_posting_flaws() -> None:
    """A software event's pending is never cleared; a kernel thread is asked for unmarked."""
    soft = "cpu0 run A\ncpu0 syscall\ncpu0 sample e\ncpu0 return\n"
    played = perf(soft + soft[11:], EventAttr("e", software=True), posting=True)
    assert [sample.chain[-1] for sample in samples(played)] == [CONTEXT_USER_DEFERRED] * 2
    assert records(played) == []
    assert played.flaws == ["software-event-never-cleared"]
    thread = Task("K", 9, 9, 0, (), kthread=True)
    played = perf(f"cpu0 run K\n{NMI}", posting=True, tasks=[thread])
    assert samples(played)[0].chain == (CONTEXT_KERNEL, K)
    assert len(thread.works) == 1


def test_sample_path() -> None:
    """Kernel part only outside user mode; user registers of the sample, else of the entry."""
    in_user = perf("cpu0 run A\n" + NMI, EventAttr("e", defer_callchain=False))
    assert samples(in_user)[0].chain == (CONTEXT_USER, *user(in_user))
    in_kernel = perf(CALL, EventAttr("e", defer_callchain=False))
    assert samples(in_kernel)[0].chain == (CONTEXT_KERNEL, K, CONTEXT_USER, *user(in_kernel))
    thread = Task("K", 9, 9, 0, (), kthread=True)
    no_mm = perf(f"cpu0 run K\n{NMI}", tasks=[thread])
    assert samples(no_mm)[0].chain == (CONTEXT_KERNEL, K)
    neither = perf(CALL, EventAttr("e", kernel=False, user=False))
    assert samples(neither)[0].chain == ()


def test_x86_walk() -> None:
    """Of a guest nothing; atomic to the first absent page; deferred the whole stack."""
    plain = Task("C", 3, 3, 0, (1, 2, 3))
    for task, at_once in (
        (replace(plain, guest=True), ()), (replace(plain, resident=2), (1, 2)),
        (replace(plain, unwindable=False), (1,)), (plain, (1, 2, 3)),
    ):  # fmt: skip
        text = CALL.replace("run A", "run C")
        played = perf(text, EventAttr("e", defer_callchain=False, kernel=False), tasks=[task])
        assert samples(played)[0].chain == (CONTEXT_USER, *at_once)
    task = Task("C", 3, 3, 0, (1, 2, 3), resident=1)
    assert records(perf(CALL.replace("run A", "run C"), tasks=[task]))[0].ips == (1, 2, 3)


def test_ring_says_what_it_lost() -> None:
    """A full buffer loses entries, and notes how many before the next that fits."""
    played = Played("", tracers=())
    ring = Ring(played.session.kernel, "r", 32 + 40)
    entry = Sample(1, 1, 1, 0, (), "e", False, 0, 0)
    assert entry.size == 32
    assert [ring.write(entry) for _ in range(4)] == [True, True, False, False]
    assert ring.read() == [entry, entry]
    assert ring.write(entry)
    assert ring.read() == [Lost(1, 2), entry]
    assert ring.lost == 2


def test_overlapping_filters() -> None:
    """Each tracer is asked for its tasks alone, and one unwind serves those that asked."""
    played = Played(
        "cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 sample u\ncpu0 return\n"
        "cpu1 run B\ncpu1 syscall\ncpu1 sample t\ncpu1 sample u\ncpu1 return",
        filters={"t": ["A"], "u": ["A", "B"]},
    )
    assert [who for who, _, _ in played.called] == ["t", "u", "u"]
    assert played.unwinds == 2
