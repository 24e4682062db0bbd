"""CONFIG_SFRAME_VALIDATION: every function and row of a section, when it is registered."""

from errno import EFAULT

from arch import Arch
from emu.kernel.events import Refusal
from emu.kernel.header import Section
from emu.kernel.reader import Reader
from emu.kernel.rows import read_rows
from emu.kernel.search import Place, function_at
from emu.kernel.user_memory import UserMemory


def validate(reader: Reader, section: Section, memory: UserMemory, arch: Arch) -> None:
    """Read all of a section.

    Functions must ascend strictly, so one of size 0, which shares its start with the next, is
    refused.

    Raises:
        Refusal: EFAULT, or what a look-up there would answer.
    """
    previous = None
    for number in range(section.num_fdes):
        memory.begin_lookup()
        place = Place(reader, section, memory, arch.byte_order, 0, lambda event: None)
        function = function_at(place, number)
        if previous is not None and function.start <= previous:
            raise Refusal(EFAULT, "functions do not ascend")
        previous = function.start
        for _ in read_rows(place, function):
            pass
