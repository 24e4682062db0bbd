#!/usr/bin/env python3
"""Decode and encode a corpus of sections that real assemblers and linkers make.

One command, `python -m testprogs.corpus`, on a machine that can run build.py.  It compiles
random C (csmith), the sources of this folder and, for SFrame V3, takes musl's objects, with many
combinations of flags, for each architecture and each assembler in the roots that build.py makes.
Objects are also linked: partly (`ld -r`), and as shared objects, whose PLT the linker describes
itself.  Each section is decoded and encoded, and every byte must come back.

It prints, for each producer, architecture and kind of file, how many sections, functions and rows
there were, and names every section that differs or that the decoder finds faulty.  It ends with 1
if one differs, or if there are fewer sections than asked for.  All files are made below the cache
folder; nothing is committed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from emu.errors import SFrameError
from emu.fuzz.roots import cache_folder
from emu.image import load_image
from emu.sframe.container import find_section
from emu.sframe.encode import encode
from emu.sframe.form import read_form
from testprogs.build import (
    ASSEMBLY,
    HERE,
    INSIDE,
    TOOLCHAINS,
    BuildError,
    Root,
    Toolchain,
    build_musl,
    fetch_root,
    make_root,
    tool_versions,
)

FOLDER = "corpus"
CSMITH_OPTIONS = ("--max-funcs", "8", "--max-block-depth", "3", "--max-block-size", "3")
COMMON = (
    "-g0", "-std=gnu11", "-w", "-fasynchronous-unwind-tables", "-Wa,--gsframe",
    f"-ffile-prefix-map={INSIDE}=.",
)  # fmt: skip

# Each source gets all of these; a random program only each third, so that there are more of them.
FLAGS = (
    "-O0 -fno-omit-frame-pointer",
    "-O0 -fomit-frame-pointer -fPIC",
    "-O1",
    "-O2 -fno-omit-frame-pointer -fPIC",
    "-O2 -ffunction-sections -freorder-blocks-and-partition",
    "-O2 -fstack-clash-protection -fstack-protector-all",
    "-O3 -fPIC",
    "-O3 -funroll-loops -fno-inline",
    "-Os -fPIC",
    "-Os -fno-shrink-wrap -fno-omit-frame-pointer",
)
FLAGS_OF_ARCH = {
    "x86_64": (
        "-O2 -fcf-protection=full -fPIC",
        "-O2 -maccumulate-outgoing-args -mno-red-zone",
        "-O2 -mincoming-stack-boundary=3 -mstackrealign",
        "-O2 -mavx2 -mpush-args -fno-omit-frame-pointer",
    ),
    "aarch64": (
        "-O2 -mbranch-protection=standard -fPIC",
        "-O2 -mbranch-protection=pac-ret+leaf+b-key",
        "-O0 -mbranch-protection=pac-ret",
        "-O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer",
    ),
    "s390x": (
        "-O2 -mbackchain -fPIC",
        "-O2 -march=z13",
        "-O0 -mpacked-stack -msoft-float",
        "-O3 -march=z13 -mbackchain",
    ),
}


@dataclass(frozen=True)
class Unit:
    """A file to compile for one architecture with one assembler."""

    chain: Toolchain
    arch: str
    source: str
    flags: str

    @property
    def name(self) -> str:
        """Name of the object, below the corpus folder."""
        digest = hashlib.sha256(self.flags.encode()).hexdigest()[:8]
        return f"{self.arch}/{Path(self.source).name.replace('.', '-')}-{digest}.o"


@dataclass
class Tally:
    """What was seen of one producer."""

    sections: int = 0
    empty: int = 0
    functions: int = 0
    rows: int = 0
    distinct: set[bytes] = field(default_factory=set)
    differing: int = 0
    faulty: int = 0


def make_csmith(cache: Path, mirror: str | None) -> Root:
    """Make a small root with the generator of random programs, unless the cache has it."""
    path = cache / "roots" / "csmith"
    stamp = path.with_name("csmith.stamp")
    if not stamp.is_file():
        if path.exists():
            raise BuildError(f"{path} is unfinished: remove it first")
        print("making the root of csmith", flush=True)
        fetch_root("sid", path, ["csmith", "libcsmith-dev"], mirror)
        stamp.write_text("csmith\n")
    (path / INSIDE.removeprefix("/")).mkdir(parents=True, exist_ok=True)
    return Root(path)


def make_sources(csmith: Root, programs: int, folder: Path) -> list[str]:
    """Write random programs and the headers that they include; the names of the programs."""
    found = []
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "random").mkdir(parents=True)
    (headers,) = (csmith.path / "usr/include").glob("csmith*")
    shutil.copytree(headers, folder / "include")
    shutil.copytree(HERE / "src", folder / "src")
    for seed in range(1, programs + 1):
        text = csmith.run("csmith", "--seed", str(seed), *CSMITH_OPTIONS).stdout
        name = f"random/{seed}.c"
        (folder / name).write_text(text)
        found.append(name)
    return found


def units(chain: Toolchain, arch: str, random: list[str]) -> Iterator[Unit]:
    """Yield what is compiled for one architecture with one assembler."""
    combinations = [*FLAGS, *FLAGS_OF_ARCH[arch]]
    plain = sorted(f"src/{path.name}" for path in (HERE / "src").glob("*.c"))
    assembly = [f"src/{arch}/{name}" for name in sorted({*ASSEMBLY.values(), "start.S"})]
    for source, flags in itertools.product(plain, combinations):
        yield Unit(chain, arch, source, flags)
    for source in assembly:
        yield Unit(chain, arch, source, "-O2")
    for number, source in enumerate(random):
        for flags in combinations[number % 3 :: 3]:
            yield Unit(chain, arch, source, flags)


def compile_unit(unit: Unit, root: Root) -> Path | None:
    """Compile a unit; None where this compiler has no such flag or refuses the source."""
    target = root.folder / FOLDER / "out" / unit.name
    if target.is_file():
        return target
    gcc = f"{unit.arch}-linux-gnu-gcc"
    words = [gcc, *COMMON, *unit.flags.split(), f"-I{FOLDER}/include", "-c"]
    partial = f"{FOLDER}/out/{unit.name}.partial"
    try:
        root.run(*words, f"{FOLDER}/{unit.source}", "-o", partial)
    except BuildError:
        return None
    (root.folder / partial).replace(target)
    return target


def link(root: Root, arch: str, objects: list[Path]) -> Iterator[Path]:
    """Link objects in groups of eight, partly and as shared objects."""
    ld = f"{arch}-linux-gnu-ld"
    out = root.folder / FOLDER / "out" / arch
    for number, start in enumerate(range(0, len(objects), 8)):
        names = ["/" + str(path.relative_to(root.path)) for path in objects[start : start + 8]]
        common = ["--allow-multiple-definition", "--unresolved-symbols=ignore-all"]
        for kind, words in (("relinked", ["-r"]), ("shared", ["-shared", "-z", "notext"])):
            target = out / f"group-{number}.{kind}"
            inside = "/" + str(target.relative_to(root.path))
            try:
                root.run(ld, *words, *common, *names, "-o", inside)
            except BuildError:
                # Code that is not position-independent has no place in a shared object.
                continue
            yield target


def musl_objects(root: Root, arch: str) -> list[Path]:
    """Unpack the objects of musl's library."""
    build_musl(root, arch)
    folder = root.folder / FOLDER / "musl" / arch
    folder.mkdir(parents=True, exist_ok=True)
    inside = "/" + str(folder.relative_to(root.path))
    root.run(f"{arch}-linux-gnu-ar", "x", "--output", inside, f"/build/musl/{arch}/lib/libc.a")
    return sorted(folder.glob("*.*o"))


