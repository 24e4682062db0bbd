"""How compilers and assemblers for a machine are called, and which of their options matter here.

Options are those that change frames: GCC manual, "Options That Control Optimization",
"Instrumentation Options" and the machines' own sections; Clang command line reference.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """One setting of a factor, as each family of compilers spells it; None: it cannot."""

    gcc: str | None
    clang: str | None

    def of(self, family: str) -> str | None:
        """Its spelling: words parted by spaces, empty for what is the default."""
        return self.gcc if family == "gcc" else self.clang


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that is varied, and its settings."""

    name: str
    levels: tuple[Level, ...]


def both(name: str, *settings: str) -> Factor:
    """A factor that the families spell alike."""
    return Factor(name, tuple(Level(each, each) for each in settings))


def gcc_only(name: str, *settings: str) -> Factor:
    """A factor of which the other family has only the default, which comes first."""
    return Factor(name, tuple(Level(each, None if each else "") for each in settings))


COMMON = (
    both("level", "-O2", "-O0", "-O1", "-O3", "-Os", "-Og"),
    both("frame", "-fomit-frame-pointer", "-fno-omit-frame-pointer"),
    both("stack-clash", "", "-fstack-clash-protection"),
    both("protector", "", "-fstack-protector-all"),
    both("position", "-fno-pie", "-fPIC"),
    both("exceptions", "", "-fexceptions"),
    gcc_only("shrink-wrap", "", "-fno-shrink-wrap", "-fno-shrink-wrap-separate"),
    gcc_only(
        "parts", "", "-freorder-blocks-and-partition -ffunction-sections",
        "-fno-reorder-blocks -fno-reorder-blocks-and-partition",
    ),
    gcc_only("schedule", "", "-fno-schedule-insns2", "-fschedule-insns -fsched-pressure"),
    gcc_only("registers", "", "-fno-ipa-ra -fno-caller-saves", "-fira-region=all"),
)  # fmt: skip
"""Of every machine."""


@dataclass(frozen=True, slots=True)
class CompilerFacts:
    """What a machine adds."""

    triple: str = ""
    """Begins the names of Debian's cross compilers and binutils; clang's ``--target``."""
    package: str = ""
    """How Debian's cross packages name the machine, where they are not the native ones."""
    factors: tuple[Factor, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    """Pairs of options that compilers refuse together."""


X86_64_COMPILERS = CompilerFacts(
    triple="x86_64-linux-gnu",
    package="x86-64-linux-gnu",
    factors=(
        both("cet", "", "-fcf-protection=full"),
        both("red-zone", "", "-mno-red-zone"),
        both("realign", "", "-mstackrealign"),
        gcc_only("arguments", "", "-maccumulate-outgoing-args", "-mno-push-args"),
        # Not -mcall-ms2sysv-xlogues: functions of libgcc would save registers, and a sweep does
        # not enter what a function calls.
        gcc_only("tune", "", "-mtune=atom"),
    ),
)
AARCH64_COMPILERS = CompilerFacts(
    triple="aarch64-linux-gnu",
    package="aarch64-linux-gnu",
    factors=(
        both("branch-protection", "", "-mbranch-protection=standard",
             "-mbranch-protection=pac-ret+leaf", "-mbranch-protection=pac-ret+b-key"),
        both("leaf-frame", "", "-mno-omit-leaf-frame-pointer"),
        gcc_only("tune", "", "-mtune=cortex-a53", "-mtune=neoverse-n1"),
    ),
)  # fmt: skip
S390X_COMPILERS = CompilerFacts(
    triple="s390x-linux-gnu",
    package="s390x-linux-gnu",
    factors=(
        both("backchain", "", "-mbackchain"),
        both("march", "", "-march=z196", "-march=z13"),
        gcc_only("packed", "", "-mpacked-stack"),
        gcc_only("tune", "", "-mtune=z10", "-mtune=z13"),
    ),
    excluded=(("-mbackchain", "-mpacked-stack"),),  # together only with -msoft-float
)
