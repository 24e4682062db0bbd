"""sframe_find: from an instruction pointer to a frame, through one registered section."""

from errno import EFAULT, EINVAL

from arch import Arch
from emu.kernel.events import Refusal, WindowRefusal
from emu.kernel.frame import Frame
from emu.kernel.header import Section
from emu.kernel.meaning import frame_of
from emu.kernel.reader import Reader
from emu.kernel.rows import find_row
from emu.kernel.search import Place, Tell, find_function
from emu.kernel.user_memory import UserMemory


def find_frame(
    reader: Reader, section: Section | None, memory: UserMemory, arch: Arch, ip: int, tell: Tell
) -> Frame:
    """The frame of an address; it is looked up as it is, a return address too.

    Args:
        reader: the revision.
        section: whose text the address is in, if there is one.
        memory: of the task.
        arch: of the task.
        ip: the address.
        tell: takes flaws that show.

    Raises:
        Refusal: EINVAL or EFAULT; a WindowRefusal if nothing was read.
        Crash: the kernel does something undefined.
        ReadLimit: the section makes it read without end.
    """
    memory.begin_lookup()
    if section is None:
        raise Refusal(EINVAL, "no section for this address")
    if reader.bounded and not section.start <= section.end <= arch.layout.user_end:
        raise WindowRefusal(EFAULT, "the section is not in user space")
    place = Place(reader, section, memory, arch.byte_order, ip, tell)
    function = find_function(place)
    return frame_of(place, arch, function, find_row(place, function))
