"""What a training on the books does to a model by epoch (Figures 15 to 17 and 20), and whether that matters (18 and 19)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun, Training
from epbench.booksort.paper.rates import CHANCE, UNTESTED, Group, Made, accuracy_of, labels, named
from epbench.booksort.scores.comparison import compare_runs, pair_differences
from epbench.booksort.scores.scoring import LOW_MASS
from epbench.reports.comparison import p_matrix_figure, square
from epbench.reports.exhibit import Row, columns_of, difference, exhibit, fixed, interval, mean_interval, p_value, slug
from epbench.reports.figures import plain_numbers
from epbench.reports.plots import bars, grouped_by, legend, line_panels, lines, panels, rates
from epbench.reports.reported import ReportedRow, sources
from epbench.statistics.estimate import Estimate
from epbench.statistics.paired import Comparison, notes_on
from epbench.statistics.smallest_difference import smallest_difference_of_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TRAINING = "a training of a model on the books"
_CONTROL = ", and beside it of a control without the books"
_EPOCH = "epoch (0: before training)"
_MEASURED = f"{_TRAINING}, with measures of its epochs{_CONTROL}"
_ABOUT = named("of_model training trained epoch")
_by_epoch = partial(line_panels, "epoch", "{training}", _EPOCH, scale="epochs")


def exhibits(inputs: Inputs) -> list[Made]:
    """What a training does to what the weights remember, what it costs, and whether checkpoints differ."""
    trainings = [one for one in inputs.trainings if one.epochs]
    of_f, of_f5 = ([row for row in inputs.reported if row.table == table] for table in ("Appendix F", "Appendix F.5"))
    without = "Accuracy on SORT without context, by epoch of a training on the books or of a control"
    inside = "Accuracy on SORT with the excerpt in context, by epoch of a training"
    asked = f"{_TRAINING}, whose epochs were also asked in-context"
    return [
        _figure_15(trainings),
        _figure_16(trainings, of_f),
        _accuracies("Figure 17", without, _MEASURED, trainings, "none", ()),
        _figure_20(trainings),
        _accuracies("Appendix F.5", inside, asked, trainings, "in-context", of_f5),
        *_differences(trainings),
    ]


def _of_epoch(one: Training, epoch: int | None) -> Group:
    return {"source": "own", "model": one.model, "training": one.label, "trained": one.trained, "epoch": epoch}


def _of_reported(row: ReportedRow) -> Group:
    trained, _, epoch = row.memory.partition(", epoch ")
    about = {"source": "reported", "model": row.model, "training": row.source, "trained": trained}
    return {**about, "epoch": int(epoch) if epoch else None}


def _figure_15(trainings: Sequence[Training]) -> Made:
    rows = [row for one in trainings for record in one.epochs if record.get("readout") for row in _readout(one, record)]
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
        bars(right, sorted(ends, key=itemgetter("book")), "book", "training", order=list(last))
        rates(left, _EPOCH, guess=CHANCE)
        rates(right, "book that was held out", guess=CHANCE)
        legend(figure)
        return figure

    title = (
        "Accuracy of a layer that reads the answers out of hidden states, tested on a book that it was not trained on"
    )
    needs = f"{_TRAINING}, with a read-out from pairs of at least two books"
    names = {None: "all books", **{book: f"book {book}" for book in books}}
    columns = [*_ABOUT, *columns_of({"{}": mean_interval()})]
    return exhibit("Figure 15", title, rows, columns, notes, plot, needs=needs, across="book", names=names)


def _readout(training: Training, record: Any) -> Iterator[Row]:
    found, about = record["readout"], _of_epoch(training, record["epoch"])
    low, high = found["interval"] or (None, None)
    yield {**about, "book": None, **Estimate(found["n"], 0, found["accuracy"], None, low, high).columns(*UNTESTED)}
    asked = next((run.questions["book_idx"].astype(str) for run in training.runs if run.epoch == record["epoch"]), None)
    for book, value in found["by_group"].items():
        n = None if asked is None else int((asked == book).sum())
        yield {**about, "book": book, **Estimate(n, 0, value).columns(*UNTESTED)}


def _figure_16(trainings: Sequence[Training], reported: Sequence[ReportedRow]) -> Made:
    rows: list[Row] = [
        {**_of_epoch(training, record["epoch"]), "text": text, "mean": perplexity}
        for training in trainings
        for record in training.epochs
        for text, perplexity in record["perplexity"].items()
    ]
    if trainings:
        rows += [
            {**_of_reported(row), "text": f"book {row.dataset}", "mean": row.scores["perplexity"]} for row in reported
        ]
    notes = [
        "segments: all tokens of both segments of all pairs, in prompts without context. The other texts are measured on "
        "chunks as they are trained. A control never sees segments and books.",
        *sources(reported),
    ]

    def plot() -> Figure:
        draw = _by_epoch(panel="{text}", y_label="perplexity", guess=None)
        figure = draw([row for row in rows if row["text"] in ("segments", "books")])
        for axes in figure.axes:
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
        return figure

    columns = [*_ABOUT, *columns_of({"{}": fixed("mean", 2)})]
    names = {row["text"]: row["text"].replace("_", " ") for row in rows}
    title = "Perplexity of the segments in their prompts without context, and of other texts, by epoch"
    more: dict[str, Any] = {"across": "text", "names": names, "sections": "source"}
    return exhibit("Figure 16", title, rows, columns, notes, plot, needs=_MEASURED, **more)


def _accuracies(
    name: str, title: str, needs: str, trainings: Sequence[Training], memory: str, reported: Sequence[ReportedRow]
) -> Made:
    """Accuracy by epoch of the runs with one memory: `none` for what the weights remember, `in-context` for what it costs."""
    rows: list[Row] = [
        {**_of_epoch(training, run.epoch), **accuracy_of(run.questions).columns(*UNTESTED), **labels(run.questions)}
        for training in trainings
        for run in training.runs
        if run.memory == memory
    ]
    empty = dict.fromkeys((*UNTESTED, "greedy_accuracy", "label_mass"))
    theirs = [{**_of_reported(row), **empty, "mean": row.scores["accuracy"]} for row in reported]
    notes = [
        "± is how far the 95 % interval, which draws excerpts, reaches. Epoch 0 is the model before training. Where the books "
        "are trained, only epoch 1 is episodic, as each text was seen once. Figure 18 tests whether epochs differ without "
        "context.",
        *sources(reported),
    ]
    if any(row["label_mass"] is not None and row["label_mass"] < LOW_MASS for row in rows):
        notes.append(
            "Where the label mass is below a half, the accuracy says which label a model holds for the more probable one, and "
            "not what it would answer."
        )
    columns = [*_ABOUT, *named("accuracy greedy_accuracy label_mass n failed")]
    plot = partial(_by_epoch(), rows) if rows else None
    return exhibit(name, title, [*rows, *theirs], columns, notes, plot, needs=needs, sections="source")


def _figure_20(trainings: Sequence[Training]) -> Made:
    rows: list[Row] = []
    for training in trainings:
        measured = {record["epoch"]: record["sort"] for record in training.epochs}
        if all(sort.get("log_ratio") is None for sort in measured.values()):
            continue
        for run in (run for run in training.runs if run.memory == "none" and run.epoch in measured):
            sort, ratios = measured[run.epoch], run.questions["log_ratio"]
            low, high = sort.get("log_ratio_interval") or (None, None)
            numbers = {"mean": sort.get("log_ratio"), "low": low, "high": high}
            rows.append({**_of_epoch(training, run.epoch), **numbers, "n": int(ratios.count()), "n_asked": len(ratios)})
    guess = math.log(CHANCE)
    notes = [
        f"In nats; {guess:.3f} is that of a model that gives both labels the same probability, and 0 the highest. 95 %: "
        "drawing excerpts. Whether epochs differ is tested in Figure 19.",
        "Questions that failed, or whose right label has no probability, which would lower the mean, are asked but not among n.",
    ]
    ratio = [*columns_of({"log ratio": "mean", "95 %": interval(between=" to ")}), *named("n n_asked")]
    title = "Mean log ratio of the right answer, log(p(right) / (p(A) + p(B))), without context, by epoch"
    plot = partial(_by_epoch(y_label="log ratio (nats)", guess=guess), rows)
    needs = f"{_TRAINING} whose answers have probabilities"
    return exhibit("Figure 20", title, rows, [*_ABOUT, *ratio], notes, plot, needs=needs)


# Do checkpoints differ?

_Pairs = Sequence[Mapping[str, Any]]
_ACCURACY, _LOG_RATIO = "Do checkpoints differ in accuracy?", "Do checkpoints differ in their log ratios?"
_TWO = "at least two measured checkpoints of {}"
_PAIR = {"checkpoint": "first", "other": "second", "n": "n"}
_SHOWS = (
    "smallest: the smallest mean difference, two-sided at 0.05 without correction, that so many questions show in 80 % of "
    "cases, if they vary as these do. Intervals draw excerpts, tests take pairs for independent."
)


def _differences(trainings: Sequence[Training]) -> Iterator[Made]:
    """Figures 18 and 19, once for each model, and of Appendix F.5 whether a training costs accuracy in-context."""
    asked = [one for one in trainings if any(run.memory == "in-context" for run in one.runs)]
    if not trainings:
        needs = f"{_TRAINING}, with at least two measured checkpoints{_CONTROL}"
        unmade = {"Figure 18": _ACCURACY, "Figure 19": _LOG_RATIO}
        yield from (exhibit(name, title, (), (), needs=needs) for name, title in unmade.items())
    for memory, groups in (("none", by_base(trainings)), ("in-context", by_base(asked))):
        for base, group in groups.items():
            found, of_model = _compared(group, memory), f", {base}" if len(groups) > 1 else ""
            if memory == "none":
                yield _by_accuracy(f"Figure 18{of_model}", base, found, "without context")
                yield _by_log_ratio(f"Figure 19{of_model}", base, found)
            elif found:
                yield _by_accuracy(f"Appendix F.5, differences{of_model}", base, found, memory)


def by_base(trainings: Iterable[Training]) -> dict[str, list[Training]]:
    """The trainings with comparable checkpoints by the model that they begin with; a number tells two ways of asking apart."""
    named: dict[str, list[Training]] = {}
    for group in grouped_by(trainings, lambda one: one.same).values():
        name, number = group[0].model, 2
        while slug(name) in map(slug, named):  # the names of files have no capitals
            name, number = f"{group[0].model} ({number})", number + 1
        named[name] = group
    return named


def _compared(group: Sequence[Training], memory: str) -> list[dict[str, Any]]:
    """Any two checkpoints from one model, which is there once itself; with the smallest differences that are shown."""
    runs: dict[str, PaperRun] = {}
    for run in (run for training in group for run in training.runs if run.memory == memory):
        runs.setdefault(f"{run.training}, epoch {run.epoch}" if run.epoch else "before training", run)
    found = compare_runs({name: run.questions for name, run in runs.items()})
    for pair in found:
        first, second = (runs[name].questions for name in pair["runs"])
        for numbers, column in ((pair, "right"), (pair["log_ratio"], "log_ratio")):
            if numbers:
                differences = pair_differences(first, second, column)["difference"].tolist()
                numbers["smallest"] = smallest_difference_of_means(differences, paired=True)
    return found


def _by_accuracy(name: str, base: str, found: _Pairs, context: str) -> Made:
    rows = [
        _pair(base, pair["runs"], pair)
        | {"first_mean": pair["means"][0], "second_mean": pair["means"][1]}
        | {**{key: pair[key] for key in ("wins", "ties", "losses", "p", "p_holm")}, "p_chi_square": pair["p_corrected"]}
        for pair in found
    ]
    columns = columns_of({**_PAIR, "accuracy": "first_mean", "of the other": "second_mean"}, 2)
    columns += columns_of({"difference, 95 %": difference(""), "better": "wins", "equal": "ties", "worse": "losses"})
    columns += columns_of({"p": p_value("p"), "p (Holm)": p_value(), "p (chi-square)": p_value("p_chi_square")})
    columns += columns_of({"smallest": "smallest"})
    test = (
        "Test: McNemar's exact test, two-sided, in which the two askings of a pair count once. Bold with an asterisk in the "
        "figure: p < 0.05 after Holm's correction for the number of comparisons; the numbers there are without it. p "
        "(chi-square): the test with continuity correction, as in the paper."
    )
    notes = [test, _SHOWS, *notes_on(Comparison("accuracy", [dict(pair) for pair in found]))]
    title = f"Do the checkpoints of {base} differ in accuracy {context}? p-values of any two"
    plot, needs = partial(_matrix, rows, ("p", "p")), _TWO.format(base)
    return exhibit(name, title if rows else _ACCURACY, rows, columns, notes, plot, needs=needs)


def _by_log_ratio(name: str, base: str, found: _Pairs) -> Made:
    keys = {"p_higher": "p", "p_lower": "p_less", "p_higher_holm": "p_holm", "p_lower_holm": "p_less_holm"}
    rows = [
        _pair(base, pair["runs"], ratio) | {column: ratio[key] for column, key in keys.items()}
        for pair in found
        if (ratio := pair["log_ratio"])
    ]
    test = (
        "Test: paired t-tests of whether the first checkpoint (in the figure, the row) has a higher log ratio than the "
        "second, one-sided, in both directions. Bold with an asterisk in the figure: p < 0.05 after Holm's correction for all "
        "cells; the numbers there are without it."
    )
    tests = {column.replace("_holm", ", Holm").replace("p_", "p: "): p_value(column) for column in keys}
    columns = columns_of({**_PAIR, "difference in nats, 95 %": difference("", starred=False)}, 2)
    columns += columns_of({**tests, "smallest": "smallest"})
    title = f"Do the checkpoints of {base} give the right segment a larger share of p(A) + p(B)? p-values of any two"
    needs = f"a training of {base} whose answers have probabilities" if found else _TWO.format(base)
    plot = partial(_matrix, rows, ("p_higher", "p_lower"))
    return exhibit(name, title if rows else _LOG_RATIO, rows, columns, [test, _SHOWS], plot, needs=needs)


def _pair(base: str, runs: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    low, high = found["interval"] or (None, None)
    names = {"source": "own", "model": base, "first": runs[0], "second": runs[1], "n": found["n"]}
    return {**names, "mean": found["difference"], "low": low, "high": high, "smallest": found["smallest"]}


def _matrix(rows: Sequence[Row], p: tuple[str, str]) -> Figure:
    """The p-values: in the row of the first checkpoint that of the first column, in that of the second the other."""
    columns = [("first", "second", *p), ("first", "second", *(f"{name}_holm" for name in p))]
    (names, shown), (_, corrected) = (square([itemgetter(*of)(row) for row in rows]) for of in columns)
    return p_matrix_figure(names, shown, corrected=corrected)
