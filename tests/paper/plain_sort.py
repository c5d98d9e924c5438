"""Numbers of exhibits about Book-SORT computed anew: from journals, by loops and sums over lists."""

import json
import math
from dataclasses import asdict
from functools import partial
from itertools import chain
from statistics import fmean, pstdev
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, chi2, fisher_exact, sem, tstd, ttest_rel, wilcoxon
from statsmodels.formula.api import logit

from epbench.booksort.dataset.load import both_orders, load_pairs
from tests.paper import plain
from tests.paper.plain import agrees, group, lines_of, mcnemar, smallest
from tests.paper.sort_runs import answers_of

GROUPS = ("segment_length", "excerpt_length", "distance_bin", "book_idx", "part", "position")
GAIN = ("mean", "low", "high", "n", "p", "smallest")
BASELINES = {"shown": "base", "shown-small": "base-small"}


def rows_of(run):
    """All questions of a run in the order of its set; `right` is None if one failed, `said` the more probable label."""
    described = json.loads((run / "run.json").read_text())
    pairs, answers = load_pairs(described["dataset"], described["identity"]["config"]), answers_of(run)
    found = []
    for pair in both_orders(pairs) if described["identity"]["both_orders"] else pairs:
        row, record = SimpleNamespace(**asdict(pair), distance=pair.distance), answers[pair.id]
        row.unit = row.book_idx, row.excerpt_length, row.segment_length, row.excerpt_idx
        row.part = "SORT" if row.excerpt_length <= 2500 else "SORT-extend"
        first, second = (min(2, 3 * at // row.excerpt_length) for at in row.positions)
        row.position = ("first", "middle", "last")[first] if first == second else "in two thirds"
        row.right, row.said, row.log_ratio, row.mass = None, None, None, None
        if record.get("failure") is None:
            row.said = record["answer"] if record["answer"] in "AB" else "X"
            if known := record.get("probabilities"):
                row.said, row.mass = max(known, key=known.get), known["A"] + known["B"]
                row.log_ratio = math.log(known[row.answer] / row.mass)
            row.right = row.said == row.answer
        found.append(row)
    return found


def interval(values, rows, exact=False):
    """About the 95 % interval of the mean that draws excerpts; the `exact` one where all are right, or all wrong."""
    excerpts = group(zip(values, rows, strict=True), lambda pair: pair[1].unit).values()
    n = len(excerpts)
    if n < 2:
        return None, None
    if exact and {*values} in ({0}, {1}):
        return map(pytest.approx, binomtest(n * int(values[0]), n).proportion_ci(method="exact"))
    sizes = np.array([(sum(value for value, _ in of), len(of)) for of in excerpts], float)
    sums, counts = sizes[np.random.default_rng(5).integers(n, size=(2000, n))].sum(axis=1).T
    return [pytest.approx(end, abs=0.3 / len(values) ** 0.5) for end in np.quantile(sums / counts, (0.025, 0.975))]


def estimate(values, rows):
    """The mean with its interval, or the range in which it lies if values are lost."""
    return plain.estimate(values, interval=partial(interval, rows=rows, exact=True))


def accuracy(rows):
    """How many are right, also as written, which is the more probable label in these runs."""
    found, known = estimate([row.right for row in rows], rows), [row.mass for row in rows if row.mass is not None]
    found |= {"greedy_accuracy": found["mean"], "label_mass": fmean(known) if known else None}
    return found | {"mean_distance": fmean(row.distance for row in rows)}


def compared(one, other, what):
    """What both have of the questions that neither has lost, and the columns of the mean difference."""
    pairs = [((getattr(of, what), getattr(than, what)), of) for of, than in zip(one, other, strict=True)]
    both, rows = zip(*[(values, row) for values, row in pairs if None not in values], strict=True)
    values, found = [first - second for first, second in both], {"n": len(both), "smallest": None}
    if len(values) > 2 and (sd := tstd(values)):
        found["smallest"] = pytest.approx(smallest(sd, len(values)), rel=0.3 if len(values) < 20 else 0.1)
    found["low"], found["high"] = interval(values, rows)
    return both, found | {"mean": fmean(values)}


def differences(one, other):
    """McNemar's tests of outcomes of the same questions, and how much they differ."""
    both, gain = compared(one, other, "right")
    found = mcnemar(both)
    n, apart = found["wins"] + found["losses"], abs(found["wins"] - found["losses"])
    return found | gain | {"p_chi_square": chi2.sf((apart - 1) ** 2 / n, 1) if n else 1.0}


def inside(row, rows, least_bin=0):
    """The questions that a row of a frame is about."""
    least, most = row.get("over") or 0, row.get("up_to") or math.inf
    asked = [of for of in rows if agrees(row, vars(of), GROUPS)]
    return [of for of in asked if of.distance_bin >= least_bin and least < of.distance <= most]


class Sort(plain.Paper):
    """Folders of runs, and of trainings, by label."""

    TOGETHER = ("Appendix F.5, differences", "Share of A", *(f"Figure {n}" for n in (10, 12, 14, 18, 19)))
    """Those whose correction is for all rows, and not for those of a run."""
    WHOLE = ("Table 1", "Table 2", "Table 11", *(f"Figure {n}" for n in (2, "3a", "3b", "4a", "4b", *range(5, 15))))

    def __init__(self, found, runs, trainings):
        super().__init__(found)
        self.runs, self.trainings = runs, trainings
        self.rows = {label: rows_of(folder) for label, folder in runs.items()}
        self.identities = {of: json.loads((folder / "run.json").read_text())["identity"] for of, folder in runs.items()}
        self.readers = {label: {of: one[of] for of in ("model", "memory")} for label, one in self.identities.items()}
        journals = {label: lines_of(folder / "measures.jsonl") for label, folder in trainings.items()}
        self.measures = {(label, one["epoch"]): one for label, lines in journals.items() for one in lines}

    def expected(self, name, exhibit):
        """Of each training all epochs must be there that were measured so."""
        found = super().expected(name, exhibit)
        if "epoch" in exhibit.records[0]:
            kind = {"Appendix F.5": "sort_in_context", "Figure 15": "readout"}.get(name, "sort")
            known = {place for place, one in self.measures.items() if one[kind]}
            assert {(row["training"], row["epoch"]) for row, _ in found} == known
        return [(row, self.readers.get(row.get("label"), {}) | numbers) for row, numbers in found]

    def family(self, name, p, row):
        if (name, p) == ("Segment lengths", "gain_p"):  # a gain stands beside both lengths
            return "all" if row["segment_length"] == 20 else None
        return "all" if name in self.TOGETHER else (p, row.get("term") or row["label"])

    def asked_in(self, name, row):
        """In Table 2 twice: in all, and by the length of segments."""
        rows = self.rows.get(row["label"]) or self.pooled(row["memory"])
        words, least_bin = {"Figure 8": 20, "Figure 9": 50}.get(name), 300 if name == "Figure 4b" else 0
        return len(inside({"segment_length": words}, rows, least_bin)) * (2 if name == "Table 2" else 1)

    def asked(self, row, kind="sort"):
        return rows_of(self.trainings[row["training"]] / f"measures/epoch-{row['epoch']}/{kind}")

    def checkpoints(self, row, kind="sort"):
        """The questions of both checkpoints of a row; the model before training is that of the first training."""
        names = [row[side].partition(", epoch ") for side in ("first", "second")]
        places = [{"training": of if epoch else "books", "epoch": epoch or 0} for of, _, epoch in names]
        return [self.asked(place, kind) for place in places]

    def rate(self, row, least_bin=0, memory=""):
        """Tested by units: pairs, which are right or wrong both times if they were asked twice, or excerpts of several runs."""
        is_mean = row["label"] == "mean of the runs"
        asked = inside(row, self.pooled(memory) if is_mean else self.rows[row["label"]], least_bin)
        found, tested = accuracy(asked), dict.fromkeys(("p", "units", "smallest"))
        if not found["n_failed"]:
            times = group(asked, lambda of: of.unit if is_mean else of.id.removesuffix("/swapped")).values()
            if is_mean:
                units = [round(fmean(of.right for of in rows) - 0.5, 12) for rows in times]
                p = wilcoxon(units, zero_method="pratt", method="asymptotic").pvalue if any(units) else 1.0
            else:
                units = [rows[0].right for rows in times if rows[0].right == rows[-1].right]
                p = binomtest(sum(units), len(units)).pvalue
            limit = 0.5 + smallest(0.5, len(units))
            tested = {"p": p, "units": len(units), "smallest": limit if limit < 1 else None}
        n_runs = [identity["memory"] for identity in self.identities.values()].count(memory)
        return found | tested | ({"model": f"{n_runs} runs", "memory": memory} if is_mean else {})

    def pooled(self, memory):
        """The mean over runs, question by question."""
        runs = [rows for label, rows in self.rows.items() if self.identities[label]["memory"] == memory]
        by_id = group(chain.from_iterable(runs), lambda row: row.id).values()
        asked = [(rows[0], [row.right for row in rows]) for rows in by_id if len(rows) == len(runs)]
        return [SimpleNamespace(**vars(of) | {"right": None if None in right else fmean(right)}) for of, right in asked]

    def gain_of_memory(self, row):
        baseline, found = BASELINES.get(row["label"]), {}
        if baseline:
            found = differences(*(inside(row, self.rows[label]) for label in (row["label"], baseline)))
        return self.rate(row) | {"baseline": baseline} | {f"gain_{name}": found.get(name) for name in GAIN}

    def gain_of_length(self, row):
        rows, found = self.rows[row["label"]], dict.fromkeys(GAIN)
        long, short = ([of.right for of in rows if of.segment_length == words] for words in (50, 20))
        if None not in [*long, *short]:
            gain, error, both = fmean(long) - fmean(short), math.hypot(sem(long), sem(short)), [*long, *short]
            low, high = (pytest.approx(gain + z * error, abs=error) for z in (-1.96, 1.96))
            # The two askings of a pair are no independent questions
            counts = [[sum(right), len(right) - sum(right)] for right in (long, short)]
            p = None if row["label"] == "both" else fisher_exact(counts).pvalue
            least = pytest.approx(smallest(math.sqrt(2) * pstdev(both), min(len(long), len(short))), rel=0.1)
            found = {"mean": gain, "low": low, "high": high, "n": len(both), "p": p, "smallest": least}
        return self.rate(row) | {f"gain_{name}": value for name, value in found.items()}

    def share_of_a(self, row):
        rows = self.rows[row["label"]]
        named = [of for of in rows if of.said in ("A", "B")]
        said, n, failed = [of.said == "A" for of in named], len(named), sum(of.said is None for of in rows)
        found = estimate(said, named) | {"n_failed": failed, "n_neither": len(rows) - n - failed, "units": n}
        found |= {"p": binomtest(sum(said), n).pvalue, "smallest": smallest(0.5, n)}
        return found | {"share_a_right": fmean(of.answer == "A" for of in named)}

    def odds(self, row):
        """By the regression of statsmodels on the middle, the length and both, and the distance, clustered by excerpt."""
        rows, term = self.rows[row["label"]], row["term"].replace(" x ", ":")
        known = pd.DataFrame([vars(of) for of in rows if of.right is not None]).astype({"right": float})
        known["middle"] = (known["position"] == "middle").astype(float)
        known["distance"], known["length"] = np.log(known["distance"]), np.log(known["excerpt_length"])
        known["length"] -= known["length"].mean()
        middle, rest = (list(known["right"][known["middle"] == is_in]) for is_in in (1, 0))
        found = {"n": len(known), "n_failed": len(rows) - len(known), "n_in_middle": len(middle)}
        found |= {"accuracy_in_middle": fmean(middle), "accuracy_elsewhere": fmean(rest)}
        terms = "middle * length" if known["length"].any() else "middle"
        least = min(of.count(right) for of in (middle, rest) for right in (True, False))
        if least < 5 or ("length" in term and "length" not in terms):
            return found | dict.fromkeys(("coefficient", "low", "high", "odds_ratio", "p"))
        clusters = {"groups": pd.factorize(known["unit"])[0]}
        fit = logit(f"right ~ {terms} + distance", known).fit(disp=0, cov_type="cluster", cov_kwds=clusters)
        (low, high), odds = fit.conf_int().loc[term], fit.params[term]
        numbers = {"coefficient": odds, "odds_ratio": math.exp(odds), "low": low, "high": high, "p": fit.pvalues[term]}
        return found | {name: pytest.approx(value, rel=1e-3, abs=1e-5) for name, value in numbers.items()}

    def models(self, row):
        identities = [of for of in self.identities.values() if of["model"] == row["model"]]
        shown, memories = row["model"].partition(":")[2], sorted({of["memory"] for of in identities})
        found = {"name": shown or row["model"], "memories": ", ".join(memories), "n_runs": len(identities)}
        return found | dict.fromkeys(("weights", "mmlu"))

    def choice(self, row):
        (what,) = {"prompt", "reading"} & row.keys()
        choice = json.loads((self.runs[what] / "prompt_selection.json").read_text())
        number = row[what] if "tried" in row else choice[what]
        (tried,) = [one for one in choice[f"{what}s"] if one["number"] == number]
        right = round(tried["n"] * tried["accuracy"])
        found = plain.estimate([1] * right + [0] * (tried["n"] - right) + [None] * tried["failed"])
        found |= {"low": None, "high": None, "share_a": tried["share_a"], "n_tied": len(choice["tied"]), what: number}
        return found | {"chosen": int(number == choice[what]), "tied": int(number in choice["tied"])}

    def recall(self, row):
        lines, rows = lines_of(self.runs["searched"] / "retrieved.jsonl"), self.rows["searched"]
        ranks = {line["id"]: fmean(rank is not None and rank < 10 for rank in line["ranks"]) for line in lines}
        return estimate([ranks[of.id] for of in rows], rows) | {"query": 8, "retriever": "bm25", "n": 2 * len(rows)}

    def readout(self, row):
        read = self.measures[row["training"], row["epoch"]]["readout"]
        of_book = [of for of in self.asked(row) if str(of.book_idx) == row["book"]]
        low, high = (None, None) if of_book else read["interval"]
        found = {"mean": read["by_group"].get(row["book"], read["accuracy"]), "n": len(of_book) or read["n"]}
        return found | {"low": low, "high": high, "lowest": None, "highest": None, "n_failed": 0}

    def perplexity(self, row):
        return {"mean": self.measures[row["training"], row["epoch"]]["perplexity"][row["text"]]}

    def log_ratio(self, row):
        rows = self.asked(row)
        known = [of for of in rows if of.log_ratio is not None]
        return estimate([of.log_ratio for of in known], known) | {"n_asked": len(rows)}

    def ratios(self, row):
        both, found = compared(*self.checkpoints(row), "log_ratio")
        first, second = zip(*both, strict=True)
        tests = {"p_higher": "greater", "p_lower": "less"}
        return found | {name: ttest_rel(first, second, alternative=way).pvalue for name, way in tests.items()}

    EXPECTED: ClassVar = {
        **dict.fromkeys(WHOLE, rate),
        "Figure 3b": partial(rate, memory="in-context"),
        "Figure 4b": partial(rate, least_bin=300),  # as it was retrieved
        "Figure 5": partial(rate, memory="none"),
        "Table 11": gain_of_memory,
        "Segment lengths": gain_of_length,
        "Share of A": share_of_a,
        "Figure 11, regression": odds,
        "Table 5": models,
        "Table 8": recall,
        "Figure 15": readout,
        "Figure 16": perplexity,
        "Figure 17": lambda self, row: accuracy(self.asked(row)),
        "Appendix F.5": lambda self, row: accuracy(self.asked(row, "sort-in-context")),
        "Figure 18": lambda self, row: differences(*self.checkpoints(row)),
        "Appendix F.5, differences": lambda self, row: differences(*self.checkpoints(row, "sort-in-context")),
        "Figure 19": ratios,
        "Figure 20": log_ratio,
        **dict.fromkeys([f"Table {n}{rest}" for n in (7, 10) for rest in ("", ", all that were tried")], choice),
    }
