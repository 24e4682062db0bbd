"""The `synth` command over test programs and files made by hand."""

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from arch import Arch, by_name
from emu.errors import UnwindlabError
from emu.image import load_image
from emu.report.synth import synth, synthesize
from emu.sframe.container import decode_contained, find_section
from emu.sframe.decode import Decoded
from testprogs.unpack import Prebuilt
from tests.emu.cfi.section import cie, fde, initial
from tests.emu.elf_file import ElfFile, ElfSection

Programs = Mapping[tuple[str, str], Prebuilt]
Capture = pytest.CaptureFixture[str]

TEXT, FRAMES = 0x2000, 0x8000
ADVANCE = b"\x44"


def answer(capsys: Capture, *arguments: Any, **options: Any) -> Any:
    """The JSON report."""
    capsys.readouterr()
    assert synth(*arguments, format="json", **options) == 0
    return json.loads(capsys.readouterr().out)


def written(path: Path) -> Decoded:
    """The table of a file."""
    image = load_image(str(path))
    contained = find_section(image)
    assert contained is not None
    return decode_contained(image, contained)


def library(
    folder: Path, arch: Arch, frames: bytes, machine: int = 0, name: str = "made.so"
) -> str:
    """A file with code and this .eh_frame."""
    path = folder / name
    text = ElfSection(".text", 1, bytes(256), 6, TEXT)
    section = ElfSection(".eh_frame", 1, frames, 2, FRAMES)
    path.write_bytes(
        ElfFile(
            [text, section],
            machine=machine or arch.elf_machine,
            order="<" if arch.byte_order == "little" else ">",
            segments=[(1, 5, 0, 0, 0x100, 0x10000)],
        ).write()
    )
    return str(path)


def one_function(arch: Arch, rules: bytes, augmentation: bytes = b"zR") -> bytes:
    """An .eh_frame with one function of two rows."""
    head = cie(arch.byte_order, initial(arch), column=arch.ra, augmentation=augmentation)
    return head + fde(arch.byte_order, len(head), ADVANCE + rules, start=TEXT)


def test_report(arch: Arch, prebuilt: Programs, tmp_path: Path, capsys: Capture) -> None:
    """Counts agree with the table that is written, and what was refused is named."""
    path = str(prebuilt[arch.name, "calls-glibc-O2"].path)
    report = answer(capsys, path, str(tmp_path / "new"))
    header = written(tmp_path / "new").header
    assert report["functions"] == report["given"] > 900
    assert (header.num_fdes, header.num_fres) == (report["fdes"], report["rows"])
    assert header.version.number == report["version"] == 3
    assert sum(report["refused"].values()) == len(report["refusals"])
    assert report["faults"] == []


def test_old_table_is_gone(arch: Arch, prebuilt: Programs, tmp_path: Path) -> None:
    """A program whose table the linker made has the new one, in another version, and no fault."""
    path = prebuilt[arch.name, "flow-v3-O2-nofp"].path
    version = 2 if arch.name == "s390x" else 1
    assert synth(str(path), str(tmp_path / "new"), version, report_output="/dev/null") == 0
    new = written(tmp_path / "new")
    assert new.header.version.number == version
    assert new.faults == ()
    assert {fde.start for fde in new.fdes} <= {fde.start for fde in written(path).fdes}


def test_refusals_of_the_assembler(prebuilt: Programs, capsys: Capture) -> None:
    """Each function that it leaves out, with the reason; V3 itself can say all of them."""
    path = str(prebuilt["aarch64", "handcfi-v3-O2-nofp"].path)
    assert answer(capsys, path, None)["refused"] == {}
    report = answer(capsys, path, None, like_gas=True)
    refused = {one["function"]: one["reason"] for one in report["refusals"]}
    assert refused["hand_other_cfa"] == "gas-cfa-register"
    assert set(report["refused"]) == set(refused.values())
    assert all(one["end"] is None for one in report["refusals"])
    assert report["functions"] == report["given"] - len(refused)


def test_rows_that_a_version_cannot_say(arch: Arch, tmp_path: Path, capsys: Capture) -> None:
    """Only they are left out, with their place; like the assembler, the whole function."""
    other = 3 if arch.name == "x86_64" else 9
    rules = bytes((0x0D, other)) + ADVANCE + bytes((0x0D, arch.sp))
    path = library(tmp_path, arch, one_function(arch, rules))
    assert answer(capsys, path, None)["refused"] == {}
    report = answer(capsys, path, None, 2)
    (refused,) = report["refusals"]
    assert (refused["reason"], refused["row"], refused["end"]) == ("cfa-register", 4, 8)
    assert (report["functions"], report["fdes"], report["rows"]) == (1, 2, 2)
    report = answer(capsys, path, None, 2, like_gas=True)
    (refused,) = report["refusals"]
    assert (refused["start"], refused["row"], refused["end"]) == (hex(TEXT), 4, None)
    assert (report["functions"], report["fdes"], report["rows"]) == (0, 0, 0)


def test_second_key_comes_through(tmp_path: Path, capsys: Capture) -> None:
    """Functions whose CIE names key B have the bit, in every version."""
    arch = by_name("aarch64")
    assert arch is not None
    path = library(tmp_path, arch, one_function(arch, b"\x2d", b"zRB"))
    for version in (1, 2, 3):
        answer(capsys, path, str(tmp_path / "new"), version)
        (function,) = written(tmp_path / "new").fdes
        assert function.pauth_key == "b"


