"""The same work on a Dask cluster, whose workers may come and go."""

import importlib
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from emu.errors import UsageError
from emu.fuzz.pool import Died, Work, done

R = TypeVar("R")

_TRIES = 2


class Cluster(Generic[R]):
    """Workers of a scheduler; each must have one thread, since the emulator is shared by none.

    Args:
        address: ``tcp://HOST:PORT`` of the scheduler.

    Raises:
        UsageError: the library is not installed, or nobody answers there.
    """

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise UsageError("--scheduler needs Dask: pip install 'unwindlab[cluster]'") from None
        try:
            self._client = distributed.Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {address}: {error}") from error
        self._completed = distributed.as_completed

    def workers(self) -> int:
        """How many there are now."""
        return len(self._client.nthreads())

    def run(self, tasks: Callable[[], Work[R] | None]) -> Iterator[tuple[Work[R], R | Died]]:
        """See `emu.fuzz.pool.Pool`."""
        waiting: Any = self._completed()
        pending: dict[Any, tuple[Work[R], int]] = {}
        while True:
            while len(pending) < max(2, 2 * self.workers()) and (task := tasks()) is not None:
                self._submit(task, 1, pending, waiting)
            if not pending:
                return
            future = next(waiting)
            task, tries = pending.pop(future)
            error = future.exception()
            if error is None:
                yield task, future.result()
            elif tries < _TRIES:
                self._submit(task, tries + 1, pending, waiting)
            else:
                yield task, Died(f"{type(error).__name__}: {error}")
            future.release()

    def _submit(
        self, task: Work[R], tries: int, pending: dict[Any, tuple[Work[R], int]], waiting: Any
    ) -> None:
        # A worker that dies is not the task's fault at once: the scheduler gives it to another.
        future = self._client.submit(done, task, pure=False, retries=1)
        pending[future] = (task, tries)
        waiting.add(future)
