"""Signatures of return addresses, as a function's prologue makes them."""

from collections.abc import Sequence

from arch import Arch
from emu.machine.engine import Engine
from emu.memory import EXECUTE, PAGE, READ, Memory


def signatures(arch: Arch, keys: tuple[int, ...] | None, address: int, sp: int) -> tuple[int, ...]:
    """A return address signed with SP, by each of `arch.ra_signing`.

    Args:
        arch: the machine.
        keys: as `Engine` takes them; None: it signs nothing.
        address, sp: the return address and SP.

    Returns:
        Nothing on a machine that cannot, or does not. One that is the address itself has a
        signature of zeros.
    """
    return all_signatures(arch, keys, [(address, sp)])[0]


def all_signatures(
    arch: Arch, keys: tuple[int, ...] | None, pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """The same for several pairs of an address and SP."""
    ra, sp = arch.register(arch.ra), arch.register(arch.sp)
    if keys is None or ra is None or sp is None or not arch.ra_signing or not pairs:
        return [() for _ in pairs]
    memory = Memory(PAGE)
    memory.map(PAGE, PAGE, READ | EXECUTE)
    places = []
    for number, code in enumerate(arch.ra_signing):
        # Zeros behind it are no instruction, and end the run.
        places.append(PAGE + 2 * arch.longest_instruction * number)
        memory.write(places[-1], code, force=True)
    engine = Engine(arch, memory, pauth_keys=keys)
    found: list[tuple[int, ...]] = []
    for address, stack in pairs:
        each = []
        for place in places:
            engine.write(ra.emulator, address)
            engine.write(sp.emulator, stack)
            engine.run(place)
            each.append(engine.read(ra.emulator))
        found.append(tuple(each))
    engine.close()
    return found
