"""A fault, as every step of decoding reports it."""

from typing import NamedTuple


class Fault(NamedTuple):
    """What is wrong at `offset` bytes from the start of the section.

    A tuple, since a section can have a million of them.
    """

    offset: int
    reason: str
