#!/usr/bin/env python3
"""Rebuild every test program: the archives in prebuilt/ and manifest.json.

One command, `python -m testprogs.build`, as root on a Debian-like x86-64 machine with
mmdebstrap installed.  It makes three Debian roots (one per binutils release that writes a
different SFrame version) below a cache folder, builds musl with unwind tables, compiles the
matrix of programs, runs each one (s390x and aarch64 under qemu-user) to learn what it prints,
and writes the archives and the manifest.  Nothing outside the cache and this folder changes.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import hashlib
import io
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from emu.fuzz.roots import cache_folder, install
from emu.fuzz.tools import ToolError

HERE = Path(__file__).resolve().parent
CLANG = "clang-23"
ARCHES = ("x86_64", "aarch64", "s390x")
LEVELS = ("O0", "O1", "O2", "O3", "Os")
FRAME_POINTER = {"nofp": "-fomit-frame-pointer", "fp": "-fno-omit-frame-pointer"}
INSIDE = "/build/testprogs"  # the folder that is built in, seen from inside a root

COMMON_FLAGS = (
    "-g0",
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-fasynchronous-unwind-tables",
    "-freorder-blocks-and-partition",
    "-fno-stack-protector",
    "-Wa,--gsframe",
    f"-ffile-prefix-map={INSIDE}=.",
)
BARE_FLAGS = ("-ffreestanding", "-fno-tree-loop-distribute-patterns")
GCC_ONLY = ("-freorder-blocks-and-partition", "-fno-tree-loop-distribute-patterns", "-no-pie")
STATIC_FLAGS = ("-fno-pie", "-no-pie", "-static")
LINK_FLAGS = ("-Wl,--build-id=none",)
SMALL_PAGES = "-Wl,-z,max-page-size=4096"

CROSS_PACKAGES = {
    "aarch64": ("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
    "s390x": ("gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"),
}

# Fetches musl's upstream source while the root is made and its mirror is known.
FETCH_MUSL = """\
sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > /etc/apt/sources.list.d/source.list
apt-get update
mkdir -p /usr/src/musl
cd /usr/src/musl
apt-get source --tar-only --download-only musl
"""

MUSL_FLAGS = "-O2 -fasynchronous-unwind-tables -Wa,--gsframe -ffile-prefix-map=/build/musl=."
BUILD_MUSL = """\
set -e
arch=$1
mkdir -p /build/musl
cd /build/musl
rm -rf "$arch" "build-$arch"
test -d source || { mkdir source.new
  tar xf /usr/src/musl/musl_*.orig.tar.* -C source.new --strip-components=1
  mv source.new source; }
mkdir "build-$arch"
cd "build-$arch"
CC="$arch-linux-gnu-gcc" AR="$arch-linux-gnu-ar" RANLIB="$arch-linux-gnu-ranlib" \\
CFLAGS="$2" \\
  ../source/configure --target="$arch-linux-musl" --prefix="/build/musl/$arch" --disable-shared
