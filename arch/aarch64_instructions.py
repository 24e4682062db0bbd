"""aarch64 instructions that trap, or get their result from the kernel, the clock or the seed.

Arm ARM, section C5 and D19; Linux arch/arm64/kernel/traps.c and cpufeature.c.
"""

from arch.instructions import Exceptions, Handled, Operand, Source, Trap


def _bytes(value: int, mask: int) -> tuple[bytes, bytes]:
    return value.to_bytes(4, "little"), mask.to_bytes(4, "little")


def _read(
    name: str, value: int, source: Source, base: int = 0, mask: int = 0xFFFFFFE0,
    models: frozenset[str] | None = None,
) -> Handled:  # fmt: skip
    """``mrs`` of a system register; what is read goes to the register in the low five bits."""
    return Handled(
        f"mrs {name}", *_bytes(value, mask), source=source, base=base, models=models,
        operand=Operand.LOW_FIVE, numbers=(*range(31), -1),
    )  # fmt: skip


_MIDR = {("", "a72"): 0x410FD083, ("a57",): 0x411FD070, ("a53",): 0x410FD034, ("max",): 0xF0510}
"""Main ID registers of the emulator's models."""

AARCH64_HANDLED = (
    _read("cntvct_el0", 0xD53BE040, Source.UPTIME),
    _read("cntfrq_el0", 0xD53BE000, Source.CONSTANT, 1_000_000_000),
    # The kernel sets SCTLR_EL1.nTWI; nothing can come that would end a wait.
    Handled("wfi", *_bytes(0xD503207F, 0xFFFFFFFF)),
    # AT_HWCAP2 has no HWCAP2_RNG; the emulator would take random numbers of the host.
    Handled(
        "mrs rndr, rndrrs", *_bytes(0xD53B2400, 0xFFFFFFC0),
        trap=Trap("SIGILL", "undefined instruction: the CPU has no random numbers"),
    ),
    # emulate_sys_reg: what all CPUs may be asked by user code. Of the feature registers
    # it shows constants for the fields that are hidden (arm64_ftr_reg_user_value).
    *(
        _read("midr_el1", 0xD5380000, Source.CONSTANT, value, models=frozenset(models))
        for models, value in _MIDR.items()
    ),
    _read("mpidr_el1", 0xD53800A0, Source.CONSTANT, 1 << 31),
    _read("revidr_el1", 0xD53800C0, Source.CONSTANT),
    _read("id_aa64pfr0_el1", 0xD5380400, Source.CONSTANT, 0x11),
    _read("id_aa64dfr0_el1", 0xD5380500, Source.CONSTANT, 6),
    _read("id_aa64mmfr0_el1", 0xD5380700, Source.CONSTANT, 0x111_FF00_0000),
    _read("id registers", 0xD5380200, Source.CONSTANT, mask=0xFFFFFE00),
    _read("id registers", 0xD5380400, Source.CONSTANT, mask=0xFFFFFC00),
)  # fmt: skip

AARCH64_EXCEPTIONS = Exceptions(
    numbers={
        1: Trap("SIGILL", "undefined or privileged instruction"),
        4: Trap("SIGBUS", "misaligned access"),
        7: Trap("SIGTRAP", "breakpoint"),
    },
    other=Trap("SIGILL", "instruction of another exception level"),
    misaligned_pc="SIGBUS",
)
