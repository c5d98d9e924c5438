"""The tasks that tell facts one by one, in which one call of a model writes a whole row: Coexisting-Facts and `revision`.

Paper: Section 4, task 2, Appendix B.4. Of the checks, the reference only warns about wrong numbers. For `revision`, which is
ours, the people, the topics, what becomes of each fact and what each message does are drawn; the model writes the values, the
messages and the questions. A row passes if each message has the values that it tells and no other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.memfail.dataset import revision
from epbench.memfail.dataset.revision import FACTS, asked, facts_with
from epbench.memfail.dataset.schema import Row
from epbench.memfail.dataset.word_rules import HALF, content_of, literally_in, normalised, sentences, share, stands_in
from epbench.memfail.generation.asking import SEED, TEXT, TEXTS, Asker, Checks, Item, Spec, Step, quoted, stand_in
from epbench.memfail.templates.bank import bank, strangers

COEXISTING_BATCH, REVISION_BATCH = 10, 2


@dataclass(frozen=True)
class CoexistingSpec(Spec):
    """One category of Coexisting-Facts, and how many preferences it has (2 to 5)."""

    task = "coexisting"
    category: str
    size: int


def coexisting_specs(n: int, seed: int = SEED) -> list[CoexistingSpec]:
    """Draw n categories in random order, and 2 to 5 preferences for each."""
    categories = [*bank("pools")["preference_categories"]]
    if n > len(categories):
        raise BadInput(f"rows: expected at most {len(categories)} for coexisting_facts, one per category, got {n}")
    drawn = random.Random(seed)
    drawn.shuffle(categories)
    sizes = [drawn.randint(2, 5) for _ in categories]
    return [CoexistingSpec(i, categories[i], sizes[i]) for i in range(n)]


def coexisting_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of Coexisting-Facts out of n that are asked for."""
    step, specs, what = COEXISTING, coexisting_specs(n, seed), "its question is like that of"
    found = asker.written(step, specs, "coexisting questions", lambda row: row["question"], what)
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


def _coexisting_checks(spec: CoexistingSpec, row: Item) -> Iterator[Checks]:
    names, facts = row["preferences"], row["preference_facts"]
    n, n_facts = len({normalised(name) for name in names} - {""}), len(facts)
    yield {
        "preferences_have_their_number": not n == len(names) == spec.size
        and f"expected {spec.size} different preferences, found {n} in {len(names)}",
        "facts_have_their_number": n_facts != spec.size and f"expected {spec.size} preference_facts, found {n_facts}",
    }
    told = list(zip(names, facts, strict=True))
    yield {
        "facts_are_short": (
            f"expected 1 or 2 sentences in each fact, found {n} in {quoted(fact)}"
            for fact in facts
            if not 1 <= (n := len(sentences(fact))) <= 2
        ),
        "facts_name_their_preference": (
            f"the fact about {name!r} does not name it: {quoted(fact)}"
            for name, fact in told
            if share(name, fact) < HALF and not literally_in(name, fact)
        ),
        "facts_name_no_sibling": (  # each fact is stored alone
            f"the fact about {name!r} also names {other!r}: {quoted(fact)}"
            for name, fact in told
            for other in names
            if other != name and stands_in(other, fact)
        ),
        "question_names_no_preference": (
            f"the question names {name!r}: {quoted(row['question'])}"
            for name in names
            if stands_in(name, row["question"])
        ),
    }


COEXISTING: Step[CoexistingSpec] = Step(
    name="coexisting facts",
    batch=COEXISTING_BATCH,
    prompt="coexisting",
    fields={"preferences": TEXTS, "preference_facts": TEXTS, "question": TEXT},
    shown=lambda spec: {"category": spec.category, "number": spec.size},
    checks=_coexisting_checks,
    stand_in=lambda spec: {
        "preferences": [stand_in(spec.label, 2)] * spec.size,
        "preference_facts": [stand_in(spec.label, 12)] * spec.size,
        "question": stand_in(spec.label, 20),
    },
)


@dataclass(frozen=True)
class RevisionSpec(Spec):
    """One row of `revision`, which the reference does not have."""

    task = "revision"
    subjects: tuple[str, ...]  # whom the facts are about
    topics: tuple[str, ...]  # what they are about
    messages: tuple[revision.Said, ...]  # what each message does, in their order


def revision_specs(n: int, seed: int = SEED) -> list[RevisionSpec]:
    """Draw the people, the topics and the order of the messages of n rows."""
    stream, topics = RandomStream("memfail revisions of a model", seed, n), [*bank("revision")["topics"]]
    specs = []
    for number, circle in enumerate(strangers(n, stream)):
        names, about = (person.name for person in circle), stream.sample(topics, revision.N_TOPICS)
        specs.append(RevisionSpec(number, tuple(names), tuple(about), tuple(revision.messages(stream))))
    return specs


