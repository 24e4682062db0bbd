"""Runs of programs under the truth, stopped at chosen instructions."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emu.check.options import RunOptions
from emu.check.run import Run
from emu.check.session import Session
from emu.export.core import Stopped
from emu.export.registers import Thread, other_registers
from emu.linux.credentials import PID
from emu.linux.program import Program, find_program
from emu.machine.engine import StopKind
from emu.unwind.sources import row_table


@dataclass(frozen=True, slots=True)
class Stop:
    """A run at one instruction."""

    number: int
    """Of the instruction, counted from 1."""
    session: Session
    program: Program

    @property
    def truth(self) -> tuple[int, ...]:
        """The PC and the true return addresses, innermost first."""
        return (self.session.engine.pc, *self.session.true_callers())

    def process(self) -> Stopped:
        """As a core tells of it."""
        session = self.session
        others = other_registers(session.arch, session.engine.read)
        return Stopped(
            arch=session.arch,
            memory=session.memory,
            mappings=list(session.process.mappings),
            threads=[Thread.of(session.sample(), PID, others)],
            auxiliary=session.process.stack.auxiliary,
            name=self.program.name.rpartition(b"/")[2],
            arguments=(*self.program.arguments, *map(str.encode, session.options.arguments)),
            pid=PID,
            signed=session.options.pac,
        )


def stops(path: str, options: RunOptions, points: Sequence[int]) -> Iterator[Stop]:
    """Run a program to each of these instructions, ascending; fewer if it ends before.

    A stop is only good until the next one is asked for.

    Raises:
        UnwindlabError: it cannot be run.
    """
    program = find_program(path, options.root)
    arch = program.image.arch
    assert arch is not None
    session = Session(program, lambda image: row_table(image, arch, "cfi"), options)
    address = session.process.start()
    for point in points:
        session.pause_at(point)
        while not session.process.finished and session.executed < point:
            stop = session.engine.run(address)
            if session.process.finished or stop.kind is not StopKind.STOPPED or not session.paused:
                return
            if session.executed == point:
                yield Stop(point, session, program)
            session.execute_clock_read()
            address = session.engine.pc
        if session.process.finished:
            return


def span(path: str, options: RunOptions, most: int) -> tuple[int, int]:
    """Numbers of the first instruction of the program itself and of the last one of its run.

    What a dynamic linker does before the first is of no use to debuggers: they learn from what
    it makes where libraries are. At most `most` instructions are looked at.
    """
    limited = dataclasses.replace(options, table="cfi", max_instructions=most)
    image = find_program(path, options.root).image
    entry = dataclasses.replace(limited, at=f"{image.entry:#x}")
    samples = Run(path, entry).to_end(stop_at_point=True).samples
    first = samples[0].instruction if samples else 0
    return first, Run(path, limited).to_end().guest.instructions


def spread(first: int, last: int, count: int, seed: int) -> list[int]:
    """One instruction in each of so many equal parts of a run, by chance but for the seed."""
    dice = random.Random(seed)
    part = max(1, (last - first) // count)
    return [first + part * number + dice.randint(1, part) for number in range(count)]
