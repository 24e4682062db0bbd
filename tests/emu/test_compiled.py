"""The cache of compiled code follows every source that it rests on."""

import ast
from pathlib import Path

import pytest

from emu import compiled

_ROOT = Path(compiled.__file__).resolve().parent.parent


def _imports(path: Path) -> set[str]:
    """Modules of this project that a file imports, as relative paths."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {f"{name.replace('.', '/')}.py" for name in names}
    return {name for name in found if (_ROOT / name).is_file()}


def _defines_compiled(path: Path) -> bool:
    text = path.read_text()
    return "numba.njit" in text or "numba.cfunc" in text or "@intrinsic" in text


def test_every_compiled_module_and_what_it_imports_is_in_the_digest() -> None:
    """A module that is compiled, or gives constants to one that is, belongs to SOURCES."""
    modules = [
        path.relative_to(_ROOT).as_posix()
        for package in ("arch", "emu")
        for path in (_ROOT / package).rglob("*.py")
        if _defines_compiled(path)
    ]
    assert "emu/check/hook.py" in modules
    needed = set(modules).union(*(_imports(_ROOT / name) for name in modules))
    # What only raises, or only describes, freezes no constant into compiled code.
    needed -= {"emu/errors.py", "emu/tables.py"}
    assert needed <= set(compiled.SOURCES)


def test_an_edit_of_a_source_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sets of sources that differ in one byte have different cache folders."""
    for name in compiled.SOURCES:
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((_ROOT / name).read_bytes())
    monkeypatch.setattr(compiled, "_ROOT", tmp_path)
    before = compiled.digest()
    target = tmp_path / "emu/unwind/step.py"
    target.write_text(target.read_text() + "#")
    assert compiled.digest() != before
