#!/usr/bin/env python3
"""An assembler that plants faults: it damages CFI notes, then runs the real one.

    python3 planted_as.py KIND [--one-in N] [--seed S] -- AS [ARG...]

takes the place of GNU as (x86-64, aarch64, s390x) behind a compiler, so that a campaign can be
measured by the faults that it finds. About one of N notes that KIND fits is damaged. Which ones is
told by a hash of the note and of the instructions around it, not by its line, so that a fault stays
where it is when a reducer removes other lines.

Every kind changes what an unwinder gets at some instruction that can run. Left out, because they
mostly change nothing:

- `.cfi_restore` or `.cfi_same_value` dropped or delayed: the slot below SP still holds the value;
- `.cfi_offset`, `.cfi_rel_offset` and `.cfi_register` delayed by one instruction: the register
  still holds the value. They are delayed until it does not;
- `.cfi_def_cfa_register` delayed by one instruction: both registers still have the same value;
- `.cfi_undefined` of another register than the return address: unwinders leave it as it is;
- `.cfi_lsda` in another encoding: it says the same;
- `.cfi_negate_ra_state` twice: the same as dropped.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

KINDS = {
    "def-cfa-offset-drop": "a .cfi_def_cfa_offset is lost",
    "def-cfa-offset-delay": "a .cfi_def_cfa_offset comes one instruction late",
    "def-cfa-offset-plus-8": "the offset of a .cfi_def_cfa_offset is 8 too large",
    "def-cfa-offset-minus-8": "the offset of a .cfi_def_cfa_offset is 8 too small",
    "def-cfa-offset-negate": "the offset of a .cfi_def_cfa_offset has the other sign",
    "def-cfa-offset-double": "the offset of a .cfi_def_cfa_offset is twice what it should be",
    "adjust-cfa-offset-drop": "a .cfi_adjust_cfa_offset is lost",
    "adjust-cfa-offset-delay": "a .cfi_adjust_cfa_offset comes one instruction late",
    "adjust-cfa-offset-negate": "a .cfi_adjust_cfa_offset has the other sign",
    "adjust-cfa-offset-double": "a .cfi_adjust_cfa_offset is twice what it should be",
    "def-cfa-register-drop": "a .cfi_def_cfa_register is lost, and SP changes after it",
    "def-cfa-register-delay": "a .cfi_def_cfa_register comes after the next change of SP",
    "def-cfa-register-other": "a .cfi_def_cfa_register names another register",
    "def-cfa-drop": "a .cfi_def_cfa is lost",
    "def-cfa-delay": "a .cfi_def_cfa comes late: its register was lost, or SP changes",
    "def-cfa-plus-8": "the offset of a .cfi_def_cfa is 8 too large",
    "def-cfa-other": "a .cfi_def_cfa names another register",
    "fp-offset-drop": "a .cfi_offset of the frame pointer is lost",
    "fp-offset-delay": "a .cfi_offset of the frame pointer comes after its change",
    "fp-offset-plus-8": "the slot of the frame pointer is 8 too high",
    "fp-offset-other": "a .cfi_offset of the frame pointer names another register",
    "ra-offset-drop": "a .cfi_offset of the return address is lost, and there is a call",
    "ra-offset-delay": "a .cfi_offset of the return address comes after a call",
    "ra-offset-plus-8": "the slot of the return address is 8 too high",
    "ra-offset-other": "a .cfi_offset of the return address names another register",
    "sp-offset-drop": "a .cfi_offset of the stack pointer is lost",
    "sp-offset-plus-8": "the slot of the stack pointer is 8 too high",
    "saved-offset-drop": "a .cfi_offset of another register is lost",
    "saved-offset-plus-8": "the slot of another register is 8 too high",
    "saved-offset-negate": "the slot of another register is on the other side of the CFA",
    "saved-offset-other": "a .cfi_offset of another register names a third one",
    "rel-offset-drop": "a .cfi_rel_offset is lost",
    "rel-offset-plus-8": "the slot of a .cfi_rel_offset is 8 too high",
    "register-drop": "a .cfi_register is lost",
    "register-other": "a .cfi_register says that another register holds the value",
    "restore-early": "a .cfi_restore comes one instruction early",
    "same-value-early": "a .cfi_same_value comes one instruction early",
    "remember-state-drop": "a .cfi_remember_state is lost, with its .cfi_restore_state",
    "remember-state-delay": "a .cfi_remember_state comes one instruction late, behind a change",
    "restore-state-drop": "a .cfi_restore_state is lost",
    "restore-state-delay": "a .cfi_restore_state comes one instruction late",
    "negate-ra-state-drop": "a .cfi_negate_ra_state, or an alias of it, is lost",
    "negate-ra-state-delay": "a .cfi_negate_ra_state comes one instruction late",
    "escape-drop": "a .cfi_escape is lost",
    "escape-plus-8": "the first register offset in the expression of a .cfi_escape is 8 more",
    "return-column-other": "a .cfi_return_column names another register",
    "startproc-late": "a .cfi_startproc comes one instruction late",
    "endproc-early": "a .cfi_endproc comes one instruction early",
    "undefined-drop": "a .cfi_undefined of the return address is lost",
    "signal-frame-drop": "a .cfi_signal_frame is lost",
    "lsda-drop": "a .cfi_lsda is lost: no exception is caught",
    "lsda-other": "a .cfi_lsda names the area of another function",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What the text of one machine looks like, and its DWARF numbers."""

    looks: str
    """Found in many of its lines, and in few of the others."""
    names: tuple[str, ...]
    """Of general registers, by number."""
    fp: int
    ra: int
    sp: int
    saved: tuple[int, ...]
    """Callee-saved registers that another one is taken from."""
    target_last: bool
    """The register that an instruction writes is its last operand."""
    call: str

    def number(self, register: str) -> int:
        """Of a register that a note gives by name or number; -1 for an unknown one."""
        plain = register.strip().lstrip("%").lower()
        if plain.isdigit():
            return int(plain)
        alias = {"lr": "x30", "fp": "x29", "rip": "16"}.get(plain, plain)
        return int(alias) if alias.isdigit() else self._index(alias)

    def _index(self, name: str) -> int:
        return self.names.index(name) if name in self.names else -1

    def mention(self, number: int) -> str:
        """A pattern of any part of a general register; of one with no name nothing."""
        if not 0 <= number < len(self.names):
            return r"$.^"
        name = self.names[number]
        if name[0] == "x":
            return rf"\b[xw]{name[1:]}\b"
        if name[1:].isdigit():
            return rf"%{name}[dwb]?\b"
        return rf"%[er]?{name[1:]}\b|%{name[1]}[lh]\b"

    def other(self, number: int) -> int:
        """Another callee-saved register."""
        at = self.saved.index(number) if number in self.saved else -1
        return self.saved[(at + 1) % len(self.saved)]


