"""The config `revision` by a model, with the checks of its rows: one call writes a whole row.

What is drawn: the people, the topics, what becomes of each fact, and what each message does. What the model writes: the
values, the messages and the questions. A row passes if each message has the values that it tells and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from epbench.memfail.dataset.revision import FACTS, asked, facts_with, leaks, revision_row, values_of
from epbench.memfail.dataset.schema import Row
from epbench.memfail.dataset.word_rules import content_of, stands_in
from epbench.memfail.generation.asking import TEXTS, Asker, Fault, GenerationPrompts, Item, Step
from epbench.memfail.generation.specs import RevisionSpec, revision_specs
from epbench.memfail.generation.words import PERSONA, quoted, stand_in

BATCH = 2
_UNKNOWN = "I do not know: you asked me to forget that."


def revision_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of `revision` out of n that are asked for.

    Raises:
        BadInput: Our lists have too few names.
    """
    step, what = revision_step(asker.prompts), "its messages are like those of"
    specs, told = revision_specs(n, seed), "revision rows"
    found = asker.written(step, specs, told, PERSONA, lambda row: " ".join(row["messages"]), what)
    return [_row(spec, row) for spec, row in found]


def _row(spec: RevisionSpec, written: Item) -> Row:
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
_KINDS = {"now": "what holds now", "first": "what was told at first", "forgotten": "what holds now"}


def revision_step(prompts: GenerationPrompts) -> Step[RevisionSpec]:
    """Return the step that writes values, messages and questions."""
    return Step(
        name="revision rows",
        batch=BATCH,
        prompt=prompts.revision.format,
        fields=dict.fromkeys(_LENGTHS, TEXTS),
        shown=_shown,
        faults=_faults,
        stand_in=lambda spec: {
            name: [stand_in(f"{spec.label}-{name}{i}", 2 if "values" in name else 14) for i in range(length(spec))]
            for name, length in _LENGTHS.items()
        },
    )


def _shown(spec: RevisionSpec) -> Item:
    return {
        "facts": [
            {"fact": i, "person": spec.subjects[subject], "topic": spec.topics[topic], "fate": fate}
            for i, (subject, topic, fate) in enumerate(FACTS)
        ],
        "messages": [{"does": act, "facts": [*numbers]} for act, numbers in spec.messages],
        "questions": [{"fact": number, "asks": _KINDS[kind]} for kind, number in asked()],
    }


def _faults(spec: RevisionSpec, row: Item) -> Iterator[Fault]:
    for name, length in _LENGTHS.items():
        if (n := len(row[name])) != length(spec):
            yield "lists_have_their_length", f"expected {length(spec)} {name}, found {n}"
            return
    taken = {word for name in spec.subjects for word in content_of(name)}
    for value in (*row["values"], *row["new_values"]):
        if shared := taken & content_of(value):
            told = f"the value {value!r} shares {sorted(shared)[0]!r} with another value or a name"
            yield "values_share_no_words", told
            break
        taken |= content_of(value)
    for (act, numbers), text in zip(spec.messages, row["messages"], strict=True):
        wanted = {spec.subjects[FACTS[number][0]] for number in numbers}
        if wanted != {name for name in spec.subjects if name in text}:
            whom = ", ".join(sorted(wanted)) or "nobody"
            told = f"expected the message that {act} to name {whom} in full, and nobody else: {quoted(text)}"
            yield "messages_name_whom_they_are_about", told
            break
    made = _row(spec, row)
    acts = [(said, number) for said in made["statements"] for number in said["facts"]]
    for said, number in acts:
        value = made["facts"][number]["now" if said["act"] == "corrects" else "first"]
        if said["act"] not in ("withdraws", "talks") and not stands_in(value, said["text"]):
            told = f"the message that {said['act']} fact {number} does not have {value!r}: {quoted(said['text'])}"
            yield "messages_tell_their_values", told
            break
    if leaked := next(leaks(made), None):
        yield "messages_leak_no_value", f"a message has the value {leaked!r}, which it does not tell"
    for (_, number), text in zip(asked(), row["questions"], strict=True):
        whom = spec.subjects[FACTS[number][0]]
        if [name for name in spec.subjects if name in text] != [whom]:
            told = f"expected a question that names {whom} in full, and nobody else: {quoted(text)}"
            yield "questions_name_whom_they_ask_about", told
            break
    values = values_of(made)
    if named := [(value, text) for text in row["questions"] for value in values if stands_in(value, text)]:
        yield "questions_name_no_value", f"a question has the value {named[0][0]!r}: {quoted(named[0][1])}"
