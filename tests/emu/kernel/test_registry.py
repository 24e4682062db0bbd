"""How sections come and go: prctl(2), the system call, the ELF loader, and every check's error.

Section 6 of the facts and section 14's lines about it.
"""

from errno import EEXIST, EFAULT, EINVAL, ENOMEM
from typing import cast

import pytest

from arch import CfaRule, Row
from arch.row import KEEP
from arch.x86_64 import X86_64
from emu.image import PF_R, PF_X, PT_LOAD, Image, Segment
from emu.kernel.events import Name, Refusal
from emu.kernel.lookup import find_frame
from emu.kernel.policy import (
    MAINLINE,
    POLICIES,
    POSTING_V2,
    POSTING_V2_AS_SENT,
    SERIES_V11,
    SERIES_V13,
    Policy,
)
from emu.kernel.registration import Form, Registration
from emu.kernel.registry import ADD, REMOVE, Registry
from emu.kernel.user_memory import Residency, UserMemory
from emu.memory import EXECUTE, PAGE, READ, Memory
from emu.sframe.container import PT_GNU_SFRAME
from emu.tables import FunctionRows
from tests.emu.kernel.tasks import (
    TABLE,
    TEXT,
    TEXT_END,
    F,
    File,
    G,
    at,
    made,
    mapped,
    memory_of,
    registry_of,
    rows_of,
)

LATER = (SERIES_V11, SERIES_V13)
BOTH = (POSTING_V2_AS_SENT, POSTING_V2)
LIBRARY = File(b"/lib/libdep.so")


def ready(policy: Policy) -> tuple[Memory, Registry, int]:
    """Memory with a good section, the empty registry, and where the section ends."""
    assert policy.reader is not None
    data = made(policy.reader.version).data
    memory = memory_of(data)
    return memory, registry_of(policy, memory), TABLE + len(data)


def in_file(policy: Policy, *texts: tuple[int, int]) -> Registry:
    """A registry where the section and these executable ranges are of one file."""
    assert policy.reader is not None
    memory = memory_of(made(policy.reader.version).data)
    for start, end in texts:
        if start >= TEXT_END:
            memory.map(start, end - start, READ | EXECUTE)
    areas = [(start, end, READ | EXECUTE, LIBRARY) for start, end in texts]
    vmas = mapped(memory, *areas, (TABLE, TABLE + 2 * PAGE, READ, LIBRARY))
    return registry_of(policy, memory, vmas=vmas)


# ---- the calls


def test_prctl_numbers() -> None:
    """74 and 75 in 2024, 79 and 80 in the series up to v11; those of others are none."""
    for policy, add, remove in ((POSTING_V2, 74, 75), (SERIES_V11, 79, 80)):
        _, registry, end = ready(policy)
        words = (TABLE, TEXT, TEXT_END, 0) if policy in BOTH else (TABLE, end, TEXT, TEXT_END)
        assert registry.prctl(add, *words) == 0
        assert len(registry) == 1
        assert registry.prctl(79 if add == 74 else 74, *words) is None
        assert registry.prctl(remove, 1, 0, 0, 0) == -EINVAL
        assert registry.prctl(15, *words) is None


def test_prctl_numbers_that_are_not_known() -> None:
    """v13's were not seen: no number does anything."""
    _, registry, _ = ready(SERIES_V13)
    assert {registry.prctl(number, 0, 0, 0, 0) for number in range(128)} == {None}


def test_prctl_add_2024() -> None:
    """(sframe, text_start, text_end, 0)."""
    _, registry, _ = ready(POSTING_V2)
    assert registry.prctl(74, TABLE, TEXT, TEXT_END, 0) == 0
    section = registry.find(F)
    assert section is not None
    assert (section.start, section.end, section.text_end) == (TABLE, 0, TEXT_END)


def test_prctl_add_2025() -> None:
    """(sframe_start, sframe_end, text_start, text_end)."""
    _, registry, end = ready(SERIES_V11)
    assert registry.prctl(79, TABLE, end, TEXT, TEXT_END) == 0
    section = registry.find(F)
    assert section is not None
    assert (section.start, section.end, section.text_start) == (TABLE, end, TEXT)


def test_syscall_2026() -> None:
    """stacktrace_setup(op, addr, len, text, text_len): 1 adds, 2 removes, others are refused."""
    _, registry, end = ready(SERIES_V13)
    words = (TABLE, end - TABLE, TEXT, TEXT_END - TEXT)
    assert registry.stacktrace_setup(ADD, *words) == 0
    assert registry.find(F) is not None
    assert registry.stacktrace_setup(REMOVE, TABLE, 0, 0, 0) == 0
    assert registry.stacktrace_setup(REMOVE, TABLE, 0, 0, 0) == -EINVAL
    assert registry.stacktrace_setup(3, *words) == -EINVAL
    assert registry.stacktrace_setup(0, *words) == -EINVAL


