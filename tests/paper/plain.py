"""What the plain recomputations of the three papers share: the exhibits by name, and statistics by loops over lists."""

import json
import math
from statistics import fmean, stdev

import pytest
from scipy.stats import binomtest

from epbench.reports.exhibit import Missing

Z = 1.959963984540054
MARKUP = "_{}$x^2$<b>"
"""What the names of some runs end with, to be shown as text."""
ENDS = ("mean", "low", "high", "lowest", "highest")


class Paper:
    """The exhibits of a paper by name. `expected` gives pairs of a record and the numbers that it must hold, by column."""

    # The exhibits that are recomputed, those that are made and tested elsewhere, and those that cannot be made of these runs.
    EXPECTED = ALONE = MISSING = ()
    NAMING = ()  # the columns that say what a row is about; all others must be expected, if any is named

    def __init__(self, found):
        self.exhibits = {one.name: one for one in found}
        self.made = {name: one for name, one in self.exhibits.items() if not isinstance(one, Missing)}
        assert len(self.exhibits) == len(found)

    def named(self, name):
        """The exhibits of a name, for each book or run."""
        return [self.exhibits[name]]

    def families(self, name, rows):
        """The p-values of tests that are corrected together, each with the corrected one; by default all of them."""
        return [[(row["p"], row["p_holm"]) for row in rows if "p_holm" in row]]

    def asked_in(self, name, row):
        """How many questions all rows of a run must have together; None for a table that need not have all of them."""
        return None


def lines_of(path):
    """The records of a journal."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def estimate(values):
    """What an estimate of some values must be, without an interval; None stands for a question that failed."""
    known = [float(value) for value in values if value is not None]
    n, lost = len(known), len(values) - len(known)
    found = dict.fromkeys(("mean", "sd", "low", "high", "lowest", "highest")) | {"n": n, "n_failed": lost}
    if lost:
        return found | {"lowest": sum(known) / len(values), "highest": (sum(known) + lost) / len(values)}
    return found | ({"mean": fmean(known), "sd": stdev(known) if n > 1 else None} if known else {})


def share(right, n, failed=0, prefix=""):
    """The columns of a share: with Wilson's interval, or without a mean, but with its range, where questions failed."""
    found = estimate([1] * right + [0] * (n - right) + [None] * (failed if n else 0))
    if found["mean"] is not None:
        found["low"], found["high"] = wilson(right, n)
    return {f"{prefix}{name}": found[name] for name in ENDS}


def wilson(right, n):
    """Wilson's 95 % interval, written out."""
    middle, half = right + Z * Z / 2, Z * math.sqrt(right * (n - right) / n + Z * Z / 4)
    return (middle - half) / (n + Z * Z), (middle + half) / (n + Z * Z)


def holm(p_values):
    """P-values corrected by Holm, written out: the smallest is taken as often as there are, the next once less, …"""
    corrected, highest = list(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected


def mcnemar(pairs):
    """Outcomes of the same questions, two by two: the exact test, who was right alone, and both means."""
    wins, losses = sum(one > other for one, other in pairs), sum(one < other for one, other in pairs)
    first, second = map(fmean, zip(*pairs, strict=True))
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return {"n": len(pairs), "wins": wins, "losses": losses, "ties": len(pairs) - wins - losses, "p": p}, first, second


def about(value):
    """A number as it may differ in its last digits."""
    return pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value
