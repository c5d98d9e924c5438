"""Runs compared: two samples of questions (Tables 20 to 25), and question by question on one book (Figures 3, 7, 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise, product
from operator import attrgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any

from epbench.reports.exhibit import (
    Exhibit,
    Made,
    Missing,
    Row,
    Show,
    Shown,
    columns_of,
    fixed,
    marked,
    of_source,
    p_value,
)
from epbench.reports.figures import Group, critical_difference_diagram, paired_estimation_plot
from epbench.reports.plots import grouped_by
from epbench.statistics.estimate import Value, framed, p_text
from epbench.statistics.paired import holm, paired_estimate
from epbench.statistics.ranks import Ranking, rank_methods
from epbench.statistics.smallest_difference import mann_whitney, smallest_difference_of_means
from epbench.tulving.judging.realism import Rating, realism_of
from epbench.tulving.paper.inputs import EVENTS, Line, runs_among
from epbench.tulving.paper.recall import BIN, Side, f1_rows, papers_on, recall_table, with_reported_once
from epbench.tulving.paper.shared import POLICY, for_each, judge_notes, reported_notes

if TYPE_CHECKING:
    import pandas as pd

_BY_BIN = "F1 by the number of events that match the cue"
ALL_ROWS = "All questions count, whatever they ask for (get = all, latest and chronological), as in the paper."
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
_EXPECTED = (
    "Expected to be higher: a GPT beside a Claude, as in the paper; of other pairs, the run that is named first."
)
_PAIRED = (
    "As in the paper, the samples count as independent, although both readers answer questions about the same events; a "
    "comparison question by question finds smaller differences."
)


def _own(text: str) -> Show:
    return lambda row: "–" if row.get("paper") else text.format(**row)


def _p(row: Row) -> str:  # that of a paper as it is printed, which may be an upper bound
    if not row.get("paper"):
        return p_text(row["p"])
    return f"<{row['p_below']:.2f}" if row["p"] is None else f"{row['p']:.2f}"


_SHOWN: Shown = {"first > second": lambda row: "{first} > {second}".format(**row), "n": _own("{first_n} / {second_n}")}
_SHOWN |= {"mean F1": _own("{first_mean:.3f} / {second_mean:.3f}"), "effect": "effect"}
_SHOWN |= {"p": _p, "p (Holm)": p_value(), "smallest effect": "smallest"}
# What is held fixed, such as the book; what two samples of questions are; and their questions, the first with the higher F1
_Contrast = tuple[str, str, str, Sequence["pd.DataFrame"]]


@dataclass(frozen=True)
class _Tests:
    name: str
    title: str
    about: str  # what is held fixed in a row, such as `book`
    notes: Sequence[str]  # what comes first among the notes
    # Of a test that a paper reports, from its line and a name in it: what is fixed, a sample, and the only name of the first.
    of_paper: tuple[str, str, str]

    def table(self, contrasts: Sequence[_Contrast], runs: Sequence[Line], lines: Sequence[Line], needs: str) -> Made:
        """The tests that have answers in both samples, corrected over these rows, and below them what papers report."""
        rows: list[dict[str, Any]] = []
        for *names, samples in contrasts:
            first, second = (of["f1"].dropna().astype(float).tolist() for of in samples)
            if first and second:
                test = mann_whitney(first, second)
                (mean, other), (n, n_other), asked = test.means, test.n, sum(map(len, samples))
                row = self._who(*names) | {"first_mean": mean, "first_n": n, "second_mean": other, "second_n": n_other}
                row |= {"n_failed": asked - n - n_other, "u": test.u, "effect": test.effect, "p": test.p}
                rows.append({**row, "p_holm": None, "smallest": 0.5 + test.smallest_difference})
        if not rows:
            return Missing(self.name, self.title, needs)
        for tested, p_holm in zip(rows, holm([row["p"] for row in rows]), strict=True):
            tested["p_holm"] = p_holm
        lost, papers = sum(row["n_failed"] for row in rows), self._reported(lines, {run.book for run in runs})
        notes = [*self.notes, *_TESTS]
        notes += [f"{lost} questions without an answer or a verdict are left out of the tests."] if lost else []
        notes += [*judge_notes(runs), *([_UNCORRECTED] if papers else [])]
        notes += reported_notes([*runs, *(line for line, _ in papers)])
        frame = framed([*rows, *(row for _, row in papers)])
        return Exhibit(self.name, self.title, frame, columns_of({self.about: self.about, **_SHOWN}, 2), notes)

    def _who(self, fixed: str, first: str, second: str) -> dict[str, Value]:
        return {self.about: fixed, "first": first, "second": second, "alternative": "first > second"}

    def _reported(self, lines: Sequence[Line], books: set[str]) -> list[tuple[Line, dict[str, Value]]]:
        """What papers report about these books: scores such as `p.gpt-4o>claude-3-haiku` or `p_below.short-ordered>short`."""
        (fixed, sample, only), found = self.of_paper, []
        for line in (line for line in lines if line.reported and line.book in books):
            for score, value in line.scores.items():
                kind, _, pair = score.partition(".")
                first, is_pair, second = pair.partition(">")
                if kind in ("p", "p_below") and is_pair and first == only.format(line):
                    samples = (sample.format(line, of) for of in (first, second))
                    p = {"p": None, "p_below": None, kind: value, "paper": line.columns()["paper"]}
                    found.append((line, self._who(fixed.format(line), *samples) | p))
        return found


_BY_WRITER = _Tests(
    "Table 21",
    "Books by different writers: tests between the readers of each book",
    "book",
    [ALL_ROWS, _EXPECTED, _PAIRED],
    ("{0.text}", "{1} {0.memory} (reported)", "{0.model}"),
)


def books_by_writer(lines: Sequence[Line]) -> list[Made]:
    """Tables 20 and 21: readers of two books of one name by different writers, and tests between the readers of each."""
    title = f"Books by different writers: {_BY_BIN}"
    # A reported book without a writer is the paper's.
    known = [line for line in with_reported_once(lines) if line.writer is not None or line.reported is not None]
    reader = attrgetter("source", "memory", "model", "book")
    several = {who for who, of in grouped_by(known, reader).items() if len({line.writer for line in of}) > 1}
    chosen = [line for line in known if reader(line) in several]
    ordered = sorted(chosen, key=lambda line: (line.source == "reported", line.book, line.text))
    needs = "runs of one model and memory on two books of one name by different writers, such as short by two models"
    if not (runs := runs_among(ordered)):
        return [Missing("Table 20", title, needs), Missing(_BY_WRITER.name, _BY_WRITER.title, needs)]
    contrasts = []
    for first, second in combinations(runs, 2):
        if first.text == second.text and first.memory == second.memory and first.model != second.model:
            if "claude" in first.model.lower() and "gpt" in second.model.lower():
                first, second = second, first  # the paper asks whether a GPT does better than a Claude
            contrasts.append((first.text, first.who, second.who, (first.questions, second.questions)))
    needs = "runs of two models with one memory on each of these books"
    return [recall_table("Table 20", title, ordered, BIN), _BY_WRITER.table(contrasts, runs, lines, needs)]


_ORDERED = "-ordered"
_BY_ORDER = _Tests(
    "Table 23",
    "Chapters in chronological order beside the order of the story: tests by reader",
    "reader",
    ["Only questions that ask for all items count (get = all), as in the paper.", _PAIRED],
    ("{0.model}, {0.memory}", "{0.who} on {1}", "{0.book}"),
)


def books_by_order(lines: Sequence[Line]) -> list[Made]:
    """Tables 22 and 23: a book in chronological order beside the same book in the order of its story, and tests."""
    title = f"Chapters in chronological order, and in the order of the story: {_BY_BIN}"
    reader = attrgetter("source", "memory", "model", "writer")
    pairs = [
        (ordered, other)
        for ordered, other in product(with_reported_once(lines), repeat=2)
        if ordered.book == other.book + _ORDERED and reader(ordered) == reader(other)
    ]
    needs = "runs of one model and memory on a book and on its ordered version, such as short and short-ordered"
    if not (own := [pair for pair in pairs if not pair[0].reported]):
        return [Missing("Table 22", title, needs), Missing(_BY_ORDER.name, _BY_ORDER.title, needs)]
    contrasts: list[_Contrast] = []
    for first, second in own:
        names = f"{first.who} on {first.text}", f"{second.who} on {second.text}"
        contrasts.append((f"{first.model}, {first.memory}", *names, (first.asked_for_all, second.asked_for_all)))

    def place(line: Line) -> tuple[bool, str, bool]:
        return line.source == "reported", line.book.removesuffix(_ORDERED), not line.book.endswith(_ORDERED)

    both = sorted(dict.fromkeys(line for pair in pairs for line in pair), key=place)
    needs = "questions that both runs of a reader have answered"
    tests = _BY_ORDER.table(contrasts, [line for pair in own for line in pair], lines, needs)
    return [recall_table("Table 22", title, both, BIN), tests]


# By the book's fingerprint and the number of the chapter, the rating of its event; None where the judge failed
Ratings = Mapping[str, Mapping[int, Rating | None]]
_REALISM = Side("realism", {name: name for name in ("empty", "non-realistic", "mixed", "realistic")}, "events")
_GROUPS = ("non-realistic", "realistic")
_WORDS = (
    "Realistic: every matching chapter was rated realistic or moderately realistic; non-realistic: every one somewhat "
    "realistic, non-realistic or impossible; mixed: both kinds."
)
_BY_REALISM = _Tests(
    "Table 25",
    "Questions about realistic and other events: tests by run",
    "run",
    [ALL_ROWS, f"{_WORDS} Mixed and empty questions are left out."],
    ("{0.who}", "{1}", _GROUPS[0]),
)


def by_realism(lines: Sequence[Line], realism: Ratings | None) -> list[Made]:
    """Tables 24 and 25: F1 by how realistic the matching events are, and whether unrealistic ones are remembered better."""
    rated = []
    for line in runs_among(lines):
        if ratings := (realism or {}).get(line.fingerprint):
            groups = [realism_of(list(map(int, of)), ratings) or "not rated" for of in line.questions["chapters"]]
            rated.append(replace(line, questions=line.questions.assign(realism=groups)))

    def unrated(runs: Sequence[Line]) -> list[str]:
        counts = {line.who: int((line.questions["realism"] == "not rated").sum()) for line in runs_among(runs)}
        left_out = [f"{n} of {who}" for who, n in counts.items() if n]
        return [f"Questions about chapters without a rating are left out: {', '.join(left_out)}."] if left_out else []

    def recall(name: str, title: str, runs: Sequence[Line]) -> Exhibit:
        papers = papers_on(lines, runs[0].book, _REALISM, BIN)
        shown = [*(line for line in runs if f1_rows([line], _REALISM, BIN)), *papers]
        notes = [*unrated(shown), f"{_WORDS} Only questions that ask for all items count (get = all)."]
        return recall_table(name, title, shown, _REALISM, BIN, notes=notes)

    def tests(name: str, title: str, runs: Sequence[Line]) -> Made:
        samples = {line: [line.questions[line.questions["realism"] == of] for of in _GROUPS] for line in runs}
        contrasts = [(line.who, *_GROUPS, of) for line, of in samples.items()]
        table = replace(_BY_REALISM, name=name, title=title, notes=[*_BY_REALISM.notes, *unrated(runs)])
        made = table.table(contrasts, runs, lines, "answered questions about realistic and about other chapters")
        return replace(made, title=_BY_REALISM.title) if isinstance(made, Missing) else made

    found = grouped_by(rated, lambda line: line.text)
    needs = "ratings of how realistic each chapter of the book of a run is"
    tables = for_each("Table 24", f"Questions about realistic and other events: {_BY_BIN}", needs, found, recall)
    return tables + for_each(_BY_REALISM.name, _BY_REALISM.title, needs, found, tests)


# Of Figures 3, 7 and 8: runs on one text, and F1 of the questions that all have answered, with a column for each run, by `who`
Matched = tuple[Sequence[Line], "pd.DataFrame"]


def matched(lines: Sequence[Line]) -> dict[str, Matched]:
    """The runs on each text that can be compared question by question; of repeated answers to one, F1 is the mean."""
    import pandas as pd

    found: dict[str, Matched] = {}
    for runs in grouped_by(runs_among(lines), lambda line: line.fingerprint).values():
        answered = (line.questions[line.questions["outcome"] != "failed"] for line in runs)
        columns = [questions.groupby("id", sort=False)["f1"].mean() for questions in answered]
        f1 = pd.concat(columns, axis=1, join="inner", keys=[line.who for line in runs])
        if len(runs) > 1 and len(f1):
            found[runs[0].text] = (runs, f1.astype(float))
    return found


def _matched_notes(runs: Sequence[Line], n: int) -> list[str]:
    asked = max(line.questions["id"].nunique() for line in runs)
    left_out = f" {asked - n} questions that not all runs have answered are left out." if asked > n else ""
    return [f"n = {n} questions, paired across the runs.{left_out} {ALL_ROWS}", POLICY, *judge_notes(runs)]


def ranks(lines: Sequence[Line]) -> list[Made]:
    """Figures 3 and 7: a critical-difference diagram for each book that is not a short one, and for each short one."""
    title = "Average ranks of F1 question by question, and groups of runs that do not differ"
    tests = "Whether two runs differ in F1 question by question"
    made: list[Made] = []
    for name, short in (("Figure 3", False), ("Figure 7", True)):
        found = matched([line for line in lines if line.is_short == short])
        needs = f"two or more runs that answered the same questions about one {'short' if short else 'long'} book"
        made += for_each(name, title, needs, found, _diagram)
        made += for_each(f"{name}, tests", tests, "", found, _pairs) if found else []
    return made


def _diagram(name: str, title: str, found: Matched) -> Exhibit:
    runs, f1 = found
    ranking = rank_methods({line.who: f1[line.who].tolist() for line in runs})
    same = [{pair.first: pair.second, pair.second: pair.first} for pair in ranking.pairs if not pair.different]
    rows: list[dict[str, Value]] = []
    for line in sorted(runs, key=lambda line: ranking.ranks[line.who]):
        others = "; ".join(pair[line.who] for pair in same if line.who in pair)
        numbers = {"rank": ranking.ranks[line.who], "mean": float(f1[line.who].mean()), "n": ranking.n}
        rows.append({**line.columns(), "not_different_from": others or None, **numbers})
    shown: Shown = {"run": of_source(), "not different from": "not_different_from"}
    shown |= {"average rank": fixed("rank", 2), "mean F1": "mean"}
    notes = [_tests(ranking), _smallest(f1), *_matched_notes(runs, len(f1))]
    plot = partial(critical_difference_diagram, ranking)
    return Exhibit(name, title, framed(rows), columns_of(shown, 2), notes, plot)


def _pairs(name: str, title: str, found: Matched) -> Exhibit:
    runs, f1 = found
    ranking = rank_methods({line.who: f1[line.who].tolist() for line in runs})
    lines = {line.who: line for line in runs}
    rows: list[dict[str, Value]] = []
    for pair in ranking.pairs:
        one, other = lines[pair.first], lines[pair.second]
        test = {"statistic": pair.statistic, "p": pair.p, "p_holm": pair.p_holm}
        both = {**one.columns(), "second": other.label, "second_source": other.source}
        rows.append({**both, **test, "different": "yes" if pair.different else "no"})
    shown: Shown = {"better rank": of_source(), "worse rank": lambda row: marked(row["second"], row["second_source"])}
    shown |= {"W": lambda row: f"{row['statistic']:.1f}", "p": p_value("p"), "p (Holm)": p_value()}
    shown["different"] = "different"
    return Exhibit(name, title, framed(rows), columns_of(shown, 2), [_tests(ranking), *_matched_notes(runs, len(f1))])


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
    differences = ((f1[one] - f1[other]).tolist() for one, other in combinations(f1, 2))
    known = [least for of in differences if (least := smallest_difference_of_means(of, paired=True)) is not None]
    if not known:
        return "So few questions cannot show any difference."
    upto = f" (the pair that differs most evenly) to {max(known):.3f}" if len(known) > 1 else ""
    return (
        "The smallest difference of mean F1 between two of these runs that so many questions show with 80 % power at p < 0.05, "
        f"before any correction: {min(known):.3f}{upto}."
    )


def estimation_plots(lines: Sequence[Line]) -> list[Made]:
    """Figure 8: a figure for each book, with its runs from the highest mean F1 to the lowest."""
    found = {text: (runs, f1) for text, (runs, f1) in matched(lines).items() if len(set(_events(runs[0], f1))) > 1}
    title = "F1 question by question, and the mean difference of each run from the one before it"
    needs = "two or more runs that answered the same questions about one book"
    return for_each("Figure 8", title, needs, found, _estimation_plot)


def _estimation_plot(name: str, title: str, found: Matched) -> Exhibit:
    (runs, f1), means = found, found[1].mean().to_dict()
    rows, groups = list[dict[str, Value]](), dict[str, Group]()
    for one, other in pairwise(sorted(runs, key=lambda line: -means[line.who])):
        before, after = f1[one.who].tolist(), f1[other.who].tolist()
        difference = paired_estimate(before, after, _events(runs[0], f1))
        low, high = difference.interval
        both = other.columns() | {"before": one.label, "before_source": one.source}
        both |= {"before_mean": means[one.who], "mean": means[other.who], "n": difference.n}
        both |= {"difference_mean": difference.mean, "difference_low": low, "difference_high": high}
        rows.append({**both, "smallest": smallest_difference_of_means(difference.differences, paired=True)})
        names = [fill(line.who, 16) for line in (one, other)]  # in lines that fit beside one another
        groups[f"{len(rows)}: {difference.mean:+.3f}"] = names[0], before, names[1], after, difference
    interval = _own("{difference_mean:+.3f} ({difference_low:+.3f} to {difference_high:+.3f})")
    shown: Shown = {"run": of_source(), "before it": lambda row: marked(row["before"], row["before_source"])}
    shown |= {"mean F1": _own("{mean:.3f} / {before_mean:.3f}"), "difference (95 % interval)": interval}
    shown["smallest difference"] = "smallest"
    notes = [
        "Bootstrap of the paired mean difference, 5,000 resamples that draw whole cues, 95 % percentile interval; no test, and "
        "no correction for the number of pairs. Smallest difference: what so many questions show with 80 % power at p < 0.05.",
        *_matched_notes(runs, len(f1)),
    ]
    plot = partial(paired_estimation_plot, groups, "F1")
    return Exhibit(name, title, framed(rows), columns_of(shown, 2), notes, plot)


def _events(line: Line, f1: pd.DataFrame) -> list[tuple[str, ...]]:
    return list(line.questions.drop_duplicates("id").set_index("id").loc[f1.index, EVENTS])
