#!/usr/bin/env python3
"""Assembly of many small functions, for a .sframe section as large as a big program's.

    python benchmarks/big_section.py > big.s && as --gsframe big.s -o big.o

The functions are those of an optimising compiler for x86-64: leaves, functions that push
some registers and make room for locals, functions with a frame pointer, and exits in the
middle. The same numbers give the same text.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from typing import TextIO

FUNCTIONS = 120_000
_SAVED = ("rbp", "rbx", "r12", "r13", "r14", "r15")
_DWARF = {"rbp": 6, "rbx": 3, "r12": 12, "r13": 13, "r14": 14, "r15": 15}


def main() -> None:
    """Print the assembly."""
    parser = argparse.ArgumentParser(description="assembly of many small functions")
    parser.add_argument("--functions", type=int, default=FUNCTIONS, help=f"({FUNCTIONS})")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write(sys.stdout, options.functions, options.seed)


def write(out: TextIO, functions: int = FUNCTIONS, seed: int = 1) -> None:
    """Write the assembly of some functions."""
    choose = random.Random(seed)
    out.write("\t.text\n")
    for number in range(functions):
        name = f"f{number}"
        out.write(f"\t.p2align 4\n\t.type {name}, @function\n{name}:\n\t.cfi_startproc\n")
        out.writelines(f"\t{line}\n" for line in _body(choose))
        out.write(f"\t.cfi_endproc\n\t.size {name}, .-{name}\n")


def _body(choose: random.Random) -> Iterator[str]:
    kind = choose.random()
    if kind < 0.15:
        yield from (f".skip {choose.randint(2, 60)}, 0x90", "ret")
    elif kind < 0.35:
        yield from _with_frame_pointer(choose)
    else:
        yield from _with_pushes(choose)


def _with_frame_pointer(choose: random.Random) -> Iterator[str]:
    yield from ("push %rbp", ".cfi_def_cfa_offset 16", ".cfi_offset 6, -16")
    yield from ("mov %rsp, %rbp", ".cfi_def_cfa_register 6")
    yield f".skip {choose.randint(10, 300)}, 0x90"
    yield from ("leave", ".cfi_def_cfa 7, 8", ".cfi_restore 6", "ret")


def _with_pushes(choose: random.Random) -> Iterator[str]:
    saved = choose.sample(_SAVED, choose.randint(1, 5))
    room = 8 * choose.randint(0, 30)
    cfa = 8
    for register in saved:
        cfa += 8
        yield from (f"push %{register}", f".cfi_def_cfa_offset {cfa}")
        yield f".cfi_offset {_DWARF[register]}, {-cfa}"
    if room:
        yield from (f"sub ${room}, %rsp", f".cfi_def_cfa_offset {cfa + room}")
    yield f".skip {choose.randint(10, 500)}, 0x90"
    if choose.random() < 0.4:
        yield ".cfi_remember_state"
        yield from _exit(saved, room, cfa)
        yield ".cfi_restore_state"
        yield f".skip {choose.randint(5, 200)}, 0x90"
    yield from _exit(saved, room, cfa)


def _exit(saved: list[str], room: int, cfa: int) -> Iterator[str]:
    if room:
        yield from (f"add ${room}, %rsp", f".cfi_def_cfa_offset {cfa}")
    for register in reversed(saved):
        cfa -= 8
        yield from (f"pop %{register}", f".cfi_restore {_DWARF[register]}")
        yield f".cfi_def_cfa_offset {cfa}"
    yield "ret"


if __name__ == "__main__":
    main()
