"""Accuracies by memory, distance, length and book: Tables 1, 2 and 11 and Figures 2 to 14."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.booksort.context.reader import READ_ONCE
from epbench.booksort.pairs import WHOLE_BOOK_EDGES
from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import SCORED, Group, Made, Rates, by, gained, labels, named, paired_with
from epbench.booksort.scores.run_files import EXTEND, LONG_EXCERPT, SORT
from epbench.reports.exhibit import Column, Missing, columns_of, counted, difference, mean_margin, p_value
from epbench.reports.plots import grouped_by, line_panels
from epbench.statistics.estimate import Estimate, Value, corrected, framed
from epbench.statistics.paired import paired_outcomes
from epbench.statistics.smallest_difference import smallest_difference_of_means

if TYPE_CHECKING:
    import pandas as pd

EDGES = (100, 200, *WHOLE_BOOK_EDGES)
"""Right edges, in words, of the bins of distance from 400 on that the paper's figures have, and finer ones below."""
THIRDS, APART = ("first", "middle", "last"), "in two thirds"
_OF_THIRDS: dict[str, Any] = {"scale": "names", "order": THIRDS, "columns": 3}

_TUNED = re.compile(r"inst|chat|dpo|sft|hermes|zephyr|tulu|(?:^|[-_])it(?:$|[-_])", re.I)
_BASE = re.compile(
    r"(?:^|[-_])(?:(?:base|pt|pretrained)(?:$|[-_])|llama|mistral|mixtral|smollm|pythia|gpt2|gemma|olmo|falcon|opt)",
    re.I,
)


def is_base(model: str) -> bool:
    """Whether a model on this machine seems not to be trained to follow instructions, by the last part of its name.

    Nothing else says so: the files of most base models have a chat template, too. The name says it (`Qwen3-0.6B-Base`), or is
    one of a family whose tuned models have another name (`Llama-3.2-1B` beside `Llama-3.2-1B-Instruct`).
    """
    kind, _, path = model.partition(":")
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return kind in ("hf", "vllm") and not _TUNED.search(name) and bool(_BASE.search(name))


def _of_group(part: str, words: int | None = None) -> Group:
    return {"part": part, "segment_length": words, "group": part if words is None else f"{part}, {words} words"}


def _group(questions: pd.DataFrame) -> Group:
    return {"group": "{part}, {segment_length} words".format_map(questions.iloc[0])}


