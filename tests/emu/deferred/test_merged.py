"""The merged form: rows of section 8."""

from errno import EBUSY, EINVAL, ENOMEM, ESRCH
from typing import Any

from emu.deferred.design import Trace, Work
from emu.deferred.kernel import Kernel
from emu.deferred.merged import CAPACITY, PENDING, USED, Merged
from emu.deferred.tasks import Level, Task
from tests.emu.deferred.playing import Played, union

STACK = ("inA", "middle", "main")
FIRST = union(0, 3)


def kernel_with(*works: Work, **fields: Any) -> tuple[Kernel, Merged, Task]:
    """One CPU that runs one task in a system call, and these tracers."""
    design = Merged()
    kernel = Kernel(1, design)
    for work in works:
        kernel.register(work)
    task = Task("A", 1, 1, 0, (0x10, 0x20), **fields)
    kernel.create(task)
    kernel.run(kernel.cpus[0], task)
    if not task.kthread:
        kernel.enter(kernel.cpus[0], Level.SYSCALL)
    return kernel, design, task


def tracer(name: str = "t") -> Work:
    return Work(name, lambda task, trace, cookie: None)


def test_init() -> None:
    """62 tracers fit, the lowest free bit is taken, bits 0 and 1 are reserved."""
    design = Merged()
    Kernel(1, design)
    works = [tracer() for _ in range(63)]
    assert [design.register(work) for work in works] == [0] * 62 + [-EBUSY]
    assert [work.bit for work in works[:62]] == list(range(2, 64))
    design.cancel(works[5])
    assert design.register(works[62]) == 0
    assert works[62].bit == 7


def test_request_interface() -> None:
    """A request gives a status and a cookie."""
    work = tracer()
    kernel, _, _ = kernel_with(work)
    assert kernel.request(kernel.cpus[0], work) == (0, FIRST)


def test_cancel() -> None:
    """A cancelled tracer's bit is -1 and gone from the mask and completed set of every task."""
    first, second = tracer("first"), tracer("second")
    kernel, design, task = kernel_with(first, second)
    kernel.request(kernel.cpus[0], first)
    kernel.request(kernel.cpus[0], second)
    assert design.cancel(first) is True
    assert first.bit == -1
    assert task.info.mask == PENDING | 1 << 3
    task.info.mask &= ~PENDING
    design.unwind_now(task)
    task.info.cache.completed = 1 << 3
    design.cancel(second)
    assert task.info.cache.completed == 0


def test_faultable() -> None:
    """Unwinding at once: -EINVAL without mm, -ENOMEM without memory, else the trace."""
    kernel, design, task = kernel_with()
    kernel.no_memory = True
    assert design.unwind_now(task) == (-ENOMEM, ())
    assert design.unwind_now(task) == (0, (0x10, 0x20))
    task.mm = False
    assert design.unwind_now(task) == (-EINVAL, ())


def test_callback() -> None:
    """The callback comes in the kernel, before user mode, with trace and cookie."""
    seen: list[tuple[object, ...]] = []

    def callback(current: Task, trace: Trace, cookie: int) -> None:
        seen.append((current.in_kernel, trace.ips, cookie))

    work = Work("t", callback)
    kernel, _, _ = kernel_with(work)
    kernel.request(kernel.cpus[0], work)
    assert seen == []
    kernel.leave(kernel.cpus[0])
    assert seen == [(Level.SYSCALL, (0x10, 0x20), FIRST)]


def test_request_refused() -> None:
    """A kernel thread and an exiting task get -EINVAL and cookie 0."""
    work = tracer()
    kernel, design, _ = kernel_with(work, kthread=True)
    assert design.request(kernel.cpus[0], work) == (-EINVAL, 0)
    kernel, design, task = kernel_with(work)
    task.exiting = True
    assert design.request(kernel.cpus[0], work) == (-EINVAL, 0)


def test_request_cancelled_work() -> None:
    """A cancelled tracer gets -EINVAL, as was meant."""
    work = tracer()
    kernel, design, _ = kernel_with(work)
    design.cancel(work)
    assert design.request(kernel.cpus[0], work) == (-EINVAL, 0)


