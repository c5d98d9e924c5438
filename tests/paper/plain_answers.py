"""Every number about answers to questions on Tulving books, counted again from the journals by plain loops."""

import math
from statistics import fmean, variance
from typing import ClassVar

import pytest
from scipy import stats
from statsmodels.stats.power import tt_ind_solve_power

from tests.paper import plain_books
from tests.paper.plain import Paper, Z, estimate, lines_of, wilson
from tests.paper.plain_books import RATINGS

KINDS = ("bin", "cue", "trace", "elements", "realism")
SIDES = ("first", "second")


def kind_of(question, name):
    """The value of a kind of questions."""
    if name == "elements":
        return str(len(question["cue"]))
    if name != "realism":
        return question[name]
    known = [RATINGS[chapter] for chapter in question["chapters"] if RATINGS[chapter]]
    kinds = {rating in ("Realistic", "Moderately realistic") for rating in known}
    if len(known) < len(question["chapters"]) and len(kinds) < 2:
        return "not rated"
    return "empty" if not kinds else "mixed" if len(kinds) > 1 else "realistic" if kinds == {True} else "non-realistic"


def f1_of(questions, column="f1", prefix=""):
    """What an estimate of F1 must be; its interval is drawn elsewhere."""
    found = estimate([question and question[column] for question in questions])
    names = ("mean", "sd", "lowest", "highest")
    return {f"{prefix}{name}": found[name] for name in names} | {name: found[name] for name in ("n", "n_failed")}


