"""Fields of one record of perf.data, taken one after the other; a count that lies raises."""

import struct

from emu.export.perf_layout import (
    BRANCH_COUNTERS,
    BRANCH_HW_INDEX,
    READ_GROUP,
    READ_ID,
    READ_LOST,
    READ_TIME_ENABLED,
    READ_TIME_RUNNING,
)


class CorruptRecordError(ValueError):
    """The bytes of a record contradict each other; the text says where in it, and why."""


class Fields:
    """Takes fields from the front of a record, and sample ids from its end.

    Args:
        order: for struct.
        body: what follows the record's header.
    """

    def __init__(self, order: str, body: bytes) -> None:
        self._order = order
        self._body = body
        self.at = 0
        self._end = len(body)

    def take(self, layout: str) -> tuple[int, ...]:
        """Fields by a layout of the struct module, without byte order."""
        layout = self._order + layout
        return struct.unpack(layout, self.raw(struct.calcsize(layout)))

    def word(self) -> int:
        """Eight bytes as a number."""
        (word,) = self.take("Q")
        return word

    def words(self, count: int) -> tuple[int, ...]:
        """So many of them."""
        if count > (self._end - self.at) // 8:
            left = self._end - self.at
            raise CorruptRecordError(f"byte {self.at}: {count} words, {left} bytes are left")
        return self.take(f"{count}Q")

    def raw(self, size: int) -> bytes:
        """So many bytes."""
        if size > self._end - self.at:
            left = self._end - self.at
            raise CorruptRecordError(f"byte {self.at}: {size} bytes, {left} are left")
        self.at += size
        return self._body[self.at - size : self.at]

    def text(self) -> bytes:
        """A string up to its zero; what follows it is padding."""
        rest = self._body[self.at : self._end]
        self.at = self._end
        return rest.partition(b"\0")[0]

    def take_last(self) -> bytes:
        """The last eight bytes, which are then no longer there."""
        if self._end - self.at < 8:
            raise CorruptRecordError("no room for its sample id")
        self._end -= 8
        return self._body[self._end : self._end + 8]


def skip_counts(fields: Fields, read_format: int) -> None:
    """struct read_format: of one event, or of a group."""
    times = (read_format & READ_TIME_ENABLED > 0) + (read_format & READ_TIME_RUNNING > 0)
    each = 1 + (read_format & READ_ID > 0) + (read_format & READ_LOST > 0)
    if read_format & READ_GROUP:
        count = fields.word()
        fields.words(times)
        fields.words(each * count)
    else:
        fields.words(times + each)


def skip_branches(fields: Fields, branch_sample_type: int) -> None:
    """struct perf_branch_stack: entries of from, to and flags, and counters of each."""
    count = fields.word()
    if branch_sample_type & BRANCH_HW_INDEX:
        fields.word()
    fields.words(3 * count)
    if branch_sample_type & BRANCH_COUNTERS:
        fields.words(count)
