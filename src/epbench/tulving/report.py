"""A run's report: one HTML file that needs nothing else, with F1 by bin as a picture."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.runs.page import COLOURS, cell, drawing, failures, how_it_was_run, page, pairs, picture, table
from epbench.tulving.questions import BINS
from epbench.tulving.scoring import Judged, question_f1
from epbench.tulving.tables import judge_lines, n_in_bin
from epbench.tulving.templates import CUES


def html_report(
    title: str, run: Mapping[str, Any], scores: Mapping[str, Any], rows: Sequence[Judged], account: Mapping[str, Any]
) -> str:
    """The page of one run.

    Args:
        title: name of the run.
        run: content of run.json.
        scores: content of scores.json.
        rows: the judged answers, for the table by cue.
        account: content of account.json.
    """
    return page(
        f"{run['book']}: {title}",
        f"""{pairs(run["identity"])}
{_picture({title: scores})}
<h2>Scores</h2>
{_judges({title: scores})}
{_scores(scores)}
<h2>By cue</h2>
<p>Mean F1 of all questions, by the given elements (t time, s space, e entity, c content) and the number of matching
chapters; in brackets the number of questions.</p>
{_by_cue(rows)}
<h2>Tokens and failures</h2>
{_took(account)}
{"".join(f"<h3>{stage}</h3>{_took(account[stage])}" for stage in ("storing", "retrieving") if stage in account)}
{how_it_was_run(run)}""",
    )


def _took(account: Mapping[str, Any]) -> str:
    """What the reader took, or one stage of a memory system, and why requests failed."""
    plain = {name: value for name, value in account.items() if not isinstance(value, Mapping)}
    return pairs(plain) + failures(account["failed"])


def comparison_report(book: str, runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of several runs on one book: scores by the run's name."""
    body = [[name, *(cell(scores[key]) for key in _NAMES)] for name, scores in runs.items()]
    shown = f"{_picture(runs)}\n<h2>Scores</h2>\n{table(['run', *_NAMES], body)}\n{_judges(runs)}"
    return page(f"{book}: {len(runs)} runs", shown)


def _judges(runs: Mapping[str, Mapping[str, Any]]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in judge_lines(runs))


def _picture(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """Bars of F1 by bin, the runs side by side, with their intervals."""
    from matplotlib.figure import Figure

    bins = [bin_ for bin_ in BINS if any(bin_ in scores["f1_by_bin"] for scores in runs.values())]
    width = 0.8 / len(runs)
    with drawing():
        figure = Figure(figsize=(8, 3.5), layout="constrained")
        axes = figure.add_subplot()
        for i, (name, scores) in enumerate(runs.items()):
            means = [scores["f1_by_bin"].get(bin_, math.nan) for bin_ in bins]
            bounds = [scores["intervals"].get(f"f1_by_bin.{bin_}", [m, m]) for bin_, m in zip(bins, means, strict=True)]
            errors = [
                [max(0.0, mean - low) for mean, (low, _) in zip(means, bounds, strict=True)],
                [max(0.0, high - mean) for mean, (_, high) in zip(means, bounds, strict=True)],
            ]
            places = [place + (i - (len(runs) - 1) / 2) * width for place in range(len(bins))]
            axes.bar(
                places, means, width * 0.92, yerr=errors, capsize=3, color=COLOURS[i % 8], ecolor="#222", label=name
            )
        axes.set_xticks(range(len(bins)), [f"{bin_}\n({n_in_bin(runs, bin_)})" for bin_ in bins])
        axes.set(ylim=(0, 1.05), xlabel="matching chapters (questions)", ylabel="mean F1")
        axes.spines[["top", "right"]].set_visible(False)
        if len(runs) > 1:
            figure.legend(loc="outside upper center", ncols=4, frameon=False)
        return picture(figure, _CAPTION)


_CAPTION = """Mean F1 by the number of chapters that match the cue (questions that ask for all matches),
with 95 % intervals that draw cues with replacement. Bin 0 asks for what never happened: an abstention is right."""
_NAMES = (
    "simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness", "n_questions", "n_failed",
)  # fmt: skip


def _scores(scores: Mapping[str, Any]) -> str:
    rows = [[name, cell(scores[name]), *map(cell, scores["intervals"].get(name, ["", ""]))] for name in _NAMES]
    return table(["score", "value", "from", "to"], rows)


def _by_cue(rows: Sequence[Judged]) -> str:
    cells: dict[tuple[str, str], list[float]] = {}
    for row, f1 in zip(rows, question_f1(rows), strict=True):
        cue = "".join(letter for letter, value in zip("tsec", row.cue, strict=True) if value is not None)
        cells.setdefault((cue, row.bin), []).append(f1)
    body = [
        [cue, *(f"{sum(v) / len(v):.2f} ({len(v)})" if (v := cells.get((cue, bin_))) else "" for bin_ in BINS)]
        for cue in CUES
        if any((cue, bin_) in cells for bin_ in BINS)
    ]
    return table(["cue", *BINS], body)