def test_request_own_bit_set() -> None:
    """Asking again gives 1, while it is pending and after delivery in the same entry."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 sample t
        cpu0 return at callback
          cpu0 sample t
    """)
    assert played.asked == [("t", 0, FIRST), ("t", 1, FIRST), ("t", 1, FIRST)]
    assert played.called == [("t", FIRST, STACK)]


def test_request_queued() -> None:
    """The first request sets its bit and PENDING and queues work; a refusal clears the mask."""
    work = tracer()
    kernel, design, task = kernel_with(work)
    assert design.request(kernel.cpus[0], work) == (0, FIRST)
    assert task.info.mask == PENDING | 1 << 2
    assert len(task.works) == 1
    kernel, design, task = kernel_with(tracer("other"), second := tracer("second"))
    kernel.no_queue = True
    assert design.request(kernel.cpus[0], second)[0] == -ESRCH
    assert task.info.mask == 0


def test_request_piggy_backs() -> None:
    """A second tracer gets 0 and no work of its own."""
    first, second = tracer("first"), tracer("second")
    kernel, design, task = kernel_with(first, second)
    design.request(kernel.cpus[0], first)
    assert design.request(kernel.cpus[0], second) == (0, FIRST)
    assert len(task.works) == 1


def test_request_raced() -> None:
    """An NMI of the same tracer comes between: the outer request gets its mask, here 1 << 2."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t at mask
          cpu0 nmi
          cpu0 sample t
          cpu0 return
        cpu0 return
    """)
    assert played.asked == [("t", 0, FIRST), ("t", 4, FIRST)]
    assert played.called == [("t", FIRST, STACK)]


def test_mask_pending() -> None:
    """PENDING is set from the request until the work runs."""
    work = tracer()
    seen: list[int] = []
    kernel, design, task = kernel_with(work)
    work.callback = lambda current, trace, cookie: seen.append(current.info.mask & PENDING)
    design.request(kernel.cpus[0], work)
    assert task.info.mask & PENDING
    kernel.leave(kernel.cpus[0])
    assert seen == [0]


def test_mask_used() -> None:
    """USED is set when the cache is filled, also by direct use, and makes the reset happen."""
    kernel, design, task = kernel_with()
    design.unwind_now(task)
    assert task.info.mask == USED
    kernel.leave(kernel.cpus[0])
    assert (task.info.mask, task.info.cache.ips) == (0, ())


def test_mask_tracers() -> None:
    """Each tracer that asked since the entry has a bit from 2 on."""
    works = [tracer(str(number)) for number in range(3)]
    kernel, design, task = kernel_with(*works)
    design.request(kernel.cpus[0], works[0])
    design.request(kernel.cpus[0], works[2])
    assert task.info.mask == PENDING | 1 << 2 | 1 << 4


def test_callers() -> None:
    """Whatever is not negative will arrive or has arrived; an NMI in user mode is served."""
    played = Played("""
        cpu0 run A
        cpu0 nmi
        cpu0 sample t
        cpu0 sample u
        cpu0 sample t
        cpu0 return
    """)
    assert [status for _, status, _ in played.asked] == [0, 0, 1]
    assert [who for who, _, _ in played.called] == ["t", "u"]
    assert played.broken == []


def test_delivery() -> None:
    """Without memory the trace is empty and the callback still comes."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        no-memory
        cpu0 return
    """)
    assert played.called == [("t", FIRST, ())]


def test_delivery_late_tracer() -> None:
    """A tracer that asks after delivery gets the cached trace; the first is not called again."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 return at callback
          cpu0 nmi
          cpu0 sample u
          cpu0 return
    """)
    assert played.asked == [("t", 0, FIRST), ("u", 0, FIRST)]
    assert played.called == [("t", FIRST, STACK), ("u", FIRST, STACK)]
    assert played.unwinds == 1


def test_delivery_without_cache() -> None:
    """Without a cache nobody is noted as served: a late tracer has the first called again."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        no-memory
        cpu0 return at callback
          cpu0 nmi
          cpu0 sample u
          cpu0 return
    """)
    assert [(who, ips) for who, _, ips in played.called] == [("t", ()), ("t", STACK), ("u", STACK)]
    assert "completed-without-cache" in played.flaws


