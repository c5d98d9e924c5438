"""Models that were trained on the books: what is measured by epoch, and whether checkpoints differ (Figures 15 to 20)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.contexts import labels
from epbench.booksort.paper.inputs import Inputs, PaperRun, Training
from epbench.booksort.paper.rates import ACCURACY, CHANCE, FAILED, N, difference, lined, prepared, rate_of, sources
from epbench.booksort.scores.comparison import compare_runs, pair_differences
from epbench.booksort.scores.scoring import LOW_MASS
from epbench.exhibits.exhibit import Missing, slug
from epbench.exhibits.reported import ReportedRow
from epbench.reports.comparison import p_matrix_figure
from epbench.reports.exhibit import Column, Exhibit, Row, mean_interval, of_source, p_value
from epbench.reports.plots import bars, legend, lines, panels, rates
from epbench.statistics.estimate import Estimate, Value, framed
from epbench.statistics.paired import Comparison, notes_on
from epbench.statistics.smallest_difference import smallest_difference_of_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TRAINING = "a training of a model on the books"
_CONTROL = ", and beside it of a control without the books"
_EPOCH = "epoch (0: before training)"
_ABOUT = (
    Column("model", of_source("model"), text=True), Column("training", "training", text=True),
    Column("trained", "trained", text=True), Column("epoch", "epoch"),
)  # fmt: skip
_NUMBERS = ("mean", "low", "high", "lowest", "highest", "n", "n_failed")


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Figures 15 to 20 and Appendix F.5.

    Args:
        inputs: Trainings of which no epoch was measured are left out; of the reported numbers, those of Appendix F are used.
    """
    trainings = [one for one in inputs.trainings if one.epochs]
    groups = by_base(trainings)
    return [
        figure_15(trainings), figure_16(trainings, inputs.reported), figure_17(trainings, inputs.reported),
        *_tests(groups), figure_20(trainings), appendix_f5(trainings, inputs.reported), *_in_context_tests(trainings),
    ]  # fmt: skip


def by_base(trainings: Iterable[Training]) -> dict[str, list[Training]]:
    """The trainings whose checkpoints can be compared, by the name of the model that they begin with.

    Where one model was trained and asked in two ways, the name of the second has a number.
    """
    found: dict[str, list[Training]] = {}
    for one in trainings:
        found.setdefault(one.same, []).append(one)
    named: dict[str, list[Training]] = {}
    for group in found.values():
        name, number = group[0].name, 2
        while slug(name) in map(slug, named):  # the names of files have no capitals
            name, number = f"{group[0].name} ({number})", number + 1
        named[name] = group
    return named


def checkpoints(group: Sequence[Training], memory: str) -> dict[str, PaperRun]:
    """The runs that asked the checkpoints of trainings from one model, by a name such as `books, epoch 1`.

    All trainings begin with the same weights, so that the model before training is there once.

    Args:
        group: Trainings of one value of `by_base`.
        memory: `none`, or `in-context`.
    """
    found: dict[str, PaperRun] = {}
    for run in (run for training in group for run in training.runs if run.memory == memory):
        found.setdefault(f"{run.training}, epoch {run.epoch}" if run.epoch else "before training", run)
    return found


def _about(training: Training, epoch: int) -> dict[str, Value]:
    trained = training.control or "books"
    return {"source": "own", "model": training.name, "training": training.label, "trained": trained, "epoch": epoch}


# By epoch


def _training(row: Row) -> str:
    return str(row["training"])


