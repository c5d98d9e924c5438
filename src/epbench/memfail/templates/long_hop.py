"""Long-Hop from templates: chains of habits, and multiple-choice questions whose options give nothing away.

Paper: Section 4, task 4, and Appendix B.6. No anchor appears in two chains. The wrong options are the last anchors of
other chains, each used equally often: all five options appear in stored facts, and none is more frequent than another.
Half of the chains are about a named person (Appendix B.7), whose name leads to every fact of the chain. In the other half
the question leads only to the first fact, and each fact to the next.

In the harder rows, anchors are moods, feelings and what follows from them, many of them about the same things, and at least
five chains share a person, whose name then leads to all of them. The options of a row are the ends of these chains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset.schema import LETTERS, Row, long_hop_row
from epbench.memfail.templates.bank import Entity, bank, fill, pairs, people, spread

HOPS = (1, 2, 3)


def long_hop_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows with 1, 2 and 3 hops, each number equally often.

    Args:
        n: Number of rows.
        seed: Seed of all draws.
        harder: Whether chains share their persons and the things that they are about.

    Raises:
        BadInput: There are fewer rows than options, or more than the lists allow.
    """
    if n < len(LETTERS):
        raise BadInput(f"rows: expected at least {len(LETTERS)} for long_hop, whose rows share their options, got {n}")
    stream = RandomStream("memfail chains", seed, n)
    content = bank("long_hop_harder" if harder else "long_hop")
    hops = sorted(spread(HOPS, n, stream))
    phrases = pairs(content["objects"], content["verbs"], sum(hops) + 2 * n, stream, "anchors")
    anchors = iter([f"{verb} {thing}" for thing, verb in phrases])
    chains = [[next(anchors) for _ in range(k + 2)] for k in hops]
    # Chains of one group offer their ends to one another as options, and share a person if rows are harder.
    group = spread(range(n // len(LETTERS)), n, stream) if harder else [0] * n
    circles = _circles([chain[-1] for chain in chains], group, stream)
    letters = spread(LETTERS, n, stream)
    persons = _half_of_them_people(max(group) + 1 if harder else n, stream)
    numbers = [hops[:i].count(k) + 1 for i, k in enumerate(hops)]
    rows = []
    for i, (k, chain, letter) in enumerate(zip(hops, chains, letters, strict=True)):
        options = stream.sample(_next_in(circles[group[i]], chain[-1]), len(LETTERS) - 1)
        options.insert(LETTERS.index(letter), chain[-1])
        person = persons[group[i] if harder else i]
        rows.append(_row(f"longhop-{k}hop-{numbers[i]:03}", content["voices"], person, chain, options, stream))
    return rows


def _circles(ends: Sequence[str], group: Sequence[int], stream: RandomStream) -> list[list[str]]:
    """Return the ends of the chains of every group in random order."""
    of_group = [[end for end, circle in zip(ends, group, strict=True) if circle == i] for i in range(max(group) + 1)]
    return [stream.sample(members, len(members)) for members in of_group]


def _half_of_them_people(n: int, stream: RandomStream) -> list[Entity | None]:
    """Return n subjects in random order: half are people, and half are None, the user."""
    named = spread((True, False), n, stream)
    persons = iter(people(sum(named), stream))
    return [next(persons) if of_person else None for of_person in named]


def _next_in(circle: list[str], end: str) -> list[str]:
    """Return the ends that follow one in a circle, as many as a row has wrong options."""
    at = circle.index(end)
    return [circle[(at + i) % len(circle)] for i in range(1, len(LETTERS))]


def _row(
    id_: str,
    voices: Mapping[str, Mapping[str, list[str]]],
    person: Entity | None,
    chain: list[str],
    options: list[str],
    stream: RandomStream,
) -> Row:
    voice = voices["person" if person else "self"]
    known = person.words if person else {}
    facts = [fill(stream.pick(voice["facts"]), known | {"from": a, "to": b}, stream) for a, b in pairwise(chain)]
    stem = fill(stream.pick(voice["stems"]), known | {"head": chain[0]}, stream)
    return long_hop_row(id_, facts, chain, stem, options)
