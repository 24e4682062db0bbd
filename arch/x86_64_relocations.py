"""Relocations of x86-64: System V ABI, AMD64 supplement, table 4.9 (types) and section 4.4.1."""

from arch.relocations import Check, Origin, RelocationFacts, RelocationField, Value


def _field(
    name: str,
    value: Value,
    size: int,
    check: Check = Check.NONE,
    origin: Origin = Origin.ZERO,
    *,
    fills_slot: bool = False,
) -> RelocationField:
    return RelocationField(f"R_X86_64_{name}", value, origin, size, check, fills_slot=fills_slot)


_S, _U, _E, _N = Check.SIGNED, Check.UNSIGNED, Check.EITHER, Check.NONE
_PLACE, _GOT = Origin.PLACE, Origin.GOT
V = Value

X86_64_RELOCATIONS = RelocationFacts(
    fields={
        0: _field("NONE", V.NOTHING, 0),
        1: _field("64", V.SYMBOL, 8),
        2: _field("PC32", V.SYMBOL, 4, _S, _PLACE),
        3: _field("GOT32", V.SLOT, 4, _S, _GOT),
        4: _field("PLT32", V.SYMBOL, 4, _S, _PLACE),
        # The library whose variable is copied is not there; zeros are as good as its contents.
        5: _field("COPY", V.NOTHING, 0),
        6: _field("GLOB_DAT", V.SYMBOL, 8, fills_slot=True),
        7: _field("JUMP_SLOT", V.SYMBOL, 8, fills_slot=True),
        8: _field("RELATIVE", V.BASE, 8),
        9: _field("GOTPCREL", V.SLOT, 4, _S, _PLACE),
        10: _field("32", V.SYMBOL, 4, _U),
        11: _field("32S", V.SYMBOL, 4, _S),
        12: _field("16", V.SYMBOL, 2, _E),
        13: _field("PC16", V.SYMBOL, 2, _E, _PLACE),
        14: _field("8", V.SYMBOL, 1, _E),
        15: _field("PC8", V.SYMBOL, 1, _S, _PLACE),
        16: _field("DTPMOD64", V.MODULE, 8),
        17: _field("DTPOFF64", V.MODULE_OFFSET, 8),
        18: _field("TPOFF64", V.THREAD, 8),
        19: _field("TLSGD", V.PAIR, 4, _S, _PLACE),
        20: _field("TLSLD", V.MODULE_PAIR, 4, _S, _PLACE),
        21: _field("DTPOFF32", V.MODULE_OFFSET, 4, _S),
        22: _field("GOTTPOFF", V.THREAD_SLOT, 4, _S, _PLACE),
        23: _field("TPOFF32", V.THREAD, 4, _S),
        24: _field("PC64", V.SYMBOL, 8, _N, _PLACE),
        25: _field("GOTOFF64", V.SYMBOL, 8, _N, _GOT),
        26: _field("GOTPC32", V.GOT, 4, _S, _PLACE),
        27: _field("GOT64", V.SLOT, 8, _N, _GOT),
        28: _field("GOTPCREL64", V.SLOT, 8, _N, _PLACE),
        29: _field("GOTPC64", V.GOT, 8, _N, _PLACE),
        30: _field("GOTPLT64", V.SLOT, 8, _N, _GOT),
        31: _field("PLTOFF64", V.SYMBOL, 8, _N, _GOT),
        32: _field("SIZE32", V.SIZE, 4, _U),
        33: _field("SIZE64", V.SIZE, 8),
        34: _field("GOTPC32_TLSDESC", V.DESCRIPTOR_PAIR, 4, _S, _PLACE),
        35: _field("TLSDESC_CALL", V.NOTHING, 0),
        36: _field("TLSDESC", V.DESCRIPTOR, 16),
        37: _field("IRELATIVE", V.BASE, 8),
        38: _field("RELATIVE64", V.BASE, 8),
        41: _field("GOTPCRELX", V.SLOT, 4, _S, _PLACE),
        42: _field("REX_GOTPCRELX", V.SLOT, 4, _S, _PLACE),
        # For instructions with the prefixes of APX.
        43: _field("CODE_4_GOTPCRELX", V.SLOT, 4, _S, _PLACE),
        44: _field("CODE_4_GOTTPOFF", V.THREAD_SLOT, 4, _S, _PLACE),
        45: _field("CODE_4_GOTPC32_TLSDESC", V.DESCRIPTOR_PAIR, 4, _S, _PLACE),
        46: _field("CODE_5_GOTPCRELX", V.SLOT, 4, _S, _PLACE),
        47: _field("CODE_5_GOTTPOFF", V.THREAD_SLOT, 4, _S, _PLACE),
        48: _field("CODE_5_GOTPC32_TLSDESC", V.DESCRIPTOR_PAIR, 4, _S, _PLACE),
        49: _field("CODE_6_GOTPCRELX", V.SLOT, 4, _S, _PLACE),
        50: _field("CODE_6_GOTTPOFF", V.THREAD_SLOT, 4, _S, _PLACE),
        51: _field("CODE_6_GOTPC32_TLSDESC", V.DESCRIPTOR_PAIR, 4, _S, _PLACE),
    },
    large_common=0xFF02,  # SHN_X86_64_LCOMMON
)
