"""Landing pads of an LSDA: against the labels that compilers write, and byte by byte."""

import re
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from arch import ByteOrder
from emu.errors import CfiError
from emu.sweep.landing import LandingPad, landing_pads

DATA = Path(__file__).parent / "data" / "landing"
LSDA = re.compile(r"(\.LLSDAC?\d+|\.Lexception\d+):")
DISTANCE = re.compile(r"\s+\.uleb128 (\S+?)-(\S+?)(\s|$)")


def labelled(name: str) -> dict[str, list[tuple[str, str, str, str]]]:
    """Label of each LSDA -> (function, first call, behind the last, pad) of its records."""
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    lines = (DATA / f"{name}.txt").read_text().splitlines()
    records: list[tuple[str, str, str, str]] = []
    for number, line in enumerate(lines):
        if label := LSDA.match(line):
            records = found.setdefault(label[1], [])
        # A record: from the function to the first call, over the calls, from a base to the pad.
        first, calls, pad = (
            DISTANCE.match(text) for text in [*lines[number : number + 3], "", ""][:3]
        )
        if first and calls and calls[2] == first[1] and pad:
            records.append((first[2], first[1], calls[1], pad[1]))
    return found


@pytest.mark.parametrize(
    ("name", "least"), [("x86_64", 9), ("aarch64", 9), ("s390x", 9), ("sections", 12)]
)
def test_agrees_with_the_labels_of_the_compiler(name: str, least: int) -> None:
    """Ranges and pads are where the linker has put the labels that the compiler has named."""
    with (DATA / f"{name}.so").open("rb") as stream:
        file = ELFFile(stream)
        symbols = {
            symbol.name: symbol["st_value"]
            for symbol in file.get_section_by_name(".symtab").iter_symbols()
        }
        section = file.get_section_by_name(".gcc_except_table")
        table, address = section.data(), section["sh_addr"]
        order: ByteOrder = "little" if file.little_endian else "big"
        entries = file.get_dwarf_info().EH_CFI_entries()
        described = {
            entry.lsda_pointer: entry["initial_location"]
            for entry in entries
            if isinstance(entry, FDE) and entry.lsda_pointer
        }
    borders = sorted({symbols[label] for label in labelled(name)} | {address + len(table)})
    seen = 0
    for label, records in labelled(name).items():
        at = symbols[label]
        start = described.pop(at, None)
        if start is None:
            continue  # of a part without code, whose FDE the linker has thrown away
        assert {symbols[record[0]] for record in records} <= {start}
        wanted = [tuple(symbols[part] for part in record[1:]) for record in records]
        behind = borders[borders.index(at) + 1]
        got = landing_pads(table[at - address : behind - address], start, order, at)
        assert got == wanted, label
        seen += len(wanted)
    assert seen >= least
    assert described == {}


def lsda(head: str, sites: str) -> bytes:
    """Header without the length of the call sites, which is added."""
    body = bytes.fromhex(sites)
    return bytes.fromhex(head) + bytes((len(body),)) + body


START = 0x10_0000


@pytest.mark.parametrize(
    ("head", "sites", "order"),
    [
        ("ff ff 01", "10 04 30 00", "little"),  # uleb128
        ("ff ff 01", "10 84 00 b0 00 00", "little"),  # longer than needed
        ("ff 9b 80 01 01", "10 04 30 01", "little"),  # types, 128 bytes further on
        ("ff ff 03", "10 00 00 00  04 00 00 00  30 00 00 00  00", "little"),  # udata4
        ("ff ff 03", "00 00 00 10  00 00 00 04  00 00 00 30  00", "big"),
        ("ff ff 0b", "00 00 00 10  00 00 00 04  00 00 00 30  81 01", "big"),  # sdata4
        ("ff ff 02", "00 10  00 04  00 30  00", "big"),  # udata2
        ("ff ff 0a", "10 00  04 00  30 00  00", "little"),  # sdata2
        ("ff ff 04", f"10{14 * '0'} 04{14 * '0'} 30{14 * '0'} 00", "little"),  # udata8
        ("ff ff 00", f"10{14 * '0'} 04{14 * '0'} 30{14 * '0'} 00", "little"),  # absptr
        ("ff ff 09", "10 04 30 00", "little"),  # sleb128
        # The start of landing pads: absolute; relative to its own place, at START - 0x1000.
        ("00 30 00 10 00 00 00 00 00  ff 01", "08 04 00 00  10 04 80 40 00", "little"),
        ("03 00 10 00 00  ff 01", "00 10 00 00  10 04 30 00", "big"),
    ],
)
def test_encodings(head: str, sites: str, order: ByteOrder) -> None:
    """Every form of a number says the same: calls at +0x10 to +0x14, and a pad."""
    pads = landing_pads(lsda(head, sites), START, order)
    assert [(pad.start, pad.end) for pad in pads] == [(START + 0x10, START + 0x14)]
    assert pads[0].pad in (START + 0x30, START + 0x30 + 0x2000)


