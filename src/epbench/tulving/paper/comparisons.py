"""Books, orders and runs on one book compared, each with its test (paper: Tables 20 to 23, Figures 3, 7 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from textwrap import fill
from typing import TYPE_CHECKING

from epbench.reports.exhibit import Column, Exhibit, Missing, Row, Show, of_source, p_value
from epbench.statistics.estimate import Value, framed, p_text
from epbench.statistics.paired import holm
from epbench.tulving.paper.inputs import EVENTS, Line, grouped_by, runs_among, size_of
from epbench.tulving.paper.recall import (
    BIN,
    recall_table,
    with_reported_once,
)
from epbench.tulving.paper.rows import ALL_ROWS, POLICY, asked_for_all, for_each, judge_notes, reported_notes

if TYPE_CHECKING:
    import pandas as pd

    from epbench.reports.figures import Group
    from epbench.statistics.ranks import Ranking

ORDERED = "-ordered"
_GET_ALL = "Only questions that ask for all items count (get = all), as in the paper."
_TESTS = (
    "Mann–Whitney U, one-sided: whether F1 of the first is higher than of the second. Effect: the probability that a question "
    "of the first has a higher F1 than one of the second, ties counted half; 0.5 is no difference.",
    "p (Holm) is corrected for all rows of this table. Smallest effect: what so many questions show with 80 % power at p < 0.05, "
    "without a correction; a smaller effect may be there though p is large.",
)
_UNCORRECTED = (
    "The paper's p-values are shown as it prints them, <0.01 where it gives no number; Holm's correction is over the tests "
    "of runs alone."
)
_PAIRED = (
    "As in the paper, the samples count as independent, although both readers answer questions about the same events; a "
    "comparison question by question finds smaller differences."
)


# Two samples of questions


Contrast = tuple[str, tuple[str, str], "tuple[pd.DataFrame, pd.DataFrame]"]
"""What is held fixed, such as the book; what two samples are; and their questions. The first is expected to be higher."""


def answered(contrast: Contrast) -> tuple[list[float], list[float]]:
    """F1 of the questions of each sample that have not failed."""
    first, second = (sample["f1"].dropna().astype(float).tolist() for sample in contrast[2])
    return first, second


ReportedTest = tuple[str, tuple[str, str], Line, str]
"""What is held fixed, and what two samples are; the line of the paper, and the name of its score, which is a p-value."""


def reported_tests(
    lines: Sequence[Line],
    runs: Sequence[Line],
    named: Callable[[Line, str, str], tuple[str, tuple[str, str]]],
    first: Callable[[Line], str],
) -> list[ReportedTest]:
    """The p-values that papers report of tests on the books of some runs.

    Args:
        lines: All lines.
        runs: The runs beside which they stand.
        named: From a line and the two samples in the name of its score to what is held fixed and to the names of these.
        first: From a line to the first sample of the tests that are wanted.

    Returns:
        A test for each score such as `p.gpt-4o>claude-3-haiku`, or `p_below.short-ordered>short` for an upper bound.
    """
    books = {run.book for run in runs}
    return [
        (*named(line, *pair.split(">")), line, score)
        for line in lines
        if line.reported and line.book in books
        for score in line.reported.scores
        for kind, _, pair in [score.partition(".")]
        if kind in ("p", "p_below") and pair.startswith(f"{first(line)}>")
    ]


def contrast_table(
    name: str,
    title: str,
    about: str,
    contrasts: Sequence[Contrast],
    notes: Sequence[str],
    lines: Sequence[Line],
    papers: Sequence[ReportedTest] = (),
) -> Exhibit:
    """One-sided Mann–Whitney tests with Holm's correction over the rows of the table, whose samples all have answers.

    Args:
        name: The name of the exhibit.
        title: Its title.
        about: What is held fixed in a row, such as `book`.
        contrasts: The tests.
        notes: Sentences that come first among the notes.
        lines: The runs that are compared.
        papers: Reported tests, which stand below those of runs.
    """
    from epbench.statistics.smallest_difference import mann_whitney

    tests = [mann_whitney(*answered(contrast), alternative="greater") for contrast in contrasts]
    rows: list[dict[str, Value]] = [
        {
            about: fixed, "first": names[0], "second": names[1], "alternative": "first > second",
            "first_mean": test.means[0], "first_n": test.n[0], "second_mean": test.means[1], "second_n": test.n[1],
            "n_failed": sum(map(len, samples)) - sum(test.n), "u": test.u, "effect": test.effect, "p": test.p,
            "p_holm": p_holm, "smallest": 0.5 + test.smallest_difference,
        }
        for (fixed, names, samples), test, p_holm in zip(contrasts, tests, holm([test.p for test in tests]), strict=True)
    ]  # fmt: skip
    lost = sum(int(row["n_failed"] or 0) for row in rows)
    said = [f"{lost} questions without an answer or a verdict are left out of the tests."] if lost else []
    papers = papers if rows else []
    for fixed, names, line, score in papers:
        found = {"p": None, "p_below": None} | {score.partition(".")[0]: line.scores[score]}
        who: dict[str, Value] = {about: fixed, "first": names[0], "second": names[1], "alternative": "first > second"}
        rows.append(who | found | {"paper": line.columns()["paper"]})
    columns = [
        Column(about, about, text=True), Column("first > second", lambda row: f"{row['first']} > {row['second']}", text=True),
        Column("n", lambda row: "–" if row.get("paper") else f"{row['first_n']} / {row['second_n']}"),
        Column("mean F1", _means("first_", "second_")), Column("effect", "effect"), Column("p", _p),
        Column("p (Holm)", p_value()),
        Column("smallest effect", "smallest"),
    ]  # fmt: skip
    said += [*judge_notes(lines), *([_UNCORRECTED] if papers else [])]
    said += reported_notes([*lines, *(line for *_, line, _ in papers)]) if papers else []
    return Exhibit(name, title, framed(rows), columns, [*notes, *_TESTS, *said])


def _p(row: Row) -> str:
    """A p-value; that of a paper as it is printed, which may be an upper bound."""
    if not row.get("paper"):
        return p_text(row["p"])
    return f"<{row['p_below']:.2f}" if row["p"] is None else f"{row['p']:.2f}"


def _means(one: str, other: str) -> Show:
    return lambda row: "–" if row.get("paper") else f"{row[f'{one}mean']:.3f} / {row[f'{other}mean']:.3f}"


def books_by_writer(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Tables 20 and 21: readers of two books of one name by different writers, and tests between the readers of each."""
    title = "Books by different writers: F1 by the number of events that match the cue"
    tests = "Books by different writers: tests between the readers of each book"
    known = [line for line in with_reported_once(lines) if line.writer is not None or line.reported is not None]

    def reader(line: Line) -> tuple[str, ...]:
        return line.source, line.memory, line.model, line.book

    # A reported book without a writer is the paper's.
    several = {who for who, of in grouped_by(known, reader).items() if len({line.writer for line in of}) > 1}
    chosen = [line for line in known if reader(line) in several]
    ordered = sorted(chosen, key=lambda line: (line.source == "reported", line.book, line.text))
    if not (runs := runs_among(ordered)):
        needs = (
            "runs of one model and memory on two books of one name by different writers, such as short by two models"
        )
        return [Missing("Table 20", title, needs), Missing("Table 21", tests, needs)]
    contrasts: list[Contrast] = [
        (first.text, (first.who, second.who), (first.questions, second.questions))
        for pair in combinations(runs, 2)
        for first, second in [_gpt_first(*pair)]
        if first.text == second.text and first.memory == second.memory and first.model != second.model
    ]
    table = recall_table("Table 20", title, ordered, BIN)
    if not contrasts:
        return [table, Missing("Table 21", tests, "runs of two models with one memory on each of these books")]
    direction = (
        "Expected to be higher: a GPT beside a Claude, as in the paper; of other pairs, the run that is named first."
    )

    def named(line: Line, first: str, second: str) -> tuple[str, tuple[str, str]]:
        return line.text, (
            replace(line, label=f"{first} {line.memory}").who,
            replace(line, label=f"{second} {line.memory}").who,
        )

    papers = reported_tests(lines, runs, named, lambda line: line.model)
    return [table, contrast_table("Table 21", tests, "book", contrasts, [ALL_ROWS, direction, _PAIRED], runs, papers)]


