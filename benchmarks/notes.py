#!/usr/bin/env python3
"""Can the fuzzer find an assembler that is wrong once in a thousand notes?  `make notes`.

For each kind of `testprogs/planted_as.py`, which damages one CFI note in a thousand, a campaign of
its own runs with it in the place of every assembler, until it has a witness of few lines or the
budget of sources is spent. It fails if a kind is not found, or not made small. Some kinds are no
wrong row at all, and are not tried; they are listed with the reason.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from arch import ALL
from emu.fuzz.campaign import Campaign, Limits
from emu.fuzz.causes import cause_of, read_causes
from emu.fuzz.planning import Plan, begin
from emu.fuzz.pool import Processes
from emu.fuzz.reduce.witness import Reduced, Witness
from emu.fuzz.store import Bucket, Store
from emu.fuzz.task import Outcome
from emu.fuzz.toolchains import Assembler, Tool, Toolchains, discover
from testprogs.planted_as import KINDS

_PLANTED = Path(__file__).parent.parent / "testprogs" / "planted_as.py"
_BUDGET = (6, 12, 24, 48, 96, 192, 384, 768)
"""Sources, after which it is looked whether the kind was found."""
_FEW = (
    "adjust-cfa-offset-drop", "adjust-cfa-offset-delay", "adjust-cfa-offset-negate",
    "adjust-cfa-offset-double", "def-cfa-register-drop", "def-cfa-register-delay",
    "sp-offset-plus-8", "rel-offset-drop", "rel-offset-plus-8", "register-drop",
    "register-other", "same-value-early", "escape-drop", "escape-plus-8", "negate-ra-state-drop",
    "negate-ra-state-delay",
)  # fmt: skip
_OFTEN = 20
"""Of these notes a source has less than five, of some 200, or they stand among the same
instructions wherever they are, and then all are damaged or none; so it is done so many times as
often, which is still less than one in a thousand of all notes."""
_LINES = 15
_ORIGINS = ("generated", "assembly")
_NO_ROW_IS_WRONG = {
    "startproc-late": "the row is missing: a gap",
    "endproc-early": "the row is missing: a gap",
    "return-column-other": "the rows are refused: a gap",
    "undefined-drop": "makes a row that ends the stack one that does not: a sweep has a caller",
    "signal-frame-drop": "no row changes, only where an unwinder looks it up",
    "lsda-drop": "no row changes, exceptions are not caught",
    "lsda-other": "no row changes, exceptions are caught elsewhere",
}
_QUICK = ("def-cfa-offset-drop", "def-cfa-offset-plus-8", "def-cfa-plus-8")
"""Kinds that are frequent enough for a minute of this host's compiler."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one kind."""

    kind: str
    witness: Witness | None
    bucket: str
    sources: int
    seconds: float

    @property
    def lines(self) -> int:
        """Of the witness."""
        return len(self.witness.source.text.splitlines()) if self.witness else 0

    @property
    def good(self) -> bool:
        """Found, and small."""
        return self.witness is not None and self.lines <= _LINES


def main() -> int:
    """Try the kinds; 1 if one is not found, 2 if there is no compiler."""
    parser = argparse.ArgumentParser(description="find planted faults of CFI notes")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="only these")
    parser.add_argument("--quick", action="store_true", help="few kinds, this host's compiler")
    parser.add_argument("--one-in", type=int, default=1000, metavar="N", help="notes (1000)")
    options = parser.parse_args()
    found = _compilers(options.quick)
    if not found.compilers or not found.assemblers:
        print("notes.py: no gcc and as here: see `unwindlab toolchain`", file=sys.stderr)
        return 2
    kinds = options.kinds or (_QUICK if options.quick else [k for k in KINDS if not _silent(k)])
    # Each as it comes: all of them take most of an hour.
    _line("kind", "sources", "lines", "tries", "s", "bucket")
    bad = []
    for kind in kinds:
        result = _try(kind, found, options.one_in // (_OFTEN if kind in _FEW else 1))
        tries = result.witness.tries if result.witness else 0
        _line(kind, result.sources, result.lines, tries, f"{result.seconds:.0f}", result.bucket)
        if not result.good:
            bad.append(kind)
    for kind in bad:
        print(f"FAILED: {kind}: not found, or not reduced to {_LINES} lines")
    if not options.kinds and not options.quick:
        for kind, why in _NO_ROW_IS_WRONG.items():
            print(f"not tried: {kind}: {why}")
    print(f"{len(kinds)} kinds, {len(kinds) - len(bad)} found and reduced")
    return int(bool(bad))


def _line(kind: str, *columns: object) -> None:
    print(f"{kind:<26}", *(f"{each!s:>8}" for each in columns[:-1]), f" {columns[-1]}", flush=True)


def _silent(kind: str) -> bool:
    return kind in _NO_ROW_IS_WRONG


def _compilers(quick: bool) -> Toolchains:
    """GCC of every machine, the newest; or only this host's own."""
    found = discover()
    compilers = [each for each in found.compilers if each.family == "gcc"]
    assemblers = list(found.assemblers)
    if quick:
        compilers = [each for each in compilers if each.tool.root is None]
        assemblers = [each for each in assemblers if each.tool.root is None]
    newest = {each.arch: each for each in compilers}
    assembler = {each.arch: each for each in assemblers if each.arch in newest}
    return Toolchains(
        tuple(newest[arch.name] for arch in ALL if arch.name in assembler),
        tuple(assembler[arch.name] for arch in ALL if arch.name in assembler),
    )


def _try(kind: str, found: Toolchains, one_in: int) -> Result:
    """One campaign, in steps, until there is a witness."""
    begun = time.monotonic()
    causes = read_causes(None)
    planted = tuple(_planted(kind, one_in, each) for each in found.assemblers)
    plan = Plan(
        tuple(each.arch for each in found.compilers), _ORIGINS, points=2,
        toolchains=Toolchains(found.compilers, planted), references=found.assemblers,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store = Store(os.path.join(folder, "store"), create=True)
        begin(store, plan)

        def known(bucket: Bucket) -> bool:
            return cause_of(bucket, causes) is not None

        for sources in _BUDGET:
            pool = Processes[Outcome | Reduced](len(os.sched_getaffinity(0)))
            Campaign(store, pool, Limits(sources), known).run(lambda done: None)
            key, witness = min(_witnesses(store), key=_size, default=("", None))
            result = Result(kind, witness, key, sources, time.monotonic() - begun)
            if result.good:
                break
    return result


def _size(found: tuple[str, Witness | None]) -> int:
    return len(found[1].source.text.splitlines()) if found[1] else 0


def _witnesses(store: Store) -> Iterator[tuple[str, Witness | None]]:
    """Those in assembly, of which the other assembler makes a right table."""
    for bucket in store.buckets():
        witness = store.witness(bucket.key)
        if witness is not None and witness.right:
            yield bucket.key, witness


def _planted(kind: str, one_in: int, assembler: Assembler) -> Assembler:
    """It, behind the script. One that lives in a root is started from outside of it."""
    words = assembler.tool.words
    if root := assembler.tool.root:
        libraries = f"{root}/usr/lib/{os.uname().machine}-linux-gnu"
        loader = next(Path(root, "usr").glob("lib64/ld-linux-*"), Path(root))
        words = (str(loader), "--library-path", libraries, f"{root}/usr/bin/{words[0]}")
    command = (sys.executable, str(_PLANTED), kind, "--one-in", str(one_in), "--", *words)
    return Assembler(assembler.arch, Tool(command, f"{kind} given", None, True))


if __name__ == "__main__":
    sys.exit(main())
