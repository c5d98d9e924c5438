"""Planted faults of every stage: texts, stores, retrieved memories and answers whose right label is certain.

Paper: Sections 3.2 and 5.1 (phase 3). A case is like the record of a system that has stored every fact word for word, and
retrieved what the question needs beside other memories, except for one fault. The faults in the text of one memory come
first: each function returns what a system might have made of it, or None where the fault cannot be planted with certainty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from epbench.draws import RandomStream
from epbench.memfail.dataset.load import Fact, GoldMemory, Question, QuestionRecord
from epbench.memfail.dataset.revision import REVISION
from epbench.memfail.dataset.word_rules import LETTERS, WORD, content_of, decision_of, sentences_of, words_of
from epbench.memfail.judging.diagnosis import Label

MOST_LEFT = 0.25  # share of the words of a dropped detail that may be left, because they stand elsewhere in the text

_FILLERS = frozenset(words_of("the a an my his her their its our your to"))
# What turns a statement around. A mere `not always` would weaken it and leave it half true.
_TURNS = (
    (re.compile(r"\bonly\b", re.IGNORECASE), "never"),
    (re.compile(r"\balways\b", re.IGNORECASE), "never"),
    (re.compile(r"\b(?:whenever|only when)\b", re.IGNORECASE), "except when"),
)
_PAIRS = [pair.split("/") for pair in ("before/after", "above/below", "more than/less than", "over/under")]
_PAIRS.append(["at least", "at most"])
_OPPOSITES = (*_PAIRS, *((second, first) for first, second in _PAIRS))


def without_detail(gold: GoldMemory) -> str | None:
    """The text without the sentences that carry the detail; the link stays, as a plain sentence."""
    own_words = gold.own_words
    if not own_words:
        return None
    sentences = list(sentences_of(gold.text))
    while sentences and len(own_words & content_of(" ".join(sentences))) > MOST_LEFT * len(own_words):
        most = max(range(len(sentences)), key=lambda i: len(own_words & content_of(sentences[i])))
        del sentences[most]
    if len(gold.link) > 1:
        sentences.append(f"{' '.join(gold.link)}.")
    kept = " ".join(sentence.strip() for sentence in sentences)
    return kept if content_of(gold.link[0]) <= content_of(kept) else None


def negated(gold: GoldMemory, draw: RandomStream) -> str | None:
    """The text in which the sentence that states the fact says the opposite, in one of several ways."""
    if (stated := statement(gold)) is None:
        return None
    ways = [
        stated[: match.start()] + (word.capitalize() if match[0][0].isupper() else word) + stated[match.end() :]
        for pattern, word in _TURNS
        if (match := pattern.search(stated))
    ]
    for turn, other in _OPPOSITES:
        if re.search(rf"\b{turn}\b", " ".join(gold.detail)) and (match := re.search(rf"\b{turn}\b", stated)):
            ways.append(stated[: match.start()] + other + stated[match.end() :])
    if len(gold.link) > 1 and not gold.link[-1][:1].isupper() and (span := span_of(gold.link[-1], stated)):
        ways.append(f"{stated[: span[0]]}never {stated[span[0] :]}")
    first = stated.split()[0]  # a name keeps its capital
    lowered = stated if first == "I" or first in gold.link[0].split() else stated[:1].lower() + stated[1:]
    ways.append(f"It is not true that {lowered}")
    return gold.text.replace(stated, draw.pick(ways), 1)


def statement(gold: GoldMemory) -> str | None:
    """The sentence of the text that holds most of the words of link and detail; None if none holds any of them."""
    linked = frozenset(word for text in gold.link[-1:] for word in content_of(text))
    own_words = gold.own_words
    sought = own_words if own_words and len(gold.link) == 1 else own_words | linked  # a name alone states nothing
    best = max(sentences_of(gold.text), key=lambda sentence: len(sought & content_of(sentence)))
    return best if sought & content_of(best) else None


def with_other_numbers(gold: GoldMemory) -> str | None:
    """The text with another number in place of each number of the detail."""
    numbers = sorted(set(re.findall(r"\d+", " ".join(gold.detail))), key=len, reverse=True)
    text = gold.text
    for number in numbers:
        text = re.sub(rf"(?<![\d.,:]){number}(?!\d|[.,]\d)", str(int(number) + 3), text)
    return text if text != gold.text else None


def reversed_link(gold: GoldMemory) -> str | None:
    """The text in which the two ends of a link have changed places; None if one of them is a name or not literal."""
    if len(gold.link) != 2 or gold.link[0][:1].isupper():
        return None
    first, last = (span_of(end, gold.text) for end in gold.link)
    if first is None or last is None or max(first[0], last[0]) < min(first[1], last[1]):
        return None
    ((a, b), (c, d)), text = sorted((first, last)), gold.text
    swapped = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
    return swapped[:1].upper() + swapped[1:]


def span_of(part: str, text: str) -> tuple[int, int] | None:
    """Where the words of a part stand in a text, one after another and in any form; None if they do not."""
    sought = [word for word in words_of(part) if word not in _FILLERS]
    parts = [(words_of(match[0]), match.span()) for match in WORD.finditer(text)]
    places = [(words[0], span) for words, span in parts if words and words[0] not in _FILLERS]
    for i in range(len(places) - len(sought) + 1):
        if sought and [word for word, _ in places[i : i + len(sought)]] == sought:
            return places[i][1][0], places[i + len(sought) - 1][1][1]
    return None


def under_name(gold: GoldMemory, other: str) -> str | None:
    """The text as if it were about somebody else; None if the name is not in it."""
    name, text = gold.link[0], gold.text
    if name not in text:
        return None
    first = name.split()[0]
    return re.sub(rf"\b{re.escape(first)}\b", other.split()[0], text.replace(name, other))


K = 5  # memories that are retrieved; more if the question needs more
NO_FAULT = "none"


@dataclass(frozen=True, slots=True)
class PlantedCase:
    """What a system with one fault did for one question, and the label that this deserves."""

    fault: str  # one of `FAULTS`; `none` for a faithful system, which must pass
    record: QuestionRecord  # the question with the memories that came back and the answer
    stores: Mapping[str, Sequence[str]]  # all memories by the name of the store, as `diagnose` takes them
    expected: Label  # that of a right judge


Case = tuple[QuestionRecord, Mapping[str, Sequence[str]]]
Plant = Callable[["World", Question, GoldMemory], "Case | None"]


@dataclass(frozen=True, slots=True)
class World:
    """What a fault may draw on: the facts and questions of a config, and a stream of its own."""

    facts: Sequence[Fact]
    questions: Sequence[Question]
    draw: RandomStream

    def case(
        self,
        question: Question,
        gold: GoldMemory,
        instead: Sequence[str],
        dropped: Sequence[str] = (),
        answer: str = "",
    ) -> Case:
        """The record and the store of a system that holds, and retrieves, some texts instead of that of a gold memory.

        Further texts may be dropped; the answer is the true one by default.
        """
        gone = {gold.text, *dropped}
        store = [fact.text for fact in self.facts if fact.text not in gone]
        needed = [text for memory in question.gold for text in (instead if memory == gold else [memory.text])]
        others = self.draw.sample([text for text in store if text not in needed], max(0, K - len(needed)))
        store = self.draw.sample([*store, *instead], len(store) + len(instead))
        memories = self.draw.sample([*needed, *others], len(needed) + len(others))
        k = max(K, len(memories))
        return QuestionRecord(question, k, "", tuple(memories), answer or right_answer(question)), {"": store}


def planted_cases(
    config: str, questions: Sequence[Question], facts: Sequence[Fact], n: int, seed: int
) -> list[PlantedCase]:
    """Plant each fault that the config can have into up to n questions, drawn at random; one store holds all facts."""
    cases = []
    for fault, (plant, expected) in faults_of(config).items():
        world = World(facts, questions, RandomStream("planted fault", config, fault, seed))
        for record, stores in islice(_planted(world, fault, plant), n):
            cases.append(PlantedCase(fault, record, stores, expected))
    return cases


def right_answer(question: Question) -> str:
    """The true answer; of a multiple choice, its letter."""
    choices, truth = question.choices, question.reference
    return LETTERS[choices.index(truth)] if choices else truth


def wrong_answer(question: Question, questions: Sequence[Question], draw: RandomStream) -> str | None:
    """An answer that is certainly wrong; None if the other questions offer none with no word in common."""
    if question.choices:
        return draw.pick([x for x in LETTERS[: len(question.choices)] if x != right_answer(question)])
    if question.kind == "misleading":
        return question.gold[0].text.replace(question.gold[0].link[0], question.about["asked_name"])
    if decided := decision_of(question.reference):
        return "No." if decided == "yes" else "Yes."
    avoided = content_of(question.reference) | content_of(question.text)
    others = [o.reference for o in questions if o.kind == question.kind and not avoided & content_of(o.reference)]
    return draw.pick(others) if others else None


def _planted(world: World, fault: str, plant: Plant) -> Iterator[Case]:
    """The cases of a fault; of one in a memory, questions that have no other way to pass, so no misleading ones."""
    for question in world.draw.sample(world.questions, len(world.questions)):
        if question.kind == "misleading" and fault not in OF_ANSWERS:
            continue
        for gold in world.draw.sample(question.gold, len(question.gold)):
            if case := plant(world, question, gold):
                yield case
                break


def _absent(world: World, question: Question, gold: GoldMemory) -> Case | None:
    return world.case(question, gold, [])


def _unlisted(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """The fact comes back, but the list of all memories does not have it."""
    return world.case(question, gold, [gold.text])[0], world.case(question, gold, [])[1]


def _conflated(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """Two people have become one: what is told of them stands in one memory, under the name of the other."""
    if question.config in ("coexisting_facts", "long_hop"):  # which are not about people
        return None
    known = set(words_of(gold.link[0]))
    named = {memory.link[0]: memory.text for other in world.questions for memory in other.gold}
    strangers = [name for name in named if not known & set(words_of(name))]
    if not strangers or not (moved := under_name(gold, name := world.draw.pick(strangers))):
        return None
    return world.case(question, gold, [f"{named[name]} {moved}"], dropped=[named[name]])


def _replaced_by(change: Callable[[World, Question, GoldMemory], str | None]) -> Plant:
    """What is held instead of a gold memory."""
    return lambda world, question, gold: (
        world.case(question, gold, [text]) if (text := change(world, question, gold)) else None
    )


def _not_retrieved(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """Everything is held; of what the question needs one memory does not come back, but one about something else does."""
    record, stores = world.case(question, gold, [gold.text])
    foreign = [fact.text for fact in world.facts if fact.row != question.row and not _mentions(fact.text, gold)]
    if not (elsewhere := [text for text in foreign if text not in record.memories]):
        return None
    memories = tuple(world.draw.pick(elsewhere) if text == gold.text else text for text in record.memories)
    others = {memory.text for memory in question.gold}
    kept = tuple(text for text in memories if text in others or not _mentions(text, gold))
    return replace(record, memories=kept), stores


def _mentions(text: str, gold: GoldMemory) -> bool:
    return bool(content_of(gold.link[0]) & content_of(text))


def _wrong_answer(world: World, question: Question, gold: GoldMemory) -> Case | None:
    answer = wrong_answer(question, world.questions, world.draw)
    return world.case(question, gold, [gold.text], answer=answer) if answer else None


FAULTS: Mapping[str, tuple[Plant, Label]] = {
    NO_FAULT: (_replaced_by(lambda _world, _question, gold: gold.text), "correct"),
    "fact absent": (_absent, "storage_error"),
    "fact not listed": (_unlisted, "storage_error"),
    "question stored": (_replaced_by(lambda _world, question, _gold: question.query), "storage_error"),
    "people conflated": (_conflated, "storage_error"),
    "detail dropped": (_replaced_by(lambda _world, _question, gold: without_detail(gold)), "summary_error"),
    "negation turned": (_replaced_by(lambda world, _question, gold: negated(gold, world.draw)), "summary_error"),
    "number changed": (_replaced_by(lambda _world, _question, gold: with_other_numbers(gold)), "summary_error"),
    "direction reversed": (_replaced_by(lambda _world, _question, gold: reversed_link(gold)), "summary_error"),
    "wrong fact retrieved": (_not_retrieved, "retrieval_error"),
    "answer wrong": (_wrong_answer, "reasoning_error"),
}
"""By name, how a fault is planted and the label that it deserves."""
OF_ANSWERS = (NO_FAULT, "answer wrong")
"""Faults that are planted into misleading questions too: a fault of a memory lets these pass vacuously."""

# Those of `revision`: what was corrected or withdrawn is answered all the same, or a neighbour is gone.
_ALONE = ("told again", "untouched")


def _of_groups(plant: Plant, *groups: str) -> Plant:
    """The same fault, in questions of some groups alone."""
    return lambda world, question, gold: plant(world, question, gold) if question.group in groups else None


def _gone(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """No message is held that tells the fact, but all others are."""
    same = {fact.text for fact in world.facts if fact.id in gold.also}
    sibling = {question.sibling.text} if question.sibling else set()
    return world.case(question, gold, [], dropped=[*same, *sibling])


_RIGHT = {
    "corrected": "It is {truth}. It is no longer {other}.",
    "said first": "At first you told me {truth}, and later {other}.",
    "withdrawn": "You asked me to forget that.",
}
_GIVEN_UP = {
    "corrected": ("It is {other}.", "It is {other}. It is {truth}.", "You mentioned {other} and {truth}."),
    "withdrawn": ("It is {other}.", "I am not sure, but I think it is {other}.", "I was to forget that it is {other}."),
}


def _faithful(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """Everything is held and came back, and the answer is right, in one word or in a sentence."""
    frame = world.draw.pick(["", _RIGHT.get(question.group, "It is {truth}.")])
    return world.case(question, gold, [gold.text], answer=_filled(frame, question))


def _other_answered(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """Everything is held and came back, but the answer has the value that was given up."""
    return world.case(question, gold, [gold.text], answer=_filled(world.draw.pick(_GIVEN_UP[question.group]), question))


def _filled(frame: str, question: Question) -> str:
    return frame.format(truth=question.reference, other=question.about["other"])


def _wrong_revision(world: World, question: Question, gold: GoldMemory) -> Case | None:
    """An answer that knows nothing, or gives a neighbour's value for what was withdrawn."""
    answer = f"It is {gold.link[-1]}." if question.kind == "forgotten" else "I have no information about that."
    return world.case(question, gold, [gold.text], answer=answer)


REVISION_FAULTS: Mapping[str, tuple[Plant, Label]] = {
    NO_FAULT: (_faithful, "correct"),
    "fact absent": (_of_groups(_gone, *_ALONE), "storage_error"),
    "fact not listed": (_of_groups(_unlisted, "untouched"), "storage_error"),
    "correction absent": (_of_groups(_absent, "corrected"), "storage_error"),
    "wrong fact retrieved": (_of_groups(_not_retrieved, "restated", "kept", *_ALONE), "retrieval_error"),
    "answer wrong": (_wrong_revision, "reasoning_error"),
    "corrected value answered": (_of_groups(_other_answered, "corrected"), "stale"),
    "withdrawn value answered": (_of_groups(_other_answered, "withdrawn"), "resurrected"),
    "neighbour gone": (_of_groups(_gone, "withdrawn", "restated", "kept"), "lost_with_it"),
}
ALL_FAULTS = {**FAULTS, **{name: fault for name, fault in REVISION_FAULTS.items() if name not in FAULTS}}


def faults_of(config: str) -> Mapping[str, tuple[Plant, Label]]:
    """Return the faults that are planted into a config."""
    return REVISION_FAULTS if config == REVISION else FAULTS
