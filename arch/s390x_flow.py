"""s390x: what instructions do to the flow of control (z/Architecture Principles of Operation)."""

from arch.flow import Flow, FlowEncoding, RegisterField, Stub, Target

_RI16 = Target(2, 2, bits=16, scale=2)
_RI32 = Target(2, 4, bits=32, scale=2)
_R2 = RegisterField(1, 0, tuple(range(16)))


def _flow(
    flow: Flow, value: str, name: str, mask: str = "", target: Target | None = None,
    register: RegisterField | None = None,
) -> FlowEncoding:  # fmt: skip
    """From bytes in hexadecimal; without a mask all their bits count."""
    code = bytes.fromhex(value)
    bits = bytes.fromhex(mask) if mask else b"\xff" * len(code)
    return FlowEncoding(flow, code, bits, name, target, register)


def _last(flow: Flow, first: str, last: str, name: str, target: Target | None = None,
          operands: str = "00 00 00 00", mask: str = "00 00 00 00") -> FlowEncoding:  # fmt: skip
    """An instruction of six bytes whose opcode is its first and its last byte."""
    return _flow(flow, f"{first} {operands} {last}", name, f"ff {mask} ff", target)


_COMPARE_AND_BRANCH = (
    ("64", "cgrj"), ("65", "clgrj"), ("76", "crj"), ("77", "clrj"),
    ("7c", "cgij"), ("7d", "clgij"), ("7e", "cij"), ("7f", "clij"),
    ("44", "brxhg"), ("45", "brxlg"),
)  # fmt: skip
_COMPARE_AND_BRANCH_FAR = (
    ("e4", "cgrb"), ("e5", "clgrb"), ("f6", "crb"), ("f7", "clrb"),
    ("fc", "cgib"), ("fd", "clgib"), ("fe", "cib"), ("ff", "clib"),
)  # fmt: skip
_UNASSIGNED = (
    "02 03 08 09 52 53 61 62 63 64 65 66 72 73 74 75 76 77 81 9c 9d 9e 9f a0 a1 a2 a3 a4 a6 aa ab "
    "b0 b4 b5 b8 bc c1 c3 c9 ca cb cd ce cf d8 e0 e4 f4 f5 f6 f7 fe ff"
)

# Their length, or the end of their loop, is a register's value. Searches (srst, clst) are not
# among them: they come back after a part, and code reckons with where they ended.
_LONG = (
    "0e 0f a8 a9 010a e50a b241 b255 b257 b263 b2a5 b2a6 b2a7 b91e b929 b92a b92b b92c "
    "b92d b92e b92f b938 b939 b93a b93c b93e b93f b990 b991 b992 b993 b9b0 b9b1 b9b2 b9b3 b9bd "
    "b9bf"
)
# They trap if what they compare is so (crt, cgrt, clrt, clgrt), or begin and end transactions.
_TRAPPING = "b960 b961 b972 b973 b2ec b2f8 b2fc e560 e561"
# The clock, and what only Linux may execute.
_PRIVILEGED = (
    "0102 0107 80 83 99 ac ad ae af b1 b6 b7 da db b200 b201 b202 b204 b205 b206 b207 b208 b209 "
    "b20a b20b b20d b210 b211 b212 b214 b218 b219 b21a b221 b223 b224 b225 b226 b227 b228 b229 "
    "b22a b22b b22c b22e b22f b230 b231 b232 b233 b234 b235 b236 b237 b238 b239 b23a b23b b23c "
    "b240 b246 b247 b248 b249 b24a b24b b24c b250 b254 b258 b25a b25f b274 b276 b277 b278 b279 "
    "b27c b27d b280 b284 b285 b286 b287 b28e b28f b2b1 b2e0 b2e1 b2e4 b2e5 b2ed b905 b90e b925 "
    "b98a b98b b98e b98f b99a b99b b99d b99e b99f b9a1 b9a2 b9aa b9ac b9ae b9af c800 e500 e502 "
    "e50e e50f"
)
# What Unicorn 2.1.4 refuses, found by trying every operation code: hexadecimal and decimal
# floating point, decimal arithmetic, and most of what came after z13 (ncrk, selr, mgrk; 0xe6).
_REFUSED = (
    "20 21 22 23 24 25 26 27 29 2a 2b 2c 2d 2e 2f 30 31 32 33 34 35 36 37 39 3a 3b 3c 3d 3e 3f "
    "67 69 6a 6b 6c 6d 6e 6f 79 7a 7b 7c 7d 7e 7f de df e6 f0 f8 f9 fa fb fc fd b22d b244 b245 "
    "b24d b325 b326 b32e b32f b336 b337 b338 b339 b33a b33b b33c b33d b33e b33f b350 b351 b353 "
    "b358 b359 b35b b360 b361 b362 b363 b366 b367 b369 b377 b37f b3b4 b3b5 b3b6 b3b8 b3b9 b3ba "
    "b3c4 b3c5 b3c6 b3c8 b3c9 b3ca b3d b3e b3f b941 b942 b943 b949 b94a b94b b951 b952 b953 b959 "
    "b95a b95b b964 b965 b966 b967 b968 b969 b96c b96d b974 b975 b976 b977 b9c0 b9e3 b9e5 b9ec "
    "b9ed b9f0 b9f5 b9fd"
)
_VECTOR = "54 85 86 87 88 89 8b 9e 9f b0 b1 b2 b3 b8 ee ef"
# The translator of Unicorn 2.1.4 crashes on this one: it must not even stand in memory.
_CRASHING = "b316"  # sqxbr
S390X_CRASHING = (bytes.fromhex(_CRASHING),)


