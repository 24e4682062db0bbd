"""Sequences whose elements are made each time that one is asked for.

A hostile section can hold a million entries, of which each would take many times its bytes if
all were kept as objects.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence that knows its length and how to make one element."""

    @abstractmethod
    def make(self, index: int) -> T:
        """The element at an index from 0 on."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return tuple(self.make(at) for at in range(*index.indices(len(self))))
        return self.make(range(len(self))[index])

    def __iter__(self) -> Iterator[T]:
        return (self.make(index) for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """It equals every sequence of equal elements."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"