make -j2
make install
"""


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """A Debian release whose assembler writes one SFrame version."""

    suite: str
    sframe: int
    arches: tuple[str, ...]
    packages: tuple[str, ...]


TOOLCHAINS = {
    3: Toolchain("sid", 3, ARCHES, ("make", "qemu-user", "elfutils", "gdb-multiarch", CLANG)),
    2: Toolchain("trixie", 2, ("x86_64", "aarch64"), ()),
    1: Toolchain("bookworm", 1, ("x86_64", "aarch64"), ()),
}


@dataclasses.dataclass(frozen=True)
class Program:
    """One file to build: which source, with which tools and flags."""

    name: str
    arch: str
    source: str
    libc: str  # "none", "musl" or "glibc"
    toolchain: Toolchain
    flags: tuple[str, ...]
    kind: str = "executable"  # or "static-pie", "object", "relinked"
    arguments: tuple[str, ...] = ()
    note: str = ""
    compiler: str = "gcc"


# Programs with an assembly part.
ASSEMBLY = {"jumps": "switch.S", "coro": "switch.S", "handcfi": "handcfi.S"}

# What is known to be wrong or absent, by source, SFrame version and architecture.
NOTES = {
    ("frames", 1, "x86_64"): "binutils 2.40 leaves out aligned_128_alloca (CFA on r10), silently",
    ("handcfi", 1, "x86_64"): "binutils 2.40 writes the CFA of hand_other_cfa as based on SP, "
    "ignores that hand_ra_slot moves its return address, and leaves out hand_ra_register and "
    "hand_special, silently",
    ("handcfi", 1, "aarch64"): "binutils 2.40 writes the CFA of hand_other_cfa as based on SP "
    "and leaves out hand_ra_register, silently",
    ("handcfi", 2, "x86_64"): "binutils 2.44 ignores that hand_ra_register and hand_ra_slot "
    "move their return address, and leaves out hand_other_cfa and hand_special",
    ("handcfi", 2, "aarch64"): "no SFrame rows for hand_other_cfa and hand_ra_register",
    ("handcfi", 3, "aarch64"): "no SFrame rows for hand_other_cfa and hand_ra_register",
}
VARIANT_NOTES = {
    ("retaa", "aarch64"): "needs a CPU with pointer authentication",
    ("patchable", "s390x"): "GCC starts a function's rows behind the no-ops of its entry",
}
CLANG_NOTES = {
    "s390x": "Clang writes no rows for epilogues: wrong from the reload of r15 to the return",
    "x86_64": "with ms_abi Clang moves the CFA only after the saves of xmm6 to xmm15 "
    "(other_convention in frames-v3-clang-O2-nofp)",
}

# Variants by flags in SFrame V3: source, level, variant, flags.
VARIANTS = (
    ("frames", "O0", "clash", "-fstack-clash-protection"),
    ("frames", "O2", "clash", "-fstack-clash-protection"),
    ("flow", "O2", "gc", "-ffunction-sections -Wl,--gc-sections"),
    ("flow", "O2", "patchable", "-fpatchable-function-entry=4,2"),
)
VARIANTS_OF_ARCH = {
    "x86_64": (
        ("flow", "O2", "cet", "-fcf-protection=full"),
        ("frames", "O2", "args", "-maccumulate-outgoing-args"),
        ("frames", "O2", "realign", "-mincoming-stack-boundary=3"),
        ("leaves", "O2", "noredzone", "-mno-red-zone"),
        ("leaves", "O2", "leaffp", "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"),
    ),
    "aarch64": (
        ("frames", "O2", "bti", "-mbranch-protection=standard"),
        ("flow", "O2", "bti", "-mbranch-protection=standard"),
        ("flow", "O2", "bkey", "-mbranch-protection=pac-ret+b-key"),
        ("flow", "O2", "retaa", "-mbranch-protection=pac-ret+leaf -march=armv8.3-a"),
        ("jumps", "O2", "bti", "-mbranch-protection=bti"),
        ("leaves", "O2", "leafpac", "-mbranch-protection=pac-ret+leaf"),
        ("leaves", "O2", "leaffp", "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"),
    ),
    "s390x": (
        ("frames", "O2", "backchain", "-mbackchain"),
        ("flow", "O2", "backchain", "-mbackchain"),
        ("frames", "O0", "backchain", "-mbackchain"),
        ("frames", "O2", "z13", "-march=z13"),
        ("flow", "O2", "z13", "-march=z13"),
        ("leaves", "O2", "z13", "-march=z13"),
        ("leaves", "O1", "z13", "-march=z13"),
        ("leaves", "O3", "z13", "-march=z13"),
        ("frames", "O2", "packed", "-mpacked-stack"),
        ("leaves", "O2", "packed", "-mpacked-stack"),
    ),
}

# Programs for musl: source, level, variant (empty: as the level has it), flags.
MUSL_PROGRAMS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("work", "O0", "", ()),
    ("work", "O1", "", ()),
    ("work", "O2", "", ()),
    ("work", "O2", "fp", (FRAME_POINTER["fp"],)),
    ("work", "O3", "", ()),
    ("work", "Os", "", ()),
    ("calls", "O0", "", ()),
    ("calls", "O2", "", ()),
    ("calls", "O2", "fp", (FRAME_POINTER["fp"],)),
    ("calls", "O2", "gc", ("-ffunction-sections", "-Wl,--gc-sections")),
    ("parse", "O1", "", ()),
    ("parse", "O2", "", ()),
    ("parse", "Os", "", ()),
    ("coro", "O0", "", ()),
    ("coro", "O2", "", ()),
)
EXTRA_MUSL: dict[str, tuple[tuple[str, str, str, tuple[str, ...]], ...]] = {
    "x86_64": (),
    "aarch64": (("calls", "O2", "bti", ("-mbranch-protection=standard",)),),
    "s390x": (
        ("calls", "O2", "backchain", ("-mbackchain",)),
        ("work", "O2", "z13", ("-march=z13",)),
    ),
}

# Clang's code with rows from GNU as: source, level, frame pointer.
CLANG_PROGRAMS = (
    ("frames", "O0", "fp"),
    ("frames", "O2", "nofp"),
    ("frames", "O2", "fp"),
    ("flow", "O2", "nofp"),
    ("flow", "O2", "fp"),
    ("leaves", "O2", "nofp"),
    ("jumps", "O2", "nofp"),
)


def bare_programs(arch: str, chain: Toolchain) -> Iterator[Program]:
    """Yield the programs without a C library."""
    wanted: list[tuple[str, str, str, tuple[str, ...]]] = []

    def plain(source: str, level: str, *frames: str) -> None:
        wanted.extend((source, level, frame, (FRAME_POINTER[frame],)) for frame in frames)

    if chain.sframe == 3:
        for level in LEVELS:
            plain("frames", level, "nofp", "fp")
            plain("flow", level, "nofp", "fp")
        plain("jumps", "O0", "nofp", "fp")
        plain("jumps", "O2", "nofp", "fp")
        plain("jumps", "Os", "nofp")
        plain("leaves", "O1", "nofp")
        plain("leaves", "O2", "nofp", "fp")
        plain("leaves", "O3", "nofp")
        plain("handcfi", "O2", "nofp")
        for source, level, variant, flags in (*VARIANTS, *VARIANTS_OF_ARCH[arch]):
            wanted.append((source, level, variant, tuple(flags.split())))
    else:
        for source in ("frames", "flow"):
            plain(source, "O0", "nofp")
            plain(source, "O2", "nofp", "fp")
        plain("leaves", "O2", "nofp")
        plain("handcfi", "O2", "nofp")
    for source, level, variant, words in wanted:
        name = f"{source}-v{chain.sframe}-{level}-{variant}"
        note = NOTES.get((source, chain.sframe, arch)) or VARIANT_NOTES.get((variant, arch), "")
        yield Program(name, arch, source, "none", chain, (f"-{level}", *words), note=note)
    yield Program(f"flow-v{chain.sframe}-object", arch, "flow", "none", chain, ("-O2",), "object")
    if chain.sframe == 3:
        yield Program("flow-v3-relinked", arch, "flow", "none", chain, ("-O2",), "relinked")
        for source, level, frame in CLANG_PROGRAMS:
            name = f"{source}-v3-clang-{level}-{frame}"
            clang_flags = (f"-{level}", FRAME_POINTER[frame])
            note = CLANG_NOTES.get(arch, "")
            yield Program(
                name, arch, source, "none", chain, clang_flags, "executable", (), note, "clang"
            )


def libc_programs(arch: str) -> Iterator[Program]:
    """Yield the programs linked with musl or glibc."""
    chain = TOOLCHAINS[3]
    for source, level, variant, flags in (*MUSL_PROGRAMS, *EXTRA_MUSL[arch]):
        name = f"{source}-musl-v3-{level}" + (f"-{variant}" if variant else "")
        yield Program(name, arch, source, "musl", chain, (f"-{level}", *flags))
    yield Program("calls-musl-v3-O2-pie", arch, "calls", "musl", chain, ("-O2",), "static-pie")
    for source in ("work", "calls"):
        yield Program(f"{source}-glibc-O2", arch, source, "glibc", chain, ("-O2",))


def programs(arch: str) -> list[Program]:
    """Return everything that is built for one architecture."""
    found = list(libc_programs(arch))
    for version in (3, 2, 1):
        if arch in TOOLCHAINS[version].arches:
            found += bare_programs(arch, TOOLCHAINS[version])
    return found


class BuildError(Exception):
    """A build step that did not work, with what it said."""


def run(command: Iterable[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it said; raise BuildError when it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildError(f"{words[0]}: {error.strerror}") from error
    if done.returncode:
        raise BuildError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


@dataclasses.dataclass(frozen=True)
class Root:
    """A Debian root and the tools in it."""

    path: Path

    @property
    def folder(self) -> Path:
        """The build folder, seen from outside."""
        return self.path / INSIDE.removeprefix("/")

    def command(self, *words: str) -> list[str]:
        """Return the command that runs these words in the build folder inside the root."""
        clean = ["env", "-i", "-C", INSIDE, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
        return ["nice", "chroot", str(self.path), *clean, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a tool inside the root and return what it said."""
        return run(self.command(*words))

    def musl_version(self) -> str:
        """Return the version of the musl source that the root was made with."""
        (archive,) = (self.path / "usr/src/musl").glob("musl_*.orig.tar.*")
        return archive.name.removeprefix("musl_").split(".orig")[0]


