"""Conditional-Facts by a model: one datapoint, and from this same datapoint the Easy essay and the Hard essay, and their checks.

Paper: Section 4, task 1, Appendix B.2–B.3. The released Easy and Hard rows have nothing in common but category and type of
the condition; here row i of both states the same rule and asks the same question. Each check takes the spec and the row,
and returns what is wrong or None; the reference makes none of them. The checks of essays take the rule as their spec.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from epbench.memfail.dataset.schema import Row, polarity
from epbench.memfail.dataset.word_rules import connectives, sentences, words_of
from epbench.memfail.generation.asking import TEXT, Asker, GenerationPrompts, Item, Step
from epbench.memfail.generation.specs import ConditionalSpec, conditional_specs
from epbench.memfail.generation.words import ESSAY, HALF, keeps, missing, quoted, same, share, stand_in
from epbench.memfail.templates.conditional import EASY_SENTENCES, HARD_SENTENCES

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
    complete = [rule for rule in rules if all(rule.number in accepted for accepted in essays.values())]
    for rule in rules:
        if len(configs) > 1 and rule not in complete and any(rule.number in accepted for accepted in essays.values()):
            asker.log.drop("same_rules", "pairs of Easy and Hard", rule.label, "one of its two essays was dropped")
    kept, step = complete, "essays without near duplicates"
    for written in essays.values():
        kept = asker.log.without_alike(step, kept, ESSAY, partial(_essay_of, written), "its essay is like that of")
    asker.log.count(step, len(complete), len(kept))
    return {config: [_row(rule, points[rule.number], accepted) for rule in kept] for config, accepted in essays.items()}


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
            statement_keeps_rule,
            target_is_met,
            answer_agrees_with_target,
            question_names_entity,
            question_asks_about_behavior,
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
            essay_names_entity,
            easy_has_its_length,
            easy_keeps_rule,
            easy_adds_no_condition,
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
            essay_names_entity,
            hard_has_its_length,
            hard_has_three_sentences,
            hard_sentences_are_apart,
            hard_keeps_rule,
            hard_link_points_back,
            hard_has_no_connectives,
            hard_splits_rule,
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


def _essay_of(written: dict[int, Item], rule: Rule) -> list[str]:
    return [written[rule.number]["essay"]]


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


PARTS = ("behavior_sentence", "condition_sentence", "link_sentence")

# A link points back, or tells how often or when; otherwise it is one more sentence about something else.
_LINKING = frozenset(
    words_of(
        "this that these those then such usually typically mostly often nearly almost around during time tends belongs "
        "together hour moment mood there"
    )
)


@dataclass(frozen=True)
class Rule:
    """A datapoint that passed, about which the essays are written."""

    spec: ConditionalSpec
    behavior: str
    condition: str

    @property
    def number(self) -> int:
        return self.spec.number

    @property
    def label(self) -> str:
        return self.spec.label


def statement_keeps_rule(spec: ConditionalSpec, row: Item) -> str | None:
    """The statement has the name, and the words of behavior and condition."""
    if spec.entity not in row["statement"]:
        return f"the statement does not name {spec.entity}"
    return _lacks("the statement", row["statement"], row["behavior"], row["condition"])


def target_is_met(spec: ConditionalSpec, row: Item) -> str | None:
    """`condition_met` is what the spec asks for."""
    if row["condition_met"].strip().lower() == spec.target:
        return None
    return f"condition_met is {quoted(row['condition_met'])}, but the target is {spec.target!r}"


def answer_agrees_with_target(spec: ConditionalSpec, row: Item) -> str | None:
    """The answer begins with the target: a judge takes the answer's Yes or No for the truth."""
    opening = polarity(row["answer"])
    if opening == spec.target:
        return None
    return f"the answer begins with {opening or 'neither yes nor no'}, expected {spec.target}: {quoted(row['answer'])}"


def question_names_entity(spec: ConditionalSpec, row: Item) -> str | None:
    """The question has the full name, which alone tells the entities of a store apart."""
    return None if spec.entity in row["question"] else f"the question does not name {spec.entity} in full"


def question_asks_about_behavior(spec: ConditionalSpec, row: Item) -> str | None:
    """The question has at least half of the words of the behavior."""
    if share(row["behavior"], row["question"]) >= HALF:
        return None
    return f"the question does not ask about the behavior {quoted(row['behavior'])}"


def essay_names_entity(rule: Rule, row: Item) -> str | None:
    """The essay has the full name."""
    return None if rule.spec.entity in row["essay"] else f"the essay does not name {rule.spec.entity}"


