"""The .eh_frame of an ELF file as a `Table`.

This is the door of the package: it fetches the section, and in a relocatable object what
the relocations of the section point to, and names no format of the section itself.
"""

from dataclasses import dataclass

from arch import Arch
from emu.cfi.functions import Reading, describe, read_functions
from emu.cfi.likegas import GasRefusal, gas_refusal
from emu.cfi.reading import EhFrame, Target
from emu.errors import CfiError
from emu.image import SHF_ALLOC, SHF_EXECINSTR, SHN_UNDEF, Image, Section
from emu.tables import FunctionRows, Table

SECTION_NAME = ".eh_frame"
_NO_RELOCATION = 0
"""R_*_NONE of every machine's psABI supplement."""


def cfi_table(image: Image) -> Table | None:
    """The table; None where the file has no .eh_frame or an empty one.

    In a relocatable object a function's `start` counts in the section that its FDE's
    relocation names. An FDE that cannot be placed (no relocation, or one against a symbol
    that is not defined in this file) or whose header cannot be read has no address range:
    it is left out, and `read_image` tells its reason. When every FDE is left out the table
    is corrupt, with the reason of the first.

    Raises:
        CfiError: the file is for a machine that has no descriptor.
        ImageError: the symbol or relocation table contradicts itself.
    """
    frame = read_frame(image)
    if frame is None:
        return None
    return as_table(frame, read_functions(frame, arch_of(image), code_at_zero(image)))


def as_table(frame: EhFrame, reading: Reading) -> Table:
    """What was read of a section."""
    corrupt = reading.faults[0] if reading.faults and not reading.functions else ""
    return Table("cfi", reading.functions, len(frame.data), corrupt)


def read_image(image: Image) -> Reading | None:
    """Functions and faults of the file's .eh_frame; None and errors as `cfi_table`."""
    frame = read_frame(image)
    return None if frame is None else read_functions(frame, arch_of(image), code_at_zero(image))


@dataclass(frozen=True, slots=True)
class DescribedFunction:
    """A FDE: its rows, and what they do not tell."""

    functions: tuple[FunctionRows, ...]
    """More than one where rows repeat in a part of it."""
    key_b: bool
    """Return addresses are signed with the second key."""
    signal: bool
    """Its CIE marks signal frames."""
    gas: GasRefusal | None
    """Why the assembler would leave it out of SFrame, if that was asked for."""


def read_described(
    image: Image, gas_version: int | None = None
) -> tuple[tuple[DescribedFunction, ...], tuple[str, ...]] | None:
    """FDEs in the order of the section and faults; None and errors as `cfi_table`.

    Args:
        image: the file.
        gas_version: SFrame version whose assembler is asked what it would refuse. The linker's
            own description of a procedure linkage table, which repeats, it never sees.
    """
    frame = read_frame(image)
    if frame is None:
        return None
    arch = arch_of(image)
    described, faults = describe(frame, arch, code_at_zero(image))
    return tuple(
        DescribedFunction(
            one.functions,
            one.fde.cie.key_b,
            one.fde.cie.signal,
            None
            if gas_version is None or any(function.rep_size for function in one.functions)
            else gas_refusal(frame, one.fde, arch, gas_version),
        )
        for one in described
    ), faults


def read_frame(image: Image) -> EhFrame | None:
    """The section with what its relocations point to; None and errors as `cfi_table`."""
    section = image.section(SECTION_NAME)
    if section is None:
        return None
    data = image.section_bytes(section)
    if not data:
        return None
    relocatable = image.kind == "rel"
    return EhFrame(
        data,
        section.addr,
        image.byte_order,
        relocatable,
        _targets(image, section) if relocatable else {},
    )


def arch_of(image: Image) -> Arch:
    """The file's machine; an error as `cfi_table`'s where nothing is known of it."""
    if image.arch is None:
        raise CfiError(f"{image.path}: no descriptor for ELF machine {image.machine}")
    return image.arch


def _targets(image: Image, section: Section) -> dict[int, Target]:
    """Offset of each relocated field -> the place in a section that it stands for."""
    targets: dict[int, Target] = {}
    for relocation in image.relocations(section):
        symbol = image.symbol(relocation.symbol)
        if relocation.kind == _NO_RELOCATION or symbol is None:
            continue
        index = symbol.section_index
        place = symbol.value + relocation.addend
        # Absolute and common symbols have reserved indices, which no section has.
        if SHN_UNDEF < index < len(image.sections) and place >= 0:
            targets[relocation.offset] = Target(index, place)
    return targets


def code_at_zero(image: Image) -> bool:
    """Whether an FDE at address 0 is a function and not what the linker leaves of one."""
    wanted = SHF_ALLOC | SHF_EXECINSTR
    return any(s.flags & wanted == wanted and s.addr == 0 and s.size for s in image.sections)
