"""Accuracies of runs on groups of questions, and how a table or figure of them is declared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.lines import CHANCE, Plot
from epbench.booksort.scores.scoring import LONG_EXCERPT
from epbench.metric_folders import metric_module
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, Show, mean_half, of_source, p_value, plain
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import TESTED, Estimate, Value, corrected, estimate, framed, stars

if TYPE_CHECKING:
    import pandas as pd

Group = Mapping[str, Value]
Split = Callable[["pd.DataFrame"], Iterable[tuple[Group, "pd.DataFrame"]]]
"""Divides questions into groups; each comes with the columns that say which it is."""

POWER = 1.959964 + 0.841621
"""Standard errors that an effect must have, to be found two-sided at .05 with 80 % power, by the normal approximation."""
SORT, EXTEND = "SORT", "SORT-extend"
"""The two parts of the paper: excerpts of up to 2,500 words, and longer ones."""
QUESTION = ("id", "seg1_pos", "seg2_pos", "answer")
"""The columns that tell whether two rows ask the same question: ids alone are alike in sets of other pairs."""
NUMBERS = (*TESTED, "units", "smallest")
"""The fields of an estimate that frames hold; `smallest` is the smallest accuracy above chance that is shown."""
GAINED = ("mean", "low", "high", "n", "p", "p_holm", "smallest")
"""The fields of an estimate of a gain that frames hold, as `gain_mean` and so on."""
MEAN = "mean of the runs"

RUN, MODEL, MEMORY = (
    Column(title, show, text=True) for title, show in (("run", of_source()), ("model", "model"), ("memory", "memory"))
)
SCORED = (Column("accuracy", mean_half()), Column("p", p_value()), Column("n", "n"), Column("failed", "n_failed"))
ACCURACY, P, N, FAILED = SCORED

INTERVAL = "±: half of the 95 % interval, by drawing excerpts, whose questions share one reading."
_TEST = (
    "p: exact binomial test against 0.5, two-sided (with both orders over pairs, right both times against wrong both times), "
    "by Holm for all groups{} that are shown here. * p < .05, ** p < .01."
)
_MEAN_TEST = (
    "Mean over {}, over the questions that all were asked. p: Wilcoxon's signed-rank test of the means of excerpts against "
    "0.5 (ties are ranked, after Pratt; normal approximation), two-sided, by Holm for all groups. * p < .05, ** p < .01."
)
_NO_WIDTH = (
    "± 0.000: all excerpts are alike, so that drawing them shows no spread; it does not mean that there is no error."
)


def prepared(questions: pd.DataFrame) -> pd.DataFrame:
    """Questions with what estimates need.

    Args:
        questions: As `epbench.booksort.scores.question_files.read_questions` returns them.

    Returns:
        A copy with the columns part (`SORT` or `SORT-extend`), failed and correct.
    """
    return questions.assign(
        part=(questions["excerpt_length"] >= LONG_EXCERPT).map({False: SORT, True: EXTEND}),
        failed=questions["outcome"] == "failed",
        correct=questions["outcome"] == "right",
    )


def rate_of(questions: pd.DataFrame, *, pooled: bool = False) -> Estimate:
    """The accuracy of some questions, with its test against chance.

    Args:
        questions: Rows as `prepared` returns them.
        pooled: Whether `right` is a mean over models, 0 to 1.
    """
    interval = metric_module("sort_accuracy").accuracy_interval
    test = _test_of_means if pooled else _test
    return estimate(questions, "right", cluster="excerpt", interval=interval, test=test, smallest=smallest_above_chance)


def _test(answered: pd.DataFrame) -> tuple[float, int]:
    """The two-sided binomial test against chance, and the number of questions or pairs that it counts."""
    from scipy.stats import binomtest

    right, units = int(answered["right"].sum()), len(answered)
    if answered["swapped"].any():  # the two askings of a pair are not independent
        times = answered.groupby("pair")["right"].agg(["sum", "size"])
        both = times[times["size"] == 2]["sum"]
        right, units = int((both == 2).sum()), int((both != 1).sum())
    return (float(binomtest(right, units, CHANCE).pvalue) if units else 1.0), units


def _test_of_means(answered: pd.DataFrame) -> tuple[float, int]:
    """Wilcoxon's signed-rank test of the means of excerpts against chance, and the number of excerpts."""
    from scipy.stats import wilcoxon

    above = answered.groupby("excerpt", sort=False)["right"].mean() - CHANCE
    # The exact distribution with ties is searched by permutation, which takes seconds for each bin of a small set.
    values, units = above.round(12), len(above)
    if not values.any():
        return 1.0, units
    return float(wilcoxon(values, zero_method="pratt", method="asymptotic").pvalue), units


