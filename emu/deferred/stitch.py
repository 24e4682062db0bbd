"""Bringing samples and deferred stacks together, in the three ways that were proposed.

By cookie and tid, whatever the order; by cookie and tid as perf 7 reads a file; by tid alone, as
the thread of September 2024 first had it: the next stack of that tid is the one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from emu.deferred.records import Deferred, Entry, Lost, Round, Sample


class Outcome(StrEnum):
    """What became of a sample that waits for its user stack."""

    RIGHT = "right"
    WRONG = "wrong"
    """It got the stack of another entry, or of another task."""
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Stitched:
    """A sample and the stack it was given, if any.

    Args:
        chain: of the whole, as the tool shows it.
    """

    sample: Sample
    record: Deferred | None
    chain: tuple[int, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The truth about it."""
        if self.record is None:
            return Outcome.MISSING
        same = self.record.serial == self.sample.serial and self.record.entry == self.sample.entry
        return Outcome.RIGHT if same else Outcome.WRONG


Stitcher = Callable[[Sequence[Entry]], list[Stitched]]


def by_cookie(file: Sequence[Entry]) -> list[Stitched]:
    """By (tid, cookie): of several stacks the next one, or else the last one before the sample.

    A sample taken after its entry's stack was delivered finds that stack before it. 0 is no
    cookie; a sample that was told it stays without a stack.
    """
    samples, records = _parts(file)
    index: dict[tuple[int, int], list[Deferred]] = defaultdict(list)
    for record in records:
        index[record.tid, record.cookie].append(record)
    stitched = []
    for sample in samples:
        same = index[sample.tid, sample.cookie] if sample.cookie else []
        stitched.append(_joined(sample, _next(same, sample) or (same[-1] if same else None)))
    return stitched


def by_tid(file: Sequence[Entry]) -> list[Stitched]:
    """By tid: the next stack of that tid is the one, for all samples that wait."""
    samples, records = _parts(file)
    index: dict[int, list[Deferred]] = defaultdict(list)
    for record in records:
        index[record.tid].append(record)
    return [_joined(sample, _next(index[sample.tid], sample)) for sample in samples]


def as_perf7(file: Sequence[Entry]) -> list[Stitched]:
    """As perf 7 does (evlist__deliver_deferred_callchain): in time order, held-back samples.

    One record settles every waiting sample of its tid: those with its cookie are merged, the
    others are delivered as they are. A record without tid merges nothing.
    """
    waiting: list[Sample] = []
    done: list[Stitched] = []
    for entry in perf_order(file):
        if isinstance(entry, Sample):
            if entry.waits and entry.cookie:
                waiting.append(entry)
            continue
        if not isinstance(entry, Deferred) or entry.tid < 0:
            continue
        for sample in [one for one in waiting if one.tid == entry.tid]:
            waiting.remove(sample)
            match = sample.cookie == entry.cookie
            done.append(_joined(sample, entry if match else None))
    return done + [Stitched(sample, None, sample.chain) for sample in waiting]


STITCHERS: dict[str, Stitcher] = {"cookie": by_cookie, "perf7": as_perf7, "tid": by_tid}
"""All ways by name."""


def perf_order(file: Iterable[Entry]) -> list[Sample | Deferred | Lost]:
    """The order in which perf delivers a file: by time, a round's worth at once.

    A round lets everything go that is not newer than the newest entry of the round before
    (ordered_events__flush, OE_FLUSH__ROUND).
    """
    queue: list[Sample | Deferred | Lost] = []
    order: list[Sample | Deferred | Lost] = []
    limit = newest = -1
    for entry in file:
        if not isinstance(entry, Round):
            queue.append(entry)
            newest = max(newest, entry.time)
            continue
        queue.sort(key=lambda one: one.time)
        order += [one for one in queue if one.time <= limit]
        queue = [one for one in queue if one.time > limit]
        limit = newest
    return order + sorted(queue, key=lambda one: one.time)


def outcomes(stitched: Iterable[Stitched]) -> Counter[Outcome]:
    """How many samples came out which way."""
    return Counter(one.outcome for one in stitched)


def _parts(file: Sequence[Entry]) -> tuple[list[Sample], list[Deferred]]:
    samples = [entry for entry in file if isinstance(entry, Sample) and entry.waits]
    records = [entry for entry in file if isinstance(entry, Deferred) and entry.tid >= 0]
    records.sort(key=lambda record: record.time)
    return samples, records


def _next(records: Sequence[Deferred], sample: Sample) -> Deferred | None:
    return next((record for record in records if record.time >= sample.time), None)


def _joined(sample: Sample, record: Deferred | None) -> Stitched:
    if record is None:
        return Stitched(sample, None, sample.chain)
    # The cookie goes, the marker stays.
    return Stitched(sample, record, sample.chain[: -1 if sample.cookie else None] + record.ips)