def test_reset() -> None:
    """Nothing is done for mask 0, nothing while PENDING is set; else all becomes 0."""
    work = tracer()
    kernel, design, task = kernel_with(work)
    task.info.cookie = 5
    design.leaving(kernel.cpus[0], task)
    assert task.info.cookie == 5
    task.info.mask = PENDING | 1 << 2
    design.leaving(kernel.cpus[0], task)
    assert (task.info.mask, task.info.cookie) == (PENDING | 1 << 2, 5)
    task.info.mask = 1 << 2
    design.unwind_now(task)
    task.info.cache.completed = 1 << 2
    design.leaving(kernel.cpus[0], task)
    info = task.info
    assert (info.mask, info.cookie, info.cache.ips, info.cache.completed) == (0, 0, (), 0)


def test_cache() -> None:
    """One page for each task, made when first unwound and kept: 510 entries."""
    work = tracer()
    kernel, design, task = kernel_with(work)
    task.stack = tuple(range(1, 601))
    before = design.bytes_of(task)
    kernel.request(kernel.cpus[0], work)
    kernel.leave(kernel.cpus[0])
    assert design.bytes_of(task) - before == 4096
    kernel.enter(kernel.cpus[0], Level.SYSCALL)
    assert design.unwind_now(task) == (0, tuple(range(1, 511)))
    assert CAPACITY == 510


def test_exit() -> None:
    """What is pending at exit is served with the mm still there, and its work is cancelled."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 exit
    """)
    assert played.called == [("t", FIRST, STACK)]
    assert played.broken == []


def test_fork() -> None:
    """A child of a task with a request pending has none, and its first cookie is its own."""
    played = Played(
        """
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 fork C
        cpu1 run C
        cpu1 sample t
        cpu1 return
        """,
        tasks=[Task("C", 3, 3, 0, (1,))],
    )
    assert played.asked == [("t", 0, FIRST), ("t", 0, union(1, 3))]
    assert [(who, cookie) for who, cookie, _ in played.called] == [("t", union(1, 3))]


def test_cookie_lifetime() -> None:
    """A cookie moves with its task to another CPU and ends with the entry."""
    played = Played(
        """
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 run K
        cpu1 run A
        cpu1 sample u
        cpu1 return
        cpu1 syscall
        cpu1 sample t
        cpu1 return
        """,
        tasks=[Task("K", 9, 9, 0, (), kthread=True)],
    )
    assert [cookie for _, _, cookie in played.asked] == [FIRST, FIRST, union(1, 3)]


def test_nested_nmi_agrees_on_the_cookie() -> None:
    """An NMI between the making of a cookie and its storing leaves both with the same one."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t at cookie
          cpu0 nmi
          cpu0 nmi
          cpu0 sample u
          cpu0 return
          cpu0 return
        cpu0 return
        cpu0 syscall
        cpu0 sample t
    """)
    assert [cookie for _, _, cookie in played.asked] == [FIRST, FIRST, union(0, 5)]


def test_nmi_in_reset_gets_a_dead_cookie() -> None:
    """Between mask and cookie an NMI is told the old cookie, and the callback gets 0."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 return at reset
          cpu0 nmi
          cpu0 sample u
          cpu0 return
    """)
    assert played.asked == [("t", 0, FIRST), ("u", 0, FIRST)]
    assert [(who, cookie) for who, cookie, _ in played.called] == [("t", FIRST), ("u", 0)]
    assert played.outcomes("cookie") == {"right": 1, "missing": 1}


def test_a_cancelled_request_without_memory_leaves_the_cookie() -> None:
    """No bit is left in the mask, so nothing is reset and the next entry has the old cookie."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 sample t
        cpu0 cancel t
        no-memory
        cpu0 return
        cpu0 syscall
        cpu0 sample u
        cpu0 return
    """)
    assert played.asked == [("t", 0, FIRST), ("u", 0, FIRST)]
    assert played.flaws == ["entry-not-reset"]
    assert [violation.invariant for violation in played.broken][:1] == ["cookie-unique"]
