"""Accuracy by the length of excerpts: of models with long windows (Figure 12), and without instruction tuning (Figure 14)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.contexts.accuracies import (
    CHANCE_TEST,
    chance_line,
    draw_line,
    legend_below,
    numbers,
    shown,
    with_holm,
)
from epbench.booksort.paper.inputs import PaperRun
from epbench.booksort.paper.results.cells import about, by_columns
from epbench.booksort.scores.scoring import LONG_EXCERPT
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import new_figure
from epbench.reports.tables import Table, cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONG_TITLE = "Accuracy in-context by the length of the excerpt, of models that were asked about long ones"
_BASE_TITLE = "Accuracy in-context of models that were not trained to follow instructions"
_HEAD = ("run", "model", "excerpt", "segment", "accuracy", "greedy", "label mass", "pairs", "failed", "needed")
_GREEDY = (
    "greedy: the accuracy of what the model would have written; label mass: the probability that its first token is A or B. "
    "Where both are low, the accuracy says which label is the more probable one, and not what the model answers."
)

_TUNED = re.compile(r"inst|chat|dpo|sft|hermes|zephyr|tulu|(?:^|[-_])it(?:$|[-_])", re.IGNORECASE)
_BASE = re.compile(r"(?:^|[-_])(?:base|pt|pretrained)(?:$|[-_])", re.IGNORECASE)
_FAMILIES = re.compile(r"(?:^|[-_/])(?:llama|mistral|mixtral|smollm|pythia|gpt2|gemma|olmo|falcon|opt)", re.IGNORECASE)


def is_base(model: str) -> bool:
    """Whether a model seems not to be trained to follow instructions, by the last part of its name.

    Nothing else says so: the files of most base models have a chat template, too. Only models on this machine are taken for
    base models. Their name says so (`Qwen3-0.6B-Base`), or is one of a family whose tuned models have another name
    (`Llama-3.2-1B` beside `Llama-3.2-1B-Instruct`).

    >>> is_base("hf:meta-llama/Llama-3.2-1B"), is_base("hf:meta-llama/Llama-3.2-1B-Instruct")
    (True, False)
    >>> is_base("hf:Qwen/Qwen3-0.6B-Base"), is_base("hf:Qwen/Qwen3-0.6B"), is_base("openai:gpt-4o")
    (True, False, False)
    """
    kind, _, path = model.partition(":")
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if kind not in ("hf", "vllm") or _TUNED.search(name):
        return False
    return bool(_BASE.search(name) or _FAMILIES.search(name))


def figure_12(runs: Sequence[PaperRun]) -> Exhibit | Missing:
    """In-context runs with excerpts of the standard lengths and beyond, such as those of a model with an extended window."""
    chosen = [
        run for run in runs if run.memory == "in-context" and (run.questions["excerpt_length"] >= LONG_EXCERPT).any()
    ]
    if not chosen:
        needs = "in-context runs on excerpts of 10,000 words or more, by a model whose window was extended"
        return Missing("Figure 12", _LONG_TITLE, needs)
    note = (
        "How long the window of a model was before it was extended is not known here; that of the paper's, Llama3-8b-inst, "
        "was 8k tokens, and its extended one 80k."
    )
    return _exhibit("Figure 12", _LONG_TITLE, chosen, (), note)


def figure_14(runs: Sequence[PaperRun], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """In-context runs of base models.

    Args:
        runs: Of these, the in-context runs of base models are shown; see `is_base`.
        reported: Other models of which the paper says that they are at chance (Appendix E.2).
    """
    chosen = [run for run in runs if run.memory == "in-context" and is_base(run.model)]
    if not chosen:
        needs = (
            "in-context runs of a model that was not trained to follow instructions, such as Llama-3-8B or Mistral-7B"
        )
        return Missing("Figure 14", _BASE_TITLE, needs)
    note = "That a model was not trained to follow instructions is concluded from its name."
    return _exhibit("Figure 14", _BASE_TITLE, chosen, reported, note)


def _exhibit(name: str, title: str, runs: Sequence[PaperRun], reported: Sequence[ReportedRow], note: str) -> Exhibit:
    own = with_holm([record for run in runs for record in _of_run(run)])
    rows = [
        [
            str(record["label"]), str(record["model"]), f"{record['excerpt_length']:,}", str(record["segment_length"]),
            shown(record), cell(record["greedy_accuracy"]), cell(record["label_mass"]),
            str(record["n"]), str(record["n_failed"]), cell(record["needed"]),
        ]
        for record in own
    ]  # fmt: skip
    empty: dict[str, Value] = dict.fromkeys(own[0])
    records = [
        empty | {"source": "reported", "label": row.source, "model": row.model, "accuracy": row.scores["accuracy"]}
        for row in reported
    ]
    for row in reported:
        shown_first = [row.source, marked(row.model, "reported"), "–", "–", f"{row.scores['accuracy']:.2f}"]
        rows.append([*shown_first, *["–"] * 5])
    sources = [f"Reported: {row.source}, {row.table}. {row.note}".strip() for row in reported]
    table = Table(_HEAD, rows, notes=[note, _GREEDY, CHANCE_TEST, *sources], text_columns=2)
    return Exhibit(name, title, [*own, *records], table, lambda: _draw(own))


def _of_run(run: PaperRun) -> list[dict[str, Value]]:
    groups = by_columns("excerpt_length", "segment_length")(run.questions)
    return [{**about(run), **group, **numbers(members)} for group, members in groups]


def _draw(records: Sequence[dict[str, Value]]) -> Figure:
    """A line for each run and length of segments."""
    from matplotlib.ticker import NullLocator

    figure, axes = new_figure(6.6, 4.0)
    lines: dict[str, list[dict[str, Value]]] = {}
    for record in records:
        lines.setdefault(f"{record['label']}, {record['segment_length']} words", []).append(record)
    for number, (label, of_line) in enumerate(lines.items()):
        places = [int(record["excerpt_length"] or 0) * 1.03 ** (number - len(lines) / 2) for record in of_line]
        draw_line(axes, number, places, of_line, label)
    chance_line(axes)
    lengths = sorted({int(record["excerpt_length"] or 0) for record in records})
    axes.set_xscale("log")
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.08)
    lowest = [record[name] for record in records for name in ("accuracy", "low", "if_failed_wrong")]
    axes.set_ylim(min([0.3, *(value - 0.05 for value in lowest if isinstance(value, float))]), 1.02)
    axes.set_xlabel("length of the excerpt (words)")
    axes.set_ylabel("accuracy")
    legend_below(figure, [axes])
    return figure
