from arch.x86_64 import X86_64
from tests.emu.cfi.frames_text import compare, parse

TEXT = """\
00000000 0000000000000014 00000000 CIE "zR" cf=1 df=-8 ra=16
   LOC           CFA      ra
0000000000000000 rsp+8    c-8

00000018 0000000000000014 0000001c FDE cie=00000000 pc=0000000000000370..0000000000000376

00000030 0000000000000014 00000034 FDE cie=00000000 pc=0000000000000380..0000000000000394
   LOC           CFA      rbx       ra
0000000000000380 rsp+8    r16 (f0)  c-8
0000000000000384 exp      u         c-8
"""


def test_rows_and_columns():
    """A function without rows has those of its CIE; a cell may hold a blank."""
    first, second = parse(TEXT)
    assert first.rows == [(0x370, {"CFA": "rsp+8", "ra": "c-8"})]
    assert (second.start, second.end, second.return_column) == (0x380, 0x394, 16)
    assert second.rows[1:] == [
        (0x380, {"CFA": "rsp+8", "rbx": "r16 (f0)", "ra": "c-8"}),
        (0x384, {"CFA": "exp", "rbx": "u", "ra": "c-8"}),
    ]


def test_a_missing_function_differs():
    """The comparison is not satisfied by an empty table."""
    counts, differences = compare(parse(TEXT), (), X86_64)
    assert counts == {"differs": 3}
    assert len(differences) == 3
