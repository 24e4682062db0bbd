"""The sketch of September 2024: rows of sections 8b and 14."""

from typing import Any

from emu.deferred.tasks import Task
from tests.emu.deferred.playing import Played

STACK = ("inA", "middle", "main")


def sketch(text: str, **options: Any) -> Played:
    return Played(text, design="sketch", **options)


def test_sketch_registration() -> None:
    """A client is a callback on one global list."""
    played = sketch("cpu0 run A", tracers=("t", "u", "v"))
    assert [work.name for work in played.session.kernel.design.works] == ["t", "u", "v"]


def test_sketch_in_nmi() -> None:
    """A trigger in an NMI returns the cookie that the callback gets on the way out."""
    played = sketch("cpu0 run A\ncpu0 syscall\ncpu0 nmi\ncpu0 sample t\ncpu0 return\ncpu0 return")
    assert played.asked == [("t", 0, 1)]
    assert ("t", 1, STACK) in played.called


def test_sketch_on_return() -> None:
    """One unwind, every client called whether or not it asked, then the cookie is 0."""
    played = sketch("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 return")
    assert played.called == [("t", 1, STACK), ("u", 1, STACK)]
    assert played.unwinds == 1
    assert played.session.tasks["A"].info.cookie == 0
    files = played.session.files
    assert [type(entry).__name__ for entry in files["u"]] == ["Round"]


def test_sketch_open_race() -> None:
    """A trigger in an NMI of the callback loop, by a client already called, is lost."""
    played = sketch("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample u
        cpu0 return at callback
          cpu0 nmi
          cpu0 sample t
          cpu0 return
    """)
    assert played.asked == [("u", 0, 1), ("t", 0, 1)]
    assert played.called == [("t", 1, STACK), ("u", 1, STACK)]
    assert played.flaws == ["trigger-in-loop"]
    assert [violation.invariant for violation in played.broken] == ["delivered-once"]


def test_sketch_no_stack() -> None:
    """When the mm is gone the callback gets no trace at all."""
    played = sketch("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 exit", tracers=("t",))
    assert played.called == [("t", 1, None)]


def test_sketch_method() -> None:
    """Without a table and a frame pointer the trace is the first address alone."""
    played = sketch("cpu0 run A\ncpu0 syscall\ncpu0 sample t", tracers=("t",))
    played.session.tasks["A"].unwindable = False
    played.session.kernel.leave(played.session.kernel.cpus[0])
    assert played.called == [("t", 1, ("inA",))]


def test_sketch_depth() -> None:
    """The unwinder goes as deep as the tracer that wants most; -1 is no limit."""
    text = "cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 return"
    limited = sketch(text, depths={"t": 1, "u": 2})
    assert limited.called == [("t", 1, STACK[:2]), ("u", 1, STACK[:2])]
    assert sketch(text, depths={"t": 1}).called[0] == ("t", 1, STACK)


def test_sketch_memory() -> None:
    """The trace's memory is made at the first unwind and stays with the task."""
    text = "cpu0 run A\ncpu0 syscall\ncpu0 sample t"
    session = sketch(text).session
    design, task = session.kernel.design, session.tasks["A"]
    before = design.bytes_of(task)
    session.kernel.leave(session.kernel.cpus[0])
    used = design.bytes_of(task)
    assert used > before
    assert design.bytes_of(session.tasks["B"]) == before


def test_sketch_losses() -> None:
    """Lost stack and lost request, and a reused tid, pair wrongly by tid and not by cookie."""
    lost = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        fill t
        cpu0 return
        read
        cpu0 syscall
        fill t
        cpu0 sample t
        read
        cpu0 return
    """)
    assert (lost.outcomes("tid"), lost.outcomes("cookie")) == ({"wrong": 1}, {"missing": 1})
    reuse = Played(
        """
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        fill t
        cpu0 exit
        cpu1 run B
        cpu1 syscall
        cpu1 fork C
        cpu0 run C
        cpu0 return
        cpu0 syscall
        cpu0 sample t
        read
        cpu0 return
        """,
        tasks=[Task("C", 1, 1, 0, (1,))],
    )
    assert (reuse.outcomes("tid"), reuse.outcomes("cookie")) == ({"wrong": 1}, {"missing": 1})


def test_sketch_who_is_called() -> None:
    """By 16 September only those that asked were to be called: the merged form does that."""
    text = "cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 return"
    assert [who for who, _, _ in sketch(text).called] == ["t", "u"]
    assert [who for who, _, _ in Played(text).called] == ["t"]
