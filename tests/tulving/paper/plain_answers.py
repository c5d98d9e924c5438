"""Every number about answers, counted again from the journals by plain loops: a check for each table and figure."""

import math
import statistics
from dataclasses import dataclass
from typing import Any

import pytest
from scipy import stats
from statsmodels.stats.power import tt_ind_solve_power

from tests.tulving.paper.given_runs import RATINGS

KINDS = ("bin", "cue", "trace", "elements", "realism")
Z = 1.959964


def plain(questions, column="f1"):
    """What an estimate of some questions must be; None stands for one that failed."""
    known = [question[column] for question in questions if question is not None]
    n, n_failed = len(known), len(questions) - len(known)
    found = dict.fromkeys(("mean", "sd", "lowest", "highest")) | {"n": n, "n_failed": n_failed}
    if n_failed:
        return found | {"lowest": sum(known) / len(questions), "highest": (sum(known) + n_failed) / len(questions)}
    if known:
        found |= {"mean": sum(known) / n, "sd": statistics.stdev(known) if n > 1 else None}
    return found


def check(row, expected, prefix=""):
    """The numbers of a row of a frame are those expected."""
    for name, value in expected.items():
        name = name if name in ("n", "n_failed") else f"{prefix}{name}"
        if name in row:
            assert row[name] == (value if value is None else pytest.approx(value, abs=1e-9)), (name, row)


def kind_of(question, name):
    """The value of a kind of questions."""
    if name == "elements":
        return str(len(question["cue"]))
    if name != "realism":
        return question[name]
    known = [RATINGS[chapter] for chapter in question["chapters"] if chapter in RATINGS]
    kinds = {rating in ("Realistic", "Moderately realistic") for rating in known}
    if len(known) < len(question["chapters"]) and len(kinds) < 2:
        return "not rated"
    return "empty" if not kinds else "mixed" if len(kinds) > 1 else "realistic" if kinds == {True} else "non-realistic"


