"""Tables that `synth` makes, against the .eh_frame they come from and against the assembler's.

A synthesized table must say at each address what .eh_frame says, unless the format cannot; so a
run checked by it has the verdicts of a run checked by .eh_frame, and gaps only where something
was refused. With ``--like-gas`` it must say what the assembler wrote. Where it does not, a
defect of an assembler is behind it, and DEFECTS names that.

Set UNWINDLAB_OBJECTS to a folder to compare all objects below it as well, for instance those
that `testprogs/corpus.py` made.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import arch as machines
from emu.check.compare import compare_tables
from emu.check.findings import Finding
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.image import Image, load_image
from emu.report.compare import code_of
from emu.report.synth import Refused, synth, synthesize
from emu.sframe import layout
from emu.sframe.container import find_section
from emu.sframe.decode import decode
from emu.sframe.table import function_rows, sframe_table
from emu.symbols import FunctionNames
from emu.tables import Table
from testprogs.unpack import Prebuilt

Programs = Mapping[tuple[str, str], Prebuilt]

RUNS = (
    "work-glibc-O2",
    "calls-glibc-O2",
    "calls-musl-v3-O2-pie",
    "work-musl-v3-O2",
    "flow-v3-O2-nofp",
    "frames-v3-O2-fp",
    "handcfi-v3-O2-nofp",
)
"""Programs of each machine that are run."""
GAPS = {"no-module", "no-table", "no-fde", "no-fre", "refused"}

UNDEFINED = "2.40 and 2.44 pass over .cfi_undefined (2.46 is the first that ends the stack)"
OTHER_CFA = "2.40 writes a CFA on another register as one on SP"
MOVED_RA = "2.40 and 2.44 pass over a return address that moves, on a machine with a fixed slot"
RESTORE = "2.47.50 restores a register to the function's first row, not to its CIE"
DEFECTS = {
    (1, "_start"): UNDEFINED,
    (2, "_start"): UNDEFINED,
    (1, "first"): UNDEFINED,
    (2, "first"): UNDEFINED,
    (1, "hand_other_cfa"): OTHER_CFA,
    (1, "frame_40k"): OTHER_CFA,
    (1, "frame_600k"): OTHER_CFA,
    (1, "hand_ra_register"): MOVED_RA,
    (2, "hand_ra_register"): MOVED_RA,
    (1, "hand_ra_slot"): MOVED_RA,
    (2, "hand_ra_slot"): MOVED_RA,
    (3, "atom.cold"): RESTORE,
}
"""Functions in which a version's assembler is wrong."""


# -------------------------------------------------------------------------------------- runs
def run(path: Path, kind: str, entry: Prebuilt) -> CheckResult:
    """Run a program to its end."""
    return Run(str(path), RunOptions(table=kind, arguments=tuple(entry.arguments or ()))).to_end()


def inside(finding: Finding, refused: tuple[Refused, ...]) -> bool:
    """Whether something was refused at a finding or gap."""
    for one in refused:
        low, high = one.function.start, one.function.start + one.function.size
        if one.end is not None and one.row is not None:
            low, high = low + one.row, low + one.end
        if low < finding.end and finding.start < high:
            return True
    return False


def told(findings: tuple[Finding, ...], refused: tuple[Refused, ...]) -> Counter[object]:
    """Findings that are not about something refused, so that they can be compared."""
    return Counter(
        (one.verdict, one.role, one.start, one.end, one.count, one.checked, one.row)
        for one in findings
        if not inside(one, refused)
    )


def same_verdicts(entry: Prebuilt, folder: Path, version: int, like_gas: bool = False) -> int:
    """Run a program by .eh_frame and by the table made of it; how much was refused."""
    made = folder / f"{entry.arch}-{entry.name}"
    assert synth(str(entry.path), str(made), version, like_gas, "text", os.devnull) == 0
    image = load_image(str(entry.path))
    refused = synthesize(image, version, address=0, like_gas=like_gas).refused
    # The new program in both runs: its longer list of segments costs some instructions.
    before, after = run(made, "cfi", entry), run(made, "sframe", entry)
    for result in (before, after):
        assert result.guest.stopped == "exit"
        assert result.guest.exit_status == entry.exit_status
        assert result.guest.stdout.decode() == entry.stdout
    assert after.guest.instructions == before.guest.instructions
    assert told(after.findings, refused) == told(before.findings, refused)
    if not refused:
        assert (after.verdicts, after.caller_verdicts) == (before.verdicts, before.caller_verdicts)
    known = {(gap.start, gap.end, gap.role) for gap in before.gaps}
    new = [gap for gap in after.gaps if (gap.start, gap.end, gap.role) not in known]
    assert [gap for gap in new if not inside(gap, refused)] == []
    return len(refused)


