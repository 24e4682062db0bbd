"""The body of one function as it grows: its lines, and what the next of them may use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from emu.fuzz.generate.choices import Choices
from emu.fuzz.generate.unit import RECURSION, STACK_LIMIT, Shape, Unit

_DEEPEST = 3
"""Statements inside of statements."""


@dataclass(slots=True)
class Body:
    """The lines of one function, and what the next may use."""

    unit: Unit
    name: str
    shape: Shape
    arguments: int
    kinds: tuple["Statement", ...] = ()
    """Statements to draw from, more often those that are there more often."""
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: ["x"])
    """Variables of type ``unsigned long`` that hold a value here."""
    leaf: bool = False
    """It must call nothing."""
    moves_stack: bool = False
    """Its CFA must stay on SP: nothing of a size that only the run knows."""
    protected: int = 0
    """Blocks around this place that a jump must not enter."""
    caught: int = 0
    """Blocks around it that catch all."""
    repeats: int = 1
    """How often this place is executed at most."""
    nesting: int = 0
    cost: int = 4
    own_stack: int = 64
    callee_stack: int = 0
    throws: bool = False
    recursive: bool = False
    jumps: bool = False
    """It has labels whose address is taken."""
    _fresh: int = 0

    @property
    def choices(self) -> Choices:
        """Of the program."""
        return self.unit.choices

    def line(self, text: str) -> None:
        """One more line; directives of the preprocessor are not indented."""
        self.lines.append(text if text.startswith("#") else "  " * (self.nesting + 1) + text)

    def fresh(self, prefix: str) -> str:
        """A name that nothing in this function has."""
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    def need(self, *parts: str) -> None:
        """Remember parts of the preamble."""
        self.unit.needs.update(parts)

    def feature(self, name: str) -> None:
        """Remember that the program has this."""
        self.unit.features.add(name)

    @contextmanager
    def block(self, head: str = "", *, repeats: int = 1, protected: bool = False) -> Iterator[None]:
        """A block of its own: variables that begin in it end with it."""
        self.line(f"{head} {{".lstrip())
        names, before = len(self.names), self.repeats
        self.nesting += 1
        self.repeats *= repeats
        self.protected += protected
        yield
        self.protected -= protected
        self.repeats = before
        self.nesting -= 1
        del self.names[names:]
        self.line("}")

    def spend(self, steps: int) -> None:
        """Count what is executed here."""
        self.cost += steps * self.repeats

    def reserve(self, size: int) -> bool:
        """Whether the frame can have so many bytes more."""
        if (self.own_stack + size) * RECURSION + self.callee_stack > STACK_LIMIT:
            return False
        self.own_stack += size
        return True

    def variable(self) -> str:
        """The name of a value."""
        return self.names[self.choices.draw(24) % len(self.names)]

    def constant(self) -> str:
        """A literal: mostly small, sometimes one that needs all bits."""
        small = self.choices.draw(64)
        if small < 60:
            return f"{small + 1}UL"
        return f"{(small + 1) * 0x9E37_79B9_7F4A_7C15 % (1 << 64):#x}UL"

    def value(self, levels: int = 2) -> str:
        """An expression."""
        kind = self.choices.draw(10) if levels else 0
        if kind == 0:
            return self.variable()
        left = self.value(levels - 1)
        if kind < 5:
            operator = self.choices.pick("+", "^", "-", "*", "&", "|")
            return f"({left} {operator} {self.constant()})"
        if kind < 7:
            return f"({left} {self.choices.pick('>>', '<<')} {self.choices.draw(63) + 1})"
        operator = self.choices.pick("+", "^", "-", "*", "/", "%", "&")
        right = self.value(levels - 1)
        if operator in "/%":
            right = f"({right} | 1)"
        return f"({left} {operator} {right})"

    def condition(self) -> str:
        """Something that is true for some values."""
        mask = (1 << self.choices.draw(4)) - 1
        if not mask:
            return f"{self.variable()} > {self.constant()}"
        return f"({self.variable()} & {mask}) {self.choices.pick('==', '!=')} {mask >> 1}"

    def give(self, value: str) -> None:
        """Return this value."""
        if self.shape is Shape.STRUCT:
            self.line(f"s.v[0] = {value};")
            self.line("return s;")
        elif self.shape is Shape.DOUBLES:
            self.line(f"return (double)(long)(({value}) & 0xfffff);")
        elif self.shape is Shape.POINTER:
            self.line(f"*out = {value};")
            self.line("return;")
        else:
            self.line(f"return {value};")

    def give_early(self) -> None:
        """A way out before the end, for some values."""
        self.feature("several_returns")
        with self.block(f"if ({self.condition()})"):
            self.give(self.value(1))
        self.spend(2)

    def assign(self) -> None:
        """The simplest statement."""
        self.line(f"x {self.choices.pick('^=', '+=', '-=', '|=', '=', '*=')} {self.value()};")
        self.spend(2)

    def statement(self) -> None:
        """One statement; the simplest where the one that was drawn cannot stand."""
        kind = self.unit.select([None, *self.kinds])
        if kind is None or not kind.fits(self):
            self.assign()
        else:
            kind.write(self)

    def more(self, percent: int) -> None:
        """Any number of statements, each as likely to be followed by one more."""
        while self.choices.chance(percent):
            self.statement()


@dataclass(frozen=True, slots=True)
class Statement:
    """A kind of statement, and where it can stand."""

    write: Callable[[Body], None]
    weight: int = 1
    calls: bool = True
    """Not in a leaf."""
    sized_at_run: bool = False
    """The CFA may leave SP for it."""
    fixed_frame: bool = False
    """Only where the CFA stays on SP."""
    labels: bool = False
    """Only once in a function, and where nothing around it must not be jumped into."""
    opens: bool = False
    """It has statements inside."""
    language: str = ""

    def fits(self, body: Body) -> bool:
        """Whether it can stand here."""
        return not (
            (self.calls and body.leaf)
            or (self.sized_at_run and body.moves_stack)
            or (self.fixed_frame and not body.moves_stack)
            or (self.labels and (body.jumps or body.protected))
            or (self.opens and body.nesting >= _DEEPEST)
            or (self.language not in ("", body.unit.language))
        )
