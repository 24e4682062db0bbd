#!/usr/bin/env python3
"""The same right and wrong tables for unwindlab and its peers: docs/peers.md says how."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from testprogs.unpack import DEFAULT_DESTINATION, unpack

PROGRAMS = ("flow-v3-O2-nofp", "frames-v3-O2-fp", "frames-v3-O0-fp", "leaves-v3-O2-nofp")
WORK = Path(tempfile.mkdtemp(prefix="peers-"))
EFFECTS = ("CFA or RA", "FP", "other register")
KINDS = ("CFA offset", "CFA register", "slot", "rule lost", "late or early")
CHANGES = (-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16)
"""Of the byte where a fault is planted; 0 makes it and the next one nops."""
LIBRARIES = {"libunwind": "-lunwind-ptrace -lunwind-x86_64", "libdw": "-DLIBDW -ldw"}
STATIC = {
    "readelf --debug-dump=frames": "(?i)warning|error",
    "eu-readelf --debug-dump=frames": "(?i)invalid|error|cannot",
    "eu-elflint --gnu-ld": "^(?!No errors)",
    "dwarfdump -F -kf": "DWARF CHECK|DW_DLE|ERROR",
    "llvm-dwarfdump-22 --verify --eh-frame": "(?i)warning|error:",
}
"""Tools that do not run the program, and what stands in the lines in which they complain."""


class Machine(NamedTuple):
    """Registers by their DWARF numbers, instructions that call, and how the CFA lies to SP."""

    names: list[str]
    sp: int
    fp: int
    ra: int
    saved: range | list[int]
    call: str
    bias: int = 0
    order: str = "<"


_X86 = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16))]
_X86_CALL = r"\xe8|[\x40-\x4f\x3e]?\xff[\x10-\x17\x50-\x57\x90-\x97\xd0-\xd7]"
_A64, _A64_CALL = [*(f"x{n}" for n in range(31)), "sp"], r"...[\x94-\x97]|.[\x00-\x03]\x3f\xd6"
_S390, _S390_CALL = [f"r{n}" for n in range(16)], r"\xa7\xe5|\xc0\xe5|\x0d[\xe0-\xef]"
MACHINES = {
    "x86_64": Machine(_X86, 7, 6, 16, [3, 6, 12, 13, 14, 15], _X86_CALL),
    "aarch64": Machine(_A64, 31, 29, 30, [*range(19, 30)], _A64_CALL),
    "s390x": Machine(_S390, 15, 11, 14, [*range(6, 14)], _S390_CALL, 160, ">"),
}

# gdb steps, keeps the truth from calls and SP, and compares its own frame 1 with it.
GDB = r"""
import gdb, json, os, pickle, re, time
args = json.loads(os.environ["PEERS"])
past = [f"set backtrace past-{what} on" for what in ("main", "entry")]
for line in (*past, "set startup-with-shell off", "set trust-readonly-sections on", args["start"]):
    gdb.execute(line, to_string=True)
names, bias = args["names"], args["bias"]
sp_name, saved = names[args["sp"]], [names[n] for n in args["saved"]]
link = names[args["ra"]] if args["ra"] < len(names) else ""
memory, call = gdb.selected_inferior(), re.compile(args["call"].encode("latin-1"), re.S)
stack, resumed, calls, wrong, trace, steps = [], set(), {}, set(), [], 0
def now(name):
    return int(gdb.parse_and_eval("$" + name)) & (1 << 64) - 1
def then(frame, name):
    value = frame.read_register(name)
    return None if value.is_optimized_out else int(value) & (1 << 64) - 1
def caller():
    try:
        frame = gdb.newest_frame().older()
        return frame and (then(frame, sp_name) + bias, frame.pc(), [then(frame, n) for n in saved])
    except gdb.error:
        return None
