"""The `fuzz` commands: campaigns, what they found, and how to see it again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from emu.errors import UsageError
from emu.fuzz.campaign import Campaign, Limits
from emu.fuzz.causes import Cause, cause_of, read_causes
from emu.fuzz.planning import Wanted, begin, make_plan
from emu.fuzz.pool import Pool, Processes
from emu.fuzz.reduce.witness import Reduced, Witness
from emu.fuzz.replay import replay
from emu.fuzz.store import Bucket, Store
from emu.fuzz.symptom import Symptom
from emu.fuzz.task import Outcome
from emu.fuzz.tools import Clock
from emu.report.output import write_report
from emu.report.progress import progress, waiting
from emu.report.text import complain, text_of
from emu.report.witness import commands, write_witness

_MOST_TOOLS_SAY = 8
"""Different complaints of tools that `status` shows."""


def run(
    path: str, wanted: Wanted, limits: Limits, jobs: int, scheduler: str, known: str | None
) -> int:
    """Begin a campaign; 1 if it found what is not known."""
    if Path(path).exists():
        raise UsageError(f"{path}: exists already; `unwindlab fuzz resume {path}` goes on with it")
    clock = Clock()
    with waiting(Path(path).name, "looking for compilers"):
        plan = make_plan(wanted)
    pool, causes = _pool(jobs, scheduler), read_causes(known)
    store = Store(path, create=True)
    begin(store, plan)
    store.spend_own(sum(clock.lap()))
    return _go_on(store, limits, pool, causes)


def resume(path: str, limits: Limits, jobs: int, scheduler: str, known: str | None) -> int:
    """Go on with a campaign; 1 if it found what is not known."""
    with Store(path).guarded() as store:
        return _go_on(store, limits, _pool(jobs, scheduler), read_causes(known))


def _pool(jobs: int, scheduler: str) -> Pool[Outcome | Reduced]:
    if not scheduler:
        return Processes(jobs)
    from emu.fuzz.cluster import Cluster

    return Cluster(scheduler)


def _go_on(
    store: Store, limits: Limits, pool: Pool[Outcome | Reduced], causes: Sequence[Cause]
) -> int:
    campaign = Campaign(store, pool, limits, lambda bucket: cause_of(bucket, causes) is not None)
    clock = Clock()
    total = limits.sources or 0
    with progress(Path(store.path).name, total, "sources") as advance:
        try:
            campaign.run(advance or (lambda done: None))
        except KeyboardInterrupt:
            complain(f"unwindlab: {store.path}: `unwindlab fuzz resume {store.path}` goes on")
            raise
        finally:
            own, _ = clock.lap()
            store.spend_own(own)
    for reason in campaign.died:
        complain(f"unwindlab: {store.path}: a task was given up: {reason}")
    found, states = _found(store, causes), store.count("status")
    write_report(text_of([*_status(store), *_report(found, {}, states)]), None)
    if states and not states.get("judged"):
        complain(f"unwindlab: {store.path}: no build could be judged")
        return 2
    return int(_news(found) > 0)


def status(path: str, format: str, output: str | None) -> int:
    """Say how far a campaign is."""
    with Store(path).guarded() as store:
        text = _status_json(store) if format == "json" else text_of(_status(store))
    write_report(text, output)
    return 0


def report(
    path: str, format: str, output: str | None, witnesses: str | None, known: str | None
) -> int:
    """List all causes; 1 if one is not known."""
    with Store(path).guarded() as store:
        found, states = _found(store, read_causes(known)), store.count("status")
    folders: dict[str, str] = {}
    if witnesses is not None:
        for bucket, cause, witness in found:
            if witness is not None:
                name = f"{len(folders) + 1:02}-{'known' if cause else 'new'}"
                folders[bucket.key] = str(Path(witnesses) / name)
                write_witness(Path(witnesses) / name, bucket, witness, cause)
        if not folders:
            complain(f"unwindlab: {witnesses}: nothing to write: only new buckets have witnesses")
    if format == "json":
        text = json.dumps([_object(*each) for each in found], indent=1) + "\n"
    else:
        text = text_of(_report(found, folders, states))
    write_report(text, output)
    return int(_news(found) > 0)


def replay_builds(path: str, number: int | None, rebuild: bool) -> int:
    """Judge one build again, or all; 1 if a verdict is another one than before."""
    with Store(path).guarded() as store:
        return _replay(store, number, rebuild)


def _replay(store: Store, number: int | None, rebuild: bool) -> int:
    numbers = [number] if number is not None else list(store.builds())
    differ = 0
    for each in numbers:
        again = replay(store, each, rebuild)
        if number is None and again.same and again.rebuilt != "other":
            continue
        made = f", {again.rebuilt} bytes" if again.rebuilt else ""
        verdict = "same verdict" if again.same else "ANOTHER VERDICT"
        lines = [f"build {each}: {again.stored.name}{made}: {verdict}"]
        lines += [f"  was  {_symptom(s)}" for s in again.before]
        lines += [f"  is   {_symptom(s)}" for s in again.now] if not again.same else []
        write_report(text_of(lines), None)
        differ += not again.same
    if number is None:
        write_report(f"{len(numbers)} builds, {differ} with another verdict\n", None)
    return int(differ > 0)


def _symptom(symptom: Symptom) -> str:
    words = (symptom.oracle, symptom.verdict, symptom.function, symptom.row)
    return " ".join(filter(None, words))


# ---- text


def _status_json(store: Store) -> str:
    answer = {
        "sources": store.count("origin"), "builds": store.count("status"),
        "details": store.count("detail"), "counts": dict(store.sums()),
        "tools": dict(store.tools()), "seconds": store.spent(),
    }  # fmt: skip
    return json.dumps(answer, indent=1) + "\n"


def _status(store: Store) -> Iterator[str]:
    origins, states, sums = store.count("origin"), store.count("status"), store.sums()
    yield f"{store.path}: {sum(origins.values())} sources, {sum(states.values())} builds"
    yield "sources    " + _counted(origins)
    yield "builds     " + _counted(states)
    reached = 100 * sums["reached bytes"] / max(1, sums["bytes"])
    yield (
        f"swept      {sums['functions']:,} functions, {sums['instructions']:,} instructions, "
        f"{reached:.2f} % of {sums['bytes']:,} bytes reached"
    )
    yield (
        f"beside     {sums['tables compared']:,} .sframe against .eh_frame, "
        f"{sums['second assembler']:,} second assemblers, {sums['runs']:,} runs of "
        f"{sums['instructions run']:,} instructions"
    )
    spent = store.spent()
    whole: Counter[str] = Counter()
    for each in spent.values():
        whole.update(each)
    yield f"processor  {_shares(whole)}"
    for what, each in spent.items():
        yield f"  {what:<17} {_shares(each)}"
    yield "tools      " + ", ".join(f"{name} {n:,}" for name, n in sorted(store.tools().items()))
    odd = {name: n for name, n in sums.items() if n and name.startswith(_ODD)}
    if odd:
        yield "beside it  " + _counted(odd)
    complaints = [(text, n) for text, n in store.count("detail").items() if text]
    for text, n in complaints[:_MOST_TOOLS_SAY]:
        yield f"  {n:>5} builds: {text}"
    if len(complaints) > _MOST_TOOLS_SAY:
        rest = sum(n for _, n in complaints[_MOST_TOOLS_SAY:])
        yield f"  {rest:>5} builds: {len(complaints) - _MOST_TOOLS_SAY} other complaints"


_ODD = ("no .eh_frame", "run: ", "not linked", "too long", "findings in", "doubtful",
        "frames given", "seen in", "second assembler refuses", "reference refuses")  # fmt: skip
"""What is counted while judging, and is no success."""


def _shares(seconds: Mapping[str, float]) -> str:
    total = max(1e-9, sum(seconds.values()))
    own, tools, others = (100 * seconds[whose] / total for whose in ("own", "tools", "others"))
    return (
        f"{total:,.0f} s: compilers, assemblers and linkers {tools:.1f} %, unwindlab {own:.1f} %, "
        f"csmith and the other emulator {others:.1f} %"
    )


def _counted(values: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in values.items() if count)


_Found = tuple[Bucket, Cause | None, Witness | None]


def _found(store: Store, causes: Sequence[Cause]) -> list[_Found]:
    """All buckets, those of no known cause first."""
    found = [(each, cause_of(each, causes), store.witness(each.key)) for each in store.buckets()]
    return sorted(found, key=lambda each: (each[1] is not None, each[1].name if each[1] else ""))


def _news(found: Sequence[_Found]) -> int:
    return sum(cause is None for _, cause, _ in found)


def _report(
    found: Sequence[_Found], folders: Mapping[str, str], states: Mapping[str, int]
) -> list[str]:
    """Causes and their buckets; `folders` of witnesses, by bucket."""
    lines: list[str] = []
    heading = ""
    for bucket, cause, witness in found:
        title = f"known: {cause.name}: {cause.fault}" if cause else "NEW"
        if title != heading:
            lines += ["", title]
            heading = title
        lines.append(f"  {bucket.key}")
        names = ", ".join(bucket.names)
        lines.append(f"    {bucket.count} builds, as build {bucket.build}: {names}")
        if witness is not None:
            size = len(witness.source.text.splitlines())
            assembly = (
                f", {len(witness.assembly.splitlines())} of assembly"
                if witness.assembly and witness.source.language != "asm"
                else ""
            )
            short = "" if witness.complete else ", not yet the smallest"
            lines.append(f"    witness: {size} lines{assembly}{short}: {witness.point.name}")
        if bucket.key in folders:
            lines.append(f"    in {folders[bucket.key]}")
    new, judged = _news(found), states.get("judged", 0)
    last = f"{len(found)} buckets of {judged:,} judged builds: {new} new, {len(found) - new} known"
    return [*lines, "", last]


def _object(bucket: Bucket, cause: Cause | None, witness: Witness | None) -> dict[str, object]:
    answer: dict[str, object] = {
        "bucket": bucket.key, "builds": bucket.count, "build": bucket.build,
        "producers": list(bucket.names), "known": cause.name if cause else None,
    }  # fmt: skip
    if witness is not None:
        answer["witness"] = {
            "source": witness.source.text, "language": witness.source.language,
            "assembly": witness.assembly, "point": witness.point.name,
            "commands": commands(witness, "source"), "complete": witness.complete,
            "symptom": asdict(witness.symptom),
        }  # fmt: skip
    return answer


