"""Which section is the table: the same one for every command."""

import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from emu.image import load_image
from emu.sframe.container import SECTION_NAME, find_section
from testprogs.unpack import Prebuilt
from tests.support.runs import Command

Programs = Mapping[tuple[str, str], Prebuilt]

COMMANDS = (
    ("dump",), ("compare",), ("convert", "--sframe-version", "2"), ("synth",),
    pytest.param(("check", "--table", "sframe"), marks=pytest.mark.compiled),
    pytest.param(("backtrace", "--at", "main"), marks=pytest.mark.compiled),
)  # fmt: skip


@pytest.fixture
def whole(prebuilt: Programs, tmp_path: Path) -> Path:
    """A program with one table."""
    path = tmp_path / "program"
    path.write_bytes(prebuilt["x86_64", "flow-v3-O2-nofp"].path.read_bytes())
    return path


def header(data: bytes, name: str) -> int:
    """Offset of the header of a section."""
    (shoff,) = struct.unpack_from("<Q", data, 40)
    (count, names) = struct.unpack_from("<HH", data, 60)
    (strings,) = struct.unpack_from("<Q", data, shoff + 64 * names + 24)
    for at in range(shoff + 64, shoff + 64 * count, 64):
        begin = strings + struct.unpack_from("<I", data, at)[0]
        if data[begin : data.index(b"\0", begin)] == name.encode():
            return at
    raise AssertionError(f"no section {name}")


@pytest.mark.parametrize("name", [SECTION_NAME, ".eh_frame"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_index_0_is_no_section(
    command: tuple[str, ...], name: str, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name in the first header hides no table."""
    wanted = Command(capsys)(*command, str(whole))
    data = bytearray(whole.read_bytes())
    (shoff,) = struct.unpack_from("<Q", data, 40)
    data[shoff : shoff + 4] = data[(at := header(data, name)) : at + 4]
    whole.write_bytes(data)
    assert Command(capsys)(*command, str(whole)) == wanted


@pytest.mark.parametrize("kind", ["first", "inactive"])
@pytest.mark.parametrize("command", COMMANDS[:3], ids=lambda command: command[0])
def test_a_header_that_is_no_section_is_no_table(
    command: tuple[str, ...], kind: str, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in the first header nor in an inactive one is there a table to be found."""
    data = bytearray(whole.read_bytes())
    (shoff,) = struct.unpack_from("<Q", data, 40)
    at = header(data, SECTION_NAME)
    if kind == "first":
        data[shoff : shoff + 64], data[at : at + 64] = data[at : at + 64], bytes(64)
    else:
        struct.pack_into("<I", data, at + 4, 0)
    whole.write_bytes(data)
    assert find_section(load_image(str(whole))) is None
    line = Command(capsys).refuse(*command, str(whole))
    assert line.endswith((f"no section {SECTION_NAME}", f"no {SECTION_NAME} in it"))
