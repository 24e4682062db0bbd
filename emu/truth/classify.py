"""Transfers of control: which instructions make them, and what they do to the shadow stack.

Calls, returns and indirect jumps are recognised from the instruction's bytes alone. Each
rule of what follows has a case that fails without it:

* A call pushes (return address, CFA, FP before the call).
* Any other jump pops the top frame if PC is its return address and SP its caller's SP,
  and drops each frame whose caller's SP is below SP (longjmp, unwinding). Opcodes do
  not count: some machines return by conditional branches, and code can return by a jump.
* Where the return address travels in a register, a leaf's SP equals its caller's SP, so
  SP cannot tell a live leaf from one that was abandoned. There an indirect jump into the
  middle of another function, from which the frame was called, has abandoned it: it is the
  landing of a longjmp or an exception. So has one into a part that nobody knows to be of
  that function, if it is a return or has dropped frames. A direct jump is shared code.
* Where it travels on the stack, a function that has taken it off has its caller's SP, too, and
  is still there as long as direct jumps lead to other places in it.
* On a stack that was switched to (`emu.truth.shadow`) the return or indirect jump out of
  the function that did so tells what lies there: a frame that is returned to; a function
  that is entered, which begins the stack, unless one of its frames was entered with the
  same return address; or the middle of a function, which has called nothing.
"""

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from arch.descriptor import InstructionKind
from emu.native import load8, load64, store64
from emu.truth import shadow as t

_RETURN = int(InstructionKind.RETURN)
_INDIRECT = int(InstructionKind.INDIRECT)

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
                # Bytes in memory order, as a little-endian load of the host sees them.
                [
                    int.from_bytes(each.mask, "little"),
                    int.from_bytes(each.value, "little"),
                    each.kind,
                ]
                for each in arch.kinds
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


@numba.njit(cache=True)
def add_frame(truth: int, ra: int, cfa: int, fp: int, owner: int) -> bool:
    """One more frame. False: the shadow stack is full."""
    depth = load64(truth + 8 * t.DEPTH)
    if depth >= load64(truth + 8 * t.CAPACITY):
        store64(truth + 8 * t.OVERFLOW, 1)
        return False
    frame = load64(truth + 8 * t.FRAMES) + t.FRAME_BYTES * depth
    store64(frame + t.RA, ra)
    store64(frame + t.CFA, cfa)
    store64(frame + t.FP, fp)
    store64(frame + t.OWNER, owner)
    store64(truth + 8 * t.DEPTH, depth + 1)
    return True


@numba.njit(cache=True)
def push(truth: int, sp: int) -> bool:
    """The instruction before was a call: one more frame. False: the shadow stack is full."""
    cfa = sp + load64(truth + 8 * t.ENTRY_CFA)
    window = load64(truth + 8 * t.WINDOW)
    if window:
        if window == t.SWITCHED and load64(truth + 8 * t.RA_IN_REGISTER) == 0:
            # The return addresses of others have just been overwritten.
            _cut(truth, _above(truth, cfa + load64(truth + 8 * t.CALLER_SP) + 1))
        if window != t.SWITCHED or load64(truth + 8 * t.DEPTH):
            t.close_window(truth)
    store64(truth + 8 * t.FETCH_COUNT, 0)
    store64(truth + 8 * t.CALLS, load64(truth + 8 * t.CALLS) + 1)
    fp = load64(truth + 8 * t.PREVIOUS_FP)
    owner = load64(truth + 8 * t.PREVIOUS_OWNER)
    return add_frame(truth, load64(truth + 8 * t.NEXT_PC), cfa, fp, owner)


@numba.njit(cache=True)
def _above(truth: int, sp: int) -> int:
    """How many frames have a caller's SP that is not below SP."""
    frames = load64(truth + 8 * t.FRAMES)
    limit = sp - load64(truth + 8 * t.CALLER_SP)
    depth = load64(truth + 8 * t.DEPTH)
    while depth > 0 and load64(frames + t.FRAME_BYTES * (depth - 1) + t.CFA) < limit:
        depth -= 1
    return depth


