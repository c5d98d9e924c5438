"""Average ranks of all runs on one book, and which of them differ (paper: Figures 3 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table
from epbench.tulving.paper.lines import Line, runs_among, size_of
from epbench.tulving.paper.results.books_compared import ALL_ROWS
from epbench.tulving.paper.results.cells import POLICY, judge_notes

if TYPE_CHECKING:
    import pandas as pd

    from epbench.statistics.ranks import Ranking, RankPair

_TITLE = "Average ranks of F1 question by question, and groups of runs that do not differ"
_NEEDS = "two or more runs that answered the same questions about one {} book"


def long_ranks(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Figure 3: a critical-difference diagram for each book that is not a short one."""
    return _ranks("Figure 3", [line for line in lines if size_of(line.book) != "short"], "long")


def short_ranks(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Figure 7: the same for short books."""
    return _ranks("Figure 7", [line for line in lines if size_of(line.book) == "short"], "short")


def by_text(lines: Sequence[Line]) -> dict[str, tuple[list[Line], pd.DataFrame]]:
    """The runs on one text, two or more, with the F1 of the questions that all of them have answered.

    Returns:
        By the text: the runs, and a table with a row for each question, by its id, and a column for each run in their order.
        Of questions that were asked several times, F1 is the mean of the answers.
    """
    import pandas as pd

    texts: dict[str, list[Line]] = {}
    for line in runs_among(lines):
        texts.setdefault(line.fingerprint, []).append(line)
    found = {}
    for runs in texts.values():
        answered = [line.questions[line.questions["outcome"] != "failed"] for line in runs]
        columns = [questions.groupby("id", sort=False)["f1"].mean() for questions in answered]
        f1 = pd.concat(columns, axis=1, join="inner", keys=range(len(runs)))
        if len(runs) > 1 and len(f1):
            found[runs[0].text] = (runs, f1.astype(float))
    return found


def matched_notes(runs: Sequence[Line], n: int) -> list[str]:
    """Which questions a comparison of runs is about, in full sentences."""
    asked = max(line.questions["id"].nunique() for line in runs)
    left_out = f" {asked - n} questions that not all runs have answered are left out." if asked > n else ""
    return [f"n = {n} questions, paired across the runs.{left_out} {ALL_ROWS}", POLICY, *judge_notes(runs)]


def _ranks(name: str, lines: Sequence[Line], size: str) -> list[Exhibit | Missing]:
    found = by_text(lines)
    if not found:
        return [Missing(name, _TITLE, _NEEDS.format(size))]
    return [
        _diagram(name if len(found) == 1 else f"{name}, {text}", f"{_TITLE} ({text})", runs, f1)
        for text, (runs, f1) in found.items()
    ]


def _diagram(name: str, title: str, runs: Sequence[Line], f1: pd.DataFrame) -> Exhibit:
    from epbench.reports.figures import critical_difference_diagram
    from epbench.statistics.ranks import rank_methods

    ranking = rank_methods({line.who: f1[column].tolist() for column, line in enumerate(runs)})
    means = {line.who: float(f1[column].mean()) for column, line in enumerate(runs)}
    ordered = sorted(runs, key=lambda line: ranking.ranks[line.who])
    rows = [
        [line.who, _same(line.who, ranking), f"{ranking.ranks[line.who]:.2f}", f"{means[line.who]:.3f}"]
        for line in ordered
    ]
    rows_of_pairs = [_pair_record(pair, runs) for pair in ranking.pairs]
    records = [_rank_record(line, ranking, means) for line in ordered] + rows_of_pairs
    table = Table(
        ["run", "not different from", "average rank", "mean F1"],
        rows,
        notes=[_tests(ranking), _smallest(f1), *matched_notes(runs, len(f1))],
        text_columns=2,
    )
    return Exhibit(name, title, records, table, lambda: critical_difference_diagram(ranking))


def _same(name: str, ranking: Ranking) -> str:
    others = [
        second if first == name else first
        for first, second in ((pair.first, pair.second) for pair in ranking.pairs if not pair.different)
        if name in (first, second)
    ]
    return "; ".join(sorted(others, key=lambda other: ranking.ranks[other])) or "–"


def _tests(ranking: Ranking) -> str:
    wilcoxon = (
        "Wilcoxon signed-rank tests of every two (zeros by Pratt), with Holm's correction over all pairs "
        f"({len(ranking.pairs)}), different at p < 0.05."
    )
    if ranking.friedman_p is None:
        return f"Two runs: {wilcoxon} Rank 1 is best."
    rejected = "" if ranking.friedman_p < 0.05 else " As it does not reject, no two runs count as different."
    return (
        f"Rank 1 is best. Friedman test: χ² = {ranking.friedman_statistic:.1f}, p {_is(ranking.friedman_p)}.{rejected} "
        f"{wilcoxon}"
    )


def _is(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _smallest(f1: pd.DataFrame) -> str:
    from epbench.statistics.smallest_difference import smallest_difference_of_means

    columns = list(f1)
    found = [
        smallest_difference_of_means((f1[one] - f1[other]).tolist(), paired=True)
        for place, one in enumerate(columns)
        for other in columns[place + 1 :]
    ]
    known = [value for value in found if value is not None]
    if not known:
        return "So few questions cannot show any difference."
    upto = f" (the pair that differs most evenly) to {max(known):.3f}" if len(known) > 1 else ""
    return (
        "The smallest difference of mean F1 between two of these runs that so many questions show with 80 % power at p < 0.05, "
        f"before any correction: {min(known):.3f}{upto}."
    )


_EMPTY: dict[str, Value] = dict.fromkeys(("rank", "mean", "n", "second", "statistic", "p", "p_holm", "different"))


def _rank_record(line: Line, ranking: Ranking, means: dict[str, float]) -> dict[str, Value]:
    found: dict[str, Value] = {"rank": ranking.ranks[line.who], "mean": means[line.who], "n": ranking.n}
    return {"kind": "rank", **line.columns(), **_EMPTY, **found}


def _pair_record(pair: RankPair, runs: Sequence[Line]) -> dict[str, Value]:
    first, second = (next(line for line in runs if line.who == name) for name in (pair.first, pair.second))
    different = "yes" if pair.different else "no"
    tests: dict[str, Value] = {"statistic": pair.statistic, "p": pair.p, "p_holm": pair.p_holm, "different": different}
    return {"kind": "pair", **first.columns(), **_EMPTY, "second": second.label, **tests}
