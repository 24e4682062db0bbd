"""Which file a command line means, below a root directory or of the host."""

import os
import shutil
from pathlib import Path

import pytest

from arch import Arch
from emu.errors import UnwindlabError
from emu.image import load_image
from emu.linux.program import alone, find_program
from testprogs.unpack import Tree, unpack_trees

TREES = {tree.arch: tree for tree in unpack_trees()}
ANY = TREES["x86_64"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root directory that may be changed."""
    return Path(shutil.copytree(ANY.path, tmp_path / "root"))


def script(root: Path, name: str, line: bytes) -> None:
    """An executable text with that first line."""
    path = root / name
    path.write_bytes(line)
    path.chmod(0o755)


@pytest.mark.parametrize("tree", TREES.values(), ids=lambda tree: tree.arch)
def test_a_program_and_its_interpreter(tree: Tree) -> None:
    """Both come from below the root; paths are the guest's."""
    program = find_program("/bin/modules", str(tree.path))
    assert (program.path, program.name) == (b"/bin/modules", b"/bin/modules")
    assert program.interpreter is not None
    assert program.interpreter.path == f"/lib/ld-musl-{tree.arch}.so.1"
    assert [image.arch for image in program.images] == [program.image.arch] * 2


def test_links_are_followed_inside(root: Path) -> None:
    """An absolute link starts at the guest's root; AT_EXECFN is what was asked for."""
    (root / "bin" / "alias").symlink_to("/bin/modules")
    program = find_program("/bin/alias", str(root))
    assert (program.path, program.name) == (b"/bin/modules", b"/bin/alias")


def test_a_link_out_of_the_root_is_not_followed(root: Path, tmp_path: Path) -> None:
    """To the guest there is nothing at its end; the host has no such program either."""
    (tmp_path / "secret").write_bytes((root / "bin" / "modules").read_bytes())
    (root / "bin" / "out").symlink_to(f"..{'/..' * 20}{tmp_path}/secret")
    with pytest.raises(UnwindlabError):
        find_program("/bin/out", str(root))


def test_a_program_of_the_host(tmp_path: Path) -> None:
    """It is taken as it lies there, with the root's interpreter; the guest knows its name alone."""
    path = tmp_path / "prog"
    shutil.copy(ANY.path / "bin" / "modules", path)
    program = find_program(str(path), str(ANY.path))
    assert (program.path, program.name) == (b"/prog", b"/prog")
    assert program.interpreter is not None


def test_a_script(root: Path) -> None:
    """argv as load_script makes it: interpreter, the rest of the line as one word, the script."""
    script(root, "bin/run", b"#! /bin/modules  one two \nmore\n")
    program = find_program("/bin/run", str(root))
    assert program.path == b"/bin/modules"
    assert program.name == b"/bin/run"
    assert program.arguments == (b"/bin/modules", b"one two", b"/bin/run")


def test_a_script_of_a_script(root: Path) -> None:
    """Linux goes on up to a limit."""
    script(root, "bin/inner", b"#!/bin/modules\n")
    script(root, "bin/outer", b"#!/bin/inner -x\n")
    program = find_program("/bin/outer", str(root))
    assert program.arguments == (b"/bin/modules", b"/bin/inner", b"-x", b"/bin/outer")


def test_a_script_of_itself(root: Path) -> None:
    """ELOOP."""
    script(root, "bin/loop", b"#!/bin/loop\n")
    with pytest.raises(UnwindlabError, match="loop"):
        find_program("/bin/loop", str(root))


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        pytest.param(b"#!\n", 0o755, "without an interpreter", id="no interpreter"),
        pytest.param(b"#!/bin/nothing\n", 0o755, "nothing", id="missing interpreter"),
        pytest.param(b"text\n", 0o755, "neither an ELF file", id="text"),
        pytest.param(b"", 0o755, "neither an ELF file", id="empty"),
        pytest.param(b"#!/bin/modules\n", 0o644, "no executable", id="not executable"),
    ],
)
def test_what_cannot_be_run(root: Path, content: bytes, mode: int, said: str) -> None:
    """The message names the file and the reason."""
    path = root / "bin" / "bad"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(UnwindlabError, match=said) as caught:
        find_program("/bin/bad", str(root))
    assert "/bin/bad" in str(caught.value)


def test_what_is_no_file(root: Path) -> None:
    """Directories and fifos are not opened."""
    os.mkfifo(root / "bin" / "fifo")
    for name in ("/bin", "/bin/fifo"):
        with pytest.raises(UnwindlabError, match=name):
            find_program(name, str(root))


def test_no_root(tmp_path: Path) -> None:
    """A root that is none is named."""
    with pytest.raises(UnwindlabError, match="missing"):
        find_program("/bin/modules", str(tmp_path / "missing"))
    with pytest.raises(UnwindlabError, match="--root"):
        find_program(str(ANY.path / "bin" / "modules"), None)


def test_alone(arch: Arch) -> None:
    """A program that needs an interpreter is not run without a root."""
    with pytest.raises(UnwindlabError, match="dynamic"):
        alone(load_image(str(TREES[arch.name].path / "bin" / "modules")))
