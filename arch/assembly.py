"""What a generator of programs must know of a machine: names for inline assembly, and functions.

Text for gas and for both compilers' inline assembly, as data; which of it is used, and where, is
the business of `emu.fuzz`. Sources: the psABI of each machine, "Extended Asm" and "Function
Attributes" of the GCC manual, and the assembler's manual for the CFI directives.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FunctionAttribute:
    """A function attribute that only this machine has."""

    text: str
    condition: str = "1"
    """Of the preprocessor: where the compiler knows it. Elsewhere it is left out."""
    changes_convention: bool = False
    """Calls look different: pointers to the function have a type of their own, and it cannot take
    variable arguments."""


@dataclass(frozen=True, slots=True)
class FrameStep:
    """A piece of a prologue and the piece of an epilogue that undoes it, with their CFI.

    Lines are formatted with

    - `{a}`, `{b}` and `{na}`, `{nb}`: callee-saved registers, as text and by DWARF number;
    - `{h}`, `{nh}`: a register that calls may change;
    - `{size}`: bytes of its frame;
    - `{cfa}` and `{before}`: CFA - SP when it is done, and before it; `{slot}`: SP - CFA then;
    - `{base}`, `{gap}`: where a step has made SP unknown, another register, and how far below what
      that holds SP was before the step;
    - `{from}`, `{distance}`: in `at_once`, a register that holds CFA - `distance`.

    A line ``@`` says how far SP is from the CFA, wherever the CFA is on SP.
    """

    enter: tuple[str, ...]
    leave: tuple[str, ...]
    down: int = 0
    """Bytes by which SP goes down, besides `{size}`."""
    sized: int = 0
    """Greatest `{size}`; 0: it has none."""
    takes: int = 0
    """How many of `saved` it saves anywhere: `{a}`, `{b}`."""
    keeps: tuple[str, ...] = ()
    """Registers of `saved` that it always saves."""
    holds: bool = False
    """It needs `{h}` until it is undone; nothing can be called."""
    return_address: bool = False
    """It saves the return address, where that is in a register."""
    frees_stack: bool = False
    """It moves SP and nothing else, so that who knows SP from elsewhere need not undo it."""
    at_once: tuple[str, ...] = ()
    """Undoes it and all steps behind it, if these only move SP."""
    base: str = ""
    """The CFA is on this register from here on (``a``: on `{a}`, which is saved already)."""
    base_above: bool = False
    """The base is not where SP is then, but `{size}` above."""
    unknown: bool = False
    """SP is at a distance from the CFA that only the run knows; needs a base."""
    first: bool = False
    """Nothing is before it."""
    at_entry: bool = False
    """Only where SP is what it was at the entry: it saves SP."""
    last: bool = False
    """No other can follow."""
    alone: bool = False
    """The CFA is at a place of memory: only steps that move SP can follow."""


@dataclass(frozen=True, slots=True)
class HandwrittenFacts:
    """How functions are written by hand: they take one word, and return it with something added.

    Lines are formatted with `{n}` (a small number), `{label}`, `{to}` (a function), `{a}` (a saved
    register) and `{h}` (a free one).
    """

    steps: tuple[FrameStep, ...]
    saved: tuple[tuple[str, int], ...]
    """Callee-saved registers: text and DWARF number."""
    scratch: tuple[tuple[str, int], ...]
    """Registers that calls may change, but for the argument's and the result's."""
    stack: tuple[str, int]
    """SP."""
    unit: int
    """Sizes are multiples of it."""
    call_space: int
    """Bytes above SP that belong to whom is called."""
    begin: tuple[str, ...]
    """The result is the argument + `{n}`."""
    add: tuple[str, ...]
    change: tuple[str, ...]
    """`{a}` has another value."""
    scratch_change: tuple[str, ...]
    skip: tuple[str, ...]
    """Go to `{label}` for some results."""
    repeat: tuple[str, ...]
    """A loop that ends, at `{label}`, which uses `{h}`."""
    jump: tuple[str, ...]
    call: tuple[str, ...]
    """The result is what `{to}` makes of it."""
    tail: tuple[str, ...]
    back: tuple[str, ...]
    """Return."""
    before_stack: FrameStep | None = None
    """Before the first step that moves SP, unless one has saved it: where the caller's SP is not
    the CFA, it is taken for unchanged as long as nothing is said of it."""


@dataclass(frozen=True, slots=True)
class AssemblyFacts:
    """Of one machine; with none of it, programs are plain C."""

    clobbers: tuple[str, ...] = ()
    """Callee-saved integer registers that inline assembly may always say it changes."""
    frame_clobbers: tuple[str, ...] = ()
    """Those that it may only where the compiler needs no frame pointer."""
    float_clobbers: tuple[str, ...] = ()
    attributes: tuple[FunctionAttribute, ...] = ()
    frame_edges: tuple[int, ...] = ()
    """Sizes of frames about which the instructions of prologues change."""
    stack_moves: tuple[str, ...] = ()
    """Inline assembly that moves SP down and up again, noted for a CFA on SP. Text of a C string;
    `{size}` is any multiple of 16 below 4096."""
    handwritten: HandwrittenFacts | None = None