def make_root(chain: Toolchain, cache: Path, mirror: str | None) -> Root:
    """Make the Debian root of a toolchain, unless the cache has it."""
    path = cache / "roots" / chain.suite
    packages = ["gcc", "libc6-dev", *chain.packages]
    packages += [p for arch in chain.arches for p in CROSS_PACKAGES.get(arch, ())]
    stamp = path.with_name(chain.suite + ".stamp")
    wanted = " ".join(packages) + "\n"
    if stamp.is_file() and stamp.read_text() == wanted:
        return Root(path)
    print(f"making the root of {chain.suite}", flush=True)
    if path.exists():
        raise BuildError(f"{path} is unfinished or has other packages: remove it first")
    hook = ""
    if chain.sframe == 3:
        path.parent.mkdir(parents=True, exist_ok=True)
        script = path.with_name("fetch-musl.sh")
        script.write_text(FETCH_MUSL)
        hook = f'chroot "$1" sh -e < {shlex.quote(str(script))}'
    fetch_root(chain.suite, path, packages, mirror, hook)
    stamp.write_text(wanted)
    return Root(path)


def fetch_root(
    suite: str, path: Path, packages: list[str], mirror: str | None, hook: str = ""
) -> None:
    """Install a suite and packages; raise BuildError when that fails."""
    try:
        install(suite, path, packages, mirror, hook)
    except ToolError as error:
        raise BuildError(str(error)) from error