def test_spare_arguments() -> None:
    """2024: arg5 when adding, arg3 to arg5 when removing; they come before everything else."""
    _, registry, _ = ready(POSTING_V2)
    assert registry.prctl(74, TABLE, TEXT, TEXT_END, 1) == -EINVAL
    assert len(registry) == 0
    for words in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert registry.prctl(75, TABLE, *words) == -EINVAL


def test_text_omitted() -> None:
    """2024 finds the one executable mapping of the section's file; either bound 0 is enough."""
    for words in ((0, 0), (0, TEXT_END), (TEXT, 0)):
        registry = in_file(POSTING_V2, (TEXT, TEXT_END))
        assert registry.add(TABLE, 0, *words) == 0
        section = registry.find(F)
        assert section is not None
        assert (section.text_start, section.text_end) == (TEXT, TEXT_END)


def test_text_omitted_with_two() -> None:
    """Two executable segments: warned of and refused."""
    registry = in_file(POSTING_V2, (TEXT, TEXT_END), (0x60_0000, 0x60_1000))
    assert registry.add(TABLE, 0, 0, 0) == -EINVAL
    assert [event.name for event in registry.events] == [Name.WARN]


def test_text_omitted_with_none() -> None:
    """No executable segment: a null pointer is followed."""
    registry = in_file(POSTING_V2)
    registry.add(TABLE, 0, 0, 0)
    assert [event.name for event in registry.events] == [Name.NULL_DEREFERENCE]
    assert len(registry) == 0


def test_text_omitted_without_a_file() -> None:
    """The section is in anonymous memory, or in none."""
    _, registry, _ = ready(POSTING_V2)
    assert registry.add(TABLE, 0, 0, 0) == -EINVAL
    assert registry.add(0x1000, 0, 0, 0) == -EINVAL
    assert registry.events == []


def test_text_omitted_later() -> None:
    """Not allowed from 2025 on."""
    for policy in LATER:
        _, registry, end = ready(policy)
        assert registry.add(TABLE, end, 0, 0) == -EINVAL


# ---- the tree


def test_tree_is_inclusive() -> None:
    """The address behind the text still finds the section."""
    _, registry, end = ready(SERIES_V13)
    registry.add(TABLE, end, TEXT, TEXT + 0x800)
    assert registry.find(TEXT - 1) is None
    assert registry.find(TEXT) is not None
    assert registry.find(TEXT + 0x800) is not None
    assert registry.find(TEXT + 0x801) is None


def test_tree_is_freed_at_teardown() -> None:
    """With the mm."""
    _, registry, end = ready(SERIES_V13)
    registry.add(TABLE, end, TEXT, TEXT_END)
    registry.teardown()
    assert (len(registry), registry.find(F)) == (0, None)


# ---- checks, in order


def test_add_zero_address() -> None:
    """Any of the four."""
    for policy in LATER:
        _, registry, end = ready(policy)
        good = [TABLE, end, TEXT, TEXT_END]
        for number in range(4):
            words = [0 if each == number else good[each] for each in range(4)]
            assert registry.add(*words) == -EINVAL
        assert registry.add(*good) == 0


def test_add_sframe_mapping() -> None:
    """Nothing is mapped at its start, or it ends behind that mapping."""
    for policy in LATER:
        _, registry, end = ready(policy)
        assert registry.add(TABLE - 1, end, TEXT, TEXT_END) == -EINVAL
        assert registry.add(TABLE, TABLE + 2 * PAGE + 1, TEXT, TEXT_END) == -EINVAL
        assert registry.add(TABLE, TABLE + 2 * PAGE, TEXT, TEXT_END) == 0


def test_add_text_mapping() -> None:
    """Nothing is mapped at its start, it is not executable, or it ends behind that mapping."""
    for policy in LATER:
        _, registry, end = ready(policy)
        assert registry.add(TABLE, end, TEXT - 1, TEXT_END) == -EINVAL
        assert registry.add(TABLE, end, TABLE, TABLE + PAGE) == -EINVAL
        assert registry.add(TABLE, end, TEXT, TEXT_END + 1) == -EINVAL