def figure_15(trainings: Sequence[Training]) -> Exhibit | Missing:
    """Whether a layer can read the right answers out of hidden states, by epoch and by the book that it was tested on."""
    name = "Figure 15"
    title = (
        "Accuracy of a layer that reads the answers out of hidden states, tested on a book that it was not trained on"
    )
    rows: list[Row] = []
    for training in trainings:
        for record in (record for record in training.epochs if record.get("readout")):
            found, about = record["readout"], _about(training, record["epoch"])
            low, high = found["interval"] or (None, None)
            whole = Estimate(found["n"], 0, found["accuracy"], low=low, high=high)
            rows.append({**about, "book": None, **whole.columns(*_NUMBERS)})
            asked = [run.questions["book_idx"] for run in training.runs if run.epoch == record["epoch"]]
            for book, value in found["by_group"].items():
                n = int((asked[0].astype(str) == book).sum()) if asked else None
                rows.append({**about, "book": book, **Estimate(n, 0, value).columns(*_NUMBERS)})
    if not rows:
        return Missing(name, title, f"{_TRAINING}, with a read-out from pairs of at least two books")
    notes = [
        "A logistic regression on the last hidden state before the answer, trained on the pairs of all books but one and "
        "tested on that one. In brackets Wilson's 95 % interval, which takes predictions for independent; n is in the data.",
        "Chance is 0.5. The bars on the right are the last measured epoch of each training.",
    ]
    books = sorted({row["book"] for row in rows if row["book"] is not None})

    def plot() -> Figure:
        last = {row["training"]: row["epoch"] for row in rows}
        figure, (left, right) = panels(["", ""], width=4.6, height=3.6)
        lines(left, [row for row in rows if row["book"] is None], "epoch", "training", order=list(last), starred=False)
        ends = [row for row in rows if row["book"] is not None and row["epoch"] == last[row["training"]]]
        bars(right, sorted(ends, key=lambda row: books.index(row["book"])), "book", "training", order=list(last))
        rates(left, _EPOCH, guess=CHANCE)
        rates(right, "book that was held out", guess=CHANCE)
        legend(figure)
        return figure

    columns = [*_ABOUT, Column("{}", mean_interval())]
    names = {None: "all books", **{book: f"book {book}" for book in books}}
    return Exhibit(name, title, framed(rows), columns, notes, plot, across="book", names=names)


