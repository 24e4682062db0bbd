"""Version 4 of January 2025: rows of sections 8b and 14."""

from errno import EEXIST, EINVAL, ESRCH
from typing import Any

from emu.deferred.design import Work
from emu.deferred.kernel import Kernel
from emu.deferred.ledger import Invariant
from emu.deferred.merged import Merged
from emu.deferred.posting_v4 import PostingV4
from emu.deferred.tasks import Level, Task
from tests.emu.deferred.playing import Played

STACK = ("inA", "middle", "main")


def v4(text: str, **options: Any) -> Played:
    return Played(text, design="posting-v4", **options)


def test_v4_init() -> None:
    """Registering zeroes the work; there is no limit of tracers."""
    design = PostingV4()
    Kernel(1, design)
    works = [Work(str(number), lambda *_: None) for number in range(100)]
    works[0].pending = Task("A", 1, 1, 0, ())
    assert {design.register(work) for work in works} == {0}
    assert works[0].pending is None


def test_v4_entry() -> None:
    """Each kernel entry from user mode starts with cookie 0."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 return")
    assert played.session.tasks["A"].info.cookie == 1
    played.session.kernel.enter(played.session.kernel.cpus[0], Level.INTERRUPT)
    assert played.session.tasks["A"].info.cookie == 0


def test_v4_request_in_nmi() -> None:
    """In an NMI a request is refused with cookie 0."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 nmi\ncpu0 sample t\ncpu0 return\ncpu0 return")
    assert played.asked == [("t", -EINVAL, 0)]
    assert played.flaws == ["nmi-refused"]
    assert played.called == []


def test_v4_request_refused() -> None:
    """A kernel thread is refused with cookie 0."""
    played = v4("cpu0 run K\ncpu0 sample t", tasks=[Task("K", 9, 9, 0, (), kthread=True)])
    assert played.asked == [("t", -EINVAL, 0)]


def test_v4_request_pending() -> None:
    """While its callback is pending a user gets -EEXIST and the entry's cookie."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 sample t\ncpu0 return")
    assert played.asked[1] == ("t", -EEXIST, 1)
    assert played.called == [("t", 1, STACK)]


def test_v4_request_not_queued() -> None:
    """If queueing fails, that error comes and the cookie stays stored."""
    played = v4("cpu0 run A\ncpu0 syscall\nno-queue\ncpu0 sample t\ncpu0 sample u\ncpu0 return")
    assert played.asked == [("t", -ESRCH, 0), ("u", 0, 1)]
    assert "queue-error-keeps-cookie" in played.flaws


def test_v4_request_queued() -> None:
    """A second user of the entry gets 0, the right cookie and a callback of its own."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 sample u\ncpu0 return")
    assert played.asked[1] == ("u", 0, 1)
    assert played.called == [("t", 1, STACK), ("u", 1, STACK)]


def test_v4_request_again() -> None:
    """After its callback a user may ask again: same cookie, an equal trace, unwound anew."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t")
    kernel, task = played.session.kernel, played.session.tasks["A"]
    kernel.run_works(task)
    assert kernel.request(kernel.cpus[0], kernel.design.works[0]) == (0, 1)
    kernel.leave(kernel.cpus[0])
    assert played.called == [("t", 1, STACK), ("t", 1, STACK)]
    assert played.unwinds == 2


def test_v4_work() -> None:
    """The work ends in the callback also without a trace, and pending is clear after it."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t\nno-memory\ncpu0 return")
    assert played.called == [("t", 1, None)]
    assert played.session.kernel.design.works[0].pending is None


def test_v4_entries() -> None:
    """512 words, made at the first unwind."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t")
    session = played.session
    task, design = session.tasks["A"], session.kernel.design
    task.stack = tuple(range(1, 601))
    before = design.bytes_of(task)
    session.kernel.leave(session.kernel.cpus[0])
    assert design.bytes_of(task) - before == 512 * 8
    records = [e for e in played.events if e.kind == "callback"]
    assert records[0].ips == tuple(range(1, 513))


def test_v4_cancel() -> None:
    """Cancelling takes the work from the task if it was queued there, and says so."""
    played = v4("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 cancel t
        cpu0 cancel t
        cpu0 return
    """)
    assert [e.status for e in played.events if e.kind == "cancel"] == [1, 0]
    assert played.called == []


def test_v4_defect_first_cookie() -> None:
    """The first request of an entry is told 0 and cookie 0; the task stores the right one."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t")
    assert played.asked == [("t", 0, 0)]
    assert played.session.tasks["A"].info.cookie == 1


def test_v4_defect_uninitialised() -> None:
    """At exit, the mm gone, the callback gets memory that nobody wrote."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 exit")
    assert played.called == [("t", 1, None)]
    assert "uninitialised-trace" in played.flaws


def test_v4_defect_in_callback() -> None:
    """A request from within the callback gets -EEXIST and no callback."""
    played = v4("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 return at callback
          cpu0 sample t
    """)
    assert played.asked[1] == ("t", -EEXIST, 1)
    assert len(played.called) == 1
    assert "pending-in-callback" in played.flaws


def test_v4_review() -> None:
    """Per task v4 needs a work of each user, the merged form none; a cancel clears all tasks."""
    sizes = {}
    for design in (PostingV4(), Merged()):
        kernel = Kernel(1, design)
        task = Task("A", 1, 1, 0, ())
        kernel.create(task)
        sizes[design.name] = []
        for number in range(3):
            kernel.register(Work(str(number), lambda *_: None))
            sizes[design.name].append(design.bytes_of(task))
    one, two, three = sizes["posting-v4"]
    assert (two - one, three - two) == (32, 32)
    assert len(set(sizes["merged"])) == 1


def test_v4_pending_of_the_work() -> None:
    """Pending in one task, the same user is refused in another and gets no callback there."""
    played = v4("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu1 run B
        cpu1 syscall
        cpu1 sample u
        cpu1 sample t
        cpu1 cancel t
        cpu1 return
        cpu0 return
    """)
    c = 1 << 48
    assert played.asked[2] == ("t", -EEXIST, c + 1)
    assert [(who, cookie) for who, cookie, _ in played.called] == [("u", c + 1), ("t", 1)]
    assert {"pending-in-other-task", "cancel-leaves-other-task"} <= set(played.flaws)
    assert Invariant.DELIVERED_ONCE in {violation.invariant for violation in played.broken}


def test_v4_work_function() -> None:
    """A work that is not pending any more returns without callback; fork zeroes the cookie."""
    played = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t")
    design = played.session.kernel.design
    design.register(design.works[0])
    played.session.kernel.leave(played.session.kernel.cpus[0])
    assert played.called == []
    assert "work-without-pending" in played.flaws
    child = v4("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 fork C",
               tasks=[Task("C", 3, 3, 0, ())])  # fmt: skip
    assert child.session.tasks["C"].info.cookie == 0
