"""Which functions never return.

Three sources, repeated until nothing is added:

* names (emu.sweep.noreturn_names);
* bodies: from the entry no return, indirect jump or jump to another function can be reached;
* callers: where a call is the last instruction of a function it does not come back there. It
  might have been made so by a promise about that one call (`__builtin_unreachable`), so this
  does not count for a function whose body visibly returns.

What is not known is taken to return: a wrong "never" hides code, a wrong "returns" makes
paths that no program takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from arch.flow import Flow
from emu.sweep.instructions import SOME_REGISTER, Instructions
from emu.sweep.noreturn_names import never_returns

IntArray = npt.NDArray[np.int32]
WordArray = npt.NDArray[np.int64]
ByteArray = npt.NDArray[np.uint8]

_NEVER, _MAY, _RETURNS = 0, 1, 2
"""What a body does: it cannot leave; it leaves to where nobody knows; it returns."""

_ROUNDS = 32
"""More are needed by hostile code only, whose functions then count as returning."""

_PLAIN, _CALL, _CALL_INDIRECT = int(Flow.PLAIN), int(Flow.CALL), int(Flow.CALL_INDIRECT)
_BRANCH, _JUMP, _LINK = int(Flow.BRANCH), int(Flow.JUMP), int(Flow.LINK)
_JUMP_INDIRECT, _BRANCH_INDIRECT = int(Flow.JUMP_INDIRECT), int(Flow.BRANCH_INDIRECT)
_RETURN, _RETURN_IF = int(Flow.RETURN), int(Flow.RETURN_IF)
_HALT, _BAD = int(Flow.HALT), int(Flow.BAD)


@dataclass(frozen=True, slots=True, eq=False)
class _Graph:
    """All instructions of all spans, numbered through; -1 is none throughout."""

    kinds: ByteArray
    behind: IntArray
    """Number of the instruction behind each."""
    into: IntArray
    """Number of the instruction that a direct target is."""
    place: IntArray
    """Index in `places` of the target, or of the word that holds it; of what either stands for."""
    home: IntArray
    """Number of the function that each stands in."""
    entry: IntArray
    """Number of the function that begins with it."""
    last: npt.NDArray[np.bool_]
    """No instruction of the same function follows directly."""
    places: WordArray
    """Runtime addresses, ascending: whatever may be known not to return."""


def noreturn(
    code: Sequence[Instructions],
    functions: Sequence[tuple[int, int]],
    names: Mapping[int, str],
) -> tuple[frozenset[int], frozenset[int]]:
    """Runtime addresses of functions that never return; stubs and undefined symbols among them.

    Args:
        code: all that is executable, decoded.
        functions: (start, end) by the tables; parts of functions may be among them.
        names: runtime address -> name, of functions, stubs, and undefined symbols; of words that
            hold such an address, where code calls through them.

    Returns:
        Those that certainly do not, and those that likely do not: a call at a function's end
        says that what it calls does not return. Not quite so: one before
        __builtin_unreachable() says it of that call alone.
    """
    bounds = np.array(sorted(set(functions)), np.int64).reshape(-1, 2)
    known = [address for address, name in names.items() if never_returns(name)]
    if not code:
        return frozenset(known), frozenset()
    aliases = _aliases(bounds, names)
    graph = _graph(code, bounds, np.array([*known, *aliases], np.int64), aliases)
    certain, every = (_never(graph, bounds, known, by_last) for by_last in (False, True))
    for found in (certain, every):
        found.update([alias for alias, address in aliases.items() if address in found])
    return frozenset(certain), frozenset(every - certain)


def _never(
    graph: _Graph, bounds: WordArray, known: Sequence[int], by_last_calls: bool
) -> set[int]:
    """Places that do not return; `by_last_calls`: by calls at a function's end as well."""
    never = np.isin(graph.places, known).astype(np.uint8)
    starts = np.flatnonzero(graph.entry >= 0).astype(np.int32)
    starts = starts[np.argsort(graph.entry[starts], kind="stable")]
    owners = graph.entry[starts]
    own_places = np.searchsorted(graph.places, bounds[owners, 0])
    # A call at the very end, or one whose function ends there.
    calls = ((graph.kinds == _CALL) | (graph.kinds == _CALL_INDIRECT)) & (graph.home >= 0)
    ending = np.unique(graph.place[calls & graph.last])
    ending = ending[ending >= 0]
    marks = np.zeros(len(graph.kinds), np.int32)
    stack = np.zeros(2 * len(graph.kinds) + 2, np.int32)
    bodies = np.full(len(graph.places), _NEVER, np.uint8)
    turn = 0
    for number in range(_ROUNDS):
        before = int(never.sum())
        pending = np.flatnonzero(never[own_places] == 0)[:: 1 - 2 * (number & 1)]
        _follow_all(
            starts[pending], own_places[pending], turn, graph.kinds, graph.behind, graph.into,
            graph.place, graph.home, graph.entry, graph.last, never, marks, stack, bodies,
        )  # fmt: skip
        turn += len(pending)
        if by_last_calls:
            never[ending[bodies[ending] != _RETURNS]] = 1
        if int(never.sum()) == before:
            break
    return set(graph.places[never != 0].tolist())


def _aliases(bounds: WordArray, names: Mapping[int, str]) -> dict[int, int]:
    """Stubs, and words in memory, that have the name of one function -> that function.

    Another file may define the function anew, but will not make it return.
    """
    starts = set(bounds[:, 0].tolist())
    functions: dict[str, list[int]] = {}
    for address, name in names.items():
        if address in starts:
            functions.setdefault(name, []).append(address)
    return {
        address: functions[name][0]
        for address, name in names.items()
        if address not in starts and len(functions.get(name, ())) == 1
    }


