"""Relocation types of each machine against pyelftools' numbers, and what they fill."""

import pytest
from elftools.elf import enums

from arch import ALL, Arch, by_name
from arch.relocations import Value
from emu.sweep.relocate import fill

NUMBERS = {
    "x86_64": enums.ENUM_RELOC_TYPE_x64,
    "aarch64": enums.ENUM_RELOC_TYPE_AARCH64,
    "s390x": enums.ENUM_RELOC_TYPE_S390X,
}

OTHERWISE = {
    "x86_64": {},
    # AAELF64 leaves the two to the platform, and glibc's elf.h has them in this order.
    "aarch64": {
        1028: "R_AARCH64_TLS_DTPMOD", 1029: "R_AARCH64_TLS_DTPREL", 1030: "R_AARCH64_TLS_TPREL",
        1031: "R_AARCH64_TLSDESC", 1032: "R_AARCH64_IRELATIVE",
    },
    "s390x": {},
}  # fmt: skip
"""What glibc's elf.h says where pyelftools says something else."""


def test_numbers(arch: Arch) -> None:
    """Each type that pyelftools knows has its name here too."""
    names = {
        number: name
        for name, number in NUMBERS[arch.name].items()
        if isinstance(number, int) and number in arch.relocation.fields
    }
    assert len(names) > 30
    ours = {number: arch.relocation.fields[number].name for number in names}
    assert {n: ours[n] for n in names if ours[n] != names[n]} == OTHERWISE[arch.name]


def test_fields_lie_in_their_number(arch: Arch) -> None:
    """No type fills a bit twice or one outside its bytes, or keeps bits of no result."""
    for field in arch.relocation.fields.values():
        filled = 0
        position = 0
        for low, count, at in field.bits:
            assert low == position, field
            mask = (1 << count) - 1 << at
            assert not filled & (mask | field.sign), field
            filled |= mask
            position += count
        assert filled < 1 << 8 * field.size or not field.bits, field
        assert (field.size == 0) == (field.value is Value.NOTHING), field


@pytest.mark.parametrize(
    ("machine", "name", "before", "value", "after"),
    [
        ("aarch64", "R_AARCH64_CALL26", "00000094", 0x1000, "00040094"),
        ("aarch64", "R_AARCH64_CALL26", "00000094", -4, "ffffff97"),
        ("aarch64", "R_AARCH64_CALL26", "00000094", 1 << 27, None),
        ("aarch64", "R_AARCH64_CALL26", "00000094", 2, None),
        ("aarch64", "R_AARCH64_ADR_PREL_PG_HI21", "00000090", 0x5000, "200000b0"),
        ("aarch64", "R_AARCH64_LDST64_ABS_LO12_NC", "000040f9", 0x12345678, "003c43f9"),
        ("aarch64", "R_AARCH64_LDST64_ABS_LO12_NC", "000040f9", 0x12345674, None),
        ("aarch64", "R_AARCH64_TSTBR14", "00000036", 0x7FFC, "e0ff0336"),
        ("aarch64", "R_AARCH64_TSTBR14", "00000036", 0x8000, None),
        ("aarch64", "R_AARCH64_MOVW_SABS_G0", "000080d2", -2, "20008092"),
        ("aarch64", "R_AARCH64_MOVW_SABS_G0", "00008092", 2, "400080d2"),
        ("aarch64", "R_AARCH64_PLT32", "00000000", -8, "f8ffffff"),
        ("aarch64", "R_AARCH64_ABS16", "0000", 0xFFFF, "ffff"),
        ("aarch64", "R_AARCH64_ABS16", "0000", 0x10000, None),
        ("s390x", "R_390_12", "2000", 0xABC, "2abc"),
        ("s390x", "R_390_12", "2000", 0x1000, None),
        ("s390x", "R_390_20", "20000004", 0x12345, "23451204"),
        ("s390x", "R_390_20", "20000004", -1, "2fffff04"),
        ("s390x", "R_390_20", "20000004", 0x80000, None),
        ("s390x", "R_390_PLT32DBL", "00000000", -2, "ffffffff"),
        ("s390x", "R_390_PLT32DBL", "00000000", 3, None),
        ("s390x", "R_390_PC16DBL", "0000", 0x10000, None),
        ("x86_64", "R_X86_64_32", "00000000", -1, None),
        ("x86_64", "R_X86_64_32S", "00000000", 0xFFFF_FFFF_8000_0000, "00000080"),
        ("x86_64", "R_X86_64_32S", "00000000", 0x8000_0000, None),
    ],
)  # fmt: skip
def test_filled(machine: str, name: str, before: str, value: int, after: str | None) -> None:
    """Instructions as the manuals encode them; None: out of range, nothing changes."""
    arch = by_name(machine)
    assert arch is not None
    field = next(f for f in arch.relocation.fields.values() if f.name == name)
    data = bytearray(b"\xee" + bytes.fromhex(before) + b"\xee")
    assert fill(field, data, 1, value, arch.byte_order) is (after is not None)
    assert data[1:-1].hex() == (before if after is None else after)
    assert data[:1] + data[-1:] == b"\xee\xee"


def test_every_machine_has_them() -> None:
    """What the dynamic linker of each machine does is in its table."""
    for arch in ALL:
        values = {field.value for field in arch.relocation.fields.values()}
        assert {Value.BASE, Value.SYMBOL, Value.SLOT, Value.THREAD, Value.PAIR} <= values
        assert sum(field.fills_slot for field in arch.relocation.fields.values()) == 2
