"""The machines and exact look-ups of them."""

from arch.aarch64 import AARCH64
from arch.descriptor import Arch, ByteOrder
from arch.row import CfaRule, RegRule, Row, RuleKind
from arch.s390x import S390X
from arch.x86_64 import X86_64

ALL = (X86_64, AARCH64, S390X)

__all__ = [
    "ALL", "Arch", "ByteOrder", "CfaRule", "RegRule", "Row", "RuleKind",
    "by_elf", "by_name", "by_sframe_abi",
]  # fmt: skip


def by_name(name: str) -> Arch | None:
    """The machine of that name, or None."""
    return next((arch for arch in ALL if arch.name == name), None)


def by_elf(machine: int, byte_order: ByteOrder) -> Arch | None:
    """The machine of an ELF header's e_machine and byte order, or None."""
    return next((a for a in ALL if (a.elf_machine, a.byte_order) == (machine, byte_order)), None)


def by_sframe_abi(abi: int) -> Arch | None:
    """The machine whose tables carry this ``sfh_abi_arch``, or None."""
    return next((arch for arch in ALL if abi in arch.sframe.abi_ids), None)