class Tulving(Paper):
    """The questions of the lines, as the journals have them, and the books, as their files tell them."""

    ALONE = ("Figure 6, short by openai:tiny", "Figure 6, short (released)")  # paths like that of the first book
    MISSING = ("Figure 6, scifi-short", "Invented items")  # the latter are in test_tulving.py

    def __init__(self, found, given, lines, told):
        super().__init__(found)
        self.given, self.lines, self.told = given, lines, told

    def named(self, name):
        """Tests of ranks have a name of their own."""
        parts = [of for of in self.exhibits if of.startswith(f"{name},") and (", tests" in of) == (", tests" in name)]
        return [self.exhibits[one] for one in (name, *parts) if one in self.exhibits]

    def expected(self, name, exhibit):
        if name in plain_books.EXPECTED:
            yield from plain_books.expected(exhibit, name, self.told)
        elif name == "Books of several seeds":
            yield from self.spread(exhibit)
        else:
            own = [row for row in exhibit.records if not row.get("paper") and row.get("source") != "reported"]
            yield from ((row, self.CHECKS[name](self, row)) for row in own)

    def asked_in(self, name, row):
        whole = ("Table 3", *(f"Table {n}" for n in (13, 15, 17, 18)), "F1 by trace")
        return len(self.asked(row, **({} if "F1" in name else {"get": "all"}))) if name in whole else None

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
        return f1_of(self.questions(row, get="all", **{name: row[name] for name in KINDS if name in row}))

    def order(self, row):
        latest = [q for of, q in self.asked(row, get="latest") if of["n_chapters"] > 1]
        ordered = [q for of, q in self.asked(row, get="chronological") if len(set(of["answer"])) > 1]
        taus = [q["tau"] for q in ordered if q and q["tau"] is not None]
        matched = estimate([q and q["tau"] is not None for q in ordered]) | {"sd": None}
        tau, lost, failed = estimate(taus), latest.count(None), ordered.count(None)
        if row["score"] in ("latest", "all_matched"):
            return f1_of(latest) if row["score"] == "latest" else matched
        if row["score"] == "kendall_tau":
            return {"mean": None, "n": len(taus), "n_failed": failed} if failed else tau
        counts = {"n": len(latest + ordered) - lost - failed, "n_failed": lost + failed}
        if lost + failed:
            assert row["lowest"] < row["highest"]
            return counts
        return counts | {"mean": (f1_of(latest)["mean"] + max(0, matched["mean"] * (tau["mean"] or 0))) / 2}

    def tests(self, row):
        """One-sided tests, whose samples the names of the row tell."""
        if "reader" in row:
            by_name = {f"{line.who} on {line.text}": line.columns() for line in self.lines}
            samples = [self.questions(by_name[row[side]], get="all") for side in SIDES]
        elif "run" in row:
            (line,) = [line.columns() for line in self.lines if line.who == row["run"]]
            samples = [self.questions(line, realism=row[side]) for side in SIDES]
        else:
            of_book = {line.who: line.columns() for line in self.lines if line.text == row["book"]}
            samples = [self.questions(of_book[row[side]]) for side in SIDES]
            assert "gpt" in row["first"] and "claude" in row["second"]
        first, second = ([q["f1"] for q in sample if q] for sample in samples)
        found = stats.mannwhitneyu(first, second, alternative="greater", method="asymptotic")
        effect = sum((one > other) + (one == other) / 2 for one in first for other in second) / len(first) / len(second)
        counts = {"first_n": len(first), "second_n": len(second), "n_failed": sum(of.count(None) for of in samples)}
        means = {"first_mean": fmean(first), "second_mean": fmean(second)}
        return means | counts | {"u": found.statistic, "p": found.pvalue, "effect": effect}

    def named_items(self, row):
        """What answers to questions about nothing name."""
        where = {name: row[name] for name in ("trace", "cue") if name in row}
        asked = self.asked(row, get="all", bin="0", **where)
        found = [q for of, q in asked if row["origin"] in ("both", of["origin"])]
        named = [q and {"some": float(bool(q["items"])), "n": len(set(q["items"]))} for q in found]
        expected = f1_of(named, "some", "share_") | f1_of(found, prefix="f1_")
        if expected["share_mean"] is not None:
            known = [one["some"] for one in named]
            expected["share_low"], expected["share_high"] = wilson(sum(known), len(known))
        return expected | {"items_mean": f1_of(named, "n")["mean"]}

    def partial(self, row):
        """The judge's scores of true items, each once."""
        of = [q for q in self.questions(row) if q]
        scores = [q["scores"][q["reference"].index(item)] for q in of for item in dict.fromkeys(q["reference"])]
        expected = {"none": scores.count(0), "whole": scores.count(1), "n": len(scores)}
        return expected | {"mean": sum(0 < score < 1 for score in scores) / len(scores)}

    def dialogue(self, row):
        """The numbers of turns in the answers; those without a verdict have no F1."""
        answers = lines_of(self.line_of(row).folder / "answers.jsonl")
        turns = {
            of["id"]: of["answer"].count("\nHuman:") + of["answer"].count("\nAssistant:")
            for of in answers
            if "answer" in of
        }
        expected = {"mean": fmean(n > 0 for n in turns.values()), "most": max(turns.values()), "n": len(turns)}
        for name, has in (("with", True), ("without", False)):
            f1 = [q["f1"] for q in self.questions(row) if q and (turns[q["id"]] > 0) == has]
            expected[f"f1_{name}"] = fmean(f1) if f1 else None
        return expected

    def harsh(self, row):
        of_bins = {}
        for of, q in self.asked(row, get="all"):
            if row["bin"] in ("all bins", of["bin"]):
                of_bins.setdefault(of["bin"], []).append(q and {**q, "loss": q["f1"] - q["harsh_f1"]})
        lost = sum(q.count(None) for q in of_bins.values())
        expected = {"n": sum(map(len, of_bins.values())) - lost, "n_failed": lost}
        for column in ("f1", "harsh_f1", "loss"):
            found = [f1_of(questions, column) for questions in of_bins.values()]
            expected[f"{column}_sd"] = None if row["bin"] == "all bins" else found[0]["sd"]
            expected[f"{column}_mean"] = None if lost else fmean(one["mean"] for one in found)
            for end in ("lowest", "highest") if lost and column != "loss" else ():
                ends = [one["mean"] if one[end] is None else one[end] for one in found]
                expected[f"{column}_{end}"] = fmean(ends)
        if not lost:
            score = "simple_recall_score" if row["bin"] == "all bins" else f"f1_by_bin.{row['bin']}"
            expected["f1_low"], expected["f1_high"] = self.line_of(row).scores["intervals"][score]
        return expected

    def grouped(self, row):
        found = self.questions(row, trace=row["trace"], get=row["get"])
        expected = f1_of(found, prefix="f1_") | f1_of(found, "harsh_f1", "harsh_f1_")
        if len(found) > 8 and row["f1_sd"]:
            effect = tt_ind_solve_power(nobs1=len(found), alpha=0.05, power=0.8)
            expected["smallest"] = pytest.approx(effect * row["f1_sd"], rel=0.02)
        return expected

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
        return {"rank": ranks[list(f1).index(row["label"])], "mean": fmean(values), "n": len(values)}

    def pairs(self, row):
        one, other = (self.matched(row)[row[name]] for name in ("label", "second"))
        differences = [round(a - b, 9) for a, b in zip(one, other, strict=True)]
        p = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic").pvalue if any(differences) else 1.0
        assert (row["different"] == "yes") <= (row["p_holm"] < 0.05)
        return {"p": p}

    def differences(self, row):
        after, before = (fmean(self.matched(row)[row[name]]) for name in ("label", "before"))
        assert after <= before + 1e-12
        assert row["difference_low"] - 1e-9 <= after - before <= row["difference_high"] + 1e-9
        return {"mean": after, "before_mean": before, "difference_mean": after - before}

    def spread(self, exhibit):
        """Books of several seeds: the scores of each book, and the rows of all books from those of the books."""
        groups = {}
        for row in exhibit.records:
            groups.setdefault((row["source"], row["memory"], row["model"], row["score"]), []).append(row)
        for (*_, score), (*books, row) in groups.items():
            for book in books:
                scores, bin_ = self.line_of(book).scores, score.removeprefix("f1_by_bin.")
                low, high = scores["intervals"].get(score) or (None, None)
                within = None if low is None else pytest.approx((high - low) / 2 / Z)
                value = scores[score] if bin_ == score else scores["f1_by_bin"][bin_]
                yield book, {"mean": value, "low": low, "high": high, "within": within}
            known = [book for book in books if book["mean"] is not None and book["within"] is not None]
            expected = dict.fromkeys(("mean", "low", "high", "within", "between", "between_low", "between_high"))
            expected |= {"label": "all books", "n_books": (n := len(known)), "n": sum(book["n"] for book in known)}
            if n > 1:  # by the method of moments
                values, errors = [book["mean"] for book in known], fmean(book["within"] ** 2 for book in known)
                mean, observed = fmean(values), variance(values)
                expected |= {"mean": mean, "within": pytest.approx(math.sqrt(errors))}
                expected["between"] = pytest.approx(math.sqrt(max(0.0, observed - errors)))
                ends = (observed * (n - 1) / stats.chi2.ppf(share, n - 1) - errors for share in (0.975, 0.025))
                low, high = (pytest.approx(min(0.5, math.sqrt(max(0.0, end)))) for end in ends)
                half = stats.t.ppf(0.975, n - 1) * math.sqrt(observed * (1 + 1 / n))
                if errors or observed:
                    expected |= {"between_low": low, "between_high": high}
                if len({*values}) > 1:
                    expected |= {"low": max(0.0, mean - half), "high": min(1.0, mean + half)}
            yield row, expected

    CHECKS: ClassVar = {
        **dict.fromkeys(["Figure 4", *(f"Table {number}" for number in (3, *range(13, 21), 22, 24, 27))], f1),
        **dict.fromkeys(("Table 21", "Table 23", "Table 25"), tests),
        **dict.fromkeys(("Figure 3", "Figure 7"), ranks),
        **dict.fromkeys(("Figure 3, tests", "Figure 7, tests"), pairs),
        "Table 4": order,
        "Table 6": lambda _, row: plain_books.expectation(row),
        "Figure 8": differences,
        "E.8": named_items,
        "B.4": partial,
        "Appendix F": dialogue,
        "Harsh F1": harsh,
        "F1 by trace": grouped,
    }
    """How the rows of the exhibits of a name are checked."""
    EXPECTED = (*CHECKS, *plain_books.EXPECTED, "Books of several seeds")
