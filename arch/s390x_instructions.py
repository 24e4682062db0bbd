"""s390x instructions that trap, or store the guest's clock.

Principles of Operation, chapters 6, 7 and 10; Linux arch/s390/kernel/traps.c.
"""

from arch.instructions import Exceptions, Handled, OpcodeTrap, Source, Trap

_ENDS = b"\xff\0\0\0\0\xff"
"""Mask of an opcode in the first and the last of six bytes."""
_DIVIDE = Trap("SIGFPE", "integer division by zero or overflow")
_COMPARE = Trap("SIGFPE", "compare and trap")
_ODD = Trap("SIGILL", "specification exception: odd register of a pair")
_PRIVILEGED = Trap("SIGILL", "privileged instruction")

_DIVISIONS = (
    (b"\x1d", b"\xff", 1), (b"\x5d", b"\xff", 1),  # dr, d
    (b"\xb9\x0d", b"\xff\xff", 3), (b"\xb9\x1d", b"\xff\xff", 3),  # dsgr, dsgfr
    (b"\xb9\x97", b"\xff\xff", 3), (b"\xb9\x87", b"\xff\xff", 3),  # dlr, dlgr
    *((b"\xe3\0\0\0\0" + bytes((last,)), _ENDS, 1) for last in (0x0D, 0x1D, 0x97, 0x87)),
)  # fmt: skip
"""Opcode, mask, and the byte whose upper half is the first register of the pair."""
_TRAPPING_COMPARISONS = (
    *((bytes((0xB9, second)), b"\xff\xff") for second in (0x60, 0x61, 0x72, 0x73)),  # crt, ...
    *((b"\xec\0\0\0\0" + bytes((last,)), _ENDS) for last in (0x70, 0x71, 0x72, 0x73)),  # cit, ...
    *((b"\xeb\0\0\0\0" + bytes((last,)), _ENDS) for last in (0x23, 0x2B)),  # clt, clgt
)

_PSW_MASK = 66
"""Emulator number of the PSW's first half; bits 18 and 19 are the condition code."""


def _odd(value: bytes, mask: bytes, at: int) -> OpcodeTrap:
    """An odd register where a pair begins: noticed before anything is divided."""
    value, mask = (part.ljust(at + 1, b"\0") for part in (value, mask))
    odd = [part[:at] + bytes((part[at] | 0x10,)) + part[at + 1 :] for part in (value, mask)]
    return OpcodeTrap(odd[0], odd[1], _ODD)


def _store_clock(name: str, opcode: bytes, stored: int) -> Handled:
    """The TOD clock: bit 51 is a microsecond, 0 is the start of 1900; it is set (code 0)."""
    return Handled(
        name, opcode, b"\xff\xff", source=Source.DATE, scale=(4096, 1000),
        base=0x7D91_048B_CA00_0000, stored=stored, condition=(_PSW_MASK, 3 << 44, 0),
    )  # fmt: skip


S390X_HANDLED = (
    _store_clock("stck", b"\xb2\x05", 8),
    _store_clock("stckf", b"\xb2\x7c", 8),
    _store_clock("stcke", b"\xb2\x78", 16),
    # The emulator executes these where the machine does not.
    Handled("tprot", b"\xe5\x01", b"\xff\xff", _PRIVILEGED),
    Handled("cdsg", b"\xeb\x10\0\0\0\x3e", b"\xff\x10\0\0\0\xff", _ODD),
    Handled("cdsg", b"\xeb\x01\0\0\0\x3e", b"\xff\x01\0\0\0\xff", _ODD),
    Handled("cksm", b"\xb2\x41\0\x01", b"\xff\xff\0\x01", _ODD),
    Handled("troo, trot, trto, trtt", b"\xb9\x90\0\x10", b"\xff\xfc\0\x10", _ODD),
    # It would show the emulator's CPU timer; STFLE does not say that it is installed.
    Handled("ectg", b"\xc8\x01", b"\xff\x0f", Trap("SIGILL", "undefined instruction")),
)

S390X_EXCEPTIONS = Exceptions(
    # One number for every program interruption: the opcode tells them apart.
    numbers={3: Trap("SIGILL", "undefined or privileged instruction")},
    other=Trap("SIGILL", "program interruption"),
    opcodes=(
        *(_odd(*division) for division in _DIVISIONS),
        *(OpcodeTrap(value, mask, _DIVIDE) for value, mask, _ in _DIVISIONS),
        *(OpcodeTrap(value, mask, _COMPARE) for value, mask in _TRAPPING_COMPARISONS),
    ),
    status=(99, 0xFF00),  # FPC: the data exception code (DXC)
    silent=((_PSW_MASK, 0xF << 40, 0, "exceptions enabled in the program mask"),),
    executes=((b"\x44", b"\xff"), (b"\xc6\0", b"\xff\x0f")),  # ex, exrl
    misaligned_pc="SIGILL",
)
