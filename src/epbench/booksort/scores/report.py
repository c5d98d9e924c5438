"""Scores as a page that needs nothing else: of one run, or of several side by side, with accuracy by distance and length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.context.retrieval import DEPTH, RECALL
from epbench.booksort.scores.tables import (
    ANSWERS,
    accuracy,
    answers,
    apart,
    areas,
    both_orders_table,
    by_book,
    groups,
    mass,
    memory_table,
    whole,
)
from epbench.files.text import html_text
from epbench.memories.recall import price_html
from epbench.models.protocol import name_of
from epbench.reports.figures import colour_of, drawing, figure_html, new_figure, plain_numbers
from epbench.reports.page import (
    Headline,
    failures,
    headline,
    named,
    opening,
    page,
    pairs,
    settings,
    shown_memory,
    warning_paragraphs,
)
from epbench.reports.tables import Runs, Scores, Table, cell, warnings_of

if TYPE_CHECKING:
    import pandas as pd


HUMANS = {"people, 50 words": 0.64, "people, 20 words": 0.56, "people, 50 words, over 25,000 words apart": 0.76}
"""Reported accuracy of 155 readers within 30 days after the book, from long-term memory (Section 5.2)."""


def html_report(
    title: str, run: Mapping[str, Any], scores: Scores, rows: pd.DataFrame, usage: Mapping[str, Any], more: str = ""
) -> str:
    """The page of one run, with what follows on it, `more`, as HTML."""
    sentence = (
        f"{name_of(str(run['identity'].get('model', '')))}: which of two segments came first? {_size(rows)[:-1]}, \
{shown_memory(run['identity'])}."
    )
    spent = price_html(title, usage) + _usage(usage)
    spent += "".join(f"<h3>{stage}</h3>{_usage(usage[stage])}" for stage in _STAGES if stage in usage)
    return page(
        f"Book-SORT: {title}",
        f"""{warning_paragraphs(warnings_of({title: scores}))}
{opening(sentence, headlines(scores), scores["n_questions"], usage["failed"])}
<div class="figures">
{_by_distance({title: scores})}{_by_length({title: scores})}
{_by_bin(scores)}
</div>
<h2>Scores</h2>
{_scores(scores)}
{_retrieval(scores, scores["retrieval"]) if "retrieval" in scores else ""}
<details><summary>By book, and in the middle of the excerpt</summary>
<h2>By book</h2>
{by_book({title: scores}).html()}
<h2>In the middle</h2>
{_middle(scores["lost_in_the_middle"])}
</details>
{more}
{settings(run, spent)}""",
    )


def headlines(scores: Scores) -> list[Headline | None]:
    """The scores at the top of a page."""
    chance = 0.5, "chance"
    about = {
        "accuracy": "Share of questions whose right label is the more probable one",
        "auc": "How well the log odds of A tell the two answers apart, whatever letter the model prefers",
        "calibrated_accuracy": "Accuracy with the preference for one letter taken out",
    }
    names = {"auc": "AUC"}
    both = scores.get("both_orders", {})
    return [
        *(headline(scores, name, named(names.get(name, name)), words, chance) for name, words in about.items()),
        headline(both, "pair_accuracy", "accuracy by pair", "Share of pairs put in order by both questions", chance),
    ]


def comparison_report(dataset: str, runs: Runs, more: str = "") -> str:
    """The page of several runs on one dataset."""
    body = [[label, accuracy(whole(scores)), *answers(scores)] for label, scores in runs.items()]
    both = {label: scores for label, scores in runs.items() if "both_orders" in scores}
    return page(
        f"Book-SORT, {dataset}: {len(runs)} runs",
        f"""{warning_paragraphs(warnings_of(runs))}
{_by_distance(runs)}{_by_length(runs)}
<h2>Scores</h2>
{Table(["run", "accuracy", *ANSWERS], body).html()}
{"".join(table.html() for table in areas(runs))}
{both_orders_table(both).html() if both else ""}
{_HOW_TO_READ}
<h2>By book</h2>
{by_book(runs).html()}{more}""",
    )


def _size(rows: pd.DataFrame) -> str:
    """How many questions there are, and about what."""
    excerpts, books, pairs = (rows[name].nunique() for name in ("excerpt", "book_idx", "pair"))
    asked = f"{pairs:,} pairs, each asked in both orders: " if rows["swapped"].any() else ""
    return f"{asked}{len(rows):,} questions about {excerpts:,} excerpts of {books} books."


_HOW_TO_READ = """<p>Accuracy compares the probabilities of A and B where they are known. A model that prefers one letter
may know more than its accuracy shows. The AUC is the probability that its log odds of A are higher for a question whose
answer is A than for one whose answer is B (0.5 for a model that knows nothing), and the calibrated accuracy reads A where
they are above their median over all other excerpts; the paper reports neither. The greedy accuracy counts what
the model would have written: its most probable first token, or an endpoint's text, has to name the right segment. The label
mass is the probability that the first token is A or B at all; an endpoint lists its most probable tokens only, so that its
mass is a lower bound. Where questions have no answer, an accuracy is shown as the range from all of them wrong to all of
them right. With both orders, consistency is the share of pairs whose two answers name the same segment.</p>"""


def _scores(scores: Scores) -> str:
    lines = [["accuracy", accuracy(whole(scores))], *map(list, zip(ANSWERS, answers(scores), strict=True))]
    lines.append(["share of questions with a label mass below 0.5", cell(scores["low_mass"])])
    lines.append(["share of greedy answers that name neither segment", cell(scores["greedy_invalid"])])
    further = "".join(table.html() for table in areas({"this run": scores}))
    further += both_orders_table({"this run": scores}).html() if "both_orders" in scores else ""
    groups = [
        [name, group, accuracy(part), *apart(part), accuracy(part, "greedy_accuracy"), mass(part)]
        + [cell(part[key]) for key in ("share_a", "p_value", "n", "n_failed")]
        for name in ("part x segment_length", "excerpt_length x segment_length", "distance_bin")
        for group, part in scores["by_group"][name].items()
    ]
    head = ["by", "group", "accuracy", "AUC", "calibrated", *ANSWERS[:5], "failed"]
    return Table([], lines).html() + further + _HOW_TO_READ + Table(head, groups, text_columns=2).html()


_STAGES = ("storing", "retrieving")  # what usage.json says of a memory system beside the model's tokens


def _usage(usage: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in usage.items() if name not in ("failed", *_STAGES)}
    return f"{pairs(plain)}\n{failures(usage['failed'])}"


_FOUND = """<p>A segment is found word for word if half of its words stand in the retrieved memories in runs of four or more;
else it is found if one memory has half of its words, weighted by their rarity in the store. A system that puts texts in
words of its own may know more than that shows. Both are in order if the earlier one stands first in what was retrieved.</p>"""


def _retrieval(scores: Scores, retrieval: Mapping[str, Any]) -> str:
    if "order_kept" in retrieval:
        return f"<h2>Retrieval</h2>{memory_table({'this run': scores}).html()}{_FOUND}"
    shares = {
        f"segments among the first {DEPTH} passages (recall)": retrieval.get(RECALL),
        "both segments shown": retrieval["both_found"],
        "shown, and in the book's order": retrieval["in_order"],
    }
    in_order = accuracy(retrieval["where_in_order"])
    return f"<h2>Retrieval</h2>{pairs(shares)}<p>Accuracy where both were in order: {in_order}.</p>"


def _middle(effect: Mapping[str, Any]) -> str:
    """What the middle of the excerpt does to accuracy, and why that is hard to tell from distance."""
    shares = effect["confound"]["share_in_middle_by_distance"]
    shown = ", ".join(f"{name}: {cell(share)}" for name, share in shares.items())
    left_out = f" ({n:,} questions without an answer are left out here)" if (n := effect["n_failed"]) else ""
    text = f"""<p>Of {effect["n"]:,} questions{left_out} {effect["in_middle"]["n"]:,} have both segments in the middle
