"""Where a path goes on: decided at each instruction that is not plain, never evaluated.

Both ways of a branch are taken, calls are not followed, and what comes later lies on the work
list.
"""

import numba

from arch.flow import Flow
from emu.native import load8, load32, load64, store64
from emu.sweep import state as w
from emu.sweep.items import get_register, keep, push, redirect, set_register
from emu.sweep.paths import count_one, end_path, gives_back, judge_return, site_at, stop
from emu.sweep.verdict import is_wrong, verdict_of

_CALL = int(Flow.CALL)
_CALL_INDIRECT = int(Flow.CALL_INDIRECT)
_BRANCH = int(Flow.BRANCH)
_JUMP = int(Flow.JUMP)
_JUMP_INDIRECT = int(Flow.JUMP_INDIRECT)
_RETURN = int(Flow.RETURN)
_RETURN_IF = int(Flow.RETURN_IF)
_BRANCH_INDIRECT = int(Flow.BRANCH_INDIRECT)
_SYSCALL = int(Flow.SYSCALL)
_HALT = int(Flow.HALT)
_LINK = int(Flow.LINK)

_JUNK = 0x2000
"""What a call leaves in registers: a small number that is a pointer, too."""
_CALL_RESULT = 0x140
_SYSCALL_RESULT = 0x100
_LOOP_LIMIT = 3000
"""Instructions that a loop that moves SP may run for real."""

# What `_way` says of a place that a jump goes to.
_INSIDE, _TAIL_CALL, _OUTSIDE = range(3)


@numba.njit(cache=True)
def _way(state: int, site: int, target: int) -> int:
    """What a jump from a site leads to."""
    other = site_at(state, target)
    at_entry = get_register(state, load64(state + 8 * w.SP_NUMBER)) == load64(
        state + 8 * w.ENTRY_SP
    )
    if other == 0:
        return _TAIL_CALL if at_entry else _OUTSIDE
    function = load32(other + w.S_FUNCTION)
    if function == load32(site + w.S_FUNCTION):
        return _INSIDE
    flags = load8(other + w.S_FLAGS)
    if flags & (w.START | w.BOTTOM) == w.START | w.BOTTOM:
        # A new thread begins there, on a stack of its own.
        return _OUTSIDE
    if at_entry and (function < 0 or flags & (w.START | w.ENTRY_ROW) == w.START | w.ENTRY_ROW):
        return _TAIL_CALL
    return _INSIDE


@numba.njit(cache=True)
def unvisited(state: int, target: int) -> bool:
    """A path of the present kind has something to do at an address."""
    site = site_at(state, target)
    if site == 0:
        return False
    epoch = load64(state + 8 * w.EPOCH)
    if load32(site + w.S_SEEN) == epoch:
        return load8(site + w.S_FLAGS) & w.REVISIT != 0
    return load64(state + 8 * w.CANDIDATE) == 0 or load32(site + w.S_TAINTED) != epoch


@numba.njit(cache=True)
def _recent_sp(state: int, pc: int) -> int:
    """SP when one of the last instructions was met; 0: it is not among them."""
    count = load64(state + 8 * w.RECENT_COUNT)
    for back in range(1, min(count, w.RECENT_SIZE) + 1):
        place = load64(state + 8 * w.RECENT) + 16 * ((count - back) % w.RECENT_SIZE)
        if load64(place) == pc:
            return load64(place + 8)
    return 0


@numba.njit(cache=True)
def return_from_call(state: int, site: int, after: int) -> None:
    """The call at a site has returned to `after`: what it may change has changed."""
    keeps = 0
    code = load32(site + w.S_ROW)
    if code >= 0:
        keeps = load64(load64(state + 8 * w.KEEPS) + 8 * code)
    saved = load32(site + w.S_SAVED)
    if saved >= 0:
        keeps |= load64(load64(state + 8 * w.SET_KEEPS) + 8 * saved)
    clobbered = load64(state + 8 * w.CLOBBERED)
    # Compilers that know what is called keep values in registers that it leaves alone, but never
    # what rows rest on: that is a place above the frame.
    direct = load8(site + w.S_KIND) == _CALL
    low, high = load64(state + 8 * w.ENTRY_SP), load64(state + 8 * w.STACK_HIGH)
    for index in range(load64(state + 8 * w.CLOBBERED_COUNT)):
        number = load8(clobbered + index)
        kept = direct and not low < get_register(state, number) < high
        if not kept and not (number < 63 and keeps >> number & 1):
            set_register(state, number, _JUNK)
    set_register(state, load64(state + 8 * w.RESULT_NUMBER), _CALL_RESULT)
    number = load64(state + 8 * w.RA_NUMBER)
    if number >= 0 and not (number < 63 and keeps >> number & 1):
        set_register(state, number, after)


