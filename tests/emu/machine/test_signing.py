"""Signatures of return addresses: those that the emulator's instructions make."""

from arch.aarch64 import AARCH64
from arch.descriptor import Arch
from emu.machine.signing import all_signatures, signatures

KEYS = (1, 2, 3, 4)
ADDRESS, SP = 0x401234, 0x7FFF_0000


def test_each_key_signs_with_the_stack_pointer() -> None:
    """By paciasp and pacibsp; other pairs give other signatures, again the same ones."""
    both = signatures(AARCH64, KEYS, ADDRESS, SP)
    assert len(set(both)) == len(AARCH64.ra_signing) == 2
    for signed in both:
        assert signed & ~AARCH64.ra_sign_mask == ADDRESS != signed
    pairs = [(ADDRESS, SP), (ADDRESS, SP + 16), (ADDRESS + 4, SP)]
    found = all_signatures(AARCH64, KEYS, pairs)
    assert found[0] == both
    assert len(set(found)) == 3


def test_nothing_is_signed_without_keys(arch: Arch) -> None:
    """And other machines have no such instructions."""
    assert signatures(arch, None, ADDRESS, SP) == ()
    assert bool(signatures(arch, KEYS, ADDRESS, SP)) == bool(arch.ra_signing)
    assert all_signatures(arch, KEYS, []) == []


def test_some_signatures_are_of_zeros() -> None:
    """Of 15 bits: about one in 32768 addresses is the same with its signature."""
    pairs = [(ADDRESS + 4 * n, SP) for n in range(60000)]
    found = all_signatures(AARCH64, KEYS, pairs)
    same = [at for at, signed in enumerate(found) if pairs[at][0] in signed]
    assert 0 < len(same) < 20