def smallest_above_chance(n: int) -> float | None:
    """The smallest accuracy above chance that so many questions show with 80 % power, two-sided at .05; None if none.

    By the normal approximation, with the deviation of guessing: (1.960 + 0.842) · 0.5 / √n above 0.5.
    """
    found = CHANCE + POWER * CHANCE / math.sqrt(n) if n else 1.0
    return found if found < 1 else None


def about(run: PaperRun) -> Group:
    """The columns that name a run."""
    return {"source": run.source, "label": run.label, "model": run.model, "memory": run.memory}


def rated(runs: Sequence[PaperRun], split: Split, *, together: bool = False) -> list[Row]:
    """The accuracy of each run on each group of its questions, as rows of a frame.

    Args:
        runs: The runs.
        split: Divides the questions of a run.
        together: Whether Holm's correction is for all groups of all runs, and not for those of each run.
    """
    found = [
        [({**about(run), **group}, rate_of(part)) for group, part in split(prepared(run.questions))] for run in runs
    ]
    families = [[one for of_run in found for one in of_run]] if together else found
    return [row for family in families for row in _rows(family)]


def _rows(family: Sequence[tuple[dict[str, Value], Estimate]]) -> list[Row]:
    numbers = corrected([one for _, one in family])
    return [{**names, **one.columns(*NUMBERS)} for (names, _), one in zip(family, numbers, strict=True)]


def averaged(runs: Sequence[PaperRun]) -> tuple[list[PaperRun], list[str]]:
    """The runs that a mean can be over: all, or if they have no question in common those on the most frequent set.

    Returns:
        These runs, and notes that name those left out.
    """
    kept = list(runs)
    if len(runs) > 1 and _common(runs).empty:
        most = Counter(run.fingerprint for run in runs).most_common(1)[0][0]
        kept = [run for run in runs if run.fingerprint == most]
    left_out = [run.label for run in runs if all(run is not one for one in kept)]
    return kept, [f"Left out of the mean, as they are about other pairs: {', '.join(left_out)}."] if left_out else []


def mean_rated(runs: Sequence[PaperRun], split: Split) -> list[Row]:
    """The same for the mean over runs, question by question; questions that not all runs were asked are left out.

    With one run, this is the run itself.

    Args:
        runs: Runs with common questions; see `averaged`.
        split: Divides the questions into groups.
    """
    if len(runs) < 2:
        return rated(runs, split)
    memories = ", ".join(dict.fromkeys(run.memory for run in runs))
    names: dict[str, Value] = {"source": "own", "label": MEAN, "model": f"{len(runs)} runs", "memory": memories}
    return _rows([(names | dict(group), rate_of(part, pooled=True)) for group, part in split(_common(runs))])


