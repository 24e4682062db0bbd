"""Policies over stops of real programs: the truth, the decoded table and a walk of our own."""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from arch import Arch, Row, by_name
from arch.x86_64 import X86_64
from emu.check.options import RunOptions
from emu.errors import MemoryFault
from emu.image import load_image
from emu.kernel.attach import attach
from emu.kernel.events import Name
from emu.kernel.policy import (
    MAINLINE,
    POLICIES,
    POSTING_V2,
    SERIES_V11,
    SERIES_V13,
    Policy,
    Support,
)
from emu.kernel.registry import Registry
from emu.kernel.state import UserTask
from emu.kernel.stops import Stop, prepare, stops
from emu.kernel.walk import walk
from emu.linux.program import Program, find_program
from emu.machine.engine import Engine
from emu.memory import Memory
from emu.sframe.encode import Entry, Target, encode_rows
from emu.sframe.table import sframe_table
from emu.tables import FunctionRows
from emu.unwind.lookup import RowTable, lookup
from testprogs.unpack import Prebuilt, unpack_trees
from tests.emu.kernel.tasks import made, rows_of
from tests.emu.linux.programs import DATA, call, exit_with_result, make
from tests.emu.machine.elf_program import CODE, Segment, W, code_program

pytestmark = pytest.mark.compiled

ARCHES = ("x86_64", "aarch64", "s390x")
TABLED = (
    ("frames-v3-O2-nofp", 31), ("leaves-v3-O2-nofp", 31), ("flow-v3-O2-nofp", 997),
    ("calls-musl-v3-O2", 997),
)  # fmt: skip


def stopped(
    program: Program, policy: Policy, every: int, arguments: tuple[str, ...] = (),
    root: str | None = None, stdin: bytes = b"",
) -> Iterator[tuple[Stop, UserTask, Registry | None]]:  # fmt: skip
    """The stops of a program, with the registry of a policy."""
    options = RunOptions(arguments=arguments, root=root, stdin=stdin, max_instructions=1_000_000)
    session = prepare(program, options)
    registry = attach(policy, session.process, program)
    for stop in stops(session, every):
        yield stop, UserTask(stop.sample, registry=registry), registry


def truth_of(stop: Stop) -> tuple[int, ...]:
    """The chain as it should be."""
    return (stop.sample.pc, *stop.truth)


class Rows:
    """The table of a program, decoded as the rest of the project does."""

    def __init__(self, path: str, arch: Arch) -> None:
        self._table = RowTable(sframe_table(load_image(path)), arch)
        self._known: dict[int, Row | None] = {}

    def at(self, address: int) -> Row | None:
        """The row of an address of a program without a bias."""
        if address not in self._known:
            code = int(lookup(self._table.block, address))
            self._known[address] = None if code < 0 else self._table.rows[code]
        return self._known[address]

    def leads_up_to(self, want: tuple[int, ...]) -> int:
        """How many entries of the truth a look-up of each ip as it is can find.

        It ends at an ip without a row, or with another row than the call before it has.
        """
        for number, ip in enumerate(want[:-1]):
            here = self.at(ip)
            if here is None or here.outermost or (number and here != self.at(ip - 1)):
                return number + 1
        return len(want)


# ---- SFrame V3, with tables that are right


