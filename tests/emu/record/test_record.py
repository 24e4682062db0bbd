"""Recordings of runs: what a reader finds in the file, beside what `check` says of the same run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from arch import Arch
from emu.export.perf_layout import CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_USER_DEFERRED
from emu.export.perf_records import Comm, DeferredChain, Lost, Mmap, PerfSample
from emu.export.read_core import read_core
from emu.export.read_perf import read_perf
from testprogs.unpack import Prebuilt, Tree, unpack_trees
from tests.support.runs import Answer, Command

pytestmark = pytest.mark.compiled

EVERY = 3001
PROGRAM = "/bin/modules"
TREES = {tree.arch: tree for tree in unpack_trees()}
TAIL_BEHIND_COOKIE = 2
"""A waiting chain ends with a marker and the cookie."""


def record(command: Command, tree: Tree, output: Path, *options: str) -> Any:
    """The summary of ``record`` of the dynamic program."""
    answer: Answer = command(
        "record", "--format", "json", "--root", str(tree.path), "-o", str(output), *options, PROGRAM
    )
    assert answer.status == 0, answer.stderr
    return answer.json


def records(path: Path) -> list[Any]:
    """Of a perf.data file, in its order."""
    return [one for _, one in read_perf(str(path)).records()]


def stitched(path: Path) -> list[tuple[int, ...]]:
    """User chains of all samples, by tid and cookie; () where none came."""
    found = records(path)
    stacks = {(r.where.tid, r.cookie): r.chain for r in found if isinstance(r, DeferredChain)}
    chains = []
    for sample in found:
        if isinstance(sample, PerfSample):
            marker, cookie = sample.chain[-TAIL_BEHIND_COOKIE:]
            assert marker == CONTEXT_USER_DEFERRED
            chains.append(stacks.get((sample.where.tid, cookie), ()))
    return chains


@pytest.fixture
def tree(arch: Arch) -> Tree:
    """The root directory of a machine."""
    return TREES[arch.name]


def truth(command: Command, tree: Tree) -> list[tuple[int, ...]]:
    """True stacks at each EVERY-th instruction, as another command samples them."""
    options = ("--format", "json", "--root", str(tree.path), "--every", str(EVERY))
    return [
        (int(sample["pc"], 16), *(int(ra, 16) for ra in sample["truth"]))
        for sample in command("check", *options, PROGRAM).json["samples"]
    ]


def test_chains_are_the_truth(command: Command, tree: Tree, tmp_path: Path) -> None:
    """By the policy that is never wrong, where nothing is lost."""
    output = tmp_path / "perf.data"
    summary = record(command, tree, output, "--every", str(EVERY))
    chains = stitched(output)
    assert chains == truth(command, tree)
    assert len(chains) > 10
    right = {"right": len(chains), "wrong": 0, "missing": 0}
    assert summary["stitched"] == dict.fromkeys(("by_cookie", "as_perf7", "by_tid"), right)
    assert (summary["samples"], summary["unwinds"], summary["lost"]) == (len(chains),) * 2 + (0,)


def test_without_deferral_chains_come_at_once(command: Command, tree: Tree, tmp_path: Path) -> None:
    """The same stacks, in the samples themselves."""
    output = tmp_path / "perf.data"
    summary = record(command, tree, output, "--every", str(EVERY), "--deferral", "none")
    samples = [r for r in records(output) if isinstance(r, PerfSample)]
    assert [sample.chain for sample in samples] == [
        (CONTEXT_USER, *stack) for stack in truth(command, tree)
    ]
    assert summary["unwinds"] == 0


def test_samples_inside_system_calls(command: Command, tree: Tree, tmp_path: Path) -> None:
    """They have a kernel part; the user part begins behind the instruction that called."""
    output = tmp_path / "perf.data"
    record(command, tree, output, "--syscalls", "1")
    samples = [r for r in records(output) if isinstance(r, PerfSample)]
    assert len(samples) > 20
    assert {sample.chain[0] for sample in samples} == {CONTEXT_KERNEL}
    assert {sample.chain[-2] for sample in samples} == {CONTEXT_USER_DEFERRED}
    assert all(chain for chain in stitched(output))


def test_samples_at_a_point(command: Command, tree: Tree, tmp_path: Path) -> None:
    """Each time that it is reached, from the third on: square is called ten times."""
    output = tmp_path / "perf.data"
    summary = record(command, tree, output, "--at", "square", "--nth", "3")
    chains = stitched(output)
    assert (summary["samples"], len(chains)) == (8, 8)
    assert len({chain[0] for chain in chains}) == 1


def test_code_is_told_before_it_is_sampled(command: Command, tree: Tree, tmp_path: Path) -> None:
    """A name, mappings of all five files, each before the first sample in it."""
    output = tmp_path / "perf.data"
    record(command, tree, output, "--every", str(EVERY), "--syscalls", "1")
    found = records(output)
    assert isinstance(found[0], Comm)
    assert found[0].name == b"modules"
    known: list[Mmap] = []
    for one in found:
        if isinstance(one, Mmap):
            known.append(one)
        elif isinstance(one, DeferredChain):
            pc = one.chain[0]
            assert any(m.address <= pc < m.address + m.size for m in known), hex(pc)
    names = {mapping.path.rpartition(b"/")[2].decode() for mapping in known}
    assert names >= {"modules", f"ld-musl-{tree.arch}.so.1", "libdep.so", "libplugin.so"}


def test_several_cpus_and_tracers(command: Command, tree: Tree, tmp_path: Path) -> None:
    """The process moves; other tracers share the unwinds of perf."""
    output = tmp_path / "perf.data"
    options = ("--every", str(EVERY), "--syscalls", "1", "--cpus", "4", "--tracers", "3")
    summary = record(command, tree, output, *options)
    cpus = {r.where.cpu for r in records(output) if isinstance(r, PerfSample)}
    assert 1 < len(cpus) <= 4
    assert cpus <= set(range(4))
    moments = sum(isinstance(r, PerfSample) for r in records(output))
    assert summary["samples"] == moments + moments // 2 + moments // 3
    assert summary["unwinds"] == moments
    assert summary["unwinds_saved"] == summary["samples"] - moments


def test_loss(command: Command, tree: Tree, tmp_path: Path) -> None:
    """What was lost is counted, told in the file, and never stitched wrong by the cookie."""
    output = tmp_path / "perf.data"
    summary = record(command, tree, output, "--every", "997", "--loss", "0.4")
    found = records(output)
    assert summary["lost"] > 10
    told = sum(r.count for r in found if isinstance(r, Lost))
    # A loss is told by the next entry that finds room; none comes behind the last one.
    assert summary["lost"] - 2 <= told <= summary["lost"]
    counts = summary["stitched"]
    assert counts["by_cookie"]["wrong"] == 0
    assert counts["by_cookie"]["missing"] > 0
    assert counts["by_tid"]["wrong"] > 0
    chains = stitched(output)
    assert [bool(chain) for chain in chains].count(True) == counts["by_cookie"]["right"]


def test_everything_is_lost(command: Command, tree: Tree, tmp_path: Path) -> None:
    """No chain is complete then."""
    output = tmp_path / "perf.data"
    summary = record(command, tree, output, "--every", str(EVERY), "--loss", "1")
    assert summary["stitched"]["by_cookie"]["right"] == 0


@pytest.mark.parametrize("kind", ["perf", "speedscope", "folded"])
def test_same_seed_same_file(command: Command, tree: Tree, tmp_path: Path, kind: str) -> None:
    """Byte for byte."""
    options = ("--to", kind, "--every", str(EVERY), "--loss", "0.3", "--cpus", "2", "--seed", "5")
    for name in ("one", "two"):
        record(command, tree, tmp_path / name, *options)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_watching_changes_nothing(command: Command, tree: Tree, tmp_path: Path) -> None:
    """The guest executes the same instructions whether or not it is sampled."""
    plain = command("check", "--format", "json", "--root", str(tree.path), PROGRAM).json["guest"]
    summary = record(command, tree, tmp_path / "f", "--every", "100", "--syscalls", "1")
    assert (summary["instructions"], summary["exit_status"]) == (plain["instructions"], 0)


def test_profiles(command: Command, tree: Tree, tmp_path: Path) -> None:
    """speedscope has the policy and the truth; folded stacks weigh as much as all samples."""
    options = ("--every", str(EVERY), "--policy", "mainline")
    summary = record(command, tree, tmp_path / "s.json", "--to", "speedscope", *options)
    profiles = json.loads((tmp_path / "s.json").read_text())["profiles"]
    assert [profile["name"] for profile in profiles] == ["mainline", "truth"]
    assert all(len(p["samples"]) == summary["samples"] for p in profiles)
    record(command, tree, tmp_path / "f.txt", "--to", "folded", "--every", str(EVERY))
    lines = (tmp_path / "f.txt").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == EVERY * summary["samples"]
    assert any(";main;dep_fold;square" in line for line in lines) or any(
        ";main" in line for line in lines
    )


def test_a_core(
    command: Command, prebuilt: Mapping[tuple[str, str], Prebuilt], arch: Arch, tmp_path: Path
) -> None:
    """The process as it stands at the point, registers and stack."""
    path = str(prebuilt[arch.name, "calls-musl-v3-O2"].path)
    output = tmp_path / "core"
    options = ("--at", "is_even", "--nth", "5")
    assert command("record", "--to", "core", "-o", str(output), *options, path).status == 0
    (sample,) = command("check", "--format", "json", *options, path).json["samples"]
    (thread,) = read_core(str(output)).threads
    assert thread.pc == int(sample["pc"], 16)
    stack = command("backtrace", "--format", "json", "--core", str(output), path)
    walk = stack.json["stacks"][0]["walks"]["sframe"]["walk"]
    assert walk[: len(sample["walk"])] == sample["walk"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--every N, --syscalls N or --at POINT"),
        (("--to", "core"), "needs --at POINT"),
        (("--at", "#5"), "one instruction is for --to core"),
        (("--at", "0x5"), "no code there"),
        (("--every", "5", "--cookie", "sweet"), "no cookie layout 'sweet'"),
        (("--every", "5", "--tracers", "63"), "only 62 can be registered"),
    ],
)
def test_refusals(command: Command, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    """One line that says why."""
    tree = TREES["x86_64"]
    root = ("--root", str(tree.path))
    line = command.refuse("record", "-o", str(tmp_path / "out"), *root, *options, PROGRAM)
    assert said in line
    assert not (tmp_path / "out").exists()


def test_an_output_is_needed(command: Command) -> None:
    """It is a binary file: not for stdout."""
    root = ("--root", str(TREES["x86_64"].path))
    assert "needs -o" in command.refuse("record", *root, "--every", "5", PROGRAM)