def check(path: Path, tally: Tally) -> str:
    """Decode and encode the section of a file; what is wrong with it, or nothing."""
    contained = find_section(load_image(str(path)))
    if contained is None or not contained.data:
        tally.empty += 1
        return ""
    tally.sections += 1
    tally.distinct.add(hashlib.sha256(contained.data).digest())
    try:
        form = read_form(contained.data)
    except SFrameError as error:
        tally.faulty += 1
        return f"faulty: {error}"
    made = encode(form).data
    tally.functions += len(form.functions)
    tally.rows += sum(len(function.rows) for function in form.functions)
    if made == contained.data:
        return ""
    tally.differing += 1
    pairs = enumerate(zip(made, contained.data, strict=False))
    at = next((at for at, (ours, theirs) in pairs if ours != theirs), len(contained.data))
    return (
        f"differs: {len(made)} bytes, not {len(contained.data)}; the first difference is at {at:#x}"
    )


def collect(
    chain: Toolchain, root: Root, random: list[str], pool: concurrent.futures.Executor
) -> Iterator[tuple[str, str, Path]]:
    """Yield (architecture, kind, path) of each file that a toolchain makes."""
    for arch in chain.arches:
        (root.folder / FOLDER / "out" / arch).mkdir(parents=True, exist_ok=True)
        wanted = list(units(chain, arch, random))
        print(f"compiling {len(wanted)} files for {arch} in {chain.suite}", flush=True)
        made = list(pool.map(compile_unit, wanted, itertools.repeat(root)))
        objects = [path for path in made if path is not None]
        print(f"  {len(made) - len(objects)} were refused by the compiler", flush=True)
        yield from ((arch, "object", path) for path in objects)
        yield from ((arch, path.suffix[1:], path) for path in link(root, arch, objects))
        if chain.sframe == 3:
            yield from ((arch, "musl", path) for path in musl_objects(root, arch))


