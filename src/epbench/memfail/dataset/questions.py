"""Turn the rows of a config into the facts to store and the questions to ask, each with its gold memories.

Paper: Section 5.1, phases 1 and 2. The link and the detail of a gold memory are texts of the row, so a judge without a
model can look for them:

| config | fact | link | detail |
|---|---|---|---|
| conditional_facts_* | the essay | entity, behavior | condition |
| coexisting_facts | each fact | the preference's name | none: the answer is the name |
| persona_retrieval | the essay | entity | the true answer; none if the question is misleading |
| long_hop | each fact | the two anchors that it links | none |

A single anchor would not identify a fact of a chain, because the fact before it names the same anchor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from epbench.memfail.dataset.schema import CHOICES, Row, chain_of, facts_of
from epbench.memfail.dataset.types import Fact, GoldMemory, Kind, Question


def facts_to_store(config: str, rows: Sequence[Row]) -> list[Fact]:
    """Return everything that is stored for a config, in the order of the rows.

    Args:
        config: One of `epbench.memfail.dataset.types.CONFIGS`.
        rows: Completed rows, as the dataset holds them.
    """
    return [
        Fact(f"{row['id']}/{number}", row["id"], text)
        for row in rows
        for number, text in enumerate(_texts(config, row))
    ]


def questions_of(config: str, rows: Sequence[Row]) -> list[Question]:
    """Return all graded questions of a config, in the order of the rows."""
    ask = _ASK.get(config, _conditional)
    return [question for row in rows for question in ask(config, row)]


def _texts(config: str, row: Row) -> Sequence[str]:
    if config == "coexisting_facts":
        facts: list[str] = row["preference_facts"]
        return facts
    if config == "long_hop":
        return facts_of(row)
    essay: list[str] = row["entity_facts"]
    return essay


def _gold(config: str, row: Row, number: int, link: tuple[str, ...], detail: tuple[str, ...] = ()) -> GoldMemory:
    return GoldMemory(f"{row['id']}/{number}", _texts(config, row)[number], link, detail)


def _conditional(config: str, row: Row) -> Iterator[Question]:
    about = (
        "entity",
        "entity_category",
        "behavior",
        "condition_type",
        "condition",
        "question_context",
        "condition_met",
    )
    yield Question(
        id=row["id"],
        config=config,
        row=row["id"],
        kind="",
        text=row["question"],
        query=row["question"],
        gold=(_gold(config, row, 0, (row["entity"], row["behavior"]), (row["condition"],)),),
        reference=row["ground_truth_answer"],
        group=row["condition_met"],
        about={name: row[name] for name in about} | {"answer_polarity": row["answer_polarity"] or ""},
    )


def _coexisting(config: str, row: Row) -> Iterator[Question]:
    yield Question(
        id=row["id"],
        config=config,
        row=row["id"],
        kind="",
        text=row["question"],
        query=row["question"],
        gold=tuple(_gold(config, row, i, (name,)) for i, name in enumerate(row["preferences"])),
        reference=row["ground_truth_answer"],
        group=str(len(row["preferences"])),
        about={"preference_category": row["preference_category"]},
    )


def _persona(config: str, row: Row) -> Iterator[Question]:
    for number, asked in enumerate(row["questions"]):
        kind: Kind = "misleading" if asked["is_misleading"] else "direct"
        name = asked["distractor"] or row["entity"]
        detail = () if asked["is_misleading"] else (asked["ground_truth_answer"],)
        yield Question(
            id=f"{row['id']}-q{number + 1}",
            config=config,
            row=row["id"],
            kind=kind,
            text=asked["text"],
            query=asked["text"],
            gold=(_gold(config, row, 0, (row["entity"],), detail),),
            reference=asked["ground_truth_answer"],
            group=kind,
            about={
                "entity": row["entity"],
                "asked_name": name,
                "distractor": asked["distractor"] or "",
                "n_essays_of_asked_name": str(row["n_essays_of_asked_name"][number]),
            },
        )


def _long_hop(config: str, row: Row) -> Iterator[Question]:
    links = pairwise(chain_of(row))
    yield Question(
        id=row["id"],
        config=config,
        row=row["id"],
        kind="",
        text=row["graded_question"],
        query=row["stem"],
        gold=tuple(_gold(config, row, i, link) for i, link in enumerate(links)),
        reference=row["ground_truth_answer"],
        choices=tuple(row[choice] for choice in CHOICES),
        group=str(row["hop_count"]),
        about={
            "correct_choice": row["correct_choice"],
            "published_query": row["graded_question"],  # includes the options, and so the answer
            "option_leak": "yes" if row["option_leak"] else "no",
        },
    )


_ASK: dict[str, Callable[[str, Row], Iterator[Question]]] = {
    "coexisting_facts": _coexisting,
    "persona_retrieval": _persona,
    "long_hop": _long_hop,
}
