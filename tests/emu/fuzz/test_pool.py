"""Workers that die, and tasks that fail."""

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from emu.fuzz.pool import Died, Processes, Work


@dataclass(frozen=True)
class Square:
    """A task without risk."""

    number: int

    def work(self) -> int:
        """See the class."""
        return self.number**2


@dataclass(frozen=True)
class Fatal:
    """Ends its process, the first time or always."""

    marks: Path
    always: bool

    def work(self) -> int:
        """See the class."""
        with self.marks.open("a") as file:
            file.write("x")
        if self.always or len(self.marks.read_text()) < 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return -1


@dataclass(frozen=True)
class Faulty:
    """Raises."""

    def work(self) -> int:
        """See the class."""
        raise ZeroDivisionError("by construction")


@dataclass(frozen=True)
class Nap:
    """Takes long enough that both workers get some; says which one it was."""

    def work(self) -> int:
        """See the class."""
        time.sleep(0.2)
        return os.getpid()


def _run(tasks: list[Work[int]], count: int = 2) -> dict[Work[int], int | Died]:
    waiting = iter(tasks)
    answers: list[tuple[Work[int], int | Died]] = list(
        Processes[int](count).run(lambda: next(waiting, None))
    )
    assert len(answers) == len(tasks)
    return dict(answers)


def test_each_task_once() -> None:
    tasks: list[Work[int]] = [Square(n) for n in range(50)]
    assert _run(tasks) == {Square(n): n * n for n in range(50)}


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    once, always = Fatal(tmp_path / "once", False), Fatal(tmp_path / "always", True)
    answers = _run([Square(1), once, always, *(Square(n) for n in range(2, 9))])
    assert answers[once] == -1
    assert answers[always] == Died("the worker died")
    assert (tmp_path / "always").read_text() == "xx"
    assert answers[Square(8)] == 64


def test_a_task_that_fails_is_named() -> None:
    answers = _run([Faulty(), Square(3)])
    died = answers.pop(Faulty())
    assert isinstance(died, Died)
    where = r"\(test_pool\.py:\d+\)"
    assert re.fullmatch(rf"ZeroDivisionError: by construction {where}", died.reason)
    assert answers == {Square(3): 9}


def test_workers_live_long() -> None:
    waiting = iter([Nap() for _ in range(6)])
    pids = {answer for _, answer in Processes[int](2).run(lambda: next(waiting, None))}
    assert len(pids) == 2


def test_more_tasks_may_come_of_answers() -> None:
    """The pool asks again after each answer: reductions follow from what was found."""
    todo: list[Work[int]] = [Square(1)]
    seen = []
    for task, answer in Processes[int](2).run(lambda: todo.pop() if todo else None):
        seen.append(answer)
        if task == Square(1):
            todo.append(Square(2))
    assert seen == [1, 4]