MACHINES = (
    Machine(r"%[re][a-ds][xip]\b|%rbp|%r\d+d\b|\(%r[is]p\)",
            ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
             *(f"r{n}" for n in range(8, 16))),
            6, 16, 7, (3, 12, 13, 14, 15), True, r"call"),
    Machine(r"\b[xw]\d+\b|\[sp|\bsp,", (*(f"x{n}" for n in range(31)), "sp"),
            29, 30, 31, tuple(range(19, 29)), False, r"blr?\b|blra"),
    Machine(r"\b(?:lgr|stmg|lmg|brasl|larl|aghi|lgfi|stg|lg|br|lghi)\s+%r\d+",
            tuple(f"r{n}" for n in range(16)),
            11, 14, 15, tuple(range(6, 11)), False, r"brasl|basr|bras\b"),
)  # fmt: skip


def machine_of(text: str) -> Machine:
    """The machine that most lines look like."""
    return max(MACHINES, key=lambda machine: len(re.findall(machine.looks, text)))


_NOTE = re.compile(r"\s*\.(cfi_\w+)\s*([^#;]*?)\s*(?:#.*|//.*)?$")
_NO_INSTRUCTION = re.compile(r"\s*(?:$|#|//|/\*|\.|[\w.$]+:\s*(?:$|#|//|\.))")
_CFA = ("cfi_def_cfa", "cfi_def_cfa_offset", "cfi_def_cfa_register", "cfi_adjust_cfa_offset")
_NEGATE = (
    *("cfi_negate_ra_state", "cfi_negate_ra_state_with_pc", "cfi_window_save"),
    "cfi_GNU_window_save",
)


