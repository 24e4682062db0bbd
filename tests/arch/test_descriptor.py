"""A descriptor that contradicts itself is refused."""

import dataclasses
from typing import Any

import pytest

from arch import Arch
from arch.aarch64 import AARCH64
from arch.descriptor import Encoding, InstructionKind, Register, numbered
from arch.s390x import S390X
from arch.x86_64 import X86_64


def changed(arch: Arch, **fields: Any) -> Arch:
    """The machine with other values, built anew."""
    return dataclasses.replace(arch, _by_dwarf={}, **fields)


def test_an_unchanged_copy_is_accepted() -> None:
    """What the other tests change is otherwise right."""
    assert changed(S390X).register(15) == S390X.register(15)


def test_two_registers_with_one_dwarf_number() -> None:
    """A number that names two registers."""
    twice = (*X86_64.registers, Register("again", 7, 44))
    with pytest.raises(ValueError, match="two registers share"):
        changed(X86_64, registers=twice)


@pytest.mark.parametrize("role", ["sp", "fp"])
def test_a_role_without_register(role: str) -> None:
    """SP and FP must be among the registers."""
    with pytest.raises(ValueError, match="no register 99"):
        changed(X86_64, **{role: 99})


def test_a_return_address_register_that_does_not_exist() -> None:
    """A machine whose return address arrives in a register must have that register."""
    with pytest.raises(ValueError, match="no register 77"):
        changed(AARCH64, ra=77)


def test_a_return_address_column_needs_no_register() -> None:
    """Where the return address is pushed, its number is a column of the table only."""
    assert changed(X86_64, ra=99).ra == 99


@pytest.mark.parametrize("number", [7, 16, 99], ids=["sp", "ra", "none"])
def test_a_callee_saved_register_that_is_none(number: int) -> None:
    """SP and the return address have rows of their own; other numbers name nothing."""
    with pytest.raises(ValueError, match=f"{number} is no callee-saved register"):
        changed(X86_64, callee_saved=(3, number))


def test_a_register_that_is_saved_only_and_not() -> None:
    """What rows can name is not saved only."""
    with pytest.raises(ValueError, match="a row can name a register that is saved only"):
        changed(AARCH64, saved_only=(AARCH64.registers[19],))


@pytest.mark.parametrize(
    ("value", "mask"), [(b"\xe8", b"\xf0"), (b"\xff\x10", b"\xff\x08"), (b"\xe8", b"\xff\xff")]
)
def test_an_encoding_outside_its_mask(value: bytes, mask: bytes) -> None:
    """An encoding that no bytes could match, or whose parts differ in length."""
    with pytest.raises(ValueError, match="value outside its mask"):
        changed(X86_64, encodings=(Encoding(InstructionKind.CALL, value, mask, "x"),))


def test_numbered_runs() -> None:
    """Names of a run have consecutive numbers from its first."""
    assert numbered((0, "read write"), (10, "exit")) == {"read": 0, "write": 1, "exit": 10}


def test_descriptors_cannot_be_changed() -> None:
    """Facts are the same for everyone."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        # The type checker forbids it as well.
        X86_64.sp = 6  # type: ignore[misc]
