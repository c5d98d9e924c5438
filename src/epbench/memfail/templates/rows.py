"""MemFail rows from templates, without a model: seeded, up to `MOST_ROWS` of them, and decidable by exact rules.

Entities, conditions, preferences and anchors appear word for word in the stored texts, so that a judge without a model can
find them. The limits of the published rows are absent by construction: names are unique in a store, people named in
misleading questions have no essay, answers are balanced, Easy and Hard are paired, and no option gives itself away. The
harder rows have these properties too, but their questions cannot be answered by comparing words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset import revision
from epbench.memfail.dataset.schema import LETTERS, Row, long_hop_row
from epbench.memfail.templates.bank import Entity, bank, families, fill, pairs, people, spread, strangers
from epbench.memfail.templates.essays import EASY, HARD, conditional_rows, persona_rows

PREFERENCES = (2, 3, 4, 5)
TALK_SENTENCES = 3  # sentences of a message of `revision` that tells nothing that is asked for


def coexisting_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows with 2, 3, 4 and 5 preferences that are true side by side, each number equally often.

    Paper: Section 4, task 2. A category is a kind of thing on an occasion (`hats on stage`). No preference is named in another
    row, so exactly the facts of a row answer its question. The questions of the harder rows describe the occasion and ask for
    the category in other words: they share no word of meaning with the facts.
    """
    stream, content = RandomStream("memfail preferences", seed, n), bank("coexisting")
    scenarios = bank("coexisting_harder")
    groups = {
        category: group
        for group in content["groups"]
        for category in group["categories"]
        if not harder or category in scenarios["asks"]
    }
    occasions, kinds = (
        {category: stream.sample([*group[part]], len(group[part])) for category, group in groups.items()}
        for part in ("occasions", "kinds")
    )
    # Every frame and reason meet once on an occasion, or facts would differ by the name of the thing alone.
    wordings = [*product(content["frames"], content["reasons"])]
    every_occasion = [occasion for group in content["groups"] for occasion in group["occasions"]]
    decks = {occasion: stream.sample(wordings, len(wordings)) for occasion in every_occasion}
    drawn = pairs([*groups], range(min(map(len, occasions.values()))), n, stream, "categories of preferences")
    rows = []
    for (category, number), size in zip(drawn, spread(PREFERENCES, n, stream), strict=True):
        occasion = occasions[category][number]
        names = [f"{kinds[category].pop()} {groups[category]['categories'][category]}" for _ in range(size)]
        facts = []
        for name in names:
            frame, reason = decks[occasion].pop()
            facts.append(fill(frame, {"name": name, "occasion": occasion, "reason": reason}, stream))
        if harder:
            scene = {"scene": scenarios["scenes"][occasion], "ask": scenarios["asks"][category]}
        else:
            scene = {"scene": groups[category]["occasions"][occasion], "category": category}
        rows.append(
            {
                "preference_category": f"{category} {occasion}",
                "preferences": names,
                "preference_facts": facts,
                "question": fill(stream.pick((scenarios if harder else content)["questions"]), scene, stream),
                "ground_truth_answer": ", ".join(names),
            }
        )
    return rows


def long_hop_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows with 1, 2 and 3 hops, each equally often.

    Paper: Section 4, task 4, and Appendix B.6. No anchor appears in two chains. The wrong options are the last anchors of
    other chains, each used equally often: all five options appear in stored facts, and none is more frequent than another.
    Half of the chains are about a named person (Appendix B.7), whose name leads to every fact of the chain. In the other half
    the question leads only to the first fact, and each fact to the next.

    In the harder rows, anchors are moods, feelings and what follows from them, many of them about the same things, and at
    least five chains share a person, whose name then leads to all of them. The options of a row are the ends of these chains.
    BadInput if there are fewer rows than options.
    """
    if n < len(LETTERS):
        raise BadInput(f"rows: expected at least {len(LETTERS)} for long_hop, whose rows share their options, got {n}")
    stream, content = RandomStream("memfail chains", seed, n), bank("long_hop_harder" if harder else "long_hop")
    hops = sorted(spread((1, 2, 3), n, stream))
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


def revision_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows, each about three people of its own, with facts that are corrected, withdrawn, restated or told again.

    Every message names whom it is about, and what it is about where it withdraws something. In the harder rows all three people
    have one family name, a fact is told in other words when it is corrected, restated or told again, a correction does not name
    what it corrects, a withdrawal points at its fact by another word, and questions share no word of meaning with what was told.
    """
    stream = RandomStream("memfail revisions", seed, n)
    circles = families([revision.N_SUBJECTS] * n, stream) if harder else strangers(n, stream)
    return [
        _RevisionTexts(circle, RandomStream("memfail revision", seed, i), harder).row()
        for i, circle in enumerate(circles)
    ]


