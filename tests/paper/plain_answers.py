"""Every number about answers to questions on Tulving books, counted again from the journals by plain loops."""

import math
from functools import partial
from operator import itemgetter
from statistics import fmean, variance
from typing import ClassVar

import pytest
from scipy import stats

from tests.paper import plain_books
from tests.paper.plain import Paper, agrees, estimate, group, lines_of, smallest, wilson
from tests.paper.plain_books import RATINGS

KINDS = ("bin", "cue", "trace", "elements", "realism", "get", "origin")
WHO = itemgetter("source", "memory", "model", "fingerprint")  # tell runs apart; the label of a row may be another


def measured(row, found):
    """A row of the dataset, with its kinds and measures; the latter are None if the question failed."""
    known = [RATINGS[chapter] for chapter in row["chapters"] if RATINGS[chapter]]
    kinds = {rating in ("Realistic", "Moderately realistic") for rating in known}
    realism = "empty" if not kinds else "mixed" if len(kinds) > 1 else "realistic" if True in kinds else "non-realistic"
    if len(known) < len(row["chapters"]) and len(kinds) < 2:
        realism = "not rated"
    measures = dict.fromkeys(("f1", "harsh_f1", "loss", "share", "items", "scores", "tau"))
    if found:
        n = len({*found["items"]})
        measures = found | {"items": n, "share": n > 0, "loss": found["f1"] - found["harsh_f1"]}
    return row | {"reference": row["answer"], "elements": str(len(row["cue"])), "realism": realism} | measures


