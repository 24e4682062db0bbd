"""Names in an ELF string table (gABI, chapter 4), read in time linear in the table."""


class Strings:
    """A string table.

    Many names may lie in the same bytes (linkers merge common tails), and a hostile file can
    make that quadratic, so the bytes given out are counted.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._last = data.rfind(b"\0")
        self._known: dict[int, str] = {}
        # Merged tails seldom double the size of a real table.
        self._budget = 16 * len(data) + 65536

    def text(self, offset: int) -> str:
        """The name at `offset` bytes as `checked` has it, or what stands for a corrupt one.

        Names of symbols only decorate, and one that is wrong must not cost all the others.
        """
        try:
            return self.checked(offset)
        except ValueError:
            return f"<corrupt name {offset:#x}>"

    def checked(self, offset: int) -> str:
        """The name at `offset` bytes, what cannot be printed escaped.

        Raises:
            ValueError: it lies outside the table, has no end, or names overlap beyond reason.
        """
        known = self._known.get(offset)
        if known is not None:
            return known
        if offset > self._last:
            # Offset 0 of an absent table is the customary way to have no name.
            if offset == 0 and not self._data:
                return ""
            raise ValueError(f"offset {offset:#x} in a string table of {len(self._data)} bytes")
        end = self._data.find(b"\0", offset, offset + self._budget + 1)
        if end < 0:
            # Nothing is left for others: each would be searched as far as this one.
            self._budget = 0
            raise ValueError("the names overlap beyond reason")
        self._budget -= end - offset
        text = self._data[offset:end].decode("utf-8", "backslashreplace")
        if not text.isprintable():
            # A name must not be able to forge lines of a report.
            text = text.encode("unicode_escape").decode("ascii")
        self._known[offset] = text
        return text
