"""Faults of a program's table, judged while the program runs under the check."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from emu.check.options import RunOptions
from emu.check.run import Run
from emu.errors import UsageError
from emu.sweep import run_hook as h
from emu.sweep.instructions import decode
from emu.sweep.mutants import Mutants, Score
from emu.sweep.plant import Fault, plant


class FaultyRun:
    """One run of one program, with every single fault judged on the way.

    Args:
        program: path of a program that `check` can run.
        table: the kind to plant faults in.
        progress: called now and then with the number of executed instructions.

    Raises:
        UnwindlabError: it cannot be run.
    """

    def __init__(
        self, program: str, table: str, progress: Callable[[int], None] | None = None
    ) -> None:
        self._run = Run(program, RunOptions(table), progress=progress)
        self.kind = self._run.kind
        session = self._run.session
        self.arch, self.module = session.arch, session.program.module
        rows, bias = self.module.table, session.program.bias
        planted = rows.table
        if planted is None or not planted.functions:
            raise UsageError(f"{program}: table {self.kind}: no functions in it")
        if len(session.program.ranges) != 1:
            raise UsageError(f"{program}: code in more than one segment")
        [(low, high)] = session.program.ranges
        start, end = low - bias, high - bias
        code = decode(
            self.arch, session.memory.read(low, high - low), start,
            [*rows.function_bounds, *_between(rows.function_bounds, start, end)],
        )  # fmt: skip
        at = code.places()
        addresses = start + (at.astype(np.int64) << code.shift)
        faults: list[Fault] = []
        for function in planted.functions:
            inside = np.searchsorted(addresses, (function.start, function.start + function.size))
            faults += plant(function, addresses[slice(*inside)].tolist(), self.arch)
        self._mutants = Mutants(faults, addresses, rows.rows, self.arch)
        self._first = np.zeros(len(code.sizes), np.int32)
        self._first[at] = self._mutants.first
        self._visits = np.zeros(len(code.sizes), np.int32)
        self._block: npt.NDArray[np.int64] = np.zeros(h.WORDS, np.int64)
        for word, value in (
            (h.STATE, session.state), (h.START, low), (h.END, high), (h.SHIFT, code.shift),
            (h.FIRST, self._first.ctypes.data), (h.VISITS, self._visits.ctypes.data),
            (h.ENTRIES, self._mutants.entries.ctypes.data),
            (h.ROWS, self._mutants.rows.ctypes.data),
            (h.OUTCOMES, self._mutants.outcomes.ctypes.data),
        ):  # fmt: skip
            self._block[word] = value
        session.engine.hook_code(h.run_hook.address or 0, self._block.ctypes.data)

    def judge(self) -> Score:
        """Run to the end; what came of the faults."""
        self._run.to_end()
        return self._mutants.score(self._mutants.outcomes)


def _between(bounds: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Code in no function."""
    found = []
    at = start
    for low, high in bounds:
        if at < low:
            found.append((at, low))
        at = max(at, high)
    if at < end:
        found.append((at, end))
    return found