third of the excerpt: accuracy {cell(effect["in_middle"]["accuracy"])} there,
{cell(effect["elsewhere"]["accuracy"])} elsewhere. Segments in the middle are always near one another, and near ones are
harder to order anyway (share in the middle by distance as a part of the excerpt: {shown}); the regression holds distance
apart as far as the nearer bins allow, with standard errors clustered by excerpt.</p>"""
    if "not_estimable" in effect:
        return f"{text}<p>The regression cannot be estimated: {html_text(effect['not_estimable'])}.</p>"
    keys = ("coefficient", "low", "high", "odds_ratio", "p")
    rows = [[name, *(cell(term[key]) for key in keys)] for name, term in effect["terms"].items()]
    return text + Table(["term", "log odds", "from", "to", "odds ratio", "p"], rows).html()


_Parts = Mapping[Any, Mapping[str, Any]]
"""Summaries by their places on the axis."""


def _by_distance(runs: Runs) -> str:
    lines = [(label, "-", n, {part["mean"]: part for part in runs[label]["distances"]}) for n, label in enumerate(runs)]
    at = "distance of the segments in words, from start to start"
    return _figure(lines, at, _DISTANCE, ticks=(), columns=3 if len(runs) > 1 else 0)


def _by_length(runs: Runs) -> str:
    lengths, lines = groups(runs, "segment_length")[::-1], list[tuple[str, str, int, _Parts]]()
    for number, (label, scores) in enumerate(runs.items()):
        for words, style in zip(lengths, ("-", "--", ":", "-.") * len(lengths), strict=False):
            by_length = {
                int(group.split(" x ")[0]): part
                for group, part in scores["by_group"]["excerpt_length x segment_length"].items()
                if group.endswith(f" x {words}")
            }
            lines.append((f"{label}, {words} words", style, number, by_length))
    ticks = [int(group) for group in groups(runs, "excerpt_length")]
    return _figure(lines, "words of the excerpt", _LENGTH, ticks=ticks, columns=2)


def _by_bin(scores: Scores) -> str:
    """Accuracy by bin of distance, with a line for each length of excerpts (Figure 3b)."""
    by_length: dict[str, list[Mapping[str, Any]]] = {}
    for group, part in scores["by_group"]["distance_bin"].items():
        by_length.setdefault(group.split(" x ")[0], []).append(part)
    lines = [
        (f"{int(length):,} words", "-", number, dict(enumerate(bins, 1)))
        for number, (length, bins) in enumerate(by_length.items())
    ]
    ticks = range(1, 1 + max(map(len, by_length.values())))
    return _figure(lines, "bin of distance, near to far", _BINS, ticks=ticks, scale="linear", columns=5)


_BINS = "Accuracy by the bin of distance (Table 4), for each length of excerpts."
_LENGTH = "Accuracy by the length of the excerpt, for each length of segments (the longest as a solid line)."
_DISTANCE = """Accuracy by the distance of the segments, in ten parts of equal size, with 95 % intervals that draw excerpts
with replacement; a band without a line is the range that questions without an answer leave open. Grey lines: chance, and
people who had read the book within a month and answered from long-term memory, without the text (reported, Section 5.2);
they are a reference and not a ceiling."""


def _figure(
    lines: Iterable[tuple[str, str, int, _Parts]],
    label: str,
    caption: str,
    *,
    ticks: Sequence[int],
    scale: str = "log",
    columns: int,
) -> str:
    """Draw lines, each with its name, style and number of a colour, and chance and people; with `columns`, name the lines."""
    with drawing():
        figure, axes = new_figure(8, 4)
        for name, style, number, parts in lines:
            if parts:
                at, colour = list(parts), colour_of(number)
                means = [math.nan if part["accuracy"] is None else part["accuracy"] for part in parts.values()]
                low, high = zip(*map(_ends, parts.values()), strict=True)
                axes.plot(at, means, style, marker="o", color=colour, label=name, linewidth=1.5, markersize=4)
                axes.fill_between(at, low, high, color=colour, alpha=0.18, lw=0)
        if scale == "log":
            axes.set_xscale("log")
            plain_numbers(axes.xaxis, "{x:,.0f}")
        if ticks:
            axes.set_xticks(ticks)
        axes.axhline(0.5, color="#888", linestyle=":", linewidth=1)
        for name, share in HUMANS.items():
            axes.axhline(share, color="#bbb", linestyle=(0, (6, 4)), linewidth=1)
            axes.annotate(
                name, (1, share), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7, color="#777"
            )
        axes.set(ylim=(0.3, 1.02), ylabel="accuracy", xlabel=label)
        if columns:
            figure.legend(loc="outside upper center", ncols=columns, frameon=False)
        return figure_html(figure, caption)


def _ends(part: Mapping[str, Any]) -> tuple[float, float]:
    """The ends of the band around an accuracy: its interval, or the range that lost questions leave open."""
    if "incomplete" in part:
        low, high = part["incomplete"]["accuracy"]
        return low, high
    return (part["accuracy"],) * 2 if part["ci_low"] is None else (part["ci_low"], part["ci_high"])
