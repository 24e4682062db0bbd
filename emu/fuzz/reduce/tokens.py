"""C text as tokens, the blocks and statements among them, and edits of both.

Nothing is parsed: brackets are matched, and statements are told by `;`, by `{` and by what stands
before it. A mistake costs a try that does not compile, and no more.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SPACE = re.compile(r"(?:\s|\\\n|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING_OR_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*")|/\*.*?\*/""", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\\\n", re.DOTALL)
_DIRECTIVE = re.compile(r"#(?:\\\n|/\*.*?\*/|(?!//)[^\n])*", re.DOTALL)
_TEXT = re.compile(
    r"""
    (?:L|u8|u|U)?"(?:\\.|[^"\\\n])*" | (?:L|u|U)?'(?:\\.|[^'\\\n])*'
    | \.?\d(?:[eEpP][+-]|[\w.])* | [A-Za-z_$][\w$]*
    | <<= | >>= | \.\.\. | -> | \+\+ | -- | && | \|\| | << | >> | :: | [-+*/%&|^=!<>]= | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[\w$\"']")
_GLUES = frozenset("+-&|<>=/.:*%^!")

OPENING = {"(": ")", "[": "]", "{": "}"}
_BEFORE_BLOCK = frozenset(("", ")", "(", "{", "}", ";", ":", "else", "do", "try"))
"""What stands before the `{` of a block; before that of a type or a list stands something else."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token and the space before it."""

    space: str
    text: str

    @property
    def is_word(self) -> bool:
        """A name or a keyword."""
        return self.text[0].isalpha() or self.text[0] in "_$"

    @property
    def is_number(self) -> bool:
        """A number, of integers or not."""
        return self.text[0].isdigit() or (self.text[0] == "." and self.text[1:2].isdigit())


@dataclass(frozen=True, slots=True)
class Edit:
    """Other tokens in place of tokens[start:end]."""

    start: int
    end: int
    new: tuple[Token, ...] = ()


def tokens_of(text: str) -> list[Token]:
    """All tokens; comments and blank lines are gone, a line of the preprocessor is one token."""
    tokens: list[Token] = []
    at = 0
    while True:
        gap = _SPACE.match(text, at)
        assert gap is not None
        at = gap.end()
        if at == len(text):
            return tokens
        space = _COMMENT.sub(" ", gap[0])
        line_start = "\n" in space or not tokens
        if line_start:
            space = "\n" + space.rpartition("\n")[2]
        directive = _DIRECTIVE.match(text, at) if line_start else None
        found = directive or _TEXT.match(text, at)
        assert found is not None
        plain = found[0]
        if directive:
            plain = _STRING_OR_COMMENT.sub(lambda part: part[1] or " ", plain).rstrip()
        tokens.append(Token(space, plain))
        at = found.end()


def text_of(tokens: Iterable[Token]) -> str:
    """The text, with a space where two tokens would become one and no line left blank."""
    parts: list[str] = []
    last = ""
    for token in tokens:
        space, text = token.space, token.text
        if "\n" not in space and (last.startswith("#") or (text[0] == "#" and len(text) > 2)):
            space = "\n"
        elif not space and last:
            words = _WORD.match(text) and _WORD.match(last[-1])
            if words or (last[-1] in _GLUES and text[0] in _GLUES):
                space = " "
        parts.append(space + text)
        last = text
    return "".join(parts).lstrip("\n") + "\n" if parts else ""


def apply(tokens: Sequence[Token], edits: Iterable[Edit]) -> list[Token]:
    """The tokens after these edits, which are in order and do not overlap."""
    result: list[Token] = []
    at = 0
    carried = ""  # the line break before what was left out goes before what comes next

    def add(more: Sequence[Token]) -> None:
        nonlocal carried
        if more:
            first = more[0]
            if carried and "\n" not in first.space:
                more = [Token(carried, first.text), *more[1:]]
            carried = ""
            result.extend(more)

    for edit in edits:
        add(tokens[at : edit.start])
        if edit.start < edit.end and not carried and "\n" in tokens[edit.start].space:
            carried = tokens[edit.start].space
        add(edit.new)
        at = edit.end
    add(tokens[at:])
    return result


def partners(tokens: Sequence[Token]) -> list[int]:
    """For each bracket the place of its partner; -1 for all else, and for one without partner."""
    result = [-1] * len(tokens)
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in OPENING:
            opened.append(at)
        elif token.text in (")", "]", "}"):
            if opened and OPENING[tokens[opened[-1]].text] == token.text:
                result[at] = opened.pop()
                result[result[at]] = at
            else:
                opened.clear()
    return result


def statements(
    tokens: Sequence[Token], partner: Sequence[int], start: int, end: int
) -> list[tuple[int, int]]:
    """The statements, declarations and functions in tokens[start:end], each with its blocks."""
    found: list[tuple[int, int]] = []
    first = at = start
    while at < end:
        text = tokens[at].text
        after = at + 1
        ends = text == ";" or (text == ":" and _is_label(tokens, first, at))
        if text in OPENING and partner[at] > at:
            after = partner[at] + 1
            ends = text == "{" and is_block(tokens, at) and not _assigns(tokens, first, at)
        elif text[0] == "#" and at == first:
            ends = True
        if ends and after < end and (text == ";" or text == "{"):
            follows = tokens[after].text
            is_do = tokens[first].text == "do" and text == "{"
            ends = follows not in ("else", "catch") and not (is_do and follows == "while")
        at = after
        if ends:
            found.append((first, at))
            first = at
    if first < end:
        found.append((first, end))
    return found


def is_block(tokens: Sequence[Token], at: int) -> bool:
    """Whether the `{` there opens a block of statements."""
    before = tokens[at - 1].text if at else ""
    return before in _BEFORE_BLOCK or before[0] in '#"'


def _is_label(tokens: Sequence[Token], first: int, at: int) -> bool:
    return tokens[first].text == "case" or (at == first + 1 and tokens[first].is_word)


def _assigns(tokens: Sequence[Token], first: int, at: int) -> bool:
    return any(token.text == "=" for token in tokens[first:at]) and tokens[first].text not in (
        *("if", "for", "while", "switch", "else", "do"),
    )


def levels(tokens: Sequence[Token]) -> list[list[tuple[int, int]]]:
    """All statements by how many blocks they are in; [0] are the top-level items."""
    partner = partners(tokens)
    result = [statements(tokens, partner, 0, len(tokens))]
    depth = 0
    for at, token in enumerate(tokens):
        if token.text == "{" and partner[at] > at and is_block(tokens, at):
            depth += 1
            if len(result) <= depth:
                result.append([])
            result[depth] += statements(tokens, partner, at + 1, partner[at])
        elif token.text == "}" and partner[at] >= 0 and is_block(tokens, partner[at]):
            depth -= 1
    return result
