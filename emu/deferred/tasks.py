"""Tasks and CPUs as the deferred unwinder sees them, and how a user stack is unwound.

One *stay* in the kernel is an entry: it begins when user code is left and ends when user code
runs again. It has a number that no kernel has, the truth that cookies are judged by.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Stack = tuple[int, ...]
"""User return addresses, innermost first."""


class Level(StrEnum):
    """By which way the kernel was entered, or is interrupted."""

    SYSCALL = "syscall"
    INTERRUPT = "interrupt"
    NMI = "nmi"
    FORK = "fork"
    """A new task, before it sees user mode for the first time (ret_from_fork)."""


@dataclass(slots=True, eq=False)
class Task:
    """A task: what the kernel knows of it, and the number of its present entry.

    Args:
        name: for people.
        tid: thread id, reused after its end.
        pid: id of the thread group.
        serial: never reused; the truth beside `tid`.
        stack: what a complete unwind of the user stack finds now.
        resident: frames whose stack pages are present; None: all.
        unwindable: False: no table and no frame pointer, a trace is the first address alone.
        guest: runs a KVM guest or VM86 code, where the x86 walker finds nothing at all.
        kthread: a kernel thread: no user registers, no mm.
    """

    name: str
    tid: int
    pid: int
    serial: int
    stack: Stack
    resident: int | None = None
    unwindable: bool = True
    guest: bool = False
    kthread: bool = False
    mm: bool = True
    exiting: bool = False
    alive: bool = True
    in_kernel: Level | None = None
    on_cpu: int = -1
    """The CPU that runs it, -1 if none does."""
    entry: int = 0
    works: list[Callable[["Task"], None]] = field(default_factory=list)
    """Task work, in the order in which it was added."""
    info: Any = None
    """What the design keeps in each task (struct unwind_task_info)."""


@dataclass(slots=True, eq=False)
class Cpu:
    """A CPU: who runs, and what interrupted it."""

    number: int
    task: Task | None = None
    levels: list[Level] = field(default_factory=list)
    """Interrupts and NMIs that hit the kernel, outermost first."""
    counter: int = 0
    """Of the cookies (unwind_ctx_ctr)."""
    irq_works: list[Callable[["Cpu"], None]] = field(default_factory=list)

    @property
    def in_nmi(self) -> bool:
        """Whether the innermost context, or one around it, is an NMI (in_nmi())."""
        return Level.NMI in self.levels or (
            self.task is not None and self.task.in_kernel is Level.NMI
        )

    @property
    def user_mode(self) -> bool:
        """Whether user code runs."""
        return not self.levels and self.task is not None and self.task.in_kernel is None


def deferred_stack(task: Task, most: int) -> Stack:
    """What the unwinder finds on the way to user space, where it may fault pages in.

    SFrame if there is any, else the frame pointer, else the first address alone.
    """
    return task.stack[: most if task.unwindable else min(most, 1)]


def atomic_stack(task: Task, most: int) -> Stack:
    """What an NMI finds: by frame pointer, to the first absent page; of a guest nothing."""
    if task.guest:
        return ()
    depth = len(task.stack) if task.resident is None else task.resident
    # The first address is a register and needs no page.
    return task.stack[: min(most, max(depth, 1))] if task.unwindable else task.stack[:1]
