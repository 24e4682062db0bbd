"""Dynamic programs: every loaded file with its own table, wherever and whenever it is mapped.

What is expected of `modules` is right by construction (testprogs/src/dynamic), and what it
prints was seen under qemu-user.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from arch import ALL, Arch
from testprogs.unpack import Tree, unpack_trees
from tests.support.runs import Answer, Command

pytestmark = pytest.mark.compiled

# musl enters the program with SP as the kernel left it (CRTJMP of arch/*/reloc.h), in a
# function that has a frame, and the row does not say so: its one instruction is wrong.
_ENTRY_OF_PROGRAM = ("__dls3", 1)
_JUMP = {"x86_64": 2, "aarch64": 4, "s390x": 2}
"""Bytes of that jump."""
_WRONG_ROWS = {"x86_64": (4, 9), "aarch64": (4, 12), "s390x": (4, 10)}
"""Offsets in wrong_rows between the two changes of SP."""


@pytest.fixture(scope="module")
def trees() -> Mapping[str, Tree]:
    """The root directories by machine."""
    return {tree.arch: tree for tree in unpack_trees()}


def run(command: Command, root: Path, *options: str, program: str = "/bin/modules") -> Answer:
    """``check --format json --root ROOT``."""
    return command("check", "--format", "json", "--root", str(root), *options, program)


def found(answer: Answer) -> set[tuple[str, str, str | None, int]]:
    """(module, verdict, function, bytes) of each finding."""
    return {
        (f["module"], f["verdict"], f["function"], int(f["end"], 16) - int(f["start"], 16))
        for f in answer.json["findings"]
    }


def copy(tree: Tree, folder: Path) -> Path:
    """A root directory that may be changed."""
    return Path(shutil.copytree(tree.path, folder / "root"))


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_findings_name_their_module(
    command: Command, trees: Mapping[str, Tree], arch: Arch, table: str
) -> None:
    """One table error by construction, and those of the tools; nothing else, in five files."""
    tree = trees[arch.name]
    answer = run(command, tree.path, "--table", table)
    guest = answer.json["guest"]
    assert (guest["stdout"], guest["exit_status"]) == (tree.stdout, 0)
    low, high = _WRONG_ROWS[arch.name]
    interpreter = f"ld-musl-{arch.name}.so.1"
    findings = found(answer)
    entry = next(f for f in findings if f[0] == interpreter)
    assert (entry[1] in ("wrong-cfa", "unreadable"), entry[2:]) == (
        True, ("__dls3", _JUMP[arch.name]),
    )  # fmt: skip
    expected = {entry, ("libdep.so", "wrong-cfa", "wrong_rows", high - low)}
    if (arch.name, table) == ("x86_64", "sframe"):
        # ld 2.47.50 describes .plt.got as if something had been pushed, like .plt.
        expected.add(("modules", "wrong-cfa", None, 6))
    if arch.name == "s390x":
        # musl's _start leaves in r14 what the interpreter had there, which _start_c saves: a walk
        # goes on into the interpreter.
        expected.add(("modules", "wrong-end", "_start_c", 52))
    assert findings == expected
    wrong = next(f for f in answer.json["findings"] if f["module"] == "libdep.so")
    # Two instructions each: before, in a copy that is gone then, and behind that.
    assert (wrong["start_offset"], wrong["count"]) == (low, 6)
    assert len(answer.json["findings"]) == len(findings)
    assert {gap["verdict"] for gap in answer.json["gaps"]} == {"no-fde"}
    assert [m["name"] for m in answer.json["modules"]] == [
        "modules", interpreter, "libdep.so", "libplugin.so",
    ]  # fmt: skip


def test_names_without_the_debug_file(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path, arch: Arch
) -> None:
    """The name of a local function is in no symbol table of the library itself."""
    root = copy(trees[arch.name], tmp_path)
    shutil.rmtree(root / "usr")
    functions = {f[2] for f in found(run(command, root, "--table", "cfi")) if f[0] == "libdep.so"}
    assert functions == {None}


def test_a_debug_file_of_another_build_is_not_used(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path
) -> None:
    """Its name has the right build id, its note another."""
    root = copy(trees["x86_64"], tmp_path)
    (debug,) = root.glob("usr/lib/debug/.build-id/*/*.debug")
    build_id = bytes.fromhex(debug.parent.name + debug.stem)
    debug.write_bytes(debug.read_bytes().replace(build_id, bytes(len(build_id))))
    functions = {f[2] for f in found(run(command, root, "--table", "cfi")) if f[0] == "libdep.so"}
    assert functions == {None}


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_a_stack_through_three_files(
    command: Command, trees: Mapping[str, Tree], arch: Arch, table: str
) -> None:
    """Program, library, program, C library, sampled where a symbol of the program says."""
    options = ("--table", table, "--at", "square", "--nth", "4")
    (sample,) = run(command, trees[arch.name].path, *options).json["samples"]
    assert sample["at"] == "square+0x0"
    names = [name.partition("+")[0] for name in sample["functions"]]
    libc = f"ld-musl-{arch.name}.so.1: "
    assert names[:3] == ["libdep.so: dep_fold", "main", f"{libc}libc_start_main_stage2"]
    # What musl's start code, which is assembly without rows, makes of the end is another matter.
    assert sample["walk"][: len(sample["truth"])] == sample["truth"]


def test_a_point_in_a_library_that_is_not_there_yet(
    command: Command, trees: Mapping[str, Tree], arch: Arch
) -> None:
    """The symbol is of a plugin; its second call is of a copy that was mapped by hand."""
    for nth, caller in (("1", "main"), ("2", "main")):
        options = ("--table", "cfi", "--at", "plugin_depth", "--nth", nth)
        (sample,) = run(command, trees[arch.name].path, *options).json["samples"]
        assert sample["at"] == "libplugin.so: plugin_depth+0x0"
        assert sample["functions"][0].startswith(caller)


def test_a_point_that_no_library_brings(command: Command, trees: Mapping[str, Tree]) -> None:
    """It may come until the end, so that it is said then."""
    answer = run(command, trees["x86_64"].path, "--table", "cfi", "--at", "nowhere")
    assert answer.json["not_reached"] == "nowhere"


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_same_seed_same_report(
    command: Command, trees: Mapping[str, Tree], arch: Arch, table: str
) -> None:
    """Byte for byte."""
    options = ("--table", table, "--seed", "7", "--every", "5000")
    first, second = (run(command, trees[arch.name].path, *options) for _ in range(2))
    assert first.stdout == second.stdout


def test_made_tables_say_the_same(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path, arch: Arch
) -> None:
    """SFrame V3 made from .eh_frame, in the program and in all libraries."""
    root = copy(trees[arch.name], tmp_path)
    for path in [root / "bin" / "modules", *(root / "lib").iterdir()]:
        made = tmp_path / path.name
        answer = command("synth", str(path), "-o", str(made), "--sframe-version", "3")
        assert answer.status in (0, 1), answer.stderr
        made.chmod(0o755)
        made.replace(path)
    by_sframe, by_cfi = (run(command, root, "--table", kind) for kind in ("sframe", "cfi"))
    assert by_sframe.json["guest"]["stdout"] == trees[arch.name].stdout
    assert found(by_sframe) == found(by_cfi)


def test_a_damaged_table_of_a_library(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path, arch: Arch
) -> None:
    """The others are checked, and that one is said to be corrupt."""
    root = copy(trees[arch.name], tmp_path)
    library = root / "lib" / "libplugin.so"
    data = library.read_bytes()
    magic = (0xDEE2).to_bytes(2, "little" if arch.byte_order == "little" else "big")
    assert data.count(magic + b"\x03") == 1
    library.write_bytes(data.replace(magic + b"\x03", magic + b"\x63"))
    answer = run(command, root, "--table", "sframe")
    assert answer.json["guest"]["stdout"] == trees[arch.name].stdout
    (finding,) = (f for f in answer.json["findings"] if f["module"] == "libplugin.so")
    assert (finding["verdict"], finding["reason"]) == (
        "corrupt", "offset 0x2: unknown version 99",
    )  # fmt: skip
    assert "libdep.so" in {f["module"] for f in answer.json["findings"]}


def test_a_missing_library(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path, arch: Arch
) -> None:
    """The interpreter says so and exits, as it does on Linux."""
    root = copy(trees[arch.name], tmp_path)
    (root / "lib" / "libdep.so").unlink()
    guest = run(command, root, "--table", "cfi").json["guest"]
    assert guest["exit_status"] == 127
    assert "Error loading shared library libdep.so: No such file" in guest["stderr"]


def test_a_missing_interpreter(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path, arch: Arch
) -> None:
    """It cannot be run, and the message names what is missing."""
    root = copy(trees[arch.name], tmp_path)
    (root / "lib" / f"ld-musl-{arch.name}.so.1").unlink()
    said = command.refuse("check", "--root", str(root), "/bin/modules")
    assert f"ld-musl-{arch.name}.so.1" in said


@pytest.mark.parametrize("machine", [machine.name for machine in ALL])
def test_a_root_is_needed(command: Command, trees: Mapping[str, Tree], machine: str) -> None:
    """The host's own libraries are never used."""
    said = command.refuse("check", str(trees[machine].path / "bin" / "modules"))
    assert "--root" in said


def test_libraries_of_another_machine(
    command: Command, trees: Mapping[str, Tree], tmp_path: Path
) -> None:
    """Their interpreter cannot be used."""
    root = copy(trees["x86_64"], tmp_path)
    other = trees["aarch64"].path / "lib" / "ld-musl-aarch64.so.1"
    shutil.copy(other, root / "lib" / "ld-musl-x86_64.so.1")
    said = command.refuse("check", "--root", str(root), "/bin/modules")
    assert "ld-musl-x86_64.so.1" in said
