"""The programs of tests/data/run, and runs of the command line over them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from emu.cli import main
from emu.image import load_image

RUN = Path(__file__).parents[1] / "data" / "run"
ILLEGAL = {"x86_64": b"\x0f\x0b", "aarch64": bytes(4), "s390x": bytes(2)}
"""ud2, udf #0, and an opcode of zero."""
ENDLESS = {"x86_64": b"\xeb\xfe", "aarch64": b"\0\0\0\x14", "s390x": b"\xa7\xf4\0\0"}
"""A jump to itself."""


@dataclass(frozen=True)
class Case:
    """One program and what is known of it."""

    name: str
    why: str
    options: list[str]
    exit: int
    stdout: str
    findings: list[tuple[str, str, int, int]]
    """(verdict, function, first offset, offset behind the last)."""
    gaps: list[tuple[str, str]]
    clean_functions: list[str]
    least_instructions: int

    @property
    def program(self) -> str:
        """Path of the program."""
        return str(RUN / self.name / "prog")


def load_case(name: str) -> Case:
    """The case of a folder."""
    content = json.loads((RUN / name / "case.json").read_text())
    content["findings"] = [tuple(entry) for entry in content["findings"]]
    content["gaps"] = [tuple(entry) for entry in content["gaps"]]
    return Case(name, **content)


CASES = [load_case(folder.name) for folder in sorted(RUN.iterdir())]


def program(name: str) -> str:
    """Path of a case's program."""
    return str(RUN / name / "prog")


@cache
def address_of(path: str, symbol: str) -> tuple[int, int]:
    """(link-time address, offset in the file) of a symbol of a program."""
    image = load_image(path)
    found = next(s for s in image.symbols if s.name == symbol)
    section = image.sections[found.section_index]
    return found.value, section.offset + found.value - section.addr


def patched(folder: Path, name: str, symbol: str, offset: int, code: bytes) -> str:
    """A copy of a case's program with other bytes at an offset of a function."""
    data = bytearray(Path(program(name)).read_bytes())
    at = address_of(program(name), symbol)[1] + offset
    data[at : at + len(code)] = code
    path = folder / "prog"
    path.write_bytes(data)
    return str(path)


@dataclass(frozen=True)
class Answer:
    """What a command gave."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.stdout)

    @property
    def findings(self) -> list[tuple[str, str, str, int, int]]:
        """(verdict, function, role, first offset, offset behind the last) of each finding."""
        return [
            (f["verdict"], f["function"], f["role"], f["start_offset"],
             f["start_offset"] + int(f["end"], 16) - int(f["start"], 16))
            for f in self.json["findings"]
        ]  # fmt: skip


class Command:
    """Calls the command line in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str) -> Answer:
        """Run with these arguments."""
        self._capture.readouterr()
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = int(end.code or 0)
        captured = self._capture.readouterr()
        return Answer(status, captured.out, captured.err)

    def check(self, name: str, *options: str) -> Answer:
        """``check --format json`` of a case's program, or of a path."""
        path = name if "/" in name else program(name)
        return self("check", "--format", "json", *options, path)

    def refuse(self, *arguments: str) -> str:
        """The one line on stderr of a command that could not do its job (exit status 2)."""
        answer = self(*arguments)
        lines = answer.stderr.splitlines()
        assert (answer.status, len(lines)) == (2, 1), answer
        return lines[0]