def examine(files: Iterable[tuple[str, str, Path]], producer: str) -> tuple[list[str], list[Tally]]:
    """Check files and print what was seen; what is wrong, and the tallies."""
    tallies: dict[tuple[str, str], Tally] = {}
    wrong = []
    for arch, kind, path in files:
        said = check(path, tallies.setdefault((arch, kind), Tally()))
        if said:
            wrong.append(f"{path}: {said}")
    titles = ("sections", "distinct", "functions", "rows", "differ", "faulty", "none")
    print(f"{producer}\n{'':21}" + "".join(f"{title:>11}" for title in titles))
    for (arch, kind), tally in tallies.items():
        counts = (
            tally.sections, len(tally.distinct), tally.functions, tally.rows, tally.differing,
            tally.faulty, tally.empty,
        )  # fmt: skip
        print(f"  {arch:<9}{kind:<10}" + "".join(f"{count:>11}" for count in counts), flush=True)
    return wrong, list(tallies.values())


def main() -> int:
    """Make the corpus and check it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--programs", type=int, default=24, metavar="N", help="random programs (24)"
    )
    parser.add_argument(
        "--sections", type=int, default=1000, metavar="N", help="fewest distinct sections (1000)"
    )
    parser.add_argument("--mirror", help="Debian mirror; default: the one in apt's sources")
    options = parser.parse_args()
    wrong: list[str] = []
    tallies: list[Tally] = []
    try:
        cache = cache_folder()
        sources = cache / FOLDER
        random = make_sources(make_csmith(cache, options.mirror), options.programs, sources)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for version in sorted(TOOLCHAINS):
                chain = TOOLCHAINS[version]
                root = make_root(chain, cache, options.mirror)
                shutil.rmtree(root.folder / FOLDER, ignore_errors=True)
                shutil.copytree(sources, root.folder / FOLDER)
                producer = tool_versions(root, chain.arches[0])["binutils"]
                said, seen = examine(collect(chain, root, random, pool), producer)
                wrong += said
                tallies += seen
    except BuildError as failure:
        print(f"corpus.py: {failure}", file=sys.stderr)
        return 1
    for line in wrong:
        print(line)
    distinct = len(set[bytes]().union(*(tally.distinct for tally in tallies)))
    differing = sum(tally.differing for tally in tallies)
    print(
        f"{sum(tally.sections for tally in tallies)} sections ({distinct} distinct), "
        f"{sum(tally.functions for tally in tallies)} functions, "
        f"{sum(tally.rows for tally in tallies)} rows: {differing} differ, "
        f"{sum(tally.faulty for tally in tallies)} are faulty"
    )
    if distinct < options.sections:
        print(f"corpus.py: fewer than {options.sections} sections", file=sys.stderr)
        return 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