@dataclass
class Answers:
    """The questions of the lines, as the journals have them; each method checks a row of a frame.

    Those that look at different questions in every row of a run return them.
    """

    given: Any
    lines: Any

    def line_of(self, row):
        """The line of a run that a row is about; its label may say something else."""
        names = ("source", "memory", "model", "fingerprint")
        runs = [line for line in self.lines if not line.reported]
        (found,) = [line for line in runs if all(line.columns()[name] == row[name] for name in names)]
        return found

    def asked(self, row, **where):
        """Pairs of a row of the dataset, and its measures or None."""
        found = self.given.plain(self.line_of(row))
        return [(of, q) for of, q in found if all(kind_of(of, name) == value for name, value in where.items())]

    def questions(self, row, **where):
        return [question for _, question in self.asked(row, **where)]

    def f1(self, row):
        where = {name: row[name] for name in KINDS if name in row}
        check(row, plain(self.questions(row, get="all", **where)))
        return self.asked(row, get="all", **where)

    def order(self, row):
        latest = [q for of, q in self.asked(row, get="latest") if of["n_chapters"] > 1]
        ordered = [q for of, q in self.asked(row, get="chronological") if len(set(of["answer"])) > 1]
        taus = [q["tau"] for q in ordered if q and q["tau"] is not None]
        matched = [q and {"found": float(q["tau"] is not None)} for q in ordered]
        found = {"latest": plain(latest), "all_matched": plain(matched, "found") | {"sd": None}}
        failed, tau = ordered.count(None), plain([{"tau": tau} for tau in taus], "tau")
        found["kendall_tau"] = {"mean": None, "n": len(taus), "n_failed": failed} if failed else tau
        whole = {"n": len(latest + ordered) - latest.count(None) - failed, "n_failed": latest.count(None) + failed}
        if not whole["n_failed"]:
            share = max(0, found["all_matched"]["mean"] * (found["kendall_tau"]["mean"] or 0))
            whole |= {"mean": (found["latest"]["mean"] + share) / 2}
        else:
            assert row["score"] in ("all_matched", "kendall_tau") or row["lowest"] < row["highest"]
        check(row, (found | {"chronological_awareness": whole})[row["score"]])

    def tests(self, row):
        """One-sided tests, whose samples the names of the row tell."""
        sides = ("first", "second")
        if "reader" in row:
            by_name = {f"{line.who} on {line.text}": line for line in self.lines}
            samples = [self.questions(by_name[row[side]].columns(), get="all") for side in sides]
        elif "run" in row:
            line = next(line for line in self.lines if line.who == row["run"])
            samples = [self.questions(line.columns(), realism=row[side]) for side in sides]
        else:
            of_book = {line.who: line for line in self.lines if line.text == row["book"]}
            samples = [self.questions(of_book[row[side]].columns()) for side in sides]
            assert "gpt" in row["first"] and "claude" in row["second"]
        first, second = ([q["f1"] for q in sample if q] for sample in samples)
        expected = stats.mannwhitneyu(first, second, alternative="greater", method="asymptotic")
        effect = sum((one > other) + (one == other) / 2 for one in first for other in second) / len(first) / len(second)
        means = {"first_mean": sum(first) / len(first), "second_mean": sum(second) / len(second)}
        counts = {"first_n": len(first), "second_n": len(second), "n_failed": sum(of.count(None) for of in samples)}
        check(row, means | counts | {"u": expected.statistic, "p": expected.pvalue, "effect": effect})

    def named(self, row):
        """What answers to questions about nothing name."""
        where = {name: row[name] for name in ("trace", "cue") if name in row}
        asked = self.asked(row, get="all", bin="0", **where)
        found = [q for of, q in asked if row["origin"] in ("both", of["origin"])]
        named = [q and {"share": float(len(set(q["items"])) > 0), "items": len(set(q["items"]))} for q in found]
        check(row, plain(named, "share"), "share_")
        check(row, {"mean": plain(named, "items")["mean"]}, "items_")
        check(row, plain(found), "f1_")
        if row["share_mean"] is not None:
            n, k = len(found), sum(q["share"] for q in named)
            centre, half = (k + Z * Z / 2) / (n + Z * Z), Z * math.sqrt(k * (n - k) / n + Z * Z / 4) / (n + Z * Z)
            assert (row["share_low"], row["share_high"]) == pytest.approx((centre - half, centre + half), abs=1e-6)

    def partial(self, row):
        """The judge's scores of true items, each once."""
        of = [q for q in self.questions(row) if q]
        scores = [q["scores"][q["reference"].index(item)] for q in of for item in dict.fromkeys(q["reference"])]
        expected = {"none": scores.count(0), "whole": scores.count(1), "n": len(scores)}
        check(row, expected | {"mean": sum(0 < score < 1 for score in scores) / len(scores)})

    def dialogue(self, row):
        """No reader of these runs talks to itself."""
        assert (row["mean"], row["most"], row["f1_with"]) == (0, 0, None)
        known = [q["f1"] for q in self.questions(row) if q]
        assert row["n"] >= len(known) and row["f1_without"] == pytest.approx(sum(known) / len(known))

    def harsh(self, row):
        of_bins = {}
        for of, question in self.asked(row, get="all"):
            if row["bin"] in ("all bins", of["bin"]):
                measured = question and {**question, "loss": question["f1"] - question["harsh_f1"]}
                of_bins.setdefault(of["bin"], []).append(measured)
        lost = sum(q.count(None) for q in of_bins.values())
        counts = {"n": sum(map(len, of_bins.values())) - lost, "n_failed": lost}
        for column in ("f1", "harsh_f1", "loss"):
            found = [plain(questions, column) for questions in of_bins.values()]
            expected = {"mean": None, "sd": None if row["bin"] == "all bins" else found[0]["sd"], **counts}
            if not lost:
                expected["mean"] = sum(one["mean"] for one in found) / len(found)
            elif column != "loss":
                for end in ("lowest", "highest"):
                    ends = [one["mean"] if one[end] is None else one[end] for one in found]
                    expected[end] = sum(ends) / len(ends)
            check(row, expected, f"{column}_")
        if not lost:
            score = "simple_recall_score" if row["bin"] == "all bins" else f"f1_by_bin.{row['bin']}"
            assert (row["f1_low"], row["f1_high"]) == pytest.approx(self.line_of(row).scores["intervals"][score])

    def grouped(self, row):
        found = self.questions(row, trace=row["trace"], get=row["get"])
        for column in ("f1", "harsh_f1"):
            check(row, plain(found, column), f"{column}_")
        if len(found) > 8 and row["f1_sd"]:
            effect = tt_ind_solve_power(nobs1=len(found), alpha=0.05, power=0.8)
            assert row["smallest"] == pytest.approx(effect * row["f1_sd"], rel=0.02)

    def matched(self, row):
        """By line, F1 of the questions that all runs on the text of a row have answered."""
        (text,) = {line.text for line in self.lines if line.fingerprint == row["fingerprint"]}
        runs = {line.label: self.questions(line.columns()) for line in self.lines if line.text == text}
        complete = [i for i, questions in enumerate(zip(*runs.values(), strict=True)) if None not in questions]
        return {label: [questions[i]["f1"] for i in complete] for label, questions in runs.items()}

    def ranks(self, row):
        f1 = self.matched(row)
        ranks = stats.rankdata([[-round(value, 9) for value in values] for values in f1.values()], axis=0).mean(axis=1)
        values = f1[row["label"]]
        check(row, {"rank": ranks[list(f1).index(row["label"])], "mean": sum(values) / len(values), "n": len(values)})

    def pairs(self, row):
        one, other = (self.matched(row)[row[name]] for name in ("label", "second"))
        differences = [round(a - b, 9) for a, b in zip(one, other, strict=True)]
        p = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic").pvalue if any(differences) else 1.0
        check(row, {"p": p})
        assert (row["different"] == "yes") <= (row["p_holm"] < 0.05)

    def differences(self, row):
        after, before = (self.matched(row)[row[name]] for name in ("label", "before"))
        mean, mean_before = sum(after) / len(after), sum(before) / len(before)
        check(row, {"mean": mean, "before_mean": mean_before, "difference_mean": mean - mean_before, "n": len(after)})
        assert mean <= mean_before + 1e-12
        assert row["difference_low"] - 1e-9 <= mean - mean_before <= row["difference_high"] + 1e-9


