"""Answers with and without memory: Tables 1, 2 and 11, Figures 2 to 9 and 13, the share of A and the length of segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.lines import lined
from epbench.booksort.paper.rates import (
    EXTEND,
    GAINED,
    MEMORY,
    MODEL,
    QUESTION,
    RUN,
    SCORED,
    SORT,
    Group,
    Rates,
    by,
    by_distance,
    counted,
    difference,
    distance,
    prepared,
)
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, mean_half, p_value
from epbench.statistics.estimate import Estimate, Value, corrected, framed
from epbench.statistics.paired import paired_outcomes
from epbench.statistics.smallest_difference import smallest_difference_of_means

if TYPE_CHECKING:
    import pandas as pd

EDGES = (100, 200, 400, 1000, 1500, 4000, 10000, 16500, 25000, 40000)
"""Right edges, in words, of the bins of distance from 400 on that the paper's figures have, and finer ones below."""


def with_memory(*memories: str) -> Callable[[PaperRun], bool]:
    """Whether a run has one of these memories."""
    return lambda run: run.memory in memories


def _configs(runs: Sequence[PaperRun]) -> list[str]:
    asked: dict[str, list[str]] = {}
    for run in runs:
        asked.setdefault(", ".join(run.configs), []).append(run.label)
    named = [f"{configs} ({', '.join(labels)})" for configs, labels in asked.items()]
    return [f"All configs count: {'; '.join(named)}."]


def _passages(runs: Sequence[PaperRun]) -> list[str]:
    orders = {run.label: "the order of the book" if run.identity.get("keep_order") else "similarity" for run in runs}
    return [f"Passages are shown by {'; '.join(f'{label}: {order}' for label, order in orders.items())}."]


def _share_in_order(runs: Sequence[PaperRun]) -> list[str]:
    shares = {run.label: run.questions["retrieved_order"].fillna(False).astype(bool).mean() for run in runs}
    named = "; ".join(f"{label}: {value:.3f}" for label, value in shares.items())
    return [f"Share of the questions that this is about: {named}."]


