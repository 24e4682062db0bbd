"""How sections become known to the kernel, by revision: numbers and arguments."""

from dataclasses import dataclass
from enum import Enum

from emu.kernel.reader import Reader


class Form(Enum):
    """Which arguments a section is added with."""

    ADDRESS = "sframe, text_start, text_end, 0"
    """2024: its end is not told; without text bounds the text is found."""
    BOUNDS = "sframe_start, sframe_end, text_start, text_end"
    """2025."""
    LENGTHS = "op, addr, len, text, text_len"
    """2026: a system call of its own."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Of one revision."""

    form: Form
    reader: Reader
    add: int = 0
    remove: int = 0
    """prctl(2) operations; 0: it has none, or they are not known."""
    validates: bool = False
    """CONFIG_SFRAME_VALIDATION."""
