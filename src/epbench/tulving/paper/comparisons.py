"""Runs on one book compared question by question, each with its test (paper: Figures 3, 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from textwrap import fill
from typing import TYPE_CHECKING

from epbench.reports.exhibit import Exhibit, Missing, Shown, columns_of, marked, of_source, p_value
from epbench.statistics.estimate import Value, framed
from epbench.tulving.paper.inputs import EVENTS, Line, grouped_by, is_short, runs_among
from epbench.tulving.paper.rows import ALL_ROWS, POLICY, for_each, judge_notes

if TYPE_CHECKING:
    import pandas as pd

    from epbench.reports.figures import Group
    from epbench.statistics.ranks import Ranking

Matched = tuple[Sequence[Line], "pd.DataFrame"]
"""Two or more runs on one text, and the F1 of the questions that all of them have answered, with a column for each run."""


def matched(lines: Sequence[Line]) -> dict[str, Matched]:
    """The runs on each text that can be compared question by question; of repeated answers to one, F1 is the mean."""
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
        found = matched([line for line in lines if is_short(line) == short])
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
    same = [(pair.first, pair.second) for pair in ranking.pairs if not pair.different]
    rows: list[dict[str, Value]] = []
    for column, line in sorted(enumerate(runs), key=lambda one: ranking.ranks[one[1].who]):
        others = [other if line.who == one else one for one, other in same if line.who in (one, other)]
        numbers = {"rank": ranking.ranks[line.who], "mean": float(f1[column].mean()), "n": ranking.n}
        rows.append({**line.columns(), "not_different_from": "; ".join(others) or None, **numbers})
    shown: Shown = {"run": of_source(), "not different from": "not_different_from"}
    shown |= {"average rank": lambda row: f"{row['rank']:.2f}", "mean F1": "mean"}
    notes = [_tests(ranking), _smallest(f1), *_matched_notes(runs, len(f1))]
    return Exhibit(
        name, title, framed(rows), columns_of(shown, 2), notes, partial(critical_difference_diagram, ranking)
    )


def _pairs(name: str, title: str, found: Matched) -> Exhibit:
    (runs, f1), ranking = found, _ranking(found)
    lines = {line.who: line for line in runs}
    rows: list[dict[str, Value]] = []
    for pair in ranking.pairs:
        second, different = lines[pair.second], "yes" if pair.different else "no"
        test = {"statistic": pair.statistic, "p": pair.p, "p_holm": pair.p_holm}
        other = {"second": second.label, "second_source": second.source}
        rows.append({**lines[pair.first].columns(), **other, **test, "different": different})
    shown: Shown = {"better rank": of_source(), "worse rank": lambda row: marked(row["second"], row["second_source"])}
    shown |= {
        "W": lambda row: f"{row['statistic']:.1f}",
        "p": p_value("p"),
        "p (Holm)": p_value(),
        "different": "different",
    }
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
    from epbench.statistics.smallest_difference import smallest_difference_of_means

    differences = ((f1[one] - f1[other]).tolist() for one, other in combinations(f1, 2))
    known = [least for of in differences if (least := smallest_difference_of_means(of, paired=True)) is not None]
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
    means, events = [float(mean) for mean in f1.mean()], _events(runs[0], f1)
    rows: list[dict[str, Value]] = []
    groups: dict[str, Group] = {}
    for one, other in pairwise(sorted(range(len(runs)), key=lambda column: -means[column])):
        before, after = f1[one].tolist(), f1[other].tolist()
        difference = paired_estimate(before, after, events)
        low, high = difference.interval
        of_before: dict[str, Value] = {"before": runs[one].label, "before_source": runs[one].source}
        found_here = {"difference_mean": difference.mean, "difference_low": low, "difference_high": high}
        smallest = smallest_difference_of_means(difference.differences, paired=True)
        both = {"before_mean": means[one], "mean": means[other], "n": difference.n}
        rows.append({**runs[other].columns(), **of_before, **both, **found_here, "smallest": smallest})
        names = [fill(runs[column].who, 16) for column in (one, other)]  # in lines that fit beside one another
        groups[f"{len(rows)}: {difference.mean:+.3f}"] = names[0], before, names[1], after, difference
    text = "{difference_mean:+.3f} ({difference_low:+.3f} to {difference_high:+.3f})"
    shown: Shown = {"run": of_source(), "before it": lambda row: marked(row["before"], row["before_source"])}
    shown |= {"mean F1": lambda row: "{mean:.3f} / {before_mean:.3f}".format(**row)}
    shown |= {"difference (95 % interval)": lambda row: text.format(**row), "smallest difference": "smallest"}
    notes = [
        "Bootstrap of the paired mean difference, 5,000 resamples that draw whole cues, 95 % percentile interval; no test, and "
        "no correction for the number of pairs. Smallest difference: what so many questions show with 80 % power at p < 0.05.",
        *_matched_notes(runs, len(f1)),
    ]
    plot = partial(paired_estimation_plot, groups, "F1")
    return Exhibit(name, title, framed(rows), columns_of(shown, 2), notes, plot)


def _events(line: Line, f1: pd.DataFrame) -> list[tuple[str, ...]]:
    """What the cue of each question gives."""
    found: list[tuple[str, ...]] = line.questions.drop_duplicates("id").set_index("id").loc[f1.index, EVENTS].tolist()
    return found
