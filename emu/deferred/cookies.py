"""Cookie layouts: how a number for one entry is made on one CPU, and where it repeats.

A layout is two functions: where the counter of a CPU starts, and the step from a counter to the
next one and its cookie. 0 is no cookie; a layout that makes it nevertheless is wrong there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

_U64 = (1 << 64) - 1
_U32 = (1 << 32) - 1
_COUNT = (1 << 48) - 1
_CPU_BITS = 16
"""Bits of the CPU number where it stands low: the review of January 2025 asks for 16."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to make cookies.

    Args:
        name: as scenarios and the command line spell it.
        take: (CPU, counter) to (next counter, cookie), as the kernel computes them.
        start: a CPU's counter before its first cookie.
        wrap: what happens when a counter is exhausted, in words.
        source: where it was proposed.
        shared: one counter for all CPUs.
        every_entry: the counter also moves at each kernel entry that asks for nothing.
    """

    name: str
    take: Callable[[int, int], tuple[int, int]]
    start: Callable[[int], int]
    wrap: str
    source: str
    shared: bool = False
    every_entry: bool = False


def _zero(cpu: int) -> int:
    return 0


def _high(cpu: int) -> int:
    return cpu << 48 & _U64


def _free(cpu: int, counter: int) -> tuple[int, int]:
    counter = counter + 1 & _U64
    return counter, counter


def _hack(cpu: int, counter: int) -> tuple[int, int]:
    # CPU and +1 are both or'ed in: the counter never moves.
    counter = counter & _COUNT | cpu << 48 | 1
    return counter, counter


def _repaired(cpu: int, counter: int) -> tuple[int, int]:
    # The addition comes last, so one value in 2^48 has the next CPU's bits.
    counter = (counter & _COUNT | cpu << 48) + 1 & _U64
    return counter, counter


def _unshifted(cpu: int, counter: int) -> tuple[int, int]:
    counter = counter + 1 & _U64
    return counter, counter & _COUNT | cpu


def _masked(cpu: int, counter: int) -> tuple[int, int]:
    counter = counter + 1 & _U64
    return counter, counter << 1 & _COUNT | cpu << 48 | 1


def _v4(cpu: int, counter: int) -> tuple[int, int]:
    counter = counter + 1 & _U64
    return counter, counter & _COUNT | cpu << 48


def _low(cpu: int, counter: int) -> tuple[int, int]:
    counter = counter + 1 & _U64
    return counter, (counter << _CPU_BITS | cpu) & _U64


def _struct(cpu: int, counter: int) -> tuple[int, int]:
    counter = counter + 1 & _U64
    return counter, counter | cpu << 64


def _union(cpu: int, counter: int) -> tuple[int, int]:
    # get_cookie(): the low bit keeps 0 from being a count, cpu + 1 from being a CPU.
    count = (counter + 2 | 1) & _U32
    return count, count << 32 | cpu + 1


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("global", _free, _zero, "repeats after 2^64", "sketch, 14 Sep 2024", shared=True),
        Layout("free", _free, _high, "carries into the next CPU's space",
               "thread of the sketch, Sep 2024: CPU << 48, counted freely"),
        Layout("hack", _hack, _zero, "1 with the CPU's bits, for ever",
               "first version of the hack of Sep 2024, corrected on 2 Oct"),
        Layout("repaired", _repaired, _zero, "one value of the next CPU, then its own again",
               "the hack as repaired on 2 Oct 2024"),
        Layout("unshifted", _unshifted, _zero, "meets other CPUs at once",
               "v3, 28 Oct 2024: the CPU is or'ed in where it stands", every_entry=True),
        Layout("masked", _masked, _zero, "repeats after 2^47, never leaves its space, never 0",
               "branch of early 2025: ((counter << 1) & (2^48 - 1)) | CPU << 48 | 1"),
        Layout("v4", _v4, _zero, "repeats after 2^48, never leaves its space; CPU 0 makes 0",
               "v4 28/39, 21 Jan 2025"),
        Layout("low-bits", _low, _zero, "repeats after 2^48; CPU 0 makes 0",
               "Desnoyers, Sep 2024: the CPU in the low bits, where no carry reaches it"),
        Layout("struct", _struct, _zero, "repeats after 2^64 on the same CPU only",
               "Desnoyers, Sep 2024: {u64 counter, int cpu}"),
        Layout("union", _union, _zero, "repeats after 2^31 on the same CPU only",
               "Linux 6.17 on: {u32 cpu + 1, u32 cnt}"),
    )
}  # fmt: skip
"""All layouts by name."""


def union_u64(cpu: int, count: int, byte_order: Literal["little", "big"]) -> int:
    """The merged union read as one u64: it depends on the byte order (union unwind_task_id)."""
    words = (cpu + 1).to_bytes(4, byte_order) + count.to_bytes(4, byte_order)
    return int.from_bytes(words, byte_order)


def cookie_text(layout: str, cookie: int) -> str:
    """A cookie as people read it: ``cpu:count`` where the layout has both, else a number."""
    if not cookie:
        return "0"
    if layout == "union":
        return f"{(cookie & _U32) - 1}:{cookie >> 32}"
    if layout == "struct":
        return f"{cookie >> 64}:{cookie & _U64}"
    if layout == "low-bits":
        return f"{cookie & (1 << _CPU_BITS) - 1}:{cookie >> _CPU_BITS}"
    if layout in ("global", "unshifted"):
        return str(cookie)
    return f"{cookie >> 48}:{cookie & _COUNT}"
