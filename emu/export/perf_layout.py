"""Numbers of perf.data (Linux include/uapi/linux/perf_event.h, tools/perf/util/header.h)."""

from dataclasses import dataclass
from enum import IntEnum, IntFlag

MAGIC = b"PERFILE2"
"""In the byte order of the file: reversed in a big-endian one."""
HEADER_SIZE = 104
ATTR, ATTR_SIZE = "IIQQQQQ24xQQI16xH26x", 136
"""perf_event_attr: type, size, config, sample_period, sample_type, read_format, flags,
branch_sample_type at 72, sample_regs_user, sample_stack_user, sample_max_stack at 108."""
STRING = 64
"""Strings of features are padded to a multiple of so many bytes."""
SMALLEST_ATTR = 64
"""PERF_ATTR_SIZE_VER0."""
RECORD_HEADER = 8
LARGEST_RECORD = 65528
"""The size field has 16 bits, and sizes are multiples of 8."""
MOST_FRAMES = 127
"""Of a chain that perf shows (PERF_MAX_STACK_DEPTH)."""

PROT_EXEC = 4
"""Of a mapping's protection (mman.h)."""

CONTEXT_KERNEL = (1 << 64) - 128
CONTEXT_USER = (1 << 64) - 512
CONTEXT_USER_DEFERRED = (1 << 64) - 640
CONTEXT_MAX = (1 << 64) - 4095
"""Markers in call chains; no address is as high as the last one."""


class SampleType(IntFlag):
    """What samples hold (enum perf_event_sample_format)."""

    IP = 1
    TID = 2
    TIME = 4
    ADDR = 8
    READ = 16
    CALLCHAIN = 32
    ID = 64
    CPU = 128
    PERIOD = 256
    STREAM_ID = 512
    RAW = 1024
    BRANCH_STACK = 2048
    REGS_USER = 4096
    STACK_USER = 8192
    IDENTIFIER = 65536


class AttrFlag(IntEnum):
    """Bits of the flags of an attr, counted from the first bit field."""

    DISABLED = 0
    MMAP = 8
    COMM = 9
    TASK = 13
    SAMPLE_ID_ALL = 18
    EXCLUDE_CALLCHAIN_USER = 22
    MMAP2 = 23
    COMM_EXEC = 24
    DEFER_CALLCHAIN = 38
    DEFER_OUTPUT = 39


class RecordType(IntEnum):
    """Kinds of records; those from 64 on are of the tools and end with no sample id."""

    MMAP = 1
    LOST = 2
    COMM = 3
    EXIT = 4
    FORK = 7
    SAMPLE = 9
    MMAP2 = 10
    LOST_SAMPLES = 13
    CALLCHAIN_DEFERRED = 22
    FIRST_OF_TOOLS = 64
    FINISHED_ROUND = 68
    AUXTRACE = 71
    COMPRESSED = 81
    COMPRESSED2 = 83


class Misc(IntEnum):
    """Bits of the misc field of a record's header."""

    KERNEL = 1
    USER = 2
    CPUMODE = 7
    MMAP_DATA = 1 << 13
    COMM_EXEC = 1 << 13
    MMAP_BUILD_ID = 1 << 14


class Feature(IntEnum):
    """Sections behind the data, by their bit in the header."""

    HOSTNAME = 3
    OSRELEASE = 4
    ARCH = 6
    NRCPUS = 7
    EVENT_DESC = 12


BRANCH_HW_INDEX = 1 << 17
BRANCH_COUNTERS = 1 << 19
"""Bits of branch_sample_type that change how a branch stack is stored."""
READ_TIME_ENABLED, READ_TIME_RUNNING, READ_ID, READ_GROUP, READ_LOST = 1, 2, 4, 8, 16
"""Bits of read_format."""


@dataclass(frozen=True, slots=True)
class Event:
    """What was recorded: a perf_event_attr, and its name.

    Args:
        name: for people.
        sample_type: `SampleType` bits.
        flags: `AttrFlag` bits, as 1 << bit.
        period: instructions, or whatever is counted, between two samples.
        ids: by which samples name their event.
        type: PERF_TYPE_SOFTWARE.
        config: PERF_COUNT_SW_CPU_CLOCK; any name may be given to it.
        read_format: how counts are stored in samples.
        branch_sample_type: how branch stacks are.
        user_registers: mask of sample_regs_user.
        user_stack: most bytes of stack in a sample, a multiple of 8.
        most_frames: sample_max_stack; 0: the default.
    """

    name: str
    sample_type: int
    flags: int = 0
    period: int = 1
    ids: tuple[int, ...] = ()
    type: int = 1
    config: int = 0
    read_format: int = 0
    branch_sample_type: int = 0
    user_registers: int = 0
    user_stack: int = 0
    most_frames: int = 0

    def has(self, flag: AttrFlag) -> bool:
        """That flag is set."""
        return bool(self.flags >> flag & 1)


def flag_bits(*flags: AttrFlag) -> int:
    """`Event.flags` of these."""
    return sum(1 << flag for flag in flags)


def attr_flags(flags: int, order: str) -> int:
    """Flags as stored: a big-endian compiler puts the first bit field into the highest bit."""
    if order == "<":
        return flags
    return sum(1 << 64 - 1 - bit for bit in range(64) if flags >> bit & 1)
