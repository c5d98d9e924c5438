"""What the plain recomputations of the three papers share: the exhibits by name, and statistics by loops over lists."""

import json
import math
from operator import eq, gt, lt
from statistics import fmean, stdev

import pytest
from scipy.stats import binomtest, norm

from epbench.reports.exhibit import Missing

MARKUP = "_{}$x^2$<b>"  # what the names of some runs end with, to be shown as text


class Paper:
    """The exhibits of a paper by name; `EXPECTED` has for each a method from a row to the numbers that it must hold, by column."""

    # The exhibits that are made and tested elsewhere, and those that cannot be made of these runs
    ALONE = MISSING = ()
    WHOLE = ()  # those whose rows on a run have, together, as many questions as `asked_in` says
    # The numbers that say what a row is about; all others must be expected, except where a paper has none
    ABOUT = ("epoch", "over", "up_to", "segment_length", "excerpt_length", "distance_bin", "book_idx")

    def __init__(self, found):
        self.exhibits = {one.name: one for one in found}
        self.made = {name: one for name, one in self.exhibits.items() if not isinstance(one, Missing)}
        assert len(self.exhibits) == len(found)

    def named(self, name):
        """The exhibits of a name, for each book or run."""
        return [self.exhibits[name]]

    def expected(self, name, exhibit):
        """Pairs of a row that is not a paper's, and the numbers that it must hold."""
        own = [row for row in exhibit.records if not row.get("paper") and row.get("source") != "reported"]
        return [(row, self.EXPECTED[name](self, row)) for row in own]

    def family(self, name, p, row):
        """What the tests that are corrected together have in common; None for a test that stands twice."""
        return p

    def families(self, name, rows):
        """The p-values of tests that are corrected together, each with the corrected one."""
        corrected = [column.removesuffix("_holm") for column in rows[0] if column.endswith("_holm")]
        tests = [(self.family(name, p, row), row[p], row[f"{p}_holm"]) for row in rows for p in corrected]
        found = group([test for test in tests if test[0] and test[1] is not None], lambda test: test[0])
        return [list(zip(*family, strict=True))[1:] for family in found.values()]


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def group(rows, key):
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def agrees(row, question, columns):
    """Whether a row of a frame is about a question; columns that it lacks, or that name all, do not matter."""
    return all(row.get(name) in (None, "both", "all bins", question.get(name)) for name in columns)


def estimate(values, prefix="", interval=None):
    """The columns of an estimate; None stands for a question that failed, `interval` finds the ends of the known values."""
    known = [float(value) for value in values if value is not None]
    n, lost, ends = len(known), len(values) - len(known), ("low", "high") if interval else ()
    found = dict.fromkeys(("mean", "sd", *ends, "lowest", "highest"))
    if lost:
        found |= {"lowest": sum(known) / len(values), "highest": (sum(known) + lost) / len(values)}
    elif known:
        found |= {"mean": fmean(known), "sd": stdev(known) if n > 1 else None}
        found |= zip(ends, interval(known) if interval else (), strict=True)
    return {f"{prefix}{name}": value for name, value in found.items()} | {"n": n, "n_failed": lost}


def wilson(known):
    return binomtest(int(sum(known)), len(known)).proportion_ci(method="wilson")


def smallest(sd, n, alpha=0.05, errors=norm):
    """The smallest difference from 0 that n values show, two-sided and with a power of 0.8."""
    return (errors.ppf(1 - alpha / 2) + errors.ppf(0.8)) * sd / math.sqrt(n)


def mcnemar(pairs):
    """The exact test of outcomes of the same questions, two by two, with who was right alone, and both means."""
    wins, losses, ties = (sum(way(*pair) for pair in pairs) for way in (gt, lt, eq))
    counts = {"n": len(pairs), "wins": wins, "losses": losses, "ties": ties}
    means = dict(zip(("first_mean", "second_mean"), map(fmean, zip(*pairs, strict=True)), strict=True))
    return counts | means | {"p": binomtest(wins, wins + losses).pvalue if wins + losses else 1.0}


def about(value):
    """A number as it may differ in its last digits."""
    return pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value
