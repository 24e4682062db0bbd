"""Absent pages: atomic walks fail on them, deferred ones bring them in; and what is counted."""

from errno import EFAULT

import pytest

from arch import CfaRule, Row
from arch.row import KEEP
from emu.kernel.events import Name, Refusal
from emu.kernel.policy import MAINLINE, SERIES_V13
from emu.kernel.user_memory import Residency, UserMemory
from emu.kernel.walk import walk
from emu.memory import PAGE, READ, WRITE, Memory
from emu.tables import FunctionRows
from tests.emu.kernel.tasks import STACK, TABLE, TEXT, F, at, memory_of, registered, task_of


def test_present_parts() -> None:
    """What is left of a range around absent pages."""
    residency = Residency()
    assert list(residency.present_parts(0x1000, 0x5000)) == [(0x1000, 0x5000)]
    residency.evict(0x2000, 0x3001)
    assert list(residency.present_parts(0x1000, 0x5000)) == [(0x1000, 0x2000), (0x4000, 0x5000)]
    assert list(residency.present_parts(0x2000, 0x4000)) == []
    assert residency.bring_in(2)
    assert not residency.bring_in(2)
    assert list(residency.present_parts(0x2000, 0x4000)) == [(0x2000, 0x3000)]


def test_read_of_an_absent_page() -> None:
    """Atomic: EFAULT. Faulting: the page comes in and stays."""
    memory, residency = memory_of(b"table"), Residency()
    residency.evict(TABLE, TABLE + 1)
    with pytest.raises(Refusal) as caught:
        UserMemory(memory, residency, faulting=False).get(TABLE, 5)
    assert caught.value.errno == EFAULT
    user = UserMemory(memory, residency)
    assert (user.get(TABLE, 5), user.reads, user.bytes, user.page_faults) == (b"table", 1, 5, 1)
    assert UserMemory(memory, residency, faulting=False).get(TABLE, 5) == b"table"


def test_read_across_pages_and_mappings() -> None:
    """A read may touch two pages, each of which may be absent, and two mappings."""
    memory, residency = Memory(1 << 24), Residency()
    memory.map(0x10000, PAGE, READ)
    memory.map(0x12000, PAGE, READ)
    memory.map(0x11000, PAGE, READ | WRITE)
    memory.write(0x10FFE, b"abcd", force=True)
    residency.evict(0x10000, 0x12000)
    user = UserMemory(memory, residency)
    assert (user.get(0x10FFE, 4), user.page_faults) == (b"abcd", 2)
    with pytest.raises(Refusal):
        user.get(0x12FFE, 4)


def test_atomic_walk_ends_at_an_absent_stack_page() -> None:
    """The rest of the chain is missing; a deferred walk has it, and counts the page."""
    second = STACK + PAGE
    words = [0] * (2 * PAGE // 8)
    words[0:2] = [second, 0x40_1111]
    words[PAGE // 8 : PAGE // 8 + 2] = [0, 0x40_2222]
    task = task_of(memory_of(stack=words), fp=STACK)
    task.residency.evict(second, second + PAGE)
    atomic = walk(MAINLINE, task, 64, faulting=False)
    assert (atomic.ips, atomic.page_faults) == ((F, 0x40_1111), 0)
    deferred = walk(MAINLINE, task, 64)
    assert (deferred.ips, deferred.page_faults) == ((F, 0x40_1111, 0x40_2222), 1)
    assert walk(MAINLINE, task, 64, faulting=False).ips == deferred.ips


def test_absent_page_that_nobody_has() -> None:
    """A fault that cannot be served fails in both modes."""
    task = task_of(memory_of(stack=[]), fp=0x9000_0000)
    task.residency.evict(0x9000_0000, 0x9000_1000)
    assert walk(MAINLINE, task, 64).page_faults == 0


def test_deferred_walk_brings_the_table_in() -> None:
    """The section's page, and no other."""
    memory, registry = registered(SERIES_V13, stack=[0x40_1FFF])
    task = task_of(memory, registry)
    task.residency.evict(TABLE, TABLE + 2 * PAGE)
    trace = walk(SERIES_V13, task, 64)
    assert (trace.ips, trace.page_faults) == ((F, 0x40_1FFF), 1)
    assert len(task.residency) == 1


def test_atomic_lookup_in_an_absent_table_removes_it() -> None:
    """EFAULT is EFAULT: a section that is only paged out is gone for good."""
    memory, registry = registered(SERIES_V13, stack=[0x40_1FFF])
    task = task_of(memory, registry)
    task.residency.evict(TABLE, TABLE + PAGE)
    trace = walk(SERIES_V13, task, 64, faulting=False)
    assert trace.ips == (F,)
    assert [event.name for event in trace.events] == [Name.SECTION_REMOVED]
    assert len(registry) == 0


def test_text_is_not_read() -> None:
    """No revision looks at instructions."""
    memory, registry = registered(SERIES_V13, stack=[0x40_1FFF])
    task = task_of(memory, registry)
    task.residency.evict(TEXT, TEXT + 2 * PAGE)
    assert walk(SERIES_V13, task, 64).page_faults == 0


def test_reads_are_counted() -> None:
    """One function with one row: a probe, the FDE, the attributes, start, info, a word, and RA."""
    one = (FunctionRows(F, 0x40, (0,), (Row(CfaRule(7, 8), at(-8), KEEP, 0),)),)
    memory, registry = registered(SERIES_V13, stack=[0x9000_0000], functions=one)
    trace = walk(SERIES_V13, task_of(memory, registry), 2)
    assert trace.ips == (F, 0x9000_0000)
    assert (trace.reads, trace.bytes) == (7, 8 + 16 + 5 + 1 + 1 + 1 + 8)
    assert trace.longest_lookup == 6


def test_hostile_table_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk ends, says why, and keeps the section: the kernel would still be reading."""
    memory, registry = registered(SERIES_V13, stack=[0])
    task = task_of(memory, registry)
    monkeypatch.setattr(
        "emu.kernel.walk.UserMemory", lambda *args, **more: UserMemory(*args, **more, most=3)
    )
    trace = walk(SERIES_V13, task, 64)
    assert [event.name for event in trace.events] == [Name.READ_LIMIT]
    assert (trace.ips, len(registry)) == ((F,), 1)
