"""The config `revision` by a model, with the checks of its rows: one call writes a whole row.

What is drawn: the people, the topics, what becomes of each fact, and what each message does. What the model writes: the
values, the messages and the questions. A row passes if each message has the values that it tells and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from epbench.memfail.dataset.revision import FACTS, asked, facts_with, leaks, revision_row, values_of
from epbench.memfail.dataset.schema import Row
from epbench.memfail.dataset.word_rules import content_of, stands_in
from epbench.memfail.generation.asking import TEXTS, Asker, GenerationPrompts, Item, Step
from epbench.memfail.generation.specs import RevisionSpec, revision_specs
from epbench.memfail.generation.words import PERSONA, quoted, stand_in

BATCH = 2
_UNKNOWN = "I do not know: you asked me to forget that."


def revision_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of `revision` out of n that are asked for.

    Raises:
        BadInput: Our lists have too few names.
    """
    specs = revision_specs(n, seed)
    accepted = asker.accepted(revision_step(asker.prompts), specs)
    written = [spec for spec in specs if spec.number in accepted]
    step = "revision rows without near duplicates"
    kept = asker.log.without_alike(
        step,
        written,
        PERSONA,
        lambda spec: [" ".join(accepted[spec.number]["messages"])],
        "its messages are like those of",
    )
    asker.log.count(step, len(accepted), len(kept))
    return [_row(spec, accepted[spec.number]) for spec in kept]


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
        prompt=lambda specs: prompts.revision.format(specs=specs),
        fields=dict.fromkeys(_LENGTHS, TEXTS),
        shown=_shown,
        counts=(lists_have_their_length,),
        checks=(
            values_share_no_words,
            messages_name_whom_they_are_about,
            messages_tell_their_values,
            messages_leak_no_value,
            questions_name_whom_they_ask_about,
            questions_name_no_value,
        ),
        stand_in=lambda spec: {
            name: [stand_in(f"{spec.label}-{name}{i}", 2 if "values" in name else 14) for i in range(length(spec))]
            for name, length in _LENGTHS.items()
        },
    )


def _shown(spec: RevisionSpec) -> Item:
    facts = [
        {"fact": i, "person": spec.subjects[subject], "topic": spec.topics[topic], "fate": fate}
        for i, (subject, topic, fate) in enumerate(FACTS)
    ]
    return {
        "facts": facts,
        "messages": [{"does": act, "facts": [*numbers]} for act, numbers in spec.messages],
        "questions": [{"fact": number, "asks": _KINDS[kind]} for kind, number in asked()],
    }


def lists_have_their_length(spec: RevisionSpec, row: Item) -> str | None:
    """There are as many values, messages and questions as the spec has."""
    for name, length in _LENGTHS.items():
        if (n := len(row[name])) != length(spec):
            return f"expected {length(spec)} {name}, found {n}"
    return None


def values_share_no_words(spec: RevisionSpec, row: Item) -> str | None:
    """No two values share a word that carries meaning, or have one of a name."""
    taken = {word for name in spec.subjects for word in content_of(name)}
    for value in (*row["values"], *row["new_values"]):
        if shared := taken & content_of(value):
            return f"the value {value!r} shares {sorted(shared)[0]!r} with another value or a name"
        taken |= content_of(value)
    return None


def messages_name_whom_they_are_about(spec: RevisionSpec, row: Item) -> str | None:
    """Each message has the full names of the people of its facts, and of nobody else."""
    for (act, numbers), text in zip(spec.messages, row["messages"], strict=True):
        wanted = {spec.subjects[FACTS[number][0]] for number in numbers}
        named = {name for name in spec.subjects if name in text}
        if named != wanted:
            expected = ", ".join(sorted(wanted)) or "nobody"
            return f"expected the message that {act} to name {expected} in full, and nobody else: {quoted(text)}"
    return None


def messages_tell_their_values(spec: RevisionSpec, row: Item) -> str | None:
    """Each message has the values that it tells, in their own words."""
    made = _row(spec, row)
    for said in made["statements"]:
        for number in said["facts"] if said["act"] not in ("withdraws", "talks") else ():
            value = made["facts"][number]["now" if said["act"] == "corrects" else "first"]
            if not stands_in(value, said["text"]):
                return f"the message that {said['act']} fact {number} does not have {value!r}: {quoted(said['text'])}"
    return None


def messages_leak_no_value(spec: RevisionSpec, row: Item) -> str | None:
    """No message has a value that it does not tell; one that withdraws a fact has none at all."""
    leaked = next(leaks(_row(spec, row)), None)
    return f"a message has the value {leaked!r}, which it does not tell" if leaked else None


def questions_name_whom_they_ask_about(spec: RevisionSpec, row: Item) -> str | None:
    """Each question has the full name of the person of its fact, and of nobody else."""
    for (_, number), text in zip(asked(), row["questions"], strict=True):
        wanted = spec.subjects[FACTS[number][0]]
        if [name for name in spec.subjects if name in text] != [wanted]:
            return f"expected a question that names {wanted} in full, and nobody else: {quoted(text)}"
    return None


def questions_name_no_value(spec: RevisionSpec, row: Item) -> str | None:
    """No question gives a value away."""
    values = values_of(_row(spec, row))
    named = [(value, text) for text in row["questions"] for value in values if stands_in(value, text)]
    return f"a question has the value {named[0][0]!r}: {quoted(named[0][1])}" if named else None
