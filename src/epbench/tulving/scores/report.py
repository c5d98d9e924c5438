"""A run's report: one HTML file that needs nothing else, with F1 by bin as a picture."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.reports.page import COLOURS, cell, drawing, failures, how_it_was_run, page, pairs, picture, table
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUES
from epbench.tulving.scores.scoring import QuestionToScore, ScoredAnswer, question_f1
from epbench.tulving.scores.tables import complete_first, judge_column, n_in_bin, notes, score_cell


def html_report(
    title: str,
    run: Mapping[str, Any],
    scores: Mapping[str, Any],
    rows: Sequence[ScoredAnswer],
    lost: Sequence[QuestionToScore],
    usage: Mapping[str, Any],
) -> str:
    """The page of one run.

    Args:
        title: name of the run.
        run: content of run.json.
        scores: content of scores.json.
        rows: the judged answers, for the table by cue.
        lost: the questions without an answer or a verdict, for the same table.
        usage: content of usage.json.
    """
    return page(
        f"{run['book']}: {title}",
        f"""{pairs(run["identity"])}
{_picture({title: scores})}
<h2>Scores</h2>
{_notes({title: scores})}
{_scores(scores)}
<h2>By cue</h2>
<p>Mean F1 of all questions, by the given elements (t time, s space, e entity, c content) and the number of matching
chapters; in brackets the number of questions. Where some have no answer or no verdict, the mean lies between two ends: all
of them wrong, all of them right.</p>
{_by_cue(rows, lost)}
<h2>Tokens and failures</h2>
{_took(usage)}
{"".join(f"<h3>{stage}</h3>{_took(usage[stage])}" for stage in ("storing", "retrieving") if stage in usage)}
{how_it_was_run(run)}""",
    )


def _took(usage: Mapping[str, Any]) -> str:
    """What the reader took, or one stage of a memory system, and why requests failed."""
    plain = {name: value for name, value in usage.items() if not isinstance(value, Mapping)}
    return pairs(plain) + failures(usage["failed"])


def comparison_report(book: str, runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of several runs on one book: scores by the run's name, those with incomplete scores last."""
    runs = complete_first(runs)
    judges = judge_column(runs)
    head = ["run", *(["judge"] if judges else []), *_NAMES]
    body = [
        [name, *judges.get(name, ()), *(score_cell(scores, key) for key in _NAMES)] for name, scores in runs.items()
    ]
    shown = f"{_picture(runs)}\n<h2>Scores</h2>\n{table(head, body)}\n{_notes(runs)}"
    return page(f"{book}: {len(runs)} runs", shown)


def _notes(runs: Mapping[str, Mapping[str, Any]]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in notes(runs))


def _picture(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """Bars of F1 by bin, the runs side by side, with their intervals; a bin that lost questions is a hatched range."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    bins = [bin_ for bin_ in BINS if any(bin_ in scores["n_by_bin"] for scores in runs.values())]
    ranges = any(scores["failed_by_bin"] for scores in runs.values())
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
            for place, bin_ in zip(places, bins, strict=True):
                if bin_ in scores["failed_by_bin"]:
                    low, high = scores["incomplete"][f"f1_by_bin.{bin_}"]
                    colour = COLOURS[i % 8]
                    axes.bar(place, high - low, width * 0.92, low, facecolor="none", edgecolor=colour, hatch="////")
        axes.set_xticks(range(len(bins)), [f"{bin_}\n({n_in_bin(runs, bin_)})" for bin_ in bins])
        axes.set(ylim=(0, 1.05), xlabel="matching chapters (questions)", ylabel="mean F1")
        axes.spines[["top", "right"]].set_visible(False)
        handles = axes.get_legend_handles_labels()[0] if len(runs) > 1 else []
        if ranges:
            handles.append(Patch(facecolor="none", edgecolor="#555", hatch="////", label=_RANGE))
        if handles:
            figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(handles)), frameon=False)
        return picture(figure, _CAPTION + (_ABOUT_RANGE if ranges else ""))


_CAPTION = """Mean F1 by the number of chapters that match the cue (questions that ask for all matches),
with 95 % intervals that draw cues with replacement. Bin 0 asks for what never happened: an abstention is right."""
_RANGE = "incomplete: all wrong to all right"
_ABOUT_RANGE = "\nA hatched range is of a bin in which questions have no answer or no verdict."
_NAMES = (
    "simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness", "n_questions", "n_failed",
)  # fmt: skip


def _scores(scores: Mapping[str, Any]) -> str:
    rows = [[name, score_cell(scores, name), *map(cell, scores["intervals"].get(name, ["", ""]))] for name in _NAMES]
    return table(["score", "value", "from", "to"], rows)


def _by_cue(rows: Sequence[ScoredAnswer], lost: Sequence[QuestionToScore]) -> str:
    f1: dict[tuple[str, str], list[float]] = {}
    for row, value in zip(rows, question_f1(rows), strict=True):
        f1.setdefault((_cue_of(row), row.bin), []).append(value)
    n_lost = Counter((_cue_of(question), question.bin) for question in lost)
    body = [
        [cue, *(_mean_cell(f1.get((cue, bin_), []), n_lost[cue, bin_]) for bin_ in BINS)]
        for cue in CUES
        if any((cue, bin_) in f1 or n_lost[cue, bin_] for bin_ in BINS)
    ]
    return table(["cue", *BINS], body)


def _cue_of(question: QuestionToScore) -> str:
    return "".join(letter for letter, value in zip("tsec", question.cue, strict=True) if value is not None)


def _mean_cell(f1: Sequence[float], n_lost: int) -> str:
    """`0.83 (6)`, or `0.50–0.75 (8, 2 lost)`."""
    n, total = len(f1) + n_lost, sum(f1)
    if n_lost:
        return f"{total / n:.2f}–{(total + n_lost) / n:.2f} ({n}, {n_lost} lost)"
    return f"{total / n:.2f} ({n})" if n else ""
