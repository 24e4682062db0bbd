"""Packed tables on disk: what comes back, and what is done when it cannot."""

from pathlib import Path

import numpy as np
import pytest

from arch import ALL, Arch
from emu.image import Image, load_image
from emu.tables import PackedTable
from emu.unwind import stored
from emu.unwind.sources import read_table, row_table
from testprogs.unpack import unpack_trees

LIBC = {tree.arch: tree.path / "lib" / f"ld-musl-{tree.arch}.so.1" for tree in unpack_trees()}
SECTIONS = {"sframe": ".sframe", "cfi": ".eh_frame"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; where its tables are."""
    monkeypatch.setattr(stored, "cache_folder", lambda: tmp_path)
    return tmp_path / "tables"


def image_of(machine: Arch) -> Image:
    """A library whose tables are worth keeping."""
    return load_image(str(LIBC[machine.name]))


def same(one: PackedTable, other: PackedTable) -> bool:
    """All arrays and rows are."""
    return one.rows == other.rows and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("functions", "starts", "codes")
    )


def never() -> PackedTable | None:
    """Fails: the table must come from the disk."""
    raise AssertionError("it was read again")


@pytest.mark.parametrize("kind", ["sframe", "cfi"])
def test_comes_back_as_it_was(folder: Path, arch: Arch, kind: str) -> None:
    """Every row of a C library, with all its fields."""
    image = image_of(arch)
    first = row_table(image, arch, kind)
    assert len(list(folder.iterdir())) == 1
    kept = stored.stored_table(image, kind, SECTIONS[kind], never)
    assert kept is not None
    assert same(kept, first.arrays)
    table = read_table(image, kind)
    assert table is not None
    assert len(kept.functions) == len(table.functions) > 500


def test_another_table_under_the_same_build_id(folder: Path) -> None:
    """`synth` and a linker keep the build id: what counts are the bytes."""
    machine = ALL[0]
    image = image_of(machine)
    row_table(image, machine, "cfi")
    section = image.section(".eh_frame")
    assert section is not None
    data = bytearray(image.data)
    data[section.offset + section.size // 2] ^= 1
    other = load_image_of(bytes(data), folder)
    assert other.build_id == image.build_id
    row_table(other, machine, "cfi")
    assert len(list(folder.iterdir())) == 2


def load_image_of(data: bytes, folder: Path) -> Image:
    """An image of these bytes."""
    path = folder.parent / "changed"
    path.write_bytes(data)
    return load_image(str(path))


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"\0" * 4096])
def test_a_damaged_file_is_read_from_the_source(folder: Path, arch: Arch, damage: bytes) -> None:
    """And written again."""
    image = image_of(arch)
    whole = row_table(image, arch, "cfi").arrays
    (path,) = folder.iterdir()
    path.write_bytes(damage or path.read_bytes()[:-100])
    assert same(row_table(image, arch, "cfi").arrays, whole)
    assert stored.stored_table(image, "cfi", ".eh_frame", never) is not None


def test_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arch: Arch) -> None:
    """Nothing is kept where nothing can be written."""
    file = tmp_path / "file"
    file.write_bytes(b"")
    monkeypatch.setattr(stored, "cache_folder", lambda: file)
    assert row_table(image_of(arch), arch, "cfi").arrays.functions.size > 500


def test_the_oldest_go(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folder does not grow without end; what was used last stays."""
    monkeypatch.setattr(stored, "_MOST", 2)
    for machine in ALL:
        row_table(image_of(machine), machine, "cfi")
    assert len(list(folder.iterdir())) == 2
    assert stored.stored_table(image_of(ALL[-1]), "cfi", ".eh_frame", never) is not None