@pytest.mark.parametrize(
    ("base", "pad"),
    [
        ("00 00 00 20 00 00 00 00 00", 0x20_0030),  # absolute
        ("10 00 20 00 00 00 00 00 00", START + 0x2031),  # from the field's own address
        ("1b 00 f0 ff ff", START - 0x1000 + 0x31),
    ],
)
def test_pads_that_count_from_elsewhere(base: str, pad: int) -> None:
    """Functions in several sections say where their landing pads count from."""
    data = lsda(f"{base} ff 01", "10 04 30 00")
    wanted = [LandingPad(START + 0x10, START + 0x14, pad)]
    assert landing_pads(data, START, "little", START) == wanted


@pytest.mark.parametrize(
    "behind",
    ["1b 00", "00 04 30 00", "18 ff ff ff ff ff ff ff ff ff ff 01", "00 00 00", "00 00 00 00"],
)
def test_records_of_other_sections_are_left_alone(behind: str) -> None:
    """They are not ascending, no numbers, cut off, or what aligns the next LSDA."""
    data = lsda("00 00 00 20 00 00 00 00 00 ff 01", f"10 04 30 00  {behind}")
    pads = landing_pads(data, START, "little")
    assert pads == [LandingPad(START + 0x10, START + 0x14, 0x20_0030)]


def test_records_without_a_pad() -> None:
    """A pad of 0 is none; such records only keep calls from ending the program."""
    data = lsda("ff ff 01", "00 10 00 00  10 04 30 00  20 04 00 00  30 01 31 03")
    assert landing_pads(data, START, "big") == [
        LandingPad(START + 0x10, START + 0x14, START + 0x30),
        LandingPad(START + 0x30, START + 0x31, START + 0x31),
    ]


def test_what_follows_is_not_read() -> None:
    """Actions, types and the next LSDA stand behind the call sites."""
    data = lsda("ff ff 01", "10 04 30 00") + bytes(range(256))
    assert len(landing_pads(data, START, "little")) == 1
    assert landing_pads(lsda("ff ff 01", "") + b"\x01\x01", START, "little") == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "offset 0x0: 1 bytes are cut off"),
        ("ff", "offset 0x1: 1 bytes are cut off"),
        ("ff 9b", "offset 0x2: LEB128 number is cut off"),
        ("ff ff", "offset 0x2: 1 bytes are cut off"),
        ("ff ff 01", "offset 0x3: LEB128 number is cut off"),
        ("ff ff 01 04 10 04 30", "offset 0x7: LEB128 number is cut off"),
        ("ff ff 01 7f 10 04 30 00 10", "offset 0x9: LEB128 number is cut off"),
        ("ff ff 01 03 10 04 30 00", "offset 0x7: LEB128 number is cut off"),
        ("ff ff 03 04 10 00 00 00 04 00 00 00", "offset 0x8: 4 bytes are cut off"),
        ("ff ff 05 04 10 04 30 00", "offset 0x4: unknown pointer encoding 0x05"),
        ("ff ff 11 04 10 04 30 00", "offset 0x2: call sites cannot be encoded as 0x11"),
        ("ff ff ff 04 10 04 30 00", "offset 0x2: call sites cannot be encoded as 0xff"),
        ("1b 00 00 00 00 ff 01 00", "offset 0x1: the start of landing pads"),
        ("9b 00 00 00 00 ff 01 00", "offset 0x1: the start of landing pads"),
        ("ff ff 01 ff ff ff ff ff ff ff ff ff ff 01", "offset 0x3: LEB128 number is cut off"),
    ],
)
def test_malformed(data: str, reason: str) -> None:
    """The offset in the LSDA and the reason; never another exception."""
    with pytest.raises(CfiError, match=re.escape(reason)):
        landing_pads(bytes.fromhex(data), START, "little")


@pytest.mark.parametrize("encoding", ["9b", "20", "30", "50"])
def test_starts_that_nobody_can_find(encoding: str) -> None:
    """Indirect, or relative to what only the compiler knows."""
    data = bytes.fromhex(f"{encoding} 00 00 00 00 00 00 00 00 ff 01 00")
    with pytest.raises(CfiError, match="offset 0x1: "):
        landing_pads(data, START, "little", START)


def test_addresses_wrap() -> None:
    """Distances that lead out of the address space stay numbers of 64 bits."""
    data = lsda("ff ff 01", "ff ff ff ff ff ff ff ff ff 01  04  05  00")
    pads = landing_pads(data, START, "little")
    assert pads == [LandingPad(START - 1, START + 3, START + 5)]


def test_no_more_records_than_bytes() -> None:
    """Each record takes four bytes at least, so that hostile lengths make no work."""
    data = bytes.fromhex("ff ff 01 ff ff ff ff 0f") + bytes((0, 1, 1, 0)) * 1000
    assert len(landing_pads(data, START, "little")) == 1000
