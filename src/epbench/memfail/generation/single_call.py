"""Coexisting-Facts, Persona-Retrieval and `revision` by a model, with the checks of their rows: one call writes a whole row.

Paper: Section 4, tasks 2 and 3, Appendix B.4–B.5. Of the checks, the reference makes only some of those about names, and
only warns about wrong numbers. For `revision`, which is ours, the people, the topics, what becomes of each fact and what each
message does are drawn; the model writes the values, the messages and the questions. A row passes if each message has the
values that it tells and no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from epbench.memfail.dataset.revision import FACTS, asked, facts_with, leaks, revision_row, values_of
from epbench.memfail.dataset.schema import Row
from epbench.memfail.dataset.word_rules import content_of, normalised, sentences, stands_in
from epbench.memfail.generation import words
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, Checks, Item, Step, object_of
from epbench.memfail.generation.specs import (
    CoexistingSpec,
    PersonaSpec,
    RevisionSpec,
    coexisting_specs,
    persona_specs,
    revision_specs,
)
from epbench.memfail.generation.words import ENOUGH, HALF, literally_in, missing, quoted, share, stand_in
from epbench.memfail.templates.bank import bank
from epbench.memfail.templates.persona import SENTENCES

COEXISTING_BATCH, PERSONA_BATCH, REVISION_BATCH = 10, 5, 2
FACT_SENTENCES = (1, 2)
_FIRST_PERSON = re.compile(r"(?<![\w.])(?:I|[Mm]e|[Mm]y|[Ww]e|[Oo]ur)\b(?!\.\w)")
_SPEECH = re.compile(r"[\"“][^\"”]*[\"”]")  # what somebody says in the essay may be in the first person


def coexisting_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Coexisting-Facts out of n that are asked for."""
    step, specs, what = COEXISTING, coexisting_specs(n, seed), "its question is like that of"
    found = asker.written(step, specs, "coexisting questions", words.QUESTION, lambda row: row["question"], what)
    return [
        {
            "preference_category": spec.category,
            "preferences": (names := [name.strip() for name in written["preferences"]]),
            "preference_facts": [fact.strip() for fact in written["preference_facts"]],
            "question": written["question"].strip(),
            "ground_truth_answer": ", ".join(names),
        }
        for spec, written in found
    ]


def _coexisting_checks(spec: CoexistingSpec, row: Item) -> Iterator[Checks]:
    names, facts = row["preferences"], row["preference_facts"]
    n, n_facts = len({normalised(name) for name in names} - {""}), len(facts)
    yield {
        "preferences_have_their_number": not n == len(names) == spec.size
        and f"expected {spec.size} different preferences, found {n} in {len(names)}",
        "facts_have_their_number": n_facts != spec.size and f"expected {spec.size} preference_facts, found {n_facts}",
    }
    (low, high), told = FACT_SENTENCES, list(zip(names, facts, strict=True))
    yield {
        "facts_are_short": (
            f"expected {low} or {high} sentences in each fact, found {n} in {quoted(fact)}"
            for fact in facts
            if not low <= (n := len(sentences(fact))) <= high
        ),
        "facts_name_their_preference": (
            f"the fact about {name!r} does not name it: {quoted(fact)}"
            for name, fact in told
            if share(name, fact) < HALF and not literally_in(name, fact)
        ),
        "facts_name_no_sibling": (  # each fact is stored alone
            f"the fact about {name!r} also names {other!r}: {quoted(fact)}"
            for name, fact in told
            for other in names
            if other != name and stands_in(other, fact)
        ),
        "question_names_no_preference": (
            f"the question names {name!r}: {quoted(row['question'])}"
            for name in names
            if stands_in(name, row["question"])
        ),
    }


COEXISTING: Step[CoexistingSpec] = Step(
    name="coexisting facts",
    batch=COEXISTING_BATCH,
    prompt="coexisting",
    fields={"preferences": TEXTS, "preference_facts": TEXTS, "question": TEXT},
    shown=lambda spec: {"category": spec.category, "number": spec.size},
    checks=_coexisting_checks,
    stand_in=lambda spec: {
        "preferences": [stand_in(spec.label, 2)] * spec.size,
        "preference_facts": [stand_in(spec.label, 12)] * spec.size,
        "question": stand_in(spec.label, 20),
    },
)
"""Writes preferences, their facts and a question."""


