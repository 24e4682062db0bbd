"""Relocations of aarch64: AAELF64, sections 5.7.4 to 5.7.12."""

from collections.abc import Iterator

from arch.relocations import Check, Origin, RelocationFacts, RelocationField, Value

_PLACE, _PAGE, _GOT = Origin.PLACE, Origin.PAGE, Origin.GOT
V = Value

_ADR = ((0, 2, 29), (2, 19, 5))
"""immlo and immhi of ADR and ADRP."""
_IMMEDIATE_12, _IMMEDIATE_14, _IMMEDIATE_16 = ((0, 12, 10),), ((0, 14, 5),), ((0, 16, 5),)
_IMMEDIATE_19, _IMMEDIATE_26 = ((0, 19, 5),), ((0, 26, 0),)
_NEGATED = 1 << 30
"""MOVZ has this bit, MOVN, which moves the complement, has not."""


def _data(
    name: str,
    value: Value,
    size: int = 8,
    check: Check = Check.NONE,
    origin: Origin = Origin.ZERO,
    *,
    fills_slot: bool = False,
) -> RelocationField:
    return RelocationField(f"R_AARCH64_{name}", value, origin, size, check, fills_slot=fills_slot)


def _branch(name: str, bits: tuple[tuple[int, int, int], ...]) -> RelocationField:
    return _words(name, V.SYMBOL, bits)


def _words(name: str, value: Value, bits: tuple[tuple[int, int, int], ...]) -> RelocationField:
    """A distance in words from P."""
    return RelocationField(
        f"R_AARCH64_{name}", value, _PLACE, 4, Check.SIGNED, shift=2, bits=bits, aligned=True
    )


def _adr(name: str, value: Value) -> RelocationField:
    return RelocationField(f"R_AARCH64_{name}", value, _PLACE, 4, Check.SIGNED, bits=_ADR)


def _page(name: str, value: Value, check: Check = Check.SIGNED) -> RelocationField:
    return RelocationField(f"R_AARCH64_{name}", value, _PAGE, 4, check, shift=12, bits=_ADR)


def _low(name: str, value: Value, scale: int = 0, check: Check = Check.NONE) -> RelocationField:
    """The low 12 bits in ADD (scale 0), or in a load or store of 1 << scale bytes."""
    bits = ((0, 12 - scale, 10),)
    return RelocationField(
        f"R_AARCH64_{name}", value, size=4, check=check, shift=scale, bits=bits, aligned=True
    )


def _high(name: str, value: Value) -> RelocationField:
    """Bits 23 to 12 in ADD."""
    return RelocationField(
        f"R_AARCH64_{name}", value, size=4, check=Check.UNSIGNED, shift=12, bits=_IMMEDIATE_12
    )


def _got_low(name: str, origin: Origin) -> RelocationField:
    """Bits 14 to 3 of the distance of a GOT entry."""
    return RelocationField(
        f"R_AARCH64_{name}", V.SLOT, origin, 4, Check.UNSIGNED, 3, _IMMEDIATE_12, aligned=True
    )


def _moves(
    first: int, prefix: str, value: Value, origin: Origin, groups: str, check: Check = Check.SIGNED
) -> Iterator[tuple[int, RelocationField]]:
    """Consecutive types for sixteen bits in MOVZ or MOVK; `groups` names the suffix of each.

    A signed result chooses between MOVZ and MOVN, except where _NC says that others follow it.
    """
    for number, group in enumerate(groups.split(), first):
        signed = check is Check.SIGNED and not group.endswith("_NC")
        unchecked = group.endswith("_NC") or group == "G3"
        yield number, RelocationField(
            f"R_AARCH64_{prefix}_{group}", value, origin, 4, Check.NONE if unchecked else check,
            shift=16 * int(group[1]), bits=_IMMEDIATE_16,
            width=17 if signed else 0, sign=_NEGATED if signed else 0,
        )  # fmt: skip


def _accesses(first: int, prefix: str, value: Value) -> Iterator[tuple[int, RelocationField]]:
    """Loads and stores of thread-local variables, 8 to 64 bits, each with and without a check."""
    for scale in range(4):
        name = f"TLS{prefix[:2]}_LDST{8 << scale}_{prefix[2:]}_LO12"
        yield first + 2 * scale, _low(name, value, scale, Check.UNSIGNED)
        yield first + 2 * scale + 1, _low(name + "_NC", value, scale)


