"""The lists that template rows are drawn from (names, sentence frames with slots, fillers), and how texts are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.packaged import packaged
from epbench.memfail.dataset.revision import N_SUBJECTS

T = TypeVar("T")
U = TypeVar("U")


@cache
def bank(name: str) -> Mapping[str, Any]:
    """Return the content of a file of `data/`, by its name without `.json`."""
    return read_json(packaged("epbench.memfail", f"{name}.json"))


@dataclass(frozen=True)
class Entity:
    """The subject of an essay."""

    name: str  # in full; no other entity's name contains it
    category: str  # one of the schema's `CATEGORIES`
    feminine: bool  # whether the pronouns are she and her, or he and his

    @property
    def words(self) -> dict[str, str]:
        """The name and its pronouns, by slot of a frame."""
        pronouns = ("she", "her", "her", "hers") if self.feminine else ("he", "his", "him", "his")
        words = {"name": self.name, **dict(zip(("she", "her", "her_obj", "hers"), pronouns, strict=True))}
        return words | {"She": words["she"].capitalize(), "Her": words["her"].capitalize()}


def pairs(first: Sequence[T], second: Sequence[U], n: int, stream: RandomStream, what: str) -> list[tuple[T, U]]:
    """Return n distinct pairs in random order that use the distinct members of each list as evenly as possible.

    BadInput if the lists do not give that many pairs, which its message calls `what`.
    """
    if n > (most := len(first) * len(second)):
        raise BadInput(f"rows: {n} {what} are needed, but the lists give only {most}; ask for fewer rows")
    left, right = stream.sample(first, len(first)), stream.sample(second, len(second))
    drawn = [(left[i % len(left)], right[(i % len(left) + i // len(left)) % len(right)]) for i in range(n)]
    return stream.sample(drawn, n)


def spread(values: Sequence[T], n: int, stream: RandomStream) -> list[T]:
    """Return n values in random order, each equally often; if that does not come out even, the first ones once more."""
    return stream.sample([values[i % len(values)] for i in range(n)], n)


def people(n: int, stream: RandomStream) -> list[Entity]:
    """Return n people with distinct names."""
    names = bank("names")
    feminine = set(names["feminine"])
    drawn = pairs([*names["feminine"], *names["masculine"]], names["last"], n, stream, "names of people")
    return [Entity(f"{first} {last}", "person", first in feminine) for first, last in drawn]


def families(sizes: Sequence[int], stream: RandomStream) -> list[list[Entity]]:
    """Return groups of people of these sizes, in each of which all have one family name; all full names are distinct."""
    names = bank("names")
    first_names = [*names["feminine"], *names["masculine"]]
    last_names = stream.sample(names["last"], len(names["last"]))
    left = {name: stream.sample(first_names, len(first_names)) for name in last_names}
    groups = [(last_names[i % len(last_names)], size) for i, size in enumerate(sizes)]
    drawn = [[(left[name].pop(), name) for _ in range(size)] for name, size in groups]
    return [[Entity(f"{first} {name}", "person", first in names["feminine"]) for first, name in of] for of in drawn]


def strangers(n: int, stream: RandomStream) -> list[list[Entity]]:
    """Return the people of n rows, who share no name within a row, as far as there are such."""
    left, circles = people(N_SUBJECTS * n, stream), list[list[Entity]]()
    while left:
        circle = [left.pop(0)]
        for _ in range(N_SUBJECTS - 1):
            taken = {name for person in circle for name in person.name.split()}
            other = next((person for person in left if not taken & set(person.name.split())), left[0])
            left.remove(other)
            circle.append(other)
        circles.append(circle)
    return circles


def entities(category: str, n: int, stream: RandomStream) -> list[Entity]:
    """Return n entities of a category with distinct names."""
    if category == "person":
        return people(n, stream)
    names = bank("names")
    ours, kinds = ("pets", "kinds") if category == "pet" else ("characters", "roles")
    drawn = pairs(names[ours], names[kinds], n, stream, f"names of {category}s")
    return [Entity(f"{name} the {kind}", category, stream.unit() < 0.5) for name, kind in drawn]


def fill(frame: str, known: Mapping[str, str], stream: RandomStream) -> str:
    """Fill a frame: known slots get their values, and every other slot a random word from the fillers."""
    words = bank("fillers")["words"]
    parts = [
        part if i % 2 == 0 else known[part] if part in known else stream.pick(words[part])
        for i, part in enumerate(re.split(r"{(\w+)}", frame))
    ]
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", "".join(parts))
    return text[0].upper() + text[1:]


def small_talk(entity: Entity, stream: RandomStream) -> Iterator[str]:
    """Yield an opening sentence about an entity, then unrelated facts, each from a different frame."""
    banks = bank("fillers")
    yield fill(stream.pick(banks["opening"][entity.category]), entity.words, stream)
    for frame in stream.sample(banks[entity.category], len(banks[entity.category])):
        yield fill(frame, entity.words, stream)