@pytest.mark.parametrize(("name", "every"), TABLED)
@pytest.mark.parametrize("machine", ARCHES)
def test_series_equals_truth_where_rows_exist(
    machine: str, name: str, every: int, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """At each stop as far as rows lead, but for the one rule that the series has no case for."""
    entry = prebuilt[machine, name]
    program = find_program(str(entry.path), None)
    arch = by_name(machine)
    assert arch is not None
    rows = Rows(str(entry.path), arch)
    walked = 0
    for stop, task, _ in stopped(program, SERIES_V13, every, tuple(entry.arguments or ())):
        want = truth_of(stop)
        good = rows.leads_up_to(want)
        trace = walk(SERIES_V13, task, 127, hypothetical=True)
        if any(event.name is Name.NO_DEREF_CASE for event in trace.events):
            good = len(trace.ips)
        assert trace.ips[:good] == want[:good]
        walked += good
    assert walked > 50


@pytest.mark.parametrize("machine", ARCHES)
def test_series_registers_program_and_interpreter(machine: str) -> None:
    """A dynamic program: the libraries that it loads are not known to the kernel. Where all of a
    chain is known, it is the truth but behind code without rows."""
    tree = next(tree for tree in unpack_trees() if tree.arch == machine)
    program = find_program("/bin/modules", str(tree.path))
    right = outside = 0
    for stop, task, registry in stopped(program, SERIES_V13, 1499, root=str(tree.path)):
        assert registry is not None
        assert len(registry) == 2
        want = truth_of(stop)
        trace = walk(SERIES_V13, task, 127, hypothetical=True)
        gaps = [failure.ip for failure in trace.failures if failure.reason.startswith("in a gap")]
        if any(registry.find(ip) is None for ip in want):
            outside += 1
        elif not set(gaps) & set(want[:-1]):
            assert trace.ips[: len(want)] == want
            right += 1
    assert right > 5
    assert outside


# ---- frame pointer


def fp_walk(stop: Stop, most: int) -> tuple[int, ...]:
    """x86's frame pointers by the rules of kernel/unwind/user.c, and nothing of ours but memory."""
    memory, registers = stop.sample.memory, stop.sample.registers
    ip, sp, fp = stop.sample.pc, registers[7], registers[6]
    ips = []
    while True:
        ips.append(ip)
        if len(ips) == most or fp < sp or fp + 16 <= sp or (fp + 16) % 8:
            return tuple(ips)
        try:
            saved, ra = struct.unpack("<QQ", memory.read(fp, 16))
        except MemoryFault:
            return tuple(ips)
        ip, sp, fp = ra, fp + 16, saved


@pytest.mark.parametrize(
    "name", ["work-musl-v3-O2-fp", "frames-v3-O0-fp", "calls-musl-v3-O2-fp", "coro-musl-v3-O0"]
)
def test_mainline_equals_a_walk_of_frame_pointers(
    name: str, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """Whatever the frame pointer holds."""
    entry = prebuilt["x86_64", name]
    program = find_program(str(entry.path), None)
    count = longer = 0
    for stop, task, _ in stopped(program, MAINLINE, 997, tuple(entry.arguments or ())):
        trace = walk(MAINLINE, task, 127)
        assert trace.ips == fp_walk(stop, 127)
        assert trace.status == 0
        count += 1
        longer += len(trace.ips) > 1
    assert count > 3
    assert longer


def test_mainline_finds_all_of_a_program_with_frame_pointers(
    prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """Built with them and without a library: the chain is the truth outside prologues."""
    entry = prebuilt["x86_64", "frames-v3-O0-fp"]
    program = find_program(str(entry.path), None)
    total = right = 0
    for stop, task, _ in stopped(program, MAINLINE, 53):
        total += 1
        right += walk(MAINLINE, task, 127).ips == truth_of(stop)
    assert total > 20
    assert right / total > 0.5


# ---- all of them


@pytest.mark.parametrize("machine", ARCHES)
def test_every_policy_walks_every_stop(
    machine: str, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """The interrupted ip is first, no chain is longer than asked, and the truth is the truth."""
    entry = prebuilt[machine, "frames-v3-O2-fp"]
    program = find_program(str(entry.path), None)
    for policy in POLICIES.values():
        for stop, task, _ in stopped(program, policy, 199):
            trace = walk(policy, task, 4, truth=stop.truth)
            assert trace.ips[0] == stop.sample.pc
            assert len(trace.ips) <= 4
            if policy.name == "truth":
                assert trace.ips == truth_of(stop)[:4]
            served = machine == "x86_64" or (machine, policy) == ("s390x", SERIES_V13)
            served = served or policy.name == "truth"
            assert trace.support is (Support.SUPPORTED if served else Support.OLDER)


def test_v2_tables_under_2024(prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """The chain is the truth, and behind it the one entry that no row of that time can stop at;
    in a gap between functions the row before it is used."""
    entry = prebuilt["x86_64", "frames-v2-O2-nofp"]
    program = find_program(str(entry.path), None)
    rows = Rows(str(entry.path), X86_64)
    count = gaps = 0
    for stop, task, _ in stopped(program, POSTING_V2, 53):
        want = truth_of(stop)
        trace = walk(POSTING_V2, task, 127)
        if rows.leads_up_to(want) == len(want):
            assert trace.ips[: len(want)] == want
            assert len(trace.ips) == len(want) + 1
            count += 1
        else:
            gaps += 1
            assert len(trace.ips) > 1
    assert (count > 20, gaps > 0) == (True, True)


def test_v2_tables_of_a_leaf_are_removed_in_2025(
    prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """A function's first row has no RA on aarch64: the V2 reader takes that for damage, and the
    whole section goes at the first look-up of such a function."""
    entry = prebuilt["aarch64", "frames-v2-O2-nofp"]
    program = find_program(str(entry.path), None)
    names = set()
    for _, task, registry in stopped(program, SERIES_V11, 53):
        trace = walk(SERIES_V11, task, 127, hypothetical=True)
        names |= {event.name for event in trace.events}
        assert registry is not None
        assert len(registry) == 0
    assert names == {Name.SECTION_REMOVED}


# ---- prctl(2) by the guest


@pytest.mark.parametrize("registered", [True, False], ids=["posting-v2", "no policy"])
def test_guest_adds_a_section(tmp_path: Path, registered: bool) -> None:
    """The call succeeds under the posting; else the number answers as Linux does."""
    table = made(2).data
    code = call(X86_64, "prctl", 74, DATA, CODE, CODE + 0x1000, 0) + exit_with_result(X86_64)
    process = make(tmp_path, X86_64, code, table)
    registry = None
    if registered:
        program = find_program(str(tmp_path / "program"), None)
        registry = attach(POSTING_V2, process, program)
    process.run()
    if registered:
        assert registry is not None
        section = registry.find(CODE)
        assert section is not None
        assert (process.exit_status, section.start) == (0, DATA)
        assert process.unsupported == {}
    else:
        assert process.exit_status == 256 - 22
        assert process.unsupported == {"prctl 74": 1}


MADE_AT = 0x70_0000


def generated() -> tuple[bytes, bytes]:
    """A function (sub $24,%rsp; some nops; add $24,%rsp; ret), and its rows as SFrame V2."""
    code = b"\x48\x83\xec\x18" + b"\x90" * 200 + b"\x48\x83\xc4\x18\xc3"
    entry = rows_of(X86_64)[0]
    inside = Row(type(entry.cfa)(7, 32), entry.ra, entry.fp, 0)
    rows = FunctionRows(MADE_AT, len(code), (0, 4, 208), (entry, inside, entry))
    target = Target.of(X86_64, 2, errata=False)
    table = encode_rows([Entry(rows)], target, address=MADE_AT + 0x1000).encoded.data
    return code, table


@pytest.mark.parametrize("policy", [POSTING_V2, SERIES_V11], ids=lambda policy: policy.name)
def test_guest_makes_code_with_a_table(tmp_path: Path, policy: Policy) -> None:
    """It maps memory, reads code and table into it, registers them, runs the code, and takes the
    section out again."""
    made_code, table = generated()
    content = made_code.ljust(0x1000, b"\0") + table
    end = MADE_AT + 0x1000 + len(table)
    add = (
        call(X86_64, "prctl", 74, MADE_AT + 0x1000, MADE_AT, MADE_AT + 0x2000, 0)
        if policy is POSTING_V2
        else call(X86_64, "prctl", 79, MADE_AT + 0x1000, end, MADE_AT, MADE_AT + 0x1000)
    )
    remove = call(X86_64, "prctl", 75 if policy is POSTING_V2 else 80, MADE_AT + 0x1000, 0, 0, 0)
    code = (
        call(X86_64, "mmap", MADE_AT, 0x2000, 7, 0x32, (1 << 64) - 1, 0)
        + call(X86_64, "read", 0, MADE_AT, len(content))
        + add
        + b"\x48\xb8" + struct.pack("<Q", MADE_AT) + b"\xff\xd0"
        + remove + exit_with_result(X86_64)
    )  # fmt: skip
    path = tmp_path / "program"
    program = code_program(X86_64, code, Segment(DATA, b"", W | 4, 0x2000, memsz=0x1000))
    path.write_bytes(program.to_bytes())
    inside = 0
    last: Registry | None = None
    for stop, task, registry in stopped(
        find_program(str(path), None), policy, 1, stdin=content
    ):
        last = registry
        assert registry is not None
        if MADE_AT <= stop.sample.pc < MADE_AT + len(made_code):
            assert len(registry) == 1
            trace = walk(policy, task, 127)
            assert trace.ips[:2] == truth_of(stop)[:2]
            assert trace.methods[0] == "sframe"
            inside += 1
    assert inside == 203
    assert last is not None
    assert len(last) == 0


def test_attach_answers_for_one_process(tmp_path: Path) -> None:
    """A policy without sections leaves prctl(2) as it is."""
    process = make(tmp_path, X86_64, exit_with_result(X86_64))
    program = find_program(str(tmp_path / "program"), None)
    assert attach(MAINLINE, process, program) is None
    assert process.kernel.task.other_prctl is None
    assert isinstance(process.engine, Engine)
    assert isinstance(process.memory, Memory)