begin = time.perf_counter()
while True:
    try:
        pc, sp = now("pc"), now(sp_name)
    except gdb.error:  # the end
        break
    while pc in resumed and stack and stack[-1][0] <= sp + bias:
        stack.pop()
    if stack:
        (cfa, ra, kept), got = stack[-1], caller()
        if not got or got[:2] != (cfa, ra) or any(a not in (None, b) for a, b in zip(got[2], kept)):
            wrong.add(pc)
        if args["record"]:
            window = memory.read_memory(cfa - 512, 544).tobytes()
            trace.append((pc, cfa, ra, kept, [now(n) for n in names], window))
    if pc not in calls:
        calls[pc] = bool(call.match(memory.read_memory(pc, 4).tobytes()))
    kept = [now(n) for n in saved] if calls[pc] else []
    try:
        gdb.execute("stepi", to_string=True)
    except gdb.error:  # after the step, when gdb wants to know the caller
        pass
    steps += 1
    if calls[pc]:
        top = memory.read_memory(sp - 8, 8).tobytes()
        ra = now(link) if link else int.from_bytes(top, "little")
        if now("pc") != ra:
            resumed.add(ra)
            stack.append((sp + bias, ra, kept))
pickle.dump((wrong, steps, time.perf_counter() - begin, trace), open(args["out"], "wb"))
"""

# The same for a library that unwinds another process (x86-64): libunwind, or libdw of elfutils.
STEPPER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { N = 8, BASE = 0x400000 };
static const int number[N] = {16, 7, 3, 6, 12, 13, 14, 15}; /* RA, SP, callee-saved */
static unsigned long got[N], stack[4096][N], top;
static char resumed[1 << 20];
#ifdef LIBDW
#include <elfutils/libdwfl.h>
static char *path;
static Dwfl_Callbacks calls = {.find_elf = dwfl_linux_proc_find_elf, .debuginfo_path = &path,
                               .find_debuginfo = dwfl_standard_find_debuginfo};
static Dwfl *dwfl;
static void attach(pid_t pid) {
    dwfl = dwfl_begin(&calls);
    dwfl_linux_proc_report(dwfl, pid);
    dwfl_report_end(dwfl, NULL, NULL);
    dwfl_linux_proc_attach(dwfl, pid, true);
}
static int frame(Dwfl_Frame *each, void *seen) {
    if (!(*(int *)seen)++) return DWARF_CB_OK;
    dwfl_frame_pc(each, &got[0], NULL);
    for (int i = 1; i < N; i++) /* what it does not say is not compared */
        if (dwfl_frame_reg(each, number[i], &got[i])) got[i] = stack[top][i];
    return DWARF_CB_ABORT;
}
static void caller(pid_t pid) { dwfl_getthread_frames(dwfl, pid, frame, &(int){0}); }
#else
#include <libunwind-ptrace.h>
static unw_addr_space_t space;
static void *process;
static void attach(pid_t pid) {
    unw_set_caching_policy(space = unw_create_addr_space(&_UPT_accessors, 0), UNW_CACHE_GLOBAL);
    process = _UPT_create(pid);
}
static void caller(pid_t pid) {
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, space, process) || unw_step(&cursor) <= 0) return;
    for (int i = 0; i < N; i++) unw_get_reg(&cursor, number[i], &got[i]);
}
#endif
int main(int argc, char **argv) {
    struct user_regs_struct r;
    struct timespec a, b;
    int status, steps = 0, pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        return dup2(open("/dev/null", O_WRONLY), 1) < 0 || execv(argv[1], argv + 1);
    }
    waitpid(pid, &status, 0);
    attach(pid);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (; WIFSTOPPED(status); steps++) {
        ptrace(PTRACE_GETREGS, pid, 0, &r);
        unsigned long kept[N] = {0, r.rsp, r.rbx, r.rbp, r.r12, r.r13, r.r14, r.r15};
        while (resumed[r.rip - BASE] && top && stack[top][1] <= r.rsp) top--;
        memset(got, 0, sizeof got);
        if (top) caller(pid);
        if (top && memcmp(got, stack[top], sizeof got)) printf("%llx\n", r.rip);
        unsigned long code = ptrace(PTRACE_PEEKTEXT, pid, r.rip, 0);
        if ((code & 0xf0) == 0x40 || (code & 0xff) == 0x3e) code >>= 8;
        int call = (code & 0xff) == 0xe8 || (code & 0x38ff) == 0x10ff;
        ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
        waitpid(pid, &status, 0);
        if (!call) continue;
        kept[0] = ptrace(PTRACE_PEEKDATA, pid, r.rsp - 8, 0);
        resumed[kept[0] - BASE] = 1;
        memcpy(stack[++top], kept, sizeof kept);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("end %d %f\n", steps, b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9);
}
"""

