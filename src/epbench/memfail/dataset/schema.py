"""The tables of MemFail: the published columns, an id, and columns that help to interpret a score; and our table `revision`.

Paper: Section 4. The added columns (`answer_polarity`, `n_essays_of_…`, `n_options_in_facts`, `option_leak`) are
computed from all rows that share a store, so that scores can be broken down by them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.hub.dataset_folder import Config

if TYPE_CHECKING:
    from datasets import Features

Row = dict[str, Any]

CATEGORIES = ("person", "pet", "character")  # of whom a rule is about
LETTERS = ("A", "B", "C", "D", "E")
CHOICES = tuple(f"choice_{letter.lower()}" for letter in LETTERS)
FACTS = tuple(f"fact_{i}" for i in range(1, 5))
CHAIN = tuple(f"chain_{i}" for i in range(1, 6))
OPTIONS_MARK = "\n\nOptions:\n"
SENTENCES = {"conditional_facts_easy": (5, 8), "conditional_facts_hard": (8, 12), "persona_retrieval": (10, 15)}
"""The fewest and the most sentences of an essay (paper: Section 4)."""

_CONDITIONAL: tuple[str, ...] = (
    *("entity", "entity_category", "behavior", "condition_type", "condition", "entity_facts", "question"),
    *("question_context", "condition_met", "ground_truth_answer"),
)

PUBLISHED_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "conditional_facts_easy": _CONDITIONAL,
    "conditional_facts_hard": _CONDITIONAL,
    "coexisting_facts": ("preference_category", "preferences", "preference_facts", "question", "ground_truth_answer"),
    "persona_retrieval": ("entity", "entity_facts", "questions"),
    "long_hop": (
        "id", "hop_count", *FACTS, *CHAIN, "graded_question", "ground_truth_answer", *CHOICES, "correct_choice",
    ),
    "revision": ("subjects", "statements", "facts", "questions"),
}  # fmt: skip


def complete(config: str, rows: Sequence[Row]) -> list[Row]:
    """Add ids and our own columns to all rows that are stored together, with lists as lists and absent cells as None."""
    if config == "long_hop":
        return _long_hop(rows)
    prefix = config.removeprefix("conditional_facts_").partition("_")[0]  # easy, coexisting, …
    numbered = [{"id": f"{prefix}-{i:03}", **row} for i, row in enumerate(rows)]
    if config == "persona_retrieval":
        return _persona(numbered)
    if config in ("coexisting_facts", "revision"):
        return numbered
    return [row | {"answer_polarity": polarity(row["ground_truth_answer"])} for row in numbered]


def polarity(answer: str) -> str | None:
    """Return `yes` or `no` if the answer begins with that word, otherwise None."""
    first = re.match(r"\W*(yes|no)\b", answer, re.IGNORECASE)
    return first[1].lower() if first else None


def _persona(rows: Sequence[Row]) -> list[Row]:
    essays, completed = Counter(row["entity"] for row in rows), []
    for row in rows:
        asked = [essays[question["distractor"] or row["entity"]] for question in row["questions"]]
        completed.append(row | {"n_essays_of_entity": essays[row["entity"]], "n_essays_of_asked_name": asked})
    return completed


def _long_hop(rows: Sequence[Row]) -> list[Row]:
    stored = "\n".join(fact.lower() for row in rows for fact in facts_of(row))
    completed = []
    for row in rows:
        letters = [letter for letter in LETTERS if row[f"choice_{letter.lower()}"].lower() in stored]
        stem, leak = row["graded_question"].split(OPTIONS_MARK)[0], letters == [row["correct_choice"]]
        completed.append(row | {"stem": stem, "n_options_in_facts": len(letters), "option_leak": leak})
    return completed


def long_hop_row(id_: str, facts: Sequence[str], chain: Sequence[str], stem: str, options: Sequence[str]) -> Row:
    """Return a Long-Hop row with the published columns; the true option is the end of the chain."""
    answer = chain[-1]
    return {
        "id": id_,
        "hop_count": len(chain) - 2,
        **dict.fromkeys((*FACTS, *CHAIN)),
        **dict(zip(FACTS, facts, strict=False)),
        **dict(zip(CHAIN, chain, strict=False)),
        "graded_question": f"{stem}{listed(options)}",
        "ground_truth_answer": answer,
        **dict(zip(CHOICES, options, strict=True)),
        "correct_choice": LETTERS[options.index(answer)],
    }


def listed(options: Sequence[str]) -> str:
    """Return the options as a question of Long-Hop ends with them."""
    return OPTIONS_MARK + "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True))


def facts_of(row: Row) -> list[str]:
    """Return the facts of a Long-Hop row, in the order of the chain."""
    return [row[name] for name in FACTS if row[name]]


def chain_of(row: Row) -> list[str]:
    """Return the anchors of a Long-Hop row, from the head to the end of the chain."""
    return [row[name] for name in CHAIN if row[name]]


def config_of(name: str, rows: Sequence[Row]) -> Config:
    """Return completed rows as a config of the dataset `memfail`, split `test`."""
    features = features_of(name)
    return Config(name, "test", features, {column: [row[column] for row in rows] for column in features})


def features_of(name: str) -> Features:
    """Return the column types of a config."""
    from datasets import Features, List, Value

    text, number, flag = Value("string"), Value("int32"), Value("bool")
    columns: dict[str, Any] = {"id": text} | dict.fromkeys(PUBLISHED_COLUMNS[name], text)
    if name == "coexisting_facts":
        columns |= {"preferences": List(text), "preference_facts": List(text)}
    elif name == "persona_retrieval":
        question = {"text": text, "is_misleading": flag, "distractor": text, "ground_truth_answer": text}
        columns |= {"entity_facts": List(text), "questions": List(question)}
        columns |= {"n_essays_of_entity": number, "n_essays_of_asked_name": List(number)}
    elif name == "long_hop":
        columns |= {"hop_count": number, "stem": text, "n_options_in_facts": number, "option_leak": flag}
    elif name == "revision":
        fact = dict.fromkeys(("subject", "topic", "fate", "first", "now"), text)
        question = {"text": text, "kind": text, "fact": number, "neighbour": number, "ground_truth_answer": text}
        said = {"act": text, "facts": List(number), "text": text}
        columns |= {"subjects": List(text), "statements": List(said), "facts": List(fact), "questions": List(question)}
    else:
        columns |= {"entity_facts": List(text), "answer_polarity": text}
    return Features(columns)
