#!/usr/bin/env python3
"""Coverage-guided fuzzing of everything that reads a .sframe section (atheris, libFuzzer).

    make fuzz-decoder                           five minutes
    fuzz_sframe.py --corpus FOLDER              write the first inputs and stop
    fuzz_sframe.py FOLDER [libFuzzer options]   fuzz, and add what is new to the folder
    fuzz_sframe.py FILE                         read one input again

The compiler is off, since coverage is counted in Python. What breaks a rule is that which
does in `benchmarks/hostile.py`; such an input becomes a test.
"""

import os
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main() -> None:
    """Run libFuzzer, or write its first inputs."""
    if sys.argv[1:2] == ["--corpus"]:
        write_corpus(Path(sys.argv[2]))
        return
    import atheris

    with atheris.instrument_imports(include=["arch", "emu"]):
        from benchmarks import hostile, mutants

    def one_input(data: bytes) -> None:
        """Read as a linked file's section, and some as a relocatable one's."""
        relocated = sum(data) % 8 == 0
        hostile.read(mutants.Mutant(data, "fuzz", relocated), hostile.Totals(), hostile.Reader())

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


def write_corpus(folder: Path) -> None:
    """Small sections of the prebuilt programs, and those that no producer makes."""
    from benchmarks import mutants

    folder.mkdir(parents=True, exist_ok=True)
    for number, original in enumerate(mutants.originals()):
        if len(original.data) <= 400:
            (folder / f"{number:04}.sframe").write_bytes(original.data)


if __name__ == "__main__":
    main()