@dataclass(slots=True)
class Assembly:
    """A text by lines, with its notes and instructions, and what shall become of the lines."""

    lines: list[str]
    machine: Machine
    notes: dict[int, tuple[str, list[str]]] = field(default_factory=dict)
    """Name and operands of the note in each line that is one."""
    code: list[int] = field(default_factory=list)
    """Lines with an instruction."""
    ends: dict[int, int] = field(default_factory=dict)
    """For each note, the line of the .cfi_endproc behind it."""
    starts: dict[int, int] = field(default_factory=dict)
    """For each note, the line of the .cfi_startproc before it."""
    restores: dict[int, int] = field(default_factory=dict)
    """For each .cfi_remember_state the line of its .cfi_restore_state."""
    instead: dict[int, str] = field(default_factory=dict)
    """Text in place of a line; an empty one: the line is lost."""
    before: dict[int, list[str]] = field(default_factory=dict)
    behind: dict[int, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        """All lines, with the changes made."""
        parts: list[str] = []
        for at, line in enumerate(self.lines):
            parts += self.before.get(at, ())
            parts.append(self.instead.get(at, line))
            parts += self.behind.get(at, ())
        return "".join(parts)

    def next_code(self, at: int, count: int = 1) -> int:
        """The line of the next instruction of this procedure, or of one further; -1: none."""
        place = bisect_right(self.code, at) + count - 1
        in_reach = place < len(self.code) and self.code[place] < self.ends[at]
        return self.code[place] if in_reach else -1

    def last_code(self, at: int) -> int:
        """The line of the last instruction of this procedure before this one; -1: none."""
        place = bisect_right(self.code, at) - 1
        return self.code[place] if place >= 0 and self.code[place] > self.starts[at] else -1

    def governed(self, at: int, ending: Sequence[str], first: str = "") -> list[int]:
        """Instructions for which a note is in force: until one of these names, or the end.

        `first`: what the first operand of the ending note must be, for those that have one.
        """
        end = self.ends[at]
        for line, (name, operands) in self.notes.items():
            if at < line < end and (
                name == "cfi_restore_state"
                or (name in ending and (not first or operands[:1] == [first]))
            ):
                end = line
                break
        return [line for line in self.code if at < line < end]

    def instruction(self, at: int) -> str:
        """Without labels and comments."""
        plain = re.sub(r"^[\w.$]+:|\s(?:#|//).*", "", self.lines[at])
        return " ".join(plain.split())

    def writes(self, at: int, number: int) -> bool:
        """Whether the instruction has that register as its target, as far as its text tells."""
        name, _, operands = self.instruction(at).partition(" ")
        split = re.split(r",(?![^(\[]*[)\]])", operands)
        target = split[-1] if self.machine.target_last else split[0]
        if number == self.machine.sp and (name.startswith(("push", "pop")) or "]!" in operands):
            return True
        is_store = name.startswith(("st", "push", "c", "t", "j", "str", "stp", "b"))
        plain = target.strip()
        return not is_store and re.fullmatch(self.machine.mention(number), plain) is not None

    def loads(self, at: int, number: int) -> bool:
        """Whether the instruction names the register, or loads a range with it."""
        instruction = self.instruction(at)
        several = re.match(r"lmg %r(\d+), ?%r(\d+)", instruction)
        if several and int(several[1]) <= number <= int(several[2]):
            return True
        return re.search(self.machine.mention(number), instruction) is not None

    def destroys_frame(self, at: int) -> bool:
        """Whether the instruction gives the frame pointer back to the caller."""
        name, _, operands = self.instruction(at).partition(" ") if at >= 0 else ("", "", "")
        loads = name.startswith(("pop", "ldp", "ldr", "lg", "lmg"))
        mentions = re.search(self.machine.mention(self.machine.fp), operands)
        return name.startswith(("leave", "lmg")) or (loads and mentions is not None)

    def move(self, at: int, to: int, before: bool = False) -> None:
        """Put a note behind (or before) the line `to`."""
        self.instead[at] = ""
        (self.before if before else self.behind).setdefault(to, []).append(self.lines[at])

    def say(self, at: int, *operands: object) -> None:
        """Write the note anew."""
        text = ", ".join(str(operand) for operand in operands)
        self.instead[at] = f"\t.{self.notes[at][0]} {text}\n"


def read(text: str) -> Assembly:
    """The lines, notes and instructions of a text."""
    lines = text.splitlines(keepends=True)
    assembly = Assembly(lines, machine_of(text))
    start = -1
    opened: list[int] = []
    waiting: list[int] = []
    for at, line in enumerate(lines):
        note = _NOTE.match(line.rstrip("\n"))
        if note:
            name = note[1]
            if name == "cfi_startproc":
                start, opened, waiting = at, [], []
            if start < 0:
                continue  # .cfi_sections, or no compiler's text
            assembly.notes[at] = name, [part.strip() for part in note[2].split(",") if part]
            assembly.starts[at] = start
            waiting.append(at)
            if name == "cfi_remember_state":
                opened.append(at)
            elif name == "cfi_restore_state" and opened:
                assembly.restores[opened.pop()] = at
            elif name == "cfi_endproc":
                assembly.ends.update(dict.fromkeys(waiting, at))
                start = -1
        elif not _NO_INSTRUCTION.match(line):
            assembly.code.append(at)
    for at in waiting:
        if at not in assembly.ends:  # it does not assemble anyway
            del assembly.notes[at]
    return assembly


Plan = Callable[[], None]
"""What damages a note; nothing is changed before it is called."""


def plan(assembly: Assembly, at: int, kind: str) -> Plan | None:
    """How a note is damaged by this kind; None: it does not fit, or nothing would change."""
    name, operands = assembly.notes[at]
    subject, change = _split(kind)
    if name == "cfi_offset" and len(operands) == 2:
        register = assembly.machine.number(operands[0])
        machine = assembly.machine
        roles = {machine.fp: "fp-offset", machine.ra: "ra-offset", machine.sp: "sp-offset"}
        role = roles.get(register, "saved-offset")
        return _slot_plan(assembly, at, change) if subject == role else None
    if subject == "negate-ra-state" and name in _NEGATE:
        name = "cfi_negate_ra_state"
    if name != "cfi_" + subject.replace("-", "_"):
        return None
    by_subject: dict[str, Callable[[Assembly, int, str], Plan | None]] = {
        "def-cfa-offset": _cfa_plan,
        "adjust-cfa-offset": _cfa_plan,
        "def-cfa": _cfa_plan,
        "def-cfa-register": _cfa_register_plan,
        "rel-offset": _slot_plan,
        "register": _slot_plan,
        "restore": _early_plan,
        "same-value": _early_plan,
        "remember-state": _remember_plan,
        "undefined": _undefined_plan,
        "escape": _escape_plan,
        "startproc": _bounds_plan,
        "endproc": _bounds_plan,
        "lsda": _lsda_plan,
    }
    return by_subject.get(subject, _plain_plan)(assembly, at, change)


def _split(kind: str) -> tuple[str, str]:
    for change in ("plus-8", "minus-8"):
        if kind.endswith("-" + change):
            return kind.removesuffix("-" + change), change
    subject, _, change = kind.rpartition("-")
    return subject, change


def _drop(assembly: Assembly, *places: int) -> Plan:
    return lambda: assembly.instead.update(dict.fromkeys(places, ""))


def _later(assembly: Assembly, at: int, to: int) -> Plan | None:
    return None if to < 0 else lambda: assembly.move(at, to)


def _number(operand: str) -> int | None:
    """The value of a sum of numbers, as ``-64+8``; None: it is something else."""
    parts = re.findall(r"[+-]?\s*\w+", operand)
    try:
        return sum(int(part.replace(" ", ""), 0) for part in parts)
    except ValueError:
        return None


def _altered(value: int, change: str) -> int:
    if change == "negate":
        return -value
    return value * 2 if change == "double" else value + (8 if change == "plus-8" else -8)


def _cfa_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    """Changes of the CFA's offset, which the next instruction is the first to see."""
    name, operands = assembly.notes[at]
    if not assembly.governed(at, _CFA):
        return None
    if change == "other":
        other = assembly.machine.other(assembly.machine.number(operands[0]))
        return lambda: assembly.say(at, other, *operands[1:])
    if change in ("drop", "delay"):
        if name == "cfi_def_cfa" and not assembly.destroys_frame(assembly.last_code(at)):
            return _base_plan(assembly, at, change)
        if change == "drop":
            return _drop(assembly, at)
        return _later(assembly, at, assembly.next_code(at))
    value = _number(operands[-1])
    new = value if value is None else _altered(value, change)
    return None if new == value else lambda: assembly.say(at, *operands[:-1], new)


def _cfa_register_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    if change != "other":
        return _base_plan(assembly, at, change)
    other = assembly.machine.other(assembly.machine.number(assembly.notes[at][1][0]))
    return (lambda: assembly.say(at, other)) if assembly.governed(at, _CFA) else None


def _base_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    """The CFA is on the register of before, which is right until SP changes."""
    governed = assembly.governed(at, _CFA)
    moving = [line for line in governed[:-1] if assembly.writes(line, assembly.machine.sp)]
    if not moving:
        return None
    if change == "drop":
        return _drop(assembly, at)
    return _later(assembly, at, governed[governed.index(moving[0]) + 1])


def _slot_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    """Changes of where a register is saved: its loss shows only where the register changed."""
    name, operands = assembly.notes[at]
    machine = assembly.machine
    number = machine.number(operands[0])
    over = ("cfi_restore", "cfi_same_value", "cfi_offset", "cfi_rel_offset", "cfi_register")
    governed = assembly.governed(at, over, operands[0])
    if not governed:
        return None
    if change in ("plus-8", "negate"):
        value = _number(operands[1])
        if value is None:
            return None
        new = _altered(value, change)
        return lambda: assembly.say(at, operands[0], new)
    if name == "cfi_register" and change == "other":
        other = machine.other(machine.number(operands[1]))
        return lambda: assembly.say(at, operands[0], other)
    changing = [
        line
        for line in governed[:-1]
        if (number == machine.ra and re.match(machine.call, assembly.instruction(line)))
        or assembly.writes(line, number)
    ]
    if not changing:
        return None
    if change == "drop":
        return _drop(assembly, at)
    if change == "delay":
        return _later(assembly, at, governed[governed.index(changing[0]) + 1])
    other = machine.other(number)
    return lambda: assembly.say(at, other, *operands[1:])


def _early_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    """A register said to be back before it is; it must have been changed meanwhile."""
    machine = assembly.machine
    number = machine.number(assembly.notes[at][1][0])
    last = assembly.last_code(at)
    if number == machine.sp or last < 0 or not assembly.loads(last, number):
        return None
    between = [line for line in assembly.code if assembly.starts[at] < line < last]
    if not any(
        assembly.writes(line, number)
        or (number == machine.ra and re.match(machine.call, assembly.instruction(line)))
        for line in between
    ):
        return None
    return lambda: assembly.move(at, last, before=True)


def _remember_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    restore = assembly.restores.get(at)
    if restore is None or not any(at < line < restore for line in assembly.notes):
        return None
    if change == "drop":
        return _drop(assembly, at, restore)
    to = assembly.next_code(at)
    changes = any(at < line < to for line in assembly.notes)
    return _later(assembly, at, to) if changes and to < restore else None


def _undefined_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    is_ra = assembly.machine.number(assembly.notes[at][1][0]) == assembly.machine.ra
    return _drop(assembly, at) if is_ra else None


def _escape_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    """DW_CFA_def_cfa_expression (0xf) and (val_)expression (0x10, 0x16) with DW_OP_breg."""
    if change == "drop":
        return _drop(assembly, at)
    try:
        values = [int(part, 0) for part in assembly.notes[at][1]]
    except ValueError:
        return None
    place = {0xF: 2, 0x10: 3, 0x16: 3}.get(values[0], len(values))
    if len(values) <= place + 1 or not 0x70 <= values[place] <= 0x8F:
        return None
    offset = values[place + 1]
    # The low seven bits of an SLEB128: it stays as long as it is.
    values[place + 1] = (offset & 0x80) | ((offset + 8) & 0x7F)
    return lambda: assembly.say(at, *(f"{value:#x}" for value in values))


def _bounds_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    if change == "late":
        to = assembly.next_code(at)
        crossed = any(at < line < to for line in assembly.notes)
        return None if crossed or assembly.next_code(at, 2) < 0 else _later(assembly, at, to)
    last = assembly.last_code(at)
    crossed = any(last < line < at for line in assembly.notes)
    if last < 0 or crossed or assembly.last_code(at) == assembly.next_code(assembly.starts[at]):
        return None
    return lambda: assembly.move(at, last, before=True)


def _lsda_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    operands = assembly.notes[at][1]
    if change == "drop":
        return _drop(assembly, at)
    areas = [ops[1] for name, ops in assembly.notes.values() if name == "cfi_lsda" and ops[1:]]
    others = [area for area in areas if area not in operands]
    return (lambda: assembly.say(at, operands[0], others[0])) if others else None


def _plain_plan(assembly: Assembly, at: int, change: str) -> Plan | None:
    """Notes that are what they are: dropped, late, or with another register."""
    if assembly.next_code(at) < 0:
        return None
    if change == "drop":
        return _drop(assembly, at)
    if change == "delay":
        return _later(assembly, at, assembly.next_code(at))
    other = assembly.machine.other(assembly.machine.number(assembly.notes[at][1][0]))
    return lambda: assembly.say(at, other)


def _chosen(assembly: Assembly, at: int, kind: str, one_in: int, seed: int) -> bool:
    place = bisect_right(assembly.code, at)
    # Of this procedure only: the one before may be left out by a reducer.
    around = [
        line
        for line in assembly.code[max(0, place - 2) : place + 1]
        if assembly.starts[at] < line < assembly.ends[at]
    ]
    name, operands = assembly.notes[at]
    texts = [str(seed), kind, name, *operands, *(assembly.instruction(line) for line in around)]
    digest = hashlib.sha256("\n".join(texts).encode()).digest()
    return int.from_bytes(digest[:8], "big") % one_in == 0


def damage(text: str, kind: str, one_in: int, seed: int) -> tuple[str, int]:
    """The text with damaged notes, and how many of them there are."""
    assembly = read(text)
    plans = [
        planned
        for at in assembly.notes
        # Chosen first: that is cheap, and few are.
        if _chosen(assembly, at, kind, one_in, seed) and (planned := plan(assembly, at, kind))
    ]
    for planned in plans:
        planned()
    return assembly.text(), len(plans)


def _source(arguments: Sequence[str]) -> int:
    """Which argument is the file that is assembled; -1: stdin."""
    for at, argument in enumerate(arguments):
        if argument.endswith((".s", ".S")) and (at == 0 or arguments[at - 1] != "-o"):
            return at
    return -1


def assemble(command: Sequence[str], kind: str, one_in: int, seed: int) -> int:
    """Run the assembler on the damaged text; its exit status."""
    at = _source(command[1:]) + 1
    if at:
        with open(command[at], encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    else:
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    data = damage(text, kind, one_in, seed)[0].encode("utf-8", "surrogateescape")
    if not at:
        return subprocess.run(command, input=data).returncode
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        # The name goes into the symbol table where the text has no .file.
        path = os.path.join(folder, os.path.basename(command[at]))
        with open(path, "wb") as changed:
            changed.write(data)
        return subprocess.run([*command[:at], path, *command[at + 1 :]]).returncode


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    if list(arguments) == ["--list"]:
        print(*(f"{kind}: {what}" for kind, what in KINDS.items()), sep="\n")
        return 0
    usage = "usage: planted_as.py KIND [--one-in N] [--seed S] -- AS [ARG...]"
    own, command = list(arguments), []
    if "--" in own:
        command = own[own.index("--") + 1 :]
        own = own[: own.index("--")]
    settings = {"--one-in": 1000, "--seed": 0}
    kind = own.pop(0) if own else ""
    while own and own[0] in settings and own[1:] and own[1].isdigit():
        settings[own[0]] = int(own[1])
        own = own[2:]
    if own or not command or kind not in KINDS or not settings["--one-in"]:
        print(usage, file=sys.stderr)
        return 2
    return assemble(command, kind, settings["--one-in"], settings["--seed"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
