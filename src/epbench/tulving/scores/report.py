"""Reports of Tulving books: one HTML file that needs nothing else, of one run or of several.

F1 by bin is a figure. The page of a run also has a card for each question: verdict, matching chapters, what was retrieved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.memories.recall import PRICE_AXES, Price, price_html, price_points, price_table
from epbench.models.protocol import name_of
from epbench.reports.figures import colour_of, drawing, error_bars, figure_html, new_figure
from epbench.reports.page import Headline, failures, headline, opening, page, pairs, settings, shown_memory
from epbench.reports.plots import FRONTIER, frontier
from epbench.reports.tables import Runs, Scores, Table, cell, html_paragraphs
from epbench.tulving.judging.verdicts import QuestionToScore, ScoredAnswer
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUES
from epbench.tulving.scores.scoring import NAMING, question_f1
from epbench.tulving.scores.tables import complete_first, n_in_bin, notes, score_cell, scores_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMES = {
    "simple_recall_score": "simple recall",
    "latest": "latest state",
    "all_matched": "all found, in order questions",
    "kendall_tau": "Kendall's τ where all were found",
    "chronological_awareness": "chronological awareness",
    **dict(zip(NAMING, ("items named per true item", "latest: several named", "harsh simple recall"), strict=True)),
    "n_questions": "questions",
    "n_failed": "failed questions",
}
"""What people call a score, by its name in scores.json."""
_HEADLINE = "simple_recall_score"
_CAPTION = """Mean F1 by the number of chapters that match the cue (questions that ask for all matches),
with 95 % intervals that draw cues with replacement. Bin 0 asks for what never happened: an abstention is right."""
_RANGE = "incomplete: all wrong to all right"
_ABOUT_RANGE = "\nA hatched range is of a bin in which questions have no answer or no verdict."


def html_report(
    title: str,
    run: Mapping[str, Any],
    scores: Scores,
    rows: Sequence[ScoredAnswer],
    lost: Sequence[QuestionToScore],
    usage: Mapping[str, Any],
    more: str = "",
) -> str:
    """The page of one run, from run.json, scores.json, usage.json, and the judged and lost questions; `more` HTML comes last."""
    book, identity = run.get("book", "book"), run["identity"]
    n = scores["n_questions"]
    sentence = (
        f"{name_of(str(identity.get('model', ''))) or 'Answers that were given to us'}: {n:,} questions about the book \
{book}, {shown_memory(identity)}. Judge: {scores.get('judge', {}).get('name', 'not named')}."
    )
    spent = price_html(title, usage) + _usage(usage)
    spent += "".join(f"<h3>{stage}</h3>{_usage(usage[stage])}" for stage in ("storing", "retrieving") if stage in usage)
    return page(
        f"{book}: {title}",
        f"""{opening(sentence, headlines(scores), n, usage["failed"])}
{html_paragraphs(notes({title: scores}))}
<div class="figures"><div>
{_figure({title: scores})}
</div><div>
<h2>Scores</h2>
{_scores(scores)}
</div></div>
<details><summary>F1 by cue</summary>
<p>Mean F1 of the questions that ask for all matches, by the given elements (t time, s space, e entity, c content) and the
number of matching chapters, with the number of questions in brackets. Where questions have no answer or no verdict, the
mean is a range, from all of them wrong to all of them right.</p>
{_by_cue(rows, lost)}
</details>
{more}
{settings(run, spent)}""",
    )


def headlines(scores: Scores) -> list[Headline | None]:
    """The scores at the top of a page."""
    about = {
        _HEADLINE: "Mean F1 over the bins of matching chapters, of questions that ask for all matches",
        "chronological_awareness": "Mean of the latest state and of the order of events",
        "latest": "F1 of questions that ask for the latest state",
        "harsh_simple_recall_score": "Simple recall if every surplus item counts against an answer",
    }
    floors = {_HEADLINE: _floor({*scores["n_by_bin"], *scores.get("failed_by_bin", ())})}
    return [headline(scores, name, _NAMES[name], words, floors.get(name)) for name, words in about.items()]


def _floor(bins: Collection[str]) -> tuple[float, str] | None:
    """What needs no memory: to abstain always, or to name everything that the book has, which lenient F1 forgives."""
    if not bins:
        return None
    abstaining, naming = ("0" in bins) / len(bins), sum(bin_ != "0" for bin_ in bins) / len(bins)
    return (naming, "floor, naming everything") if naming > abstaining else (abstaining, "floor, always abstaining")


def comparison_report(book: str, runs: Runs, prices: Mapping[str, Price] | None = None, more: str = "") -> str:
    """The page of several runs on one book, those with incomplete scores last; with what memory cost, and `more` HTML last."""
    runs, prices = complete_first(runs), prices or {}
    table = scores_table(runs, "run", _NAMES, score_cell, notes(runs))
    body = f"{_figure(runs)}\n<h2>Scores</h2>\n{table.html()}"
    if prices:
        tables = "".join(table.html() for table in price_table(prices))
        body += f"\n<h2>What memory cost</h2>\n{_frontier(runs, prices)}{tables}"
    return page(f"{book}: {len(runs)} runs", body + more)


def _frontier(runs: Runs, prices: Mapping[str, Price]) -> str:
    rows = []
    for label, price in prices.items():
        low, high = runs[label]["intervals"].get(_HEADLINE) or (None, None)
        about = {"label": label, "mean": runs[label][_HEADLINE], "low": low, "high": high}
        rows += [{**about, **price_points(price, k)} for k in price["by_k"]]
    if len(prices) < 2:
        return ""
    with drawing():
        figure = frontier(rows, PRICE_AXES, "simple recall")
        return figure_html(figure, f"Simple recall and what memory costs. {FRONTIER}")


def _usage(usage: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in usage.items() if not isinstance(value, Mapping)}
    return pairs(plain) + failures(usage["failed"])


def _figure(runs: Runs) -> str:
    """Bars of F1 by bin, the runs side by side, with their intervals; a bin that lost questions is a hatched range."""
    bins = [bin_ for bin_ in BINS if any(bin_ in scores["n_by_bin"] for scores in runs.values())]
    incomplete = any(scores["failed_by_bin"] for scores in runs.values())
    width = 0.8 / len(runs)
    with drawing():
        figure, axes = new_figure(8, 3.5)
        for number, (label, scores) in enumerate(runs.items()):
            places = [place + (number - (len(runs) - 1) / 2) * width for place in range(len(bins))]
            _bars(axes, dict(zip(bins, places, strict=True)), scores, label, width * 0.92, colour_of(number))
        axes.set_xticks(range(len(bins)), [f"{bin_}\n({n_in_bin(runs, bin_)})" for bin_ in bins])
        axes.set(ylim=(0, 1.05), xlabel="matching chapters (questions)", ylabel="mean F1")
        handles = axes.get_legend_handles_labels()[0] if len(runs) > 1 else []
        if incomplete:
            from matplotlib.patches import Patch

            handles.append(Patch(facecolor="none", edgecolor="#555", hatch="////", label=_RANGE))
        if handles:
            figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(handles)), frameon=False)
        return figure_html(figure, _CAPTION + (_ABOUT_RANGE if incomplete else ""))


def _bars(axes: Axes, places: Mapping[str, float], scores: Scores, label: str, width: float, colour: str) -> None:
    """The bars of one run; `places` has the middle of the bar of each bin."""
    means = [scores["f1_by_bin"].get(bin_, math.nan) for bin_ in places]
    intervals = [scores["intervals"].get(f"f1_by_bin.{bin_}") for bin_ in places]
    axes.bar(list(places.values()), means, width, color=colour, label=label)
    error_bars(axes, list(places.values()), means, intervals)
    for bin_, place in places.items():
        if bin_ in scores["failed_by_bin"]:
            low, high = scores["incomplete"][f"f1_by_bin.{bin_}"]
            axes.bar(place, high - low, width, low, facecolor="none", edgecolor=colour, hatch="////")


def _scores(scores: Scores) -> str:
    possible: Mapping[str, list[float]] = scores.get("possible", {})
    rows = [
        [title, score_cell(scores, name), *map(cell, scores["intervals"].get(name, ["", ""]))]
        for name, title in _NAMES.items()
    ]
    if not possible:
        return Table(["score", "value", "from", "to"], rows).html()
    counts = scores["coverage"]
    rows = [[*row, *map(cell, possible.get(name, ["", ""]))] for row, name in zip(rows, _NAMES, strict=True)]
    rows.append(["answered", f"{counts['answered']:,} of {counts['asked']:,}", "", "", "", ""])
    return Table(["score", "value", "from", "to", "lowest possible", "highest possible"], rows).html()


def _by_cue(rows: Sequence[ScoredAnswer], lost: Sequence[QuestionToScore]) -> str:
    f1: dict[tuple[str, str], list[float]] = {}
    for row, value in zip(rows, question_f1(rows), strict=True):
        if row.get == "all":
            f1.setdefault((_cue_of(row), row.bin), []).append(value)
    n_lost = Counter((_cue_of(question), question.bin) for question in lost if question.get == "all")
    body = [
        [cue, *(_mean_cell(f1.get((cue, bin_), []), n_lost[cue, bin_]) for bin_ in BINS)]
        for cue in CUES
        if any((cue, bin_) in f1 or n_lost[cue, bin_] for bin_ in BINS)
    ]
    return Table(["cue", *BINS], body).html()


def _cue_of(question: QuestionToScore) -> str:
    return "".join(letter for letter, value in zip("tsec", question.cue, strict=True) if value is not None)


def _mean_cell(f1: Sequence[float], n_lost: int) -> str:
    """The mean and the number of questions, such as `0.83 (6)`, or the range `0.50–0.75 (8, 2 lost)`."""
    n, total = len(f1) + n_lost, sum(f1)
    if n_lost:
        return f"{total / n:.2f}–{(total + n_lost) / n:.2f} ({n}, {n_lost} lost)"
    return f"{total / n:.2f} ({n})" if n else ""