Answer = tuple[set[tuple[int, str]], int, float]
"""Findings (an address or 0, and a text), instructions looked at, seconds that these took."""


class Fault(NamedTuple):
    """A copy of a program with one fault in one function's table, and what comes out wrong."""

    program: str
    kind: str
    effect: str
    function: int
    data: bytes


def call(*command: str, **env: str) -> str:
    """All that a command writes; it runs beside the program."""
    pipe, both = subprocess.PIPE, os.environ | env
    done = subprocess.run(command, cwd=WORK, env=both, timeout=600, stdout=pipe, stderr=pipe)
    return (done.stdout + done.stderr).decode(errors="replace")


def write(data: bytes) -> str:
    """Put a program where every peer finds it under the same name."""
    path = WORK / "program"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(0o755)
    return str(path)


def section(data: bytes, name: str) -> Any:
    """A section of an ELF file."""
    return ELFFile(BytesIO(data)).get_section_by_name(name)


def fdes(data: bytes) -> list[Any]:
    """The functions of .eh_frame, as pyelftools reads them."""
    entries = ELFFile(BytesIO(data)).get_dwarf_info().EH_CFI_entries()
    return [entry for entry in entries if isinstance(entry, FDE)]


def prepared(name: str, program: str) -> bytes:
    """A program with .sframe replaced by a search table for .eh_frame, which libunwind needs."""
    data, order = (DEFAULT_DESTINATION / name / program).read_bytes(), MACHINES[name].order
    frame, place = section(data, ".eh_frame")["sh_addr"], section(data, ".sframe")
    at, offset = place["sh_addr"], place["sh_offset"]
    table = sorted((fde["initial_location"] - at, frame + fde.offset - at) for fde in fdes(data))
    head = struct.pack(order + "4BiI", 1, 0x1B, 3, 0x3B, frame - at - 4, len(table))
    head += b"".join(struct.pack(order + "2i", *entry) for entry in table)
    data = data[:offset] + head + data[offset + len(head) :]
    gnu_sframe, gnu_eh_frame = (struct.pack(order + "I", 0x6474E550 + n) for n in (4, 0))
    return data.replace(gnu_sframe, gnu_eh_frame, 1)


def rows(fde: Any) -> list[tuple[int, int, dict[Any, Any]]]:
    """First address, end and rules of each row."""
    lines, end = fde.get_decoded().table, fde["initial_location"] + fde["address_range"]
    ends = [*(line["pc"] for line in lines[1:]), end]
    return [(line["pc"], min(e, end), line) for line, e in zip(lines, ends, strict=True)]


def effect(m: Machine, rules: dict[Any, Any], step: Any) -> str:
    """What a row gets wrong at one step of the trace, as far as that can be told."""
    _, cfa, ra, kept, registers, window = step
    rule, wrong = rules["cfa"], set()
    if rule.expr is not None or rule.reg >= len(registers):
        return ""
    if registers[rule.reg] + rule.offset != cfa:
        return EFFECTS[0]
    for register, wanted in {**dict(zip(m.saved, kept, strict=True)), m.ra: ra}.items():
        kind, value = rules[register].type if register in rules else "SAME_VALUE", wanted
        if kind == "OFFSET" and 0 <= 512 + rules[register].arg <= len(window) - 8:
            (value,) = struct.unpack_from(m.order + "Q", window, 512 + rules[register].arg)
        elif kind == "SAME_VALUE" and register < len(registers):
            value = registers[register]
        wrong |= {{m.ra: 0, m.fp: 1}.get(register, 2)} if value != wanted else set()
    return EFFECTS[min(wrong)] if wrong else ""


def kind_of(old: Any, new: Any) -> str:
    """Which one instruction differs, and how; nothing if more or others do."""
    a, b = ([(i.opcode.name, i.args) for i in fde.instructions if i.args] for fde in (old, new))
    at = next((n for n, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), len(b))
    (name, args), *others = a[at:] or [("", [])]
    if others == b[at:] and name in ("offset", "def_cfa_offset", "def_cfa_register"):
        return "rule lost"
    if others != b[at + 1 :] or at == len(b) or b[at][0] != name:
        return ""
    if name == "def_cfa":
        return "CFA offset" if args[0] == b[at][1][0] else "CFA register"
    known = {"advance_loc": "late or early", "offset": "slot", "def_cfa_offset": "CFA offset"}
    return known.get(name, "CFA register" if name == "def_cfa_register" else "")


