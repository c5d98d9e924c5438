"""The checks of Coexisting-Facts rows (paper: Section 4, task 2); the reference only warns about wrong numbers."""

from __future__ import annotations

from epbench.memfail.generation.asking import Item
from epbench.memfail.generation.specs import CoexistingSpec
from epbench.memfail.generation.words import HALF, literally_in, quoted, share
from epbench.memfail.judging.word_rules import stands_in
from epbench.memfail.validation.text_statistics import normalised, sentences

FACT_SENTENCES = (1, 2)


def preferences_have_their_number(spec: CoexistingSpec, row: Item) -> str | None:
    """There are as many preferences as the spec says, and all differ."""
    names = {normalised(name) for name in row["preferences"]} - {""}
    if len(names) == len(row["preferences"]) == spec.size:
        return None
    return f"expected {spec.size} different preferences, found {len(names)} in {len(row['preferences'])}"


def facts_have_their_number(spec: CoexistingSpec, row: Item) -> str | None:
    """There is one fact for each preference."""
    n = len(row["preference_facts"])
    return None if n == spec.size else f"expected {spec.size} preference_facts, found {n}"


def facts_are_short(spec: CoexistingSpec, row: Item) -> str | None:
    """Each fact has one or two sentences."""
    low, high = FACT_SENTENCES
    for fact in row["preference_facts"]:
        if not low <= (n := len(sentences(fact))) <= high:
            return f"expected {low} or {high} sentences in each fact, found {n} in {quoted(fact)}"
    return None


def facts_name_their_preference(spec: CoexistingSpec, row: Item) -> str | None:
    """Each fact has at least half of the words of its own preference, in any form."""
    for name, fact in zip(row["preferences"], row["preference_facts"], strict=True):
        if share(name, fact) < HALF and not literally_in(name, fact):
            return f"the fact about {name!r} does not name it: {quoted(fact)}"
    return None


def facts_name_no_sibling(spec: CoexistingSpec, row: Item) -> str | None:
    """No fact names another preference of its row: each is stored alone."""
    for name, fact in zip(row["preferences"], row["preference_facts"], strict=True):
        for other in row["preferences"]:
            if other != name and stands_in(other, fact):
                return f"the fact about {name!r} also names {other!r}: {quoted(fact)}"
    return None


def question_names_no_preference(spec: CoexistingSpec, row: Item) -> str | None:
    """The question gives no preference away."""
    named = [name for name in row["preferences"] if stands_in(name, row["question"])]
    return f"the question names {named[0]!r}: {quoted(row['question'])}" if named else None