def persona_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Persona-Retrieval out of n that are asked for."""
    step, specs, what = PERSONAS, persona_specs(n, seed), "its essay is like that of"
    found = asker.written(step, specs, "persona essays", words.PERSONA, lambda row: row["essay"], what)
    return [
        {
            "entity": spec.entity,
            "entity_facts": [written["essay"].strip()],
            "questions": [_question(*pair) for pair in zip(spec.strangers, written["questions"], strict=True)],
        }
        for spec, written in found
    ]


def _question(stranger: str | None, written: Item) -> Item:
    abstention: str = bank("persona")["abstention"].format(name=stranger)
    return {
        "text": written["text"].strip(),
        "is_misleading": stranger is not None,
        "distractor": stranger,
        "ground_truth_answer": written["answer"].strip() if stranger is None else abstention,
    }


def _persona_checks(spec: PersonaSpec, row: Item) -> Iterator[Checks]:
    essay, questions = row["essay"], row["questions"]
    yield {
        "questions_have_their_number": len(questions) != len(spec.strangers)
        and f"expected {len(spec.strangers)} questions, found {len(questions)}"
    }
    about = [name or spec.entity for name in spec.strangers]
    questioned = [(i, name, q["text"]) for i, (name, q) in enumerate(zip(about, questions, strict=True), 1)]
    direct = [(i, q) for i, (name, q) in enumerate(zip(spec.strangers, questions, strict=True), 1) if name is None]
    texts = [normalised(text).replace(normalised(name), "") for _, name, text in questioned]
    first_person = _FIRST_PERSON.search(_SPEECH.sub("", essay))
    yield {
        "essay_has_its_length": words.wrong_length(essay, *SENTENCES),
        "essay_names_person": spec.entity not in essay and f"the essay does not name {spec.entity} in full",
        "essay_names_no_stranger": (
            f"the essay names {name}, who has to stay unknown"
            for name in spec.strangers
            if name and literally_in(name, essay)
        ),
        "essay_is_in_third_person": first_person and f"the essay has {first_person[0]!r}, expected the third person",
        "questions_name_whom_they_ask_about": (
            f"question {i} is about {wanted}, but also names {others[0]}"
            if wanted in text
            else f"question {i} does not name {wanted} in full: {quoted(text)}"
            for i, wanted, text in questioned
            if (others := [name for name in {spec.entity, *about} - {wanted} if literally_in(name, text)])
            or wanted not in text
        ),
        "questions_differ": len(set(texts)) < len(texts) and "two questions ask the same thing",
        "direct_answers_are_supported": (
            f"the essay does not support the answer to question {i}: it lacks {missing(question['answer'], essay)}"
            for i, question in direct
            if share(question["answer"], essay, spec.entity) < ENOUGH
        ),
        "direct_questions_keep_their_answer_back": (
            f"question {i} contains its own answer: {quoted(question['text'])}"
            for i, question in direct
            if share(question["answer"], question["text"], spec.entity) >= ENOUGH
        ),
    }


PERSONAS: Step[PersonaSpec] = Step(
    name="persona essays",
    batch=PERSONA_BATCH,
    prompt="persona",
    fields={"essay": TEXT, "questions": {"type": "array", "items": object_of({"text": TEXT, "answer": TEXT})}},
    shown=lambda spec: {
        "name": spec.entity,
        "hint": spec.flavor,
        "questions": [
            {"about": name or spec.entity, "who": "a stranger" if name else "the person of the essay"}
            for name in spec.strangers
        ],
    },
    checks=_persona_checks,
    stand_in=lambda spec: {
        "essay": stand_in(spec.label, 190),
        "questions": [dict.fromkeys(("text", "answer"), stand_in(spec.label, 14)) for _ in spec.strangers],
    },
)
"""Writes an essay and three questions."""


_UNKNOWN = "I do not know: you asked me to forget that."


def revision_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of `revision` out of n that are asked for."""
    specs, what = revision_specs(n, seed), "its messages are like those of"
    found = asker.written(REVISIONS, specs, "revision rows", words.PERSONA, lambda row: " ".join(row["messages"]), what)
    return [_revision_row(spec, row) for spec, row in found]