def plant(name: str, traces: dict[str, list[Any]], number: int, seed: int) -> list[Fault]:
    """Copies with one fault each, which a row shows at one step of the trace or more.

    A byte of a function's CFA instructions is changed, or two are made nops; what counts is
    that pyelftools then reads one instruction otherwise.
    """
    m, dice, kinds, found = MACHINES[name], random.Random(seed), Counter[str](), set[Fault]()
    programs = {program: prepared(name, program) for program in PROGRAMS}
    functions = {program: fdes(data) for program, data in programs.items()}
    for _ in range(500 * number):
        if len(found) == number:
            break
        program, change = dice.choice(PROGRAMS), dice.choice(CHANGES)
        data, old = bytearray(programs[program]), dice.choice(functions[program])
        at = section(programs[program], ".eh_frame")["sh_offset"] + old.offset
        place = dice.randrange(at + 17 + data[at + 16], at + 4 + old["length"] - 1)
        data[place] = (data[place] + change) % 256 if change else 0
        data[place + 1] *= bool(change)
        try:
            new = next(fde for fde in fdes(bytes(data)) if fde.offset == old.offset)
            kind = kind_of(old, new)
            decoded = rows(new) if kind and kinds[kind] * len(KINDS) < number else []
        except Exception:
            # pyelftools raises whatever it runs into: a table that it cannot read is no candidate.
            continue
        hits = ((r, s) for s in traces[program] for a, b, r in decoded if a <= s[0] < b)
        wrong = {effect(m, rules, step) for rules, step in hits} - {""}
        worst, start = min(wrong, key=EFFECTS.index, default=""), old["initial_location"]
        fault = Fault(program, kind, worst, start, bytes(data))
        if wrong and fault not in found:
            kinds[kind] += 1
            found.add(fault)
    return sorted(found)


def gdb(name: str, path: str, record: bool = False) -> tuple[Answer, list[Any]]:
    """Findings of gdb's own unwinder, and on demand the trace of the truth."""
    server, socket, out, start = None, WORK / "socket", WORK / "out", "starti"
    for old in (socket, out):
        old.unlink(missing_ok=True)
    if name != "x86_64":
        start = f"target remote {socket}"
        command = ["timeout", "600", f"qemu-{name}", "-g", str(socket), path]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not socket.exists() and server.poll() is None:
            time.sleep(0.01)
    args = MACHINES[name]._asdict() | {"start": start, "record": record, "out": str(out)}
    (WORK / "step.py").write_text(GDB)
    tool = "gdb" if name == "x86_64" else "gdb-multiarch"
    said = call(tool, "-nx", "-batch", "-x", "step.py", path, PEERS=json.dumps(args))
    if server is not None:
        server.wait()
    if not out.exists():
        raise RuntimeError(f"{tool} gave no answer: {said[-300:]}")
    wrong, steps, seconds, trace = pickle.loads(out.read_bytes())
    return ({(pc, "") for pc in wrong}, steps, seconds), trace


def stepper(path: str, tool: str) -> Answer:
    """Findings of a library that unwinds the stepped process."""
    *found, end = call(f"./{tool}", path).splitlines()
    _, steps, seconds = end.split()
    return {(int(pc, 16), "") for pc in found}, int(steps), float(seconds)


def eh_frame_check(path: str, folder: str) -> Answer:
    """The one finding at which that script stops, if there is any."""
    options = ("-nx", "-batch", "-ex", "py arg_verbose = False", "-x")
    said = call("gdb", *options, f"{folder}/eh_frame_check.py", path, PYTHONPATH=folder)
    return {(int(pc, 16), "") for pc in re.findall(r"Mismatch at IP: 0x([0-9a-f]+)", said)}, 0, 0


