"""Table 2: how many rows, questions, facts and tokens each config has, by N and K where these differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import CONFIGS, Loaded
from epbench.memfail.paper.inputs import Inputs
from epbench.models.estimate import cl100k_tokens
from epbench.reports.exhibit import Column, Exhibit, marked
from epbench.reports.reported import ReportedRow, read_reported
from epbench.statistics.estimate import Value, framed

_NUMBERS = ("rows", "questions", "tokens", "facts", "yes", "no", "condition_types", "misleading")
_SHARES = ("tokens", "misleading")  # the others are counts
_LETTERS = {"coexisting_facts": "N", "long_hop": "K"}
_NOTES = (
    "Tokens are the mean over the rows of all stored texts and questions of a row, options included, in the encoding "
    "cl100k_base.",
    "The rows marked (reported) are those of Garg et al., MemFail (2026), Table 2, with the model that wrote the rows.",
)


def table_2(inputs: Inputs) -> Exhibit:
    """The statistics of the given datasets, beside those of the paper; without a dataset, those of the paper alone."""
    count, problem = _tokenizer() if inputs.datasets else (None, "")
    given = [(name, loaded) for name, configs in inputs.datasets.items() for loaded in configs]
    records = [record for name, loaded in given for record in _records(name, loaded, count)]
    records += map(_reported, read_reported(packaged("epbench.memfail", "reported_rows.json"), "memfail"))
    records.sort(key=lambda record: (CONFIGS.index(str(record["config"])), str(record["size"])))
    notes = [*_NOTES, *([problem] if problem else [])]
    notes += [] if inputs.datasets else ["No dataset was given, so that only the paper's rows are shown."]
    columns = [
        Column("config", "config", text=True),
        Column("rows of", _whose, text=True),
        Column("size", "size", text=True),
        Column("rows", "rows"),
        Column("questions", "questions"),
        Column("tokens per row", lambda row: "–" if row["tokens"] is None else f"{row['tokens']:.0f}"),
        Column("facts", "facts"),
        Column("other", _other),
    ]
    title = "Statistics of the rows of each config"
    return Exhibit("Table 2", title, framed(records), columns, notes, sections="config")


def _tokenizer() -> tuple[Callable[[str], int] | None, str]:
    try:
        return cl100k_tokens(), ""
    except BadInput as error:
        return None, f"Tokens were not counted: {error}."


def _records(dataset: str, loaded: Loaded, count: Callable[[str], int] | None) -> Iterator[dict[str, Value]]:
    """A record for each size of the rows, or one for all."""
    letter, groups = _LETTERS.get(loaded.config), defaultdict(set)
    size = {question.row: question.group for question in loaded.questions}
    for row in loaded.rows:
        groups[f"{letter} = {size[row['id']]}" if letter else ""].add(row["id"])
    for name, ids in sorted(groups.items()):
        about = {"config": loaded.config, "label": dataset, "source": "own", "generator": None, "size": name}
        yield {**about, **_numbers(loaded, ids, count)}


def _numbers(loaded: Loaded, ids: set[str], count: Callable[[str], int] | None) -> dict[str, Value]:
    facts = [fact for fact in loaded.facts if fact.row in ids]
    questions = [question for question in loaded.questions if question.row in ids]
    texts = [fact.text for fact in facts] + [question.text for question in questions]
    met = [question.about["condition_met"] for question in questions if "condition_met" in question.about]
    types = {question.about["condition_type"] for question in questions if "condition_type" in question.about}
    kinds = [question.kind for question in questions if question.kind]
    tokens = sum(map(count, texts)) / len(ids) if count else None
    conditions = (met.count("yes"), met.count("no"), len(types)) if met else (None, None, None)
    misleading = kinds.count("misleading") / len(kinds) if kinds else None
    return dict(zip(_NUMBERS, (len(ids), len(questions), tokens, len(facts), *conditions, misleading), strict=True))


def _reported(row: ReportedRow) -> dict[str, Value]:
    about = {"config": row.dataset, "label": "paper", "source": "reported", "generator": row.model, "size": row.memory}
    known = {name: value if name in _SHARES else int(value) for name, value in row.scores.items()}
    return {**about, **{name: known.get(name) for name in _NUMBERS}}


def _whose(row: Mapping[str, Any]) -> str:
    return marked(row["label"] + (f", by {row['generator']}" if row["generator"] else ""), row["source"])


def _other(row: Mapping[str, Any]) -> str:
    other = []
    if row["yes"] is not None:
        other += [f"{row['yes']} yes, {row['no']} no", f"{row['condition_types']} condition types"]
    if row["misleading"] is not None:
        other.append(f"{row['misleading']:.1%} misleading")
    return "; ".join(other)
