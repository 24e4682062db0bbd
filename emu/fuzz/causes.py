"""Faults of compilers and assemblers that are known: which buckets are theirs."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from emu.errors import UsageError
from emu.fuzz.store import Bucket


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a file of known faults."""

    name: str
    buckets: tuple[re.Pattern[str], ...]
    """Of which one matches the whole name of a bucket."""
    producers: tuple[re.Pattern[str], ...]
    """Which tools have it; none: any. All tools of these kinds that a bucket was seen with must be
    among those of its faults, else it is a new one."""
    fault: str
    """What is wrong, in a sentence."""
    proof: str


def read_causes(path: str | None) -> list[Cause]:
    """The packaged faults, and those of a file.

    Raises:
        UsageError: it cannot be read, or an entry is malformed.
    """
    packaged = files("emu.fuzz").joinpath("faults.toml").read_text()
    found = _parse(packaged, "faults.toml")
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                found += _parse(file.read(), path)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"{path}: cannot be read: {reason}") from error
    return found


def cause_of(bucket: Bucket, causes: Iterable[Cause]) -> Cause | None:
    """The known fault that a bucket is of; the first, if several together cover its producers."""
    mine = [
        cause for cause in causes
        if any(pattern.fullmatch(bucket.key) for pattern in cause.buckets)
    ]  # fmt: skip
    for cause in mine:
        if not cause.producers:
            return cause
    producers = [pattern for cause in mine for pattern in cause.producers]
    return mine[0] if producers and _all_named(bucket.names, producers) else None


def _all_named(names: Sequence[str], producers: Sequence[re.Pattern[str]]) -> bool:
    """Every tool of one kind is named: an entry about compilers says nothing of assemblers."""
    kinds = {pattern.pattern.split()[0] for pattern in producers}
    # A tool that the user gave has the faults of its release.
    concerned = [name.removesuffix(" given") for name in names if name.split()[0] in kinds]
    return bool(concerned) and all(
        any(pattern.fullmatch(name) for pattern in producers) for name in concerned
    )


def _parse(text: str, path: str) -> list[Cause]:
    try:
        entries = tomllib.loads(text).get("fault", [])
        return [
            Cause(
                str(entry["name"]),
                tuple(re.compile(each) for each in entry["buckets"]),
                tuple(re.compile(each) for each in entry.get("producers", [])),
                str(entry["fault"]),
                str(entry["proof"]),
            )
            for entry in entries
        ]
    except (tomllib.TOMLDecodeError, re.error, KeyError, TypeError) as error:
        raise UsageError(f"{path}: no list of faults: {type(error).__name__} {error}") from error
