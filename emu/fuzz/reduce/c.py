"""C text made smaller: whole functions, then statements, then tokens, as long as it holds."""

from collections.abc import Callable, Sequence

from emu.fuzz.reduce import c_edits
from emu.fuzz.reduce.tokens import Edit, Token, apply, levels, text_of, tokens_of
from emu.fuzz.reduce.trials import Budget, Trials, keep_few

_List = Callable[[Sequence[Token]], list[Edit]]

_FINE: tuple[_List, ...] = (
    c_edits.initialisers,
    c_edits.targets,
    lambda tokens: c_edits.values(tokens, "0"),
    c_edits.parts,
    c_edits.operands,
    c_edits.zeros,
    lambda tokens: c_edits.values(tokens, "1"),
    c_edits.numbers,
    c_edits.single,
)


def shrink_c(text: str, holds: Callable[[str], bool], budget: Budget) -> str:
    """The simplest text found that still holds; the given one is taken to hold.

    Args:
        text: statements mostly on lines of their own.
        holds: asked once for each candidate, which need not compile.
        budget: what was found is returned when it is spent.
    """
    ask = Trials(holds, budget)
    plain = text_of(tokens_of(text))
    if plain != text and not ask(plain):
        # Its comments or its blanks matter, so its tokens are not what it is made of.
        return _by_lines(text, ask)
    program = _Program(plain, ask)
    while not budget.spent():
        before = program.text
        program.drop_statements()
        program.each(c_edits.unwraps)
        if program.text != before:
            continue  # coarse first: each of its tries removes much more
        for edits in _FINE:
            program.batch(edits)
            program.each(edits)
        if program.text == before:
            break
    return program.text


def _by_lines(text: str, ask: Trials[str]) -> str:
    lines = text.splitlines(keepends=True)

    def joined(kept: Sequence[int]) -> str:
        return "".join(lines[at] for at in kept)

    return joined(keep_few(len(lines), lambda kept: ask(joined(kept)), ask.budget))


class _Program:
    """The simplest text so far, and the ways to a simpler one."""

    def __init__(self, text: str, ask: Trials[str]) -> None:
        self._ask = ask
        self.text = text
        self._tokens = tokens_of(text)

    def drop_statements(self) -> None:
        """Leave out functions, then statements, those in fewest blocks first, then the rest.

        What is declared at the top level comes last: until its uses are gone it cannot go.
        """
        self._select(c_edits.functions(self._tokens))
        self._select(c_edits.bodies(self._tokens))
        depth = 1
        while depth < len(spans := levels(self._tokens)):
            self._select([Edit(start, end) for start, end in spans[depth]])
            depth += 1
        self._select([Edit(start, end) for start, end in levels(self._tokens)[0]])

    def batch(self, edits: _List) -> None:
        """Make as many as possible of these at once, of those that do not overlap."""
        self._select(c_edits.outermost(edits(self._tokens)))

    def each(self, edits: _List) -> None:
        """Make those of these edits that hold, one at a time."""
        at = 0
        waiting = c_edits.in_order(edits(self._tokens))
        while at < len(waiting) and not self._ask.budget.spent():
            edit = waiting[at]
            if self._accept(apply(self._tokens, [edit])):
                # What was tried before this place is not tried again in this round.
                waiting = c_edits.in_order(edits(self._tokens))
                at = sum(other.start < edit.start for other in waiting)
            else:
                at += 1

    def _select(self, edits: Sequence[Edit]) -> None:
        def edited(kept: Sequence[int]) -> list[Token]:
            omitted = set(kept)
            return apply(self._tokens, (e for at, e in enumerate(edits) if at not in omitted))

        kept = keep_few(len(edits), lambda kept: self._ask(text_of(edited(kept))), self._ask.budget)
        if len(kept) < len(edits):
            self._accept(edited(kept))

    def _accept(self, tokens: Sequence[Token]) -> bool:
        text = text_of(tokens)
        if text == self.text or not self._ask(text):
            return False
        self.text = text
        self._tokens = tokens_of(text)
        return True
