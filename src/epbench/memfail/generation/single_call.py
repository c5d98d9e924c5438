"""Coexisting-Facts and Persona-Retrieval by a model, with the checks of their rows: one call writes a whole row.

Paper: Section 4, tasks 2 and 3, Appendix B.4–B.5. Of the checks, the reference makes only some of those about names, and
only warns about wrong numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from epbench.memfail.dataset.schema import Row
from epbench.memfail.dataset.word_rules import normalised, sentences, stands_in
from epbench.memfail.generation import words
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, Fault, GenerationPrompts, Item, Step, object_of
from epbench.memfail.generation.specs import CoexistingSpec, PersonaSpec, coexisting_specs, persona_specs
from epbench.memfail.generation.words import ENOUGH, HALF, literally_in, missing, quoted, share, stand_in
from epbench.memfail.templates.bank import bank
from epbench.memfail.templates.persona import SENTENCES

COEXISTING_BATCH, PERSONA_BATCH = 10, 5
FACT_SENTENCES = (1, 2)
_FIRST_PERSON = re.compile(r"(?<![\w.])(?:I|[Mm]e|[Mm]y|[Ww]e|[Oo]ur)\b(?!\.\w)")
_SPEECH = re.compile(r"[\"“][^\"”]*[\"”]")  # what somebody says in the essay may be in the first person


def coexisting_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Coexisting-Facts out of n that are asked for.

    Raises:
        BadInput: There are fewer than n categories.
    """
    step, specs, what = coexisting_step(asker.prompts), coexisting_specs(n, seed), "its question is like that of"
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


def coexisting_step(prompts: GenerationPrompts) -> Step[CoexistingSpec]:
    """Return the step that writes preferences, their facts and a question."""
    return Step(
        name="coexisting facts",
        batch=COEXISTING_BATCH,
        prompt=prompts.coexisting.format,
        fields={"preferences": TEXTS, "preference_facts": TEXTS, "question": TEXT},
        shown=lambda spec: {"category": spec.category, "number": spec.size},
        faults=_coexisting_faults,
        stand_in=lambda spec: {
            "preferences": [stand_in(spec.label, 2)] * spec.size,
            "preference_facts": [stand_in(spec.label, 12)] * spec.size,
            "question": stand_in(spec.label, 20),
        },
    )


def _coexisting_faults(spec: CoexistingSpec, row: Item) -> Iterator[Fault]:
    names, facts = row["preferences"], row["preference_facts"]
    n = len({normalised(name) for name in names} - {""})
    if not n == len(names) == spec.size:
        told = f"expected {spec.size} different preferences, found {n} in {len(names)}"
        yield "preferences_have_their_number", told
    if len(facts) != spec.size:
        yield "facts_have_their_number", f"expected {spec.size} preference_facts, found {len(facts)}"
    if not n == len(names) == len(facts) == spec.size:
        return
    low, high = FACT_SENTENCES
    for fact in facts:
        if not low <= (n := len(sentences(fact))) <= high:
            yield "facts_are_short", f"expected {low} or {high} sentences in each fact, found {n} in {quoted(fact)}"
            break
    for name, fact in zip(names, facts, strict=True):
        if share(name, fact) < HALF and not literally_in(name, fact):
            yield "facts_name_their_preference", f"the fact about {name!r} does not name it: {quoted(fact)}"
            break
    pairs = [(name, other, fact) for name, fact in zip(names, facts, strict=True) for other in names if other != name]
    for name, other, fact in pairs:  # each fact is stored alone
        if stands_in(other, fact):
            yield "facts_name_no_sibling", f"the fact about {name!r} also names {other!r}: {quoted(fact)}"
            break
    for name in names:
        if stands_in(name, row["question"]):
            yield "question_names_no_preference", f"the question names {name!r}: {quoted(row['question'])}"
            break


def persona_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Persona-Retrieval out of n that are asked for.

    Raises:
        BadInput: Our lists have too few names.
    """
    step, specs, what = persona_step(asker.prompts), persona_specs(n, seed), "its essay is like that of"
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


def persona_step(prompts: GenerationPrompts) -> Step[PersonaSpec]:
    """Return the step that writes an essay and three questions."""
    return Step(
        name="persona essays",
        batch=PERSONA_BATCH,
        prompt=prompts.persona.format,
        fields={"essay": TEXT, "questions": {"type": "array", "items": object_of({"text": TEXT, "answer": TEXT})}},
        shown=lambda spec: {
            "name": spec.entity,
            "hint": spec.flavor,
            "questions": [
                {"about": name or spec.entity, "who": "a stranger" if name else "the person of the essay"}
                for name in spec.strangers
            ],
        },
        faults=_persona_faults,
        stand_in=lambda spec: {
            "essay": stand_in(spec.label, 190),
            "questions": [dict.fromkeys(("text", "answer"), stand_in(spec.label, 14)) for _ in spec.strangers],
        },
    )


def _persona_faults(spec: PersonaSpec, row: Item) -> Iterator[Fault]:
    essay, questions = row["essay"], row["questions"]
    if len(questions) != len(spec.strangers):
        yield "questions_have_their_number", f"expected {len(spec.strangers)} questions, found {len(questions)}"
        return
    if wrong := words.wrong_length(essay, *SENTENCES):
        yield "essay_has_its_length", wrong
    if spec.entity not in essay:
        yield "essay_names_person", f"the essay does not name {spec.entity} in full"
    if named := [name for name in spec.strangers if name and literally_in(name, essay)]:
        yield "essay_names_no_stranger", f"the essay names {named[0]}, who has to stay unknown"
    if match := _FIRST_PERSON.search(_SPEECH.sub("", essay)):
        yield "essay_is_in_third_person", f"the essay has {match[0]!r}, expected the third person"
    about = [name or spec.entity for name in spec.strangers]
    for number, (wanted, question) in enumerate(zip(about, questions, strict=True), 1):
        others = [name for name in {spec.entity, *about} - {wanted} if literally_in(name, question["text"])]
        if wanted not in question["text"]:
            told = f"question {number} does not name {wanted} in full: {quoted(question['text'])}"
        elif others:
            told = f"question {number} is about {wanted}, but also names {others[0]}"
        else:
            continue
        yield "questions_name_whom_they_ask_about", told
        break
    texts = [normalised(q["text"]).replace(normalised(name), "") for name, q in zip(about, questions, strict=True)]
    if len(set(texts)) < len(texts):
        yield "questions_differ", "two questions ask the same thing"
    direct = [(i, q) for i, (name, q) in enumerate(zip(spec.strangers, questions, strict=True), 1) if name is None]
    for number, question in direct:
        if share(question["answer"], essay, spec.entity) < ENOUGH:
            lost = missing(question["answer"], essay)
            told = f"the essay does not support the answer to question {number}: it lacks {lost}"
            yield "direct_answers_are_supported", told
            break
    for number, question in direct:
        if share(question["answer"], question["text"], spec.entity) >= ENOUGH:
            told = f"question {number} contains its own answer: {quoted(question['text'])}"
            yield "direct_questions_keep_their_answer_back", told
            break
