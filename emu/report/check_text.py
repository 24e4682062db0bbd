"""The text of `check` and `backtrace`, for a person."""

from collections import Counter
from collections.abc import Iterator

from emu.check.findings import Finding, Values
from emu.check.known import Known
from emu.check.result import CheckResult, SampledStack
from emu.report.disassembly import Disassemblers
from emu.report.text import printable, text_of
from emu.rowtext import row_text
from emu.verdict import Verdict

_MOST_LINES = 12
_MOST_GAPS = 20
_STACK_HEAD, _STACK_TAIL = 40, 10
"""Frames shown of a deep stack, innermost and outermost."""


def check_text(
    result: CheckResult,
    known: tuple[Finding, ...] = (),
    unused: tuple[Known, ...] = (),
) -> str:
    """The whole report."""
    disassemblers = Disassemblers(result.modules, result.arch)
    lines = [f"{result.program}: {result.arch.name}, table {result.table}"]
    lines += _guest(result)
    lines.append("verdicts   " + _counts(result.verdicts))
    if result.caller_verdicts:
        lines.append("callers    " + _counts(result.caller_verdicts))
    lines.append(
        f"coverage   {result.checked_bytes} code bytes checked, "
        f"{result.table_bytes} described by the table"
    )
    for title, calls in (
        ("unsupported system calls (ENOSYS)", result.unsupported),
        ("system calls refused by design", result.refused),
    ):
        if calls:
            counted = ", ".join(f"{name} x{n}" for name, n in sorted(calls.items()))
            lines.append(f"{title}: {counted}")
    if result.events_lost:
        lines.append(f"{result.events_lost} executions had no room for their details")
    for finding in result.findings:
        lines += ["", *_finding(finding, result, disassemblers)]
    if known:
        lines += ["", f"known findings ({len(known)}):"]
        lines += [f"  {headline(finding)}" for finding in known]
    lines += [f"known entry without a finding: {entry}" for entry in unused]
    if result.gaps:
        lines += ["", *_gaps(result.gaps)]
    for sample in result.samples:
        lines += ["", *sample_lines(sample, result)]
    if result.missed_point:
        lines += ["", f"--at {result.missed_point}: not reached as often as asked"]
    lines += ["", f"{len(result.findings)} findings, {len(result.gaps)} gaps"]
    return text_of(lines) + _outputs(result)


def backtrace_text(result: CheckResult) -> str:
    """Only the sampled stacks."""
    lines = [f"{result.program}: {result.arch.name}"]
    for sample in result.samples:
        lines += ["", *sample_lines(sample, result)]
    return text_of(lines) + _outputs(result)


def _guest(result: CheckResult) -> list[str]:
    guest = result.guest
    how = {
        "exit": f"exit status {guest.exit_status}",
        "signal": f"killed by {guest.signal}",
        "fault": f"{guest.signal} at {guest.pc:#x}: {guest.reason}",
    }.get(guest.stopped, f"stopped: {guest.reason or guest.stopped}")
    return [f"guest      {guest.instructions} instructions, {how}"]


def _counts(counts: Counter[Verdict]) -> str:
    return ", ".join(f"{verdict.text} {n}" for verdict, n in sorted(counts.items()))


def headline(finding: Finding, counted: str = "executions") -> str:
    """A finding on one line: verdict, place, how often."""
    where = finding.function or finding.section or "(no section)"
    if finding.function:
        length = finding.end - finding.start
        where += f"+{finding.start_offset}..{finding.start_offset + length}"
    role = " as a caller" if finding.role == "caller" else ""
    module = f"{finding.module}: " if finding.module else ""
    return (
        f"{finding.verdict.text} {module}{where} [{finding.start:#x}, {finding.end:#x}){role}, "
        f"{finding.count} of {finding.checked} {counted}"
    )


