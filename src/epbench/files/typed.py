"""Which fields an object in a file must and may have, as msgspec types; other objects are refused in a line that names the field.

Fields that no type names are ignored. A type lives with the code that reads files of that kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, defstruct

from epbench.errors import BadInput
from epbench.files.text import kind_named, shown

T = TypeVar("T")

Whole = Annotated[int, Meta(ge=-(2**62), le=2**62)]  # a whole number of a reasonable size
Number = Whole | Annotated[float, Meta(ge=-(2.0**62), le=2.0**62)]
"""A finite number of a reasonable size; a whole one, too."""
Interval = tuple[Number, Number]  # two numbers

_WORDS = {"array": "a list", "object": "an object", "null": "null"}
_WORDS |= {kind.__name__: kind_named(kind) for kind in (str, int, float, bool)}
_ONE_OF = "Expected the fields"
_PATH = " - at `$"
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def fields(
    required: Mapping[str, Any], optional: Mapping[str, Any] | None = None, *one_of: Sequence[str]
) -> type[Struct]:
    """Return the type of an object.

    Fields of `optional` may be missing, for example because not every version writes them. At least one of the sets `one_of` must
    be there in full, for example an answer or the reason why there is no answer. None asks for nothing.
    """
    getters = [attrgetter(*names) for names in one_of]
    expected = " or ".join(", ".join(map(repr, names)) for names in one_of)

    def has_one(found: Struct) -> None:
        for get in getters:
            values: Any = get(found)
            if values is not UNSET and (type(values) is not tuple or UNSET not in values):
                return
        raise ValueError(f"{_ONE_OF} {expected}")

    kinds = {**required, **{name: kind | UnsetType for name, kind in (optional or {}).items()}}
    names = {re.sub(r"\W", "_", name): name for name in kinds}
    more = {"__post_init__": has_one} if one_of else None
    of_class: list[Any] = [
        (slot, kinds[name]) if name in required else (slot, kinds[name], UNSET) for slot, name in names.items()
    ]
    return defstruct("Fields", of_class, frozen=True, rename=names, namespace=more)


def typed(where: str, found: Any, kind: type[T]) -> T:
    """Return a value that was read from a file as a value of a type.

    Messages name the file, and the line or row if there is one, by `where`. The type is such as a `Struct`, `dict[str, str]` or
    what `fields` returns. BadInput if the value is not of this type; the message names the field, what was found and what
    was expected.
    """
    try:
        return convert(found, kind)
    except (ValidationError, UnicodeEncodeError):
        readable = _readable(found)
        error = _error(readable, kind)
        problem = (
            _problem(readable, kind, error) if error else ": expected names of fields in UTF-8, found half a character"
        )
        raise BadInput(where + problem) from None


def _readable(value: Any) -> Any:
    """The same without halves of surrogate pairs, which msgspec cannot name; however deeply it is nested."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    whole = text.encode("utf-8", "replace")
    return value if whole.decode() == text else json.loads(whole)


def _problem(data: Any, kind: Any, error: str) -> str:
    """What msgspec says in our words, with the name of the field and the value that was found."""
    field, value = "", data
    for name, item in _STEP.findall(error.partition(_PATH)[2].rstrip("`")):
        step = _key(data, kind, error, value) if item == "..." else int(item) if item else name
        field += f"[{step}]" if isinstance(step, int) else f".{step}" if field else step
        value = value[step]
    is_now = shown(value)
    if missing := re.match(r"Object missing required field `(.+?)`", error):
        field, is_now = f"{field}.{missing[1]}".lstrip("."), "nothing"
        value[missing[1]] = object()  # of no type: msgspec then says what is expected
        error = _error(data, kind)
        del value[missing[1]]
    elif error.startswith(_ONE_OF):
        is_now = ", ".join(map(shown, list(value)[:9])) or "none"
    error = error.replace("Number out of range", "a number of a reasonable size").replace("int | float", "float")
    expected = error.partition(_PATH)[0].removeprefix("Expected ").partition(", got ")[0]
    expected = re.sub("`(.+?)`", lambda kinds: " or ".join(_WORDS.get(k, k) for k in kinds[1].split(" | ")), expected)
    place = f", field {field!r}" if field else ""
    return f"{place}: expected {expected or 'a value'}, found {is_now}"


def _key(data: Any, kind: Any, error: str, mapping: dict[str, Any]) -> str:
    """The key of the wrong value in a mapping, which msgspec does not name: the first that alone gives the same error."""
    whole = dict(mapping)
    try:
        for key, value in whole.items():
            mapping.clear()
            mapping[key] = value
            if _error(data, kind) == error:
                return key
    finally:
        mapping.clear()
        mapping.update(whole)
    raise AssertionError(error)


def _error(data: Any, kind: Any) -> str:
    try:
        convert(data, kind)
    except ValidationError as error:
        return str(error)
    return ""