def _gpt_first(one: Line, other: Line) -> tuple[Line, Line]:
    """The direction of the paper's tests, which ask whether a GPT does better than a Claude."""
    return (other, one) if "claude" in one.model.lower() and "gpt" in other.model.lower() else (one, other)


def books_by_order(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Tables 22 and 23: a book in chronological order beside the same book in the order of its story, and tests."""
    title = (
        "Chapters in chronological order, and in the order of the story: F1 by the number of events that match the cue"
    )
    tests = "Chapters in chronological order beside the order of the story: tests by reader"
    known = with_reported_once(lines)
    pairs = [
        (ordered, other)
        for ordered in known
        for other in known
        if ordered.book == other.book + ORDERED
        and (ordered.source, ordered.memory, ordered.model, ordered.writer)
        == (other.source, other.memory, other.model, other.writer)
    ]
    runs = [pair for pair in pairs if not pair[0].reported]
    if not runs:
        needs = "runs of one model and memory on a book and on its ordered version, such as short and short-ordered"
        return [Missing("Table 22", title, needs), Missing("Table 23", tests, needs)]
    both = {id(line): line for side in (0, 1) for pair in pairs for line in [pair[side]]}.values()

    def place(line: Line) -> tuple[bool, str, bool]:
        return line.source == "reported", line.book.removesuffix(ORDERED), not line.book.endswith(ORDERED)

    shown = sorted(both, key=place)
    contrasts: list[Contrast] = []
    for first, second in runs:
        names = f"{first.who} on {first.text}", f"{second.who} on {second.text}"
        contrasts.append((f"{first.model}, {first.memory}", names, (asked_for_all(first), asked_for_all(second))))
    contrasts = [each for each in contrasts if all(answered(each))]
    readers = [line for pair in runs for line in pair]

    def named(line: Line, first: str, second: str) -> tuple[str, tuple[str, str]]:
        return f"{line.model}, {line.memory}", (f"{line.who} on {first}", f"{line.who} on {second}")

    papers = reported_tests(lines, readers, named, lambda line: line.book)
    return [
        recall_table("Table 22", title, shown, BIN),
        contrast_table("Table 23", tests, "reader", contrasts, [_GET_ALL, _PAIRED], readers, papers),
    ]


# Runs on one book, question by question

Matched = tuple[Sequence[Line], "pd.DataFrame"]
"""Two or more runs on one text, and the F1 of the questions that all of them have answered.

The table has a row for each question, by its id, and a column for each run in their order. Of questions that were asked
several times, F1 is the mean of the answers.
"""


def matched(lines: Sequence[Line]) -> dict[str, Matched]:
    """The runs on each text that can be compared question by question."""
    import pandas as pd

    found: dict[str, Matched] = {}
    for runs in grouped_by(runs_among(lines), lambda line: line.fingerprint).values():
        answered = [line.questions[line.questions["outcome"] != "failed"] for line in runs]
        columns = [questions.groupby("id", sort=False)["f1"].mean() for questions in answered]
        f1 = pd.concat(columns, axis=1, join="inner", keys=range(len(runs)))
        if len(runs) > 1 and len(f1):
            found[runs[0].text] = (runs, f1.astype(float))
    return found


def _matched_notes(runs: Sequence[Line], n: int) -> list[str]:
    asked = max(line.questions["id"].nunique() for line in runs)
    left_out = f" {asked - n} questions that not all runs have answered are left out." if asked > n else ""
    return [f"n = {n} questions, paired across the runs.{left_out} {ALL_ROWS}", POLICY, *judge_notes(runs)]


def ranks(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Figures 3 and 7: a critical-difference diagram for each book that is not a short one, and for each short one."""
    title = "Average ranks of F1 question by question, and groups of runs that do not differ"
    tests = "Whether two runs differ in F1 question by question"
    made: list[Exhibit | Missing] = []
    for name, short in (("Figure 3", False), ("Figure 7", True)):
        found = matched([line for line in lines if (size_of(line.book) == "short") == short])
        needs = f"two or more runs that answered the same questions about one {'short' if short else 'long'} book"
        made += for_each(name, title, needs, found, _diagram)
        made += for_each(f"{name}, tests", tests, "", found, _pairs) if found else []
    return made


def _ranking(found: Matched) -> Ranking:
    from epbench.statistics.ranks import rank_methods

    runs, f1 = found
    return rank_methods({line.who: f1[column].tolist() for column, line in enumerate(runs)})


def _diagram(name: str, title: str, found: Matched) -> Exhibit:
    from epbench.reports.figures import critical_difference_diagram

    (runs, f1), ranking = found, _ranking(found)
    same: dict[str, list[str]] = {line.who: [] for line in runs}
    for pair in ranking.pairs:
        if not pair.different:
            same[pair.first].append(pair.second)
            same[pair.second].append(pair.first)
    means = {line.who: float(f1[column].mean()) for column, line in enumerate(runs)}
    rows: list[dict[str, Value]] = [
        {
            **line.columns(), "not_different_from": "; ".join(sorted(same[line.who], key=ranking.ranks.__getitem__)) or None,
            "rank": ranking.ranks[line.who], "mean": means[line.who], "n": ranking.n,
        }
        for line in sorted(runs, key=lambda line: ranking.ranks[line.who])
    ]  # fmt: skip
    columns = [
        Column("run", of_source(), text=True), Column("not different from", "not_different_from", text=True),
        Column("average rank", lambda row: f"{row['rank']:.2f}"), Column("mean F1", "mean"),
    ]  # fmt: skip
    notes = [_tests(ranking), _smallest(f1), *_matched_notes(runs, len(f1))]
    return Exhibit(name, title, framed(rows), columns, notes, lambda: critical_difference_diagram(ranking))


def _pairs(name: str, title: str, found: Matched) -> Exhibit:
    (runs, f1), ranking = found, _ranking(found)
    lines = {line.who: line for line in runs}
    rows: list[dict[str, Value]] = [
        {
            **lines[pair.first].columns(), "second": lines[pair.second].label,
            "second_source": lines[pair.second].source, "statistic": pair.statistic, "p": pair.p,
            "p_holm": pair.p_holm, "different": "yes" if pair.different else "no",
        }
        for pair in ranking.pairs
    ]  # fmt: skip
    columns = [
        Column("better rank", of_source(), text=True), Column("worse rank", _other("second"), text=True),
        Column("W", lambda row: f"{row['statistic']:.1f}"), Column("p", p_value("p")), Column("p (Holm)", p_value()),
        Column("different", "different"),
    ]  # fmt: skip
    return Exhibit(name, title, framed(rows), columns, [_tests(ranking), *_matched_notes(runs, len(f1))])


def _other(name: str) -> Show:
    """The label of the other of two runs, with its mark."""
    return lambda row: of_source()({"label": row[name], "source": row[f"{name}_source"]})


def _tests(ranking: Ranking) -> str:
    wilcoxon = (
        "Wilcoxon signed-rank tests of every two (zeros by Pratt), with Holm's correction over all pairs "
        f"({len(ranking.pairs)}), different at p < 0.05."
    )
    p = ranking.friedman_p
    if p is None:
        return f"Two runs: {wilcoxon} Rank 1 is best."
    rejected = "" if p < 0.05 else " As it does not reject, no two runs count as different."
    shown = "< 0.001" if p < 0.001 else f"= {p:.3f}"
    return f"Rank 1 is best. Friedman test: χ² = {ranking.friedman_statistic:.1f}, p {shown}.{rejected} {wilcoxon}"


def _smallest(f1: pd.DataFrame) -> str:
    from epbench.statistics.smallest_difference import smallest_difference_of_means

    found = [
        smallest_difference_of_means((f1[one] - f1[other]).tolist(), paired=True)
        for one, other in combinations(range(f1.shape[1]), 2)
    ]
    known = [value for value in found if value is not None]
    if not known:
        return "So few questions cannot show any difference."
    upto = f" (the pair that differs most evenly) to {max(known):.3f}" if len(known) > 1 else ""
    return (
        "The smallest difference of mean F1 between two of these runs that so many questions show with 80 % power at p < 0.05, "
        f"before any correction: {min(known):.3f}{upto}."
    )


def estimation_plots(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Figure 8: a figure for each book, with its runs from the highest mean F1 to the lowest."""
    found = {text: (runs, f1) for text, (runs, f1) in matched(lines).items() if len(set(_events(runs[0], f1))) > 1}
    title = "F1 question by question, and the mean difference of each run from the one before it"
    needs = "two or more runs that answered the same questions about one book"
    return for_each("Figure 8", title, needs, found, _estimation_plot)


def _estimation_plot(name: str, title: str, found: Matched) -> Exhibit:
    from epbench.reports.figures import paired_estimation_plot
    from epbench.statistics.paired import paired_estimate
    from epbench.statistics.smallest_difference import smallest_difference_of_means

    runs, f1 = found
    means = [float(mean) for mean in f1.mean()]
    events = _events(runs[0], f1)
    rows: list[dict[str, Value]] = []
    groups: dict[str, Group] = {}
    for one, other in pairwise(sorted(range(len(runs)), key=lambda column: -means[column])):
        before, after = f1[one].tolist(), f1[other].tolist()
        difference = paired_estimate(before, after, events)
        rows.append({
            **runs[other].columns(), "before": runs[one].label, "before_source": runs[one].source, "before_mean": means[one],
            "mean": means[other], "n": difference.n, "difference_mean": difference.mean,
            "difference_low": difference.interval[0], "difference_high": difference.interval[1],
            "smallest": smallest_difference_of_means(difference.differences, paired=True),
        })  # fmt: skip
        names = [fill(runs[column].who, 16) for column in (one, other)]  # in lines that fit beside one another
        groups[f"{len(rows)}: {difference.mean:+.3f}"] = names[0], before, names[1], after, difference
    columns = [
        Column("run", of_source(), text=True), Column("before it", _other("before"), text=True),
        Column("mean F1", _means("", "before_")),
        Column(
            "difference (95 % interval)",
            lambda row: "{difference_mean:+.3f} ({difference_low:+.3f} to {difference_high:+.3f})".format(**row),
        ),
        Column("smallest difference", "smallest"),
    ]  # fmt: skip
    notes = [
        "Bootstrap of the paired mean difference, 5,000 resamples that draw whole cues, 95 % percentile interval; no test, and "
        "no correction for the number of pairs. Smallest difference: what so many questions show with 80 % power at p < 0.05.",
        *_matched_notes(runs, len(f1)),
    ]
    return Exhibit(name, title, framed(rows), columns, notes, lambda: paired_estimation_plot(groups, "F1"))


def _events(line: Line, f1: pd.DataFrame) -> list[tuple[str, ...]]:
    """What the cue of each question gives."""
    found: list[tuple[str, ...]] = line.questions.drop_duplicates("id").set_index("id").loc[f1.index, EVENTS].tolist()
    return found
