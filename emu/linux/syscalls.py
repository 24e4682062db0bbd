"""From a call's number to its implementation, and the count of what there is none for."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from emu.linux.calls import CallError, CallTable, Errno


class Syscalls:
    """The system calls of one process.

    Args:
        numbers: of the machine, by name.
        groups: implementations; names that the machine does not have are left out.
    """

    def __init__(self, numbers: Mapping[str, int], groups: Iterable[CallTable]) -> None:
        self._names = {number: name for name, number in numbers.items()}
        self._table: CallTable = {}
        for group in groups:
            self._table |= group
        self.unsupported: Counter[str] = Counter()
        """What the kernel has and this one lacks, by name, or ``#N`` for an unknown number."""
        self.refused: Counter[str] = Counter()
        """What fails by design: names of host files, rseq."""

    def name(self, number: int) -> str:
        """The name of a call, or ``#N``."""
        return self._names.get(number, f"#{number}")

    def implemented(self, name: str) -> bool:
        """There is an implementation of that name."""
        return name in self._table

    def implementations(self) -> CallTable:
        """All of them: name -> (number of arguments, implementation)."""
        return dict(self._table)

    def note(self, name: str) -> None:
        """Count something that is not supported."""
        self.unsupported[name] += 1

    def call(self, name: str, arguments: Sequence[int]) -> int:
        """The result: what the implementation returns, or minus an error number.

        Raises:
            RunEndedError: the process does not go on.
        """
        entry = self._table.get(name)
        if entry is None:
            self.note(name)
            return -Errno.ENOSYS
        count, implementation = entry
        try:
            return implementation(*arguments[:count])
        except CallError as error:
            if error.refused:
                self.refused[name] += 1
            if error.unsupported:
                self.note(error.unsupported)
            return -error.number
