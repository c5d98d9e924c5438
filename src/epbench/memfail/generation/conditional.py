"""Conditional-Facts by a model: one datapoint, and from this same datapoint the Easy essay and the Hard essay, and their checks.

Paper: Section 4, task 1, Appendix B.2–B.3. The released Easy and Hard rows have nothing in common but category and type of
the condition; here row i of both states the same rule and asks the same question. The reference makes none of the checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from epbench.memfail.dataset.schema import Row, polarity
from epbench.memfail.dataset.word_rules import connectives, sentences, words_of
from epbench.memfail.generation.asking import TEXT, Asker, Fault, GenerationPrompts, Item, Step
from epbench.memfail.generation.specs import ConditionalSpec, conditional_specs
from epbench.memfail.generation.words import ESSAY, HALF, keeps, missing, quoted, same, share, stand_in, wrong_length
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


def conditional_rows(asker: Asker, configs: Sequence[str], n: int, seed: int) -> dict[str, list[Row]]:
    """Return the rows of Easy, of Hard or of both, about at most n rules; one that fails in one is dropped from the other."""
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
        texts = {number: [row["essay"]] for number, row in written.items()}
        kept = asker.log.without_alike(step, kept, ESSAY, texts, "its essay is like that of")
    asker.log.count(step, len(complete), len(kept))
    return {config: [_row(rule, points[rule.number], accepted) for rule in kept] for config, accepted in essays.items()}


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


def datapoint_step(prompts: GenerationPrompts) -> Step[ConditionalSpec]:
    """Return the step that invents a rule and its question."""

    def shown(spec: ConditionalSpec) -> Item:
        about = {"entity": spec.entity, "entity_category": spec.category}
        return about | {"condition_type": spec.condition_type, "target": spec.target}

    return Step(
        name="conditional datapoints",
        batch=BATCH,
        prompt=prompts.conditional_datapoint.format,
        fields=dict.fromkeys(_DATAPOINT, TEXT),
        shown=shown,
        faults=_datapoint_faults,
        stand_in=lambda spec: {name: stand_in(spec.label, 12) for name in _DATAPOINT},
    )


def _datapoint_faults(spec: ConditionalSpec, row: Item) -> Iterator[Fault]:
    if spec.entity not in row["statement"]:
        yield "statement_keeps_rule", f"the statement does not name {spec.entity}"
    elif lacking := _lacks("the statement", row["statement"], row["behavior"], row["condition"]):
        yield "statement_keeps_rule", lacking
    if row["condition_met"].strip().lower() != spec.target:
        yield "target_is_met", f"condition_met is {quoted(row['condition_met'])}, but the target is {spec.target!r}"
    if (opening := polarity(row["answer"])) != spec.target:  # a judge takes the answer's Yes or No for the truth
        begins = f"the answer begins with {opening or 'neither yes nor no'}, expected {spec.target}"
        yield "answer_agrees_with_target", f"{begins}: {quoted(row['answer'])}"
    if spec.entity not in row["question"]:  # the full name alone tells the entities of a store apart
        yield "question_names_entity", f"the question does not name {spec.entity} in full"
    if share(row["behavior"], row["question"]) < HALF:
        yield "question_asks_about_behavior", f"the question does not ask about the behavior {quoted(row['behavior'])}"


def easy_step(prompts: GenerationPrompts) -> Step[Rule]:
    """Return the step that writes essays with the rule in one sentence."""
    return Step(
        name="Easy essays",
        batch=BATCH,
        prompt=prompts.easy_essay.format,
        fields={"essay": TEXT},
        shown=_shown,
        faults=_easy_faults,
        stand_in=lambda rule: {"essay": stand_in(rule.label, 90)},
    )


def _shown(rule: Rule) -> Item:
    about = {"entity": rule.spec.entity, "entity_category": rule.spec.category}
    return about | {"behavior": rule.behavior, "condition": rule.condition}


def _easy_faults(rule: Rule, row: Item) -> Iterator[Fault]:
    """Appendix D.1.1: one sentence states the whole rule, and no other has a connective of a condition."""
    if rule.spec.entity not in row["essay"]:
        yield "essay_names_entity", f"the essay does not name {rule.spec.entity}"
    if wrong := wrong_length(row["essay"], *EASY_SENTENCES):
        yield "easy_has_its_length", wrong
    texts = sentences(row["essay"])
    shared = {text: share(f"{rule.behavior} {rule.condition}", text) for text in texts}
    closest = max(texts, key=shared.__getitem__, default="")
    if lacking := _lacks("the sentence with the rule", closest, rule.behavior, rule.condition):
        yield "easy_keeps_rule", f"no single sentence states the whole rule; {lacking}"
    others = sorted(texts, key=shared.__getitem__)[:-1]
    if conditions := [f"{word!r}: {quoted(text)}" for text in others for word in connectives(text)]:
        yield "easy_adds_no_condition", f"a sentence without the rule has {conditions[0]}"


def hard_step(prompts: GenerationPrompts) -> Step[Rule]:
    """Return the step that writes essays with the rule in three sentences that are apart."""
    return Step(
        name="Hard essays",
        batch=BATCH,
        prompt=prompts.hard_essay.format,
        fields=dict.fromkeys(("essay", *PARTS), TEXT),
        shown=_shown,
        faults=_hard_faults,
        stand_in=lambda rule: {"essay": stand_in(rule.label, 140)},
    )


def _hard_faults(rule: Rule, row: Item) -> Iterator[Fault]:
    """Appendix B.3: three sentences carry the rule, no two of them neighbours, and none names both of its halves."""
    if rule.spec.entity not in row["essay"]:
        yield "essay_names_entity", f"the essay does not name {rule.spec.entity}"
    if wrong := wrong_length(row["essay"], *HARD_SENTENCES):
        yield "hard_has_its_length", wrong
    essay = sentences(row["essay"])
    places = {part: [i for i, text in enumerate(essay) if same(text, row[part])][:1] for part in PARTS}
    if absent := next((part for part in PARTS if not places[part]), None):
        yield "hard_has_three_sentences", f"the {absent} is no whole sentence of the essay: {quoted(row[absent])}"
    elif len({i for (i,) in places.values()}) < len(PARTS):
        yield "hard_has_three_sentences", "two of the three sentences are the same one"
    for (first, found), (second, others) in combinations(places.items(), 2):
        if any(abs(i - j) == 1 for i in found for j in others):
            told = f"the {first} and the {second} are neighbours; put another sentence between them"
            yield "hard_sentences_are_apart", told
            break
    for part, text in zip(PARTS, (rule.behavior, rule.condition), strict=False):
        # More than half of the words cannot be asked for: `when she is above 7 of 10` has to become true at all times.
        if not keeps(text, row[part], HALF):
            yield "hard_keeps_rule", f"the {part} lacks words of {quoted(text)}: {missing(text, row[part])}"
            break
    if not _LINKING & set(words_of(row["link_sentence"])):
        yield "hard_link_points_back", f"the link_sentence does not tell when: {quoted(row['link_sentence'])}"
    if words := connectives(row["essay"]):
        told = f"the essay has {', '.join(map(repr, words))}; use no such word anywhere"
        yield "hard_has_no_connectives", told
    for text in essay:
        behavior = share(rule.behavior, text, f"{rule.condition} {rule.spec.entity}")
        condition = share(rule.condition, text, f"{rule.behavior} {rule.spec.entity}")
        if min(behavior, condition) >= HALF:
            yield "hard_splits_rule", f"a sentence names both behavior and condition: {quoted(text)}"
            break


def _lacks(label: str, text: str, behavior: str, condition: str) -> str | None:
    for name, part in (("behavior", behavior), ("condition", condition)):
        if not keeps(part, text):
            return f"{label} lacks words of the {name} {quoted(part)}: {missing(part, text)}"
    return None
