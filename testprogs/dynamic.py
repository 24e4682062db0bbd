#!/usr/bin/env python3
"""Rebuild the dynamic test programs: prebuilt/dynamic-ARCH.tar.xz and dynamic.json.

One command, `python -m testprogs.dynamic`, where build.py works: it uses that one's newest root.
Each archive is a root directory with musl as interpreter and C library, a program, two libraries
and the separate debug file of one of them. What the program prints is learned natively or under
qemu-user.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys

from emu.fuzz.roots import cache_folder
from testprogs.build import (
    ARCHES,
    HERE,
    MUSL_FLAGS,
    TOOLCHAINS,
    BuildError,
    Root,
    build_musl,
    copy_sources,
    digest,
    make_root,
    tool_versions,
    write_archive,
)

_PROGRAM = "bin/modules"
_BENCHMARK = "bin/work"
"""The benchmark's program, to compare with the static one."""
_FLAGS = ("-g1", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-fasynchronous-unwind-tables",
          "-fno-stack-protector", "-fno-optimize-sibling-calls", "-Wa,--gsframe",
          "-ffile-prefix-map=/build/testprogs=.", "-nostdlib", "-fpic",
          "-Wl,-z,max-page-size=4096", "-Wl,--build-id=sha1")  # fmt: skip

# The static musl has the headers and the start files.
_BUILD_MUSL = """\
set -e
arch=$1
cd /build/musl
rm -rf "shared-$arch"
mkdir "shared-$arch"
cd "shared-$arch"
CC="$arch-linux-gnu-gcc" AR="$arch-linux-gnu-ar" RANLIB="$arch-linux-gnu-ranlib" \\
CFLAGS="$2" LDFLAGS="-Wl,-z,max-page-size=4096 -Wl,--build-id=sha1" \\
  ../source/configure --target="$arch-linux-musl" --disable-static
make -j2 lib/libc.so
"$arch-linux-gnu-strip" --strip-debug lib/libc.so
"""


def build_shared_musl(root: Root, arch: str) -> str:
    """Build musl's libc.so, unless it is there; its path inside the root."""
    build_musl(root, arch)
    stamp = root.path / "build/musl" / f"shared-{arch}.stamp"
    wanted = hashlib.sha256((_BUILD_MUSL + MUSL_FLAGS).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"building shared musl for {arch}", flush=True)
        root.run("sh", "-c", _BUILD_MUSL, "sh", arch, MUSL_FLAGS)
        stamp.write_text(wanted)
    return f"/build/musl/shared-{arch}/lib/libc.so"


def build_tree(root: Root, arch: str) -> dict[str, object]:
    """Build the files of one architecture, run the program, and write the archive."""
    tree = f"dynamic/{arch}"
    shutil.rmtree(root.folder / tree, ignore_errors=True)
    for folder in ("bin", "lib"):
        (root.folder / tree / folder).mkdir(parents=True)
    libc = build_shared_musl(root, arch)
    musl, gcc, strip = f"/build/musl/{arch}", f"{arch}-linux-gnu-gcc", f"{arch}-linux-gnu-strip"
    loader = f"lib/ld-musl-{arch}.so.1"
    root.run("cp", libc, f"{tree}/{loader}")
    headers = ["-nostdinc", "-isystem", f"{musl}/include", "-isystem",
               root.run(gcc, "-print-file-name=include").stdout.strip()]  # fmt: skip
    compiler = [gcc, *_FLAGS, *headers]
    for name in ("dep", "plugin"):
        file = f"{tree}/lib/lib{name}.so"
        root.run(*compiler, "-shared", f"-Wl,-soname,lib{name}.so",
                 f"src/dynamic/{name}.c", "-o", file)  # fmt: skip
    start = [f"{musl}/lib/Scrt1.o", f"{musl}/lib/crti.o"]
    for program, source in ((_PROGRAM, "src/dynamic/modules.c"), (_BENCHMARK, "src/work.c")):
        root.run(*compiler, "-pie", f"-Wl,--dynamic-linker=/{loader}", "-Wl,--as-needed", *start,
                 source, f"-L{tree}/lib", "-ldep", f"-L{libc.rpartition('/')[0]}", "-lc", "-lgcc",
                 f"{musl}/lib/crtn.o", "-o", f"{tree}/{program}")  # fmt: skip
        root.run(strip, "--strip-debug", f"{tree}/{program}")
    debug = _split_debug_file(root, arch, tree)
    root.run(strip, "--strip-all", f"{tree}/lib/libplugin.so")
    files = [_PROGRAM, _BENCHMARK, loader, "lib/libdep.so", "lib/libplugin.so", debug]
    archive = HERE / "prebuilt" / f"dynamic-{arch}.tar.xz"
    write_archive(archive, root.folder / tree, files)
    done = subprocess.run(
        root.command(f"qemu-{arch}", "-cpu", "max", "-L", tree, f"{tree}/{_PROGRAM}"),
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    # The program maps files by their names below the root directory.
    if done.returncode or done.stderr:
        raise BuildError(f"{arch} {_PROGRAM} ended with {done.returncode}: {done.stderr}")
    return {
        "arch": arch, "program": f"/{_PROGRAM}", "stdout": done.stdout,
        "tools": tool_versions(root, arch), "files": {
            name: digest("", root.folder / tree / name) for name in files
        },
    }  # fmt: skip


def _split_debug_file(root: Root, arch: str, tree: str) -> str:
    """Move libdep's symbols to where debuggers look for them by build id."""
    library = f"{tree}/lib/libdep.so"
    notes = root.run(f"{arch}-linux-gnu-readelf", "-n", library).stdout
    build_id = notes.split("Build ID: ")[1].split()[0]
    place = f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    (root.folder / tree / place).parent.mkdir(parents=True)
    root.run(f"{arch}-linux-gnu-objcopy", "--only-keep-debug", library, f"{tree}/{place}")
    root.run(f"{arch}-linux-gnu-strip", "--strip-all", library)
    return place


def main() -> int:
    """Rebuild the archives and their manifest."""
    try:
        root = make_root(TOOLCHAINS[3], cache_folder(), None)
        copy_sources(root)
        trees = [build_tree(root, arch) for arch in ARCHES]
    except BuildError as failure:
        print(f"dynamic.py: {failure}", file=sys.stderr)
        return 1
    document = {
        "about": "Written by dynamic.py. The output was seen under qemu-user.",
        "flags": list(_FLAGS), "musl_flags": MUSL_FLAGS, "trees": trees,
    }  # fmt: skip
    (HERE / "dynamic.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
