"""Accuracies of runs on groups of questions, and how a table or figure of them is declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.scores.scoring import against_guessing
from epbench.metric_folders import formulas
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, interval, mean_margin, of_source, p_value, plain
from epbench.reports.plots import Plot
from epbench.reports.reported import ReportedRow, sources
from epbench.statistics.estimate import TESTED, Estimate, TestOf, Value, corrected, estimate, framed

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.5
POWER = 1.959964 + 0.841621
"""Standard errors that an effect must have, to be found two-sided at .05 with 80 % power, by the normal approximation."""

Made = Exhibit | Missing
Group = Mapping[str, Value]
Split = Callable[["pd.DataFrame"], Iterable[tuple[Group, "pd.DataFrame"]]]
"""Divides questions into groups; each comes with the columns that say which it is."""

UNTESTED = ("mean", "low", "high", "lowest", "highest", "n", "n_failed")
gained = methodcaller("columns", "mean", "low", "high", "n", "p", "p_holm", "smallest", prefix="gain_")
"""The columns of an estimate of a gain."""
_NUMBERS = (*TESTED, "units", "smallest")
"""The fields of an estimate that frames hold; `smallest` is the smallest accuracy above chance that is shown."""
_MEAN = "mean of the runs"


def _distance(row: Row) -> str:
    """The bin of distance of `by` as the text of a cell."""
    over, up_to = row["over"], row["up_to"]
    return f"{over:,}–{up_to:,}" if up_to is not None else f"over {over:,}" if over else "all"


_SHOWN: dict[str, Any] = {"run": of_source(), "of_model": of_source("model"), "accuracy": mean_margin(), "p": p_value()}
_SHOWN |= {"interval": interval(), "failed": "n_failed", "book": lambda row: str(row["book_idx"])}
_SHOWN |= {"segment": "segment_length", "segments": "segment_length"}
_SHOWN |= {"excerpt": "excerpt_length", "distance": _distance}
_TITLES = {"of_model": "model", "interval": "95 %", "label_mass": "label mass", "greedy_accuracy": "greedy accuracy"}
_TITLES |= {"distance_bin": "distance up to", "share_a": "share of A", "share_a_right": "A is right", "n_runs": "runs"}
_TITLES |= {"n_neither": "neither", "n_tied": "tied", "n_asked": "asked"}
_TEXTS = "run model of_model memory name weights memories pairs training trained".split()
SCORED = "accuracy p n failed"


def named(names: str) -> list[Column]:
    """The columns of these names, which several exhibits have, or which show a column of the frame plainly."""
    return [Column(_TITLES.get(name, name), _SHOWN.get(name, name), text=name in _TEXTS) for name in names.split()]


_TEST = (
    "p: exact binomial test against 0.5, two-sided (with both orders over pairs, right both times against wrong both times), "
    "by Holm for all groups{} that are shown here. * p < .05, ** p < .01."
)
_MEAN_TEST = (
    "Mean over {}, over the questions that all were asked. p: Wilcoxon's signed-rank test of the means of excerpts against "
    "0.5 (ties are ranked, after Pratt; normal approximation), two-sided, by Holm for all groups. * p < .05, ** p < .01."
)


def of_excerpts(questions: pd.DataFrame, column: str, **more: Any) -> Estimate:
    """As `epbench.statistics.estimate.estimate` does, with an interval that draws excerpts, whose questions share one reading."""
    drawn = formulas("sort_accuracy").accuracy_interval
    return estimate(questions, column, cluster="excerpt", interval=drawn, **more)


def accuracy_of(questions: pd.DataFrame, test: TestOf = against_guessing) -> Estimate:
    """The accuracy of some questions, with its test against chance."""
    return of_excerpts(questions, "right", test=test, smallest=smallest_above_chance)


def labels(questions: pd.DataFrame) -> Group:
    """What answers are beyond the more probable label: how often the written one is right, and p(A) + p(B)."""
    known = questions["label_mass"][questions["right"].notna()].dropna()
    greedy = None if questions["right"].isna().any() else float((questions["written"] == questions["answer"]).mean())
    return {"greedy_accuracy": greedy, "label_mass": float(known.mean()) if len(known) else None}


def _test_of_means(answered: pd.DataFrame) -> tuple[float, int]:
    """Wilcoxon's signed-rank test of the means of excerpts against chance, and the number of excerpts."""
    from scipy.stats import wilcoxon

    above = answered.groupby("excerpt", sort=False)["right"].mean() - CHANCE
    # The exact distribution with ties is searched by permutation, which takes seconds for each bin of a small set.
    values = above.round(12)
    p = wilcoxon(values, zero_method="pratt", method="asymptotic").pvalue if values.any() else 1.0
    return float(p), len(above)


