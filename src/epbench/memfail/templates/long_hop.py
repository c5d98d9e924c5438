"""Long-Hop from templates: chains of habits, and multiple-choice questions whose options give nothing away.

Paper: Section 4, task 4, and Appendix B.6. No anchor appears in two chains. The wrong options are the last anchors of
other chains, each used equally often: all five options appear in stored facts, and none is more frequent than another.
Half of the chains are about a named person (Appendix B.7), whose name leads to every fact of the chain. In the other half
the question leads only to the first fact, and each fact to the next.

In the harder rows, anchors are moods, feelings and what follows from them, many of them about the same things, and at least
five chains share a person, whose name then leads to all of them. The options of a row are the ends of these chains.
"""

from __future__ import annotations

from itertools import pairwise

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset.schema import LETTERS, Row, long_hop_row
from epbench.memfail.templates.bank import bank, fill, pairs, people, spread

HOPS = (1, 2, 3)


def long_hop_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows with 1, 2 and 3 hops, each equally often; `harder`: chains share their persons, and what they are about.

    Raises:
        BadInput: There are fewer rows than options, or more than the lists allow.
    """
    if n < len(LETTERS):
        raise BadInput(f"rows: expected at least {len(LETTERS)} for long_hop, whose rows share their options, got {n}")
    stream, content = RandomStream("memfail chains", seed, n), bank("long_hop_harder" if harder else "long_hop")
    hops = sorted(spread(HOPS, n, stream))
    phrases = pairs(content["objects"], content["verbs"], sum(hops) + 2 * n, stream, "anchors")
    anchors = iter([f"{verb} {thing}" for thing, verb in phrases])
    chains = [[next(anchors) for _ in range(k + 2)] for k in hops]
    # Chains of one group offer their ends to one another as options, and share a person if rows are harder.
    group = spread(range(n // len(LETTERS)), n, stream) if harder else [0] * n
    ends = [[chain[-1] for chain, of in zip(chains, group, strict=True) if of == i] for i in range(max(group) + 1)]
    circles = [stream.sample(members, len(members)) for members in ends]
    letters = spread(LETTERS, n, stream)
    named = spread((True, False), max(group) + 1 if harder else n, stream)
    drawn = iter(people(sum(named), stream))
    persons = [next(drawn) if of_person else None for of_person in named]  # None is the user
    rows = []
    for i, (k, chain, letter) in enumerate(zip(hops, chains, letters, strict=True)):
        circle, at = circles[group[i]], circles[group[i]].index(chain[-1])
        options = [circle[(at + j) % len(circle)] for j in range(1, len(LETTERS))]
        options = stream.sample(options, len(options))
        options.insert(LETTERS.index(letter), chain[-1])
        person = persons[group[i] if harder else i]
        voice, known = content["voices"]["person" if person else "self"], person.words if person else {}
        facts = [fill(stream.pick(voice["facts"]), known | {"from": a, "to": b}, stream) for a, b in pairwise(chain)]
        stem = fill(stream.pick(voice["stems"]), known | {"head": chain[0]}, stream)
        rows.append(long_hop_row(f"longhop-{k}hop-{hops[:i].count(k) + 1:03}", facts, chain, stem, options))
    return rows
