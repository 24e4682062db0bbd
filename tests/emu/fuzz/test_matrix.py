"""Points of the matrix: all settings meet, and none that a tool would refuse."""

import functools
import itertools
from dataclasses import replace

import pytest

from arch import Arch, by_name
from arch.compilers import COMMON
from emu.errors import UsageError
from emu.fuzz.matrix import Point, assembler_points, points
from emu.fuzz.toolchains import Toolchains
from tests.support.toolchains import made_up

POINTS = 120


@functools.cache
def _of(name: str) -> list[Point]:
    arch = by_name(name)
    assert arch is not None
    return list(itertools.islice(points(arch, made_up(name), 3), POINTS))


def _points(arch: Arch) -> list[Point]:
    return _of(arch.name)


def test_compilers_meet_assemblers_and_levels(arch: Arch) -> None:
    found = made_up(arch.name)
    seen = {(p.compiler, p.assembler) for p in _points(arch)}
    assert seen == {
        *itertools.product(found.compilers, found.assemblers),
        (found.compilers[2], None),
    }
    for factor in (*COMMON, *arch.compilers.factors):
        for level, compiler in itertools.product(factor.levels, found.compilers):
            words = level.of(compiler.family)
            if words:
                assert any(
                    p.compiler == compiler and set(words.split()) <= set(p.flags)
                    for p in _points(arch)
                ), (compiler.name, words)


def test_nothing_that_is_refused(arch: Arch) -> None:
    for point in _points(arch):
        assert point.compiler is not None
        if point.assembler is None:
            assert point.compiler.family == "clang"
        if point.sframe:
            assert point.assembler is not None
            assert point.assembler.sframe
        if point.lto:
            assert point.compiler.family == "gcc"
            assert point.assembler is not None
            assert point.assembler.tool.root == point.compiler.tool.root
            assert not point.sframe
        for one, other in arch.compilers.excluded:
            assert not {one, other} <= set(point.flags)
        if point.compiler.family == "clang":
            assert not any("shrink-wrap" in flag for flag in point.flags)


def test_strangers_never_meet(arch: Arch) -> None:
    found = made_up(arch.name)
    stranger = (arch.name, "gcc 16.1.0", "as 2.40")
    seen = itertools.islice(points(arch, replace(found, strangers=(stranger,)), 3), POINTS)
    names = {(p.compiler and p.compiler.name, p.assembler and p.assembler.name) for p in seen}
    assert stranger[1:] not in names
    assert len(names) == 9  # of 3 compilers and 3 assemblers, and clang's own


def test_sp_cfa_only_where_it_holds(arch: Arch) -> None:
    for point in _points(arch):
        told = "-DUNWINDLAB_SP_CFA=1" in point.compiling("c")
        on_sp = "-fomit-frame-pointer" in point.flags and "-O0" not in point.flags
        assert told <= on_sp
        if {"-mstackrealign", "-fexceptions"}.intersection(point.flags):
            assert not told
        # C++ has exceptions, and without a level nothing is optimised.
        assert "-DUNWINDLAB_SP_CFA=1" not in point.compiling("c++")
        assert "-DUNWINDLAB_SP_CFA=1" not in replace(point, flags=()).compiling("c")
    assert any("-DUNWINDLAB_SP_CFA=1" in point.compiling("c") for point in _points(arch))


def test_same_seed_same_points(arch: Arch) -> None:
    again = itertools.islice(points(arch, made_up(arch.name), 3), POINTS)
    assert _points(arch) == list(again)


def test_assembly_alone(arch: Arch) -> None:
    made = [(p.assembler and p.assembler.name, p.sframe) for p in
            assembler_points(arch, made_up(arch.name))]  # fmt: skip
    assert made == [
        ("as 2.40", False), ("as 2.47", True), ("as 2.47", False), ("as 2.48 given", False),
    ]  # fmt: skip


def test_nothing_to_try(arch: Arch) -> None:
    with pytest.raises(UsageError, match="no compiler for"):
        next(points(arch, Toolchains(), 0))