def easy_has_its_length(rule: Rule, row: Item) -> str | None:
    """An Easy essay has 5 to 8 sentences (Section 4)."""
    return _length(row["essay"], *EASY_SENTENCES)


def easy_keeps_rule(rule: Rule, row: Item) -> str | None:
    """One sentence of an Easy essay states the whole rule."""
    closest = max(
        sentences(row["essay"]), key=lambda text: share(f"{rule.behavior} {rule.condition}", text), default=""
    )
    lacking = _lacks("the sentence with the rule", closest, rule.behavior, rule.condition)
    return lacking and f"no single sentence states the whole rule; {lacking}"


def easy_adds_no_condition(rule: Rule, row: Item) -> str | None:
    """No other sentence of an Easy essay has a connective of a condition (Appendix D.1.1)."""
    rule_words = f"{rule.behavior} {rule.condition}"
    others = sorted(sentences(row["essay"]), key=lambda text: share(rule_words, text))[:-1]
    conditions = [(word, text) for text in others for word in connectives(text)]
    return f"a sentence without the rule has {conditions[0][0]!r}: {quoted(conditions[0][1])}" if conditions else None


def hard_has_its_length(rule: Rule, row: Item) -> str | None:
    """A Hard essay has 8 to 12 sentences (Section 4)."""
    return _length(row["essay"], *HARD_SENTENCES)


def hard_has_three_sentences(rule: Rule, row: Item) -> str | None:
    """The three sentences that carry the rule stand in the essay, and are three."""
    places = _places(row)
    for part, place in zip(PARTS, places, strict=True):
        if place is None:
            return f"the {part} is no whole sentence of the essay: {quoted(row[part])}"
    return None if len(set(places)) == len(PARTS) else "two of the three sentences are the same one"


def hard_sentences_are_apart(rule: Rule, row: Item) -> str | None:
    """No two of the three sentences are neighbours (Appendix B.3)."""
    places = [(part, place) for part, place in zip(PARTS, _places(row), strict=True) if place is not None]
    for (first, i), (second, j) in combinations(places, 2):
        if abs(i - j) == 1:
            return f"the {first} and the {second} are neighbours; put another sentence between them"
    return None


def hard_keeps_rule(rule: Rule, row: Item) -> str | None:
    """The behavior's sentence has half of the words of the behavior, and the condition's half of those of the condition.

    More cannot be asked for: `when she is above 7 of 10` has to become a sentence that is true at all times.
    """
    for part, text in (("behavior_sentence", rule.behavior), ("condition_sentence", rule.condition)):
        if not keeps(text, row[part], HALF):
            return f"the {part} lacks words of {quoted(text)}: {missing(text, row[part])}"
    return None


def hard_link_points_back(rule: Rule, row: Item) -> str | None:
    """The third sentence has a word that points back or tells a time."""
    if _LINKING & set(words_of(row["link_sentence"])):
        return None
    return f"the link_sentence does not tell when: {quoted(row['link_sentence'])}"


def hard_has_no_connectives(rule: Rule, row: Item) -> str | None:
    """A Hard essay has none of the connectives of Appendix B.3; `as if` is none."""
    words = connectives(row["essay"])
    return f"the essay has {', '.join(map(repr, words))}; use no such word anywhere" if words else None


def hard_splits_rule(rule: Rule, row: Item) -> str | None:
    """No sentence of a Hard essay names both behavior and condition."""
    for text in sentences(row["essay"]):
        behavior = share(rule.behavior, text, f"{rule.condition} {rule.spec.entity}")
        condition = share(rule.condition, text, f"{rule.behavior} {rule.spec.entity}")
        if min(behavior, condition) >= HALF:
            return f"a sentence names both behavior and condition: {quoted(text)}"
    return None


def _length(essay: str, low: int, high: int) -> str | None:
    n = len(sentences(essay))
    return None if low <= n <= high else f"the essay has {n} sentences, expected {low} to {high}"


def _lacks(label: str, text: str, behavior: str, condition: str) -> str | None:
    for name, part in (("behavior", behavior), ("condition", condition)):
        if not keeps(part, text):
            return f"{label} lacks words of the {name} {quoted(part)}: {missing(part, text)}"
    return None


def _places(row: Item) -> list[int | None]:
    """Where the three sentences stand in the essay, from 0; None for one that does not."""
    essay = sentences(row["essay"])
    return [next((i for i, text in enumerate(essay) if same(text, row[part])), None) for part in PARTS]