def _common(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """The questions of the first run that all runs were asked, with the mean of `right`; NaN where one of them failed."""
    import pandas as pd

    asked = [prepared(run.questions).set_index(list(QUESTION), drop=False) for run in runs]
    right = pd.concat([one["right"] for one in asked], axis=1, join="inner").mean(axis=1, skipna=False)
    common = asked[0][asked[0].index.isin(right.index)]
    return common.assign(right=right.reindex(common.index)).reset_index(drop=True)


def by(*names: str, more: Callable[[pd.DataFrame], Group] = lambda _: {}) -> Split:
    """Divide questions by columns, in rising order of their values.

    Args:
        names: The columns.
        more: Further columns of a group, computed from its questions.
    """

    def split(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
        for values, part in questions.groupby(list(names), sort=True):
            group: dict[str, Any] = {
                name: value.item() if hasattr(value, "item") else value
                for name, value in zip(names, values, strict=True)
            }
            yield {**group, **more(part)}, part

    return split


def by_distance(name: str, edges: Sequence[int], more: Callable[[pd.DataFrame], Group] = lambda _: {}) -> Split:
    """Divide questions by a column, and by the distance in words from start to start.

    Args:
        name: The column.
        edges: Right edges of the bins; after the last one follows a bin without an end.
        more: See `by`.
    """

    def split(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
        for group, part in by(name)(questions):
            for low, high in zip((0, *edges), (*edges, None), strict=True):
                inside = part[(part["distance"] > low) & (part["distance"] <= (high or math.inf))]
                if not inside.empty:
                    mean = float(inside["distance"].mean())
                    yield {**group, "over": low, "up_to": high, "mean_distance": mean, **more(inside)}, inside

    return split


def distance(row: Row) -> str:
    """The bin of `by_distance` as the text of a cell."""
    if row["up_to"] is None:
        return f"over {row['over']:,}" if row["over"] else "all"
    return f"{row['over']:,}–{row['up_to']:,}"


def counted(show: Show) -> Show:
    """What a cell shows, and the number of questions."""
    return lambda row: show(row) if row["n"] is None else f"{show(row)}, n = {row['n']:,}"


def difference(prefix: str, digits: int = 3, *, starred: bool = True) -> Show:
    """`+0.410 [0.360, 0.450]**`: a difference, its interval, and stars by its corrected p-value."""

    def show(row: Row) -> str:
        mean, low, high = (row[f"{prefix}{name}"] for name in ("mean", "low", "high"))
        interval = "" if low is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
        mark = stars(row[f"{prefix}p_holm"]) if starred else ""
        return "–" if mean is None else f"{mean:+.{digits}f}{interval}{mark}"

    return show


@dataclass(frozen=True, kw_only=True)
class Rates:
    """A table or figure of accuracies, as it is declared.

    Attributes:
        name: See `epbench.reports.exhibit.Exhibit`.
        title: See there.
        needs: Which runs it needs, said where they are missing.
        shows: Whether a run is shown.
        split: Divides the questions of a run into groups.
        columns: See `Exhibit`.
        notes: What is said before the test, its correction and the smallest accuracy that is shown, which is said always.
        told: Further notes about the runs.
        plot: Draws the rows; None draws the table.
        across: See `Exhibit`.
        order: The values of `across` from the left; by default those that there are, in rising order.
        pooled: Whether the mean over the runs is shown.
        together: See `rated`.
        reported: Which reported rows stand below.
        scores: What their scores are, by name: the columns of the group that each is about.
    """

    name: str
    title: str
    needs: str
    shows: Callable[[PaperRun], bool]
    split: Split
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    told: Callable[[Sequence[PaperRun]], Sequence[str]] = lambda _: ()
    plot: Plot | None = None
    across: str = ""
    order: Sequence[Value] = ()
    pooled: bool = False
    together: bool = False
    reported: Callable[[ReportedRow], bool] = lambda _: False
    scores: Mapping[str, Group] = field(default_factory=dict)

    def make(self, inputs: Inputs) -> Exhibit | Missing:
        """Make it from the runs and the reported rows that were given."""
        runs = [run for run in inputs.runs if self.shows(run)]
        runs, left_out = averaged(runs) if self.pooled else (runs, [])
        own = mean_rated(runs, self.split) if self.pooled else rated(runs, self.split, together=self.together)
        if not own:
            return Missing(self.name, self.title, self.needs)
        reported = [row for row in inputs.reported if self.reported(row)]
        theirs = [
            {name: {**reported_row(row, score), **group}.get(name) for name in own[0]}
            for row in reported
            for score, group in self.scores.items()
            if score in row.scores
        ]
        rows = [*own, *theirs]
        of_mean = own[0]["label"] == MEAN
        test = _MEAN_TEST.format(own[0]["model"]) if of_mean else _TEST.format("" if self.together else " of a run")
        notes = [*self.notes, INTERVAL, test, *left_out, power_note(own), *width_note(own), *self.told(runs)]
        plot, columns = self.plot, {row[self.across] for row in rows} if self.across else set()
        return Exhibit(
            self.name, self.title, framed(rows), self.columns, [*notes, *sources(reported)], across=self.across,
            plot=None if plot is None else lambda: plot(rows), sections="source",
            names={value: plain(value) for value in self.order or sorted(columns)},
        )  # fmt: skip


def reported_row(row: ReportedRow, score: str) -> Row:
    """The row of a frame about a reported score; a row about one book has it as book_idx."""
    low, high = row.intervals.get(score, (None, None))
    numbers = Estimate(row.counts.get(score), None, row.scores[score], low=low, high=high).columns(*NUMBERS)
    names = {"source": "reported", "label": row.model, "model": row.model, "memory": row.memory}
    _, is_book, book = row.dataset.partition("book ")
    return {**names, **({"book_idx": int(book)} if is_book else {}), **numbers}


def sources(rows: Sequence[ReportedRow]) -> list[str]:
    """A note that says where reported rows come from, and what is said of a single one; none without rows."""
    named = dict.fromkeys(f"{row.source}, {row.table}" for row in rows)
    said = f" {rows[0].note.rstrip('.')}." if len(rows) == 1 and rows[0].note else ""
    return [f"Rows marked (reported): {'; '.join(named)}.{said}"] if rows else []


def power_note(rows: Sequence[Row]) -> str:
    """The sentence that says what so few questions could show against chance."""
    units = [row["units"] for row in rows if row["units"]]
    if not units:
        return "No group could be tested against chance, as questions failed."
    smallest = smallest_above_chance(min(units))
    least = f"an accuracy of {smallest:.3f}" if smallest else "no accuracy below 1"
    return (
        f"The smallest group that was tested has n = {min(units):,}, which shows {least} with 80 % power at .05 before the "
        f"correction; the largest has n = {max(units):,}."
    )


def width_note(rows: Sequence[Row]) -> list[str]:
    """What an interval without width means, if there is one."""
    return [_NO_WIDTH] if any(row["low"] is not None and row["low"] == row["high"] for row in rows) else []
