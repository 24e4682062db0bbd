"""Names of the functions that runtime addresses lie in."""

from emu.check.session import Session
from emu.record.plan import Addresses


class Names:
    """Functions of a running process by address; modules that go take their names with them.

    Args:
        session: the run.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, stack: Addresses) -> tuple[str, ...]:
        """One for each address: the first is where the stack was interrupted, others returns."""
        return tuple(self._name(ip - (1 if depth else 0)) for depth, ip in enumerate(stack))

    def _name(self, pc: int) -> str:
        item = self._session.code.find(pc)
        if item is None:
            return "[unknown]"
        place = item.module.names.place(pc - item.bias)
        return place.function or f"[{item.module.name}]"
