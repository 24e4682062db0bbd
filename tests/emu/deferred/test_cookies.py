"""Cookie layouts: rows of sections 8, 8b and 14 about them."""

import pytest

from emu.deferred.cookies import LAYOUTS, cookie_text, union_u64
from tests.emu.deferred.playing import Played, cookies, union

C = 1 << 48


def test_cookie_p24() -> None:
    """The posting of 2024 has no cookie: its samples wait with none."""
    from emu.deferred.perf import EventAttr

    played = Played(
        "cpu0 run A\ncpu0 syscall\ncpu0 nmi\ncpu0 sample e\ncpu0 return\ncpu0 return",
        events=[EventAttr("e")], posting=True, tracers=(),
    )  # fmt: skip
    assert played.outcomes("tid") == {"right": 1}
    assert played.outcomes("cookie") == {"missing": 1}


def test_cookie_hack() -> None:
    """CPU and +1 are or'ed in: the counter never moves."""
    assert cookies("hack", 2, 0, 3) == [2 * C + 1] * 3


def test_cookie_p24v3() -> None:
    """The CPU is or'ed in unshifted, and every kernel entry moves the counter."""
    assert cookies("unshifted", 1, 1, 2) == [3, 3]
    played = Played(
        "cpu0 run A\ncpu0 syscall\ncpu0 return\ncpu0 syscall\ncpu0 sample t", layout="unshifted"
    )
    assert played.asked == [("t", 0, 3)]


def test_cookie_p25a() -> None:
    """((counter << 1) & (2^48 - 1)) | CPU << 48 | 1: never 0, repeats after 2^47."""
    assert cookies("masked", 3, 0, 2) == [3 * C + 3, 3 * C + 5]
    assert cookies("masked", 0, 2**47 - 1, 2) == [1, 3]


def test_cookie_first_union() -> None:
    """CPU and count lie side by side in one u64, so no count reaches the CPU."""
    assert {value & 0xFFFFFFFF for value in cookies("union", 4, 2**32 - 5, 6)} == {5}


def test_cookie_merged() -> None:
    """The CPU is stored + 1, counts are 3, 5, 7, ... and wrap in 32 bits to 1, never to 0."""
    assert cookies("union", 0, 0, 3) == [union(0, 3), union(0, 5), union(0, 7)]
    assert cookies("union", 0, 2**32 - 1, 2) == [union(0, 1), union(0, 3)]


def test_cookie_byte_order() -> None:
    """As a u64 the CPU is in the low half on little endian and in the high half on big endian."""
    assert union_u64(0, 3, "little") == 0x0000_0003_0000_0001
    assert union_u64(0, 3, "big") == 0x0000_0001_0000_0003


def test_cookie_wrap() -> None:
    """What each layout does when its counter is exhausted."""
    assert cookies("free", 0, 2**48 - 1, 2) == [C, C + 1]
    assert cookies("free", 1, C, 1) == [C + 1]
    assert cookies("repaired", 1, C + 2**48 - 1, 2) == [2 * C, C + 1]
    assert cookies("v4", 1, 2**48 - 1, 2) == [C, C + 1]
    assert cookies("v4", 0, 2**48 - 1, 1) == [0]
    assert cookies("struct", 1, 2**48 - 1, 1) == [1 << 64 | 2**48]
    assert cookies("low-bits", 1, 2**47, 1) == [(2**47 + 1 << 16) | 1]


def test_sketch_cookie() -> None:
    """One global counter; an NMI between its two exchanges wins, and the outer takes its value."""
    played = Played(
        """
        cpu0 run A
        cpu0 syscall
        cpu0 sample t at cookie
          cpu0 nmi
          cpu0 sample u
          cpu0 return
        cpu1 run B
        cpu1 syscall
        cpu1 sample t
        """,
        design="sketch",
    )
    assert played.asked == [("u", 0, 2), ("t", 0, 2), ("t", 0, 3)]


def test_sketch_agreed() -> None:
    """A cookie per CPU from CPU << 48 on, taken only by an entry that asks."""
    played = Played(
        "cpu1 run A\ncpu1 syscall\ncpu1 return\ncpu1 syscall\ncpu1 sample t",
        design="sketch", layout="free",
    )  # fmt: skip
    assert played.asked == [("t", 0, C + 1)]


def test_sketch_zijlstra() -> None:
    """2^48 unwinds on CPU 0 enter CPU 1's space."""
    assert cookies("free", 0, 2**48, 1) == cookies("free", 1, LAYOUTS["free"].start(1), 1)


@pytest.mark.parametrize("layout", ["low-bits", "struct"])
def test_sketch_desnoyers(layout: str) -> None:
    """With the CPU in low bits, or beside the counter, no carry makes two CPUs meet."""
    counters = [0, 2**32, 2**47, 2**48 - 3]
    mine = {cookie for at in counters for cookie in cookies(layout, 0, at, 2)}
    others = {cookie for at in counters for cookie in cookies(layout, 1, at, 2)}
    assert mine.isdisjoint(others)


def test_v4_cookie() -> None:
    """The per-CPU counter is incremented first, masked, and the CPU or'ed in above."""
    assert cookies("v4", 5, 0, 2) == [5 * C + 1, 5 * C + 2]


def test_v4_defect_cpu_bits() -> None:
    """CPU 4096 does not fit into the 12 bits of the comment; the layout gives it 16."""
    assert cookies("v4", 4096, 0, 1) == [4096 * C + 1]
    assert cookies("v4", 4096, 0, 1)[0] >> 60 == 1


@pytest.mark.parametrize(
    ("layout", "cookie", "text"),
    [("union", union(0, 3), "0:3"), ("v4", 2 * C + 7, "2:7"), ("struct", 1 << 64 | 9, "1:9"),
     ("low-bits", 9 << 16 | 1, "1:9"), ("global", 12, "12"), ("union", 0, "0")],
)  # fmt: skip
def test_cookie_as_people_read_it(layout: str, cookie: int, text: str) -> None:
    """A cookie is shown as CPU and count."""
    assert cookie_text(layout, cookie) == text
