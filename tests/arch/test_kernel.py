"""What the kernel's unwinder is told of each machine, beside the other facts of the descriptor."""

from dataclasses import replace

from arch import ALL, Arch, RuleKind
from arch.aarch64 import AARCH64
from arch.kernel import OlderWalk
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.kernel.policy import POLICIES


def test_frame_is_the_machines_convention() -> None:
    """ARCH_INIT_USER_FP_FRAME(8) of x86; on aarch64 the record's own end counts as the CFA."""
    assert X86_64.kernel.frame == X86_64.frame_pointer_row
    assert AARCH64.frame_pointer_row is not None
    assert AARCH64.kernel.frame == replace(AARCH64.frame_pointer_row, cfa_is_bound=False)
    assert S390X.kernel.frame is None


def test_entry_frame_is_that_of_a_call() -> None:
    """A word above SP, which the call has pushed."""
    frame = X86_64.kernel.entry_frame
    assert frame is not None
    assert (frame.cfa.register, frame.cfa.offset) == (X86_64.sp, X86_64.entry_cfa_offset)
    assert (frame.ra.offset, frame.fp.kind) == (-8, RuleKind.KEEP)


def test_wrapper_of_the_vdso() -> None:
    """struct stack_frame_vdso_wrapper: a user frame of 160 bytes, then the return address."""
    assert S390X.kernel.chain == S390X.back_chain_row
    assert S390X.kernel.wrapper == (160, 168)


def test_served_names_are_policies(arch: Arch) -> None:
    """And what none serves has an older walker."""
    facts = arch.kernel
    assert facts.served <= POLICIES.keys() - {"truth"}
    assert (facts.older is None) == (facts.served == POLICIES.keys() - {"truth"})


def test_older_walkers() -> None:
    """perf_callchain_user of arm64 and s390."""
    found = {arch.name: arch.kernel.older for arch in ALL}
    assert list(found.values()) == [None, OlderWalk.RECORDS, OlderWalk.CHAIN]


def test_registers_are_those_of_the_machine(arch: Arch) -> None:
    """Every number that the hook reads has a register here."""
    assert all(arch.register(number) is not None for number in arch.kernel.registers)
