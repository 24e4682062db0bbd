"""A program run under its true stack, and stopped now and then for whoever walks it."""

from collections.abc import Iterator
from dataclasses import dataclass

from emu.check.options import RunOptions
from emu.check.session import Session
from emu.errors import UsageError
from emu.linux.program import Program
from emu.machine.engine import EngineStop, StopKind
from emu.sample import Sample
from emu.unwind.lookup import RowTable


@dataclass(frozen=True, slots=True)
class Stop:
    """One moment; the sample's memory is the live one, so it is to be walked at once."""

    instruction: int
    sample: Sample
    truth: tuple[int, ...]
    """Return addresses, innermost first."""


def prepare(program: Program, options: RunOptions) -> Session:
    """A program that is ready to run and has no tables of ours.

    Raises:
        UnwindlabError: it cannot be run as asked.
    """
    arch = program.image.arch
    if arch is None:
        raise UsageError(f"{program.image.path}: machine {program.image.machine}: not supported")
    return Session(program, lambda image: RowTable(None, arch), options)


def stops(session: Session, every: int) -> Iterator[Stop]:
    """Run to the end, stopping before every so many instructions.

    Args:
        session: not yet run; where it breaks at a point, it stops there, too, each time.
        every: instructions; 0: none of these.
    """
    process, engine, most = session.process, session.engine, session.options.max_instructions
    address = process.start()
    while not process.finished and session.executed < most:
        here = session.executed
        session.pause_at(min(here - here % every + every, most) if every else most)
        stop = engine.run(address)
        address = engine.pc
        if process.finished:
            break
        if stop.kind is not StopKind.STOPPED or not session.paused:
            if stop.kind is StopKind.STOPPED:
                # Halted: the emulator's PC stands behind the instruction.
                engine.pc = session.last_pc
            process.fault(stop)
            break
        if session.overflow:
            break
        hit = session.hit
        if hit:
            session.break_again()
        if hit or (every and session.executed % every == 0):
            yield Stop(session.executed, session.sample(), session.true_callers())
        if not session.execute_clock_read():
            process.fault(EngineStop(StopKind.MEMORY, address, "write"))
            break
        address = engine.pc
