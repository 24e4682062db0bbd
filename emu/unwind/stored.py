"""Packed tables kept between runs: to read a large one takes longer than to run its program.

A build id does not tell which table a file has (`synth` changes one and keeps the other), so
an entry is named by a digest of the bytes that were read and of the code that read them.
Nothing here can fail: what cannot be read or written is read from the file itself.
"""

import contextlib
import functools
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arch.row import CfaRule, RegRule, Row, RuleKind
from emu.compiled import cache_folder
from emu.image import Image
from emu.tables import PackedTable

STORE_FROM = 1 << 15
"""Bytes of a section from which keeping it pays."""
_MOST = 512
"""Entries that stay, the ones used last."""
_READERS = ("arch", "emu/cfi", "emu/sframe", "emu/unwind", "emu/tables.py", "emu/verdict.py")
"""What decides what the arrays hold."""
_ROOT = Path(__file__).resolve().parents[2]
_REGISTER_WORDS = 3
_DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
"""What reading a file raises that something has cut or changed."""


def stored_table(
    image: Image, kind: str, section: str, read: Callable[[], PackedTable | None]
) -> PackedTable | None:
    """The arrays of an image's table: as kept, or as `read` says, which are then kept.

    Args:
        image: the file.
        kind: of the table.
        section: where it stands.
        read: gives the arrays; None where the table is not to be kept.
    """
    found = image.section(section)
    if found is None or found.size < STORE_FROM:
        return read()
    path = cache_folder() / "tables" / _key(image, kind, section)
    with contextlib.suppress(*_DAMAGED):
        kept = _load(path)
        os.utime(path)
        return kept
    table = read()
    if table is not None:
        with contextlib.suppress(OSError):
            _save(path, table)
    return table


def _key(image: Image, kind: str, section: str) -> str:
    state = hashlib.sha256(f"{kind} {image.machine} {image.byte_order} {_readers()}".encode())
    for each in image.sections:
        # Which addresses are code decides whether an entry at 0 is a function.
        state.update(f"{each.addr} {each.size} {each.flags}".encode())
        if each.name == section:
            state.update(image.section_bytes(each))
    return state.hexdigest()[:40] + ".npz"


@functools.cache
def _readers() -> str:
    """Digest of the code that makes the arrays."""
    state = hashlib.sha256(np.__version__.encode())
    for name in _READERS:
        place = _ROOT / name
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            state.update(path.read_bytes())
    return state.hexdigest()


def _load(path: Path) -> PackedTable:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        rows = tuple(_row(words) for words in arrays["rows"].tolist())
        return PackedTable(arrays["functions"], arrays["starts"], arrays["codes"], rows)


def _save(path: Path, table: PackedTable) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = np.array([_words(row) for row in table.rows], np.int64).reshape(len(table.rows), -1)
    handle, partial = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with open(handle, "wb") as file:
            np.savez(
                file, functions=table.functions, starts=table.starts, codes=table.codes, rows=rows
            )
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
    kept = sorted(path.parent.glob("*.npz"), key=lambda each: each.stat().st_mtime_ns)
    for old in kept[:-_MOST]:
        old.unlink(missing_ok=True)


def _words(row: Row) -> tuple[int, ...]:
    return (
        row.cfa.register, row.cfa.offset, row.cfa.deref, row.cfa.addend,
        *(word for rule in (row.ra, row.fp) for word in (rule.kind, rule.register, rule.offset)),
        row.sp_offset, row.ra_signed, row.outermost, row.signal, row.cfa_is_bound, row.zero_ends,
    )  # fmt: skip


def _row(words: list[int]) -> Row:
    register, offset, deref, addend, *rest = words
    first, second = rest[:_REGISTER_WORDS], rest[_REGISTER_WORDS : 2 * _REGISTER_WORDS]
    sp_offset, *flags = rest[2 * _REGISTER_WORDS :]
    return Row(
        CfaRule(register, offset, bool(deref), addend),
        RegRule(RuleKind(first[0]), first[1], first[2]),
        RegRule(RuleKind(second[0]), second[1], second[2]),
        sp_offset,
        *(bool(flag) for flag in flags),
    )
