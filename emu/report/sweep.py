"""The `sweep` command: force every way through every function, report, exit status."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emu.check.known import Known, read_known, sort_known
from emu.report.check_json import place_object, values_object
from emu.report.check_text import headline, values_text
from emu.report.disassembly import Disassembler, Line
from emu.report.output import refuse_inputs, write_report
from emu.report.progress import progress, waiting
from emu.report.text import text_of
from emu.rowtext import row_text
from emu.sweep.result import SweepFinding, SweepOptions, SweepResult
from emu.sweep.sweep import Sweep

_MOST_LINES = 12
_MOST_ROWS = 20
_MOST_FINDINGS = 100
"""Shown with code and values; the others on a line each."""


def sweep(
    path: str,
    options: SweepOptions,
    format: str,
    output: str | None,
    known_file: str | None = None,
    strict: bool = False,
    gaps_fail: bool = False,
) -> int:
    """Sweep one file; the exit status."""
    refuse_inputs(output, path, known_file)
    entries = read_known(known_file) if known_file else []
    with waiting(Path(path).name, "reading"):
        job = Sweep(path, options)
    with progress(Path(path).name, len(job.roots()), "functions") as advance:
        result = job.run(advance)
    split = sort_known([item.finding for item in result.findings], entries, result.arch)
    report = _Report(job, result, frozenset(map(id, split.known)), split.unused)
    write_report(report.json() if format == "json" else report.text(), output)
    if split.unused and strict:
        return 1
    return int(bool(split.new) or (gaps_fail and bool(result.gaps)))


class _Report:
    """One result in both forms."""

    def __init__(
        self, job: Sweep, result: SweepResult, known: frozenset[int], unused: tuple[Known, ...]
    ) -> None:
        self._job, self._result, self._unused = job, result, unused
        self._new = [item for item in result.findings if id(item.finding) not in known]
        self._known = [item for item in result.findings if id(item.finding) in known]
        self._shift = 0
        self._disassembler = Disassembler(job.image, result.arch, self._read)

    # ---- text

    def text(self) -> str:
        """For a person."""
        result, coverage = self._result, self._result.coverage
        share = 100 * coverage.reached_bytes / max(1, coverage.bytes)
        lines = [
            f"{result.program}: {result.arch.name}, table {result.table}",
            f"functions  {coverage.functions}, {coverage.instructions} instructions, "
            f"{coverage.reached} reached",
            "verdicts   " + ", ".join(f"{v.text} {n}" for v, n in sorted(result.verdicts.items())),
            f"coverage   {coverage.reached_bytes} of {coverage.bytes} bytes, {share:.2f} %",
        ]
        for item in self._new[:_MOST_FINDINGS]:
            lines += ["", *self._finding(item)]
        if len(self._new) > _MOST_FINDINGS:
            rest = self._new[_MOST_FINDINGS:]
            lines += ["", f"{len(rest)} more:"]
            lines += [f"  {headline(item.finding, 'visits')}" for item in rest]
        if self._known:
            lines += ["", f"known findings ({len(self._known)}):"]
            lines += [f"  {headline(item.finding, 'visits')}" for item in self._known]
        lines += [f"known entry without a finding: {entry}" for entry in self._unused]
        lines += [*self._gaps(), *self._unreached(), *self._oddities()]
        lines += ["", f"{len(self._new)} findings, {len(result.gaps)} gaps"]
        return text_of(lines)

    def _finding(self, item: SweepFinding) -> Iterator[str]:
        finding = item.finding
        yield headline(finding, "visits")
        if finding.row is not None:
            yield f"  row       {row_text(finding.row, self._result.arch)}"
        if finding.reason:
            yield f"  reason    {finding.reason}"
        if finding.expected is not None:
            yield f"  expected  {values_text(finding.expected)}"
        if finding.got is not None:
            yield f"  got       {values_text(finding.got)}"
        proof = "the function returns as it should" if item.confirmed else "no return was seen"
        way = ", ".join(hex(address) for address in item.decisions)
        yield f"  way       {item.reached_by}" + (f", branches taken at {way}" if way else "")
        yield f"  proof     {proof}"
        for line in self._lines(item)[:_MOST_LINES]:
            mark = ">" if finding.start <= line.address < finding.end else " "
            yield f"  {mark} {line.address:#x}  {line.text}"

    def _lines(self, item: SweepFinding) -> list[Line]:
        """Instructions around a finding, by the addresses of the report."""
        finding = item.finding
        self._shift = item.runtime - finding.start
        begin = finding.start - finding.start_offset
        return self._disassembler.around(begin, finding.start, finding.end, 2, 1)

    def _read(self, address: int, size: int) -> bytes:
        return self._job.placed.memory.read_some(address + self._shift, size)

    def _gaps(self) -> Iterator[str]:
        if not self._result.gaps:
            return
        yield from ("", "gaps (the table says nothing there):")
        for gap in self._result.gaps[:_MOST_ROWS]:
            where = gap.function or gap.section
            why = f": {gap.reason}" if gap.reason else ""
            yield f"  {gap.verdict.text:<9} {where} [{gap.start:#x}, {gap.end:#x}){why}"
        if len(self._result.gaps) > _MOST_ROWS:
            yield f"  ... {len(self._result.gaps) - _MOST_ROWS} more"

    def _unreached(self) -> Iterator[str]:
        parts = self._result.coverage.unreached
        if not parts:
            return
        reasons: Counter[str] = Counter()
        for part in parts:
            reasons[part.reason] += part.bytes
        yield from ("", "not reached:")
        for reason, size in reasons.most_common():
            yield f"  {size:>7} bytes  {reason}"
        for part in sorted(parts, key=lambda p: (-p.bytes, p.section, p.start))[:_MOST_ROWS]:
            where = part.function or part.section
            yield f"    {part.bytes:>5}  {where} [{part.start:#x}, {part.end:#x}): {part.reason}"
        if len(parts) > _MOST_ROWS:
            yield f"    ... {len(parts) - _MOST_ROWS} more"

    def _oddities(self) -> Iterator[str]:
        """What else a reader must know to trust the result."""
        result = self._result
        given = result.coverage.frame_given_up
        if given:
            yield from ("", f"frame given up ({len(given)}): " + ", ".join(given))
        if result.doubtful:
            yield ""
            yield "doubtful, and no findings (wrong on a way without proof, right on another):"
        for item in result.doubtful[:_MOST_ROWS]:
            yield f"  {headline(item.finding, 'visits')}"
        if len(result.doubtful) > _MOST_ROWS:
            yield f"  ... {len(result.doubtful) - _MOST_ROWS} more"
        for reason, count in sorted(result.skipped.items()):
            yield f"{count} instructions were not executed: {reason}"

    # ---- JSON

    def json(self) -> str:
        """The whole report as one object, in ASCII."""
        return json.dumps(self.object(), indent=1) + "\n"

    def object(self) -> dict[str, Any]:
        """The report as plain values."""
        result, coverage = self._result, self._result.coverage
        answer: dict[str, Any] = {
            "program": result.program,
            "arch": result.arch.name,
            "table": result.table,
            "verdicts": {v.text: n for v, n in sorted(result.verdicts.items())},
            "coverage": {
                "functions": coverage.functions,
                "instructions": coverage.instructions,
                "reached": coverage.reached,
                "bytes": coverage.bytes,
                "reached_bytes": coverage.reached_bytes,
                "unreached": [
                    {
                        "reason": part.reason, "function": part.function, "section": part.section,
                        "start": hex(part.start), "end": hex(part.end), "bytes": part.bytes,
                    }
                    for part in coverage.unreached
                ],
                "frame_given_up": list(coverage.frame_given_up),
            },
            "findings": [self._object(item) for item in self._new],
            "gaps": [place_object(gap) | {"reason": gap.reason} for gap in result.gaps],
            "counts": dict(result.counts),
            "contradicted": result.contradicted,
            "doubtful": [place_object(item.finding) for item in result.doubtful],
            "not_executed": dict(sorted(result.skipped.items())),
        }  # fmt: skip
        if self._known:
            answer["known"] = [self._object(item) for item in self._known]
        return answer

    def _object(self, item: SweepFinding) -> dict[str, Any]:
        finding = item.finding
        return place_object(finding) | {
            "expected": values_object(finding.expected),
            "got": values_object(finding.got),
            "row": None if finding.row is None else row_text(finding.row, self._result.arch),
            "reason": finding.reason,
            "confirmed": item.confirmed,
            "reached_by": item.reached_by,
            "decisions": [hex(address) for address in item.decisions],
            "disassembly": [
                f"{line.address:#x}: {line.text}" for line in self._lines(item)[:_MOST_LINES]
            ],
        }
