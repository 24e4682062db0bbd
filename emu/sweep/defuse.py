"""Instructions that the emulator must not even meet: they end it when it translates them."""

import numpy as np
import numpy.typing as npt

from emu.memory import Memory
from emu.sweep.placement import CodeSpan


def defuse(
    memory: Memory,
    span: CodeSpan,
    addresses: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.uint8],
    crashing: bytes,
) -> None:
    """Wipe such instructions out of memory; all of them are SKIP.

    Args:
        memory: with the file in it.
        span: of code.
        addresses, sizes: of its instructions.
        crashing: what they begin with.
    """
    code = np.frombuffer(memory.read(span.start, span.end - span.start), np.uint8)
    places = np.flatnonzero(addresses - span.start <= len(code) - len(crashing))
    for offset, byte in enumerate(crashing):
        places = places[code[addresses[places] - span.start + offset] == byte]
    for place in places.tolist():
        memory.write(int(addresses[place]), bytes(int(sizes[place])), force=True)
