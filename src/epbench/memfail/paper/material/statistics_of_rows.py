"""Table 2: how many rows, questions, facts and tokens each config has, by N and K where these differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Exhibit, Value, marked
from epbench.exhibits.reported import ReportedRow, read_reported
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import Loaded
from epbench.memfail.dataset.types import CONFIGS
from epbench.memfail.paper.inputs import Inputs
from epbench.models.estimate import cl100k_tokens
from epbench.reports.tables import Table

_COUNTS = ("rows", "questions", "facts", "yes", "no", "condition_types")
_LETTERS = {"coexisting_facts": "N", "long_hop": "K"}
_NOTES = (
    "Tokens are the mean over the rows of all stored texts and questions of a row, options included, in the encoding "
    "cl100k_base.",
    "The rows marked (reported) are those of Garg et al., MemFail (2026), Table 2, with the model that wrote the rows.",
)


def table_2(inputs: Inputs) -> Exhibit:
    """The statistics of the given datasets, beside those of the paper; without a dataset, those of the paper alone."""
    count, problem = _tokenizer() if inputs.datasets else (None, "")
    records = [
        record
        for name, configs in inputs.datasets.items()
        for loaded in configs
        for record in _records(name, loaded, count)
    ]
    records += [_reported(row) for row in read_reported(packaged("epbench.memfail", "reported_rows.json"), "memfail")]
    records.sort(key=lambda record: (CONFIGS.index(str(record["config"])), str(record["size"])))
    ends = [i for i in range(len(records) - 1) if records[i]["config"] != records[i + 1]["config"]]
    notes = [*_NOTES, *([problem] if problem else [])]
    notes += [] if inputs.datasets else ["No dataset was given, so that only the paper's rows are shown."]
    head = ["config", "rows of", "size", "rows", "questions", "tokens per row", "facts", "other"]
    table = Table(head, [_cells(record) for record in records], notes=notes, text_columns=3, sections=ends)
    return Exhibit("Table 2", "Statistics of the rows of each config", records, table)


def _tokenizer() -> tuple[Callable[[str], int] | None, str]:
    try:
        return cl100k_tokens(), ""
    except BadInput as error:
        return None, f"Tokens were not counted: {error}."


def _records(dataset: str, loaded: Loaded, count: Callable[[str], int] | None) -> Iterator[dict[str, Value]]:
    """A record for each size of the rows, or one for all."""
    groups: dict[str, list[str]] = defaultdict(list)
    letter = _LETTERS.get(loaded.config)
    size = {question.row: question.group for question in loaded.questions}
    for row in loaded.rows:
        groups[f"{letter} = {size[row['id']]}" if letter else ""].append(row["id"])
    for name, ids in sorted(groups.items()):
        yield {
            "config": loaded.config, "label": dataset, "source": "own", "generator": None, "size": name,
            **_numbers(loaded, set(ids), count),
        }  # fmt: skip


def _numbers(loaded: Loaded, ids: set[str], count: Callable[[str], int] | None) -> dict[str, Value]:
    facts = [fact for fact in loaded.facts if fact.row in ids]
    questions = [question for question in loaded.questions if question.row in ids]
    texts = [fact.text for fact in facts] + [question.text for question in questions]
    met = [question.about["condition_met"] for question in questions if "condition_met" in question.about]
    types = {question.about["condition_type"] for question in questions if "condition_type" in question.about}
    kinds = [question.kind for question in questions if question.kind]
    return {
        "rows": len(ids),
        "questions": len(questions),
        "tokens": sum(map(count, texts)) / len(ids) if count else None,
        "facts": len(facts),
        "yes": met.count("yes") if met else None,
        "no": met.count("no") if met else None,
        "condition_types": len(types) if met else None,
        "misleading": kinds.count("misleading") / len(kinds) if kinds else None,
    }


def _reported(row: ReportedRow) -> dict[str, Value]:
    counts: Mapping[str, Value] = {name: int(row.scores[name]) if name in row.scores else None for name in _COUNTS}
    scores = {name: row.scores.get(name) for name in ("tokens", "misleading")}
    found: dict[str, Value] = {
        "config": row.dataset, "label": "paper", "source": "reported", "generator": row.model, "size": row.memory,
        "rows": counts["rows"], "questions": counts["questions"], "tokens": scores["tokens"], "facts": counts["facts"],
    }  # fmt: skip
    return (
        found | {name: counts[name] for name in ("yes", "no", "condition_types")} | {"misleading": scores["misleading"]}
    )


def _cells(record: Mapping[str, Any]) -> Sequence[str]:
    by_model = f", by {record['generator']}" if record["generator"] else ""
    tokens = "–" if record["tokens"] is None else f"{record['tokens']:.0f}"
    other = []
    if record["yes"] is not None:
        other += [f"{record['yes']} yes, {record['no']} no", f"{record['condition_types']} condition types"]
    if record["misleading"] is not None:
        other.append(f"{record['misleading']:.1%} misleading")
    numbers = ["–" if record[name] is None else str(record[name]) for name in ("rows", "questions")]
    facts = "–" if record["facts"] is None else str(record["facts"])
    label = marked(record["label"] + by_model, record["source"])
    return [record["config"], label, record["size"], *numbers, tokens, facts, "; ".join(other)]
