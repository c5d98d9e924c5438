"""Conditional-Facts by a model: one datapoint, and from this same datapoint the Easy essay and the Hard essay, and their checks.

Paper: Section 4, task 1, Appendix B.2–B.3. The released Easy and Hard rows have nothing in common but category and type of
the condition; here row i of both states the same rule and asks the same question. The reference makes none of the checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from epbench.memfail.dataset.schema import Row, polarity
from epbench.memfail.dataset.word_rules import connectives, normalised, sentences, words_of
from epbench.memfail.generation.asking import TEXT, Asker, Checks, Item, Step
from epbench.memfail.generation.specs import ConditionalSpec, conditional_specs
from epbench.memfail.generation.words import ESSAY, HALF, keeps, missing, quoted, share, stand_in, wrong_length
from epbench.memfail.templates.conditional import EASY_SENTENCES, HARD_SENTENCES

BATCH = 10
EASY, HARD = "conditional_facts_easy", "conditional_facts_hard"
_DATAPOINT = ("behavior", "condition", "statement", "question", "question_context", "condition_met", "answer")
PARTS = ("behavior_sentence", "condition_sentence", "link_sentence")

# A link points back, or tells how often or when; otherwise it is one more sentence about something else.
_LINKING = frozenset(
    words_of(
        "this that these those then such usually typically mostly often nearly almost around during time tends belongs "
        "together hour moment mood there"
    )
)


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
        kept = asker.log.without_alike(step, kept, ESSAY, texts, "its essay is like that of")
    asker.log.count(step, len(complete), len(kept))
    return {config: [_row(rule, points[rule.number], accepted) for rule in kept] for config, accepted in essays.items()}


def _row(rule: ConditionalSpec, point: Item, essays: dict[int, Item]) -> Row:
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
        "easy_has_its_length": wrong_length(row["essay"], *EASY_SENTENCES),
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
        "hard_has_its_length": wrong_length(row["essay"], *HARD_SENTENCES),
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
    batch=BATCH,
    prompt="conditional_datapoint",
    fields=dict.fromkeys(_DATAPOINT, TEXT),
    shown=lambda spec: _shown(spec) | {"condition_type": spec.condition_type, "target": spec.target},
    checks=_datapoint_checks,
    stand_in=lambda spec: {name: stand_in(spec.label, 12) for name in _DATAPOINT},
)
"""Invents a rule and its question."""
ESSAYS: Mapping[str, Step[ConditionalSpec]] = {
    EASY: Step(
        name="Easy essays",
        batch=BATCH,
        prompt="easy_essay",
        fields={"essay": TEXT},
        shown=_shown_rule,
        checks=_easy_checks,
        stand_in=lambda rule: {"essay": stand_in(rule.label, 90)},
    ),
    HARD: Step(
        name="Hard essays",
        batch=BATCH,
        prompt="hard_essay",
        fields=dict.fromkeys(("essay", *PARTS), TEXT),
        shown=_shown_rule,
        checks=_hard_checks,
        stand_in=lambda rule: {"essay": stand_in(rule.label, 140)},
    ),
}
"""Write essays with the rule in one sentence, and in three sentences that are apart."""
