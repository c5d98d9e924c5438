"""Shapes: which fields an object in a file must and may have, and of which kinds; other objects are refused by name.

A field that not every version writes is optional. Fields that no shape names are ignored. A shape lives with the code that
reads files of that kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import NoneType
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import kind_named, kind_of, shown

NUMBER = (int, float)
MAYBE_TEXT = (str, NoneType)
MAYBE_NUMBER = (int, float, NoneType)
_LARGEST = 2**62
_MOST_SEEN = 1000  # different objects of one shape, of which a damaged file may have any number


@dataclass(frozen=True)
class Items:
    """A list whose items are all of one kind.

    Attributes:
        of: The kind of every item.
        n: The number of items; None for any number.
    """

    of: Kind
    n: int | None = None


@dataclass(frozen=True)
class Each:
    """An object whose fields have any names, and values of one kind.

    Attributes:
        of: The kind of every value.
    """

    of: Kind


@dataclass(frozen=True)
class Shape:
    """What an object must and may hold.

    Attributes:
        required: The kind of the value of each field that must be there.
        optional: The kind of the value of each field that may be missing.
        one_of: Sets of fields. At least one set must be there in full, for example an answer or the reason why there is
            no answer. An empty tuple asks for nothing.
    """

    required: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)
    one_of: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def seen(self) -> dict[tuple[Any, ...], list[tuple[str, Callable[[Any], bool]]] | None]:
        """What `fits` has worked out, by the names and the types of an object."""
        return {}


Kind = tuple[type, ...] | Items | Each | Shape
"""What a value may be: one of several types, a list, or an object."""


def check(where: str, found: Any, shape: Shape | Each) -> None:
    """Check an object that was read from a file.

    Args:
        where: The file, and the line if there is one, as the message names them.
        found: The value that was read.
        shape: What the value must be.

    Raises:
        BadInput: The value is not an object, lacks a field, or has a field of another type.
    """
    if not isinstance(found, dict):
        raise BadInput(f"{where}: expected an object, found {kind_of(found)}")
    if isinstance(shape, Each):
        for name, value in found.items():
            _check_value(where, name, value, shape.of)
        return
    for name, kind in shape.required.items():
        if name not in found:
            raise BadInput(f"{where}, field {name!r}: expected {_named(kind)}, found nothing")
        _check_value(where, name, found[name], kind)
    for name, kind in shape.optional.items():
        if name in found:
            _check_value(where, name, found[name], kind)
    if shape.one_of and not any(found.keys() >= set(names) for names in shape.one_of):
        expected = " or ".join(", ".join(map(repr, names)) for names in shape.one_of)
        raise BadInput(f"{where}: expected the fields {expected}, found {', '.join(map(shown, list(found)[:9]))}")


def fits(found: dict[str, Any], shape: Shape) -> bool:
    """Whether an object is seen at once to have a shape. False says nothing: `check` decides, and says what is wrong.

    What follows from the names and the types of its values is worked out once for all objects that have the same ones.
    """
    seen = shape.seen
    signature = (*found, *map(type, found.values()))
    if signature not in seen:
        if len(seen) >= _MOST_SEEN:
            return False
        seen[signature] = _values_to_look_at(found, shape)
    to_look_at = seen[signature]
    if to_look_at is None:
        return False
    for name, looks_right in to_look_at:  # noqa: SIM110 - as a generator it takes half as long again
        if not looks_right(found[name]):
            return False
    return True


def _values_to_look_at(found: dict[str, Any], shape: Shape) -> list[tuple[str, Callable[[Any], bool]]] | None:
    """What is still to be looked at in an object with these names and types; None if they do not fit."""
    if not shape.required.keys() <= found.keys():
        return None
    if shape.one_of and not any(found.keys() >= set(names) for names in shape.one_of):
        return None
    looks: list[tuple[str, Callable[[Any], bool]]] = []
    for name, value in found.items():
        kind = shape.required.get(name) or shape.optional.get(name)
        if kind is None:
            continue
        if isinstance(kind, tuple):
            if type(value) not in kind:
                return None
            if type(value) in NUMBER:
                looks.append((name, _is_moderate))
        elif isinstance(kind, Items) and isinstance(kind.of, tuple) and type(value) is list:
            looks.append((name, partial(_are_all, frozenset(kind.of), kind.n)))
        else:
            return None  # nested more deeply, which is rare
    return looks


def _is_moderate(value: float) -> bool:
    return -_LARGEST <= value <= _LARGEST


def _are_all(types: frozenset[type], n: int | None, values: list[Any]) -> bool:
    found = set(map(type, values))
    plain = found <= types and (n is None or n == len(values))
    return plain and (found.isdisjoint(NUMBER) or all(map(_is_moderate, values)))


def _check_value(where: str, name: str, value: Any, kind: Kind) -> None:
    place = f"{where}, field {name!r}"
    if isinstance(kind, Shape) and isinstance(value, dict):
        check(place, value, kind)
    elif isinstance(kind, Each) and isinstance(value, dict):
        for inner, item in value.items():
            _check_value(place, inner, item, kind.of)
    elif isinstance(kind, Items) and isinstance(value, list) and kind.n in (None, len(value)):
        for number, item in enumerate(value):
            _check_value(where, f"{name}[{number}]", item, kind.of)
    elif not isinstance(kind, tuple) or not _fits(value, kind):
        raise BadInput(f"{place}: expected {_named(kind)}, found {shown(value)}")


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a value has one of these types. A number must also be finite and of a reasonable size."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value) in types and not (isinstance(value, int) and abs(value) > _LARGEST)


def _named(kind: Kind) -> str:
    if isinstance(kind, Items):
        return "a list" if kind.n is None else f"a list of {kind.n} values"
    return " or ".join(map(kind_named, kind)) if isinstance(kind, tuple) else "an object"
