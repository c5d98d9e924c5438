"""The config `revision` from templates: facts about three people that are corrected, withdrawn, restated or told again.

Every message names whom it is about, and what it is about where it withdraws something. In the harder rows all three people have
one family name, a fact is told in other words when it is corrected, restated or told again, a correction does not name what
it corrects, a withdrawal points at its fact by another word, and questions share no word of meaning with what was told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.dataset import revision
from epbench.memfail.dataset.schema import Row
from epbench.memfail.templates.bank import Entity, bank, families, fill, people

SENTENCES = 3
"""Sentences of a message that tells nothing that is asked for."""


def revision_rows(n: int, seed: int, harder: bool = False) -> list[Row]:
    """Return n rows, each about three people of its own."""
    stream = RandomStream("memfail revisions", seed, n)
    circles = families([revision.N_SUBJECTS] * n, stream) if harder else strangers(n, stream)
    return [_Texts(circle, RandomStream("memfail revision", seed, i), harder).row() for i, circle in enumerate(circles)]


def strangers(n: int, stream: RandomStream) -> list[list[Entity]]:
    """Return the people of n rows, who share no name within a row, as far as there are such."""
    left, circles = people(revision.N_SUBJECTS * n, stream), list[list[Entity]]()
    while left:
        circle = [left.pop(0)]
        for _ in range(revision.N_SUBJECTS - 1):
            taken = {name for person in circle for name in person.name.split()}
            other = next((person for person in left if not taken & set(person.name.split())), left[0])
            left.remove(other)
            circle.append(other)
        circles.append(circle)
    return circles


class _Texts:
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
            return " ".join(self._small_talk() for _ in range(SENTENCES))
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
