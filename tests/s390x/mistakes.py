"""Tables spoilt as a new producer may spoil them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from emu.sframe.form import Content, FormFunction
from tests.s390x.programs import VERSIONS

Words = tuple[int, ...]


@dataclass(frozen=True)
class Spoilt:
    """A mistake of a producer in one function."""

    name: str
    versions: tuple[int, ...]
    function: str
    change: Callable[[FormFunction], FormFunction]
    verdict: str


def words(change: Callable[[Words], Words]) -> Callable[[FormFunction], FormFunction]:
    """The words of every row changed."""
    return contents(lambda content: content._replace(words=change(content.words)))


def contents(change: Callable[[Content], Content]) -> Callable[[FormFunction], FormFunction]:
    """Every row changed."""
    return lambda function: replace(
        function,
        rows=tuple(row._replace(content=change(row.content)) for row in function.rows),
    )


def first(change: Callable[[int], int]) -> Callable[[FormFunction], FormFunction]:
    """The CFA word of every DEFAULT row changed."""
    return words(lambda w: (change(w[0]), *w[1:]))


def word(old: int, new: int) -> Callable[[FormFunction], FormFunction]:
    """One value for another, wherever it is a word."""
    return words(lambda w: tuple(new if value == old else value for value in w))


def swapped(a: int, b: int) -> Callable[[FormFunction], FormFunction]:
    """Two words, or two pairs of words, in each other's place, where a row has both."""

    def swap(w: Words) -> Words:
        size = b - a
        if len(w) < b + size:
            return w
        return (*w[:a], *w[b : b + size], *w[a:b], *w[b + size :])

    return words(swap)


plain_words = contents(
    lambda c: Content(True, False, (0, 17 << 1 | 1) if len(c.words) > 2 else (0,))
)
"""RA in f2 as V2 has it."""


def dropped(at: int) -> Callable[[FormFunction], FormFunction]:
    """One word left out, where it is 0 and others follow."""
    return words(lambda w: w[:at] + w[at + 1 :] if len(w) > at + 1 and w[at] == 0 else w)


SPOILT = (
    Spoilt("bias lost", VERSIONS, "ra_and_fp", first(lambda w: w + 20), "wrong-cfa"),
    Spoilt("bias taken off twice", VERSIONS, "ra_and_fp", first(lambda w: w - 20), "wrong-way"),
    Spoilt("scale lost", VERSIONS, "sp_said", first(lambda w: 8 * w), "wrong-cfa"),
    Spoilt("bias and scale lost", VERSIONS, "ra_and_fp", first(lambda w: 8 * w + 160),
           "wrong-cfa"),
    Spoilt("sign lost", VERSIONS, "negative_1", first(lambda w: w & 0xFF), "unreadable"),
    Spoilt("cut to one byte", VERSIONS, "word_2", first(lambda w: (w & 0xFF ^ 0x80) - 0x80),
           "wrong-way"),
    Spoilt("base swapped", VERSIONS, "negative_1",
           contents(lambda c: c._replace(base_sp=not c.base_sp)), "wrong-way"),
    Spoilt("slots swapped", VERSIONS, "ra_and_fp", swapped(1, 2), "wrong-ra"),
    Spoilt("slots scaled", VERSIONS, "ra_alone",
           words(lambda w: (w[0], *(n // 8 for n in w[1:]))), "wrong-ra"),
    Spoilt("RA left out", VERSIONS, "ra_alone", words(lambda w: w[:1]), "lost-register"),
    Spoilt("filler dropped", VERSIONS, "fp_alone", dropped(1), "wrong-ra"),
    Spoilt("filler dropped before a register", (2,), "fp_float", dropped(1), "wrong-ra"),
    Spoilt("filler dropped before a rule", (3,), "fp_float", dropped(2), "wrong-ra"),
    Spoilt("registers swapped", (2,), "floats", swapped(1, 2), "wrong-ra"),
    Spoilt("registers swapped", (3,), "floats", swapped(2, 4), "wrong-ra"),
    Spoilt("f2 counted as 16 + 2", (2,), "ra_float", word(17 << 1 | 1, 18 << 1 | 1), "wrong-ra"),
    Spoilt("f2 counted as 16 + 2", (3,), "ra_float", word(17 << 3 | 1, 18 << 3 | 1), "wrong-ra"),
    Spoilt("register bit lost", (2,), "ra_float", word(17 << 1 | 1, 17 << 1), "wrong-ra"),
    Spoilt("V2's registers in V3", (3,), "ra_float",
           lambda f: replace(plain_words(f), kind=0), "wrong-ra"),
    Spoilt("CFA word of FLEX without bias and scale", (3,), "parked_caller",
           words(lambda w: (w[0], 8 * w[1] + 160, *w[2:])), "wrong-cfa"),
    Spoilt("load lost", (3,), "loaded_ra", word(1 << 3 | 3, 1 << 3 | 1), "wrong-ra"),
    Spoilt("load of the CFA lost", (3,), "loaded_cfa", word(15 << 3 | 3, 15 << 3 | 1),
           "wrong-cfa"),
    Spoilt("CFA on the wrong register", (3,), "other_cfa", word(10 << 3 | 1, 11 << 3 | 1),
           "wrong-way"),
    Spoilt("end of the stack lost", (2, 3), "_start",
           contents(lambda c: c._replace(base_sp=True, words=(0,))), "wrong-end"),
    Spoilt("end of the stack where there is none", (2, 3), "ra_kept",
           contents(lambda c: Content(False, False, ())), "wrong-end"),
)  # fmt: skip