def figure_16(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """How surprising texts are to a model after each epoch: the segments, the books, and what was never trained."""
    name, title = (
        "Figure 16",
        "Perplexity of the segments in their prompts without context, and of other texts, by epoch",
    )
    if not trainings:
        return Missing(name, title, f"{_TRAINING}, with measures of its epochs{_CONTROL}")
    reported = [row for row in reported if row.table == "Appendix F"]
    texts = dict.fromkeys(text for t in trainings for record in t.epochs for text in record["perplexity"])
    rows: list[Row] = [
        {**_about(training, record["epoch"]), "text": text, "mean": record["perplexity"][text]}
        for training in trainings
        for record in training.epochs
        for text in texts
        if text in record["perplexity"]
    ]
    theirs = [
        {"source": "reported", "model": row.model, "training": row.source, "trained": row.memory, "epoch": None,
         "text": f"book {row.dataset}", "mean": row.scores["perplexity"]}
        for row in reported
    ]  # fmt: skip
    notes = [
        "segments: all tokens of both segments of all pairs, in prompts without context. The other texts are measured on "
        "chunks as they are trained. A control never sees segments and books.",
        *sources(reported),
    ]

    def plot() -> Figure:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        drawn = [{**row, "low": None, "high": None} for row in rows if row["text"] in ("segments", "books")]
        figure = lined("epoch", _training, _EPOCH, panel=lambda row: str(row["text"]), scale="epochs",
                       y_label="perplexity", guess=None)(drawn)  # fmt: skip
        for axes in figure.axes:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        return figure

    columns = [*_ABOUT, Column("{}", lambda row: "–" if row["mean"] is None else f"{row['mean']:,.2f}")]
    names = {text: text.replace("_", " ") for text in texts}
    frame = framed([*rows, *theirs])
    return Exhibit(name, title, frame, columns, notes, plot, across="text", names=names, sections="source")


def figure_17(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """Accuracy by epoch without context: what the weights remember."""
    title = "Accuracy on SORT without context, by epoch of a training on the books or of a control"
    missing = Missing("Figure 17", title, f"{_TRAINING}, with measures of its epochs{_CONTROL}")
    return _accuracies("Figure 17", title, trainings, "none", ()) or missing


def appendix_f5(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Exhibit | Missing:
    """Accuracy by epoch with the excerpt in context: what a training costs."""
    title = "Accuracy on SORT with the excerpt in context, by epoch of a training"
    theirs = [row for row in reported if row.table == "Appendix F.5"]
    missing = Missing("Appendix F.5", title, f"{_TRAINING}, whose epochs were also asked in-context")
    return _accuracies("Appendix F.5", title, trainings, "in-context", theirs) or missing


def _accuracies(
    name: str, title: str, trainings: Sequence[Training], memory: str, reported: Sequence[ReportedRow]
) -> Exhibit | None:
    rows: list[Row] = []
    for training in trainings:
        for run in (run for run in training.runs if run.memory == memory):
            questions = prepared(run.questions)
            numbers = {**rate_of(questions).columns(*_NUMBERS), **labels(questions)}
            rows.append({**_about(training, run.epoch or 0), **numbers})
    empty = {**Estimate(None, None).columns(*_NUMBERS), "greedy_accuracy": None, "label_mass": None}
    theirs: list[Row] = []
    for row in reported:
        trained, epoch = row.memory.split(", epoch ")
        about = {
            "source": "reported",
            "model": row.model,
            "training": row.source,
            "trained": trained,
            "epoch": int(epoch),
        }
        theirs.append({**about, **empty, "mean": row.scores["accuracy"]})
    if not rows and not theirs:
        return None
    notes = [
        "± is half the width of a 95 % interval that draws excerpts. Epoch 0 is the model before training. Where the books "
        "are trained, only epoch 1 is episodic, as each text was seen once. Figure 18 tests whether epochs differ without "
        "context.",
        *sources(reported),
    ]
    if any(row["label_mass"] is not None and row["label_mass"] < LOW_MASS for row in rows):
        notes.append(
            "Where the label mass is below a half, the accuracy says which label a model holds for the more probable one, and "
            "not what it would answer."
        )
    columns = [
        *_ABOUT, ACCURACY, Column("greedy accuracy", "greedy_accuracy"), Column("label mass", "label_mass"), N, FAILED,
    ]  # fmt: skip
    plot = (lambda: lined("epoch", _training, _EPOCH, scale="epochs")(rows)) if rows else None
    return Exhibit(name, title, framed([*rows, *theirs]), columns, notes, plot, sections="source")


def figure_20(trainings: Sequence[Training]) -> Exhibit | Missing:
    """How much of p(A) + p(B) a model gives the right segment after each epoch."""
    name = "Figure 20"
    title = "Mean log ratio of the right answer, log(p(right) / (p(A) + p(B))), without context, by epoch"
    rows: list[Row] = []
    for training in trainings:
        runs = {run.epoch: run for run in training.runs if run.memory == "none"}
        if not any(record["sort"].get("log_ratio") is not None for record in training.epochs):
            continue
        for record in training.epochs:
            low, high = record["sort"].get("log_ratio_interval") or (None, None)
            ratios = runs[record["epoch"]].questions["log_ratio"]
            numbers = {"mean": record["sort"].get("log_ratio"), "low": low, "high": high}
            rows.append(
                {**_about(training, record["epoch"]), **numbers, "n": int(ratios.count()), "n_asked": len(ratios)}
            )
    if not rows:
        return Missing(name, title, f"{_TRAINING} whose answers have probabilities")
    guess = math.log(CHANCE)
    notes = [
        f"In nats; {guess:.3f} is that of a model that gives both labels the same probability, and 0 the highest. 95 %: "
        "drawing excerpts. Whether epochs differ is tested in Figure 19.",
        "Questions that failed, or whose right label has no probability, which would lower the mean, are asked but not among n.",
    ]
    columns = [*_ABOUT, Column("log ratio", "mean"), Column("95 %", _ends), N, Column("asked", "n_asked")]
    plot = lined("epoch", _training, _EPOCH, scale="epochs", y_label="log ratio (nats)", guess=guess)
    return Exhibit(name, title, framed(rows), columns, notes, lambda: plot(rows))


def _ends(row: Row) -> str:
    return "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"


# Do checkpoints differ?

_ACCURACY = (
    "Test: McNemar's exact test, two-sided, in which the two askings of a pair count once. Bold with an asterisk in the "
    "figure: p < 0.05 after Holm's correction for the number of comparisons; the numbers there are without it. p "
    "(chi-square): the test with continuity correction, as in the paper."
)
_RATIO = (
    "Test: paired t-tests of whether the first checkpoint (in the figure, the row) has a higher log ratio than the second, "
    "one-sided, in both directions. Bold with an asterisk in the figure: p < 0.05 after Holm's correction for all cells; the "
    "numbers there are without it."
)
_SMALLEST = (
    "smallest: the smallest mean difference, two-sided at 0.05 without correction, that so many questions show in 80 % of "
    "cases, if they vary as these do. Intervals draw excerpts, tests take pairs for independent."
)
_TITLES = {"Figure 18": "Do checkpoints differ in accuracy?", "Figure 19": "Do checkpoints differ in their log ratios?"}
_CHECKPOINTS = (Column("checkpoint", "first", text=True), Column("other", "second", text=True), N)


def _tests(groups: Mapping[str, Sequence[Training]]) -> list[Exhibit | Missing]:
    """Figures 18 and 19, once for each model."""
    made: dict[str, list[Exhibit | Missing]] = {name: [] for name in _TITLES}
    for base, group in groups.items():
        runs = checkpoints(group, "none")
        names = {name: name if len(groups) == 1 else f"{name}, {base}" for name in _TITLES}
        found = compared(runs) if len(runs) > 1 else []
        for name, make in (("Figure 18", figure_18), ("Figure 19", figure_19)):
            needs = (
                "a training of {} whose answers have probabilities"
                if found
                else "at least two measured checkpoints of {}"
            )
            missing = Missing(names[name], _TITLES[name], needs.format(base))
            made[name].append((make(names[name], base, found) if found else None) or missing)
    if not groups:
        needs = f"{_TRAINING}, with at least two measured checkpoints{_CONTROL}"
        return [Missing(name, title, needs) for name, title in _TITLES.items()]
    return [*made["Figure 18"], *made["Figure 19"]]


def _in_context_tests(trainings: Sequence[Training]) -> list[Exhibit]:
    """Whether a training costs accuracy in-context, once for each model of which two checkpoints were asked."""
    asked = by_base(one for one in trainings if any(run.memory == "in-context" for run in one.runs))
    made = []
    for base, group in asked.items():
        runs = checkpoints(group, "in-context")
        name = "Appendix F.5, differences" + (f", {base}" if len(asked) > 1 else "")
        made += [figure_18(name, base, compared(runs), "in-context")] if len(runs) > 1 else []
    return made


def compared(runs: Mapping[str, PaperRun]) -> list[dict[str, Any]]:
    """Compare any two checkpoints, question by question, with the smallest differences that could be seen.

    Args:
        runs: The runs of at least two checkpoints on the same questions, by the name of the checkpoint.

    Returns:
        What `epbench.booksort.scores.comparison.compare_runs` returns, each with `smallest`, and `log_ratio` with `smallest`.

    Raises:
        RunFailed: Two runs have no answered question in common.
    """
    tables = {name: run.questions for name, run in runs.items()}

    def smallest(names: Sequence[str], column: str) -> float | None:
        first, second = (tables[name] for name in names)
        differences = pair_differences(first, second, column)["difference"].tolist()
        return smallest_difference_of_means(differences, paired=True)

    found = compare_runs(tables)
    for pair in found:
        pair["smallest"] = smallest(pair["runs"], "right")
        if pair["log_ratio"]:
            pair["log_ratio"]["smallest"] = smallest(pair["runs"], "log_ratio")
    return found


def figure_18(name: str, base: str, found: Sequence[Mapping[str, Any]], context: str = "without context") -> Exhibit:
    """McNemar's tests of all checkpoints of one model.

    Args:
        name: Of the exhibit.
        base: The model before training.
        found: What `compared` returns.
        context: How they were asked, for the title.
    """
    rows = [
        {
            **_pair(base, pair["runs"], pair), "first_mean": pair["means"][0], "second_mean": pair["means"][1],
            **{key: pair[key] for key in ("wins", "ties", "losses", "p", "p_holm")}, "p_chi_square": pair["p_corrected"],
        }
        for pair in found
    ]  # fmt: skip
    columns = [
        *_CHECKPOINTS, Column("accuracy", "first_mean"), Column("of the other", "second_mean"),
        Column("difference, 95 %", difference("")), Column("better", "wins"), Column("equal", "ties"),
        Column("worse", "losses"), Column("p", p_value("p")), Column("p (Holm)", p_value()),
        Column("p (chi-square)", p_value("p_chi_square")), Column("smallest", "smallest"),
    ]  # fmt: skip
    notes = [_ACCURACY, _SMALLEST, *notes_on(Comparison("accuracy", [dict(pair) for pair in found]))]
    title = f"Do the checkpoints of {base} differ in accuracy {context}? p-values of any two"
    return Exhibit(name, title, framed(rows), columns, notes, lambda: _matrix(rows, ("p", "p"), ("p_holm", "p_holm")))


def figure_19(name: str, base: str, found: Sequence[Mapping[str, Any]]) -> Exhibit | None:
    """Paired t-tests of the log ratios of all checkpoints of one model; None if no probabilities are known."""
    keys = {"p_higher": "p", "p_lower": "p_less", "p_higher_holm": "p_holm", "p_lower_holm": "p_less_holm"}
    rows = [
        {**_pair(base, pair["runs"], ratio), **{column: ratio[key] for column, key in keys.items()}}
        for pair in found
        if (ratio := pair["log_ratio"])
    ]
    if not rows:
        return None
    columns = [
        *_CHECKPOINTS, Column("difference in nats, 95 %", difference("", starred=False)),
        *(Column(column.replace("_holm", ", Holm").replace("p_", "p: "), p_value(column)) for column in keys),
        Column("smallest", "smallest"),
    ]  # fmt: skip
    title = f"Do the checkpoints of {base} give the right segment a larger share of p(A) + p(B)? p-values of any two"
    plain, corrected = ("p_higher", "p_lower"), ("p_higher_holm", "p_lower_holm")
    return Exhibit(name, title, framed(rows), columns, [_RATIO, _SMALLEST], lambda: _matrix(rows, plain, corrected))


def _pair(base: str, runs: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    """What two checkpoints are, and their difference."""
    low, high = found["interval"] or (None, None)
    names = {"source": "own", "model": base, "first": runs[0], "second": runs[1], "n": found["n"]}
    return {**names, "mean": found["difference"], "low": low, "high": high, "smallest": found["smallest"]}


def _matrix(rows: Sequence[Row], plain: tuple[str, str], corrected: tuple[str, str]) -> Figure:
    """The p-values: in the row of the first checkpoint that of the first column, in that of the second the other."""
    names = list(dict.fromkeys(itertools.chain.from_iterable((row["first"], row["second"]) for row in rows)))

    def matrix(columns: tuple[str, str]) -> list[list[float | None]]:
        cells = {(row["first"], row["second"]): row[columns[0]] for row in rows}
        cells |= {(row["second"], row["first"]): row[columns[1]] for row in rows}
        return [[cells.get((one, other)) for other in names] for one in names]

    return p_matrix_figure(names, matrix(plain), corrected=matrix(corrected))
