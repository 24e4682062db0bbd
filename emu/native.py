"""Loads and stores at host addresses: compiled, or through ctypes with the compiler off.

Everything that reads guest memory or a packed table does it through these, so that one
text serves the compiled hook, the compiled walker and NUMBA_DISABLE_JIT=1.
Addresses are int64 host addresses that the caller has checked; nothing here checks them.
"""

import ctypes
from typing import TYPE_CHECKING, Any

import numba

from emu.compiled import choose_cache

choose_cache()
_config: Any = numba.config
COMPILED = not _config.DISABLE_JIT
"""Numba compiles; otherwise every function of the core runs as plain Python."""

_SIGN = 1 << 63


def _signed(value: int) -> int:
    return ((value + _SIGN) & (2 * _SIGN - 1)) - _SIGN


if TYPE_CHECKING or not COMPILED:

    def load64(address: int) -> int:
        """The int64 at an address, in host byte order."""
        return ctypes.c_int64.from_address(int(address)).value

    def load32(address: int) -> int:
        """The int32 at an address, in host byte order."""
        return ctypes.c_int32.from_address(int(address)).value

    def load8(address: int) -> int:
        """The unsigned byte at an address."""
        return ctypes.c_uint8.from_address(int(address)).value

    def store64(address: int, value: int) -> None:
        """Store the low 64 bits."""
        ctypes.c_int64.from_address(int(address)).value = _signed(int(value))

    def store32(address: int, value: int) -> None:
        """Store the low 32 bits."""
        ctypes.c_uint32.from_address(int(address)).value = int(value) & 0xFFFFFFFF

    def store8(address: int, value: int) -> None:
        """Store the low 8 bits."""
        ctypes.c_uint8.from_address(int(address)).value = int(value) & 0xFF

    def swap64(value: int) -> int:
        """The int64 with its bytes in reverse order."""
        return _signed(int.from_bytes((int(value) % (2 * _SIGN)).to_bytes(8, "little"), "big"))

    def address_of(pointer: object) -> int:
        """A void pointer as a number."""
        raise NotImplementedError("the hook exists compiled only")

    def signed(value: object) -> int:
        """A number of any integer type as int64."""
        raise NotImplementedError("the hook exists compiled only")

    def call_reg_read(function: int, engine: int, register: int, place: int) -> int:
        """Call int function(engine, int register, void *place) at a host address."""
        raise NotImplementedError("the hook exists compiled only")

    def call_stop(function: int, engine: int) -> int:
        """Call int function(engine) at a host address."""
        raise NotImplementedError("the hook exists compiled only")

    def call_next(function: int, handle: int, place: int, target: int) -> bool:
        """Call bool function(handle, &place[0], &place[1], &place[2], target) at an address.

        `place` is the address of three words.
        """
        word = ctypes.c_size_t
        kind = ctypes.CFUNCTYPE(ctypes.c_bool, word, word, word, word, word)
        return bool(kind(int(function))(handle, place, place + 8, place + 16, target))

    def add64(left: int, right: int) -> int:
        """The sum modulo 2^64, as int64."""
        return _signed(int(left) + int(right))

    def below(left: int, right: int) -> bool:
        """``left < right``, both taken as unsigned 64-bit numbers."""
        return int(left) % (2 * _SIGN) < int(right) % (2 * _SIGN)

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def _load(bits: int, signed: bool) -> Any:
        @intrinsic
        def load(typing_context: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
                value = builder.load(pointer, align=1)
                if bits == 64:
                    return value
                extend = builder.sext if signed else builder.zext
                return extend(value, ir.IntType(64))

            return types.int64(types.int64), generate

        return load

    def _store(bits: int) -> Any:
        @intrinsic
        def store(typing_context: Any, address: Any, value: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
                word = arguments[1]
                if bits < 64:
                    word = builder.trunc(word, ir.IntType(bits))
                builder.store(word, pointer, align=1)
                return context.get_dummy_value()

            return types.void(types.int64, types.int64), generate

        return store

    @intrinsic
    def swap64(typing_context: Any, value: Any) -> Any:
        """The int64 with its bytes in reverse order."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bswap(arguments[0])

        return types.int64(types.int64), generate

    @intrinsic
    def address_of(typing_context: Any, pointer: Any) -> Any:
        """A void pointer as a number."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ptrtoint(arguments[0], ir.IntType(64))

        return types.int64(types.voidptr), generate

    @intrinsic
    def call_reg_read(
        typing_context: Any, function: Any, engine: Any, register: Any, place: Any
    ) -> Any:
        """Call int function(engine, int register, void *place) at a host address."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, half = ir.IntType(64), ir.IntType(32)
            kind = ir.FunctionType(half, (word, half, word))
            target = builder.inttoptr(arguments[0], kind.as_pointer())
            number = builder.trunc(arguments[2], half)
            return builder.sext(builder.call(target, (arguments[1], number, arguments[3])), word)

        return types.int64(types.int64, types.int64, types.int64, types.int64), generate

    @intrinsic
    def call_stop(typing_context: Any, function: Any, engine: Any) -> Any:
        """Call int function(engine) at a host address."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, half = ir.IntType(64), ir.IntType(32)
            kind = ir.FunctionType(half, (word,))
            target = builder.inttoptr(arguments[0], kind.as_pointer())
            return builder.sext(builder.call(target, (arguments[1],)), word)

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def call_next(
        typing_context: Any, function: Any, handle: Any, place: Any, target: Any
    ) -> Any:
        """Call bool function(handle, &place[0], &place[1], &place[2], target) at an address.

        `place` is the address of three words.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, bit = ir.IntType(64), ir.IntType(1)
            kind = ir.FunctionType(ir.IntType(8), (word, word, word, word, word))
            function, handle, place, target = arguments
            words = [builder.add(place, ir.Constant(word, at)) for at in (0, 8, 16)]
            pointer = builder.inttoptr(function, kind.as_pointer())
            return builder.trunc(builder.call(pointer, (handle, *words, target)), bit)

        return types.boolean(types.int64, types.int64, types.int64, types.int64), generate

    load64 = _load(64, signed=True)
    load32 = _load(32, signed=True)
    load8 = _load(8, signed=False)
    store64 = _store(64)
    store32 = _store(32)
    store8 = _store(8)

    @numba.njit(inline="always")
    def signed(value):
        """A number of any integer type as int64."""
        return types.int64(value)

    @numba.njit(inline="always")
    def add64(left, right):
        """The sum modulo 2^64, as int64."""
        return left + right

    @numba.njit(inline="always")
    def below(left, right):
        """``left < right``, both taken as unsigned 64-bit numbers."""
        return (left ^ -0x8000000000000000) < (right ^ -0x8000000000000000)
