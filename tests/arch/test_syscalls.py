from pathlib import Path

import pytest

from arch import ALL, Arch

DATA = Path(__file__).parents[1] / "data" / "syscalls"
NEWER = {"rseq_slice_yield": 471}
"""In the kernel's headers, and not yet in the other source."""


@pytest.fixture(params=ALL, ids=lambda arch: arch.name)
def arch(request: pytest.FixtureRequest) -> Arch:
    """Each machine in turn."""
    machine: Arch = request.param
    return machine


def test_numbers_agree_with_a_c_library(arch: Arch) -> None:
    """Every call has the number that musl gives it, and none is left out."""
    lines = (DATA / f"{arch.name}.txt").read_text().splitlines()
    words = [line.split() for line in lines if not line.startswith("#")]
    assert dict(arch.syscalls) == {name: int(number) for number, name in words} | NEWER


def test_no_number_has_two_names(arch: Arch) -> None:
    """A run that is one name too long would give two calls the same number."""
    assert len(set(arch.syscalls.values())) == len(arch.syscalls)


def test_user_space_holds_the_layout(arch: Arch) -> None:
    """Stack, mappings and position-independent programs lie inside user space, in this order."""
    layout = arch.layout
    assert layout.pie_base < layout.mmap_base < layout.stack_top <= layout.user_end


def test_stat_fields_do_not_overlap(arch: Arch) -> None:
    """Each byte of struct stat belongs to one field at most, and none lies outside."""
    fields = arch.stat.fields.values()
    taken = [byte for offset, size in fields for byte in range(offset, offset + size)]
    assert len(set(taken)) == len(taken)
    assert max(taken) < arch.stat.size


def test_opcode_traps_have_values_inside_their_masks(arch: Arch) -> None:
    """A value with a bit outside its mask would never match."""
    for entry in arch.exceptions.opcodes:
        assert len(entry.value) == len(entry.mask)
        assert all(value & ~mask == 0 for value, mask in zip(entry.value, entry.mask, strict=True))
