"""Instructions that read a clock see the guest's time; the same seed, the same time."""

from pathlib import Path

import pytest

from arch import Arch
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from tests.emu.machine.elf_program import code_program

pytestmark = pytest.mark.compiled

SECOND = 1_000_000_000
# rdtsc and rdtscp, pushed one after the other; write(1, sp, 16); exit(0).
X86_64_CODE = bytes.fromhex(
    "0f3148c1e2204809d050 0f01f948c1e2204809d050 4889e6ba10000000bf01000000b8010000000f05"
    "31ffb83c0000000f05"
)
# mrs x9, cntvct_el0; mrs x10, cntfrq_el0; stored as a pair; write(1, sp, 16); exit(0).
AARCH64_CODE = bytes.fromhex(
    "49e03bd50ae03bd5e92bbfa9 200080d2e1030091020280d2080880d2010000d4"
    "000080d2a80b80d2010000d4"
)
# aghi %r15,-32; stckf 0(%r15); stcke 8(%r15); write(1, sp, 24); exit(0).
S390X_CODE = bytes.fromhex(
    "a7fbffe0 b27cf000 b278f008 a7290001b904003fa74900180a04 a72900000a01"
)
STORE_TO_NULL = bytes.fromhex("b2050000")  # stck 0


def checked(arch: Arch, code: bytes, folder: Path, seed: int = 0) -> CheckResult:
    image = code_program(arch, code).image(folder)
    table = "cfi"
    return Run(image.path, RunOptions(table=table, seed=seed)).to_end()


def words(result: CheckResult, size: int = 8) -> list[int]:
    data = result.guest.stdout
    return [
        int.from_bytes(data[at : at + size], result.arch.byte_order)
        for at in range(0, len(data), size)
    ]


def test_x86_64(tmp_path: Path) -> None:
    """rdtscp comes four instructions after rdtsc, at a nanosecond each."""
    result = checked(X86_64, X86_64_CODE, tmp_path)
    later, earlier = words(result)
    assert later - earlier == 4
    assert 60 * SECOND <= earlier <= 86401 * SECOND
    assert result.guest.instructions == 16


def test_aarch64(tmp_path: Path) -> None:
    """The counter counts nanoseconds, and says so."""
    count, frequency = words(checked(AARCH64, AARCH64_CODE, tmp_path))
    assert frequency == SECOND
    assert 60 * SECOND <= count <= 86401 * SECOND


def test_s390x(tmp_path: Path) -> None:
    """The TOD clock: microseconds since 1900 above bit 51; the extended form begins with 0."""
    short, *extended = words(checked(S390X, S390X_CODE, tmp_path))
    seconds_to_1970 = (70 * 365 + 17) * 86400
    years = ((short >> 12) / 1e6 - seconds_to_1970) / (365.25 * 86400)
    assert 30 < years < 130
    assert extended[0] >> 56 == 0
    whole = (extended[0] << 8 | extended[1] >> 56) & (1 << 64) - 1
    assert 0 <= whole - short <= 8


@pytest.mark.parametrize(
    ("arch", "code"),
    [(X86_64, X86_64_CODE), (AARCH64, AARCH64_CODE), (S390X, S390X_CODE)],
    ids=["x86_64", "aarch64", "s390x"],
)
def test_the_seed_decides(arch: Arch, code: bytes, tmp_path: Path) -> None:
    """Twice the same run, and another seed."""
    one, again, other = (checked(arch, code, tmp_path, seed) for seed in (3, 3, 4))
    assert one.guest.exit_status == 0
    assert one.guest.stdout == again.guest.stdout
    assert one.guest.stdout != other.guest.stdout


def test_a_store_where_there_is_no_memory(tmp_path: Path) -> None:
    """The clock instruction that stores faults as any other store."""
    result = checked(S390X, STORE_TO_NULL, tmp_path)
    assert (result.guest.stopped, result.guest.signal) == ("fault", "SIGSEGV")
