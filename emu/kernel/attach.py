"""A policy's registry for a process that has not run yet: what execve(2) does, and prctl(2)."""

from emu.image import PT_LOAD, Image
from emu.kernel.policy import Policy
from emu.kernel.registry import Registry
from emu.kernel.user_memory import Residency
from emu.kernel.vmas import Vmas
from emu.linux.process import Process
from emu.linux.program import Program, ProgramFile
from emu.memory import PAGE


def attach(
    policy: Policy, process: Process, program: Program, residency: Residency | None = None
) -> Registry | None:
    """Register what the ELF loader does, and answer the process's prctl(2) from now on.

    Args:
        policy: the revision; one without sections changes nothing.
        process: as it was made of the program.
        program: its files.
        residency: absent pages, for registrations to bring in.
    """
    if policy.registration is None:
        return None
    memory, arch = process.memory, process.engine.arch
    vmas = Vmas(memory, process.mappings)
    registry = Registry(policy.registration, arch, memory, vmas, residency)
    if program.interpreter is not None:
        # While it is loaded, which is before the program (load_elf_interp).
        registry.load(program.interpreter, _bias(process, program.interpreter))
    registry.load(program.image, process.loaded.bias)
    process.kernel.task.other_prctl = registry.prctl
    return registry


def _bias(process: Process, image: Image) -> int:
    """Runtime minus link-time address of an image that the kernel has loaded."""
    start = min(
        mapping.start
        for mapping in process.mappings
        if isinstance(mapping.file, ProgramFile) and mapping.file.image is image
    )
    lowest = min(s.vaddr for s in image.segments if s.kind == PT_LOAD and s.filesz)
    return start - (lowest & -PAGE)