def build_musl(root: Root, arch: str) -> None:
    """Build musl's libc.a with unwind tables for its C code, unless it is there."""
    stamp = root.path / "build/musl" / f"{arch}.stamp"
    wanted = hashlib.sha256((BUILD_MUSL + MUSL_FLAGS).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"building musl for {arch}", flush=True)
    root.run("sh", "-c", BUILD_MUSL, "sh", arch, MUSL_FLAGS)
    stamp.write_text(wanted)


def copy_sources(root: Root) -> None:
    """Put fresh copies of the sources into a root."""
    shutil.rmtree(root.folder / "src", ignore_errors=True)
    shutil.copytree(HERE / "src", root.folder / "src")


def compile_command(root: Root, program: Program) -> list[str]:
    """Return the compiler's command line for a program, relative to the build folder."""
    arch = program.arch
    gcc = f"{arch}-linux-gnu-gcc"
    clang = [CLANG, f"--target={arch}-linux-gnu", "-fno-integrated-as"]
    words = [*(clang if program.compiler == "clang" else [gcc]), *COMMON_FLAGS]
    sources = [f"src/{program.source}.c"]
    if program.source in ASSEMBLY:
        sources.append(f"src/{arch}/{ASSEMBLY[program.source]}")
    if program.libc == "none":
        words += BARE_FLAGS
        if program.kind != "object":
            sources = [f"src/{arch}/start.S", "src/bare.c", *sources]
        if program.kind == "object":
            words += ["-fno-pie", "-c", *sources]
        elif program.kind == "relinked":
            words += ["-fno-pie", "-nostdlib", "-r", *sources]
        else:
            words += [*STATIC_FLAGS, *LINK_FLAGS, SMALL_PAGES, "-nostdlib", *sources, "-lgcc"]
    elif program.libc == "musl":
        words += musl_words(root, program, gcc, sources)
    else:
        words += [*STATIC_FLAGS, *LINK_FLAGS, *sources]
    words += [*program.flags, "-o", output_path(program)]
    return [w for w in words if program.compiler == "gcc" or w not in GCC_ONLY]


