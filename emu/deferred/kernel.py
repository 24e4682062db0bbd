"""The kernel around a design: entries, nesting, task work, birth and end of tasks.

It is a model of events, not of time. Whatever may come between two instructions is a *point*
(`Point`): the caller says what happens there, and it happens once.
"""

from collections.abc import Callable, Sequence

from emu.deferred.cookies import LAYOUTS, Layout
from emu.deferred.design import Design, Point, Trace, Work
from emu.deferred.events import Event, Kind, Observer
from emu.deferred.tasks import Cpu, Level, Stack, Task, deferred_stack
from emu.errors import UsageError


class NotNow(UsageError):
    """A step that cannot happen in this state, such as a system call in an interrupt."""


class Kernel:
    """CPUs, tasks and one design of deferral.

    Args:
        cpus: number of CPUs.
        design: who answers the requests.
        layout: name of the cookie layout; empty: that of the design.
        observers: told of every event; none: runs faster.
    """

    def __init__(
        self, cpus: int, design: Design, layout: str = "", observers: Sequence[Observer] = ()
    ) -> None:
        self.layout: Layout = LAYOUTS[layout or design.layout]
        self.cpus = [Cpu(number, counter=self.layout.start(number)) for number in range(cpus)]
        self.tasks: dict[int, Task] = {}
        """Living tasks by tid."""
        self.design = design
        self.observers = list(observers)
        self.time = 0
        self.unwinds = 0
        self.no_memory = False
        """The next allocation for a trace fails."""
        self.no_queue = False
        """The next task work is refused (task_work_add)."""
        self.at: dict[Point, Callable[[Cpu], None]] = {}
        """What happens when a point is next reached."""
        self._serial = 0
        self._entry = 0
        design.attach(self)

    # Steps, each an event of the world outside

    def run(self, cpu: Cpu, task: Task) -> None:
        """Let the scheduler switch to a task, wherever it was.

        Raises:
            NotNow: the CPU is interrupted or in user mode, or the task runs or is gone.
        """
        here = cpu.task
        if cpu.levels or (here is not None and here.in_kernel in (None, Level.NMI)):
            raise NotNow(f"cpu{cpu.number} cannot switch tasks here")
        if not task.alive or task.on_cpu >= 0:
            raise NotNow(f"{task.name} is gone or already runs")
        if here is not None:
            here.on_cpu = -1
        cpu.task = task
        task.on_cpu = cpu.number
        if self.observers:
            self.tell(Kind.RUN, cpu)

    def enter(self, cpu: Cpu, level: Level) -> None:
        """A system call, an interrupt or an NMI, wherever the CPU is.

        Raises:
            NotNow: a system call in the kernel, an interrupt where they are off, no task.
        """
        task = cpu.task
        if task is None:
            raise NotNow(f"cpu{cpu.number} is idle")
        if task.in_kernel is None:
            task.in_kernel = level
            self._entry += 1
            task.entry = self._entry
            self._entered(cpu, task)
            if self.observers:
                self.tell(Kind.ENTER, cpu, text=level)
            return
        inside = cpu.levels[-1] if cpu.levels else task.in_kernel
        if level is Level.SYSCALL or (level is Level.INTERRUPT and inside not in _INTERRUPTIBLE):
            raise NotNow(f"no {level} in {inside} on cpu{cpu.number}")
        cpu.levels.append(level)
        self.tell(Kind.NEST, cpu, text=level)

    def leave(self, cpu: Cpu) -> None:
        """End the innermost context; at the outermost one the way to user space is taken.

        Raises:
            NotNow: user code runs, or no task.
        """
        task = cpu.task
        if task is None or task.in_kernel is None:
            raise NotNow(f"cpu{cpu.number} is not in the kernel")
        if cpu.levels:
            self.tell(Kind.UNNEST, cpu, text=cpu.levels.pop())
            self._irq_works(cpu)
            return
        if task.kthread:
            raise NotNow(f"{task.name} has no user mode")
        if task.in_kernel is Level.NMI:
            # An NMI does no work on its way out. Whoever queued some from it also sent this CPU
            # an interrupt (TWA_NMI_CURRENT, or irq work), which comes before any user instruction.
            task.in_kernel = Level.INTERRUPT
        self._irq_works(cpu)
        self.run_works(task)
        self.design.leaving(cpu, task)
        # An NMI while the entry is being forgotten: its interrupt comes at once. One after that
        # is no different from an NMI in user mode.
        while task.works:
            self.run_works(task)
            self.design.leaving(cpu, task)
        task.in_kernel = None
        if self.observers:
            self.tell(Kind.USER, cpu)

    def create(self, task: Task) -> None:
        """Add a task that exists from the beginning, in user mode."""
        if task.tid in self.tasks:
            raise NotNow(f"tid {task.tid} is in use")
        self._serial += 1
        task.serial = self._serial
        self.tasks[task.tid] = task
        if task.kthread:
            task.in_kernel, task.mm = Level.SYSCALL, False
        self.design.created(task)

    def fork(self, cpu: Cpu, child: Task) -> None:
        """Let the current task make another one (copy_process): its state starts zeroed.

        Raises:
            NotNow: not in a system call, or the child's tid is in use.
        """
        self._in_syscall(cpu, "fork")
        if child.alive or child.tid in self.tasks:
            raise NotNow(f"{child.name} is there already, or its tid is in use")
        child.alive, child.exiting, child.mm = True, False, True
        child.works = []
        self.create(child)
        child.in_kernel = Level.FORK
        self._entry += 1
        child.entry = self._entry
        self.tell(Kind.FORK, cpu, who=child.name, text=f"tid {child.tid}")

    def exec(self, cpu: Cpu, stack: Stack) -> None:
        """Let the current task become another program: the old user stack is gone.

        Raises:
            NotNow: not in a system call.
        """
        task = self._in_syscall(cpu, "exec")
        task.stack = stack
        self.tell(Kind.EXEC, cpu)

    def exit(self, cpu: Cpu) -> None:
        """End the current task (do_exit).

        Raises:
            NotNow: not in a system call.
        """
        task = self._in_syscall(cpu, "exit")
        task.exiting = True
        self.tell(Kind.EXIT, cpu)
        self.design.exiting(cpu, task)
        task.mm = False
        self.run_works(task)
        self.tell(Kind.GONE, cpu)
        task.alive, task.in_kernel, task.entry, task.info = False, None, 0, None
        task.on_cpu = -1
        del self.tasks[task.tid]
        cpu.task = None

    def user(self, cpu: Cpu, stack: Stack) -> None:
        """Let user code call and return, up to this stack.

        Raises:
            NotNow: the CPU is in the kernel.
        """
        if not cpu.user_mode or cpu.task is None:
            raise NotNow(f"cpu{cpu.number} is not in user mode")
        cpu.task.stack = stack
        self.tell(Kind.SET, cpu, ips=stack, text="calls and returns")

    def register(self, work: Work) -> int:
        """Add a tracer: 0 or a negative errno."""
        status = self.design.register(work)
        self.tell(Kind.REGISTER, who=work.name, status=status)
        return status

    def cancel(self, cpu: Cpu, work: Work) -> bool:
        """Remove a tracer, in v4 from the current task alone; whether anything was waiting."""
        waiting = self.design.cancel(work, cpu.task)
        self.tell(Kind.CANCEL, cpu, who=work.name, status=int(waiting))
        return waiting

    # What designs and tracers use

    def request(self, cpu: Cpu, work: Work) -> tuple[int, int]:
        """Pass a tracer's request to the design: (status, cookie)."""
        status, cookie = self.design.request(cpu, work)
        if self.observers:
            self.tell(Kind.REQUEST, cpu, who=work.name, status=status, cookie=cookie)
        return status, cookie

    def add_work(self, task: Task, work: Callable[[Task], None]) -> bool:
        """Queue task work for the way to user space (task_work_add); whether it was taken."""
        if self.no_queue:
            self.no_queue = False
            return False
        task.works.append(work)
        return True

    def run_works(self, task: Task) -> None:
        """Do all task work, also what is added meanwhile (task_work_run)."""
        while task.works:
            task.works.pop(0)(task)

    def unwind(self, task: Task, most: int) -> Stack:
        """Unwind the user stack of the current task, in faultable context."""
        self.unwinds += 1
        ips = deferred_stack(task, most)
        if self.observers:
            self.tell(Kind.UNWIND, self.cpu_of(task), ips=ips)
        return ips

    def call(self, work: Work, task: Task, trace: Trace, cookie: int) -> None:
        """Call a tracer back."""
        if self.observers:
            self.tell(
                Kind.CALLBACK, self.cpu_of(task), who=work.name, cookie=cookie, ips=trace.ips,
                text="uninitialised" if trace.uninitialised else "",
            )  # fmt: skip
        work.callback(task, trace, cookie)
        if self.at:
            self.reach(Point.CALLBACK, self.cpu_of(task))

    def take_cookie(self, cpu: Cpu) -> int:
        """The next cookie of a CPU, or of all if the layout shares one counter."""
        owner = self.cpus[0] if self.layout.shared else cpu
        owner.counter, cookie = self.layout.take(cpu.number, owner.counter)
        return cookie

    def reach(self, point: Point, cpu: Cpu) -> None:
        """Let happen what is to happen at a point."""
        happening = self.at.pop(point, None)
        if happening is not None:
            happening(cpu)

    def cpu_of(self, task: Task) -> Cpu:
        """The CPU that runs a task."""
        return self.cpus[task.on_cpu]

    def queue_irq_work(self, cpu: Cpu, work: Callable[[Cpu], None]) -> None:
        """Have an interrupt sent to this CPU itself; it comes when interrupts are on."""
        cpu.irq_works.append(work)
        if not cpu.levels and cpu.task is not None and cpu.task.in_kernel is Level.SYSCALL:
            self._irq_works(cpu)

    def flaw(self, name: str, cpu: Cpu) -> None:
        """Name a flaw of the design at the place where it shows."""
        if self.observers:
            self.tell(Kind.FLAW, cpu, text=name)

    def tell(
        self,
        kind: Kind,
        cpu: Cpu | None = None,
        who: str = "",
        status: int = 0,
        cookie: int = 0,
        ips: Stack | None = None,
        text: str = "",
    ) -> None:
        """Tell all observers of an event."""
        if not self.observers:
            return
        self.time += 1
        task = cpu.task if cpu is not None else None
        depth = 0
        if cpu is not None and task is not None:
            depth = len(cpu.levels) + (task.in_kernel is not None)
        event = Event(
            kind, self.time, -1 if cpu is None else cpu.number, depth,
            "" if task is None else task.name, 0 if task is None else task.serial,
            0 if task is None else task.entry, who, status, cookie, ips, text,
        )  # fmt: skip
        for observer in self.observers:
            observer.tell(event)

    def _entered(self, cpu: Cpu, task: Task) -> None:
        if self.layout.every_entry:
            self.take_cookie(cpu)
        self.design.entered(cpu, task)

    def _irq_works(self, cpu: Cpu) -> None:
        if cpu.levels and cpu.levels[-1] in _INTERRUPTS_OFF:
            return
        while cpu.irq_works:
            cpu.irq_works.pop(0)(cpu)

    def _in_syscall(self, cpu: Cpu, what: str) -> Task:
        task = cpu.task
        if task is None or cpu.levels or task.in_kernel is not Level.SYSCALL or task.kthread:
            raise NotNow(f"{what} on cpu{cpu.number} only in a system call")
        return task


_INTERRUPTIBLE = (Level.SYSCALL, Level.FORK)
_INTERRUPTS_OFF = (Level.INTERRUPT, Level.NMI)