def _in_order(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    return BY_WORDS(questions[questions["retrieved_order"] == True])  # noqa: E712


def _parts(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    """SORT and SORT-extend, each in all and by the length of segments."""
    for whole, part in by("part")(questions):
        yield {**whole, "segment_length": None, "group": whole["part"]}, part
        yield from by("part", "segment_length", more=_group)(part)


def _group(questions: pd.DataFrame) -> Group:
    first = questions.iloc[0]
    return {"group": f"{first['part']}, {first['segment_length']} words"}


def _of_group(part: str, words: int | None = None) -> Group:
    return {"part": part, "segment_length": words, "group": part if words is None else f"{part}, {words} words"}


def _excerpts_with(words: int) -> Callable[[pd.DataFrame], Iterable[tuple[Group, pd.DataFrame]]]:
    return lambda questions: BY_BINS(questions[questions["segment_length"] == words])


BY_WORDS = by_distance("segment_length", EDGES)
BY_BINS = by("segment_length", "excerpt_length", "distance_bin")
SEGMENTS, EXCERPT = Column("segments", "segment_length"), Column("excerpt", "excerpt_length")
BOOK = Column("book", lambda row: str(row["book_idx"]))
WORDS_COLUMNS = (RUN, MODEL, SEGMENTS, Column("distance", distance), *SCORED)
BIN_COLUMNS = (RUN, MODEL, SEGMENTS, EXCERPT, Column("distance up to", "distance_bin"), *SCORED)
_DISTANCE = (
    "Distance: words from the start of the earlier segment to the start of the later one. A bin that lost questions is a "
    "range.",
)
_BINS = ("Bins of distance are those that the pairs were drawn from, named by their right edges in words.",)
_IN_DATA = "p, n and failed questions of all groups are in the data."


def _label(row: Row) -> str:
    return str(row["label"])


def _segments(row: Row) -> str:
    return f"segments of {row['segment_length']} words"


def _excerpts(row: Row) -> str:
    return f"excerpts of {row['excerpt_length']:,} words"


DRAWN_BY_WORDS = lined("mean_distance", _label, "distance in words", panel=_segments, beside="segment_length")
DRAWN_BY_BINS = lined("distance_bin", _excerpts, "distance up to, in words", panel=_label, columns=3)
DRAWN_BY_BOOK = lined(
    "book_idx", _label, "book (number at Project Gutenberg, or of the set)", scale="names", joined=False, starred=False
)
_BASELINE, _SHOWN = "at least one run with memory none", "at least one run with memory in-context"

TABLE_11 = Rates(
    name="Table 11", title="In-context accuracy by book, and what it gains over no memory (Tables 11 and 12)",
    needs=_SHOWN, shows=with_memory("in-context"), split=by("book_idx", "part", "segment_length", more=_group),
    columns=(RUN, MODEL, BOOK, Column("{}", mean_half())), notes=(_IN_DATA,), across="group",
    reported=lambda row: row.table in ("Table 11", "Table 12"),
    scores={f"accuracy{score}_s{words}": _of_group(part, words)
            for score, part in (("", SORT), ("_extend", EXTEND)) for words in (20, 50)},
)  # fmt: skip

DECLARED = (
    Rates(
        name="Table 1", title="Baseline: accuracy before a model has seen the books", needs=_BASELINE,
        shows=with_memory("none"), split=by("segment_length"), told=_configs, across="segment_length",
        columns=(RUN, MODEL, Column("{} words", mean_half()), Column("{} words: p", p_value()), Column("{} words: n", "n")),
        reported=lambda row: row.table == "Table 1",
        scores={f"accuracy_s{words}": {"segment_length": words} for words in (20, 50)},
    ),
    Rates(
        name="Figure 2", title="Accuracy by distance beside that of people who had read the book",
        needs="at least one run with memory none, rag or full-book", shows=with_memory("none", "rag", "full-book"),
        split=BY_WORDS, columns=(RUN, MODEL, MEMORY, *WORDS_COLUMNS[2:]), notes=_DISTANCE, plot=DRAWN_BY_WORDS,
        reported=lambda row: row.table == "Figure 2",
        scores={
            "accuracy_s20": {"segment_length": 20}, "accuracy_s50": {"segment_length": 50},
            "accuracy_s50.over_25000": {"segment_length": 50, "over": 25000},
        },
    ),
    Rates(
        name="Table 2", title="Accuracy with the excerpt in context", needs=_SHOWN, shows=with_memory("in-context"),
        split=_parts, columns=(RUN, MODEL, Column("{}", counted(mean_half()))), across="group",
        notes=("SORT: excerpts of up to 2,500 words; SORT-extend: of 10,000 and 20,000 words. A dash: nothing was asked.",
               _IN_DATA),
        reported=lambda row: row.table == "Table 2",
        scores={"accuracy": _of_group(SORT), "accuracy_extend": _of_group(EXTEND)},
    ),
    Rates(
        name="Figure 3a", title="In-context accuracy by the length of the excerpt", needs=_SHOWN,
        shows=with_memory("in-context"), split=by("excerpt_length"),
        columns=(RUN, MODEL, Column("words of the excerpt", "excerpt_length"), *SCORED),
        notes=("Both lengths of segments together, as far as they were asked.",),
        plot=lined("excerpt_length", _label, "length of the excerpt in words", starred=False),
    ),
    Rates(
        name="Figure 3b", title="In-context accuracy by distance for each length of excerpts, mean over the runs",
        needs=_SHOWN, shows=with_memory("in-context"), split=BY_BINS, columns=BIN_COLUMNS, notes=_BINS, pooled=True,
        plot=lined("distance_bin", _excerpts, "distance up to, in words", panel=_segments),
    ),
    Rates(
        name="Figure 4a", title="Accuracy with retrieved passages by distance", needs="at least one run with memory rag",
        shows=with_memory("rag"), split=BY_WORDS, columns=WORDS_COLUMNS, notes=_DISTANCE, told=_passages,
        plot=DRAWN_BY_WORDS,
    ),
    Rates(
        name="Figure 4b",
        title="Accuracy with retrieved passages by distance, where both segments were shown in the book's order",
        needs="a run with memory rag that found both segments in order", shows=with_memory("rag"), split=_in_order,
        columns=WORDS_COLUMNS, notes=_DISTANCE, told=_share_in_order, plot=DRAWN_BY_WORDS,
    ),
    Rates(
        name="Figure 5", title="Baseline: accuracy without memory by the distance of the segments, mean over the runs",
        needs=_BASELINE, shows=with_memory("none"), split=BY_WORDS, columns=WORDS_COLUMNS, notes=_DISTANCE, pooled=True,
        plot=DRAWN_BY_WORDS,
    ),
    *(
        Rates(
            name=name, title=title, needs=f"at least one run with memory {memory}", shows=with_memory(memory),
            split=by("book_idx"), columns=(RUN, MODEL, BOOK, *SCORED), plot=DRAWN_BY_BOOK,
            notes=("All lengths of excerpts and segments together. The paper shows standard deviations instead.",),
        )
        for name, title, memory in (
            ("Figure 6", "Accuracy without memory by book", "none"),
            ("Figure 7", "In-context accuracy by book", "in-context"),
        )
    ),
    *(
        Rates(
            name=name, title=f"In-context accuracy by distance for all lengths of excerpts, segments of {words} words",
            needs=f"{_SHOWN} on a config of segments of {words} words", shows=with_memory("in-context"),
            split=_excerpts_with(words), columns=BIN_COLUMNS, plot=DRAWN_BY_BINS,
            notes=(*_BINS, "The paper's Figures 8 and 9 divide the models; here they divide the lengths of segments."),
        )
        for name, words in (("Figure 8", 20), ("Figure 9", 50))
    ),
    Rates(
        name="Figure 13", title="Baseline: accuracy of each run without memory by the distance of the segments",
        needs=_BASELINE, shows=with_memory("none"), split=BY_WORDS, columns=WORDS_COLUMNS, notes=_DISTANCE,
        plot=DRAWN_BY_WORDS,
    ),
)  # fmt: skip


# Gains over the same model without memory

_REPORTED = (
    "The reported values of one model hardly differ between books, and SORT-extend has values for a book that is shorter than "
    "its excerpts; they look like running means, so that they are no targets for single books."
)
_NO_GAIN = "No run with memory none and the same model on the same pairs was given, so that no difference is shown."
_GAIN = (
    "Gain: in-context minus without memory, the same model on the same questions, with its 95 % interval by drawing excerpts. "
    "p: McNemar's exact test, two-sided, by Holm for all groups of a run. * p < .05, ** p < .01."
)


def table_11(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by book, part and length of segments, and its gain over the same model without memory."""
    made = TABLE_11.make(inputs)
    if isinstance(made, Missing):
        return made
    baselines = [run for run in inputs.runs if run.memory == "none"]
    gained: dict[tuple[Value, ...], Group] = {}
    for run in filter(TABLE_11.shows, inputs.runs):
        gained |= _gains(run, baselines)
    none = {"baseline": None, **Estimate(None).columns(*GAINED, prefix="gain_")}
    rows = [{**row, **gained.get((row["label"], row["book_idx"], row["group"]), none)} for row in made.records]
    tested = [(row["gain_n"], row["gain_smallest"]) for row in rows if row["gain_smallest"]]
    columns, notes = (
        list(made.columns),
        [*made.notes, *([_REPORTED] if made.records[-1]["source"] == "reported" else [])],
    )
    if gained:
        columns.append(Column("gain: {}", difference("gain_", 2)))
        notes.append(_GAIN)
    if tested:
        n, smallest = min(tested)
        notes.append(
            f"The smallest group has n = {n:,}, which shows a difference of {smallest:.2f} with 80 % power at .05."
        )
    return replace(made, frame=framed(rows), columns=columns, notes=notes if gained else [*notes, _NO_GAIN])


def _gains(run: PaperRun, baselines: Sequence[PaperRun]) -> dict[tuple[Value, ...], Group]:
    """The gain of a run over the first run without memory with the same model and pairs, by label, book and group."""
    with_memory = prepared(run.questions).set_index(list(QUESTION), drop=False)
    for baseline in baselines:
        without = prepared(baseline.questions).set_index(list(QUESTION))["right"]
        if baseline.model == run.model and with_memory.index.isin(without.index).all():
            both = with_memory.assign(without=without.reindex(with_memory.index)).reset_index(drop=True)
            parts = list(TABLE_11.split(both))
            return {
                (run.label, group["book_idx"], group["group"]): {
                    "baseline": baseline.label, **one.columns(*GAINED, prefix="gain_"),
                }
                for (group, _), one in zip(parts, corrected([_gain(part) for _, part in parts]), strict=True)
            }  # fmt: skip
    return {}


def _gain(questions: pd.DataFrame) -> Estimate:
    if questions[["right", "without"]].isna().any(axis=None):
        return Estimate(None)
    units = questions["pair"].tolist() if questions["swapped"].any() else None
    first, second = questions["right"].tolist(), questions["without"].tolist()
    found = paired_outcomes(first, second, questions["excerpt"].tolist(), units)
    low, high = found.interval or (None, None)
    smallest = smallest_difference_of_means((questions["right"] - questions["without"]).tolist(), paired=True)
    return Estimate(found.n, 0, found.difference, low=low, high=high, p=found.p, smallest=smallest)


RESULTS: Mapping[str, Callable[[Inputs], Exhibit | Missing]] = {
    **{one.name: one.make for one in DECLARED}, "Table 11": table_11,
}  # fmt: skip
"""What makes each table and figure about answers, by its name."""