def test_add_allocation() -> None:
    """-ENOMEM behind the mappings; 2024 has read the header by then, later it has not."""
    for policy in LATER:
        memory, registry, end = ready(policy)
        registry.no_memory = True
        assert registry.add(TABLE, end, TABLE, TEXT_END) == -EINVAL
        memory.write(TABLE, b"bad", force=True)
        assert registry.add(TABLE, end, TEXT, TEXT_END) == -ENOMEM
    memory, registry, _ = ready(POSTING_V2)
    registry.no_memory = True
    memory.write(TABLE, b"bad", force=True)
    assert registry.add(TABLE, 0, TEXT, TEXT_END) == -EINVAL
    memory.write(TABLE, made(2).data, force=True)
    assert registry.add(TABLE, 0, TEXT, TEXT_END) == -ENOMEM


def test_add_header() -> None:
    """A bad one is -EINVAL, one that cannot be read -EFAULT; 2024 warns of the first."""
    for policy in (*BOTH, *LATER):
        memory, registry, end = ready(policy)
        memory.write(TABLE, b"bad", force=True)
        assert registry.add(TABLE, end, TEXT, TEXT_END) == -EINVAL
        assert [event.name for event in registry.events] == [Name.WARN] * (policy in BOTH)
        memory.protect(TABLE, 2 * PAGE, 0)
        assert registry.add(TABLE, end, TEXT, TEXT_END) == -EFAULT


def test_add_validation() -> None:
    """Full validation answers what a look-up would, for any row of any function."""
    reader = SERIES_V13.reader
    assert reader is not None
    encoded = made(3)
    for values, want in (
        ({}, 0),
        ({("row", 2, "start"): 1}, -EFAULT),
        ({("row", 3, "info"): 0x63}, -EFAULT),
        ({("fde", 1, "fre"): 0xFFFF}, -EINVAL),
    ):
        memory = memory_of(encoded.patched(dict(values)))
        strict = Registration(Form.LENGTHS, reader, validates=True)
        registry = Registry(strict, X86_64, memory, mapped(memory))
        end = TABLE + len(encoded.data)
        assert registry.add(TABLE, end, TEXT, TEXT_END) == want
        lax = registry_of(SERIES_V13, memory)
        assert lax.add(TABLE, end, TEXT, TEXT_END) == 0


def test_add_validation_of_zero_sized_function() -> None:
    """It shares its start with the next function, which is normal, and is refused."""
    reader = SERIES_V13.reader
    assert reader is not None
    rows = rows_of(X86_64)
    functions = (FunctionRows(F, 0, (0,), rows[:1]), FunctionRows(F, 0x40, (0, 1, 4), rows))
    data = made(3, functions=functions).data
    memory = memory_of(data)
    strict = Registration(Form.LENGTHS, reader, validates=True)
    registry = Registry(strict, X86_64, memory, mapped(memory))
    assert registry.add(TABLE, TABLE + len(data), TEXT, TEXT_END) == -EFAULT
    assert registry_of(SERIES_V13, memory).add(TABLE, TABLE + len(data), TEXT, TEXT_END) == 0


def test_add_overlap() -> None:
    """-EEXIST, even of one address, since both ends count; the old one stays."""
    for policy in LATER:
        _, registry, end = ready(policy)
        assert registry.add(TABLE, end, TEXT + 0x400, TEXT + 0x800) == 0
        for low, high in ((0x400, 0x800), (0x800, 0x900), (0x100, 0x400), (0, 0x1000)):
            assert registry.add(TABLE, end, TEXT + low, TEXT + high) == -EEXIST
        assert registry.add(TABLE, end, TEXT + 0x801, TEXT + 0x900) == 0
        assert registry.add(TABLE, end, TEXT, TEXT + 0x3FF) == 0
        assert len(registry) == 3


def test_add_text_that_ends_before_it_begins() -> None:
    """The tree refuses the range."""
    _, registry, end = ready(SERIES_V13)
    assert registry.add(TABLE, end, TEXT + 0x800, TEXT + 0x400) == -EINVAL


def test_add_2024_mappings() -> None:
    """The section is mapped; text_start is in executable memory, unmapped is a null pointer;
    text_end - 1 is in the same mapping."""
    _, registry, _ = ready(POSTING_V2)
    assert registry.add(0x1000, 0, TEXT, TEXT_END) == -EINVAL
    assert registry.add(TABLE, 0, TABLE, TABLE + PAGE) == -EINVAL
    assert registry.add(TABLE, 0, TEXT, TEXT_END + 1) == -EINVAL
    assert registry.events == []
    registry.add(TABLE, 0, 0x1000, TEXT_END)
    assert [event.name for event in registry.events] == [Name.NULL_DEREFERENCE]
    assert registry.add(TABLE, 0, TEXT, TEXT_END) == 0


