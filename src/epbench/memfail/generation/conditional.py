"""Conditional-Facts by a model: one datapoint, and from this same datapoint the Easy essay and the Hard essay.

Paper: Section 4, task 1, Appendix B.2–B.3. The released Easy and Hard rows have nothing in common but category and type of
the condition; here row i of both states the same rule and asks the same question.
"""

from __future__ import annotations

from collections.abc import Sequence

from epbench.memfail.dataset.schema import Row
from epbench.memfail.generation import checks_conditional as checks
from epbench.memfail.generation.asking import TEXT, Asker, Item, Step
from epbench.memfail.generation.checks_conditional import PARTS, Rule
from epbench.memfail.generation.duplicates import ESSAY, Duplicates
from epbench.memfail.generation.prompts import GenerationPrompts
from epbench.memfail.generation.specs import ConditionalSpec, conditional_specs
from epbench.memfail.generation.words import stand_in

BATCH = 10
EASY, HARD = "conditional_facts_easy", "conditional_facts_hard"
_DATAPOINT = ("behavior", "condition", "statement", "question", "question_context", "condition_met", "answer")


def conditional_rows(asker: Asker, configs: Sequence[str], n: int, seed: int) -> dict[str, list[Row]]:
    """Return the rows of Easy, of Hard or of both; with both, a rule that fails in one is dropped from the other.

    Args:
        asker: Asks the model.
        configs: `conditional_facts_easy`, `conditional_facts_hard`, or both.
        n: Number of rules to ask for.
        seed: Seed of the specs.
    """
    specs = conditional_specs(n, seed)
    points = asker.accepted(datapoint_step(asker.prompts), specs)
    rules = [
        Rule(spec, points[spec.number]["behavior"].strip(" ."), points[spec.number]["condition"].strip(" ."))
        for spec in specs
        if spec.number in points
    ]
    steps = {EASY: easy_step(asker.prompts), HARD: hard_step(asker.prompts)}
    essays = {config: asker.accepted(steps[config], rules) for config in configs}
    complete = [rule for rule in rules if all(rule.number in found for found in essays.values())]
    for rule in rules:
        if len(configs) > 1 and rule not in complete and any(rule.number in found for found in essays.values()):
            asker.log.drop("same_rules", "pairs of Easy and Hard", rule.label, "one of its two essays was dropped")
    kept = _without_duplicates(asker, complete, essays)
    rows = {config: [_row(rule, points[rule.number], found) for rule in kept] for config, found in essays.items()}
    if len(configs) > 1:
        for place, column in checks.same_rules(rows[EASY], rows[HARD]):
            raise AssertionError(f"rows {place} of Easy and Hard differ in {column}, but both come from one datapoint")
    return rows


def datapoint_step(prompts: GenerationPrompts) -> Step[ConditionalSpec]:
    """Return the step that invents a rule and its question."""
    return Step(
        name="conditional datapoints",
        batch=BATCH,
        prompt=lambda specs: prompts.conditional_datapoint.format(specs=specs),
        fields=dict.fromkeys(_DATAPOINT, TEXT),
        shown=lambda spec: {
            "entity": spec.entity,
            "entity_category": spec.category,
            "condition_type": spec.condition_type,
            "target": spec.target,
        },
        counts=(),
        checks=(
            checks.statement_keeps_rule,
            checks.target_is_met,
            checks.answer_agrees_with_target,
            checks.question_names_entity,
            checks.question_asks_about_behavior,
        ),
        stand_in=lambda spec: {name: stand_in(spec.label, 12) for name in _DATAPOINT},
    )


def easy_step(prompts: GenerationPrompts) -> Step[Rule]:
    """Return the step that writes essays with the rule in one sentence."""
    return Step(
        name="Easy essays",
        batch=BATCH,
        prompt=lambda specs: prompts.easy_essay.format(specs=specs),
        fields={"essay": TEXT},
        shown=_shown,
        counts=(),
        checks=(
            checks.essay_names_entity,
            checks.easy_has_its_length,
            checks.easy_keeps_rule,
            checks.easy_adds_no_condition,
        ),
        stand_in=lambda rule: {"essay": stand_in(rule.label, 90)},
    )


def hard_step(prompts: GenerationPrompts) -> Step[Rule]:
    """Return the step that writes essays with the rule in three sentences that are apart."""
    return Step(
        name="Hard essays",
        batch=BATCH,
        prompt=lambda specs: prompts.hard_essay.format(specs=specs),
        fields=dict.fromkeys(("essay", *PARTS), TEXT),
        shown=_shown,
        counts=(),
        checks=(
            checks.essay_names_entity,
            checks.hard_has_its_length,
            checks.hard_has_three_sentences,
            checks.hard_sentences_are_apart,
            checks.hard_keeps_rule,
            checks.hard_link_points_back,
            checks.hard_has_no_connectives,
            checks.hard_splits_rule,
        ),
        stand_in=lambda rule: {"essay": stand_in(rule.label, 140)},
    )


def _shown(rule: Rule) -> Item:
    return {
        "entity": rule.spec.entity,
        "entity_category": rule.spec.category,
        "behavior": rule.behavior,
        "condition": rule.condition,
    }


def _without_duplicates(asker: Asker, rules: Sequence[Rule], essays: dict[str, dict[int, Item]]) -> list[Rule]:
    """Drop rules of which an essay is like that of an earlier rule."""
    kept, step = list(rules), "essays without near duplicates"
    for found in essays.values():
        seen = Duplicates(ESSAY)
        for rule in tuple(kept):
            if like := seen.like([found[rule.number]["essay"]], rule.label):
                asker.log.drop("duplicate", step, rule.label, f"its essay is like that of {like}")
                kept.remove(rule)
    asker.log.count(step, len(rules), len(kept))
    return kept


def _row(rule: Rule, point: Item, essays: dict[int, Item]) -> Row:
    return {
        "entity": rule.spec.entity,
        "entity_category": rule.spec.category,
        "behavior": rule.behavior,
        "condition_type": rule.spec.condition_type,
        "condition": rule.condition,
        "entity_facts": [essays[rule.number]["essay"].strip()],
        "question": point["question"].strip(),
        "question_context": point["question_context"].strip(),
        "condition_met": rule.spec.target,
        "ground_truth_answer": point["answer"].strip(),
    }
