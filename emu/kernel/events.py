"""What a walk meets beside frames: named flaws of a revision, and what becomes of tables."""

from dataclasses import dataclass
from enum import StrEnum


class Name(StrEnum):
    """Kinds of events; those up to REMOVAL_BY_TEXT are flaws of some revision."""

    UNINITIALISED_FDE = "uninitialised-fde"
    """No function starts at or below the address, and the pointer to the last one found was
    never set."""
    UNINITIALISED_ROW = "uninitialised-row"
    """The same of the last row."""
    UNINITIALISED_RA = "uninitialised-ra"
    """RA has no slot: the next ip is a variable that was never set."""
    PAST_LAST_FDE = "past-last-fde"
    """The search reads one entry behind the table."""
    TRUNCATED_OFFSET = "truncated-offset"
    """An offset does not fit into the 32 bits that it is held in."""
    UNSIGNED_CFA = "unsigned-cfa"
    """A negative CFA offset is taken for a large one."""
    SIGNED_START = "signed-start"
    """The start of a row is held in a signed variable, and taken for negative."""
    DIVISION_BY_ZERO = "division-by-zero"
    """Rows repeat every 0 bytes."""
    NULL_DEREFERENCE = "null-dereference"
    """A mapping that was not found is looked at."""
    BUG_UNSET_TYPE = "bug-unset-type"
    """BUG(): the method was never stored."""
    TYPE_IN_BOOL = "type-in-bool"
    """The method passes through a bool: SFRAME 2 becomes FP 1."""
    START_NOT_DONE = "start-not-done"
    """The start fails and does not say that the walk is over."""
    FAILED_LOAD_RETURNS_0 = "failed-load-returns-0"
    """The stack could not be read; what is returned is the look-up's 0."""
    OUTERMOST_REFUSED = "outermost-refused"
    """A row that ends the stack fails for want of a CFA rule."""
    NO_DEREF_CASE = "no-deref-case"
    """The CFA is loaded from SP or FP + offset, for which the step has no case."""
    FDE_TYPE_MASKED = "fde-type-masked"
    """A FDE type above 15 is cut to four bits, and taken for another."""
    REMOVAL_BY_TEXT = "removal-by-text"
    """A section is looked up by its own address where the index is that of its text."""

    WARN = "warn"
    """WARN_ON_ONCE."""
    SECTION_REMOVED = "section-removed"
    """A look-up has ended in -EFAULT: all registrations of its section are gone."""
    READ_LIMIT = "read-limit"
    """Our own bound on one look-up: the kernel would still be reading."""

    @property
    def is_flaw(self) -> bool:
        """The revision does what nobody meant."""
        return self not in (Name.WARN, Name.SECTION_REMOVED, Name.READ_LIMIT)


CRASHES = frozenset(
    (
        Name.UNINITIALISED_FDE, Name.UNINITIALISED_ROW, Name.UNINITIALISED_RA,
        Name.DIVISION_BY_ZERO, Name.NULL_DEREFERENCE, Name.BUG_UNSET_TYPE,
    )
)  # fmt: skip
"""What happens next is undefined, or the kernel's end; the model stops there."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `address` is a user address that it is about, or 0."""

    name: Name
    address: int = 0
    text: str = ""


class Refusal(Exception):
    """A kernel function returns an error.

    Args:
        errno: positive.
        reason: which check failed.
    """

    def __init__(self, errno: int, reason: str) -> None:
        super().__init__(reason)
        self.errno = errno
        self.reason = reason


class WindowRefusal(Refusal):
    """user_read_access_begin fails: EFAULT like a fault, but nothing was read yet."""


class Crash(Exception):
    """The kernel does something undefined, or stops."""

    def __init__(self, name: Name, address: int = 0, text: str = "") -> None:
        super().__init__(name)
        self.event = Event(name, address, text)