@pytest.mark.compiled
@pytest.mark.parametrize("name", RUNS)
def test_same_verdicts_as_by_eh_frame(
    arch: machines.Arch, name: str, prebuilt: Programs, tmp_path: Path
) -> None:
    """V3 says all that .eh_frame does, in programs of each C library."""
    same_verdicts(prebuilt[arch.name, name], tmp_path, 3)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["work-glibc-O2", "handcfi-v3-O2-nofp", "leaves-v3-O2-nofp"])
@pytest.mark.parametrize("version", [1, 2])
def test_same_verdicts_in_older_versions(
    arch: machines.Arch, name: str, version: int, prebuilt: Programs, tmp_path: Path
) -> None:
    """What V1 and V2 can say; the rest are gaps. V2 parks values in registers on s390x."""
    same_verdicts(prebuilt[arch.name, name], tmp_path, version)


@pytest.mark.compiled
def test_whole_functions_become_gaps(prebuilt: Programs, tmp_path: Path) -> None:
    """What the assembler refuses has no rows at all, and nothing else is lost."""
    assert same_verdicts(prebuilt["aarch64", "handcfi-v3-O2-nofp"], tmp_path, 3, like_gas=True) > 0


def test_parked_values_in_v2(prebuilt: Programs) -> None:
    """s390x leaf functions that keep RA or FP in floating-point registers are in a V2 table."""
    image = load_image(str(prebuilt["s390x", "leaves-v3-O2-nofp"].path))
    synthesis = synthesize(image, 2, address=0)
    words = {
        word
        for function in synthesis.encoding.encoded.form.functions
        for row in function.rows
        for word in row.content.words[1:]
    }
    assert {word for word in words if word & 1}
    assert "ra-register" not in synthesis.reasons()


# ------------------------------------------------------------------------- what the assembler wrote
def made_table(image: Image, version: int) -> Table:
    """The table that ``synth --like-gas`` makes, read back."""
    relocatable = image.kind == "rel"
    address = 0 if relocatable else 0x100000
    synthesis = synthesize(image, version, address=None if relocatable else address, like_gas=True)
    size = layout.VERSIONS[version].fde_size
    starts = {layout.HEADER_SIZE + i * size: p for i, p in enumerate(synthesis.places)}
    decoded = decode(
        synthesis.data,
        address,
        image.byte_order,
        starts if relocatable else None,
        image.machine,
    )
    assert decoded.faults == ()
    return Table("sframe", function_rows(decoded, relocatable), len(synthesis.data))


def unlike_gas(path: Path) -> Iterator[tuple[int, str | None, str]]:
    """(version, function, what) of each stretch at which the assembler says something else.

    Objects that were assembled without a table are part of linked programs, so there only
    what the assembler did write counts.
    """
    image = load_image(str(path))
    contained = find_section(image)
    if contained is None or not contained.data:
        return
    theirs = sframe_table(image)
    version = contained.data[layout.VERSION_AT]
    ours = made_table(image, version)
    names = FunctionNames(image)
    code = code_of(image, image)
    sections = {part.name: part.first for part in code}
    allowed = {"equal", "neither"} | ({"only_first"} if image.kind != "rel" else set())
    for stretch in compare_tables(ours, theirs, code):
        if stretch.kind not in allowed:
            place = names.place(stretch.start, sections[stretch.section])
            yield version, place.function, f"{path}: {stretch}"


def unexplained(paths: list[Path]) -> tuple[list[str], set[tuple[int, str | None]]]:
    """Differences that are no known defect, and the defects that were seen."""
    found, seen = [], set()
    for path in paths:
        for version, function, what in unlike_gas(path):
            seen.add((version, function))
            if (version, function) not in DEFECTS:
                found.append(what)
    return found, seen


def test_rows_like_the_assembler_in_test_programs(arch: machines.Arch, prebuilt: Programs) -> None:
    """All prebuilt programs and objects of every version; each difference is a known defect."""
    paths = [one.path for one in prebuilt.values() if one.arch == arch.name]
    assert len(paths) > 60
    found, seen = unexplained(paths)
    assert found == []
    if arch.name != "s390x":
        assert {(1, "_start"), (2, "_start")} <= seen


@pytest.mark.skipif("UNWINDLAB_OBJECTS" not in os.environ, reason="no folder of objects is named")
def test_rows_like_the_assembler_in_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever objects there are."""
    paths = sorted(Path(os.environ["UNWINDLAB_OBJECTS"]).rglob("*.o"))
    found, seen = unexplained(paths)
    with capsys.disabled():
        print(f"\n{len(paths)} objects, {len(found)} unexplained differences; defects: {seen}")
    assert paths != []
    assert found == []