@numba.njit(cache=True)
def _cut(truth: int, depth: int) -> None:
    """Frames are gone without a return: with the lowest one goes what was known of the end."""
    gone = load64(truth + 8 * t.DEPTH) - depth
    store64(truth + 8 * t.ABANDONED, load64(truth + 8 * t.ABANDONED) + gone)
    store64(truth + 8 * t.DEPTH, depth)
    if depth == 0 and load64(truth + 8 * t.BOTTOM) >= t.ENTERED:
        store64(truth + 8 * t.BOTTOM, t.UNKNOWN)


@numba.njit(cache=True)
def _return(truth: int, depth: int) -> None:
    """Control has returned to depth `depth`, over frames that are gone."""
    if load64(truth + 8 * t.DEPTH) != depth + 1:
        _cut(truth, depth + 1)
    store64(truth + 8 * t.DEPTH, depth)
    store64(truth + 8 * t.RETURNS, load64(truth + 8 * t.RETURNS) + 1)
    if depth == 0 and load64(truth + 8 * t.BOTTOM) >= t.ENTERED:
        store64(truth + 8 * t.BOTTOM, t.ENDS)


@numba.njit(cache=True, forceinline=True)
def stays(truth: int, pc: int, sp: int, owner: int) -> bool:
    """`jump` would leave the stack as it is; for the common jump inside a function."""
    depth = load64(truth + 8 * t.DEPTH)
    if depth == 0:
        return True
    frame = load64(truth + 8 * t.FRAMES) + t.FRAME_BYTES * (depth - 1)
    caller = load64(frame + t.CFA) + load64(truth + 8 * t.CALLER_SP)
    if sp < caller:
        return True
    return (
        sp == caller
        and load64(truth + 8 * t.RA_IN_REGISTER) != 0
        and owner == load64(truth + 8 * t.PREVIOUS_OWNER)
        and pc != load64(frame + t.RA)
    )


@numba.njit(cache=True)
def jump(truth: int, pc: int, sp: int, owner: int, entry: int) -> bool:
    """Control came to `pc` neither by falling through nor by a call: frames were taken off.

    Args:
        owner: number of the function that holds `pc`, 0 if none does.
        entry: not 0 where a function begins at `pc`: that is a tail call.
    """
    depth = before = load64(truth + 8 * t.DEPTH)
    frames = load64(truth + 8 * t.FRAMES)
    distance = load64(truth + 8 * t.CALLER_SP)
    kind = load64(truth + 8 * t.PREVIOUS_KIND)
    elsewhere = owner != 0 and entry == 0 and owner != load64(truth + 8 * t.PREVIOUS_OWNER)
    while depth > 0:
        frame = frames + t.FRAME_BYTES * (depth - 1)
        caller = load64(frame + t.CFA) + distance
        if sp < caller:
            break
        if sp == caller:
            if pc == load64(frame + t.RA):
                _return(truth, depth - 1)
                return True
            if load64(truth + 8 * t.RA_IN_REGISTER):
                if elsewhere and kind in (_RETURN, _INDIRECT):
                    depth = _land(truth, sp, owner, depth, kind == _RETURN or depth < before)
                break
            if owner and not elsewhere and entry == 0 and kind not in (_RETURN, _INDIRECT):
                break
        depth -= 1
    if depth == before:
        return False
    _cut(truth, depth)
    return True


@numba.njit(cache=True)
def _land(truth: int, sp: int, owner: int, depth: int, certain: bool) -> int:
    """The depth after a jump into the middle of a function: what it had called is gone.

    If none at this level was called by it, and yet the landing is `certain`, all are.
    """
    frames = load64(truth + 8 * t.FRAMES)
    cfa = sp - load64(truth + 8 * t.CALLER_SP)
    level = depth
    while level > 0:
        frame = frames + t.FRAME_BYTES * (level - 1)
        if load64(frame + t.CFA) != cfa:
            break
        level -= 1
        if load64(frame + t.OWNER) == owner:
            return level
    return level if certain else depth


