"""Campaigns with this host's compiler: found, reduced, stored, killed, resumed, replayed."""

import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emu.cli import main
from emu.fuzz.making import Source, Workshop
from emu.fuzz.matrix import Point
from emu.fuzz.planning import begin
from emu.fuzz.reduce.witness import Witness
from emu.fuzz.replay import replay
from emu.fuzz.store import Store
from emu.fuzz.symptom import Symptom
from emu.fuzz.toolchains import Toolchains
from emu.image import load_image
from emu.report.witness import commands
from tests.support.campaigns import PLANTED, campaign, plan_of, right_by_another
from tests.support.native import broken, native, needs_gcc

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [needs_gcc, pytest.mark.compiled]


def test_a_planted_fault_is_found_and_reduced(tmp_path: Path) -> None:
    """An assembler that forgets every adjustment by a push: a few lines show it."""
    found = native()
    command = (sys.executable, PLANTED, "def-cfa-offset-drop", "--one-in", "150", "--", "as")
    plan = plan_of(
        toolchains=Toolchains(found.compilers, (broken(command),)), references=found.assemblers,
        seed=1, points=1,
    )  # fmt: skip
    store = campaign(tmp_path / "store", plan, 8, "as: cfi wrong cfa by sp")
    mine = [each.key for each in store.buckets() if "as: cfi wrong cfa by sp" in each.key]
    witnesses = [store.witness(key) for key in mine]
    assert witnesses
    for witness in witnesses:
        assert witness is not None
        assert witness.complete
        assert len(witness.source.text.splitlines()) <= 15
        right_by_another(witness, tmp_path)


def test_killed_and_resumed(tmp_path: Path) -> None:
    """Whenever it is killed, what was done stays done, and the end is the same."""
    whole = campaign(tmp_path / "whole", plan_of(), 8)
    path = tmp_path / "killed"
    store = Store(str(path), create=True)
    begin(store, plan_of())
    store.close()
    script = (
        "from emu.fuzz.campaign import Campaign, Limits; from emu.fuzz.pool import Processes;"
        "from emu.fuzz.store import Store;"
        f"Campaign(Store({str(path)!r}), Processes(2), Limits(8), lambda bucket: True)"
        ".run(lambda done: None)"
    )
    for wanted in (1, 3, 5):
        process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
        while _done(path) < wanted and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = _rows(path)
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    after = _rows(path)
    assert before.items() <= after.items()
    assert after == _rows(tmp_path / "whole")
    assert [b.key for b in Store(str(path)).buckets()] == [b.key for b in whole.buckets()]


def _done(path: Path) -> int:
    base = sqlite3.connect(path)
    try:
        return int(base.execute("SELECT COUNT(*) FROM sources").fetchone()[0])
    finally:
        base.close()


def _rows(path: Path) -> dict[tuple[int, int], tuple[str, str]]:
    """Of each build: (status, digest of the object)."""
    base = sqlite3.connect(path)
    rows = base.execute("SELECT source, at, status, object FROM builds").fetchall()
    base.close()
    assert len(rows) == len({row[:2] for row in rows})
    return {row[:2]: row[2:] for row in rows}


def test_replays_say_the_same(tmp_path: Path) -> None:
    store = campaign(tmp_path / "store", plan_of(seed=3), 4)
    numbers = list(store.builds())
    assert len(numbers) >= 6
    for number in numbers:
        assert replay(store, number, rebuild=False).same
        again = replay(store, number, rebuild=True)
        assert again.same
        assert again.rebuilt == "same"
    assert main(["fuzz", "replay", str(tmp_path / "store")]) == 0


def test_a_replay_tells_another_verdict(tmp_path: Path) -> None:
    """If what is stored is not what is seen, it says so."""
    store = campaign(tmp_path / "store", plan_of(), 1)
    number = next(store.builds())
    base = sqlite3.connect(tmp_path / "store")
    symptom = (
        '{"oracle": "cfi", "verdict": "wrong-cfa", "rule": "", "pattern": "", "function": "f", '
        '"offset": 0, "start": 0, "end": 1, "row": "", "expected": "", "got": "", '
        '"proven": false, "by": "sweep", "detail": ""}'
    )
    base.execute("INSERT INTO symptoms VALUES(?, 'invented', ?)", (number, symptom))
    base.commit()
    base.close()
    assert not replay(store, number, rebuild=False).same
    assert main(["fuzz", "replay", str(tmp_path / "store"), str(number)]) == 1


def test_users_own_sources(tmp_path: Path) -> None:
    """A file with a wrong note by construction, beside one that is right."""
    wrong = (
        ".text\n.globl f\n.type f, @function\nf:\n.cfi_startproc\npush %rbx\n"
        ".cfi_def_cfa_offset 24\npop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size f, .-f\n"
    )
    right = wrong.replace("24", "16")
    plan = plan_of(files=(Source(right, "asm"), Source(wrong, "asm")))
    store = campaign(tmp_path / "store", plan, 10, "cfi")
    assert store.done() == {0, 1}
    (bucket,) = store.buckets()
    assert "cfi wrong cfa by sp high after push" in bucket.key
    witness = store.witness(bucket.key)
    assert witness is not None
    assert witness.symptom.expected != witness.symptom.got
    folder = tmp_path / "found"
    assert main(["fuzz", "report", store.path, "--witnesses", str(folder)]) == 1
    (place,) = folder.iterdir()
    text = (place / "witness.txt").read_text()
    assert bucket.key in text
    # What stands there can be followed, and shows the fault.
    make, look = (line.split()[1:] for line in text.splitlines() if line.startswith("  $ "))
    subprocess.run(make, cwd=place, check=True)
    assert (place / "again.o").read_bytes() == witness.object
    assert look[0] == "unwindlab"
    assert main([*look[1:-1], str(place / look[-1])]) == 1


