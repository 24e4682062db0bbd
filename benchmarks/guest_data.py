"""Input files for real programs: always the same, made from one seed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

_SEED = 20261
_TIME = 1_767_225_600
"""Of last change of each file: the start of 2026."""
_SYLLABLES = (
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta",
    "ve", "wi", "xo", "yu", "zan", "tor", "nel",
)  # fmt: skip
_CITIES = ("Aachen", "Bergen", "Cordoba", "Delft", "Evora", "Fulda", "Genova")


def write_data(folder: Path) -> str:
    """Write the input files, unless they are there; return a digest of all of them."""
    random_ = random.Random(_SEED)
    files = {name: make(random_) for name, make in _FILES.items()}
    files["archive.tar"] = _archive(files)
    seen = hashlib.sha256(str(_TIME).encode())
    for name, content in files.items():
        seen.update(f"{name} {len(content)} ".encode() + content)
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o644)
    for place in (folder, *folder.rglob("*")):
        if place.is_dir():
            place.chmod(0o755)
        os.utime(place, (_TIME, _TIME))
    return seen.hexdigest()[:24]


def _word(random_: random.Random) -> str:
    return "".join(random_.choice(_SYLLABLES) for _ in range(random_.choice((1, 2, 2, 3, 4))))


def _text(random_: random.Random) -> bytes:
    """Paragraphs in which some words come much more often than others."""
    words = [_word(random_) for _ in range(500)]
    lines = []
    for number in range(700):
        count = random_.randrange(4, 14)
        line = " ".join(words[int(500 * random_.random() ** 3)] for _ in range(count))
        lines.append(line.capitalize() + random_.choice(".,;!?"))
        if number % 9 == 8:
            lines.append("")
    return "\n".join(lines).encode() + b"\n"


def _words(random_: random.Random) -> bytes:
    return "".join(_word(random_) + "\n" for _ in range(2500)).encode()


def _numbers(random_: random.Random) -> bytes:
    return "".join(f"{random_.randrange(-50_000, 50_000)}\n" for _ in range(1500)).encode()


def _people(random_: random.Random) -> bytes:
    """Comma-separated: number, name, city, amount, day."""
    lines = ["id,name,city,amount,day"]
    for number in range(400):
        amount = f"{random_.randrange(100_000) / 100:.2f}"
        day = f"2026-{random_.randrange(1, 13):02}-{random_.randrange(1, 29):02}"
        row = (f"{number}", _word(random_).capitalize(), random_.choice(_CITIES), amount, day)
        lines.append(",".join(row))
    return "\n".join(lines).encode() + b"\n"


def _sorted_keys(random_: random.Random) -> bytes:
    """Lines with a key, in order, as `join` and `comm` want them; two such files share some."""
    keys = sorted(f"k{number:04}" for number in random_.sample(range(900), 500))
    return "".join(f"{key} {len(key) * int(key[1:]) % 97}\n" for key in keys).encode()


def _records(random_: random.Random) -> bytes:
    records = [
        {
            "id": number,
            "name": _word(random_),
            "tags": sorted({_word(random_) for _ in range(random_.randrange(4))}),
            "score": round(random_.random() * 100, 3),
            "nested": {"on": number % 3 == 0, "city": random_.choice(_CITIES), "none": None},
        }
        for number in range(250)
    ]
    return json.dumps({"records": records, "title": "Gr\u00fc\u00dfe"}, indent=2).encode()


def _binary(random_: random.Random) -> bytes:
    """Runs, repeats and noise."""
    data = bytearray()
    while len(data) < 48 * 1024:
        kind = random_.randrange(3)
        if kind == 0:
            data += bytes([random_.randrange(256)]) * random_.randrange(200)
        elif kind == 1 and data:
            start = random_.randrange(len(data))
            data += data[start : start + random_.randrange(300)]
        else:
            data += random_.randbytes(random_.randrange(150))
    return bytes(data[: 48 * 1024])


_FILES: dict[str, Callable[[random.Random], bytes]] = {
    "text": _text,
    "words": _words,
    "numbers": _numbers,
    "people.csv": _people,
    "left": _sorted_keys,
    "right": _sorted_keys,
    "records.json": _records,
    "binary": _binary,
    "tree/only/one/way/down": lambda _: b"found\n",
}


def _archive(files: dict[str, bytes]) -> bytes:
    """A tar file of some of the others."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("words", "people.csv", "tree/only/one/way/down"):
            member = tarfile.TarInfo(f"data/{name}")
            member.size, member.mtime, member.mode = len(files[name]), _TIME, 0o644
            archive.addfile(member, io.BytesIO(files[name]))
    return buffer.getvalue()