def _finding(
    finding: Finding, result: CheckResult, disassemblers: Disassemblers
) -> Iterator[str]:
    """A finding with its values and the instructions around it."""
    yield headline(finding)
    if finding.row is not None:
        yield f"  row       {row_text(finding.row, result.arch)}"
    if finding.reason:
        yield f"  reason    {finding.reason}"
    if finding.expected is not None:
        yield f"  expected  {values_text(finding.expected)}"
    if finding.got is not None:
        yield f"  got       {values_text(finding.got)}"
    begin = finding.start - finding.start_offset
    name = finding.module or ""
    bounds = result.modules[name].names.bounds(finding.start)
    after = 1 if bounds is not None and finding.end < bounds[1] else 0
    lines = disassemblers.of(name).around(begin, finding.start, finding.end, 2, after)
    for line in lines[:_MOST_LINES]:
        mark = ">" if finding.start <= line.address < finding.end else " "
        yield f"  {mark} {line.address:#x}  {line.text}"
    if len(lines) > _MOST_LINES:
        yield f"    ... {len(lines) - _MOST_LINES} more"


def values_text(values: Values) -> str:
    """CFA, RA and FP on one line."""
    if values == Values(None, None, None):
        return "no caller"
    return " ".join(
        f"{name} {'-' if value is None else hex(value)}"
        for name, value in (("CFA", values.cfa), ("RA", values.ra), ("FP", values.fp))
    )


def _gaps(gaps: tuple[Finding, ...]) -> Iterator[str]:
    """Gaps by function, the most executed first."""
    yield "gaps (the table says nothing there):"
    totals: Counter[tuple[str, str, str]] = Counter()
    for gap in gaps:
        totals[(gap.verdict.text, gap.function or gap.section or hex(gap.start), gap.reason)] += (
            gap.count
        )
    for (verdict, where, reason), count in totals.most_common(_MOST_GAPS):
        yield f"  {verdict:<9} {where}  {count} executions" + (f": {reason}" if reason else "")
    if len(totals) > _MOST_GAPS:
        yield f"  ... {len(totals) - _MOST_GAPS} more"


def sample_lines(sample: SampledStack, result: CheckResult) -> Iterator[str]:
    """One sampled stack: the truth, and beside it each table's walk."""
    yield f"stack at {sample.at}, {sample.pc:#x}, instruction {sample.instruction}"
    kinds = list(sample.walks)
    walks = [sample.walks[kind].return_addresses for kind in kinds]
    width = 2 + max(len(hex(ra)) for ra in (*sample.truth, sample.pc, 0))
    columns = "".join(f"{title:<{max(width, len(title) + 2)}}" for title in ("truth", *kinds))
    yield f"  {'':>6}{columns}function"
    deepest = max(len(sample.truth), *(len(walk) for walk in walks))
    left_out = range(_STACK_HEAD, max(_STACK_HEAD, deepest - _STACK_TAIL))
    for depth in range(deepest):
        if depth in left_out:
            if depth == left_out.start:
                yield f"  ... {len(left_out)} frames"
            continue
        true = sample.truth[depth] if depth < len(sample.truth) else None
        cells = [_cell(true, None)]
        cells += [_cell(walk[depth] if depth < len(walk) else None, true) for walk in walks]
        row = "".join(
            f"{cell:<{max(width, len(title) + 2)}}"
            for cell, title in zip(cells, ("truth", *kinds), strict=True)
        )
        name = sample.functions[depth] if depth < len(sample.functions) else ""
        yield f"  #{depth:<4} {row}{name}"
    for kind in kinds:
        trace = sample.walks[kind]
        why = f" ({trace.reason})" if trace.reason else ""
        yield f"  {kind} ended: {trace.stop.text}{why}"
    yield f"  verdict of {result.table}: {sample.verdict.text}"


def _cell(address: int | None, true: int | None) -> str:
    if address is None:
        return "-"
    return "same" if address == true else hex(address)


def _outputs(result: CheckResult) -> str:
    """What the guest wrote, in sections of its own."""
    return "".join(
        f"\n---- {title} of the guest ----\n{_shown(data)}\n"
        for title, data in (("stdout", result.guest.stdout), ("stderr", result.guest.stderr))
        if data
    )


def _shown(data: bytes) -> str:
    """Its lines and tabs as they are; it is not trusted with the rest of a terminal."""
    lines = data.decode("utf-8", "backslashreplace").rstrip("\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)