@numba.njit(cache=True)
def _branch(state: int, site: int, pc: int, after: int) -> None:
    """A conditional branch: fall through now, the other way later."""
    target = load64(site + w.S_TARGET)
    if target <= pc:
        sp = get_register(state, load64(state + 8 * w.SP_NUMBER))
        before = _recent_sp(state, target)
        if before != 0 and before != sp:
            # Code that probes the stack page by page: only the real count of rounds is right.
            keep(state, load64(state + 8 * w.FREE_ITEM))
            store64(state + 8 * w.FREE_LOW, target)
            store64(state + 8 * w.FREE_HIGH, pc)
            store64(state + 8 * w.FREE_LEFT, _LOOP_LIMIT)
            store64(state + 8 * w.FREE_EXIT, after)
            return
    if load64(state + 8 * w.MODE) != w.CHASE:
        way = _way(state, site, target)
        if way == _TAIL_CALL:
            count_one(state, w.TAIL_CALLS)
            judge_return(state)
        elif way == _INSIDE and unvisited(state, target):
            tag = load64(state + 8 * w.TAG)
            if load64(state + 8 * w.ORDER) == w.FARTHEST:
                push(state, after, load32(site + w.S_FUNCTION), pc, tag)
                store64(state + 8 * w.CURRENT, load32(site_at(state, target) + w.S_FUNCTION))
                redirect(state, target)
                return
            push(state, target, load32(site_at(state, target) + w.S_FUNCTION), pc, tag)
    redirect(state, after)


@numba.njit(cache=True)
def _jump(state: int, site: int) -> None:
    """A direct jump executes by itself, unless it leaves the activation."""
    target = load64(site + w.S_TARGET)
    way = _way(state, site, target)
    if way == _INSIDE:
        store64(state + 8 * w.CURRENT, load32(site_at(state, target) + w.S_FUNCTION))
        return
    if way == _TAIL_CALL:
        count_one(state, w.TAIL_CALLS)
        judge_return(state)
    else:
        count_one(state, w.LEFT)
    end_path(state)


@numba.njit(cache=True)
def _call(state: int, site: int, pc: int, kind: int, after: int) -> None:
    """A call is not followed, unless it goes to the inside of its own function."""
    if kind == _CALL:
        target = load64(site + w.S_TARGET)
        other = site_at(state, target)
        if (
            other
            and load32(other + w.S_FUNCTION) == load32(site + w.S_FUNCTION)
            and load32(site + w.S_FUNCTION) >= 0
            and load8(other + w.S_FLAGS) & w.START == 0
        ):
            return
    pads = load32(site + w.S_PADS)
    if pads and load64(state + 8 * w.MODE) != w.CHASE:
        place = load64(state + 8 * w.PADS) + 16 * pads
        number = load64(state + 8 * w.SP_NUMBER)
        sp = get_register(state, number)
        while load64(place):
            pad = site_at(state, load64(place))
            if pad and unvisited(state, load64(place)):
                # What was pushed for the call is gone at the pad.
                set_register(state, number, sp + load64(place + 8))
                push(state, load64(place), load32(pad + w.S_FUNCTION), pc, w.BY_PAD)
                set_register(state, number, sp)
            place += 16
    if load8(site + w.S_FLAGS) & w.NORETURN:
        end_path(state)
        return
    count_one(state, w.CALLS)
    return_from_call(state, site, after)
    if load8(site + w.S_FLAGS) & w.DOUBTFUL and load64(state + 8 * w.MODE) != w.CHASE:
        # A call changes no rule: it does not return, unless the other row is right as well.
        behind = verdict_of(state, site_at(state, after))
        if is_wrong(behind):
            if load64(state + 8 * w.MODE) == w.CLEAN:
                stop(state, w.DOUBT, pc)
            else:
                end_path(state)
            return
    redirect(state, after)


@numba.njit(cache=True)
def decide(state: int, site: int, pc: int, kind: int) -> None:
    """Where to go on from an instruction that is not plain."""
    after = pc + load8(site + w.S_SIZE)
    store64(state + 8 * w.NEW_BLOCK, 1)
    if kind == _BRANCH:
        _branch(state, site, pc, after)
    elif kind in (_JUMP, _LINK):
        _jump(state, site)
    elif kind in (_CALL, _CALL_INDIRECT):
        _call(state, site, pc, kind, after)
    elif kind == _RETURN:
        if load64(state + 8 * w.MODE) == w.CHASE or gives_back(state):
            judge_return(state)
            end_path(state)
        else:
            # The register of the return address may serve for any other jump, too.
            stop(state, w.INDIRECT, pc)
    elif kind == _RETURN_IF:
        judge_return(state)
        redirect(state, after)
    elif kind == _JUMP_INDIRECT:
        if load64(state + 8 * w.MODE) == w.CHASE:
            end_path(state)
        else:
            stop(state, w.INDIRECT, pc)
    elif kind == _HALT:
        end_path(state)
    else:
        if kind == _SYSCALL:
            set_register(state, load64(state + 8 * w.RESULT_NUMBER), _SYSCALL_RESULT)
        elif kind == _BRANCH_INDIRECT:
            count_one(state, w.INDIRECT_BRANCHES)
        else:
            count_one(state, w.SKIPPED)
            store64(state + 8 * w.NEW_BLOCK, 0)
        redirect(state, after)
