"""The one exception tree: malformed input and misuse raise, what a walk finds is a value."""


class UnwindlabError(Exception):
    """Root of all our errors; the command line prints its text and exits with 2."""


class ImageError(UnwindlabError):
    """A file that is no usable ELF image: names the file, the offset and the reason."""


class SFrameError(UnwindlabError):
    """A section of which nothing can be decoded.

    Args:
        offset: bytes from the first byte of the section.
        reason: what is wrong there.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"offset {offset:#x}: {reason}")
        self.offset = offset
        self.reason = reason


class CfiError(UnwindlabError):
    """An .eh_frame section of which nothing can be decoded."""


class RecordingError(UnwindlabError):
    """A perf.data file that cannot be read on: names the file, the offset and the reason."""


class MemoryFault(UnwindlabError):
    """An address in no mapping, or one that may not be accessed in this way."""

    def __init__(self, address: int, size: int, access: str) -> None:
        super().__init__(f"{access} of {size} bytes at {address:#x}")
        self.address = address
        self.size = size
        self.access = access


class EmulationError(UnwindlabError):
    """The emulator refused something that is not the guest's fault."""


class UsageError(UnwindlabError):
    """Options that contradict each other, the program or the machine."""
