import numpy as np

from emu.image import Image, parse_image
from emu.symbols import FunctionNames, Place
from tests.emu.elf_file import ElfFile, ElfSection, symbol_table

NOTYPE, OBJECT, FUNC, IFUNC = 0, 1, 2, 10
LOCAL, GLOBAL, WEAK = 0, 1, 2
TEXT, DATA = 1, 2


def image(symbols: list[tuple[str, int, int, int, int, int]], kind: int = 3) -> Image:
    """.text at 0x1000 and .data at 0x3000, 0x100 bytes each (at 0 in a relocatable file)."""
    table, strings = symbol_table(symbols)
    linked = kind != 1
    sections = [
        ElfSection(".text", 1, bytes(0x100), flags=6, addr=0x1000 * linked),
        ElfSection(".data", 1, bytes(0x100), flags=3, addr=0x3000 * linked),
        ElfSection(".symtab", 2, table, link=4),
        ElfSection(".strtab", 3, strings),
    ]
    return parse_image("file", ElfFile(sections, kind=kind).write())


def names(*symbols: tuple[str, int, int, int, int, int]) -> FunctionNames:
    return FunctionNames(image(list(symbols)))


def test_sized_function() -> None:
    """A function covers its first to its last byte, and no other."""
    found = names(("f", 0x1010, 0x10, TEXT, FUNC, GLOBAL))
    assert found.place(0x1010) == Place("f", 0x1010, ".text")
    assert found.place(0x101F) == Place("f", 0x1010, ".text")
    assert found.place(0x100F) == Place(None, None, ".text")
    assert found.place(0x1020) == Place(None, None, ".text")
    assert found.place(0x2000) == Place(None, None, "")
    assert found.bounds(0x1018) == (0x1010, 0x1020)
    assert found.bounds(0x1020) is None


def test_aliases() -> None:
    """Of symbols with equal bounds a global names them before a weak before a local one."""
    aliases = [
        ("local", 0x1010, 8, TEXT, FUNC, LOCAL),
        ("weak", 0x1010, 8, TEXT, FUNC, WEAK),
        ("global", 0x1010, 8, TEXT, IFUNC, GLOBAL),
    ]
    assert names(*aliases).place(0x1012).function == "global"
    assert names(*aliases[:2]).place(0x1012).function == "weak"


def test_innermost_of_nested_functions() -> None:
    """The shortest function wins inside; outside it the enclosing one has its bytes."""
    found = names(
        ("outer", 0x1000, 0x40, TEXT, FUNC, GLOBAL), ("inner", 0x1010, 0x10, TEXT, FUNC, LOCAL)
    )
    assert [found.place(a).function for a in (0x100F, 0x1010, 0x101F, 0x1020)] == [
        "outer", "inner", "inner", "outer",
    ]  # fmt: skip
    assert found.bounds(0x1020) == (0x1000, 0x1040)


def test_function_without_size_reaches_to_the_next_symbol() -> None:
    """A function of size 0 names the bytes up to the next one, or to the end of its section."""
    found = names(
        ("first", 0x1010, 0, TEXT, FUNC, GLOBAL), ("second", 0x1020, 0, TEXT, FUNC, GLOBAL)
    )
    assert found.bounds(0x101F) == (0x1010, 0x1020)
    assert found.bounds(0x10FF) == (0x1020, 0x1100)
    assert found.bounds(0x1100) is None


def test_a_guess_ends_where_a_function_is_known_to_begin() -> None:
    """Such as at an FDE: start files of s390x export _start with size 0; local functions follow."""
    symbols = [("_start", 0x1010, 0, TEXT, FUNC, GLOBAL), ("f", 0x1040, 8, TEXT, FUNC, GLOBAL)]
    found = FunctionNames(image(symbols), [0x1030, 0x1044, 0x1010])
    assert found.bounds(0x1010) == (0x1010, 0x1030)
    assert found.place(0x1030) == Place(None, None, ".text")
    assert found.bounds(0x1046) == (0x1040, 0x1048)


def test_label_in_code() -> None:
    """Hand assembly has untyped labels; mapping symbols, .L and those in data are none."""
    found = names(
        ("label", 0x1010, 0, TEXT, NOTYPE, LOCAL),
        ("$x", 0x1014, 0, TEXT, NOTYPE, LOCAL),
        (".Lloop", 0x1018, 0, TEXT, NOTYPE, LOCAL),
        ("table", 0x3000, 0, DATA, NOTYPE, GLOBAL),
        ("f", 0x1020, 8, TEXT, FUNC, GLOBAL),
    )
    assert found.place(0x101F) == Place("label", 0x1010, ".text")
    assert found.place(0x1028).function is None
    assert found.place(0x3000) == Place(None, None, ".data")


def test_label_inside_a_function() -> None:
    """A label within a sized function takes no bytes from it and reaches not beyond it."""
    found = names(
        ("f", 0x1010, 0x10, TEXT, FUNC, GLOBAL), ("again", 0x1018, 0, TEXT, NOTYPE, LOCAL)
    )
    assert found.place(0x101C).function == "f"
    assert found.place(0x1020).function is None


def test_undefined_and_data_symbols_name_nothing() -> None:
    """Only defined functions count."""
    found = names(
        ("elsewhere", 0x1000, 8, 0, FUNC, GLOBAL), ("object", 0x1010, 8, TEXT, OBJECT, GLOBAL)
    )
    assert found.place(0x1000).function is None
    assert found.place(0x1010).function is None


def test_relocatable_file() -> None:
    """There an address is an offset in a section, and sections do not mix."""
    found = FunctionNames(
        image([("f", 0x10, 8, TEXT, FUNC, GLOBAL), ("g", 0x10, 8, DATA, FUNC, GLOBAL)], kind=1)
    )
    assert found.place(0x10, TEXT) == Place("f", 0x10, ".text")
    assert found.place(0x10, DATA) == Place("g", 0x10, ".data")
    assert found.place(0x10, 99) == Place(None, None, "")


def test_all_bounds() -> None:
    """Bounds of all functions are sorted arrays without doubles."""
    found = names(
        ("b", 0x1020, 8, TEXT, FUNC, GLOBAL),
        ("alias", 0x1020, 8, TEXT, FUNC, WEAK),
        ("a", 0x1010, 8, TEXT, FUNC, GLOBAL),
    )
    starts, ends = found.all_bounds()
    assert starts.dtype == ends.dtype == np.int64
    assert starts.tolist() == [0x1010, 0x1020]
    assert ends.tolist() == [0x1018, 0x1028]


def test_find() -> None:
    """A function is found by name, before a variable of that name, versions aside."""
    found = names(
        ("f", 0x3000, 4, DATA, OBJECT, GLOBAL),
        ("f", 0x1010, 8, TEXT, FUNC, LOCAL),
        ("g@@V1", 0x1020, 8, TEXT, FUNC, GLOBAL),
        ("h", 0, 0, 0, FUNC, GLOBAL),
    )
    assert found.find("f") == 0x1010
    assert found.find("g") == 0x1020
    assert found.find("h") is None


def test_many_nested_functions() -> None:
    """Thousands of functions inside each other are looked up as fast as any."""
    count = 0x80
    found = names(*((f"f{n}", 0x1000 + n, 0x100 - 2 * n, TEXT, FUNC, GLOBAL) for n in range(count)))
    assert all(found.place(0x1000 + n).function == f"f{n}" for n in range(count))
    assert found.place(0x10FF).function == "f0"
