"""Relocations of s390x: ELF ABI s390x supplement, section 3.5 (table "Relocation Types").

Types of 32-bit words with thread-local offsets are those of the 31-bit ABI, and left out.
"""

from arch.relocations import Check, Origin, RelocationFacts, RelocationField, Value

_E, _N, _S, _U = Check.EITHER, Check.NONE, Check.SIGNED, Check.UNSIGNED
_PLACE, _GOT = Origin.PLACE, Origin.GOT
V = Value


def _field(
    name: str,
    value: Value,
    size: int,
    check: Check = _N,
    origin: Origin = Origin.ZERO,
    *,
    fills_slot: bool = False,
) -> RelocationField:
    return RelocationField(f"R_390_{name}", value, origin, size, check, fills_slot=fills_slot)


def _short(name: str, value: Value, origin: Origin = Origin.ZERO) -> RelocationField:
    """The 12-bit displacement of an address operand."""
    return RelocationField(f"R_390_{name}", value, origin, 2, _U, bits=((0, 12, 0),))


def _long(name: str, value: Value, origin: Origin = Origin.ZERO) -> RelocationField:
    """The 20-bit displacement: its low 12 bits DL come before its high 8 bits DH."""
    return RelocationField(f"R_390_{name}", value, origin, 4, _S, bits=((0, 12, 16), (12, 8, 8)))


def _halfwords(name: str, value: Value, size: int, width: int = 0) -> RelocationField:
    """A distance in halfwords from P, in `width` bits of the number or in all of it."""
    bits = ((0, width, 0),) if width else ()
    return RelocationField(
        f"R_390_{name}", value, _PLACE, size, _S, shift=1, bits=bits, aligned=True
    )


S390X_RELOCATIONS = RelocationFacts(
    fields={
        0: _field("NONE", V.NOTHING, 0),
        1: _field("8", V.SYMBOL, 1, _E),
        2: _short("12", V.SYMBOL),
        3: _field("16", V.SYMBOL, 2, _E),
        4: _field("32", V.SYMBOL, 4, _E),
        5: _field("PC32", V.SYMBOL, 4, _E, _PLACE),
        6: _short("GOT12", V.SLOT, _GOT),
        7: _field("GOT32", V.SLOT, 4, _E, _GOT),
        8: _field("PLT32", V.SYMBOL, 4, _E, _PLACE),
        # The library whose variable is copied is not there; zeros are as good as its contents.
        9: _field("COPY", V.NOTHING, 0),
        10: _field("GLOB_DAT", V.SYMBOL, 8, fills_slot=True),
        11: _field("JMP_SLOT", V.SYMBOL, 8, fills_slot=True),
        12: _field("RELATIVE", V.BASE, 8),
        13: _field("GOTOFF32", V.SYMBOL, 4, _E, _GOT),
        14: _field("GOTPC", V.GOT, 4, _E, _PLACE),
        15: _field("GOT16", V.SLOT, 2, _E, _GOT),
        16: _field("PC16", V.SYMBOL, 2, _E, _PLACE),
        17: _halfwords("PC16DBL", V.SYMBOL, 2),
        18: _halfwords("PLT16DBL", V.SYMBOL, 2),
        19: _halfwords("PC32DBL", V.SYMBOL, 4),
        20: _halfwords("PLT32DBL", V.SYMBOL, 4),
        21: _halfwords("GOTPCDBL", V.GOT, 4),
        22: _field("64", V.SYMBOL, 8),
        23: _field("PC64", V.SYMBOL, 8, _N, _PLACE),
        24: _field("GOT64", V.SLOT, 8, _N, _GOT),
        25: _field("PLT64", V.SYMBOL, 8, _N, _PLACE),
        26: _halfwords("GOTENT", V.SLOT, 4),
        27: _field("GOTOFF16", V.SYMBOL, 2, _E, _GOT),
        28: _field("GOTOFF64", V.SYMBOL, 8, _N, _GOT),
        29: _short("GOTPLT12", V.SLOT, _GOT),
        30: _field("GOTPLT16", V.SLOT, 2, _E, _GOT),
        31: _field("GOTPLT32", V.SLOT, 4, _E, _GOT),
        32: _field("GOTPLT64", V.SLOT, 8, _N, _GOT),
        33: _halfwords("GOTPLTENT", V.SLOT, 4),
        34: _field("PLTOFF16", V.SYMBOL, 2, _E, _GOT),
        35: _field("PLTOFF32", V.SYMBOL, 4, _E, _GOT),
        36: _field("PLTOFF64", V.SYMBOL, 8, _N, _GOT),
        37: _field("TLS_LOAD", V.NOTHING, 0),
        38: _field("TLS_GDCALL", V.NOTHING, 0),
        39: _field("TLS_LDCALL", V.NOTHING, 0),
        41: _field("TLS_GD64", V.PAIR, 8, _N, _GOT),
        42: _short("TLS_GOTIE12", V.THREAD_SLOT, _GOT),
        44: _field("TLS_GOTIE64", V.THREAD_SLOT, 8, _N, _GOT),
        46: _field("TLS_LDM64", V.MODULE_PAIR, 8, _N, _GOT),
        48: _field("TLS_IE64", V.THREAD_SLOT, 8),
        49: _halfwords("TLS_IEENT", V.THREAD_SLOT, 4),
        51: _field("TLS_LE64", V.THREAD, 8),
        53: _field("TLS_LDO64", V.MODULE_OFFSET, 8),
        54: _field("TLS_DTPMOD", V.MODULE, 8),
        55: _field("TLS_DTPOFF", V.MODULE_OFFSET, 8),
        56: _field("TLS_TPOFF", V.THREAD, 8),
        57: _long("20", V.SYMBOL),
        58: _long("GOT20", V.SLOT, _GOT),
        59: _long("GOTPLT20", V.SLOT, _GOT),
        60: _long("TLS_GOTIE20", V.THREAD_SLOT, _GOT),
        61: _field("IRELATIVE", V.BASE, 8),
        62: _halfwords("PC12DBL", V.SYMBOL, 2, 12),
        63: _halfwords("PLT12DBL", V.SYMBOL, 2, 12),
        64: _halfwords("PC24DBL", V.SYMBOL, 3),
        65: _halfwords("PLT24DBL", V.SYMBOL, 3),
    },
)