def _graph(
    code: Sequence[Instructions], bounds: WordArray, known: WordArray, aliases: Mapping[int, int]
) -> _Graph:
    """Number the instructions and link them."""
    offsets = [span.places() for span in code]
    firsts = np.cumsum([0, *map(len, offsets)])
    kinds = np.concatenate([s.kinds[o] for s, o in zip(code, offsets, strict=True)])
    sizes = np.concatenate([s.sizes[o] for s, o in zip(code, offsets, strict=True)])
    targets = np.concatenate([s.targets[o] for s, o in zip(code, offsets, strict=True)])
    addresses = np.concatenate(
        [s.start + (o.astype(np.int64) << s.shift) for s, o in zip(code, offsets, strict=True)]
    )
    ends = addresses + sizes
    # Behind most instructions stands the next one; the others are looked up, and targets.
    behind = np.arange(1, len(kinds) + 1, dtype=np.int32)
    apart = np.append(np.flatnonzero(addresses[1:] != ends[:-1]), len(kinds) - 1)
    named = np.flatnonzero(targets >= SOME_REGISTER)
    follows, leads = (np.full(len(some), -1, np.int32) for some in (apart, named))
    entry = np.full(len(kinds), -1, np.int32)
    for span, offset, first in zip(code, offsets, firsts, strict=False):
        number = np.full(len(span.sizes), -1, np.int32)
        number[offset] = np.arange(first, first + len(offset))
        _number_of(number, span, ends[apart], follows)
        _number_of(number, span, targets[named], leads)
        begin = np.full(len(bounds), -1, np.int32)
        _number_of(number, span, bounds[:, 0], begin)
        entry[begin[begin >= 0]] = np.flatnonzero(begin >= 0)
    behind[apart] = follows
    into = np.full(len(kinds), -1, np.int32)
    into[named] = leads
    # Words in memory are no instructions, and registers no places either.
    calls_indirect = kinds == _CALL_INDIRECT
    into[calls_indirect | (kinds == _JUMP_INDIRECT)] = -1
    called = targets[named[(calls_indirect | (kinds == _CALL))[named]]]
    places = np.unique(np.concatenate([bounds[:, 0], called, known]))
    place = np.full(len(kinds), -1, np.int32)
    if len(places):
        at = np.minimum(np.searchsorted(places, targets[named]), len(places) - 1)
        there = places[at] == targets[named]
        means = np.arange(len(places))
        for alias, address in aliases.items():
            means[np.searchsorted(places, alias)] = np.searchsorted(places, address)
        place[named[there]] = means[at[there]]
    home = np.full(len(kinds), -1, np.int32)
    if len(bounds):
        at = np.searchsorted(bounds[:, 0], addresses, "right") - 1
        inside = (at >= 0) & (addresses < bounds[np.maximum(at, 0), 1])
        home[inside] = at[inside]
    last = (behind < 0) | (home[behind] != home)
    return _Graph(kinds, behind, into, place, home, entry, last, places)


def _number_of(
    number: IntArray, span: Instructions, addresses: WordArray, result: IntArray
) -> None:
    """Numbers of the instructions that begin at addresses; what lies elsewhere stays."""
    offset = addresses - span.start
    inside = (offset >= 0) & (offset < len(number) << span.shift)
    inside &= offset & ((1 << span.shift) - 1) == 0
    result[inside] = number[offset[inside] >> span.shift]


@numba.njit(cache=True)
def _follow_all(
    starts: IntArray,
    own_places: WordArray,
    turn: int,
    kinds: ByteArray,
    behind: IntArray,
    into: IntArray,
    place: IntArray,
    home: IntArray,
    entry: IntArray,
    last: npt.NDArray[np.bool_],
    never: ByteArray,
    marks: IntArray,
    stack: IntArray,
    bodies: ByteArray,
) -> None:
    """What the bodies of functions do, by their first instructions and their places.

    What is found is noted in `never` and `bodies`, by place, and used at once. `marks` has for
    each instruction the last turn (one for each body, never 0) that met it.
    """
    for index in range(len(starts)):
        turn += 1
        start = starts[index]
        function = entry[start]
        result = _NEVER
        stack[0] = start
        depth = 1
        while depth and result != _RETURNS:
            depth -= 1
            at = stack[depth]
            if marks[at] == turn:
                continue
            marks[at] = turn
            kind = kinds[at]
            if kind in (_RETURN, _RETURN_IF):
                result = _RETURNS
                break
            if kind == _HALT:
                continue
            if kind in (_BAD, _JUMP_INDIRECT):
                ends = place[at] >= 0 and never[place[at]]
                if not ends:
                    result = _MAY
                continue
            if kind == _BRANCH_INDIRECT:
                result = _MAY
            target = into[at]
            if kind in (_BRANCH, _JUMP):
                if place[at] < 0 or not never[place[at]]:
                    if target < 0 or (entry[target] >= 0 and entry[target] != function):
                        result = _MAY
                    else:
                        stack[depth] = target
                        depth += 1
                if kind == _JUMP:
                    continue
            elif kind in (_CALL, _CALL_INDIRECT, _LINK):
                if place[at] >= 0 and never[place[at]]:
                    continue
                # Calls into the own function fetch the PC, or hide a jump.
                if target >= 0 and home[target] == home[at] and entry[target] < 0:
                    stack[depth] = target
                    depth += 1
                if kind != _LINK and last[at] and home[at] >= 0:
                    continue
            following = behind[at]
            if following < 0 or (entry[following] >= 0 and entry[following] != function):
                result = _MAY  # It runs into what is no code, or into another function.
                continue
            stack[depth] = following
            depth += 1
        bodies[own_places[index]] = result
        if result == _NEVER:
            never[own_places[index]] = 1
