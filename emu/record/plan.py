"""What is to be recorded, and what came of it, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emu.deferred.records import Entry
from emu.deferred.stitch import Stitched
from emu.export.perf_records import Mmap

EVENT = 1
"""Id of the one perf event."""
Addresses = tuple[int, ...]
"""A user stack: the interrupted address first, then return addresses."""


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """How a run is sampled.

    Args:
        every: instructions between two samples; 0: none of these.
        syscalls: system calls between two samples inside one; 0: none of these.
        policy: name of the unwinder (emu.kernel.policy).
        deferral: name of the design (emu.deferred.session), or ``none``: unwound at once.
        cookie: layout of cookies; empty: that of the design.
        cpus: that the process moves about.
        tracers: perf is the first one; each other is asked less often.
        loss: probability, for each sample, that the buffers are full for a part of it.
        hypothetical: walk as the policy would where it does not serve the machine.
    """

    every: int = 0
    syscalls: int = 0
    policy: str = "truth"
    deferral: str = "merged"
    cookie: str = ""
    cpus: int = 1
    tracers: int = 1
    loss: float = 0.0
    hypothetical: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """One stay in the kernel in which samples were taken."""

    time: int
    """Guest's nanoseconds."""
    cpu: int
    pc: int
    found: Addresses
    """By the policy."""
    truth: Addresses
    names: tuple[str, ...]
    """Functions of `truth`."""
    found_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A run and all that was recorded of it.

    Args:
        moments: by the number of the stay in the kernel.
        perf: what perf wrote, in the order of its file.
        mappings: of code, by ascending time.
        stitched: for all tracers, by the name of the way.
        samples: that were asked for, the lost ones included.
        entries: into the kernel, all.
        unwinds: of user stacks.
        lost: samples and stacks that found no room.
        crashes: walks that the policy would not have survived.
    """

    moments: Mapping[int, Moment]
    perf: Sequence[Entry]
    mappings: Sequence[Mmap]
    stitched: Mapping[str, Sequence[Stitched]]
    samples: int
    entries: int
    unwinds: int
    lost: int
    crashes: int
    instructions: int
    exit_status: int | None
    ended: str
    """Why the run ended, if not by exit."""
