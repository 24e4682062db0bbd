"""Damaged sections: whatever their bytes say, a look-up ends, and in one of the known ways."""

import random

import pytest

from arch import Arch
from arch.x86_64 import X86_64
from emu.kernel.events import Crash, Refusal
from emu.kernel.frame import Frame
from emu.kernel.header import Section, read_header
from emu.kernel.lookup import find_frame
from emu.kernel.policy import POLICIES, SERIES_V13
from emu.kernel.reader import V3, Reader
from emu.kernel.user_memory import MOST_READS, ReadLimit, UserMemory
from emu.kernel.walk import walk
from emu.sframe.decode import decode
from emu.sframe.table import function_rows
from emu.tables import FunctionRows, NoRow
from tests.emu.kernel.tasks import (
    READERS,
    STACK,
    TABLE,
    TEXT,
    TEXT_END,
    F,
    look,
    made,
    memory_of,
    registry_of,
    rows_of,
    task_of,
)

FUNCTIONS = tuple(
    FunctionRows(TEXT + 0x100 * number, 0x40, (0, 1, 4), rows_of(X86_64)) for number in range(1, 9)
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_sections(reader: Reader) -> None:
    """Two thousand sections with some bytes changed behind the header."""
    source = random.Random(7)
    good = made(reader.version, functions=FUNCTIONS)
    answers: dict[str, int] = {}
    for _ in range(2000):
        raw = bytearray(good.data)
        for _ in range(source.choice((1, 1, 2, 8))):
            value = source.choice((0, 1, 0x7F, 0xFF, source.randrange(256)))
            raw[source.randrange(28, len(raw))] = value
        memory = UserMemory(memory_of(bytes(raw)), most=1 << 14)
        ip = source.choice(FUNCTIONS).start + source.choice((0, 2, 8, 0x3F, 0x40))
        section = look_section(reader, good.data)
        before = memory.reads
        try:
            find_frame(reader, section, memory, X86_64, ip, lambda event: None)
            name = "frame"
        except Refusal as refusal:
            name = str(refusal.errno)
        except Crash as crash:
            name = str(crash.event.name)
        except ReadLimit:
            name = "limit"
        answers[name] = answers.get(name, 0) + 1
        assert memory.reads - before <= (1 << 14) + 1
    assert answers["frame"] > 500
    assert {"frame", "22", "14"} <= set(answers)


def look_section(reader: Reader, data: bytes) -> Section:
    """The section as it was registered, before it was damaged."""
    memory = UserMemory(memory_of(data))
    return read_header(reader, memory, "little", TABLE, TABLE + len(data), (TEXT, TEXT_END - 1))


def test_walks_over_random_stacks() -> None:
    """Any words on the stack, any policy: the walk ends, and the first entry is the ip."""
    source = random.Random(3)
    for _ in range(200):
        words = [
            source.choice((0, F, F + 2, F + 0x40, STACK + 8 * source.randrange(512),
                           source.randrange(1 << 64)))
            for _ in range(256)
        ]  # fmt: skip
        for policy in POLICIES.values():
            registry = None
            data = b""
            if policy.reader is not None:
                data = made(policy.reader.version).data
            memory = memory_of(data, words)
            if policy.reader is not None:
                registry = registry_of(policy, memory)
                registry.add(TABLE, TABLE + len(data), TEXT, TEXT_END - 1)
            fp = source.choice(words)
            trace = walk(policy, task_of(memory, registry, F + 2, fp=fp), 127)
            assert trace.ips[0] == F + 2
            assert len(trace.ips) <= 127
            assert trace.reads < 127 * MOST_READS


def test_series_agrees_with_the_decoder(arch: Arch) -> None:
    """On good tables, at every address of every function: the same row as the project's decoder."""
    rows = rows_of(arch)
    functions = (
        FunctionRows(F, 0x40, (0, 1, 4), rows),
        FunctionRows(F + 0x40, 0x20, (0, 2), rows[:2], 8),
        FunctionRows(F + 0x80, 0x10, (2,), rows[2:]),
    )
    encoded = made(3, arch, functions)
    decoded = function_rows(decode(encoded.data, TABLE, arch.byte_order))
    for ip in range(F - 1, F + 0x98):
        want = None
        for function in decoded:
            if function.start <= ip < function.start + function.size:
                offset = (ip - function.start) % (function.rep_size or function.size)
                starts = [start for start in function.starts if start <= offset]
                found = function.rows[len(starts) - 1] if starts else None
                want = None if isinstance(found, NoRow) else found
        answer = look(V3, ip=ip, arch=arch, functions=functions).answer
        assert (answer.row if isinstance(answer, Frame) else None) == want
    assert SERIES_V13.reader is V3
