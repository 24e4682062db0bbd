from inspect import signature
from pathlib import Path
from random import Random

import pytest

from arch import ALL
from emu.linux.calls import CallError, CallTable, Errno, RunEndedError
from emu.linux.syscalls import Syscalls
from tests.emu.linux.caller import Caller


def failing(error: Exception) -> CallTable:
    def call(first: int) -> int:
        raise error

    return {"read": (1, call)}


def test_result_and_errors() -> None:
    """A value is returned as it is, an error as minus its number."""
    numbers = {"read": 0, "write": 1}
    assert Syscalls(numbers, [{"read": (2, lambda a, b: a + b)}]).call("read", (1, 2, 3)) == 3
    assert Syscalls(numbers, [failing(CallError(Errno.EFAULT))]).call("read", (1,)) == -14


def test_unimplemented_calls_are_counted() -> None:
    """By name where the number is known, else by number."""
    calls = Syscalls({"io_uring_setup": 425}, [])
    for number in (425, 425, 999):
        assert calls.call(calls.name(number), ()) == -Errno.ENOSYS
    assert calls.unsupported == {"io_uring_setup": 2, "#999": 1}
    assert not calls.refused


def test_refusals_are_counted_apart() -> None:
    """What fails by design is no lack."""
    calls = Syscalls({"read": 0}, [failing(CallError(Errno.ENOENT, refused=True))])
    calls.call("read", (1,))
    assert (calls.refused, calls.unsupported) == ({"read": 1}, {})


def test_unsupported_parts_are_counted() -> None:
    """A call of which one operation is missing names that operation."""
    calls = Syscalls({"read": 0}, [failing(CallError(Errno.EINVAL, unsupported="read sideways"))])
    calls.call("read", (1,))
    assert calls.unsupported == {"read sideways": 1}


def test_end_of_the_run_passes() -> None:
    """It is for the process to handle."""
    with pytest.raises(RunEndedError):
        Syscalls({"read": 0}, [failing(RunEndedError(status=0))]).call("read", (1,))


VALUES = (
    0, 1, 3, 8, 0x2000F0, 0x6000_0000, 1 << 31, 1 << 47, 1 << 62, (1 << 63) - 4096, 1 << 63,
    (1 << 64) - 100, (1 << 64) - 1,
)  # fmt: skip
"""Numbers, descriptors, addresses of nothing and of something, and what overflows."""
NEVER_RETURNING = {"exit", "exit_group"}


def names_of(call: Caller) -> list[str]:
    kernel = call.process.kernel.syscalls
    return [name for name in call.arch.syscalls if kernel.implemented(name)]


def test_no_call_breaks_on_any_arguments(call: Caller) -> None:
    """Every implementation answers hostile arguments with a result or an ended run."""
    names = names_of(call)
    for value in VALUES:
        for spread in (0, 1, 4096):
            arguments = [value + spread * i for i in range(6)]
            for name in names:
                try:
                    result = call(name, *arguments)
                except RunEndedError:
                    continue
                assert -4096 < result < 1 << 63, name
    assert len(names) > 200


def test_no_call_breaks_on_any_mixture(tmp_path: Path, root: Path) -> None:
    """The same with arguments that differ, and open files among them."""
    random = Random(5)
    for arch in ALL:
        call = Caller(tmp_path, arch, root)
        names = [name for name in names_of(call) if name not in NEVER_RETURNING]
        for _ in range(6000):
            if call("dup", 0) > 20:
                call("close_range", 3, 100, 0)
            call.restore()
            name = random.choice(names)
            arguments = [random.choice((*VALUES, b"f", b"/tmp", b"/proc/self/fd", 0o102, call.room))
                         for _ in range(6)]  # fmt: skip
            try:
                result = call(name, *arguments)
            except RunEndedError:
                continue
            assert -4096 < result < 1 << 63, (arch.name, name, arguments)


def test_every_implementation_has_a_number_somewhere(tmp_path: Path) -> None:
    """A misspelt name would never be called."""
    known = {name for arch in ALL for name in arch.syscalls}
    assert set(Caller(tmp_path, ALL[0]).process.kernel.syscalls.implementations()) <= known


def test_calls_take_as_many_arguments_as_they_say(tmp_path: Path) -> None:
    """The table's count is what the implementation accepts."""
    table = Caller(tmp_path, ALL[0]).process.kernel.syscalls.implementations()
    for name, (count, implementation) in table.items():
        signature(implementation).bind(*range(count)), name
