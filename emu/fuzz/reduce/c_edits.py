"""Edits that make a C text simpler: each function lists those of one kind.

Every edit leads to fewer tokens, or to a simpler token: a name is less simple than a number, a
longer number less simple than a shorter one, 1 less simple than 0. So no two edits undo each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from emu.fuzz.reduce.tokens import OPENING, Edit, Token, is_block, levels, partners

_HEADS = frozenset(("if", "while", "for", "switch"))
_ASSIGNING = frozenset(
    ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "return")
)
_BINARY = frozenset(
    ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "&&", "||", "?", ":", ",")
) | frozenset(("<", ">", "<=", ">=", "==", "!="))


def functions(tokens: Sequence[Token]) -> list[Edit]:
    """Functions go."""
    partner = partners(tokens)
    return [
        Edit(start, end)
        for start, end in levels(tokens)[0]
        if partner[end - 1] >= start and is_block(tokens, partner[end - 1])
    ]


def bodies(tokens: Sequence[Token]) -> list[Edit]:
    """Functions become declarations."""
    partner = partners(tokens)
    declared = (Token("", ";"),)
    return [Edit(partner[edit.end - 1], edit.end, declared) for edit in functions(tokens)]


def unwraps(tokens: Sequence[Token]) -> list[Edit]:
    """A compound statement becomes one of its parts: a body, the condition, or all but an else."""
    partner = partners(tokens)
    found: list[Edit] = []
    for level in levels(tokens)[1:]:
        for start, end in level:
            found += _unwraps_of(tokens, partner, start, end)
    return found


def _unwraps_of(
    tokens: Sequence[Token], partner: Sequence[int], start: int, end: int
) -> Iterator[Edit]:
    if tokens[start].text not in (*_HEADS, "{", "do", "else"):
        return
    at = start
    while at < end:
        text = tokens[at].text
        after = partner[at] + 1 if text in OPENING and partner[at] > at else at + 1
        if text == "{" and after > at + 1:
            yield Edit(start, end, tuple(tokens[at + 1 : after - 1]))
        elif text == "else":
            yield Edit(at, end)
            yield Edit(start, at + 1)
        at = after
    if tokens[start].text in _HEADS and start + 1 < end and partner[start + 1] > 0:
        close = partner[start + 1]
        yield Edit(start, close + 1)
        if tokens[start].text != "for":
            yield Edit(start, end, (*tokens[start + 2 : close], Token("", ";")))


def initialisers(tokens: Sequence[Token]) -> list[Edit]:
    """A declaration loses its initialiser, an assignment becomes the mention of its target."""
    return [
        Edit(start - 1, end)
        for start, end in _assigned(tokens, partners(tokens))
        if tokens[start - 1].text != "return"
    ]


def targets(tokens: Sequence[Token]) -> list[Edit]:
    """An assignment or a `return` becomes the mention of its value."""
    partner = partners(tokens)
    found = []
    for start, _ in _assigned(tokens, partner):
        first = start - 1
        while first and tokens[first - 1].text not in (";", "{", "}", ")", "(", ",", ":", "else"):
            before = first - 1
            first = partner[before] if 0 <= partner[before] < before else before
        found.append(Edit(first, start))
    return found


def values(tokens: Sequence[Token], value: str) -> list[Edit]:
    """Arguments, conditions, indices and assigned values become this number."""
    return [
        Edit(start, end, (Token(tokens[start].space, value),))
        for start, end in _expressions(tokens)
        if not (end == start + 1 and tokens[start].is_number) and not _declares(tokens, start, end)
    ]


def parts(tokens: Sequence[Token]) -> list[Edit]:
    """Lists lose one element: of arguments, of declarators, of initialisers."""
    partner = partners(tokens)
    found = []
    for start, end in _lists(tokens, partner):
        if end < len(tokens) and tokens[end].text == ",":
            found.append(Edit(start, end + 1))
        elif tokens[start - 1].text == ",":
            found.append(Edit(start - 1, end))
    return found


def operands(tokens: Sequence[Token]) -> list[Edit]:
    """An expression becomes one of its operands, or loses one; brackets around it go."""
    partner = partners(tokens)
    found = []
    for start, end in _expressions(tokens):
        cuts = [start - 1, *_operators(tokens, partner, start, end), end]
        if len(cuts) > 2:
            for left, right in pairwise(cuts):
                found.append(Edit(start, end, tuple(tokens[left + 1 : right])))
                cut = (left, right) if left >= start else (start, right + 1)
                found.append(Edit(*cut))
    for at, token in enumerate(tokens):
        if token.text == "(" and partner[at] > at + 1:
            found.append(Edit(at, partner[at] + 1, tuple(tokens[at + 1 : partner[at]])))
    return found


def zeros(tokens: Sequence[Token]) -> list[Edit]:
    """All numbers become 0."""
    return [
        Edit(at, at + 1, (Token(token.space, "0"),))
        for at, token in enumerate(tokens)
        if token.is_number and token.text != "0"
    ]


def numbers(tokens: Sequence[Token]) -> list[Edit]:
    """A number becomes 1, loses half of its digits, or loses its suffix."""
    found = []
    for at, token in enumerate(tokens):
        if token.is_number:
            plain = token.text.rstrip("uUlL") or token.text
            simpler = {"1", plain[: (len(plain) + 1) // 2], plain}
            for text in sorted(simpler, key=lambda text: (len(text), text)):
                if (len(text), text) < (len(token.text), token.text) and text != "0x":
                    found.append(Edit(at, at + 1, (Token(token.space, text),)))
    return found


def single(tokens: Sequence[Token]) -> list[Edit]:
    """One token goes, or a balanced run in round or square brackets."""
    partner = partners(tokens)
    found = []
    for at, token in enumerate(tokens):
        if token.text in ("(", "[") and partner[at] > at:
            found.append(Edit(at, partner[at] + 1))
        elif partner[at] < 0 and token.text not in (";", ","):
            found.append(Edit(at, at + 1))
    return found


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """By where they start; the longer of two first."""
    return sorted(edits, key=lambda edit: (edit.start, -edit.end))


def outermost(edits: Sequence[Edit]) -> list[Edit]:
    """Those that are in no other one, in order."""
    found: list[Edit] = []
    for edit in in_order(edits):
        if not found or edit.start >= found[-1].end:
            found.append(edit)
    return found


def _lists(tokens: Sequence[Token], partner: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What stands between commas (or the `;` of a `for`) in brackets that hold no statements."""
    for at, token in enumerate(tokens):
        if (
            token.text in OPENING
            and partner[at] > at
            and not (token.text == "{" and is_block(tokens, at))
        ):
            start = now = at + 1
            while now <= partner[at]:
                if now == partner[at] or tokens[now].text in (",", ";"):
                    if now > start:
                        yield start, now
                    start = now + 1
                now = max(now, partner[now]) + 1


