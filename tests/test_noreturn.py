"""Functions that never return: compiled programs whose sources say so, and code made for it."""

import random
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from arch import Arch, by_name
from emu.image import Image, load_image
from emu.sweep.instructions import Instructions, decode
from emu.sweep.noreturn import noreturn
from emu.sweep.noreturn_names import NAMES, never_returns
from emu.sweep.stubs import plt_names

DATA = Path(__file__).parent / "data" / "noreturn"
LIBRARIES = ("x86_64", "x86_64-marked", "aarch64", "aarch64-marked", "s390x")
START = 0x1_0000


def executable(image: Image) -> list[tuple[int, bytes, list[tuple[int, int]]]]:
    """(address, bytes, functions by their symbols) of each section with code."""
    symbols = [symbol for symbol in image.symbols if symbol.kind == 2 and symbol.size]
    return [
        (
            section.addr,
            image.section_bytes(section),
            [
                (symbol.value, symbol.value + symbol.size)
                for symbol in symbols
                if section.addr <= symbol.value < section.addr + section.size
            ],
        )
        for section in image.sections
        if section.flags & 4
    ]


def slots(path: Path) -> dict[int, str]:
    """Words that relocations fill with the address of a symbol, read with pyelftools."""
    found = {}
    with path.open("rb") as stream:
        file = ELFFile(stream)
        for section in file.iter_sections():
            if isinstance(section, RelocationSection):
                symbols = file.get_section(section["sh_link"])
                for relocation in section.iter_relocations():
                    if relocation["r_info_sym"]:
                        symbol = symbols.get_symbol(relocation["r_info_sym"])
                        found[relocation["r_offset"]] = symbol.name
    return found


class Library:
    """A library of the test data, decoded; names are of stubs, of words, and of functions."""

    def __init__(self, name: str) -> None:
        path = DATA / f"{name}.so"
        self.image = load_image(str(path))
        assert self.image.arch is not None
        self.arch: Arch = self.image.arch
        self.code: list[Instructions] = []
        self.functions: list[tuple[int, int]] = []
        self.slots = slots(path)
        self.stubs: dict[int, str] = {}
        for start, data, functions in executable(self.image):
            parts = functions or [(start, start + len(data))]
            self.code.append(decode(self.arch, data, start, parts))
            self.functions += functions
            self.stubs |= plt_names(self.arch, self.code[-1], data, self.slots)
        self.own = {symbol.value: symbol.name for symbol in self.image.symbols if symbol.kind == 2}

    def never(self, names: dict[int, str]) -> frozenset[int]:
        """What never returns, if so much is known by name."""
        return frozenset().union(*noreturn(self.code, self.functions, names))


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Library:
    """Each library in turn."""
    return Library(request.param)


def stub_lines(name: str) -> dict[int, str]:
    """Addresses of stubs and their names, as objdump labels them."""
    text = (DATA / f"{name}.plt.txt").read_text()
    return {int(a, 16): n for a, n in re.findall(r"^([0-9a-f]+) <(\w+)@plt>:$", text, re.MULTILINE)}


@pytest.mark.parametrize("name", LIBRARIES)
def test_stubs_are_called_what_objdump_calls_them(name: str) -> None:
    """Every stub, with and without a mark for indirect calls, and signed."""
    library, listed = Library(name), stub_lines(name)
    assert len(listed) >= 13
    assert {address: library.stubs.get(address) for address in listed} == listed


def test_the_source_is_believed(library: Library) -> None:
    """All functions called never_ are found, and none of the others."""
    found = library.never(library.slots | library.own | library.stubs)
    wanted = {address for address, name in library.own.items() if name.startswith("never_")}
    assert len(wanted) == 10
    parts = {address for address, name in library.own.items() if name.endswith(".cold")}
    assert found & library.own.keys() - parts == wanted
    assert {library.stubs[a] for a in found if a in library.stubs} >= {
        "abort", "longjmp", "stop_here", "_ZSt20__throw_length_errorPKc",
        "never_loops", "never_traps",
    }  # fmt: skip
    assert "helper" not in {library.stubs.get(address) for address in found}


def test_without_known_names(library: Library) -> None:
    """Bodies and callers are left; they find nearly as much, and nothing that is wrong."""
    names = library.slots | library.own | library.stubs
    found = library.never({a: name for a, name in names.items() if not never_returns(name)})
    parts = {address for address, name in library.own.items() if name.endswith(".cold")}
    own = {library.own[address] for address in found & library.own.keys() - parts}
    assert own >= {"never_by_name", "never_loops", "never_traps", "never_by_caller"}
    assert not [name for name in own if not name.startswith("never_")]


