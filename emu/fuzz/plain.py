"""Dataclasses from the plain values that `dataclasses.asdict` and JSON make of them."""

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


class NotPlainError(ValueError):
    """What is stored is not what is wanted: another version wrote it, or it is damaged."""


def from_plain(kind: type[T], value: object) -> T:
    """An instance of a dataclass whose fields are values, tuples, dictionaries and dataclasses.

    Raises:
        NotPlainError: a field without a default is missing.
    """
    hints = typing.get_type_hints(kind)
    known = fields(cast(Any, kind))
    needed = {each.name for each in known if each.default is each.default_factory is MISSING}
    if not isinstance(value, dict) or not value.keys() >= needed:
        raise NotPlainError(f"no {kind.__name__} as it should be")
    names = [each.name for each in known if each.name in value]
    return kind(**{name: _value(hints[name], value[name]) for name in names})


def _value(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        (kind,) = (each for each in arguments if each is not type(None))
        return _value(kind, value)
    if origin is tuple:
        return tuple(_value(arguments[0], each) for each in value)
    if origin is dict:
        return {key: _value(arguments[1], each) for key, each in value.items()}
    return from_plain(kind, value) if is_dataclass(kind) and isinstance(kind, type) else value
