#!/usr/bin/env python3
"""How fast the model of deferred unwinding is, and what breaks which design.

`make bench-deferred` prints the figures of docs/deferred.md. `make deferred-table` searches for
the smallest sequence that breaks each invariant of each design, and writes the tables there.
"""

import argparse
import gc
import random
import sys
import time
from pathlib import Path

from emu.deferred.design import Trace, Work
from emu.deferred.kernel import Kernel
from emu.deferred.merged import TRACERS, Merged
from emu.deferred.posting_v4 import PostingV4
from emu.deferred.tasks import Level, Task

ROOT = Path(__file__).resolve().parents[1]
_ENTRIES = 1_000_000
_STEPS = 100_000
_STACK = tuple(range(0x401000, 0x401000 + 16 * 20, 16))


def main() -> int:
    """Measure, or search; 1 if a request was not delivered."""
    parser = argparse.ArgumentParser(description="measure the model of deferred unwinding")
    parser.add_argument("--entries", type=int, default=_ENTRIES, help="stays in the kernel")
    parser.add_argument("--table", action="store_true", help="search and write docs/deferred.md")
    parser.add_argument("--examples", type=int, default=3000, help="sequences of a search")
    options = parser.parse_args()
    if options.table:
        sys.path.insert(0, str(ROOT))
        from tests.emu.deferred.table import write_tables

        write_tables(options.examples)
        return 0
    print(f"{'CPUs':>5} {'tasks':>6} {'tracers':>8} {'requests/entry':>15} "
          f"{'entries':>9} {'seconds':>8} {'of CPU':>7} "
          f"{'us/entry':>9} {'ns/request':>11}")  # fmt: skip
    right = True
    for cpus, tasks, tracers, asks in (
        (64, 10_000, 8, 4), (64, 10_000, TRACERS, TRACERS),
        (1, 100, 8, 4), (64, 100, 8, 4), (64, 1_000, 8, 4), (256, 100_000, 8, 4),
    ):  # fmt: skip
        # The million is for the two figures; the others show that the cost does not grow.
        entries = options.entries if (cpus, tasks) == (64, 10_000) else options.entries // 5
        right &= _measure(cpus, tasks, tracers, asks, entries)
    _memory()
    _machine()
    return int(not right)


def _measure(cpus: int, tasks: int, tracers: int, asks: int, entries: int) -> bool:
    """One line of figures; whether every request was delivered once."""
    kernel = Kernel(cpus, Merged())
    delivered = 0

    def callback(task: Task, trace: Trace, cookie: int) -> None:
        nonlocal delivered
        delivered += 1

    works = [Work(str(number), callback) for number in range(tracers)]
    for work in works:
        kernel.register(work)
    everyone = [Task(str(number), number, number, 0, _STACK) for number in range(1, tasks + 1)]
    for task in everyone:
        kernel.create(task)
    for cpu, task in zip(kernel.cpus, everyone, strict=False):
        kernel.run(cpu, task)
    busy = [cpu for cpu in kernel.cpus if cpu.task is not None]
    choose = random.Random(1).random
    wanted = requests = waiting = 0
    # What lives as long as the run is no business of the collector's.
    gc.freeze()
    begin, begin_of_cpu = time.perf_counter(), time.process_time()
    for number in range(entries):
        cpu = busy[number % len(busy)]
        kernel.enter(cpu, Level.SYSCALL)
        if tasks > len(busy):
            # Another task, which slept in the system call or in user mode, goes on instead.
            task = everyone[(number * 7919) % tasks]
            if task.on_cpu < 0:
                kernel.run(cpu, task)
                if task.in_kernel is None:
                    kernel.enter(cpu, Level.SYSCALL)
        count = asks if asks == tracers else int(choose() * (2 * asks + 1))
        first = int(choose() * tracers)
        for offset in range(count):
            status, _ = kernel.request(cpu, works[(first + offset) % tracers])
            requests += 1
            wanted += status == 0
        kernel.leave(cpu)
    seconds, of_cpu = time.perf_counter() - begin, time.process_time() - begin_of_cpu
    gc.unfreeze()
    waiting = sum(len(task.works) for task in everyone)
    print(f"{cpus:>5} {tasks:>6} {tracers:>8} {requests / entries:>15.2f} {entries:>9} "
          f"{seconds:>8.1f} {of_cpu:>7.1f} {of_cpu / entries * 1e6:>9.2f} "
          f"{of_cpu / requests * 1e9:>11.0f}")  # fmt: skip
    return wanted == delivered and waiting == 0


def _memory() -> None:
    """Bytes of each task after a run in which it asked by so many tracers."""
    print(f"\n{'bytes per task':<22} {'never asked':>12} {'1 tracer':>9} {'8':>6} {'62':>6}")
    for name, make in (("posting-v4", PostingV4), ("merged", Merged)):
        figures = []
        for tracers, asks in ((1, False), (1, True), (8, True), (TRACERS, True)):
            kernel = Kernel(1, make())
            works = [Work(str(number), lambda *_: None) for number in range(tracers)]
            for work in works:
                kernel.register(work)
            task = Task("task", 1, 1, 0, _STACK)
            kernel.create(task)
            kernel.run(kernel.cpus[0], task)
            kernel.enter(kernel.cpus[0], Level.SYSCALL)
            for work in works if asks else ():
                kernel.request(kernel.cpus[0], work)
            kernel.leave(kernel.cpus[0])
            figures.append(kernel.design.bytes_of(task))
        print(f"{name:<22} {figures[0]:>12} {figures[1]:>9} {figures[2]:>6} {figures[3]:>6}")


def _machine() -> None:
    """The state machine of the tests, at its full length."""
    sys.path.insert(0, str(ROOT))
    from tests.emu.deferred.test_machine import run_machine

    begin = time.perf_counter()
    steps = 0
    while steps < _STEPS:
        steps += run_machine(100, 100)
    seconds = time.perf_counter() - begin
    print(f"\nstate machine: {steps} random steps over the merged form in {seconds:.1f} s, holds")


if __name__ == "__main__":
    sys.exit(main())