def smallest_above_chance(n: int) -> float | None:
    """The smallest accuracy that so many questions show with 80 % power, two-sided at .05; None if it is not below 1."""
    found = CHANCE + POWER * CHANCE / math.sqrt(n) if n else 1.0
    return found if found < 1 else None


def about(run: PaperRun) -> Group:
    """The columns that name a run."""
    return {"source": "own", "label": run.label, "model": run.model, "memory": run.memory}


def by(*names: str, edges: Sequence[int] = (), more: Callable[[pd.DataFrame], Group] = lambda _: {}) -> Split:
    """Divide questions by columns, and by the distance in words from start to start, in rising order of their values.

    After the last of the right `edges` follows a bin without an end. `more` computes further columns of a group.
    """

    def split(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
        import numpy as np

        bins = np.searchsorted(edges, questions["distance"])
        groups: Iterable[Any] = questions.groupby([*names, bins])
        for (*_, bin_), part in groups:
            group: dict[str, Any] = part[[*names]].iloc[0].to_dict()
            if edges:
                over, up_to = (0, *edges)[bin_], (*edges, None)[bin_]
                group |= {"over": over, "up_to": up_to, "mean_distance": float(part["distance"].mean())}
            yield {**group, **more(part)}, part

    return split


def tested(family: Sequence[tuple[Group, Estimate]]) -> list[Row]:
    """The rows of a frame about estimates whose tests are corrected together."""
    numbers = corrected([one for _, one in family])
    return [{**names, **one.columns(*_NUMBERS)} for (names, _), one in zip(family, numbers, strict=True)]


def accuracies(run: PaperRun, split: Split) -> list[tuple[Group, Estimate]]:
    """The accuracy of a run on each group of its questions, with its test against chance."""
    test = _test_of_means if run.label == _MEAN else against_guessing
    return [({**about(run), **group}, accuracy_of(part, test)) for group, part in split(run.questions)]


def paired_with(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The questions that all tables have, with their columns in the first, and `right_1`, `right_2` and so on of the others."""
    # Ids alone are alike in sets of other pairs.
    questions, keys = tables[0], ["id", "seg1_pos", "seg2_pos", "answer"]
    for number, other in enumerate(tables[1:], 1):
        questions = questions.merge(other[[*keys, "right"]].rename(columns={"right": f"right_{number}"}), on=keys)
    return questions


def _mean_of(runs: Sequence[PaperRun]) -> tuple[PaperRun, list[str]]:
    """The mean over runs, question by question, on those that all were asked, or else on the most frequent set; and notes."""
    notes, prints = list[str](), [run.fingerprint for run in runs]
    if paired_with([run.questions for run in runs]).empty:
        most = max(prints, key=prints.count)
        if left_out := ", ".join(run.label for run in runs if run.fingerprint != most):
            notes = [f"Left out of the mean, as they are about other pairs: {left_out}."]
        runs = [run for run in runs if run.fingerprint == most]
    if len(runs) == 1:
        return runs[0], notes
    common = paired_with([run.questions for run in runs])
    common["right"] = common.filter(regex="^right(_[0-9]+)?$").mean(axis=1, skipna=False)
    memories = ", ".join(dict.fromkeys(run.memory for run in runs))
    return replace(runs[0], label=_MEAN, model=f"{len(runs)} runs", memory=memories, questions=common), notes


@dataclass(frozen=True)
class Rates:
    """A table or figure of accuracies, as it is declared; columns and across are those of `Exhibit`."""

    caption: str  # the name and the title of the exhibit, such as `Table 1. Baseline`
    split: Split  # divides the questions of a run into groups
    columns: Sequence[Column]
    _: KW_ONLY
    memories: Sequence[str] = ("in-context",)  # of the runs that are shown
    only: Callable[[PaperRun], bool] = lambda _: True  # which of the runs with these memories are shown
    needs: str = ""  # said where runs are missing; by default one with the first memory
    where: str = ""  # the questions that count, by a condition on their columns; by default all
    notes: Sequence[str] = ()  # before the test, its correction and the smallest accuracy shown, which are said always
    told: Callable[[Sequence[PaperRun]], Sequence[str]] = lambda _: ()  # further notes about the runs
    plot: Plot | None = None  # draws the rows; None draws the table
    across: str = ""
    order: Sequence[Value] = ()  # the values of `across` from the left; by default all, in rising order
    pooled: bool = False  # whether the mean over the runs is shown
    together: bool = False  # whether Holm's correction is for all groups of all runs, and not for those of each run
    reported: Callable[[ReportedRow], bool] | None = None  # the reported rows below; by default those of the same table
    scores: Mapping[str, Group] = field(default_factory=dict)  # by the name of a reported score, its group

    @property
    def name(self) -> str:
        """The name in the paper, such as `Table 1`."""
        return self.caption.partition(". ")[0]

    def shown(self, inputs: Inputs) -> list[PaperRun]:
        """The runs that are shown."""
        return [run for run in inputs.runs if run.memory in self.memories and self.only(run)]

    def make(self, inputs: Inputs) -> Made:
        """Make it from the runs and the reported rows that were given."""
        name, _, title = self.caption.partition(". ")
        runs, left_out = self.shown(inputs), list[str]()
        if self.pooled and runs:
            mean, left_out = _mean_of(runs)
            runs = [mean]
        families = [accuracies(run, self._groups) for run in runs]
        if self.together:
            families = [[one for family in families for one in family]]
        own = [row for family in families for row in tested(family)]
        if not own:
            return Missing(name, title, self.needs or f"at least one run with memory {self.memories[0]}")
        is_shown = self.reported or (lambda row: row.table == name)
        reported = [row for row in inputs.reported if self.scores and is_shown(row)]
        theirs = [
            {column: {**_reported_row(row, score), **group}.get(column) for column in own[0]}
            for row in reported
            for score, group in self.scores.items()
            if score in row.scores
        ]
        rows, test = [*own, *theirs], _TEST.format("" if self.together else " of a run")
        if own[0]["label"] == _MEAN:
            test = _MEAN_TEST.format(own[0]["model"])
        reach = "±: how far the 95 % interval reaches, which draws excerpts, since their questions share one reading."
        notes = [*self.notes, reach, test, *left_out, *_what_is_shown(own), *self.told(runs), *sources(reported)]
        values = self.order or sorted({row[self.across] for row in rows} if self.across else ())
        plot, names = self.plot and partial(self.plot, rows), {value: plain(value) for value in values}
        about = name, title, framed(rows), self.columns, notes
        return Exhibit(*about, plot, across=self.across, names=names, sections="source")

    def _groups(self, questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
        return self.split(questions.query(self.where) if self.where else questions)


def _reported_row(row: ReportedRow, score: str) -> Row:
    """The row of a frame about a reported score; a row about one book has it as book_idx."""
    low, high = row.intervals.get(score, (None, None))
    numbers = Estimate(row.counts.get(score), None, row.scores[score], low=low, high=high).columns(*_NUMBERS)
    names = {"source": "reported", "label": row.model, "model": row.model, "memory": row.memory}
    _, is_book, book = row.dataset.partition("book ")
    return {**names, **({"book_idx": int(book)} if is_book else {}), **numbers}


def _what_is_shown(rows: Sequence[Row]) -> list[str]:
    """What so few questions could show against chance, and what an interval without width means, if there is one."""
    power = "No group could be tested against chance, as questions failed."
    if units := [row["units"] for row in rows if row["units"]]:
        smallest = smallest_above_chance(min(units))
        shown = f"an accuracy of {smallest:.3f}" if smallest else "no accuracy below 1"
        power = (
            f"The smallest group that was tested has n = {min(units):,}, which shows {shown} with 80 % power at .05 before the "
            f"correction; the largest has n = {max(units):,}."
        )
    alike = "± 0.000: all excerpts are alike, so that drawing them shows no spread; it does not mean that there is no error."
    return [power, *([alike] if any(row["low"] is not None and row["low"] == row["high"] for row in rows) else [])]