class _RevisionTexts:
    """Makes the texts of one row, about three people."""

    def __init__(self, circle: Sequence[Entity], stream: RandomStream, harder: bool) -> None:
        plain, self._stream, self._circle = bank("revision"), stream, circle
        self._frames = bank("revision_harder") if harder else plain
        self._talk = stream.one_by_one(plain["talk"])
        self._topics = plain["topics"]
        self._picked = stream.sample([*self._topics], revision.N_TOPICS)
        self._about = [(circle[subject], self._picked[topic]) for subject, topic, _ in revision.FACTS]
        left = {topic: stream.sample(self._topics[topic]["values"], len(revision.FACTS)) for topic in self._picked}
        self._values = [left[topic].pop() for _, topic in self._about]
        self._new = {number: left[self._about[number][1]].pop() for number in revision.facts_with("corrected")}

    def row(self) -> Row:
        """Return the row."""
        return revision.revision_row(
            [person.name for person in self._circle],
            self._picked,
            self._values,
            self._new,
            [(said, self._message(*said)) for said in revision.messages(self._stream)],
            [self._question(kind, number) for kind, number in revision.asked()],
            [self._finished(self._frames["abstention"], self._words(number)) for number in range(len(revision.FACTS))],
        )

    def _message(self, act: revision.Act, numbers: Sequence[int]) -> str:
        if act == "talks":
            return " ".join(self._small_talk() for _ in range(TALK_SENTENCES))
        frame = self._stream.pick(self._frames["tells one" if len(numbers) == 1 and act == "tells" else act])
        if act == "tells":
            apart = "{talk} {second}" in frame  # small talk may be about somebody else, whom a pronoun would mean
            told = [
                self._clause(number, self._frames["topics"], self._values[number], named=place == 0 or apart)
                for place, number in enumerate(numbers)
            ]
            return self._finished(frame, {"first": f"{told[0]}.", "second": f"{told[-1]}."})
        (number,) = numbers
        old = self._values[number]
        clause = self._clause(number, self._topics, self._new.get(number, old), named=act != "tells again")
        return self._finished(frame, self._words(number) | {"clause": clause, "old": old})

    def _question(self, kind: revision.Asked, number: int) -> str:
        topic = self._frames["topics"][self._about[number][1]]
        frames = self._frames["first questions"] if kind == "first" else topic["questions"]
        return self._finished(self._stream.pick(frames), self._words(number))

    def _clause(self, number: int, topics: Mapping[str, Any], value: str, *, named: bool) -> str:
        """The statement of a fact in the words of these topics, about a name or a pronoun."""
        (who, topic), words = self._about[number], self._about[number][0].words
        by = (who.name, f"{who.name}'s", who.name) if named else (words["she"], words["her"], words["her_obj"])
        return str(topics[topic]["clause"].format(who=by[0], whose=by[1], whom=by[2], value=value, **words))

    def _words(self, number: int) -> dict[str, str]:
        who, topic = self._about[number]
        about = {**self._topics[topic], **self._frames["topics"][topic]}
        return {name: about[name].format(name=who.name) for name in ("about", "hint") if name in about} | who.words

    def _small_talk(self) -> str:
        return fill(next(self._talk), {}, self._stream)

    def _finished(self, frame: str, known: Mapping[str, str]) -> str:
        """Fill a frame; every sentence begins with a capital."""
        talk = {"talk": self._small_talk()} if "{talk}" in frame else {}
        text = fill(frame, {**known, **talk}, self._stream)
        return re.sub(r"(?<=[.!?] )[a-z]", lambda match: match[0].upper(), text)


_MAKERS: Mapping[str, tuple[Callable[[int, int, bool], list[Row]], tuple[int, int]]] = {
    EASY: (partial(conditional_rows, EASY), (1440, 1440)),
    HARD: (partial(conditional_rows, HARD), (1440, 1440)),
    "coexisting_facts": (coexisting_rows, (1000, 490)),
    "persona_retrieval": (persona_rows, (4400, 3000)),
    "long_hop": (long_hop_rows, (1242, 910)),
    "revision": (revision_rows, (3666, 3630)),
}
MOST_ROWS: Mapping[str, tuple[int, int]] = {config: most for config, (_, most) in _MAKERS.items()}
"""The most rows of each config, plain and harder: no name, behavior, category or anchor may occur in two rows."""


def check_rows(configs: Iterable[str], n: int, harder: bool = False) -> None:
    """Refuse a number of rows of each config that the templates cannot give; the message says what is possible."""
    if n < 1:
        raise BadInput(f"rows: expected at least 1, got {n}")
    most, config = min((MOST_ROWS[config][harder], config) for config in configs)
    if n > most:
        kind = "harder rows" if harder else "rows"
        raise BadInput(f"rows: templates give at most {most:,} {kind} of {config}, got {n:,}; ask for fewer")


def make_rows(config: str, n: int = 100, seed: int = 0, harder: bool = False) -> list[Row]:
    """Return n rows of a known config with the published columns; the same seed and n give the same rows on any machine.

    n is at least 1 (5 for long_hop) and at most as in `MOST_ROWS`. Of `harder` rows, questions have to be answered by
    inference, not by comparing words.
    """
    check_rows([config], n, harder)
    return _MAKERS[config][0](n, seed, harder)