def check_spread(exhibit, lines):
    """Books of several seeds: the scores of each book, and the rows of all books from those of the books."""
    groups = {}
    for row in exhibit.records:
        groups.setdefault((row["source"], row["memory"], row["model"], row["score"]), []).append(row)
    for (*_, score), (*books, row) in groups.items():
        for book in books:
            (line,) = [one for one in lines if (one.label, one.fingerprint) == (book["label"], book["fingerprint"])]
            bin_ = score.removeprefix("f1_by_bin.")
            assert book["mean"] == (line.scores if bin_ == score else line.scores["f1_by_bin"])[bin_]
            ends = line.scores["intervals"].get(score) or (None, None)
            assert (book["low"], book["high"]) == tuple(ends)
            assert book["within"] == (ends[0] if ends[0] is None else pytest.approx((ends[1] - ends[0]) / 2 / Z))
        known = [book for book in books if book["mean"] is not None and book["within"] is not None]
        assert (row["label"], row["n_books"], row["n"]) == ("all books", len(known), sum(book["n"] for book in known))
        if len(known) < 2:
            assert row["mean"] is None and row["between"] is None
            continue
        values, freedom = [book["mean"] for book in known], len(known) - 1
        observed, error = statistics.variance(values), statistics.fmean(book["within"] ** 2 for book in known)
        between = math.sqrt(max(0, observed - error))
        expected = {"mean": statistics.fmean(values), "within": math.sqrt(error), "between": between}
        if observed > 1e-12:
            half = stats.t.ppf(0.975, freedom) * math.sqrt(observed * (1 + 1 / len(known)))
            expected |= {"low": max(0, expected["mean"] - half), "high": min(1, expected["mean"] + half)}
        squares = [observed * freedom / stats.chi2.ppf(p, freedom) - error for p in (0.975, 0.025)]
        low, high = (math.sqrt(max(0, square)) for square in squares)
        if error or between:
            expected |= {"between_low": low, "between_high": min(high, max(0.5, between))}
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-4, abs=1e-6)


CHECKS = {
    **{f"Table {number}": Answers.f1 for number in (3, *range(13, 21), 22, 24, 27)},
    **{f"Table {number}": Answers.tests for number in (21, 23, 25)},
    **{f"Figure {number}": Answers.ranks for number in (3, 7)},
    **{f"Figure {number}, tests": Answers.pairs for number in (3, 7)},
    "Table 4": Answers.order,
    "Figure 4": Answers.f1,
    "Figure 8": Answers.differences,
    "E.8": Answers.named,
    "B.4": Answers.partial,
    "Appendix F": Answers.dialogue,
    "Harsh F1": Answers.harsh,
    "F1 by trace": Answers.grouped,
}
"""How the rows of the exhibits of a name are checked."""


def check_rows(exhibit, name, answers):
    """Check each row of a table about answers; no question stands in two rows of a run, and p is corrected for all rows."""
    rows, of_line = exhibit.records, {}
    for row in rows:
        if not row.get("paper") and (asked := CHECKS[name](answers, row)) is not None:
            of_line.setdefault(answers.line_of(row).label, []).extend(id(question) for question, _ in asked)
    for label, seen in of_line.items():
        assert len(set(seen)) == len(seen), (exhibit.name, label)
    if "p_holm" in rows[0]:
        least = 0.0
        tested = [row for row in rows if not row.get("paper")]
        for place, row in enumerate(sorted(tested, key=lambda row: row["p"])):
            least = max(least, min(1.0, row["p"] * (len(tested) - place)))
            assert row["p_holm"] == pytest.approx(least)