AARCH64_RELOCATIONS = RelocationFacts(
    fields={
        0: _data("NONE", V.NOTHING, 0),
        256: _data("NONE", V.NOTHING, 0),  # withdrawn, an alias
        # Data.
        257: _data("ABS64", V.SYMBOL),
        258: _data("ABS32", V.SYMBOL, 4, Check.EITHER),
        259: _data("ABS16", V.SYMBOL, 2, Check.EITHER),
        260: _data("PREL64", V.SYMBOL, 8, Check.NONE, _PLACE),
        261: _data("PREL32", V.SYMBOL, 4, Check.EITHER, _PLACE),
        262: _data("PREL16", V.SYMBOL, 2, Check.EITHER, _PLACE),
        307: _data("GOTREL64", V.SYMBOL, 8, Check.NONE, _GOT),
        308: _data("GOTREL32", V.SYMBOL, 4, Check.EITHER, _GOT),
        314: _data("PLT32", V.SYMBOL, 4, Check.SIGNED, _PLACE),
        315: _data("GOTPCREL32", V.SLOT, 4, Check.SIGNED, _PLACE),
        # Code.
        **dict(_moves(263, "MOVW_UABS", V.SYMBOL, Origin.ZERO, "G0 G0_NC G1 G1_NC G2 G2_NC G3",
                      Check.UNSIGNED)),
        **dict(_moves(270, "MOVW_SABS", V.SYMBOL, Origin.ZERO, "G0 G1 G2")),
        273: _words("LD_PREL_LO19", V.SYMBOL, _IMMEDIATE_19),
        274: _adr("ADR_PREL_LO21", V.SYMBOL),
        275: _page("ADR_PREL_PG_HI21", V.SYMBOL),
        276: _page("ADR_PREL_PG_HI21_NC", V.SYMBOL, Check.NONE),
        277: _low("ADD_ABS_LO12_NC", V.SYMBOL),
        278: _low("LDST8_ABS_LO12_NC", V.SYMBOL),
        279: _branch("TSTBR14", _IMMEDIATE_14),
        280: _branch("CONDBR19", _IMMEDIATE_19),
        282: _branch("JUMP26", _IMMEDIATE_26),
        283: _branch("CALL26", _IMMEDIATE_26),
        284: _low("LDST16_ABS_LO12_NC", V.SYMBOL, 1),
        285: _low("LDST32_ABS_LO12_NC", V.SYMBOL, 2),
        286: _low("LDST64_ABS_LO12_NC", V.SYMBOL, 3),
        299: _low("LDST128_ABS_LO12_NC", V.SYMBOL, 4),
        **dict(_moves(287, "MOVW_PREL", V.SYMBOL, _PLACE, "G0 G0_NC G1 G1_NC G2 G2_NC G3")),
        # The global offset table.
        **dict(_moves(300, "MOVW_GOTOFF", V.SLOT, _GOT, "G0 G0_NC G1 G1_NC G2 G2_NC G3")),
        309: _words("GOT_LD_PREL19", V.SLOT, _IMMEDIATE_19),
        310: _got_low("LD64_GOTOFF_LO15", _GOT),
        311: _page("ADR_GOT_PAGE", V.SLOT),
        312: _low("LD64_GOT_LO12_NC", V.SLOT, 3),
        313: _got_low("LD64_GOTPAGE_LO15", Origin.GOT_PAGE),
        # Thread-local storage: general and local dynamic.
        512: _adr("TLSGD_ADR_PREL21", V.PAIR),
        513: _page("TLSGD_ADR_PAGE21", V.PAIR),
        514: _low("TLSGD_ADD_LO12_NC", V.PAIR),
        **dict(_moves(515, "TLSGD_MOVW", V.PAIR, _GOT, "G1 G0_NC")),
        517: _adr("TLSLD_ADR_PREL21", V.MODULE_PAIR),
        518: _page("TLSLD_ADR_PAGE21", V.MODULE_PAIR),
        519: _low("TLSLD_ADD_LO12_NC", V.MODULE_PAIR),
        **dict(_moves(520, "TLSLD_MOVW", V.MODULE_PAIR, _GOT, "G1 G0_NC")),
        522: _words("TLSLD_LD_PREL19", V.MODULE_PAIR, _IMMEDIATE_19),
        **dict(_moves(523, "TLSLD_MOVW_DTPREL", V.MODULE_OFFSET, Origin.ZERO,
                      "G2 G1 G1_NC G0 G0_NC")),
        528: _high("TLSLD_ADD_DTPREL_HI12", V.MODULE_OFFSET),
        529: _low("TLSLD_ADD_DTPREL_LO12", V.MODULE_OFFSET, 0, Check.UNSIGNED),
        530: _low("TLSLD_ADD_DTPREL_LO12_NC", V.MODULE_OFFSET),
        **dict(_accesses(531, "LDDTPREL", V.MODULE_OFFSET)),
        572: _low("TLSLD_LDST128_DTPREL_LO12", V.MODULE_OFFSET, 4, Check.UNSIGNED),
        573: _low("TLSLD_LDST128_DTPREL_LO12_NC", V.MODULE_OFFSET, 4),
        # Initial and local exec.
        **dict(_moves(539, "TLSIE_MOVW_GOTTPREL", V.THREAD_SLOT, _GOT, "G1 G0_NC")),
        541: _page("TLSIE_ADR_GOTTPREL_PAGE21", V.THREAD_SLOT),
        542: _low("TLSIE_LD64_GOTTPREL_LO12_NC", V.THREAD_SLOT, 3),
        543: _words("TLSIE_LD_GOTTPREL_PREL19", V.THREAD_SLOT, _IMMEDIATE_19),
        **dict(_moves(544, "TLSLE_MOVW_TPREL", V.THREAD, Origin.ZERO, "G2 G1 G1_NC G0 G0_NC")),
        549: _high("TLSLE_ADD_TPREL_HI12", V.THREAD),
        550: _low("TLSLE_ADD_TPREL_LO12", V.THREAD, 0, Check.UNSIGNED),
        551: _low("TLSLE_ADD_TPREL_LO12_NC", V.THREAD),
        **dict(_accesses(552, "LETPREL", V.THREAD)),
        570: _low("TLSLE_LDST128_TPREL_LO12", V.THREAD, 4, Check.UNSIGNED),
        571: _low("TLSLE_LDST128_TPREL_LO12_NC", V.THREAD, 4),
        # TLS descriptors.
        560: _words("TLSDESC_LD_PREL19", V.DESCRIPTOR_PAIR, _IMMEDIATE_19),
        561: _adr("TLSDESC_ADR_PREL21", V.DESCRIPTOR_PAIR),
        562: _page("TLSDESC_ADR_PAGE21", V.DESCRIPTOR_PAIR),
        563: _low("TLSDESC_LD64_LO12", V.DESCRIPTOR_PAIR, 3),
        564: _low("TLSDESC_ADD_LO12", V.DESCRIPTOR_PAIR),
        **dict(_moves(565, "TLSDESC_OFF", V.DESCRIPTOR_PAIR, _GOT, "G1 G0_NC")),
        567: _data("TLSDESC_LDR", V.NOTHING, 0),
        568: _data("TLSDESC_ADD", V.NOTHING, 0),
        569: _data("TLSDESC_CALL", V.NOTHING, 0),
        # Dynamic. The library whose variable is copied is not there; zeros are as good.
        1024: _data("COPY", V.NOTHING, 0),
        1025: _data("GLOB_DAT", V.SYMBOL, fills_slot=True),
        1026: _data("JUMP_SLOT", V.SYMBOL, fills_slot=True),
        1027: _data("RELATIVE", V.BASE),
        1028: _data("TLS_DTPMOD", V.MODULE),
        1029: _data("TLS_DTPREL", V.MODULE_OFFSET),
        1030: _data("TLS_TPREL", V.THREAD),
        1031: _data("TLSDESC", V.DESCRIPTOR, 16),
        1032: _data("IRELATIVE", V.BASE),
    },
    thread_header=16,
    addend_in_slot=True,
)  # fmt: skip
