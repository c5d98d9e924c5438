"""The checks of Persona-Retrieval rows (paper: Section 4, task 3); the reference makes only some of those about names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from epbench.memfail.dataset.schema import Row
from epbench.memfail.generation.asking import Item
from epbench.memfail.generation.specs import PersonaSpec
from epbench.memfail.generation.words import ENOUGH, literally_in, missing, quoted, share
from epbench.memfail.templates.persona import SENTENCES
from epbench.memfail.validation.text_statistics import normalised, sentences

_FIRST_PERSON = re.compile(r"(?<![\w.])(?:I|[Mm]e|[Mm]y|[Ww]e|[Oo]ur)\b(?!\.\w)")
_SPEECH = re.compile(r"[\"“][^\"”]*[\"”]")  # what somebody says in the essay may be in the first person


def questions_have_their_number(spec: PersonaSpec, row: Item) -> str | None:
    """There are three questions."""
    n = len(row["questions"])
    return None if n == len(spec.strangers) else f"expected {len(spec.strangers)} questions, found {n}"


def essay_has_its_length(spec: PersonaSpec, row: Item) -> str | None:
    """The essay has 10 to 15 sentences (Section 4)."""
    low, high = SENTENCES
    n = len(sentences(row["essay"]))
    return None if low <= n <= high else f"the essay has {n} sentences, expected {low} to {high}"


def essay_names_person(spec: PersonaSpec, row: Item) -> str | None:
    """The essay has the full name."""
    return None if spec.entity in row["essay"] else f"the essay does not name {spec.entity} in full"


def essay_names_no_stranger(spec: PersonaSpec, row: Item) -> str | None:
    """The essay says nothing about those whom the misleading questions ask about."""
    named = [name for name in spec.strangers if name and literally_in(name, row["essay"])]
    return f"the essay names {named[0]}, who has to stay unknown" if named else None


def essay_is_in_third_person(spec: PersonaSpec, row: Item) -> str | None:
    """The essay has no `I`, `me`, `my`, `we` or `our`, except in quotation marks."""
    found = _FIRST_PERSON.search(_SPEECH.sub("", row["essay"]))
    return f"the essay has {found[0]!r}, expected the third person" if found else None


def questions_name_whom_they_ask_about(spec: PersonaSpec, row: Item) -> str | None:
    """Each question names the person of its slot in full, and nobody else of the row."""
    everybody = {spec.entity, *filter(None, spec.strangers)}
    for number, (stranger, question) in enumerate(zip(spec.strangers, row["questions"], strict=True), 1):
        wanted = stranger or spec.entity
        if wanted not in question["text"]:
            return f"question {number} does not name {wanted} in full: {quoted(question['text'])}"
        others = [name for name in everybody - {wanted} if literally_in(name, question["text"])]
        if others:
            return f"question {number} is about {wanted}, but also names {others[0]}"
    return None


def questions_differ(spec: PersonaSpec, row: Item) -> str | None:
    """No question comes twice, not even about another person."""
    texts = []
    for stranger, question in zip(spec.strangers, row["questions"], strict=True):
        texts.append(normalised(question["text"]).replace(normalised(stranger or spec.entity), ""))
    return None if len(set(texts)) == len(texts) else "two questions ask the same thing"


def direct_answers_are_supported(spec: PersonaSpec, row: Item) -> str | None:
    """Most words of the answer to a direct question stand in the essay."""
    for number, question in _direct(spec, row):
        answer = question["answer"]
        if share(answer, row["essay"], spec.entity) < ENOUGH:
            return (
                f"the essay does not support the answer to question {number}: it lacks {missing(answer, row['essay'])}"
            )
    return None


def direct_questions_keep_their_answer_back(spec: PersonaSpec, row: Item) -> str | None:
    """A direct question does not contain most words of its own answer."""
    for number, question in _direct(spec, row):
        if share(question["answer"], question["text"], spec.entity) >= ENOUGH:
            return f"question {number} contains its own answer: {quoted(question['text'])}"
    return None


def names_are_disjoint(rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Yield the places of rows whose names confuse a store: somebody with two essays, or a stranger who has one."""
    essays = Counter(row["entity"] for row in rows)
    for place, row in enumerate(rows):
        if essays[row["entity"]] > 1:
            yield place, f"{row['entity']} has {essays[row['entity']]} essays"
        for question in row["questions"]:
            if question["is_misleading"] and essays[question["distractor"]]:
                yield place, f"{question['distractor']}, who has to be unknown, has an essay"


def _direct(spec: PersonaSpec, row: Item) -> Iterator[tuple[int, Item]]:
    for number, (stranger, question) in enumerate(zip(spec.strangers, row["questions"], strict=True), 1):
        if stranger is None:
            yield number, question
