"""What a run is asked to do, and where it is to be sampled."""

import re
from dataclasses import dataclass, field

from emu.errors import UsageError
from emu.symbols import FunctionNames

_POINT = re.compile(
    r"#(?P<number>\d+)"
    r"|(?P<address>0[xX][0-9a-fA-F]+)"
    r"|(?P<symbol>[^#+].*?)(?:\+(?P<offset>0[xX][0-9a-fA-F]+|\d+))?"
)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of `check` and `backtrace`; the defaults suit a stranger's program."""

    table: str = "auto"
    every: int = 0
    """Walk the whole stack at each n-th instruction; 0: never."""
    at: str = ""
    """A POINT of the command contract."""
    nth: int = 1
    lookup: str = "return"
    max_instructions: int = 1_000_000_000
    timeout: float = 600.0
    """Seconds of wall time."""
    memory: int = 2 << 30
    """Bytes that the guest may map at a time."""
    stdin: bytes = b""
    env: tuple[str, ...] = ()
    cpu: str = ""
    pac: bool = False
    seed: int = 0
    root: str | None = None
    """A host directory that the guest sees as /; None: it sees no file."""
    arguments: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Point:
    """Where to stop: the n-th executed instruction, a link-time address, or a place in a library.

    With a symbol, which the program itself does not have, `address` is the offset from it.
    """

    instruction: int = 0
    address: int = 0
    symbol: str = ""


def parse_point(text: str, names: FunctionNames, program: str, dynamic: bool) -> Point:
    """``SYMBOL``, ``SYMBOL+OFFSET``, ``0xADDRESS`` or ``#N``.

    Args:
        text: of the command line.
        names: functions of the program.
        program: its path.
        dynamic: libraries may have symbols that the program lacks.

    Raises:
        UsageError: it is none of these, or there is no such symbol.
    """
    match = _POINT.fullmatch(text)
    if match is None:
        raise UsageError(f"{program}: --at {text}: not SYMBOL, SYMBOL+OFFSET, 0xADDRESS or #N")
    if match["number"]:
        if int(match["number"]) < 1:
            raise UsageError(f"{program}: --at {text}: instructions are counted from 1")
        return Point(instruction=int(match["number"]))
    if match["address"]:
        return Point(address=int(match["address"], 16))
    address = names.find(match["symbol"])
    offset = int(match["offset"] or "0", 0)
    if address is None:
        if not dynamic:
            raise UsageError(f"{program}: --at {text}: no symbol {match['symbol']}")
        return Point(address=offset, symbol=match["symbol"])
    return Point(address=address + offset)
