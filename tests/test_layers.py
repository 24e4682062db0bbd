"""The layers of the project, as its imports and literals really are."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import arch as machines

ROOT = Path(__file__).resolve().parents[1]

LAYERS = (
    {
        "errors", "verdict", "tables", "compiled", "native", "frames", "memory", "trace",
        "rowtext", "elf",
    },
    {"image", "symbols", "sframe", "cfi", "sample"},
    {"unwind", "machine"},
    {"linux", "truth"},
    {"check"},
    {"sweep"},
    {"deferred", "export", "fuzz", "kernel"},
    {"record"},
    {"report"},
    {"arguments"},
    {"commands"},
    {"cli"},
)  # fmt: skip
"""Parts of `emu`, lowest first. A part imports its own layer and those below; all import
`arch`, which imports nothing but the standard library."""

SIBLINGS = ({"sframe", "cfi"}, {"unwind", "machine"}, {"linux", "truth"})
"""Parts of one layer that must not know each other."""

DOORS = {
    "capstone": {
        "emu.report": "disassembly is for people",
        "emu.fuzz.symptom": "causes are told apart by the instruction before",
        "emu.sweep": "lengths and operands of instructions",
    },
    "elftools": {"emu.image": "ELF", "emu.cfi": ".eh_frame"},
    "lief": {},
    "llvmlite": {"emu.native": "intrinsics are written in its instructions"},
    "numba": {
        "emu.compiled": "where the compiler keeps its cache",
        "emu.native": "the loads and stores that all compiled code is made of",
        "emu.memory": "compiled code searches the page table",
        "emu.machine.paging": "the TLB-fill hook",
        "emu.sframe": "the scan of large sections",
        "emu.unwind": "lookup and step",
        "emu.truth": "the shadow stack",
        "emu.check": "the hook",
        "emu.sweep": "the hook of forced execution",
        "emu.report.doctor": "it says whether the compiler's cache is filled",
    },
    "numpy": {"emu": "blocks that compiled code reads"},
    "rich": {"emu.report": "progress"},
    "unicorn": {"emu.machine.engine": "so that another emulator could be used"},
}
"""Third-party libraries: the modules or packages that may import them, and why."""


def breaches(root: Path) -> list[str]:
    """Every import and literal below `root` that breaks a rule, as ``file:line: reason``."""
    return [
        f"{path.relative_to(root)}:{line}: {reason}"
        for package in ("arch", "emu")
        for path in sorted((root / package).rglob("*.py"))
        for line, reason in _breaches_of(root, path)
    ]


def _breaches_of(root: Path, path: Path) -> Iterator[tuple[int, str]]:
    parts = path.relative_to(root).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    tree = ast.parse(path.read_text())
    if module.startswith("emu.") and _layer(module) is None:
        yield 1, f"{module} is in no layer"
    for line, target in _imports(tree):
        if reason := _import_breach(module, target):
            yield line, reason
    if parts[0] == "emu":
        for line, name in _names_of_machines(tree):
            yield line, f"names a machine: {name}"


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            if name in ("emu", "arch"):
                yield from ((node.lineno, f"{name}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, name


def _layer(module: str) -> int | None:
    part = module.split(".")[1]
    return next((number for number, layer in enumerate(LAYERS) if part in layer), None)


def _import_breach(module: str, target: str) -> str:
    """Why `module` must not import `target`, or nothing."""
    top = target.split(".")[0]
    if target.startswith("."):
        return "relative import"
    if top in sys.stdlib_module_names or top == "arch":
        return ""
    if module.split(".")[0] == "arch":
        return f"arch imports {target}"
    if top != "emu":
        doors = DOORS.get(top, {})
        if any(module == door or module.startswith(door + ".") for door in doors):
            return ""
        return f"{module} is no door to {top}"
    if target == "emu" or module == "emu":
        return ""
    here, there = _layer(module), _layer(target)
    if there is None or here is None:
        return "" if here is None else f"{target} is in no layer"
    if there > here:
        return f"{module} imports {target} of a higher layer"
    parts = {module.split(".")[1], target.split(".")[1]}
    if len(parts) == 2 and parts in SIBLINGS:
        return f"{module} imports its sibling {target}"
    return ""


def _names_of_machines(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Machines in literals, imports and identifiers; docstrings may name them."""
    docstrings = {
        id(node.body[i].value)  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for i in range(len(node.body))
        if isinstance(node.body[i], ast.Expr)
    }
    names = {machine.name for machine in machines.ALL}
    for node in ast.walk(tree):
        texts: list[str] = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts = [] if id(node) in docstrings else [node.value]
        elif isinstance(node, ast.Name):
            texts = [node.id]
        elif isinstance(node, ast.Attribute):
            texts = [node.attr]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            texts = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        for text in texts:
            for name in names:
                if name in text.lower():
                    yield node.lineno, text


def test_layers() -> None:
    """No module imports upward, past a door, or names a machine."""
    assert breaches(ROOT) == []


def test_every_layer_exists() -> None:
    """The rules above speak of parts that there are."""
    there = {path.stem for path in (ROOT / "emu").iterdir() if path.suffix in ("", ".py")}
    assert set().union(*LAYERS) <= there


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("emu/unwind/bad.py", "def f():\n    import emu.machine.engine\n",
         "emu.unwind.bad imports its sibling emu.machine.engine"),
        ("emu/machine/bad.py", "from emu.linux.process import Process\n",
         "emu.machine.bad imports emu.linux.process of a higher layer"),
        ("emu/cfi/bad.py", "import unicorn\n", "emu.cfi.bad is no door to unicorn"),
        ("emu/image.py", "from emu import cli\n", "emu.image imports emu.cli of a higher layer"),
        ("emu/new.py", "", "emu.new is in no layer"),
        ("arch/bad.py", "import numpy\n", "arch imports numpy"),
        ("emu/image.py", f"wide = name == '{machines.ALL[0].name}'\n",
         f"names a machine: {machines.ALL[0].name}"),
        ("emu/image.py", f"from arch.{machines.ALL[-1].name} import SP\n",
         f"names a machine: arch.{machines.ALL[-1].name}"),
    ],
)  # fmt: skip
def test_planted_breach_is_found(tmp_path: Path, file: str, text: str, reason: str) -> None:
    """The checker sees what it is there to see."""
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text('"""A docstring."""\n' + text)
    found = breaches(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{file}:")
    assert found[0].endswith(f": {reason}")


def test_dump_is_light() -> None:
    """`dump` loads neither the emulator, nor lief, nor the compiled check."""
    section = ROOT / "tests" / "data" / "sframe" / "v1-amd64-so.so"
    script = (
        "import sys\n"
        "from emu.cli import main\n"
        f"main(['dump', {str(section)!r}])\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(run.stderr.split())
    assert "emu.report.dump" in loaded
    assert loaded.isdisjoint({"lief", "unicorn", "capstone", "emu.check.hook", "numba"})