def unwindlab(path: str, verb: str, *more: str) -> Answer:
    """Findings of `unwindlab check` or `unwindlab sweep`, at their first addresses."""
    command = [str(Path(sys.executable).with_name("unwindlab")), verb, "--table", "cfi"]
    command += ["--format", "json", *(["--jobs", "1"] if verb == "sweep" else []), path, *more]
    report = json.loads(call(*command))
    counted = report["guest"]["instructions"] if verb == "check" else report["coverage"]["reached"]
    return {(int(f["start"], 16), f["verdict"]) for f in report["findings"]}, counted, 0


def static(path: str, command: str) -> Answer:
    """Lines in which a tool that does not run the program complains."""
    lines = call(*command.split(), path).splitlines()
    return {(0, line) for line in lines if re.search(STATIC[command], line)}, 0, 0


def llvm_mc(name: str, path: str) -> Answer:
    """What `llvm-mc --validate-cfi` says of the disassembly, with the table as directives."""
    cpu = ["--mcpu=z16"] if name == "s390x" else []
    text = call("llvm-objdump-22", "-d", "--no-show-raw-insn", *cpu, path)
    code = {int(at, 16): what for at, what in re.findall(r"(?m)^ *([0-9a-f]+):\s+(.*)$", text)}
    lines, places = ["target:"], [0]
    for fde in fdes(Path(path).read_bytes()):
        at, marks = fde["initial_location"], list[tuple[int, str]]()
        inside = [a for a in code if at <= a < at + fde["address_range"]]
        lines += [f"f{at:x}:", ".cfi_startproc"]
        for each in fde.instructions:
            what, args = each.opcode.name, [*each.args]
            if what.startswith("advance_loc"):
                at += args[0] * fde.cie["code_alignment_factor"]
            elif re.match("(offset|def_cfa|restore|remember)(?!.*expr)", what):
                args[1:] = [n * (-8 if what == "offset" else 1) for n in args[1:]]
                marks.append((at, f".cfi_{what} {', '.join(map(str, args))}"))
        for address in inside:
            while marks and marks[0][0] <= address:
                lines.append(marks.pop(0)[1])
            what = re.sub(r"(?<![$#])\b0x[0-9a-f]{6,}( <[^>]*>)?", "target", code[address])
            lines.append(re.sub(r"\s*(//|# |<unknown).*", "", what))
            places += [address] * (len(lines) - len(places))
        lines.append(".cfi_endproc")
    (WORK / "program.s").write_text("\n".join(lines) + "\n")
    command = ["--validate-cfi", "--filetype=null", f"--triple={name}-linux-gnu", "program.s"]
    said = re.findall(r"(?m)^program.s:(\d+):\d+: error: (.*)$", call("llvm-mc-22", *command, *cpu))
    return {(places[int(line) - 1], what) for line, what in said}, 0, 0


def rate(name: str, verb: str) -> float:
    """Instructions a second of unwindlab without its start: a longer run less a shorter one."""
    runs = [("leaves-v3-O2-nofp", ""), ("work-glibc-O2", "")]
    if verb == "check":
        runs = [("work-musl-v3-O2", "1"), ("work-musl-v3-O2", "100")]
    least: dict[int, float] = {}
    for program, argument in runs * 3:
        begin = time.perf_counter()
        count = unwindlab(str(DEFAULT_DESTINATION / name / program), verb, *argument.split())[1]
        least[count] = min(time.perf_counter() - begin, least.get(count, 600))
    short, long = sorted(least)
    return (long - short) / (least[long] - least[short])


def peers(name: str, folder: str) -> Iterator[tuple[str, str, Callable[..., Answer], list[str]]]:
    """The peers for a machine: name, why it is left out, how it is run and with what."""
    yield "unwindlab sweep", "", unwindlab, ["sweep"]
    yield "unwindlab check", "", unwindlab, ["check"]
    yield "gdb", "", lambda path: gdb(name, path)[0], []
    if name == "x86_64":
        (WORK / "step.c").write_text(STEPPER)
        for tool, flags in LIBRARIES.items():
            said = call("sh", "-c", f"gcc -O2 -o {tool} step.c {flags}").strip()
            yield tool, "" if (WORK / tool).exists() else said.splitlines()[-1], stepper, [tool]
        why = "" if folder else "--eh-frame-check was not given"
        yield "eh_frame_check.py", why, eh_frame_check, [folder]
    why = "" if shutil.which("llvm-mc-22") and shutil.which("llvm-objdump-22") else "no llvm 22"
    yield "llvm-mc-22 --validate-cfi", why, lambda path: llvm_mc(name, path), []
    for command in STATIC:
        why = "" if shutil.which(command.split()[0]) else "not installed"
        yield command, why, static, [command]


