"""The `toolchain` command: what there is to try, and roots with more of it."""

from collections.abc import Iterator, Sequence

from emu.fuzz.roots import make_root
from emu.fuzz.toolchains import Toolchains, discover
from emu.report.output import write_report
from emu.report.progress import waiting
from emu.report.text import complain, text_of


def toolchain(suites: Sequence[str], mirror: str | None) -> int:
    """Make the roots of these suites, if any, and list every compiler and assembler."""
    for suite in suites:
        with waiting(suite, "fetching"):
            make_root(suite, mirror, complain)
    write_report(text_of(_lines(discover())), None)
    return 0


def _lines(found: Toolchains) -> Iterator[str]:
    for compiler in found.compilers:
        yield f"{compiler.arch:<8} {compiler.name:<24} {_place(compiler.tool.root)}"
    for assembler in found.assemblers:
        table = "SFrame" if assembler.sframe else "no SFrame"
        yield f"{assembler.arch:<8} {assembler.name:<24} {_place(assembler.tool.root)}, {table}"
    for name, emulator in found.references.items():
        yield f"{name:<8} qemu-user {emulator.version:<14} {_place(emulator.root)}"
    if found.csmith is not None:
        yield f"{'all':<8} csmith {found.csmith.version:<17} {_place(found.csmith.root)}"
    if not found.compilers:
        yield "no compiler here: `unwindlab toolchain sid` fetches some"


def _place(root: str | None) -> str:
    return root or "this host"