def musl_words(root: Root, program: Program, gcc: str, sources: list[str]) -> list[str]:
    """Return the part of the command line that puts musl in the place of glibc."""
    musl = f"/build/musl/{program.arch}"
    compiler_headers = root.run(gcc, "-print-file-name=include").stdout.strip()
    headers = ["-nostdinc", "-isystem", f"{musl}/include", "-isystem", compiler_headers]
    pie = program.kind == "static-pie"
    mode = ("-fpie", "-static-pie") if pie else STATIC_FLAGS
    start = [f"{musl}/lib/{'rcrt1.o' if pie else 'crt1.o'}", f"{musl}/lib/crti.o"]
    libraries = [f"-L{musl}/lib", "-lc", "-lgcc", "-lc", f"{musl}/lib/crtn.o"]
    return [*headers, *mode, *LINK_FLAGS, "-nostdlib", *start, *sources, *libraries]


def output_path(program: Program) -> str:
    """Return the path of a built program in the build folder."""
    return f"out/{program.arch}/{program.name}"


def digest(prefix: str, path: Path) -> dict[str, object]:
    """Return a file's size and SHA-256 under prefixed names."""
    content = path.read_bytes()
    return {f"{prefix}size": len(content), f"{prefix}sha256": hashlib.sha256(content).hexdigest()}


