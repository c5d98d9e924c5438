"""What the template source draws from: names, frames with slots, fillers; and how texts are made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.packaged import packaged

T = TypeVar("T")
U = TypeVar("U")

DATA = packaged("epbench.memfail")
CATEGORIES = ("person", "pet", "character")


@cache
def bank(name: str) -> Mapping[str, Any]:
    """A file of `data/`."""
    content: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return content


@dataclass(frozen=True)
class Entity:
    """Somebody whom an essay is about.

    Attributes:
        name: in full; no other entity's name contains it.
        category: of `CATEGORIES`.
        feminine: which pronouns are used.
    """

    name: str
    category: str
    feminine: bool

    @property
    def words(self) -> dict[str, str]:
        """Slots of frames: the name and its pronouns."""
        she, her, her_obj, hers = ("she", "her", "her", "hers") if self.feminine else ("he", "his", "him", "his")
        return {
            "name": self.name,
            "she": she,
            "She": she.capitalize(),
            "her": her,
            "Her": her.capitalize(),
            "her_obj": her_obj,
            "hers": hers,
        }


def pairs(first: Sequence[T], second: Sequence[U], n: int, draws: RandomStream, what: str) -> list[tuple[T, U]]:
    """n different pairs in random order, in which no member is used twice more often than it must.

    Args:
        first: different values.
        second: different values.
        n: at most `len(first) * len(second)`.
        draws: the stream of this use.
        what: is made of the pairs, for the message.

    Raises:
        BadInput: there are not so many pairs.
    """
    if n > len(first) * len(second):
        raise BadInput(f"--rows: {n} {what} would be needed and the lists give {len(first) * len(second)}; take fewer")
    left, right = draws.sample(first, len(first)), draws.sample(second, len(second))
    drawn = [(left[i % len(left)], right[(i % len(left) + i // len(left)) % len(right)]) for i in range(n)]
    return draws.sample(drawn, n)


def spread(values: Sequence[T], n: int, draws: RandomStream) -> list[T]:
    """n values in random order, each as often as any other (one more of the first ones, where n does not divide)."""
    return draws.sample([values[i % len(values)] for i in range(n)], n)


def people(n: int, draws: RandomStream) -> list[Entity]:
    """n persons of different names."""
    names = bank("names")
    feminine = set(names["feminine"])
    drawn = pairs([*names["feminine"], *names["masculine"]], names["last"], n, draws, "names of persons")
    return [Entity(f"{first} {last}", "person", first in feminine) for first, last in drawn]


def entities(category: str, n: int, draws: RandomStream) -> list[Entity]:
    """n entities of a category with different names."""
    if category == "person":
        return people(n, draws)
    names = bank("names")
    ours, kinds = ("pets", "kinds") if category == "pet" else ("characters", "roles")
    drawn = pairs(names[ours], names[kinds], n, draws, f"names of {category}s")
    return [Entity(f"{name} the {kind}", category, draws.unit() < 0.5) for name, kind in drawn]


def fill(frame: str, known: Mapping[str, str], draws: RandomStream) -> str:
    """A frame as a sentence: what is known put in, every other slot drawn from the fillers' words."""
    words = bank("fillers")["words"]
    parts = [
        part if i % 2 == 0 else known[part] if part in known else draws.pick(words[part])
        for i, part in enumerate(re.split(r"{(\w+)}", frame))
    ]
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", "".join(parts))
    return text[0].upper() + text[1:]


def small_talk(entity: Entity, draws: RandomStream) -> Iterator[str]:
    """An opening sentence about an entity, and then unrelated facts, none by the same frame as another."""
    banks = bank("fillers")
    yield fill(draws.pick(banks["opening"][entity.category]), entity.words, draws)
    for frame in draws.sample(banks[entity.category], len(banks[entity.category])):
        yield fill(frame, entity.words, draws)
