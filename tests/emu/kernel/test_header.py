"""Headers, by the four readers in the order of READERS; the facts' section 7, first object."""

from errno import EFAULT, EINVAL

import pytest

from emu.kernel.events import Refusal
from emu.kernel.header import read_header
from emu.kernel.user_memory import UserMemory
from emu.memory import PAGE
from emu.sframe import layout
from tests.emu.kernel.tasks import READERS, TABLE, header_answers, made, memory_of

ALL = [EINVAL] * 4
LATER = [0, 0, EINVAL, EINVAL]
SIZES = {2: 20, 3: 16}


def test_header_is_good() -> None:
    """What the encoder writes, every reader takes."""
    assert header_answers({}) == [0, 0, 0, 0]


def test_header_cannot_copy() -> None:
    """It is not readable."""
    for reader in READERS:
        memory = UserMemory(memory_of())
        with pytest.raises(Refusal) as caught:
            read_header(reader, memory, "little", TABLE + 2 * PAGE, TABLE + 3 * PAGE, (1, 2))
        assert caught.value.errno == EFAULT


def test_header_magic() -> None:
    """Also the right one in the other byte order."""
    assert header_answers({("header", 0, "magic"): 0xDEE1}) == ALL
    assert header_answers({("header", 0, "magic"): 0xE2DE}) == ALL


def test_header_version() -> None:
    """V2 until 2025, V3 in 2026, and nothing else."""
    assert header_answers({("header", 0, "version"): 1}) == ALL
    assert header_answers({("header", 0, "version"): 2}) == [0, 0, 0, EINVAL]
    assert header_answers({("header", 0, "version"): 3}) == [EINVAL, EINVAL, EINVAL, 0]


def test_header_sorted_clear() -> None:
    """Nobody searches a table that is not sorted."""
    assert header_answers({("header", 0, "flags"): layout.FDE_FUNC_START_PCREL}) == ALL


def test_header_pcrel_clear() -> None:
    """V3 wants it; the V2 readers do not look at it and misread a section that has it."""
    assert header_answers({("header", 0, "flags"): layout.FDE_SORTED}) == [0, 0, 0, EINVAL]
    both = layout.FDE_SORTED | layout.FDE_FUNC_START_PCREL
    assert header_answers({("header", 0, "flags"): both}) == [0, 0, 0, 0]


def test_header_auxiliary() -> None:
    """An auxiliary header."""
    assert header_answers({("header", 0, "aux_len"): 1}) == ALL


def test_header_no_fdes_or_fres() -> None:
    """An empty section."""
    assert header_answers({("header", 0, "num_fdes"): 0}) == ALL
    assert header_answers({("header", 0, "num_fres"): 0}) == ALL


def test_header_fdes_behind_fres() -> None:
    """2024 compares the two offsets; later the ends are compared, see below."""
    values = {("header", 0, "fdeoff"): 44, ("header", 0, "freoff"): 43}
    assert header_answers(values) == ALL
    equal = {("header", 0, "fdeoff"): 40, ("header", 0, "freoff"): 40}
    assert header_answers(equal) == LATER


def test_header_reaches_end() -> None:
    """The section ends with its header, or in it."""
    assert header_answers({}, end=28) == LATER
    assert header_answers({}, end=27) == LATER


def test_header_fres_overlap_fdes() -> None:
    """Two FDEs end exactly where the FREs begin; one byte less is too little."""
    for version, size in SIZES.items():
        less = header_answers({("header", 0, "freoff"): 2 * size - 1})
        assert less[{2: 2, 3: 3}[version]] == EINVAL
        assert less[:2] == [0, 0]


def test_header_fres_past_end() -> None:
    """The FREs end with the section; one byte more is too much."""
    for number, reader in enumerate(READERS):
        encoded = made(reader.version)
        length = len(encoded.data) - encoded.fres_at
        assert header_answers({("header", 0, "fre_len"): length})[number] == 0
        assert header_answers({("header", 0, "fre_len"): length + 1})[number] == LATER[number]


def test_header_never_checked() -> None:
    """ABI id, other flag bits, and where functions are said to start."""
    assert header_answers({("header", 0, "abi"): 99}) == [0, 0, 0, 0]
    assert header_answers({("header", 0, "flags"): 0xFF}) == [0, 0, 0, 0]
    assert header_answers({("fde", 0, "start"): 0}) == [0, 0, 0, 0]
