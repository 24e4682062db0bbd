"""Long-lived processes that do tasks; one that dies is replaced, and its task tried once more."""

import contextlib
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, Protocol, TypeVar

_SECONDS = 1200
"""That a task may take."""

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Work(Protocol[R_co]):
    """A task: a value that can be sent, and does its work in a worker."""

    def work(self) -> R_co:
        """Do it."""


@dataclass(frozen=True, slots=True)
class Died:
    """What comes of a task at which the worker died twice, or that failed."""

    reason: str


class Pool(Protocol[R]):
    """Does tasks somewhere."""

    def run(self, tasks: Callable[[], Work[R] | None]) -> Iterator[tuple[Work[R], R | Died]]:
        """What came of each task, in any order.

        Args:
            tasks: gives the next one; None: there is none now. It is asked again after each
                result, and the end is reached when all are done and it still has none.
        """


@dataclass(slots=True)
class _Worker(Generic[R]):
    process: BaseProcess
    pipe: Connection
    task: Work[R] | None = None
    tries: int = 0
    since: float = 0.0


class Processes(Generic[R]):
    """Processes of this machine.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._context = multiprocessing.get_context("fork")

    def run(self, tasks: Callable[[], Work[R] | None]) -> Iterator[tuple[Work[R], R | Died]]:
        """See `Pool`."""
        workers = [self._start() for _ in range(self._count)]
        try:
            while True:
                for worker in workers:
                    if worker.task is None and (task := tasks()) is not None:
                        self._give(worker, task)
                busy = [worker for worker in workers if worker.task is not None]
                if not busy:
                    return
                ready = wait([worker.pipe for worker in busy], timeout=10)
                for worker in busy:
                    late = time.monotonic() - worker.since > _SECONDS
                    if worker.pipe not in ready and not late:
                        continue
                    if (answer := self._take(worker, late)) is not None:
                        yield answer
        finally:
            for worker in workers:
                worker.process.kill()
                worker.process.join()

    def _start(self) -> _Worker[R]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, ours), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _give(self, worker: _Worker[R], task: Work[R]) -> None:
        worker.task, worker.since = task, time.monotonic()
        worker.tries += 1
        worker.pipe.send(task)

    def _take(self, worker: _Worker[R], late: bool) -> tuple[Work[R], R | Died] | None:
        task = worker.task
        assert task is not None
        answer: R | Died
        try:
            if late and not worker.pipe.poll():
                raise EOFError
            answer = worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            worker.process.kill()
            worker.process.join()
            how = f"took more than {_SECONDS} seconds" if late else "the worker died"
            fresh: _Worker[R] = self._start()
            worker.process, worker.pipe = fresh.process, fresh.pipe
            if worker.tries < 2:
                self._give(worker, task)
                return None
            answer = Died(how)
        worker.task, worker.tries = None, 0
        return task, answer


def _serve(pipe: Connection, other: Connection) -> None:
    """In a worker: do tasks until nobody asks any more."""
    other.close()  # so that it ends with the process that asks
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            pipe.send(done(pipe.recv()))


def done(task: Work[R]) -> R | Died:
    """What comes of a task; also a fault of ours is an answer, not the end of a campaign."""
    try:
        return task.work()
    except Exception as error:
        # Whatever it is: it is stored with the builds of the task, and told at the end.
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        return Died(f"{type(error).__name__}: {error} ({place})")