def test_add_2024_does_not_know_the_end() -> None:
    """A section that is cut in the middle of its FDEs is taken."""
    memory = Memory(1 << 24)
    memory.map(TEXT, 2 * PAGE, READ | EXECUTE)
    memory.map(TABLE, PAGE, READ)
    start = TABLE + PAGE - 40
    memory.write(start, made(2).data[:40], force=True)
    registry = registry_of(POSTING_V2, memory)
    assert registry.add(start, 0, TEXT, TEXT_END) == 0


def test_add_brings_pages_in() -> None:
    """A system call may fault: the header's page is present afterwards."""
    residency = Residency()
    data = made(3).data
    memory = memory_of(data)
    residency.evict(TABLE, TABLE + 2 * PAGE)
    registry = registry_of(SERIES_V13, memory, residency=residency)
    assert registry.add(TABLE, TABLE + len(data), TEXT, TEXT_END) == 0
    assert len(residency) == 1


# ---- removal


def test_remove_all_with_that_start() -> None:
    """Every registration of the section, and no other."""
    data = made(3).data
    memory = memory_of(data)
    memory.write(TABLE + 0x800, data, force=True)
    registry = registry_of(SERIES_V13, memory)
    end = TABLE + len(data)
    registry.add(TABLE, end, TEXT, TEXT + 0x100)
    registry.add(TABLE, end, TEXT + 0x200, TEXT + 0x300)
    registry.add(TABLE + 0x800, end + 0x800, TEXT + 0x400, TEXT + 0x500)
    assert registry.remove(TABLE) == 0
    assert [section.start for section in registry] == [TABLE + 0x800]


def test_remove_nothing_found() -> None:
    """-EINVAL."""
    for policy in (*BOTH, *LATER):
        _, registry, _ = ready(policy)
        assert registry.remove(TABLE) == -EINVAL


def test_remove_2024_looks_in_the_text() -> None:
    """The section's own address is looked up among texts: it fails, unless the text holds it."""
    for policy in BOTH:
        memory, registry, _ = ready(policy)
        registry.add(TABLE, 0, TEXT, TEXT_END)
        assert registry.remove(TABLE) == -EINVAL
        assert [event.name for event in registry.events] == [Name.REMOVAL_BY_TEXT]
        assert len(registry) == 1
        # Generated code with its table in the same mapping.
        memory.map(0x60_0000, 2 * PAGE, READ | EXECUTE)
        memory.write(0x60_0100, made(2).data, force=True)
        assert registry.add(0x60_0100, 0, 0x60_0000, 0x60_2000) == 0
        assert registry.remove(0x60_0100) == 0
        assert len(registry) == 1


# ---- the ELF loader


class Elf:
    """Just the segments of an image."""

    def __init__(self, *segments: Segment) -> None:
        self.segments = segments


def image(*texts: tuple[int, int, int], tables: int = 1, extra: int = 0) -> Image:
    """Executable segments (address, filesz, memsz) and PT_GNU_SFRAMEs, the last one at TABLE.

    Args:
        texts: the segments.
        tables: how many PT_GNU_SFRAME there are.
        extra: bytes of the last one beyond the section.
    """
    size = len(made(3).data) + extra
    loads = [
        Segment(
            kind=PT_LOAD, flags=PF_R | PF_X, offset=0, vaddr=start, filesz=filesz, memsz=memsz,
            align=PAGE,
        )
        for start, filesz, memsz in texts
    ]  # fmt: skip
    sframes = [
        Segment(
            kind=PT_GNU_SFRAME, flags=PF_R, offset=0, vaddr=TABLE + (tables - 1 - n) * PAGE,
            filesz=size, memsz=size, align=8,
        )
        for n in range(tables)
    ]  # fmt: skip
    # A loader looks at nothing but the segments.
    return cast(Image, Elf(*loads, *sframes))


def test_loader_text_2024() -> None:
    """One range from the lowest to the highest address of what is executable, by filesz."""
    _, registry, _ = ready(POSTING_V2)
    made_of = image((TEXT, 0x100, 0x900), (TEXT + PAGE, 0x80, 0x800))
    assert registry.load(made_of, 0) == [0]
    section = registry.find(F)
    assert section is not None
    assert (section.text_start, section.text_end) == (TEXT, TEXT + PAGE + 0x80)