def observe(program: Program, sid: Root) -> dict[str, object]:
    """Run a program without our emulator; return its output and exit status."""
    path = output_path(program)
    if program.arch == "x86_64":
        command, observer = [str(sid.folder / path)], "native"
    else:
        command, observer = sid.command(f"qemu-{program.arch}", "-cpu", "max", path), "qemu-user"
    done = subprocess.run(
        [*command, *program.arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=60,
    )
    if done.stderr or not 0 <= done.returncode < 128:
        raise BuildError(
            f"{program.arch} {program.name} ended with {done.returncode}: {done.stderr}"
        )
    return {
        "arguments": list(program.arguments),
        "stdout": done.stdout,
        "exit_status": done.returncode,
        "observed": observer,
    }


def build(program: Program, root: Root, sid: Root, versions: dict[str, str]) -> dict[str, object]:
    """Build, strip, list and run a program; return its entry of the manifest.

    The results end in the build folder of the sid root, where qemu-user is.
    """
    arch = program.arch
    path = output_path(program)
    said = root.run(*compile_command(root, program)).stderr
    if "warning: " in said:
        raise BuildError(f"{arch} {program.name}\n{said}")
    root.run(f"{arch}-linux-gnu-strip", "--strip-debug", path)
    listing = root.run(f"{arch}-linux-gnu-readelf", "--sframe", "-W", path).stdout
    (sid.folder / f"{path}.readelf.txt").write_text(listing)
    if root != sid:
        shutil.copy(root.folder / path, sid.folder / path)
    version = re.search(r"Version: SFRAME_VERSION_(\d)", listing)
    entry: dict[str, object] = {
        "name": program.name,
        "arch": arch,
        "kind": program.kind,
        "source": f"src/{program.source}.c",
        "libc": program.libc,
        "sframe_version": int(version[1]) if version else None,
        "flags": list(program.flags),
        "compiler": versions[program.compiler],
        "binutils": versions["binutils"],
        "note": program.note,
        "assembler_warnings": sorted(set(re.findall(r"Warning: (.*)", said))),
        **digest("", sid.folder / path),
        **digest("readelf_", sid.folder / f"{path}.readelf.txt"),
    }
    if program.kind in ("executable", "static-pie"):
        entry |= observe(program, sid)
    return entry


def tool_versions(root: Root, arch: str) -> dict[str, str]:
    """Return the versions of compiler and binutils, as they say them."""
    tools = {"gcc": f"{arch}-linux-gnu-gcc", "binutils": f"{arch}-linux-gnu-ld"}
    if (root.path / "usr/bin" / CLANG).exists():
        tools["clang"] = CLANG
    return {k: root.run(tool, "--version").stdout.splitlines()[0] for k, tool in tools.items()}


def write_archive(path: Path, folder: Path, names: Iterable[str]) -> None:
    """Write an archive that depends on the files' names and contents only."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            content = (folder / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644 if name.endswith(".txt") else 0o755
            archive.addfile(member, io.BytesIO(content))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def build_arch(
    arch: str, roots: dict[int, Root], pool: concurrent.futures.Executor
) -> list[dict[str, object]]:
    """Build all programs of an architecture and their archive; return the entries."""
    sid = roots[3]
    build_musl(sid, arch)
    for root in roots.values():
        shutil.rmtree(root.folder / "out" / arch, ignore_errors=True)
        (root.folder / "out" / arch).mkdir(parents=True)
    versions = {
        version: tool_versions(root, arch)
        for version, root in roots.items()
        if arch in TOOLCHAINS[version].arches
    }
    wanted = programs(arch)
    print(f"building {len(wanted)} programs for {arch}", flush=True)

    def one(program: Program) -> dict[str, object]:
        version = program.toolchain.sframe
        return build(program, roots[version], sid, versions[version])

    entries = list(pool.map(one, wanted))
    # Like beside like: it compresses better.
    names = [p.name for p in sorted(wanted, key=lambda p: (p.libc, p.source, p.name))]
    files = [*names, *(f"{name}.readelf.txt" for name in names)]
    write_archive(HERE / "prebuilt" / f"{arch}.tar.xz", sid.folder / "out" / arch, files)
    return entries


def main() -> int:
    """Rebuild the archives and the manifest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--arch", action="append", choices=ARCHES, help="only this one (may be repeated)"
    )
    parser.add_argument("--mirror", help="Debian mirror; default: the one in apt's sources")
    options = parser.parse_args()
    arches: list[str] = options.arch or list(ARCHES)
    manifest = HERE / "manifest.json"
    try:
        cache = cache_folder()
        roots = {v: make_root(chain, cache, options.mirror) for v, chain in TOOLCHAINS.items()}
        for root in roots.values():
            copy_sources(root)
        qemu = roots[3].run("qemu-s390x", "--version").stdout.splitlines()[0]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            built = {arch: build_arch(arch, roots, pool) for arch in arches}
    except BuildError as failure:
        print(f"build.py: {failure}", file=sys.stderr)
        return 1
    kept: list[dict[str, object]] = []
    if len(built) < len(ARCHES) and manifest.is_file():
        kept = json.loads(manifest.read_text())["programs"]
    entries = [
        entry
        for arch in ARCHES
        for entry in built.get(arch, [old for old in kept if old["arch"] == arch])
    ]
    document = {
        "about": "Written by build.py. Output and exit status were seen natively or in qemu-user.",
        "common_flags": list(COMMON_FLAGS),
        "musl": {"version": roots[3].musl_version(), "patches": "none", "flags": MUSL_FLAGS},
        "qemu": qemu,
        "programs": entries,
    }
    manifest.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