@numba.njit(cache=True)
def begin(truth: int, sp: int, ra: int, fp: int) -> None:
    """The first function of an empty stack is entered with this state.

    A return address of 0 says that nothing called it, of -1 that it could not be read.
    """
    if ra == 0 or ra == -1:
        store64(truth + 8 * t.BOTTOM, t.UNKNOWN if ra else t.ENDS)
    elif add_frame(truth, ra, sp + load64(truth + 8 * t.ENTRY_CFA), fp, 0):
        store64(truth + 8 * t.BOTTOM, t.ENTERED)


@numba.njit(cache=True)
def enter_first(truth: int, sp: int, ra: int, fp: int) -> None:
    """A function is entered by a jump: if it is the first one of its stack, that begins it.

    So it does where the first one has ended by that jump, and left another return address.
    """
    frame = load64(truth + 8 * t.FRAMES)
    if load64(truth + 8 * t.DEPTH) == 1 and load64(truth + 8 * t.BOTTOM) >= t.ENTERED:
        same = load64(frame + t.CFA) == sp + load64(truth + 8 * t.ENTRY_CFA)
        if same and load64(frame + t.RA) != ra:
            store64(truth + 8 * t.DEPTH, 0)
    if load64(truth + 8 * t.DEPTH) == 0 and load64(truth + 8 * t.CURRENT):
        begin(truth, sp, ra, fp)


@numba.njit(cache=True)
def lands(truth: int, owner: int) -> bool:
    """A jump to a function with this number leaves the one that the window is open in."""
    kind = load64(truth + 8 * t.PREVIOUS_KIND)
    elsewhere = owner == 0 or owner != load64(truth + 8 * t.PREVIOUS_OWNER)
    return elsewhere and kind in (_RETURN, _INDIRECT)


@numba.njit(cache=True)
def has_switched(truth: int, owner: int, entry: int) -> bool:
    """A jump to another function shows that SP is on another stack, or on one in another use."""
    if not lands(truth, owner) or load64(truth + 8 * t.WINDOW) != t.FELL:
        return lands(truth, owner)
    returned = load64(truth + 8 * t.PREVIOUS_KIND) == _RETURN
    return entry != 0 or returned or t.known(truth, load64(truth + 8 * t.WINDOW_SP)) > 0


@numba.njit(cache=True)
def land(truth: int, pc: int, sp: int, fp: int, owner: int, entry: int, ra: int) -> None:
    """Control leaves the function that has switched to this stack, and closes the window.

    Arguments are those of `jump`; a function that begins at `pc` is entered with `ra`.
    """
    store64(truth + 8 * t.WINDOW, t.CLOSED)
    frames = load64(truth + 8 * t.FRAMES)
    begins = entry and load64(truth + 8 * t.CURRENT)
    cfa = sp - load64(truth + 8 * t.CALLER_SP)
    if entry:
        cfa = sp + load64(truth + 8 * t.ENTRY_CFA)
    depth = level = _above(truth, sp)
    # The lowest frame of another stack is that with which its first function was entered.
    while level > (1 if begins else 0):
        frame = frames + t.FRAME_BYTES * (level - 1)
        if load64(frame + t.CFA) > cfa:
            break
        if load64(frame + t.CFA) == cfa and load64(frame + t.RA) == (ra if entry else pc):
            if entry:
                _cut(truth, level)
            else:
                _return(truth, level - 1)
            return
        level -= 1
    if begins:
        t.clear(truth, sp)
        begin(truth, sp, ra, fp)
        return
    if load64(truth + 8 * t.RA_IN_REGISTER) == 0:
        # What returned to here would have left its return address below SP.
        depth = _above(truth, sp + 1)
    elif owner and not entry:
        depth = _land(truth, sp, owner, depth, load64(truth + 8 * t.PREVIOUS_KIND) == _RETURN)
    _cut(truth, depth)
