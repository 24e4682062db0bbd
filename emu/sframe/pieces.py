"""A function with rows -> its FDEs: FDE type, FRE type, and what of it cannot be expressed."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from arch import Row
from emu.sframe import layout
from emu.sframe.express import Misfit, Reason, Target, express_row
from emu.sframe.form import Content, FormFunction, FormRow
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict

_SIZE_END = 1 << 32
_BYTE_END = 1 << 8
_COUNT_END = 1 << 16
"""V3's count of rows has two bytes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A function to encode, and what its rows do not tell."""

    function: FunctionRows
    key_b: bool = False
    """Return addresses are signed with the second key."""
    signal: bool = False
    """A signal frame even if it has no rows that say so."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function, or a stretch of one, that is not in the section."""

    entry: int
    """Index of the function among those given."""
    row: int | None
    """Offset in the function at which the reason stands; None: it is about all of it."""
    end: int | None
    """Where the stretch ends that was left out; None: the whole function was."""
    misfit: Misfit


@dataclass(frozen=True, slots=True)
class Piece:
    """A FDE in the making: its start counts as that of the function given."""

    entry: int
    form: FormFunction
    base: int
    """Where it starts in the function."""
    whole: bool
    """It is all of the function."""

    def refusal(self, misfit: Misfit) -> Refusal:
        """It is not in the section after all."""
        if self.whole:
            return Refusal(self.entry, None, None, misfit)
        return Refusal(self.entry, self.base, self.base + self.form.size, misfit)


@dataclass(frozen=True, slots=True)
class _Contents:
    """A row as each kind of function has it; every row that is DEFAULT can be FLEX too."""

    plain: Content | None
    flex: Content | None
    """None in versions without FLEX."""


class Expressions:
    """What each different row is in a format, worked out once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._known: dict[Row, _Contents | Misfit] = {}

    def of(self, row: Row | NoRow) -> _Contents | Misfit:
        """A row's contents, or why it has none."""
        if isinstance(row, NoRow):
            corrupt = row.verdict is Verdict.CORRUPT
            return Misfit(Reason.CORRUPT if corrupt else Reason.NO_ROW, row.reason)
        found = self._known.get(row)
        if found is None:
            found = self._known[row] = self._express(row)
        return found

    def _express(self, row: Row) -> _Contents | Misfit:
        plain = express_row(row, self.target, flex=False)
        if not self.target.flex:
            return plain if isinstance(plain, Misfit) else _Contents(plain, None)
        flex = express_row(row, self.target, flex=True)
        if isinstance(flex, Misfit):
            return flex
        return _Contents(None if isinstance(plain, Misfit) else plain, flex)


class Maker:
    """Makes the FDEs of one function.

    Args:
        index: its number among those given.
        entry: the function.
        expressions: what rows are in the format.
        split: see `encode.encode_rows`.
        refusals: what cannot be expressed is appended here.
    """

    def __init__(
        self,
        index: int,
        entry: Entry,
        expressions: Expressions,
        split: bool,
        refusals: list[Refusal],
    ) -> None:
        self._index, self._entry, self._expressions = index, entry, expressions
        self._target = expressions.target
        self._function = entry.function
        self._split = split and not self._function.rep_size
        self._refusals = refusals
        self._signal = entry.signal

    def pieces(self) -> list[Piece]:
        """The FDEs; none of a function that is refused."""
        function = self._function
        rows = function.rows
        if len(rows) == 1 and isinstance(rows[0], NoRow) and rows[0].verdict is Verdict.NO_FRE:
            rows = ()
        signals = {row.signal for row in rows if isinstance(row, Row)}
        self._signal = self._entry.signal or True in signals
        misfit = self._misfit(rows, signals)
        if misfit is not None:
            self._refuse(None, None, misfit)
            return []
        if not rows:
            return [self._piece(0, function.size, ())]
        found = [self._expressions.of(row) for row in rows]
        if not self._split:
            for start, content in zip(function.starts, found, strict=True):
                if isinstance(content, Misfit) and self._covers(start):
                    self._refuse(start, None, content)
                    return []
        return self._stretches(found)

    def _stretches(self, found: Sequence[_Contents | Misfit]) -> list[Piece]:
        """A FDE for each run of rows that can be expressed."""
        function = self._function
        ends = (*function.starts[1:], function.size)
        pieces: list[Piece] = []
        run: list[tuple[int, _Contents]] = []
        # A start before the first row is kept: between them nothing is known.
        base = 0
        for start, end, content in zip(function.starts, ends, found, strict=True):
            if not isinstance(content, Misfit):
                run.append((start - base, content))
            elif self._covers(start):
                self._refuse(start, end, content)
                if run:
                    pieces.append(self._piece(base, start - base, run))
                run, base = [], end
        if run:
            pieces.append(self._piece(base, function.size - base, run))
        return pieces

    def _covers(self, start: int) -> bool:
        """A row there is about something; the assembler may end a function with one that is not."""
        return self._function.rep_size > 0 or start < self._function.size

    def _piece(self, base: int, size: int, run: Sequence[tuple[int, _Contents]]) -> Piece:
        function = self._function
        flex = any(contents.plain is None for _, contents in run)
        rows = []
        for start, contents in run:
            content = contents.flex if flex else contents.plain
            if content is not None:
                rows.append(FormRow(start, content))
        stored = function.rep_size and layout.VERSIONS[self._target.version].rep_size
        form = FormFunction(
            start=function.start + base,
            size=size,
            rows=tuple(rows),
            row_type=0 if size < 1 << 8 else 1 if size < 1 << 16 else 2,
            mask=function.rep_size > 0,
            key_b=self._entry.key_b,
            signal=self._signal,
            kind=layout.FLEX if flex else 0,
            rep_size=function.rep_size if stored else 0,
        )
        return Piece(self._index, form, base, size == function.size)

    def _misfit(self, rows: Sequence[Row | NoRow], signals: set[bool]) -> Misfit | None:
        """What is wrong with the function as a whole."""
        function, target = self._function, self._target
        facts = target.arch.sframe
        starts, rep_size = function.starts, function.rep_size
        if not 0 <= function.size < _SIZE_END:
            return Misfit(Reason.SIZE, f"a function of {function.size:#x} bytes")
        if any(low >= high for low, high in itertools.pairwise(starts)):
            return Misfit(Reason.STARTS, "row starts do not ascend")
        if starts and not (starts[0] >= 0 and starts[-1] <= max(function.size, rep_size)):
            return Misfit(Reason.STARTS, "a row starts outside the function")
        if self._signal and target.version < 3:
            return Misfit(Reason.SIGNAL, f"V{target.version} cannot mark signal frames")
        if len(signals) > 1:
            return Misfit(Reason.MIXED_SIGNAL, "rows of a signal frame and others")
        if self._entry.key_b and not facts.pauth:
            return Misfit(Reason.SIGNING_KEY, "the machine signs no return addresses")
        if rep_size and target.version == 1 and rep_size != facts.v1_rep_size:
            return Misfit(Reason.REP_SIZE, f"V1 does not store that rows repeat every {rep_size}")
        if not 0 <= rep_size < _BYTE_END:
            return Misfit(Reason.REP_SIZE, f"rows repeat every {rep_size} bytes")
        if target.version >= 3 and len(rows) >= _COUNT_END:
            return Misfit(Reason.ROW_COUNT, f"{len(rows)} rows")
        return None

    def _refuse(self, row: int | None, end: int | None, misfit: Misfit) -> None:
        self._refusals.append(Refusal(self._index, row, end, misfit))
