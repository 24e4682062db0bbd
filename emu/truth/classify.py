"""Calls and returns, recognised from the instruction's bytes alone."""

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.native import load8, load64

# Words of a recogniser's block.
_PREFIXES, _COUNT, _PATTERNS = range(3)
_PATTERN_BYTES = 24
_LONGEST_PREFIX = 14


@numba.njit(cache=True)
def classify(block: int, code: int) -> int:
    """The InstructionKind of the instruction at a host address.

    `block` is the address of a `Recogniser`'s block. Up to 22 bytes are read, which the
    guest's buffer always has.
    """
    prefixes = load64(block + 8 * _PREFIXES)
    skipped = 0
    while skipped < _LONGEST_PREFIX and load8(prefixes + load8(code + skipped)):
        skipped += 1
    word = load64(code + skipped)
    pattern = load64(block + 8 * _PATTERNS)
    for _ in range(load64(block + 8 * _COUNT)):
        if word & load64(pattern) == load64(pattern + 8):
            return load64(pattern + 16)
        pattern += _PATTERN_BYTES
    return 0


class Recogniser:
    """The encodings of one machine as a block for `classify`."""

    def __init__(self, arch: Arch) -> None:
        self._prefixes: npt.NDArray[np.uint8] = np.zeros(256, np.uint8)
        self._prefixes[list(arch.prefixes)] = 1
        self._patterns: npt.NDArray[np.int64] = np.array(
            [
                (
                    # Bytes in memory order, as a little-endian load of the host sees them.
                    int.from_bytes(encoding.mask, "little"),
                    int.from_bytes(encoding.value, "little"),
                    int(encoding.kind),
                )
                for encoding in arch.encodings
            ],
            np.int64,
        )
        self._block: npt.NDArray[np.int64] = np.array(
            [self._prefixes.ctypes.data, len(self._patterns), self._patterns.ctypes.data], np.int64
        )

    @property
    def block(self) -> int:
        """Address of the block; valid as long as this object."""
        return int(self._block.ctypes.data)
