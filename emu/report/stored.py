"""`backtrace --core` and `backtrace --perf`: stacks of real machines, by every table."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from arch import Arch
from emu.errors import UsageError
from emu.export.files import Files
from emu.export.perf_samples import machine_of, stack_samples
from emu.export.read_core import read_core
from emu.export.read_perf import read_perf
from emu.export.stacks import TABLES, StoredStack, stored_stack
from emu.image import Image, load_image
from emu.report.output import refuse_inputs, write_report
from emu.report.text import complain, text_of
from emu.verdict import Verdict

_HEAD, _TAIL = 40, 10
"""Frames shown of a deep stack, innermost and outermost."""
_MOST_SHOWN = 20
"""Stacks of a recording that are printed; JSON has all."""


def backtrace_core(
    path: str, program: str, root: str | None, lookup: str, format: str, output: str | None
) -> int:
    """Walk all threads of a core; 1 if its tables contradict each other.

    Args:
        path: the core.
        program: what ran, or empty: the files that the core names are looked for.
        root: folder with the files of its machine.
        lookup: ``return`` or ``kernel``, as of `backtrace`.
        format: ``text`` or ``json``.
        output: a file, or stdout.

    Raises:
        UnwindlabError: a file cannot be read, or none of those in the core is here.
    """
    refuse_inputs(output, path, program or None)
    core = read_core(path)
    image = load_image(program) if program else None
    files = core.files(root or "", image)
    places = files.places(core.mapped_code(image))
    back = int(lookup == "return")
    stacks = [
        stored_stack(core.sample(thread), thread.tid, files, places, back)
        for thread in core.threads
        if {core.arch.sp, core.arch.fp} <= thread.registers.keys()
    ]
    return _write(path, core.arch, stacks, files, format, output)


def backtrace_perf(
    path: str, program: str, root: str | None, lookup: str, format: str, output: str | None
) -> int:
    """Walk all samples of a recording that have registers and a stack; as `backtrace_core`."""
    refuse_inputs(output, path, program or None)
    file = read_perf(path)
    arch = machine_of(file)
    given: list[Image] = [load_image(program)] if program else []
    files = Files(arch, root or "", given)
    back = int(lookup == "return")
    stacks = [
        stored_stack(
            each.sample, each.tid, files, files.places(each.code), back, each.time, each.callers
        )
        for each in stack_samples(file, arch)
    ]
    if not stacks:
        raise UsageError(f"{path}: no sample with registers and stack: record --call-graph dwarf")
    return _write(path, arch, stacks, files, format, output)


def _write(
    path: str, arch: Arch, stacks: Sequence[StoredStack], files: Files, format: str,
    output: str | None,
) -> int:  # fmt: skip
    different = sum(stack.difference is not None for stack in stacks)
    if format == "json":
        content = {
            "recording": path, "arch": arch.name, "stacks": [_object(each) for each in stacks],
            "different": different, "problems": files.problems,
        }  # fmt: skip
        write_report(json.dumps(content, indent=1) + "\n", output)
    else:
        write_report(text_of(_text(path, arch, stacks, files)), output)
    traces = [trace for stack in stacks for trace in stack.walks.values()]
    if all(len(t.frames) == 1 and t.stop is Verdict.NO_MODULE for t in traces):
        reason = files.problems[0] if files.problems else "it names no file with code"
        complain(f"unwindlab: {path}: nothing could be walked: {reason}")
        return 2
    return int(bool(different))


def _text(
    path: str, arch: Arch, stacks: Sequence[StoredStack], files: Files
) -> Iterator[str]:
    yield f"{path}: {arch.name}"
    # Those that contradict each other are what matters; then in their order.
    ordered = sorted(stacks, key=lambda stack: stack.difference is None)
    for stack in ordered[:_MOST_SHOWN]:
        yield ""
        yield from _stack(stack)
    if len(stacks) > _MOST_SHOWN:
        yield f"... {len(stacks) - _MOST_SHOWN} more stacks"
    yield ""
    for kind in dict.fromkeys(kind for stack in stacks for kind in stack.walks):
        stops = Counter(s.walks[kind].stop.text for s in stacks if kind in s.walks)
        counted = ", ".join(f"{stop} {count}" for stop, count in stops.most_common())
        yield f"{kind:<10} {sum(stops.values())} stacks ended: {counted}"
    for problem in files.problems:
        yield f"not used: {problem}"
    both = sum(all(kind in stack.walks for kind in TABLES) for stack in stacks)
    different = sum(stack.difference is not None for stack in stacks)
    yield f"{len(stacks)} stacks, {both} by both tables, {different} contradictions"


def _stack(stack: StoredStack) -> Iterator[str]:
    """One line a frame: the address by the first table that has one, and what others say."""
    when = "" if stack.time is None else f" at {stack.time / 1e9:.9f} s"
    yield f"thread {stack.tid}{when}: {stack.at}, {stack.pc:#x}"
    kinds = list(stack.walks)
    columns = [[frame.pc for frame in stack.walks[kind].frames[1:]] for kind in kinds]
    deepest = max(map(len, columns), default=0)
    if deepest:
        width = 2 + max(len(hex(pc)) for pcs in columns for pc in (*pcs, 0))
        width = max(width, *(len(kind) + 2 for kind in kinds))
        yield f"  {'':>6}{''.join(f'{kind:<{width}}' for kind in kinds)}function"
    left_out = range(_HEAD, max(_HEAD, deepest - _TAIL))
    for depth in range(deepest):
        if depth in left_out:
            if depth == left_out.start:
                yield f"  ... {len(left_out)} frames"
            continue
        said = [pcs[depth] if depth < len(pcs) else None for pcs in columns]
        first = next(pc for pc in said if pc is not None)
        cells, shown = "", False
        for pc in said:
            text = "-" if pc is None else "same" if shown and pc == first else hex(pc)
            shown |= pc is not None
            cells += f"{text:<{width}}"
        yield f"  #{depth:<4} {cells}{stack.functions[depth + 1]}"
    for kind in kinds:
        trace = stack.walks[kind]
        yield f"  {kind} ended: {trace.stop.text}" + (f" ({trace.reason})" * bool(trace.reason))
    if stack.difference is not None:
        yield f"  the tables contradict each other at #{stack.difference - 1}"


def _object(stack: StoredStack) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "tid": stack.tid,
        "pc": hex(stack.pc),
        "at": stack.at,
        "functions": list(stack.functions[1:]),
        "walks": {
            kind: {
                "walk": [hex(ra) for ra in trace.return_addresses], "stop": trace.stop.text,
                **({"reason": trace.reason} if trace.reason else {}),
            }
            for kind, trace in stack.walks.items()
        },
        "difference": None if stack.difference is None else stack.difference - 1,
    }  # fmt: skip
    if stack.time is not None:
        answer |= {"time": stack.time, "recorded": [hex(pc) for pc in stack.recorded]}
    return answer
