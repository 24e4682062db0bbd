"""How code is entered that no call enters: the state that the kernel or a linker's stub leaves."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignalFrame:
    """Where the kernel keeps the interrupted registers, in bytes from SP at the trampoline.

    The trampoline is what a signal handler returns to; Linux lays the frame out.
    """

    sp: int
    pc: int
    registers: Mapping[int, int]
    """DWARF number -> offset."""


@dataclass(frozen=True, slots=True)
class LazyBinding:
    """What the first stub of a procedure linkage table pushes before it jumps to the resolver."""

    size: int
    """Bytes."""
    registers: Mapping[int, int]
    """DWARF number -> where it is kept, from the new SP; the rest are the linker's numbers."""
    resolvers: tuple[str, ...] = ("_dl_runtime_resolve", "_dl_runtime_profile")
    """Beginnings of the names of what is entered so (glibc)."""