def _skip(opcodes: str, name: str) -> tuple[FlowEncoding, ...]:
    """By operation codes in hexadecimal; one digit too few: whatever that digit is."""
    return tuple(
        _flow(
            Flow.SKIP,
            code.ljust(len(code) + len(code) % 2, "0"),
            f"{name} {code}",
            ("f" * len(code)).ljust(len(code) + len(code) % 2, "0"),
        )
        for code in opcodes.split()
    )


# z/Architecture Principles of Operation, chapters 5 and 7, and appendix B (by operation code).
S390X_FLOW = (
    # Mask 0 never branches, register 0 is none: bcr 0,%r14 is a nop, bctr %r1,%r0 counts.
    _flow(Flow.PLAIN, "07 00", "bcr 0", "ff f0"),
    _flow(Flow.PLAIN, "07 00", "bcr to no register", "ff 0f"),
    _flow(Flow.RETURN, "07 fe", "br %r14"),
    _flow(Flow.RETURN_IF, "07 0e", "bcr %r14", "ff 0f"),
    _flow(Flow.JUMP_INDIRECT, "07 f0", "br", "ff f0", register=_R2),
    _flow(Flow.BRANCH_INDIRECT, "07", "bcr", register=_R2),
    _flow(Flow.PLAIN, "47 00", "bc 0", "ff f0"),
    _flow(Flow.RETURN, "47 f0 e0 00", "b 0(%r14)"),
    _flow(Flow.RETURN_IF, "47 00 e0 00", "bc 0(%r14)", "ff 0f ff ff"),
    _flow(Flow.JUMP_INDIRECT, "47 f0", "b", "ff f0"),
    _flow(Flow.BRANCH_INDIRECT, "47", "bc"),
    _last(Flow.PLAIN, "e3", "47", "bic 0", mask="f0 00 00 00"),
    _last(Flow.JUMP_INDIRECT, "e3", "47", "bi", operands="f0 00 00 00", mask="f0 00 00 00"),
    _last(Flow.BRANCH_INDIRECT, "e3", "47", "bic"),
    _flow(Flow.PLAIN, "a7 04", "brc 0", "ff ff"),
    _flow(Flow.JUMP, "a7 f4", "j", "ff ff", _RI16),
    _flow(Flow.BRANCH, "a7 04", "brc", "ff 0f", _RI16),
    _flow(Flow.CALL, "a7 e5", "bras %r14", target=_RI16),
    _flow(Flow.LINK, "a7 05", "bras", "ff 0f", _RI16),
    _flow(Flow.BRANCH, "a7 06", "brct, brctg", "ff 0e", _RI16),
    _flow(Flow.PLAIN, "c0 04", "brcl 0", "ff ff"),
    _flow(Flow.JUMP, "c0 f4", "jg", "ff ff", _RI32),
    _flow(Flow.BRANCH, "c0 04", "brcl", "ff 0f", _RI32),
    _flow(Flow.CALL, "c0 e5", "brasl %r14", target=_RI32),
    _flow(Flow.LINK, "c0 05", "brasl", "ff 0f", _RI32),
    _flow(Flow.BRANCH, "cc 06", "brcth", "ff 0f", _RI32),
    _flow(Flow.BRANCH, "84", "brxh, brxle", "fe", _RI16),
    *(_last(Flow.BRANCH, "ec", last, name, _RI16) for last, name in _COMPARE_AND_BRANCH),
    *(
        _last(Flow.RETURN_IF, "ec", last, f"{name} 0(%r14)", None, "00 e0 00 00", "00 ff ff 00")
        for last, name in _COMPARE_AND_BRANCH_FAR
    ),
    *(_last(Flow.BRANCH_INDIRECT, "ec", last, name) for last, name in _COMPARE_AND_BRANCH_FAR),
    _flow(Flow.PLAIN, "06 00", "bctr to no register", "ff 0f"),
    _flow(Flow.RETURN_IF, "06 0e", "bctr %r14", "ff 0f"),
    _flow(Flow.BRANCH_INDIRECT, "06", "bctr", register=_R2),
    _flow(Flow.PLAIN, "b9 46 00 00", "bctgr to no register", "ff ff 00 0f"),
    _flow(Flow.RETURN_IF, "b9 46 00 0e", "bctgr %r14", "ff ff 00 0f"),
    _flow(Flow.BRANCH_INDIRECT, "b9 46", "bctgr", register=RegisterField(3, 0, tuple(range(16)))),
    _flow(Flow.BRANCH_INDIRECT, "46", "bct"),
    _last(Flow.BRANCH_INDIRECT, "e3", "46", "bctg"),
    _flow(Flow.BRANCH_INDIRECT, "86", "bxh, bxle", "fe"),
    _last(Flow.BRANCH_INDIRECT, "eb", "44", "bxhg"),
    _last(Flow.BRANCH_INDIRECT, "eb", "45", "bxleg"),
    # A second operand of 0 only fetches the PC.
    *(
        encoding
        for opcode, name in (("0d", "basr"), ("05", "balr"), ("0c", "bassm"))
        for encoding in (
            _flow(Flow.PLAIN, f"{opcode} 00", f"{name} from no register", "ff 0f"),
            _flow(Flow.CALL_INDIRECT, f"{opcode} e0", f"{name} %r14", "ff f0", register=_R2),
            _flow(Flow.LINK, opcode, name, register=_R2),
        )
    ),
    *(
        encoding
        for opcode, name in (("4d", "bas"), ("45", "bal"))
        for encoding in (
            _flow(Flow.CALL_INDIRECT, f"{opcode} e0", f"{name} %r14", "ff f0"),
            _flow(Flow.LINK, opcode, name),
        )
    ),
    _flow(Flow.PLAIN, "0b 00", "bsm to no register", "ff 0f"),
    _flow(Flow.RETURN, "0b 0e", "bsm %r14", "ff 0f"),
    _flow(Flow.JUMP_INDIRECT, "0b", "bsm", register=_R2),
    # With register 0 the instruction at the operand is executed as it stands. Compilers do
    # that with branches alone (-mindirect-branch), to hide them from the predictor.
    _flow(Flow.BRANCH_INDIRECT, "44 00", "ex %r0", "ff f0"),
    _flow(Flow.BRANCH_INDIRECT, "c6 00", "exrl %r0"),
    # The instruction at the operand gets its length from a register.
    _flow(Flow.SKIP, "44", "ex"),
    _flow(Flow.SKIP, "c6 00", "exrl", "ff 0f", _RI32),
    _flow(Flow.SYSCALL, "0a", "svc"),
    _flow(Flow.HALT, "00", "none, for good"),
    _flow(Flow.HALT, "01 ff", "trap2"),
    _flow(Flow.HALT, "01 01", "pr"),
    _flow(Flow.HALT, "b2 ff", "trap4"),
    _flow(Flow.HALT, "82", "lpsw"),
    _flow(Flow.HALT, "b2 b2", "lpswe"),
    *_skip(_LONG, "length in a register"),
    *_skip(_TRAPPING, "traps"),
    *_skip(_PRIVILEGED, "clock or privileged"),
    *_skip(_REFUSED, "not emulated"),
    *_skip(_CRASHING, "crashes the emulator"),
    *(_last(Flow.SKIP, "ec", last, "compare and trap") for last in ("70", "71", "72", "73")),
    *(_last(Flow.SKIP, "eb", last, "compare and trap") for last in ("23", "2b")),
    *(_last(Flow.SKIP, "eb", last, "mvclu, clclu") for last in ("8e", "8f")),
    *(_last(Flow.SKIP, "e7", last, "vector, not emulated") for last in _VECTOR.split()),
    *(_flow(Flow.BAD, opcode, "unassigned") for opcode in _UNASSIGNED.split()),
)

S390X_PADDING = (
    (b"\x07\x00", b"\xff\xf0"),  # nopr
    (b"\x47\x00", b"\xff\xf0"),  # nop
    (b"\xc0\x04", b"\xff\xff"),  # jgnop
    (b"\x00\x00", b"\xff\xff"),
)
S390X_STUBS = (
    Stub(
        bytes.fromhex("c0 10 00 00 00 00  e3 10 10 00 00 04  07 f1"),
        bytes.fromhex("ff ff 00 00 00 00  ff ff ff ff ff ff  ff ff"),
        (_RI32,),
    ),
)  # larl %r1,word; lg %r1,0(%r1); br %r1
