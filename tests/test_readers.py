"""How `make readers` chooses points and judges answers; the readers themselves it fetches."""

import pytest

from benchmarks.readers import Case, _judge, _symbols
from benchmarks.recorded import STACK, Truth
from benchmarks.stopping import spread
from emu.check.options import RunOptions
from emu.image import Image, load_image
from tests.support.runs import program

CASE = Case("aarch64", "a program", "/a", RunOptions())
SIGNED = Case("aarch64", "calls-musl-v3-O2-bti --pac", "/a", RunOptions(pac=True))


@pytest.fixture(scope="module")
def image() -> Image:
    """A program without rows that keep registers in registers."""
    return load_image(program("aarch64-clean-chain"))


def truth(image: Image, *pcs: int, ends: bool = True) -> Truth:
    """A point in `main` and callers."""
    names = tuple(frozenset({f"f{pc}", f"alias{pc}"}) for pc in pcs)
    return Truth(pcs, ends, names, image, image.entry)


def test_points_are_spread() -> None:
    """One in each part, the same for the same seed."""
    points = spread(1000, 11_000, 10, 1)
    assert points == spread(1000, 11_000, 10, 1) != spread(1000, 11_000, 10, 2)
    assert [(point - 1001) // 1000 for point in points] == list(range(10))


def test_a_wrong_frame(image: Image) -> None:
    """The first point at which a reader differs, with both stacks."""
    truths = [truth(image, 1, 2), truth(image, 3, 4)]
    answer = _judge(CASE, "gdb", truths, [[1, 2], [3, 5]])
    assert (answer.points, answer.agreeing) == (2, 1)
    assert answer.first == "point 1: true 0x3 0x4, it says 0x3 0x5"


def test_behind_the_last_frame(image: Image) -> None:
    """More frames are wrong where the table says that the stack has ended, else a guess."""
    assert _judge(CASE, "gdb", [truth(image, 1, 2)], [[1, 2, 9]]).agreeing == 0
    assert _judge(CASE, "gdb", [truth(image, 1, 2, ends=False)], [[1, 2, 9]]).agreeing == 1
    assert _judge(CASE, "gdb", [truth(image, 1, 2, ends=False)], [[1]]).agreeing == 0


def test_a_stack_that_is_missing(image: Image) -> None:
    """As many stacks as points, or nothing agrees."""
    answer = _judge(CASE, "gdb", [truth(image, 1), truth(image, 2)], [[1]])
    assert (answer.agreeing, answer.first) == (0, "1 stacks, not 2")


def test_a_known_limit(image: Image) -> None:
    """It is counted and is no failure; one that is no longer needed is one."""
    answer = _judge(SIGNED, STACK, [truth(image, 1, 2)], [[1, 1 << 60]])
    assert (answer.agreeing, answer.first, answer.limits.total()) == (0, "", 1)
    assert _judge(SIGNED, STACK, [truth(image, 1)], [[1]]).first.startswith("agrees, and should")


def test_symbols(image: Image) -> None:
    """Any name that a function has will do; an address without one is not asked for."""
    one = truth(image, 1, 2)
    assert _symbols([one], [["alias1", "f2"]]).agreeing == 1
    assert "0x2 is in alias2, it says other" in _symbols([one], [["f1", "other"]]).first
    nameless = Truth((1,), True, (frozenset(),), image, 0)
    assert _symbols([nameless], [["[unknown]"]]).agreeing == 1


def test_registers_kept_in_registers() -> None:
    """What eu-stack cannot follow is told by the table: somewhere in this program, not in all."""
    parked = load_image(program("s390x-fpr-parked"))
    section = parked.section(".text")
    assert section is not None
    found = {
        Truth((0,), True, (), parked, section.addr + offset).keeps_in_registers()
        for offset in range(0, section.size, 2)
    }
    assert found == {True, False}
