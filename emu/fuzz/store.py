"""A campaign on disk: an SQLite file that survives being killed at any moment.

What came of a task is written in one transaction, by one process; so a task is done or it is not.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from emu.errors import UsageError
from emu.fuzz.making import Source
from emu.fuzz.matrix import Point
from emu.fuzz.plain import NotPlainError, from_plain
from emu.fuzz.reduce.witness import Reduced, Witness
from emu.fuzz.symptom import Symptom
from emu.fuzz.task import Outcome

_VERSION = "1"
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sources(number INTEGER PRIMARY KEY, arch TEXT, origin TEXT, seed INTEGER,
    language TEXT, text BLOB);
CREATE TABLE objects(digest TEXT PRIMARY KEY, data BLOB);
CREATE TABLE builds(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, at INTEGER NOT NULL,
    point TEXT, name TEXT, status TEXT, detail TEXT, object TEXT, counts TEXT,
    UNIQUE(source, at));
CREATE TABLE symptoms(build INTEGER NOT NULL, bucket TEXT NOT NULL, symptom TEXT NOT NULL);
CREATE INDEX symptoms_by_bucket ON symptoms(bucket);
CREATE INDEX symptoms_by_build ON symptoms(build);
CREATE TABLE witnesses(bucket TEXT PRIMARY KEY, witness TEXT, object BLOB);
CREATE TABLE spent(what TEXT, whose TEXT, seconds REAL NOT NULL, PRIMARY KEY(what, whose));
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """One build, as it was stored."""

    id: int
    source: int
    point: Point
    name: str
    status: str
    detail: str
    object: bytes
    symptoms: tuple[Symptom, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """All symptoms of one cause."""

    key: str
    count: int
    """Builds that have it."""
    names: tuple[str, ...]
    """Compilers and assemblers of these; the assemblers alone, where the cause is theirs."""
    build: int
    """The one in which it is seen earliest in a function: little stands before it."""


class Store:
    """A campaign's file.

    Args:
        path: of the file.
        create: there must be none yet; else there must be one.

    Raises:
        UsageError: it is there, is not, or is no campaign.
    """

    def __init__(self, path: str, create: bool = False) -> None:
        self.path = path
        if create == Path(path).exists():
            raise UsageError(f"{path}: {'exists already' if create else 'no such campaign'}")
        if not Path(path).parent.is_dir():
            raise UsageError(f"{path}: no such folder")
        try:
            self._base = sqlite3.connect(path, isolation_level=None, timeout=30)
            if create:
                self._base.execute("PRAGMA journal_mode=WAL")
                with self._transaction():
                    for statement in _TABLES.split(";"):
                        self._base.execute(statement)
                    self._base.execute("INSERT INTO meta VALUES('version', ?)", (_VERSION,))
            version = self.meta("version")  # nothing is written to what is no campaign
        except sqlite3.Error as error:
            raise UsageError(f"{path}: no campaign, or damaged: {error}") from error
        if version != _VERSION:
            raise UsageError(f"{path}: a campaign of version {version}, not {_VERSION}")

    @contextmanager
    def guarded(self) -> Iterator[Store]:
        """Itself; inside, damage of the file is a UsageError that names it."""
        try:
            yield self
        except sqlite3.IntegrityError as error:
            raise UsageError(f"{self.path}: another process goes on with it, too") from error
        except (sqlite3.Error, zlib.error, json.JSONDecodeError, NotPlainError) as error:
            raise UsageError(f"{self.path}: damaged, or of another version: {error}") from error

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    # ---- writing

    def set_meta(self, key: str, value: str) -> None:
        """Keep a value under a name."""
        self._base.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def add(self, outcome: Outcome, arch: str, origin: str, seed: int) -> list[str]:
        """Keep all that came of a task, once; the buckets that nothing was in before."""
        new: dict[str, None] = {}
        source = outcome.source
        with self._transaction():
            self._base.execute(
                "INSERT INTO sources VALUES(?,?,?,?,?,?)",
                (outcome.number, arch, origin, seed, source.language,
                 zlib.compress(source.text.encode(errors="surrogateescape"))),
            )  # fmt: skip
            for at, build in enumerate(outcome.builds):
                digest = self._add_object(build.object) if build.object else None
                row = (
                    outcome.number, at, json.dumps(asdict(build.point)), build.point.name,
                    build.status, build.detail, digest, json.dumps(build.counts),
                )  # fmt: skip
                cursor = self._base.execute(
                    "INSERT INTO builds(source, at, point, name, status, detail, object, counts)"
                    " VALUES(?,?,?,?,?,?,?,?)", row,
                )  # fmt: skip
                for symptom in build.symptoms:
                    key = symptom.bucket(arch, build.point.family)
                    known = "SELECT 1 FROM symptoms WHERE bucket = ? LIMIT 1"
                    if self._base.execute(known, (key,)).fetchone() is None:
                        new[key] = None
                    values = (cursor.lastrowid, key, json.dumps(asdict(symptom)))
                    self._base.execute("INSERT INTO symptoms VALUES(?,?,?)", values)
            self._spend(origin, outcome.own, outcome.tools, outcome.others)
        return list(new)

    def add_witness(self, reduced: Reduced) -> None:
        """Keep what came of a reduction."""
        witness = reduced.witness
        text = None if witness is None else json.dumps(asdict(witness) | {"object": None})
        data = None if witness is None else zlib.compress(witness.object)
        with self._transaction():
            self._base.execute(
                "INSERT OR REPLACE INTO witnesses VALUES(?,?,?)", (reduced.bucket, text, data)
            )
            self._spend("reduction", reduced.own, reduced.tools, 0.0)

    def spend_own(self, seconds: float) -> None:
        """Count processor seconds of the process that writes here, and of starting workers."""
        with self._transaction():
            self._spend("keeping the store", seconds, 0.0, 0.0)

    def _spend(self, what: str, own: float, tools: float, others: float) -> None:
        for whose, seconds in (("own", own), ("tools", tools), ("others", others)):
            self._base.execute(
                "INSERT INTO spent VALUES(?,?,?) ON CONFLICT(what, whose)"
                " DO UPDATE SET seconds = seconds + excluded.seconds", (what, whose, seconds),
            )  # fmt: skip

    def _add_object(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        values = (digest, zlib.compress(data))
        self._base.execute("INSERT OR IGNORE INTO objects VALUES(?,?)", values)
        return digest

    # ---- reading

    def meta(self, key: str) -> str | None:
        """A value that was kept."""
        row = self._base.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def done(self) -> set[int]:
        """Numbers of the tasks that are done."""
        return {number for (number,) in self._base.execute("SELECT number FROM sources")}

    def spent(self) -> dict[str, dict[str, float]]:
        """Processor seconds: origin of sources or other work -> whose -> seconds.

        Whose: ``own``, ``tools`` (compilers, assemblers and linkers) or ``others``.
        """
        found: dict[str, dict[str, float]] = {}
        for what, whose, seconds in self._base.execute("SELECT what, whose, seconds FROM spent"):
            found.setdefault(what, {})[whose] = seconds
        return found

    def count(self, what: str) -> dict[str, int]:
        """How many builds have each ``status`` or ``detail``, or sources each ``origin``."""
        table = "sources" if what == "origin" else "builds"
        if what not in ("origin", "status", "detail"):
            raise ValueError(what)
        query = f"SELECT {what}, COUNT(*) FROM {table} GROUP BY 1 ORDER BY 2 DESC"
        return dict(self._base.execute(query))

    def sums(self) -> Counter[str]:
        """Everything that was counted while objects were judged."""
        total: Counter[str] = Counter()
        for (text,) in self._base.execute("SELECT counts FROM builds"):
            total.update(json.loads(text))
        return total

    def tools(self) -> Counter[str]:
        """Builds that were judged, by each compiler and assembler."""
        total: Counter[str] = Counter()
        query = "SELECT point, COUNT(*) FROM builds WHERE status = 'judged' GROUP BY point"
        for text, count in self._base.execute(query):
            for name in _producers(from_plain(Point, json.loads(text))):
                total[name] += count
        return total

    def buckets(self, only: str | None = None) -> list[Bucket]:
        """All causes, or only this one, by name."""
        names: dict[str, set[str]] = {}
        builds: dict[str, set[int]] = {}
        best: dict[str, tuple[int, int, int]] = {}
        query = (
            "SELECT bucket, build, point, LENGTH(data), symptom FROM symptoms"
            " JOIN builds ON builds.id = build JOIN objects ON digest = object"
            " WHERE ?1 IS NULL OR bucket = ?1"
        )
        for key, build, text, size, symptom in self._base.execute(query, (only,)):
            point = from_plain(Point, json.loads(text))
            values = json.loads(symptom)
            # A store that is older does not say whose a symptom is.
            if values.get("whose") == "as":
                point = replace(point, compiler=None)
            names.setdefault(key, set()).update(_producers(point))
            builds.setdefault(key, set()).add(build)
            rank = (int(values["offset"]), size, build)
            best[key] = min(best.get(key, rank), rank)
        return [
            Bucket(key, len(builds[key]), tuple(sorted(names[key])), best[key][2])
            for key in sorted(names)
        ]

    def unreduced(self) -> list[str]:
        """Buckets whose reduction is not done."""
        query = "SELECT DISTINCT bucket FROM symptoms EXCEPT SELECT bucket FROM witnesses"
        return sorted(key for (key,) in self._base.execute(query))

    def witness(self, bucket: str) -> Witness | None:
        """The witness of a bucket; None: there is none, or none yet."""
        query = "SELECT witness, object FROM witnesses WHERE bucket = ?"
        row = self._base.execute(query, (bucket,)).fetchone()
        if row is None or row[0] is None:
            return None
        values: dict[str, Any] = json.loads(row[0]) | {"object": zlib.decompress(row[1])}
        return from_plain(Witness, values)

    def build(self, number: int) -> Stored:
        """A build.

        Raises:
            UsageError: there is none of that number.
        """
        row = self._base.execute(
            "SELECT id, source, point, name, status, detail, data FROM builds"
            " LEFT JOIN objects ON digest = object WHERE id = ?", (number,),
        ).fetchone()  # fmt: skip
        if row is None:
            raise UsageError(f"{self.path}: no build {number}")
        query = "SELECT symptom FROM symptoms WHERE build = ? ORDER BY rowid"
        symptoms = tuple(
            from_plain(Symptom, json.loads(text))
            for (text,) in self._base.execute(query, (number,))
        )
        point = from_plain(Point, json.loads(row[2]))
        data = b"" if row[6] is None else zlib.decompress(row[6])
        return Stored(row[0], row[1], point, row[3], row[4], row[5], data, symptoms)

    def builds(self) -> Iterator[int]:
        """Numbers of all builds that were judged."""
        query = "SELECT id FROM builds WHERE status = 'judged' ORDER BY id"
        yield from (number for (number,) in self._base.execute(query).fetchall())

    def source(self, number: int) -> tuple[Source, str, str, int]:
        """(source, machine, origin, seed) of a task that is done."""
        query = "SELECT text, language, arch, origin, seed FROM sources WHERE number = ?"
        text, language, arch, origin, seed = self._base.execute(query, (number,)).fetchone()
        words = zlib.decompress(text).decode(errors="surrogateescape")
        return Source(words, language), arch, origin, seed


def _producers(point: Point) -> list[str]:
    """Names of a point's compiler and assembler."""
    return [each.name for each in (point.compiler, point.assembler) if each is not None]
