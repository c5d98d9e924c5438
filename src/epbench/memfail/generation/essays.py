"""The tasks whose rows have essays, by a model: Conditional-Facts and Persona-Retrieval, with the checks of their rows.

Paper: Section 4, tasks 1 and 3, Appendix B.2, B.3 and B.5. For Conditional-Facts the model writes a datapoint, and from this same
datapoint the Easy essay and the Hard essay. The released Easy and Hard rows have nothing in common but category and type of
the condition; here row i of both states the same rule and asks the same question. One call writes a whole row of
Persona-Retrieval. The reference makes none of the checks of Conditional-Facts, and of the others only some of those about
names.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.judges.model import object_schema
from epbench.memfail.dataset.schema import SENTENCES, Row, polarity
from epbench.memfail.dataset.word_rules import (
    ENOUGH,
    HALF,
    connectives,
    keeps,
    literally_in,
    missing,
    normalised,
    sentences,
    share,
    words_of,
)
from epbench.memfail.generation.asking import SEED, TEXT, Asker, Checks, Item, Spec, Step, quoted, stand_in
from epbench.memfail.templates.bank import bank, entities, people
from epbench.memfail.templates.essays import EASY, HARD, QUESTIONS

CONDITIONAL_BATCH, PERSONA_BATCH = 10, 5
ALIKE = 0.8  # the Jaccard index from which two essays of Conditional-Facts are alike
_DATAPOINT = ("behavior", "condition", "statement", "question", "question_context", "condition_met", "answer")
PARTS = ("behavior_sentence", "condition_sentence", "link_sentence")

# A link points back, or tells how often or when; otherwise it is one more sentence about something else.
_LINKING = frozenset(
    words_of(
        "this that these those then such usually typically mostly often nearly almost around during time tends belongs "
        "together hour moment mood there"
    )
)

_FIRST_PERSON = re.compile(r"(?<![\w.])(?:I|[Mm]e|[Mm]y|[Ww]e|[Oo]ur)\b(?!\.\w)")
_SPEECH = re.compile(r"[\"“][^\"”]*[\"”]")  # what somebody says in the essay may be in the first person


@dataclass(frozen=True)
class ConditionalSpec(Spec):
    """One rule of Conditional-Facts. Its behavior and condition, which the model invents, are empty at first."""

    task = "conditional"
    category: str  # `person`, `pet` or `character`
    condition_type: str  # one of the 32 types; one of the 9 observable ones for a pet
    target: Literal["yes", "no"]  # whether the condition is to hold in the question
    entity: str  # its name, unlike every other name in the store
    behavior: str = ""
    condition: str = ""


def conditional_specs(n: int, seed: int = SEED) -> list[ConditionalSpec]:
    """Draw n rules: the targets are shuffled fives of yes and no, of which the first n are used."""
    drawn, pool = random.Random(seed), bank("pools")
    targets: list[Literal["yes", "no"]] = [*(["yes"] * 5), *(["no"] * 5)] * (n // 10 + 1)  # type: ignore[list-item]
    drawn.shuffle(targets)
    kinds = []
    for _ in range(n):
        kind, category = drawn.choice(pool["condition_types"]), drawn.choice(pool["entity_categories"])
        if category == "pet":
            kind = drawn.choice(pool["observable_types"])
        kinds.append((category, kind))
    of_category = [category for category, _ in kinds]
    stream = RandomStream("memfail entities of a model", seed, n)
    names = {c: iter(entities(c, of_category.count(c), stream)) for c in pool["entity_categories"]}
    return [
        ConditionalSpec(number, category, kind, target, next(names[category]).name)
        for number, ((category, kind), target) in enumerate(zip(kinds, targets[:n], strict=True))
    ]


def conditional_rows(asker: Asker, configs: Sequence[str], n: int, seed: int) -> dict[str, list[Row]]:
    """Return the rows of Easy, of Hard or of both, about at most n rules; one that fails in one is dropped from the other."""
    specs = conditional_specs(n, seed)
    points = asker.accepted(DATAPOINTS, specs)
    rules = [
        replace(spec, **{part: points[spec.number][part].strip(" .") for part in ("behavior", "condition")})
        for spec in specs
        if spec.number in points
    ]
    essays = {config: asker.accepted(ESSAYS[config], rules) for config in configs}
    complete = [rule for rule in rules if all(rule.number in accepted for accepted in essays.values())]
    for rule in rules:
        if rule not in complete and any(rule.number in accepted for accepted in essays.values()):
            asker.log.reject("same_rules", "pairs of Easy and Hard", rule.label, "one of its two essays was dropped")
    kept, step = complete, "essays without near duplicates"
    for written in essays.values():
        texts = {number: [row["essay"]] for number, row in written.items()}
        kept = asker.log.without_alike(step, kept, texts, "its essay is like that of", ALIKE)
    asker.log.count(step, len(complete), len(kept))
    return {
        config: [_conditional_row(rule, points[rule.number], accepted) for rule in kept]
        for config, accepted in essays.items()
    }


def _conditional_row(rule: ConditionalSpec, point: Item, essays: dict[int, Item]) -> Row:
    return {
        "entity": rule.entity,
        "entity_category": rule.category,
        "behavior": rule.behavior,
        "condition_type": rule.condition_type,
        "condition": rule.condition,
        "entity_facts": [essays[rule.number]["essay"].strip()],
        "question": point["question"].strip(),
        "question_context": point["question_context"].strip(),
        "condition_met": rule.target,
        "ground_truth_answer": point["answer"].strip(),
    }


def _datapoint_checks(spec: ConditionalSpec, row: Item) -> Iterator[Checks]:
    opening, target = polarity(row["answer"]), spec.target  # a judge takes the answer's Yes or No for the truth
    begins = f"the answer begins with {opening or 'neither yes nor no'}, expected {target}"
    met, behavior = row["condition_met"], row["behavior"]
    yield {
        "statement_keeps_rule": f"the statement does not name {spec.entity}"
        if spec.entity not in row["statement"]
        else _lacks("the statement", row["statement"], behavior, row["condition"]),
        "target_is_met": met.strip().lower() != target
        and f"condition_met is {quoted(met)}, but the target is {target!r}",
        "answer_agrees_with_target": opening != target and f"{begins}: {quoted(row['answer'])}",
        # The full name alone tells the entities of a store apart.
        "question_names_entity": spec.entity not in row["question"]
        and f"the question does not name {spec.entity} in full",
        "question_asks_about_behavior": share(behavior, row["question"]) < HALF
        and f"the question does not ask about the behavior {quoted(behavior)}",
    }


def _easy_checks(rule: ConditionalSpec, row: Item) -> Iterator[Checks]:
    """Appendix D.1.1: one sentence states the whole rule, and no other has a connective of a condition."""
    texts = sentences(row["essay"])
    shared = {text: share(f"{rule.behavior} {rule.condition}", text) for text in texts}
    lacking = _lacks(
        "the sentence with the rule", max(texts, key=shared.__getitem__, default=""), rule.behavior, rule.condition
    )
    others = sorted(texts, key=shared.__getitem__)[:-1]
    found = (f"{word!r}: {quoted(text)}" for text in others for word in connectives(text))
    yield {
        "essay_names_entity": rule.entity not in row["essay"] and f"the essay does not name {rule.entity}",
        "easy_has_its_length": _wrong_length(row["essay"], *SENTENCES[EASY]),
        "easy_keeps_rule": (f"no single sentence states the whole rule; {reason}" for reason in lacking),
        "easy_adds_no_condition": (f"a sentence without the rule has {condition}" for condition in found),
    }


def _hard_checks(rule: ConditionalSpec, row: Item) -> Iterator[Checks]:
    """Appendix B.3: three sentences carry the rule, no two of them neighbours, and none names both of its halves."""
    essay, words = sentences(row["essay"]), connectives(row["essay"])
    wanted = {part: normalised(row[part]) for part in PARTS}
    places = {part: [i for i, text in enumerate(essay) if normalised(text) == wanted[part]][:1] for part in PARTS}
    absent = [part for part in PARTS if not places[part]]
    repeated = not absent and len({i for (i,) in places.values()}) < len(PARTS)
    # More than half of the words cannot be asked for: `when she is above 7 of 10` has to become true at all times.
    kept = [(part, text, row[part]) for part, text in zip(PARTS, (rule.behavior, rule.condition), strict=False)]
    yield {
        "essay_names_entity": rule.entity not in row["essay"] and f"the essay does not name {rule.entity}",
        "hard_has_its_length": _wrong_length(row["essay"], *SENTENCES[HARD]),
        "hard_has_three_sentences": (repeated and "two of the three sentences are the same one")
        or [f"the {part} is no whole sentence of the essay: {quoted(row[part])}" for part in absent],
        "hard_sentences_are_apart": (
            f"the {first} and the {second} are neighbours; put another sentence between them"
            for (first, found), (second, others) in combinations(places.items(), 2)
            if any(abs(i - j) == 1 for i in found for j in others)
        ),
        "hard_keeps_rule": (
            f"the {part} lacks words of {quoted(text)}: {missing(text, told)}"
            for part, text, told in kept
            if not keeps(text, told, HALF)
        ),
        "hard_link_points_back": not _LINKING & set(words_of(row["link_sentence"]))
        and f"the link_sentence does not tell when: {quoted(row['link_sentence'])}",
        "hard_has_no_connectives": bool(words)
        and f"the essay has {', '.join(map(repr, words))}; use no such word anywhere",
        "hard_splits_rule": (
            f"a sentence names both behavior and condition: {quoted(text)}"
            for text in essay
            if share(rule.behavior, text, f"{rule.condition} {rule.entity}") >= HALF
            and share(rule.condition, text, f"{rule.behavior} {rule.entity}") >= HALF
        ),
    }


def _wrong_length(essay: str, low: int, high: int) -> str | None:
    n = len(sentences(essay))
    return None if low <= n <= high else f"the essay has {n} sentences, expected {low} to {high}"


def _lacks(label: str, text: str, behavior: str, condition: str) -> Iterator[str]:
    for name, part in (("behavior", behavior), ("condition", condition)):
        if not keeps(part, text):
            yield f"{label} lacks words of the {name} {quoted(part)}: {missing(part, text)}"


def _shown(spec: ConditionalSpec) -> Item:
    return {"entity": spec.entity, "entity_category": spec.category}


def _shown_rule(rule: ConditionalSpec) -> Item:
    return _shown(rule) | {"behavior": rule.behavior, "condition": rule.condition}


DATAPOINTS: Step[ConditionalSpec] = Step(
    name="conditional datapoints",
    batch=CONDITIONAL_BATCH,
    prompt="conditional_datapoint",
    fields=dict.fromkeys(_DATAPOINT, TEXT),
    shown=lambda spec: _shown(spec) | {"condition_type": spec.condition_type, "target": spec.target},
    checks=_datapoint_checks,
    stand_in=lambda spec: {name: stand_in(spec.label, 12) for name in _DATAPOINT},
)
ESSAYS: Mapping[str, Step[ConditionalSpec]] = {
    EASY: Step(
        name="Easy essays",
        batch=CONDITIONAL_BATCH,
        prompt="easy_essay",
        fields={"essay": TEXT},
        shown=_shown_rule,
        checks=_easy_checks,
        stand_in=lambda rule: {"essay": stand_in(rule.label, 90)},
    ),
    HARD: Step(
        name="Hard essays",
        batch=CONDITIONAL_BATCH,
        prompt="hard_essay",
        fields=dict.fromkeys(("essay", *PARTS), TEXT),
        shown=_shown_rule,
        checks=_hard_checks,
        stand_in=lambda rule: {"essay": stand_in(rule.label, 140)},
    ),
}


@dataclass(frozen=True)
class PersonaSpec(Spec):
    """One essay of Persona-Retrieval."""

    task = "persona"
    entity: str  # whom the essay is about
    flavor: str  # who that is, in a few words
    strangers: tuple[str | None, ...]  # whom each question asks about: a name without an essay, or None for the entity


def drawn_personas(n: int, seed: int = SEED) -> list[PersonaSpec]:
    """Draw n personas as the reference does: three strangers are drawn for each, and each slot uses its own by a coin."""
    drawn, pool = random.Random(seed), bank("pools")
    specs = []
    for number in range(n):
        entity = drawn.choice(pool["names"])
        others = drawn.sample([name for name in pool["names"] if name != entity], QUESTIONS)
        strangers = tuple(other if drawn.random() < 0.5 else None for other in others)
        specs.append(PersonaSpec(number, entity, drawn.choice(pool["flavors"]), strangers))
    return specs


def persona_specs(n: int, seed: int = SEED) -> list[PersonaSpec]:
    """Draw n personas whose names fit into one store: nobody has two essays, no stranger has one or is asked about twice.

    The reference draws all names from a pool of 30, so that in its 100 rows most strangers have an essay after all.
    Here a name stays as drawn where it can: at the first essay about somebody, and at the first question about a
    stranger without an essay. All other names come from our own, larger lists; BadInput if these have too few.
    """
    specs = drawn_personas(n, seed)
    first = {spec.entity: spec.number for spec in reversed(specs)}
    known = {part for name in bank("pools")["names"] for part in name.split()}
    names = bank("names")
    most = (len(names["feminine"]) + len(names["masculine"])) * len(names["last"])
    persons = people(min(n * (QUESTIONS + 1), most), RandomStream("memfail names of a model", seed, n))
    spare = [person.name for person in persons if not known & set(person.name.split())]
    named, taken = [], set(first)
    try:
        for spec in specs:
            entity = spec.entity if first[spec.entity] == spec.number else spare.pop()
            strangers = tuple(name and (spare.pop() if name in taken else name) for name in spec.strangers)
            taken.update(name for name in strangers if name)
            named.append(replace(spec, entity=entity, strangers=strangers))
    except IndexError:
        told = f"rows: there are not enough names for {n} personas and their strangers; ask for fewer"
        raise BadInput(told) from None
    return named


def persona_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Persona-Retrieval out of n that are asked for."""
    step, specs, what = PERSONAS, persona_specs(n, seed), "its essay is like that of"
    found = asker.written(step, specs, "persona essays", lambda row: row["essay"], what)
    return [
        {
            "entity": spec.entity,
            "entity_facts": [written["essay"].strip()],
            "questions": [_persona_question(*pair) for pair in zip(spec.strangers, written["questions"], strict=True)],
        }
        for spec, written in found
    ]


def _persona_question(stranger: str | None, written: Item) -> Item:
    answer = written["answer"].strip() if stranger is None else bank("persona")["abstention"].format(name=stranger)
    about = {"is_misleading": stranger is not None, "distractor": stranger}
    return {"text": written["text"].strip(), **about, "ground_truth_answer": answer}


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
        "essay_has_its_length": _wrong_length(essay, *SENTENCES["persona_retrieval"]),
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
    fields={"essay": TEXT, "questions": {"type": "array", "items": object_schema({"text": TEXT, "answer": TEXT})}},
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