def revision_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return the rows of `revision` out of n that are asked for."""
    specs, what = revision_specs(n, seed), "its messages are like those of"
    found = asker.written(REVISIONS, specs, "revision rows", lambda row: " ".join(row["messages"]), what)
    return [_revision_row(spec, row) for spec, row in found]


def _revision_row(spec: RevisionSpec, written: Item) -> Row:
    texts = {name: [text.strip() for text in written[name]] for name in _LENGTHS}
    return revision.revision_row(
        spec.subjects,
        spec.topics,
        texts["values"],
        dict(zip(facts_with("corrected"), texts["new_values"], strict=True)),
        list(zip(spec.messages, texts["messages"], strict=True)),
        texts["questions"],
        ["I do not know: you asked me to forget that."] * len(FACTS),
    )


_LENGTHS: Mapping[str, Callable[[RevisionSpec], int]] = {
    "values": lambda spec: len(FACTS),
    "new_values": lambda spec: len(facts_with("corrected")),
    "messages": lambda spec: len(spec.messages),
    "questions": lambda spec: revision.N_QUESTIONS,
}
_ASKED_FOR = {"now": "what holds now", "first": "what was told at first", "forgotten": "what holds now"}


def _revision_shown(spec: RevisionSpec) -> Item:
    return {
        "facts": [
            {"fact": i, "person": spec.subjects[subject], "topic": spec.topics[topic], "fate": fate}
            for i, (subject, topic, fate) in enumerate(FACTS)
        ],
        "messages": [{"does": act, "facts": [*numbers]} for act, numbers in spec.messages],
        "questions": [{"fact": number, "asks": _ASKED_FOR[kind]} for kind, number in asked()],
    }


def _revision_checks(spec: RevisionSpec, row: Item) -> Iterator[Checks]:
    yield {
        "lists_have_their_length": (
            f"expected {length(spec)} {name}, found {len(row[name])}"
            for name, length in _LENGTHS.items()
            if len(row[name]) != length(spec)
        )
    }
    made, wanted = _revision_row(spec, row), [spec.subjects[subject] for subject, _, _ in FACTS]
    messages = zip(spec.messages, row["messages"], strict=True)
    told = [(said, number) for said in made["statements"] for number in said["facts"] if said["act"] != "withdraws"]
    yield {
        "values_share_no_words": _shared_words(spec.subjects, (*row["values"], *row["new_values"])),
        "messages_name_whom_they_are_about": (
            f"expected the message that {act} to name {', '.join(sorted(whom)) or 'nobody'} in full, and nobody else: "
            f"{quoted(text)}"
            for (act, numbers), text in messages
            if (whom := {wanted[number] for number in numbers}) != {name for name in spec.subjects if name in text}
        ),
        "messages_tell_their_values": (
            f"the message that {said['act']} fact {number} does not have {value!r}: {quoted(said['text'])}"
            for said, number in told
            if (value := made["facts"][number]["now" if said["act"] == "corrects" else "first"])
            and not stands_in(value, said["text"])
        ),
        "messages_leak_no_value": (
            f"a message has the value {value!r}, which it does not tell" for value in revision.leaks(made)
        ),
        "questions_name_whom_they_ask_about": (
            f"expected a question that names {wanted[number]} in full, and nobody else: {quoted(text)}"
            for (_, number), text in zip(asked(), row["questions"], strict=True)
            if [name for name in spec.subjects if name in text] != [wanted[number]]
        ),
        "questions_name_no_value": (
            f"a question has the value {value!r}: {quoted(text)}"
            for text in row["questions"]
            for value in revision.values_of(made)
            if stands_in(value, text)
        ),
    }


def _shared_words(names: Iterable[str], values: Iterable[str]) -> Iterator[str]:
    taken = {word for name in names for word in content_of(name)}
    for value in values:
        if shared := taken & content_of(value):
            yield f"the value {value!r} shares {min(shared)!r} with another value or a name"
        taken |= content_of(value)


REVISIONS: Step[RevisionSpec] = Step(
    name="revision rows",
    batch=REVISION_BATCH,
    prompt="revision",
    fields=dict.fromkeys(_LENGTHS, TEXTS),
    shown=_revision_shown,
    checks=_revision_checks,
    stand_in=lambda spec: {
        name: [stand_in(f"{spec.label}-{name}{i}", 2 if "values" in name else 14) for i in range(length(spec))]
        for name, length in _LENGTHS.items()
    },
)
