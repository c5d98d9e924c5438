"""Coexisting-Facts and Persona-Retrieval by a model: one call writes a whole row.

Paper: Section 4, tasks 2 and 3, Appendix B.4–B.5.
"""

from __future__ import annotations

from epbench.memfail.dataset.schema import Row
from epbench.memfail.generation import checks_coexisting, checks_persona
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, Item, Step, object_of
from epbench.memfail.generation.duplicates import PERSONA, QUESTION, Duplicates
from epbench.memfail.generation.prompts import GenerationPrompts
from epbench.memfail.generation.specs import CoexistingSpec, PersonaSpec, coexisting_specs, persona_specs
from epbench.memfail.generation.words import stand_in
from epbench.memfail.templates.bank import bank

COEXISTING_BATCH, PERSONA_BATCH = 10, 5


def coexisting_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Coexisting-Facts out of n that are asked for.

    Raises:
        BadInput: There are fewer than n categories.
    """
    specs = coexisting_specs(n, seed)
    found = asker.accepted(coexisting_step(asker.prompts), specs)
    seen, rows, step = Duplicates(QUESTION), [], "coexisting questions without near duplicates"
    for spec in specs:
        if spec.number in found:
            row = found[spec.number]
            names = [name.strip() for name in row["preferences"]]
            if like := seen.like([row["question"]], spec.label):
                asker.log.drop("duplicate", step, spec.label, f"its question is like that of {like}")
                continue
            rows.append(
                {
                    "preference_category": spec.category,
                    "preferences": names,
                    "preference_facts": [fact.strip() for fact in row["preference_facts"]],
                    "question": row["question"].strip(),
                    "ground_truth_answer": ", ".join(names),
                }
            )
    asker.log.count(step, len(found), len(rows))
    return rows


def coexisting_step(prompts: GenerationPrompts) -> Step[CoexistingSpec]:
    """Return the step that writes preferences, their facts and a question."""
    return Step(
        name="coexisting facts",
        batch=COEXISTING_BATCH,
        prompt=lambda specs: prompts.coexisting.format(specs=specs),
        fields={"preferences": TEXTS, "preference_facts": TEXTS, "question": TEXT},
        shown=lambda spec: {"category": spec.category, "number": spec.size},
        counts=(checks_coexisting.preferences_have_their_number, checks_coexisting.facts_have_their_number),
        checks=(
            checks_coexisting.facts_are_short,
            checks_coexisting.facts_name_their_preference,
            checks_coexisting.facts_name_no_sibling,
            checks_coexisting.question_names_no_preference,
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
    found = asker.accepted(persona_step(asker.prompts), specs)
    seen, rows, step = Duplicates(PERSONA), [], "persona essays without near duplicates"
    for spec in specs:
        if spec.number in found:
            row = found[spec.number]
            if like := seen.like([row["essay"]], spec.label):
                asker.log.drop("duplicate", step, spec.label, f"its essay is like that of {like}")
                continue
            questions = [_question(*pair) for pair in zip(spec.strangers, row["questions"], strict=True)]
            rows.append({"entity": spec.entity, "entity_facts": [row["essay"].strip()], "questions": questions})
    asker.log.count(step, len(found), len(rows))
    for place, clash in checks_persona.names_are_disjoint(rows):
        raise AssertionError(f"persona row {place}: {clash}; the names of the specs are disjoint")
    return rows


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
        counts=(checks_persona.questions_have_their_number,),
        checks=(
            checks_persona.essay_has_its_length,
            checks_persona.essay_names_person,
            checks_persona.essay_names_no_stranger,
            checks_persona.essay_is_in_third_person,
            checks_persona.questions_name_whom_they_ask_about,
            checks_persona.questions_differ,
            checks_persona.direct_answers_are_supported,
            checks_persona.direct_questions_keep_their_answer_back,
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