def _parts(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    """SORT and SORT-extend, each in all and by the length of segments."""
    for name, part in questions.groupby("part"):
        yield _of_group(str(name)), part
        yield from by("part", "segment_length", more=_group)(part)


def _thirds(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    """By the third of the excerpt in which both segments begin, or that they begin in two."""
    first, second = (3 * questions[name] // questions["excerpt_length"] for name in ("seg1_pos", "seg2_pos"))
    position = first.clip(upper=2).where(first == second, 3).map(dict(enumerate((*THIRDS, APART))))
    groups = by("excerpt_length", "position", more=lambda part: {"mean_distance": float(part["distance"].mean())})
    return groups(questions.assign(position=position))


def _told(note: str, of: Callable[[PaperRun], str]) -> Callable[[Sequence[PaperRun]], list[str]]:
    """A note that says something of each run."""
    return lambda runs: [note.format("; ".join(f"{run.label}: {of(run)}" for run in runs))]


def _configs(runs: Sequence[PaperRun]) -> list[str]:
    asked = grouped_by(runs, lambda run: ", ".join(run.configs))
    named = [f"{configs} ({', '.join(run.label for run in of)})" for configs, of in asked.items()]
    return [f"All configs count: {'; '.join(named)}."]


def _share_in_order(run: PaperRun) -> str:
    return f"{run.questions['retrieved_order'].eq(True).mean():.3f}"


_SIDE_BY_SIDE = Column("{}", counted(mean_margin()))
_SEGMENTS = "segments of {segment_length} words"
_NONE, _RAG = ("none",), ("rag",)
_ORDERS = {True: "the order of the book", False: "similarity"}
_PASSAGES = _told("Passages are shown by {}.", lambda run: _ORDERS[bool(run.identity.get("keep_order"))])
_OF_SEGMENTS: dict[str, Group] = {f"accuracy_s{words}": {"segment_length": words} for words in (20, 50)}
_OF_PEOPLE: dict[str, Group] = {f"accuracy_s{words}": {"label": f"people, {words} words"} for words in (20, 50)}
_PARTS = {"": SORT, "_extend": EXTEND}  # by the end of the names of reported scores
_FAR, _OVER = "accuracy_s50.over_25000", {"over": 25000}
_IN_DATA = "p, n and failed questions of all groups are in the data."
_by_distance, _WORDS = partial(line_panels, "mean_distance"), "distance in words"
_by_words = partial(
    Rates,
    split=by("segment_length", edges=EDGES),
    columns=named(f"run model segments distance {SCORED}"),
    notes=(
        "Distance: words from the start of the earlier segment to the start of the later one. A bin that lost questions is a "
        "range.",
    ),
    plot=_by_distance("{label}", _WORDS, panel=_SEGMENTS, beside="segment_length"),
)
_BINS = "Bins of distance are those that the pairs were drawn from, named by their right edges in words."
_by_bins = partial(
    Rates,
    split=by("segment_length", "excerpt_length", "distance_bin"),
    columns=named(f"run model segments excerpt distance_bin {SCORED}"),
)
_BOOKS = "book (number at Project Gutenberg, or of the set)"
_by_book = partial(
    Rates,
    split=by("book_idx"),
    columns=named(f"run model book {SCORED}"),
    notes=("All lengths of excerpts and segments together. The paper shows standard deviations instead.",),
    plot=line_panels("book_idx", "{label}", _BOOKS, scale="names", joined=False, starred=False),
)
_AS_WRITTEN = (
    "greedy: the accuracy of what the model would have written; label mass: the probability that its first token is A or B. "
    "Where both are low, the accuracy says which label is the more probable one, and not what the model answers."
)
_GREEDY = Column("greedy", "greedy_accuracy")
_by_length = partial(
    Rates,
    split=by("excerpt_length", "segment_length", more=labels),
    columns=[*named("run model excerpt segment accuracy p"), _GREEDY, *named("label_mass n failed")],
    plot=line_panels("excerpt_length", "{label}, {segment_length} words", "length of the excerpt (words)"),
    together=True,
)
_by_bin = partial(line_panels, "distance_bin", "excerpts of {excerpt_length:,} words", "distance up to, in words")

_TABLE_11 = Rates(
    "Table 11. In-context accuracy by book, and what it gains over no memory (Tables 11 and 12)",
    by("book_idx", "part", "segment_length", more=_group),
    [*named("run model book"), Column("{}", mean_margin())],
    notes=(_IN_DATA,),
    across="group",
    reported=lambda row: row.table in ("Table 11", "Table 12"),
    scores={f"accuracy{end}_s{words}": _of_group(part, words) for end, part in _PARTS.items() for words in (20, 50)},
)

DECLARED = (
    Rates(
        "Table 1. Baseline: accuracy before a model has seen the books",
        by("segment_length"),
        [*named("run model"), *columns_of({"{} words": mean_margin(), "{} words: p": p_value(), "{} words: n": "n"})],
        memories=_NONE,
        told=_configs,
        across="segment_length",
        scores=_OF_SEGMENTS,
    ),
    _by_words(
        "Figure 2. Accuracy by distance beside that of people who had read the book",
        memories=("none", "rag", "full-book", READ_ONCE),
        needs="at least one run with memory none, rag or full-book, or of answers of people",
        scores={**_OF_SEGMENTS, _FAR: {"segment_length": 50, **_OVER}},
        columns=named(f"run model memory segments distance {SCORED}"),
    ),
    Rates(
        "Table 2. Accuracy with the excerpt in context",
        _parts,
        [*named("run model"), _SIDE_BY_SIDE],
        across="group",
        notes=(
            "SORT: excerpts of up to 2,500 words; SORT-extend: of 10,000 and 20,000 words. A dash: nothing was asked.",
            _IN_DATA,
        ),
        scores={f"accuracy{end}": _of_group(part) for end, part in _PARTS.items()},
    ),
    Rates(
        "Figure 3a. In-context accuracy by the length of the excerpt",
        by("excerpt_length"),
        [*named("run model"), Column("words of the excerpt", "excerpt_length"), *named(SCORED)],
        notes=("Both lengths of segments together, as far as they were asked.",),
        plot=line_panels("excerpt_length", "{label}", "length of the excerpt in words", starred=False),
    ),
    _by_bins(
        "Figure 3b. In-context accuracy by distance for each length of excerpts, mean over the runs",
        pooled=True,
        notes=(_BINS,),
        plot=_by_bin(panel=_SEGMENTS),
    ),
    _by_words("Figure 4a. Accuracy with retrieved passages by distance", memories=_RAG, told=_PASSAGES),
    _by_words(
        "Figure 4b. Accuracy with retrieved passages by distance, where both segments were shown in the book's order",
        memories=_RAG,
        needs="a run with memory rag that found both segments in order",
        where="retrieved_order == True",
        told=_told("Share of the questions that this is about: {}.", _share_in_order),
    ),
    _by_words(
        "Figure 5. Baseline: accuracy without memory by the distance of the segments, mean over the runs",
        memories=_NONE,
        pooled=True,
    ),
    _by_book("Figure 6. Accuracy without memory by book", memories=_NONE),
    _by_book("Figure 7. In-context accuracy by book"),
    *(
        _by_bins(
            f"{name}. In-context accuracy by distance for all lengths of excerpts, segments of {words} words",
            needs=f"at least one run with memory in-context on a config of segments of {words} words",
            where=f"segment_length == {words}",
            notes=(_BINS, "The paper's Figures 8 and 9 divide the models; here they divide the lengths of segments."),
            plot=_by_bin(panel="{label}", columns=3),
        )
        for name, words in (("Figure 8", 20), ("Figure 9", 50))
    ),
    Rates(
        "Figure 10. Accuracy on SORT with a whole book in context, by the distance of the segments",
        by("book_idx", edges=EDGES[2:], more=labels),
        named(f"run book distance {SCORED}"),
        memories=("full-book",),
        needs="a run with memory full-book, on a book that fits into the window of the model",
        together=True,
        notes=(
            "Distances are words from the start of one segment to that of the other. Bins without a pair are left out.",
        ),
        plot=_by_distance("accuracy", _WORDS, panel="{label}, book {book_idx}", beside="book_idx"),
        reported=lambda row: row.memory == "read-once",
        scores={**_OF_PEOPLE, _FAR: {**_OF_PEOPLE["accuracy_s50"], **_OVER}},
    ),
    Rates(
        "Figure 11. Accuracy in-context by the third of the excerpt in which both segments begin",
        _thirds,
        [*named("run model excerpt"), _SIDE_BY_SIDE],
        needs="in-context runs",
        across="position",
        order=(*THIRDS, APART),
        notes=(
            "Pairs within one third are near one another, and pairs in two thirds farther apart and easier: compare the thirds "
            "with one another, not with the last column.",
        ),
        plot=line_panels("position", "{excerpt_length:,} words", "third of the excerpt", panel="{label}", **_OF_THIRDS),
    ),
    _by_length(
        "Figure 12. Accuracy in-context by the length of the excerpt, of models that were asked about long ones",
        needs="in-context runs on excerpts of 10,000 words or more, by a model whose window was extended",
        only=lambda run: bool((run.questions["excerpt_length"] >= LONG_EXCERPT).any()),
        notes=(
            "How long the window of a model was before it was extended is not known here; that of the paper's, Llama3-8b-inst, "
            "was 8k tokens, and its extended one 80k.",
            _AS_WRITTEN,
        ),
    ),
    _by_words(
        "Figure 13. Baseline: accuracy of each run without memory by the distance of the segments", memories=_NONE
    ),
    _by_length(
        "Figure 14. Accuracy in-context of models that were not trained to follow instructions",
        needs="in-context runs of a model that was not trained to follow instructions, such as Llama-3-8B or Mistral-7B",
        only=lambda run: is_base(run.model),
        notes=("That a model was not trained to follow instructions is concluded from its name.", _AS_WRITTEN),
        reported=lambda row: row.table == "Appendix E.2",
        scores={"accuracy": {}},
    ),
)
"""The tables and figures that are nothing but accuracies."""


def table_11(inputs: Inputs) -> Made:
    """In-context accuracy by book, part and length of segments, and its gain over the same model without memory."""
    made = _TABLE_11.make(inputs)
    if isinstance(made, Missing):
        return made
    gains: dict[tuple[Value, ...], Group] = {}
    for run in _TABLE_11.shown(inputs):
        baselines = [one for one in inputs.runs if (one.memory, one.model) == ("none", run.model)]
        paired = ((one.label, paired_with([run.questions, one.questions])) for one in baselines)
        label, both = next((of for of in paired if len(of[1]) == len(run.questions)), ("", None))
        if both is not None:
            groups, parts = zip(*_TABLE_11.split(both), strict=True)
            for group, gain in zip(groups, corrected(list(map(_gain, parts))), strict=True):
                gains[run.label, group["book_idx"], group["group"]] = {"baseline": label, **gained(gain)}
    none = {"baseline": None, **gained(Estimate(None))}
    rows = [{**row, **gains.get((row["label"], row["book_idx"], row["group"]), none)} for row in made.records]
    notes = [*made.notes]
    if rows[-1]["source"] == "reported":
        notes.append(
            "The reported values of one model hardly differ between books, and SORT-extend has values for a book that is "
            "shorter than its excerpts; they look like running means, so that they are no targets for single books."
        )
    notes.append(
        "Gain: in-context minus without memory, the same model on the same questions, with its 95 % interval by drawing "
        "excerpts. p: McNemar's exact test, two-sided, by Holm for all groups of a run. * p < .05, ** p < .01."
        if gains
        else "No run with memory none and the same model on the same pairs was given, so that no difference is shown."
    )
    if shown := [(row["gain_n"], row["gain_smallest"]) for row in rows if row["gain_smallest"]]:
        least = "The smallest group has n = {:,}, which shows a difference of {:.2f} with 80 % power at .05."
        notes.append(least.format(*min(shown)))
    columns = [*made.columns, *columns_of({"gain: {}": difference("gain_", 2)} if gains else {})]
    return replace(made, frame=framed(rows), columns=columns, notes=notes)


def _gain(questions: pd.DataFrame) -> Estimate:
    first, second = questions["right"], questions["right_1"]
    if first.isna().any() or second.isna().any():
        return Estimate(None)
    units = questions["pair"].tolist() if questions["swapped"].any() else None
    found = paired_outcomes(first.tolist(), second.tolist(), questions["excerpt"].tolist(), units)
    low, high = found.interval or (None, None)
    smallest = smallest_difference_of_means((first - second).tolist(), paired=True)
    return Estimate(found.n, 0, found.difference, low=low, high=high, p=found.p, smallest=smallest)