def owner(functions: list[Any], address: int) -> int:
    """The start of the function that an address belongs to, or 0."""
    starts = ((fde["initial_location"], fde["address_range"]) for fde in functions)
    return next((start for start, size in starts if start <= address < start + size), 0)


def line(*cells: object) -> str:
    """One line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def compare(name: str, options: argparse.Namespace) -> None:
    """Plant faults for one machine, run its peers, print what they say."""
    m, bad = MACHINES[name], 0
    right = {program: prepared(name, program) for program in PROGRAMS}
    traces = {program: gdb(name, write(data), record=True)[1] for program, data in right.items()}
    functions = {program: fdes(data) for program, data in right.items()}
    for program, trace in traces.items():
        table = [row for fde in functions[program] for row in rows(fde)]
        bad += sum(effect(m, r, s) != "" for s in trace for a, b, r in table if a <= s[0] < b)
    faults, total = plant(name, traces, options.count, options.seed), sum(map(len, traces.values()))
    print(f"\n{name}: {len(faults)} faults; right rows are wrong at {bad} of {total:,} steps\n")
    planted = Counter(each for fault in faults for each in (fault.kind, fault.effect))
    heads = [f"{what} ({planted[what]})" for what in (*EFFECTS, *KINDS)]
    ends = ["false, right", "false, copies", "s a copy", "instructions/s", "check/this"]
    print(line("", "found", *heads[:3], *ends), line(*["---"] * 10), sep="\n", flush=True)
    second, best = [line("found of each kind", *heads[3:]), line(*["---"] * 6)], rate(name, "check")
    for peer, why, run, more in peers(name, options.eh_frame_check):
        if why:
            print(line(peer, f"left out: {why}"))
            continue
        base = {program: run(write(right[program]), *more)[0] for program in PROGRAMS}
        said = [(functions[program], a) for program, answer in base.items() for a, _ in answer]
        false = sum(not address or owner(fs, address) > 0 for fs, address in said)
        found, elsewhere, steps, spent, begin = Counter[str](), 0, 0, 0.0, time.perf_counter()
        for fault in faults:
            answer, did, seconds = run(write(fault.data), *more)
            steps, spent = steps + did, spent + seconds
            places = [address or fault.function for address, _ in answer - base[fault.program]]
            owners = {owner(functions[fault.program], place) for place in places}
            elsewhere += bool(owners - {fault.function, 0})
            if fault.function in owners:
                found.update([fault.kind, fault.effect, "all"])
            elif options.misses:
                print(peer, "misses", *fault[:3], hex(fault.function), file=sys.stderr)
        cells = [found["all"], *(found[what] for what in EFFECTS), false, elsewhere]
        times = [f"{(time.perf_counter() - begin) / len(faults):.2f}", "-", "-"]
        if spent or peer.startswith("unwindlab"):
            speed = steps / spent if spent else best if "check" in more else rate(name, "sweep")
            times[1:] = f"{speed:,.0f}", f"{best / speed:,.1f}"
        print(line(peer, *cells, *times), flush=True)
        second.append(line(peer, *(found[what] for what in KINDS)))
    print("\n" + "\n".join(second), flush=True)


def main() -> int:
    """Every machine for which the truth can be had here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", choices=MACHINES, action="append", help="(all)")
    parser.add_argument("--count", type=int, default=64, help="faults for each machine (64)")
    parser.add_argument("--seed", type=int, default=1, help="of the faults (1)")
    parser.add_argument("--eh-frame-check", default="", metavar="FOLDER", help="with that script")
    parser.add_argument("--misses", action="store_true", help="name each on stderr")
    options = parser.parse_args()
    unpack()
    for name in options.machine or MACHINES:
        tools = ["gdb"] if name == "x86_64" else ["gdb-multiarch", f"qemu-{name}"]
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            print(f"\n{name}: left out, there is no {' and no '.join(missing)}")
        else:
            compare(name, options)
    shutil.rmtree(WORK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
