import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from emu.errors import UnwindlabError
from emu.report.convert import convert
from emu.sframe.decode import decode
from testprogs.unpack import Prebuilt
from tests.emu.elf_file import ElfFile, ElfSection
from tests.emu.sframe.section import Function, section

FLEX = 1
ROWS = bytes.fromhex("000439080408390009000c043910")


def flexible() -> bytes:
    return section(3, 3, [Function(0x100, 16, ROWS, 3, 0, FLEX)], fixed_ra=-8)


def test_raw_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The section is written, the losses are printed, and the exit status is 0."""
    path, output = tmp_path / "old", tmp_path / "new"
    path.write_bytes(flexible())
    assert convert(str(path), str(output), 2, "text") == 0
    assert capsys.readouterr().out == (
        f"{path}: amd64, SFrame V3 -> V2\n"
        "  before  1 FDEs, 3 rows, 0 faults\n"
        "  after   2 FDEs, 2 rows, 74 bytes\n"
        f"  {output}: raw section for address 0x0\n"
        "1 losses\n"
        "       1  ra-register\n"
        "  0x100 +0x4..+0xc: ra-register: RA depends on r1\n"
    )
    new = decode(output.read_bytes())
    assert new.faults == ()
    assert new.header.version.number == 2


def test_whole_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On request a function goes as soon as one of its rows does; without -o nothing is written."""
    path = tmp_path / "old"
    path.write_bytes(flexible())
    assert convert(str(path), None, 2, "text", whole=True) == 0
    out = capsys.readouterr().out
    assert "  after   0 FDEs, 0 rows, 28 bytes\n1 losses\n" in out
    assert out.endswith("  0x100 +0x4: ra-register: RA depends on r1, the whole function\n")
    assert list(tmp_path.iterdir()) == [path]


def answer(
    path: Path, output: Path | None, version: int, capsys: pytest.CaptureFixture[str]
) -> Any:
    assert convert(str(path), str(output) if output else None, version, "json") == 0
    return json.loads(capsys.readouterr().out)


def test_elf_file(
    tmp_path: Path,
    prebuilt: Mapping[tuple[str, str], Prebuilt],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of an ELF file the section is written for its own address, and losses have names."""
    output = tmp_path / "new"
    report = answer(prebuilt["x86_64", "handcfi-v3-O2-nofp"].path, output, 2, capsys)
    assert (report["from"], report["to"], report["abi"]) == (3, 2, "amd64")
    assert report["output"] == str(output)
    assert report["size"] == output.stat().st_size
    assert report["functions"] == 16
    assert sum(report["refused"].values()) == len(report["refusals"]) == 6
    assert report["refused"]["ra-slot"] == 3
    refusal = report["refusals"][0]
    assert (refusal["function"], refusal["reason"]) == ("hand_other_cfa", "cfa-register")
    assert (refusal["row"], refusal["end"]) == (4, 24)
    new = decode(output.read_bytes(), int(report["address"], 16))
    assert int(refusal["start"], 16) in {fde.start for fde in new.fdes}
    assert (len(new.fdes), new.header.num_fres) == (report["fdes"], report["rows"])


def test_relocatable_file(
    tmp_path: Path,
    prebuilt: Mapping[tuple[str, str], Prebuilt],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What a relocatable file would lose is reported; a raw section of it has no meaning."""
    path = prebuilt["aarch64", "flow-v3-object"].path
    report = answer(path, None, 1, capsys)
    assert report["address"] is None
    assert report["refused"] == {}
    with pytest.raises(UnwindlabError, match="relocations, which a raw section has not"):
        convert(str(path), str(tmp_path / "new"), 1, "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "offset 0x0: neither ELF nor SFrame", id="empty"),
        pytest.param(b"#!/bin/sh\n", "offset 0x0: neither ELF nor SFrame", id="script"),
        pytest.param(b"\xe2\xde\7" + bytes(40), "offset 0x2: unknown version 7", id="version"),
        pytest.param(ElfFile([]).write(), "no section .sframe", id="no section"),
        pytest.param(ElfFile([ElfSection(".sframe", 1, b"")]).write(), "is empty", id="no bytes"),
    ],
)
def test_refusal(content: bytes, words: str, tmp_path: Path) -> None:
    """What cannot be converted is one line with the file and the reason."""
    path = tmp_path / "subject"
    path.write_bytes(content)
    with pytest.raises(UnwindlabError) as caught:
        convert(str(path), None, 3, "text")
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_output_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is missing is one line, and nothing is reported as done."""
    path = tmp_path / "old"
    path.write_bytes(flexible())
    with pytest.raises(UnwindlabError, match="No such file or directory"):
        convert(str(path), str(tmp_path / "no" / "file"), 3, "text")
    assert capsys.readouterr().out == ""