def _revision_row(spec: RevisionSpec, written: Item) -> Row:
    texts = {name: [text.strip() for text in written[name]] for name in _LENGTHS}
    return revision_row(
        spec.subjects,
        spec.topics,
        texts["values"],
        dict(zip(facts_with("corrected"), texts["new_values"], strict=True)),
        list(zip(spec.messages, texts["messages"], strict=True)),
        texts["questions"],
        [_UNKNOWN] * len(FACTS),
    )


_LENGTHS: Mapping[str, Callable[[RevisionSpec], int]] = {
    "values": lambda spec: len(FACTS),
    "new_values": lambda spec: len(facts_with("corrected")),
    "messages": lambda spec: len(spec.messages),
    "questions": lambda spec: len([*asked()]),
}
_ASKED_FOR = {"now": "what holds now", "first": "what was told at first", "forgotten": "what holds now"}


def _revision_shown(spec: RevisionSpec) -> Item:
    return {
        "facts": [
            {"fact": i, "person": spec.subjects[subject], "topic": spec.topics[topic], "fate": fate}
            for i, (subject, topic, fate) in enumerate(FACTS)
        ],
        "messages": [{"does": act, "facts": [*numbers]} for act, numbers in spec.messages],
        "questions": [{"fact": number, "asks": _ASKED_FOR[kind]} for kind, number in asked()],
    }


def _revision_checks(spec: RevisionSpec, row: Item) -> Iterator[Checks]:
    yield {
        "lists_have_their_length": (
            f"expected {length(spec)} {name}, found {len(row[name])}"
            for name, length in _LENGTHS.items()
            if len(row[name]) != length(spec)
        )
    }
    made, wanted = _revision_row(spec, row), [spec.subjects[subject] for subject, _, _ in FACTS]
    messages = zip(spec.messages, row["messages"], strict=True)
    told = [(said, number) for said in made["statements"] for number in said["facts"] if said["act"] != "withdraws"]
    yield {
        "values_share_no_words": _shared_words(spec.subjects, (*row["values"], *row["new_values"])),
        "messages_name_whom_they_are_about": (
            f"expected the message that {act} to name {', '.join(sorted(whom)) or 'nobody'} in full, and nobody else: "
            f"{quoted(text)}"
            for (act, numbers), text in messages
            if (whom := {wanted[number] for number in numbers}) != {name for name in spec.subjects if name in text}
        ),
        "messages_tell_their_values": (
            f"the message that {said['act']} fact {number} does not have {value!r}: {quoted(said['text'])}"
            for said, number in told
            if (value := made["facts"][number]["now" if said["act"] == "corrects" else "first"])
            and not stands_in(value, said["text"])
        ),
        "messages_leak_no_value": (
            f"a message has the value {value!r}, which it does not tell" for value in leaks(made)
        ),
        "questions_name_whom_they_ask_about": (
            f"expected a question that names {wanted[number]} in full, and nobody else: {quoted(text)}"
            for (_, number), text in zip(asked(), row["questions"], strict=True)
            if [name for name in spec.subjects if name in text] != [wanted[number]]
        ),
        "questions_name_no_value": (
            f"a question has the value {value!r}: {quoted(text)}"
            for text in row["questions"]
            for value in values_of(made)
            if stands_in(value, text)
        ),
    }


def _shared_words(names: Iterable[str], values: Iterable[str]) -> Iterator[str]:
    taken = {word for name in names for word in content_of(name)}
    for value in values:
        if shared := taken & content_of(value):
            yield f"the value {value!r} shares {min(shared)!r} with another value or a name"
        taken |= content_of(value)


REVISIONS: Step[RevisionSpec] = Step(
    name="revision rows",
    batch=REVISION_BATCH,
    prompt="revision",
    fields=dict.fromkeys(_LENGTHS, TEXTS),
    shown=_revision_shown,
    checks=_revision_checks,
    stand_in=lambda spec: {
        name: [stand_in(f"{spec.label}-{name}{i}", 2 if "values" in name else 14) for i in range(length(spec))]
        for name, length in _LENGTHS.items()
    },
)
"""Writes values, messages and questions."""