def test_no_code() -> None:
    """What is known by name stays known."""
    assert noreturn([], [], {16: "abort", 32: "printf"}) == ({16}, frozenset())


# ---- code made for it: (machine, bytes, functions as offsets, those that never return)

MADE = {
    "a thunk that hides an indirect jump from the predictor (Linux, retpoline)": (
        "x86_64",
        "e8 07 00 00 00  f3 90  0f ae e8  eb f9  48 89 04 24  c3",
        [(0, 17)],
        [],
    ),
    "the same on s390x: exrl of a br, then a loop": (
        "s390x",
        "c6 00 00 00 00 05  a7 f4 00 00  07 f1",
        [(0, 12)],
        [],
    ),
    "a call behind which only padding is left in the function": (
        "x86_64",
        "e8 04 00 00 00  90 90 90 90  c3",
        [(0, 9), (9, 10)],
        [],
    ),
    "a loop that a conditional return leaves": (
        "s390x",
        "a7 26 00 00  07 8e  a7 f4 ff fd",
        [(0, 10)],
        [],
    ),
    "a loop without a way out": ("s390x", "a7 26 00 00  a7 f4 ff fe", [(0, 8)], [0]),
    "a trap of GCC: a jump to its own second half": ("s390x", "a7 f4 00 01", [(0, 4)], [0]),
    "a chain of jumps to the one below, and upwards": (
        "aarch64",
        "03 00 00 14  ff ff ff 17  ff ff ff 17  00 00 00 14",
        [(0, 4), (4, 8), (8, 12), (12, 16)],
        [0, 4, 8, 12],
    ),
    "a function that runs into the next one": (
        "aarch64",
        "1f 20 03 d5  00 00 00 14",
        [(0, 4), (4, 8)],
        [4],
    ),
    "two functions that jump to each other: nobody knows": (
        "aarch64",
        "01 00 00 14  ff ff ff 17",
        [(0, 4), (4, 8)],
        [],
    ),
    "a cold part that comes back": (
        "aarch64",
        "03 00 00 b4  c0 03 5f d6  00 00 00 14  fe ff ff 17",
        [(0, 8), (12, 16)],
        [],
    ),
    "bytes that are no instruction": ("aarch64", "00 00 00 02", [(0, 4)], []),
}


@pytest.mark.parametrize("case", MADE)
def test_made(case: str) -> None:
    """What must not be taken for the end of a path, and what must."""
    name, text, functions, wanted = MADE[case]
    arch = by_name(name)
    assert arch is not None
    bounds = [(START + start, START + end) for start, end in functions]
    code = decode(arch, bytes.fromhex(text), START, bounds)
    certain, likely = noreturn([code], bounds, {})
    assert certain | likely == {START + offset for offset in wanted}


def test_code_without_order(arch: Arch) -> None:
    """Random bytes, cut into overlapping functions, come to an end; known names stay known."""
    source = random.Random(7)
    data = source.randbytes(30_000)
    unit = arch.instruction_unit
    starts = sorted(START + source.randrange(len(data)) // unit * unit for _ in range(2000))
    bounds = [(start, start + unit * source.randrange(1, 200)) for start in starts]
    code = decode(arch, data, START, bounds)
    found, _ = noreturn([code], bounds, {starts[5]: "abort", 8 * len(data): "exit"})
    assert {starts[5], 8 * len(data)} <= found
    assert len(found) < len(bounds)


def test_names_are_sorted() -> None:
    """So that a name is easily found, and none stands twice."""
    assert list(NAMES) == sorted(set(NAMES))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("abort", True),
        ("abort@GLIBC_2.2.5", True),
        ("exit@@GLIBC_2.2", True),
        ("__stack_chk_fail", True),
        ("_ZSt24__throw_out_of_range_fmtPKcz", True),
        ("_ZNSt3__120__throw_length_errorB8ne200100EPKc", True),
        ("_ZNKSt3__16vectorIiNS_9allocatorIiEEE20__throw_length_errorB8ne200100Ev", True),
        ("_ZN4core9panicking5panic17h0123456789abcdefE", True),
        ("_RNvNtCsbmbKhBjvyZG_4core9panicking9panic_fmt", True),
        ("__asan_report_load8", True),
        ("__asan_report_store_n", True),
        ("__ubsan_handle_add_overflow_abort", True),
        ("__asan_report_load8_noabort", False),
        ("__ubsan_handle_add_overflow", False),
        ("error", False),
        ("execve", False),
        ("atexit", False),
        ("_ZSt4coutE", False),
        ("", False),
    ],
)
def test_names(name: str, wanted: bool) -> None:
    """Versions do not matter; families are known by their pattern."""
    assert never_returns(name) is wanted
