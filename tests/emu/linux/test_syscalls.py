import pytest

from arch import ALL, Arch
from emu.linux.address_space import AddressSpace
from emu.linux.calls import CallError, CallTable, Errno, RunEndedError
from emu.linux.clock import Clock, TimeCalls
from emu.linux.files import Files
from emu.linux.names import Names
from emu.linux.signals import Signals
from emu.linux.syscalls import Syscalls
from emu.linux.waits import Waits
from tests.emu.linux.kernel_parts import make_guest
from tests.emu.linux.test_task import make_task


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


@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_no_call_breaks_on_any_arguments(arch: Arch) -> None:
    """Every implementation answers hostile arguments with a result or an ended run."""
    names: set[str] = set()
    for value in (0, 1, 8, 0x2000F0, 0x20_0000, 1 << 31, 1 << 47, (1 << 63) - 4096, (1 << 64) - 1):
        for spread in (0, 1, 4096):
            guest = make_guest(arch.byte_order)
            clock = Clock(1, lambda: 0)
            high = arch.layout.stack_top
            groups = (
                AddressSpace(guest, arch.layout, 0x100_0000, (high - (8 << 20), high)).calls(),
                (files := Files(guest, arch.stat, b"input", 7)).calls(),
                Waits(guest, files.find, clock).calls(),
                Names(guest, b"/prog").calls(),
                Signals(guest, 1000, lambda name: None).calls(),
                TimeCalls(guest, clock).calls(),
                make_task(guest).calls(),
            )
            calls = Syscalls(arch.syscalls, groups)
            arguments = [(value + spread * i) % (1 << 64) for i in range(6)]
            for name in [name for group in groups for name in group]:
                names.add(name)
                try:
                    result = calls.call(name, arguments)
                except RunEndedError:
                    continue
                assert -4096 < result < 1 << 63, name
    assert len(names) > 100


def test_every_implementation_has_a_number_somewhere() -> None:
    """A misspelt name would never be called."""
    guest = make_guest()
    clock = Clock(1, lambda: 0)
    known = {name for arch in ALL for name in arch.syscalls}
    for group in (
        AddressSpace(guest, ALL[0].layout, 0x100_0000, (0, 0)).calls(),
        (files := Files(guest, ALL[0].stat, b"", 7)).calls(),
        Waits(guest, files.find, clock).calls(),
        Names(guest, b"/prog").calls(),
        Signals(guest, 1000, lambda name: None).calls(),
        TimeCalls(guest, clock).calls(),
        make_task(guest).calls(),
    ):
        assert set(group) <= known