class Tulving(Paper):
    """The questions of the lines, as the journals have them, and the books, as their files tell them."""

    ALONE = ("Figure 6, short by openai:tiny", "Figure 6, short (released)")  # paths like that of the first book
    MISSING = ("Figure 6, scifi-short", "Invented items")  # the latter are in test_tulving.py
    ABOUT = ()
    WHOLE = ("Table 3", *(f"Table {n}" for n in (13, 15, 17, 18)), "F1 by trace", "E.8", "Harsh F1")

    def __init__(self, found, given, lines, told):
        super().__init__(found)
        self.lines, self.told = lines, told
        self.runs = {WHO(line.columns()): line for line in lines if not line.reported}
        self.asked = {who: [measured(*pair) for pair in given.plain(line)] for who, line in self.runs.items()}

    def named(self, name):
        """Tests of ranks have a name of their own."""
        parts = [of for of in self.exhibits if of.startswith(f"{name},") and (", tests" in of) == (", tests" in name)]
        return [self.exhibits[one] for one in (name, *parts) if one in self.exhibits]

    def expected(self, name, exhibit):
        is_book = name in plain_books.EXPECTED
        return plain_books.expected(exhibit, name, self.told) if is_book else super().expected(name, exhibit)

    def asked_in(self, name, row):
        """In E.8 twice, in all and by origin, of bin 0; so in harsh F1, in all and by bin."""
        asked = [q for q in self.asked[WHO(row)] if name == "F1 by trace" or q["get"] == "all"]
        return sum(name != "E.8" or q["bin"] == "0" for q in asked) * (2 if name in ("E.8", "Harsh F1") else 1)

    def questions(self, row, **where):
        """The questions that a row is about, or those of them that are of some kinds."""
        return [q for q in self.asked[WHO(row)] if agrees(row | where, q, KINDS)]

    def estimates(self, row, columns=("f1",), **where):
        """What estimates of some measures must be, over the questions of a row; an interval of F1 is drawn elsewhere."""
        asked, found = self.questions(row, **where), {}
        for column in columns:
            prefix = f"{column}_" if len(columns) > 1 else ""
            found |= estimate([q[column] for q in asked], prefix, wilson if column == "share" else None)
        if "smallest" in row and row["f1_sd"] and len(asked) > 8:
            least = smallest(math.sqrt(2) * row["f1_sd"], len(asked), errors=stats.t(2 * len(asked) - 2))
            found["smallest"] = pytest.approx(least, rel=0.02)
        return found

    def order(self, row):
        latest = estimate([q["f1"] for q in self.questions(row, get="latest") if q["n_chapters"] > 1])
        ordered = [q for q in self.questions(row, get="chronological") if len({*q["reference"]}) > 1]
        matched = estimate([None if q["f1"] is None else q["tau"] is not None for q in ordered])
        tau = estimate([q["tau"] for q in ordered if q["tau"] is not None])
        if matched["n_failed"]:
            tau = {"mean": None, "n": tau["n"], "n_failed": matched["n_failed"]}
        parts = {"latest": latest, "all_matched": matched | {"sd": None}, "kendall_tau": tau}
        if row["score"] in parts:
            return parts[row["score"]]
        found = {name: latest[name] + matched[name] for name in ("n", "n_failed")}
        if found["n_failed"]:
            assert row["lowest"] < row["highest"]
            return found
        return found | {"mean": (latest["mean"] + max(0, matched["mean"] * (tau["mean"] or 0))) / 2}

    def tests(self, row, who, **where):
        """One-sided tests; the names of the row tell whose answers are compared, and to which questions."""
        assert "book" not in row or ("gpt" in row["first"] and "claude" in row["second"])
        samples = []
        for names in (row | {"name": row[side]} for side in ("first", "second")):
            (line,) = [line for line in self.lines if who.format(**names) in (line.who, f"{line.who} on {line.text}")]
            kinds = {kind: text.format(**names) for kind, text in where.items()}
            samples.append([q["f1"] for q in self.questions(line.columns(), **kinds)])
        first, second = ([f1 for f1 in sample if f1 is not None] for sample in samples)
        found = stats.mannwhitneyu(first, second, alternative="greater", method="asymptotic")
        counts = {"first_n": len(first), "second_n": len(second), "n_failed": sum(of.count(None) for of in samples)}
        effect = found.statistic / len(first) / len(second)
        tested = {"u": found.statistic, "p": found.pvalue, "effect": effect}
        return counts | tested | {"first_mean": fmean(first), "second_mean": fmean(second)}

    def true_items(self, row):
        """The judge's scores of true items, each once."""
        of = [q for q in self.questions(row) if q["scores"] is not None]
        scores = [q["scores"][q["reference"].index(item)] for q in of for item in dict.fromkeys(q["reference"])]
        return estimate([0 < score < 1 for score in scores]) | {"none": scores.count(0), "whole": scores.count(1)}

    def dialogue(self, row):
        """The numbers of turns in the answers; those without a verdict have no F1."""
        records = [of for of in lines_of(self.runs[WHO(row)].folder / "answers.jsonl") if "answer" in of]
        turns = {of["id"]: of["answer"].count("\nHuman:") + of["answer"].count("\nAssistant:") for of in records}
        known = [q for q in self.questions(row) if q["f1"] is not None]
        f1 = group(known, lambda q: f"f1_with{'' if turns[q['id']] else 'out'}")
        means = {name: estimate([q["f1"] for q in f1.get(name, ())])["mean"] for name in ("f1_with", "f1_without")}
        return means | {"mean": fmean(map(bool, turns.values())), "most": max(turns.values()), "n": len(turns)}

    def harsh(self, row):
        """All bins count the same; the interval of F1 is that of the run."""
        columns, names = ("f1", "harsh_f1", "loss"), {row["bin"]}
        if every := row["bin"] == "all bins":
            names = {q["bin"] for q in self.questions(row, get="all")}
        bins = [self.estimates(row | {"bin": name}, columns, get="all") for name in names]
        n, lost = (sum(of[name] for of in bins) for name in ("n", "n_failed"))
        expected = bins[0] | {"n": n, "n_failed": lost}
        for column in columns if every else ():
            mean, *ends = (f"{column}_{of}" for of in ("mean", "lowest", "highest"))
            expected |= {f"{column}_sd": None, mean: None if lost else fmean(of[mean] for of in bins)}
            for end in ends if lost else ():
                expected[end] = fmean(of[mean] if of[end] is None else of[end] for of in bins)
        if not lost:
            score = "simple_recall_score" if every else f"f1_by_bin.{row['bin']}"
            expected["f1_low"], expected["f1_high"] = self.runs[WHO(row)].scores["intervals"][score]
        return expected

    def matched(self, row):
        """By line, F1 of the questions that all runs on the text of a row have answered."""
        (text,) = {line.text for line in self.lines if line.fingerprint == row["fingerprint"]}
        lines = [line for line in self.lines if line.text == text]
        f1 = zip(*[[q["f1"] for q in self.questions(line.columns())] for line in lines], strict=True)
        complete = zip(*[values for values in f1 if None not in values], strict=True)
        return {line.label: values for line, values in zip(lines, complete, strict=True)}

    def compared(self, row):
        """The rank and F1 of a run among all on the text, or beside another run."""
        f1, one = self.matched(row), self.matched(row)[row["label"]]
        ranks = stats.rankdata([[-round(value, 9) for value in values] for values in f1.values()], axis=0).mean(axis=1)
        found = {"rank": ranks[list(f1).index(row["label"])], "mean": fmean(one), "n": len(one)}
        if "second" in row:
            differences = [round(a - b, 9) for a, b in zip(one, f1[row["second"]], strict=True)]
            test = partial(stats.wilcoxon, zero_method="pratt", method="asymptotic")
            found["p"] = test(differences).pvalue if any(differences) else 1.0
            assert (row["different"] == "yes") <= (row["p_holm"] < 0.05)
        if "before" in row:
            before = fmean(f1[row["before"]])
            found |= {"before_mean": before, "difference_mean": found["mean"] - before}
            assert row["difference_low"] - 1e-9 <= found["difference_mean"] <= min(0, row["difference_high"]) + 1e-9
        return found

    def seeds(self, row):
        """The scores of a book, or from the rows of such books that of all of them, by the method of moments."""
        if row["label"] != "all books":
            scores, (kind, _, bin_) = self.runs[WHO(row)].scores, row["score"].partition(".")
            low, high = scores["intervals"].get(row["score"]) or (None, None)
            within = None if low is None else pytest.approx((high - low) / 2 / stats.norm.ppf(0.975))
            return {
                "mean": scores[kind].get(bin_) if bin_ else scores[kind],
                "low": low,
                "high": high,
                "within": within,
            }
        rows = self.exhibits["Books of several seeds"].records
        alike = [one for one in rows if all(one[of] == row[of] for of in ("source", "memory", "model", "score"))]
        known = [one for one in alike if one["label"] != "all books" and None not in (one["mean"], one["within"])]
        expected = dict.fromkeys(("mean", "low", "high", "within", "between", "between_low", "between_high"))
        expected |= {"n_books": (n := len(known)), "n": sum(book["n"] for book in known)}
        if n > 1:
            values, errors = [book["mean"] for book in known], fmean(book["within"] ** 2 for book in known)
            mean, observed = fmean(values), variance(values)
            ends = [observed * (n - 1) / stats.chi2.ppf(share, n - 1) - errors for share in (0.975, 0.025)]
            between, low, high = (math.sqrt(max(0.0, of)) for of in (observed - errors, *ends))
            half = stats.t.ppf(0.975, n - 1) * math.sqrt(observed * (1 + 1 / n))
            expected |= {"mean": mean, "within": math.sqrt(errors), "between": between}
            if errors or observed:
                expected |= {"between_low": min(0.5, low), "between_high": min(0.5, high)}
            if len({*values}) > 1:
                expected |= {"low": max(0.0, mean - half), "high": min(1.0, mean + half)}
        return expected

    f1 = partial(estimates, get="all")
    EXPECTED: ClassVar = {
        **dict.fromkeys(("Figure 4", *(f"Table {n}" for n in (3, *range(13, 21), 22, 24, 27))), f1),
        **dict.fromkeys(("Figure 3", "Figure 3, tests", "Figure 7", "Figure 7, tests", "Figure 8"), compared),
        "E.8": partial(estimates, columns=("f1", "share", "items"), get="all", bin="0"),
        "F1 by trace": partial(estimates, columns=("f1", "harsh_f1")),
        "Table 21": partial(tests, who="{name} on {book}"),
        "Table 23": partial(tests, who="{name}", get="all"),
        "Table 25": partial(tests, who="{run}", realism="{name}"),
        "Table 4": order,
        "Table 6": lambda _, row: plain_books.expectation(row),
        "B.4": true_items,
        "Appendix F": dialogue,
        "Harsh F1": harsh,
        "Books of several seeds": seeds,
        **plain_books.EXPECTED,
    }
