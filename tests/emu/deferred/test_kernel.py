"""The kernel around the designs: entries, nesting, births and ends."""

import pytest

from emu.deferred.kernel import Kernel, NotNow
from emu.deferred.merged import Merged
from emu.deferred.session import DESIGNS
from emu.deferred.tasks import Cpu, Level, Task
from tests.emu.deferred.playing import Played


def test_an_entry_lasts_from_user_code_to_user_code() -> None:
    """Interrupts and NMIs inside it open none; the next way in from user mode does."""
    played = Played("""
        cpu0 run A
        cpu0 syscall
        cpu0 interrupt
        cpu0 nmi
        cpu0 nmi
        cpu0 return
        cpu0 return
        cpu0 return
        cpu0 return
        cpu0 interrupt
    """)
    assert [event.entry for event in played.events if event.kind == "enter"] == [1, 2]
    assert [event.text for event in played.events if event.kind == "nest"] == [
        "interrupt", "nmi", "nmi",
    ]  # fmt: skip


@pytest.mark.parametrize("design", DESIGNS)
def test_every_point_is_in_every_design(design: str) -> None:
    """The same scenario can be played by all designs, whatever happens in between."""
    Played(
        """
        cpu0 run A
        cpu0 syscall
        cpu0 sample t at cookie
          cpu0 nmi
          cpu0 return
        cpu0 sample u at mask
          cpu0 nmi
          cpu0 return
        cpu0 return at unwind
          cpu0 interrupt
          cpu0 return
        cpu0 syscall
        cpu0 sample t
        cpu0 return at reset
          cpu0 nmi
          cpu0 return
        """,
        design=design,
    )


def test_exec_changes_the_stack_within_an_entry() -> None:
    """A request from before exec is served with the new program's stack, under its cookie."""
    played = Played("cpu0 run A\ncpu0 syscall\ncpu0 sample t\ncpu0 exec start\ncpu0 return")
    assert [frames for _, _, frames in played.called] == [("start",)]
    assert played.outcomes("cookie") == {"right": 1}


def test_interrupt_work_waits_for_interrupts() -> None:
    """Queued in an NMI of an interrupt it runs when that ends; in a system call at once."""
    kernel = Kernel(1, Merged())
    task, cpu = Task("A", 1, 1, 0, ()), kernel.cpus[0]
    kernel.create(task)
    kernel.run(cpu, task)
    seen: list[int] = []

    def work(where: Cpu) -> None:
        seen.append(len(where.levels))

    kernel.enter(cpu, Level.SYSCALL)
    kernel.enter(cpu, Level.INTERRUPT)
    kernel.enter(cpu, Level.NMI)
    kernel.queue_irq_work(cpu, work)
    kernel.leave(cpu)
    assert seen == []
    kernel.leave(cpu)
    assert seen == [0]
    kernel.queue_irq_work(cpu, work)
    assert seen == [0, 0]


def test_a_tid_is_used_again_by_another_task() -> None:
    """After exit a tid is free; before it a fork with it is refused."""
    kernel = Kernel(1, Merged())
    cpu = kernel.cpus[0]
    first, second = Task("A", 1, 1, 0, ()), Task("B", 2, 2, 0, ())
    for task in (first, second):
        kernel.create(task)
    kernel.run(cpu, first)
    kernel.enter(cpu, Level.SYSCALL)
    again = Task("C", 2, 2, 0, (), alive=False)
    with pytest.raises(NotNow, match="tid is in use"):
        kernel.fork(cpu, again)
    kernel.run(cpu, second)
    kernel.enter(cpu, Level.SYSCALL)
    kernel.exit(cpu)
    kernel.run(cpu, first)
    kernel.fork(cpu, again)
    assert (kernel.tasks[2], again.serial, second.serial) == (again, 3, 2)
