"""The programs of real_programs.toml."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("real_programs.toml")
ENVIRONMENT = (
    "PATH=/usr/bin:/bin", "HOME=/", "LC_ALL=C", "TZ=UTC0",
    "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PERL_HASH_SEED=0",
)  # fmt: skip
"""Of every program: nothing that differs from run to run."""
_OUTPUT = "output of "
_SCRIPT = "script of "


@dataclass(frozen=True, slots=True)
class Program:
    """One run of a program; what the list says of it."""

    name: str
    package: str
    run: str
    script: str = ""
    stdin: str = ""
    quick: bool = False

    @property
    def source(self) -> str:
        """The name of the program whose output is read; empty: none's."""
        return self.stdin.removeprefix(_OUTPUT) if self.stdin.startswith(_OUTPUT) else ""

    def package_in(self, names: Mapping[str, str]) -> str:
        """The package, of a suite's names."""
        return _fill(self.package, names)

    def words(self, names: Mapping[str, str]) -> list[str]:
        """Program by its name, and arguments."""
        return [_fill(word, {**names, "script": self.script}) for word in shlex.split(self.run)]


def read_programs(path: Path = LIST) -> tuple[dict[str, Program], dict[str, dict[str, str]]]:
    """(the programs by name, the names that a suite has for what its packages call otherwise)."""
    content = tomllib.loads(path.read_text())
    scripts = {entry["name"]: entry.get("script", "") for entry in content["program"]}
    for entry in content["program"]:
        if entry.get("script", "").startswith(_SCRIPT):
            other = entry["script"].removeprefix(_SCRIPT)
            if other not in scripts:
                raise ValueError(f"{path}: {entry['name']}: no program {other}")
            entry["script"] = scripts[other]
    programs = [Program(**entry) for entry in content["program"]]
    by_name = {program.name: program for program in programs}
    if len(by_name) != len(programs):
        raise ValueError(f"{path}: a name stands there twice")
    for program in programs:
        if program.source and program.source not in by_name:
            raise ValueError(f"{path}: {program.name}: no program {program.source}")
    return by_name, content["suites"]


def with_sources(chosen: Iterable[Program], programs: Mapping[str, Program]) -> list[Program]:
    """These and all programs whose output they read."""
    found: dict[str, Program] = {}
    pending = list(chosen)
    while pending:
        program = pending.pop()
        found[program.name] = program
        if program.source:
            pending.append(programs[program.source])
    return list(found.values())


def _fill(text: str, names: Mapping[str, str]) -> str:
    """A word with names in braces replaced; one that is no name stays."""
    for name, value in names.items():
        if "{" + name + "}" in text:
            return text.replace("{" + name + "}", value)
    return text