def test_signal_frames_come_through(arch: Arch, tmp_path: Path, capsys: Capture) -> None:
    """They are marked in V3 and refused before; what the assembler refuses keeps the mark."""
    path = library(tmp_path, arch, one_function(arch, b"\x0e" + b"\xb0\x02", b"zRS"))
    answer(capsys, path, str(tmp_path / "new"))
    (function,) = written(tmp_path / "new").fdes
    assert (function.signal, function.last - function.first) == (True, 2)
    assert answer(capsys, path, None, 2)["refused"] == {"signal": 1}

    path = library(tmp_path, arch, one_function(arch, bytes((0x07, arch.sp)), b"zRS"))
    report = answer(capsys, path, str(tmp_path / "new"), like_gas=True)
    (function,) = written(tmp_path / "new").fdes
    assert (function.signal, function.last - function.first) == (True, 0)
    assert report["refused"] == {"gas-undefined": 1}


def test_relocatable_object(
    arch: Arch, prebuilt: Programs, tmp_path: Path, capsys: Capture
) -> None:
    """Its rows are counted; an output is refused and not begun."""
    path = str(prebuilt[arch.name, "flow-v3-object"].path)
    report = answer(capsys, path, None)
    assert report["functions"] > 10
    assert report["address"] is None
    with pytest.raises(UnwindlabError, match=r"flow-v3-object: in a relocatable object"):
        synth(path, str(tmp_path / "new.o"))
    assert list(tmp_path.iterdir()) == []


def test_text_report(prebuilt: Programs, tmp_path: Path) -> None:
    """Counts, reasons and functions, a line each, in a file if one is named."""
    path = str(prebuilt["aarch64", "handcfi-v3-O2-nofp"].path)
    new, report = tmp_path / "new", tmp_path / "report"
    assert synth(path, str(new), like_gas=True, report_output=str(report)) == 0
    lines = report.read_text().splitlines()
    assert lines[0] == f"{path}: aarch64, .eh_frame -> SFrame V3"
    assert f"  written to {new}" in lines
    assert "       1  gas-cfa-register" in lines
    assert any(
        "<hand_other_cfa>" in line and line.endswith(", the whole function") for line in lines
    )


def test_output_may_be_synthesized_from_again(prebuilt: Programs, tmp_path: Path) -> None:
    """A program that was given a table can be given another one."""
    first, second = tmp_path / "first", tmp_path / "second"
    path = prebuilt["s390x", "flow-v3-O2-nofp"].path
    assert synth(str(path), str(first), 2, report_output="/dev/null") == 0
    assert synth(str(first), str(second), 3, report_output="/dev/null") == 0
    assert len(written(first).fdes) == len(written(second).fdes) > 10


def test_permissions_are_those_of_the_old_file(prebuilt: Programs, tmp_path: Path) -> None:
    """A program stays executable; no set-user-ID bit goes over."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(prebuilt["s390x", "flow-v3-O2-nofp"].path.read_bytes())
    old.chmod(0o4751)
    assert synth(str(old), str(new), report_output="/dev/null") == 0
    assert stat.S_IMODE(new.stat().st_mode) == 0o751


def test_unreadable_entries_are_named(tmp_path: Path, capsys: Capture) -> None:
    """A FDE without CIE is listed, the others are used; without others there is no table."""
    arch = by_name("x86_64")
    assert arch is not None
    good = one_function(arch, b"")
    bad = fde("little", len(good), b"", back=2)
    report = answer(capsys, library(tmp_path, arch, good + bad), None)
    assert report["functions"] == 1
    assert len(report["faults"]) == 1
    with pytest.raises(UnwindlabError, match=r"\.eh_frame: FDE at 0x0: "):
        synth(library(tmp_path, arch, fde("little", 0, b"", back=2)), None)


def test_what_cannot_be_done(
    prebuilt: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that names the file, and no output."""
    monkeypatch.chdir(tmp_path)
    arch = by_name("x86_64")
    assert arch is not None
    good = one_function(arch, b"")
    path = prebuilt["x86_64", "flow-v3-O2-nofp"].path
    (tmp_path / "text").write_text("no ELF file")
    (tmp_path / "cut").write_bytes(path.read_bytes()[:5000])
    for made, output in (
        ("missing", "new"),
        ("text", "new"),
        ("cut", "new"),
        (library(tmp_path, arch, b"", name="empty"), "new"),
        (library(tmp_path, arch, good, machine=8, name="other"), "new"),
        (library(tmp_path, arch, good), "missing/new"),
        (library(tmp_path, arch, good), "."),
    ):
        with pytest.raises(UnwindlabError) as caught:
            synth(made, output)
        assert "\n" not in str(caught.value)
        assert (output if "/" in output or output == "." else made) in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cut", "empty", "made.so", "other", "text",
    ]  # fmt: skip


def test_every_byte_of_a_table_may_be_wrong(tmp_path: Path) -> None:
    """A damaged .eh_frame is refused in part or as a whole, never a crash."""
    arch = by_name("s390x")
    assert arch is not None
    good = one_function(arch, b"\x0e\xb0\x02\x05\x0b\x09\x05\x0e\x06")
    for at in range(len(good)):
        for value in (0, 0x0F, 0x7F, 0xFF):
            image = load_image(
                library(tmp_path, arch, good[:at] + bytes((value,)) + good[at + 1 :])
            )
            for like_gas in (False, True):
                try:
                    synthesis = synthesize(image, 3, address=0x10000, like_gas=like_gas)
                except UnwindlabError:
                    continue
                assert synthesis.functions <= synthesis.given <= 1