def test_command_lines_make_the_same_object(tmp_path: Path) -> None:
    source = Source("int f(int x) {\n  return x + 1;\n}\n", "c")
    symptom = Symptom("cfi", "wrong-cfa", "", "", "f", 0, 0, 1)
    (tmp_path / "source.c").write_text(source.text)
    (compiler,), (assembler,) = native().compilers, native().assemblers
    for point in (
        Point(compiler, assembler, ("-O2", "-fno-pie")),
        Point(compiler, assembler, ("-O1",), sframe=bool(assembler.sframe)),
        Point(compiler, assembler, ("-O2", "-flto")),
    ):
        with Workshop() as shop:
            made = shop.make(source, point)
        witness = Witness(point, source, made.assembly, made.object, symptom, 1, True)
        for line in commands(witness, "source.c")[:-1]:
            subprocess.run(shlex.split(line), cwd=tmp_path, check=True)
        again = (tmp_path / "again.o").read_bytes()
        # The symbol of the file has another name, and link-time optimisation names at random.
        assert point.lto or _code(again, tmp_path) == _code(made.object, tmp_path)
        assert len(again) > 500


def _code(object: bytes, folder: Path) -> list[bytes]:
    (folder / "x.o").write_bytes(object)
    image = load_image(str(folder / "x.o"))
    names = (".text", ".eh_frame", ".sframe")
    sections = [image.section(name) for name in names]
    return [image.data[s.offset : s.offset + s.size] for s in sections if s is not None]


def test_a_tool_that_refuses_is_counted(tmp_path: Path) -> None:
    plan = plan_of(files=(Source("int f( {\n", "c"),))
    store = campaign(tmp_path / "store", plan, 10)
    assert store.count("status") == {"rejected": 2}
    assert all("error" in detail for detail in store.count("detail"))


def test_a_damaged_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = tmp_path / "store"
    store = campaign(whole, plan_of(files=(Source("int f(void) {\n  return 3;\n}\n", "c"),)), 1)
    store.close()
    damages = {
        "plan": "UPDATE meta SET value = '{\"machines\": []}' WHERE key = 'plan'",
        "json": "UPDATE builds SET point = '{'",
        "object": "UPDATE objects SET data = x'00112233'",
        "table": "DROP TABLE spent",
    }
    for name, statement in damages.items():
        place = tmp_path / name
        place.write_bytes(whole.read_bytes())
        base = sqlite3.connect(place)
        base.execute(statement)
        base.commit()
        base.close()
    for verb, name in (
        ("resume", "plan"), ("status", "json"), ("replay", "object"), ("status", "table")
    ):  # fmt: skip
        limits = ["--sources", "2"] if verb == "resume" else []
        assert main(["fuzz", verb, str(tmp_path / name), *limits]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{tmp_path / name}: damaged, or of another version" in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["status", "absent"], "absent: no such campaign"),
        (["report", "garbage"], "garbage: no campaign"),
        (["replay", "absent", "3"], "absent: no such campaign"),
        (["run", "garbage", "--sources", "1"], "garbage: exists already"),
        (["run", "new"], "when is it to stop?"),
        (["run", "new", "--sources", "1", "--arch", "vax"], "--arch vax: none of"),
        (["run", "new", "--sources", "1", "--as", "as 'x"], "No closing quotation"),
        (["run", "new", "--sources", "1", "--as", ""], "--as '': names no tool"),
        (["run", "no/folder/new", "--sources", "1"], "no/folder/new: no such folder"),
        (["run", "new", "--sources", "1", "--cc", "/no/such/cc"], "/no/such/cc"),
        (["run", "new", "--sources", "1", "--as", "true"], "names no machine"),
        (["run", "new", "--source", "absent.c"], "absent.c: cannot be read"),
        (["run", "new", "--source", "file.f90"], "file.f90: not one of"),
        (["resume", "absent", "--sources", "1"], "absent: no such campaign"),
    ],
)
def test_what_cannot_be_done(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("garbage").write_bytes(os.urandom(5000))
    assert main(["fuzz", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not Path("new").exists()


def test_what_is_no_campaign_is_left_alone(tmp_path: Path) -> None:
    foreign, empty = tmp_path / "foreign", tmp_path / "empty"
    base = sqlite3.connect(foreign)
    base.execute("CREATE TABLE meta(key TEXT, value TEXT)")
    base.commit()
    base.close()
    empty.touch()
    before = foreign.read_bytes()
    assert main(["fuzz", "status", str(foreign)]) == 2
    assert main(["fuzz", "report", str(empty)]) == 2
    assert foreign.read_bytes() == before
    assert empty.read_bytes() == b""


def test_nothing_could_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int f( {\n")
    store = str(tmp_path / "store")
    assert main(["fuzz", "run", store, "--source", str(source), "--points", "1"]) == 2
    assert f"{store}: no build could be judged" in capsys.readouterr().err