def _assigned(tokens: Sequence[Token], partner: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What stands behind `=` and its like, or `return`."""
    for at, token in enumerate(tokens):
        if token.text in _ASSIGNING:
            now = at + 1
            while now < len(tokens) and tokens[now].text not in (",", ";", ")", "]", "}"):
                now = max(now, partner[now]) + 1
            if now > at + 1:
                yield at + 1, now


def _expressions(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    partner = partners(tokens)
    found = {*_lists(tokens, partner), *_assigned(tokens, partner)}
    return sorted(found, key=lambda span: (span[0], -span[1]))


def _declares(tokens: Sequence[Token], start: int, end: int) -> bool:
    """A parameter or a type, as far as two words in a row, or a word and stars, tell."""
    words = [token.is_word for token in tokens[start:end]]
    ends_in_star = tokens[end - 1].text == "*"
    return words[:2] == [True, True] or ends_in_star or tokens[start].text == "void"


def _operators(
    tokens: Sequence[Token], partner: Sequence[int], start: int, end: int
) -> Iterator[int]:
    at = start
    while at < end:
        before = tokens[at - 1]
        ends_operand = before.is_word or before.is_number or before.text in (")", "]")
        if at > start and tokens[at].text in _BINARY and ends_operand:
            yield at
        at = max(at, partner[at]) + 1
