"""Coexisting-Facts and Persona-Retrieval by a model, with the checks of their rows: one call writes a whole row.

Paper: Section 4, tasks 2 and 3, Appendix B.4–B.5. Of the checks, the reference makes only some of those about names, and
only warns about wrong numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from epbench.memfail.dataset.schema import Row
from epbench.memfail.dataset.word_rules import normalised, sentences, stands_in
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, GenerationPrompts, Item, Step, object_of
from epbench.memfail.generation.specs import CoexistingSpec, PersonaSpec, coexisting_specs, persona_specs
from epbench.memfail.generation.words import (
    ENOUGH,
    HALF,
    PERSONA,
    QUESTION,
    literally_in,
    missing,
    quoted,
    share,
    stand_in,
)
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
    specs = coexisting_specs(n, seed)
    accepted = asker.accepted(coexisting_step(asker.prompts), specs)
    written = [spec for spec in specs if spec.number in accepted]
    step = "coexisting questions without near duplicates"
    kept = asker.log.without_alike(
        step, written, QUESTION, lambda spec: [accepted[spec.number]["question"]], "its question is like that of"
    )
    asker.log.count(step, len(accepted), len(kept))
    return [_coexisting_row(spec, accepted[spec.number]) for spec in kept]


def _coexisting_row(spec: CoexistingSpec, written: Item) -> Row:
    names = [name.strip() for name in written["preferences"]]
    return {
        "preference_category": spec.category,
        "preferences": names,
        "preference_facts": [fact.strip() for fact in written["preference_facts"]],
        "question": written["question"].strip(),
        "ground_truth_answer": ", ".join(names),
    }


def coexisting_step(prompts: GenerationPrompts) -> Step[CoexistingSpec]:
    """Return the step that writes preferences, their facts and a question."""
    return Step(
        name="coexisting facts",
        batch=COEXISTING_BATCH,
        prompt=lambda specs: prompts.coexisting.format(specs=specs),
        fields={"preferences": TEXTS, "preference_facts": TEXTS, "question": TEXT},
        shown=lambda spec: {"category": spec.category, "number": spec.size},
        counts=(preferences_have_their_number, facts_have_their_number),
        checks=(
            facts_are_short,
            facts_name_their_preference,
            facts_name_no_sibling,
            question_names_no_preference,
        ),
        stand_in=lambda spec: {
            "preferences": [stand_in(spec.label, 2)] * spec.size,
            "preference_facts": [stand_in(spec.label, 12)] * spec.size,
            "question": stand_in(spec.label, 20),
        },
    )


def persona_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Persona-Retrieval out of n that are asked for.

    Raises:
        BadInput: Our lists have too few names.
    """
    specs = persona_specs(n, seed)
    accepted = asker.accepted(persona_step(asker.prompts), specs)
    written = [spec for spec in specs if spec.number in accepted]
    step = "persona essays without near duplicates"
    kept = asker.log.without_alike(
        step, written, PERSONA, lambda spec: [accepted[spec.number]["essay"]], "its essay is like that of"
    )
    asker.log.count(step, len(accepted), len(kept))
    return [_persona_row(spec, accepted[spec.number]) for spec in kept]


def _persona_row(spec: PersonaSpec, written: Item) -> Row:
    questions = [_question(*pair) for pair in zip(spec.strangers, written["questions"], strict=True)]
    return {"entity": spec.entity, "entity_facts": [written["essay"].strip()], "questions": questions}


def persona_step(prompts: GenerationPrompts) -> Step[PersonaSpec]:
    """Return the step that writes an essay and three questions."""
    return Step(
        name="persona essays",
        batch=PERSONA_BATCH,
        prompt=lambda specs: prompts.persona.format(specs=specs),
        fields={"essay": TEXT, "questions": {"type": "array", "items": object_of({"text": TEXT, "answer": TEXT})}},
        shown=lambda spec: {
            "name": spec.entity,
            "hint": spec.flavor,
            "questions": [
                {"about": name or spec.entity, "who": "a stranger" if name else "the person of the essay"}
                for name in spec.strangers
            ],
        },
        counts=(questions_have_their_number,),
        checks=(
            essay_has_its_length,
            essay_names_person,
            essay_names_no_stranger,
            essay_is_in_third_person,
            questions_name_whom_they_ask_about,
            questions_differ,
            direct_answers_are_supported,
            direct_questions_keep_their_answer_back,
        ),
        stand_in=lambda spec: {
            "essay": stand_in(spec.label, 190),
            "questions": [dict.fromkeys(("text", "answer"), stand_in(spec.label, 14)) for _ in spec.strangers],
        },
    )


def _question(stranger: str | None, written: Item) -> Item:
    abstention: str = bank("persona")["abstention"].format(name=stranger)
    return {
        "text": written["text"].strip(),
        "is_misleading": stranger is not None,
        "distractor": stranger,
        "ground_truth_answer": written["answer"].strip() if stranger is None else abstention,
    }


def preferences_have_their_number(spec: CoexistingSpec, row: Item) -> str | None:
    """There are as many preferences as the spec says, and all differ."""
    names = {normalised(name) for name in row["preferences"]} - {""}
    if len(names) == len(row["preferences"]) == spec.size:
        return None
    return f"expected {spec.size} different preferences, found {len(names)} in {len(row['preferences'])}"


def facts_have_their_number(spec: CoexistingSpec, row: Item) -> str | None:
    """There is one fact for each preference."""
    n = len(row["preference_facts"])
    return None if n == spec.size else f"expected {spec.size} preference_facts, found {n}"


def facts_are_short(spec: CoexistingSpec, row: Item) -> str | None:
    """Each fact has one or two sentences."""
    low, high = FACT_SENTENCES
    for fact in row["preference_facts"]:
        if not low <= (n := len(sentences(fact))) <= high:
            return f"expected {low} or {high} sentences in each fact, found {n} in {quoted(fact)}"
    return None


def facts_name_their_preference(spec: CoexistingSpec, row: Item) -> str | None:
    """Each fact has at least half of the words of its own preference, in any form."""
    for name, fact in zip(row["preferences"], row["preference_facts"], strict=True):
        if share(name, fact) < HALF and not literally_in(name, fact):
            return f"the fact about {name!r} does not name it: {quoted(fact)}"
    return None


def facts_name_no_sibling(spec: CoexistingSpec, row: Item) -> str | None:
    """No fact names another preference of its row: each is stored alone."""
    for name, fact in zip(row["preferences"], row["preference_facts"], strict=True):
        for other in row["preferences"]:
            if other != name and stands_in(other, fact):
                return f"the fact about {name!r} also names {other!r}: {quoted(fact)}"
    return None


def question_names_no_preference(spec: CoexistingSpec, row: Item) -> str | None:
    """The question gives no preference away."""
    named = [name for name in row["preferences"] if stands_in(name, row["question"])]
    return f"the question names {named[0]!r}: {quoted(row['question'])}" if named else None


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
    match = _FIRST_PERSON.search(_SPEECH.sub("", row["essay"]))
    return f"the essay has {match[0]!r}, expected the third person" if match else None


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


def _direct(spec: PersonaSpec, row: Item) -> Iterator[tuple[int, Item]]:
    for number, (stranger, question) in enumerate(zip(spec.strangers, row["questions"], strict=True), 1):
        if stranger is None:
            yield number, question
