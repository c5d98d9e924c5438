"""Long-Hop from templates: chains of habits, and multiple-choice questions whose options give nothing away.

Paper: Section 4, task 4, and Appendix B.6. No anchor appears in two chains. The wrong options are the last anchors of
other chains, each used equally often: all five options appear in stored facts, and none is more frequent than another.
Half of the chains are about a named person (Appendix B.7), whose name leads to every fact of the chain. In the other half
the question leads only to the first fact, and each fact to the next.
"""

from __future__ import annotations

from itertools import pairwise

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset.schema import CHAIN, CHOICES, FACTS, LETTERS, OPTIONS_MARK, Row
from epbench.memfail.templates.bank import Entity, bank, fill, pairs, people, spread

HOPS = (1, 2, 3)


def long_hop_rows(n: int, seed: int) -> list[Row]:
    """Return n rows with 1, 2 and 3 hops, each number equally often.

    Raises:
        BadInput: There are fewer rows than options, or more than the lists allow.
    """
    if n < len(LETTERS):
        raise BadInput(f"rows: expected at least {len(LETTERS)} for long_hop, whose rows share their options, got {n}")
    stream = RandomStream("memfail chains", seed, n)
    content = bank("long_hop")
    hops = sorted(spread(HOPS, n, stream))
    made = pairs(content["objects"], content["verbs"], sum(hops) + 2 * n, stream, "anchors")
    anchors = iter([f"{verb} {thing}" for thing, verb in made])
    chains = [[next(anchors) for _ in range(k + 2)] for k in hops]
    ends = stream.sample([chain[-1] for chain in chains], n)
    letters, named = spread(LETTERS, n, stream), spread((True, False), n, stream)
    persons = iter(people(sum(named), stream))
    numbers = [hops[:i].count(k) + 1 for i, k in enumerate(hops)]
    rows = []
    for k, number, chain, letter, of_person in zip(hops, numbers, chains, letters, named, strict=True):
        at = ends.index(chain[-1])
        options = stream.sample([ends[(at + i) % n] for i in range(1, len(LETTERS))], len(LETTERS) - 1)
        options.insert(LETTERS.index(letter), chain[-1])
        person = next(persons) if of_person else None
        rows.append(_row(f"longhop-{k}hop-{number:03}", person, chain, options, letter, stream))
    return rows


def _row(
    id_: str, person: Entity | None, chain: list[str], options: list[str], letter: str, stream: RandomStream
) -> Row:
    voice = bank("long_hop")["voices"]["person" if person else "self"]
    known = person.words if person else {}
    facts = [fill(stream.pick(voice["facts"]), known | {"from": a, "to": b}, stream) for a, b in pairwise(chain)]
    stem = fill(stream.pick(voice["stems"]), known | {"head": chain[0]}, stream)
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True))
    return {
        "id": id_,
        "hop_count": len(chain) - 2,
        **_padded(FACTS, facts),
        **_padded(CHAIN, chain),
        "graded_question": f"{stem}{OPTIONS_MARK}{listed}",
        "ground_truth_answer": chain[-1],
        **dict(zip(CHOICES, options, strict=True)),
        "correct_choice": letter,
    }


def _padded(columns: tuple[str, ...], values: list[str]) -> dict[str, str | None]:
    return dict(zip(columns, [*values, *[None] * (len(columns) - len(values))], strict=True))