def test_loader_text_per_segment() -> None:
    """2025: a registration for each executable segment, all with the same section."""
    _, registry, _ = ready(SERIES_V13)
    assert registry.load(image((TEXT, 0x100, 0x900), (TEXT + PAGE, 0x80, 0x800)), 0) == [0, 0]
    ranges = [(section.text_start, section.text_end) for section in registry]
    assert ranges == [(TEXT, TEXT + 0x900), (TEXT + PAGE, TEXT + PAGE + 0x800)]
    assert {section.start for section in registry} == {TABLE}


def test_loader_section_range() -> None:
    """2025: from its start, p_memsz long; that may be more than the section has."""
    memory = memory_of(made(3).data)
    registry = registry_of(SERIES_V13, memory)
    assert registry.load(image((TEXT, 0x100, 0x900), extra=58), 0) == [0]
    section = registry.find(F)
    assert section is not None
    assert section.end == TABLE + len(made(3).data) + 58


def test_loader_last_one_wins() -> None:
    """Of several PT_GNU_SFRAME."""
    registry = registry_of(SERIES_V13, memory_of(made(3).data))
    assert registry.load(image((TEXT, 0x100, 0x900), tables=2), 0) == [0]


def test_loader_ignores_errors() -> None:
    """A bad section, or none: the program runs all the same."""
    for policy in (*BOTH, *LATER):
        registry = registry_of(policy, memory_of(b"bad"))
        assert registry.load(image((TEXT, 0x100, 0x900)), 0) == [-EINVAL]
        assert registry.load(image((TEXT, 0x100, 0x900), tables=0), 0) == []
        assert len(registry) == 0


def test_loader_2024_skips_address_checks() -> None:
    """What is mapped, and how, is not looked at; later it is."""
    outside = image((0x80_0000, 0x100, 0x900))
    _, registry, _ = ready(POSTING_V2)
    assert registry.load(outside, 0) == [0]
    registry = registry_of(SERIES_V13, memory_of(made(3).data))
    assert registry.load(outside, 0) == [-EINVAL]


def test_loader_adds_the_bias() -> None:
    """Of a position-independent program, to text and section."""
    bias = 0x1000_0000
    memory = Memory(1 << 24)
    memory.map(TEXT + bias, 2 * PAGE, READ | EXECUTE)
    memory.map(TABLE + bias, 2 * PAGE, READ)
    memory.write(TABLE + bias, made(3).data, force=True)
    registry = registry_of(SERIES_V13, memory)
    assert registry.load(image((TEXT, 0x100, 0x900)), bias) == [0]
    assert registry.find(F + bias) is not None


# ---- what follows from several executable segments


def test_function_of_another_segment_is_refused() -> None:
    """One section for two texts: a function is only found in the text that it is in."""
    rows = (Row(CfaRule(7, 8), at(-8), KEEP, 0),)
    functions = (FunctionRows(F, 0x40, (0,), rows), FunctionRows(TEXT + PAGE, 0x40, (0,), rows))
    data = made(3, functions=functions).data
    registry = registry_of(SERIES_V13, memory_of(data))
    end = TABLE + len(data)
    assert registry.add(TABLE, end, TEXT, TEXT + 0xFFF) == 0
    assert registry.add(TABLE, end, TEXT + PAGE + 0x10, TEXT_END) == 0
    memory = UserMemory(memory_of(data))

    def errno(ip: int) -> int:
        try:
            find_frame(registry.reader, registry.find(ip), memory, X86_64, ip, lambda event: None)
        except Refusal as refusal:
            return refusal.errno
        return 0

    assert errno(F) == 0
    # Its text begins behind the function's start.
    assert errno(TEXT + PAGE + 0x10) == EINVAL
    assert registry.find(TEXT + PAGE) is None


def test_touching_texts_collide() -> None:
    """Both ends count: text_end of one is text_start of the next, -EEXIST."""
    data = made(3).data
    registry = registry_of(SERIES_V13, memory_of(data))
    end = TABLE + len(data)
    assert registry.add(TABLE, end, TEXT, TEXT + PAGE) == 0
    assert registry.add(TABLE, end, TEXT + PAGE, TEXT_END) == -EEXIST
    assert G < TEXT + PAGE


def test_no_registration_without_the_policy() -> None:
    """Mainline and the truth have none."""
    assert MAINLINE.registration is None
    with pytest.raises(AssertionError):
        registry_of(MAINLINE, memory_of())
    assert {name for name, policy in POLICIES.items() if policy.registration is None} == {
        "mainline", "truth",
    }  # fmt: skip
