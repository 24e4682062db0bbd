"""The `compare` command over test programs."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from arch import by_name
from emu.cli import main
from testprogs.unpack import Prebuilt
from tests.emu.cfi.section import cie, fde, initial
from tests.emu.elf_file import ElfFile, ElfSection
from tests.support.runs import Command

Programs = Mapping[tuple[str, str], Prebuilt]


def path_of(prebuilt: Programs, arch: str, name: str) -> str:
    return str(prebuilt[arch, name].path)


def test_tables_that_agree(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0, and the bytes add up to the executable ones."""
    path = path_of(prebuilt, "s390x", "flow-v3-O2-nofp")
    assert main(["compare", "--format", "json", path]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["differences"] == []
    assert sum(answer["addresses"].values()) == answer["coverage"]["executable"]
    assert set(answer["sizes"][path]) == {".sframe", ".eh_frame"}


def test_a_contradiction_is_named(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """binutils 2.40 writes a CFA on rbx as one on SP: exit 1, function and both rows."""
    path = path_of(prebuilt, "x86_64", "handcfi-v1-O2-nofp")
    assert main(["compare", path]) == 1
    text = capsys.readouterr().out
    assert "differs hand_other_cfa" in text
    assert "first   CFA=sp+16 RA=c-8 FP=u\n  second  CFA=r3+16 RA=c-8 FP=u" in text


def test_two_files(prebuilt: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    """One file's table against the same file's other one, named on both sides."""
    path = path_of(prebuilt, "aarch64", "flow-v3-O2-nofp")
    assert main(["compare", "--format", "json", f"{path}:cfi", f"{path}:sframe"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["first"], answer["second"]) == (f"{path}:cfi", f"{path}:sframe")


def test_what_cannot_be_compared(
    prebuilt: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two machines, a program and an object, no such file: exit 2 and one line."""
    one = path_of(prebuilt, "aarch64", "flow-v3-O2-nofp")
    for other in (
        path_of(prebuilt, "s390x", "flow-v3-O2-nofp"),
        path_of(prebuilt, "aarch64", "flow-v3-object"),
        str(tmp_path / "missing"),
    ):
        assert main(["compare", one, other]) == 2
        error = capsys.readouterr().err
        assert other in error
        assert error.count("\n") == 1


# -------------------------------------------------------------------------------- nothing in common
ARCH = by_name("x86_64")
assert ARCH is not None
HEAD = cie(ARCH.byte_order, initial(ARCH), column=ARCH.ra, augmentation=b"zR")


def linked(path: Path, address: int, *, sections: bool = True, size: int = 0x100) -> str:
    """A library with code of that size at an address, and an .eh_frame that describes it."""
    frames = HEAD + fde("little", len(HEAD), b"", start=address, size=size)
    parts = [ElfSection(".eh_frame", 1, frames, 2, 0x8000)]
    if sections:
        parts.append(ElfSection(".text", 1, bytes(size), 6, address))
    segments = [(1, 5, 0, address, size, size)]
    path.write_bytes(ElfFile(parts, segments=segments).write())
    return str(path)


@pytest.mark.parametrize("sections", [True, False])
def test_no_address_in_common(
    sections: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing can be said of two files whose code lies apart; the line says where each has its."""
    one = linked(tmp_path / "one", 0x2000)
    other = linked(tmp_path / "other", 0x2100, sections=sections)
    line = Command(capsys).refuse("compare", one, other)
    assert line == (
        f"unwindlab: {other}:cfi: no code in common with {one}:cfi: "
        "its code is at 0x2100 to 0x2200, that of the other at 0x2000 to 0x2100"
    )


@pytest.mark.parametrize("sections", [True, False])
def test_one_address_in_common(
    sections: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is compared, and the rest counted as one file's alone, with and without sections."""
    one = linked(tmp_path / "one", 0x2000)
    other = linked(tmp_path / "other", 0x20FF, sections=sections)
    answer = Command(capsys)("compare", "--format", "json", one, other)
    assert answer.status == 0
    assert answer.json["addresses"] == {
        "equal": 1, "differs": 0, "only_first": 0xFF, "only_second": 0xFF, "neither": 0,
    }  # fmt: skip


def test_program_at_two_places(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same program linked with and without fixed addresses."""
    one = path_of(prebuilt, "s390x", "calls-musl-v3-O2-backchain")
    other = path_of(prebuilt, "s390x", "calls-musl-v3-O2-pie")
    assert "no code in common" in Command(capsys).refuse("compare", one, other)


def test_objects_without_a_common_section(
    tmp_path: Path, prebuilt: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Offsets of one section are not compared with those of another."""
    path = path_of(prebuilt, "x86_64", "flow-v3-object")
    data = Path(path).read_bytes()
    (tmp_path / "other.o").write_bytes(data.replace(b".text", b".code"))
    line = Command(capsys).refuse("compare", path, str(tmp_path / "other.o"))
    assert "no section of code has the same name in both" in line


def test_a_file_without_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its tables are about nothing."""
    path = linked(tmp_path / "one", 0x2000, size=0)
    line = Command(capsys).refuse("compare", f"{path}:cfi", f"{path}:cfi")
    assert line == f"unwindlab: {path}:cfi: no code in it"
