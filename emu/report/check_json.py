"""The JSON of `check` and `backtrace` (design page, section 5)."""

import json
from typing import Any

from emu.check.codemap import CheckedModule
from emu.check.findings import Finding, Values
from emu.check.result import CheckResult, SampledStack
from emu.report.disassembly import Disassemblers
from emu.rowtext import row_text
from emu.trace import Trace

_MOST_LINES = 12


def check_json(result: CheckResult, known: tuple[Finding, ...] = ()) -> str:
    """The whole report as one JSON object, in ASCII: not every stdout has all letters of a name."""
    return json.dumps(check_object(result, known), indent=1) + "\n"


def check_object(result: CheckResult, known: tuple[Finding, ...] = ()) -> dict[str, Any]:
    """The report as plain values."""
    guest = result.guest
    disassemblers = Disassemblers(result.modules, result.arch)
    answer: dict[str, Any] = {
        "program": result.program,
        "arch": result.arch.name,
        "table": result.table,
        "guest": {
            "exit_status": guest.exit_status,
            "stopped": guest.stopped,
            "instructions": guest.instructions,
            "stdout": guest.stdout.decode("utf-8", "replace"),
            "stderr": guest.stderr.decode("utf-8", "replace"),
        },
        "verdicts": {v.text: n for v, n in sorted(result.verdicts.items())},
        "caller_verdicts": {v.text: n for v, n in sorted(result.caller_verdicts.items())},
        "coverage": {"table_bytes": result.table_bytes, "checked_bytes": result.checked_bytes},
        "truth": dict(result.truth),
        "modules": [
            _module(module, result.biases[name]) for name, module in result.modules.items()
        ],
        "unsupported_syscalls": dict(sorted(result.unsupported.items())),
        "refused_syscalls": dict(sorted(result.refused.items())),
        "findings": [_finding(f, result, disassemblers) for f in result.findings],
        "gaps": [_gap(gap) for gap in result.gaps],
        "samples": [sample_object(sample, result.table) for sample in result.samples],
    }
    if result.missed_point:
        answer["not_reached"] = result.missed_point
    if known:
        answer["known"] = [_finding(f, result, disassemblers) for f in known]
    if guest.signal:
        answer["guest"] |= {"signal": guest.signal, "pc": hex(guest.pc), "reason": guest.reason}
    if guest.dropped_output:
        answer["guest"]["dropped_output"] = guest.dropped_output
    if result.events_lost:
        answer["events_lost"] = result.events_lost
    return answer


def _module(module: CheckedModule, bias: int) -> dict[str, Any]:
    return {
        "name": module.name,
        "path": module.image.path,
        "build_id": module.image.build_id.hex(),
        "bias": hex(bias),
    }


def place_object(finding: Finding) -> dict[str, Any]:
    """What findings and gaps have in common."""
    return {
        "verdict": finding.verdict.text,
        "module": finding.module,
        "function": finding.function,
        "section": finding.section,
        "role": finding.role,
        "start": hex(finding.start),
        "end": hex(finding.end),
        "start_offset": finding.start_offset,
        "count": finding.count,
        "checked": finding.checked,
    }


def _finding(
    finding: Finding, result: CheckResult, disassemblers: Disassemblers
) -> dict[str, Any]:
    lines = disassemblers.of(finding.module or "").around(
        finding.start - finding.start_offset, finding.start, finding.end, 2, 1
    )
    return place_object(finding) | {
        "expected": values_object(finding.expected),
        "got": values_object(finding.got),
        "row": None if finding.row is None else row_text(finding.row, result.arch),
        "reason": finding.reason,
        "instruction": finding.instruction,
        "disassembly": [f"{line.address:#x}: {line.text}" for line in lines[:_MOST_LINES]],
    }


def _gap(gap: Finding) -> dict[str, Any]:
    return place_object(gap) | ({"reason": gap.reason} if gap.reason else {})


def values_object(values: Values | None) -> dict[str, str | None] | None:
    """CFA, RA and FP in hexadecimal."""
    if values is None:
        return None
    return {
        name: None if value is None else hex(value)
        for name, value in (("cfa", values.cfa), ("ra", values.ra), ("fp", values.fp))
    }


def sample_object(sample: SampledStack, table: str) -> dict[str, Any]:
    """One sample; other tables' walks stand under ``walks``."""
    trace = sample.walks[table]
    answer: dict[str, Any] = {
        "at": sample.at,
        "instruction": sample.instruction,
        "pc": hex(sample.pc),
        "truth": [hex(ra) for ra in sample.truth],
        "functions": list(sample.functions),
        "walk": [hex(ra) for ra in trace.return_addresses],
        "stop": trace.stop.text,
        "verdict": sample.verdict.text,
    }
    if trace.reason:
        answer["reason"] = trace.reason
    if len(sample.walks) > 1:
        answer["walks"] = {kind: _walk(trace) for kind, trace in sample.walks.items()}
    return answer


def _walk(trace: Trace) -> dict[str, Any]:
    return {"walk": [hex(ra) for ra in trace.return_addresses], "stop": trace.stop.text}
