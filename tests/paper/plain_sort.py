"""Numbers of exhibits about Book-SORT computed anew: from journals, by loops and sums over lists."""

import json
import math
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest, chi2, fisher_exact, norm, ttest_rel, wilcoxon

from epbench.booksort.dataset.load import both_orders, load_pairs
from tests.paper import plain
from tests.paper.plain import lines_of, mcnemar
from tests.paper.sort_runs import answers_of

OF_PAIR = ("segment_length", "excerpt_length", "distance_bin", "book_idx")
GROUPS = (*OF_PAIR, "part", "position")
"""The columns that say which questions a row is about."""
UNTESTED = {"p": None, "units": None, "smallest": None}
GAIN = ("mean", "low", "high", "n", "p", "smallest")
CHECKPOINTS = ("Figure 18", "Appendix F.5, differences", "Figure 19")
BASELINES = {"shown": "base", "shown-small": "base-small"}


def rows_of(run):
    """All questions of a run in the order of its set, by answers.jsonl and the set that run.json names.

    right is None if it failed; said is the label with the higher probability or the one written.
    """
    described = json.loads((run / "run.json").read_text())
    pairs, answers = load_pairs(described["dataset"], described["identity"]["config"]), answers_of(run)
    found = []
    for pair in both_orders(pairs) if described["identity"]["both_orders"] else pairs:
        row = SimpleNamespace(pair=pair, **{name: getattr(pair, name) for name in OF_PAIR})
        row.excerpt = row.book_idx, row.excerpt_length, row.segment_length, pair.excerpt_idx
        row.part = "SORT" if row.excerpt_length <= 2500 else "SORT-extend"
        first, second = (min(2, 3 * at // row.excerpt_length) for at in pair.positions)
        row.position = ("first", "middle", "last")[first] if first == second else "in two thirds"
        row.right, row.said, row.log_ratio, row.mass = None, None, None, None
        record = answers[pair.id]
        if record.get("failure") is None:
            row.said = record["answer"] if record["answer"] in "AB" else "X"
            if known := record.get("probabilities"):
                row.said, row.mass = max(known, key=known.get), known["A"] + known["B"]
                row.log_ratio = math.log(known[pair.answer] / row.mass)
            row.right = row.said == pair.answer
        found.append(row)
    return found


def inside(name, record, rows):
    """The questions that a row of a frame is about."""
    asked = [row for row in rows if all(record.get(key) in (None, getattr(row, key)) for key in GROUPS)]
    if "up_to" in record:
        asked = [row for row in asked if record["over"] < row.pair.distance <= (record["up_to"] or math.inf)]
    # As it was retrieved
    return [row for row in asked if row.distance_bin > 200] if name == "Figure 4b" else asked


def interval(values, rows):
    """A 95 % interval of the mean, by drawing excerpts; other draws than the package has, so about the same."""
    known = sorted({row.excerpt for row in rows})
    if len(known) < 2:
        return None, None
    of = [[value for value, row in zip(values, rows, strict=True) if row.excerpt == one] for one in known]
    drawn = np.random.default_rng(5).integers(len(known), size=(2000, len(known)))
    sums, counts = (np.array(list(map(what, of)), float)[drawn].sum(axis=1) for what in (sum, len))
    ends = np.quantile(sums / counts, (0.025, 0.975))
    return tuple(pytest.approx(end, abs=0.3 / len(values) ** 0.5) for end in ends)


def estimate(values, rows):
    """The mean with its interval, or the range in which it lies if values are lost."""
    found = plain.estimate(values)
    if found["mean"] is None:
        return found
    low, high = interval(values, rows)
    if len({*values}) == 1 and values[0] in (0, 1) and low is not None:  # the exact interval of as many excerpts
        n = len({row.excerpt for row in rows})
        low, high = map(pytest.approx, binomtest(n * int(values[0]), n).proportion_ci(method="exact"))
    return found | {"low": low, "high": high}


def against_chance(rows):
    """Exact and two-sided; where pairs were asked twice, right both times against wrong both times."""
    times = {}
    for row in rows:
        times.setdefault(row.pair.id.removesuffix("/swapped"), []).append(row.right)
    twice = any(len(right) > 1 for right in times.values())
    units = [right[0] for right in times.values() if right[0] == right[-1]] if twice else [row.right for row in rows]
    return {"p": float(binomtest(sum(units), len(units)).pvalue)} | power(len(units))


def power(n):
    """How many units there are, and the smallest accuracy that they show."""
    limit = 0.5 + 1.40079 / n**0.5
    return {"units": n, "smallest": pytest.approx(limit, abs=1e-4) if limit < 1 else None}


def labels(rows):
    """What is written is the more probable label in these runs."""
    known, right = [row.mass for row in rows if row.mass is not None], [row.right for row in rows]
    return {"greedy_accuracy": None if None in right else fmean(right), "label_mass": fmean(known) if known else None}


def gains(pairs, rows):
    """The mean of differences with its interval, and the smallest that is found two-sided at 0.05 with a power of 0.8."""
    values, smallest = [one - other for one, other in pairs], None
    low, high = interval(values, rows)
    if len(values) > 2 and stdev(values):
        found = (norm.ppf(0.975) + norm.ppf(0.8)) * stdev(values) / math.sqrt(len(values))
        smallest = pytest.approx(found, rel=0.3 if len(values) < 20 else 0.1)
    return {"n": len(values), "mean": fmean(values), "low": low, "high": high, "smallest": smallest}


def differences(one, other):
    """McNemar's test of outcomes of the same questions, and how much they differ."""
    known = [of for of in zip(one, other, strict=True) if None not in (of[0].right, of[1].right)]
    both = [(first.right, second.right) for first, second in known]
    found, first, second = mcnemar(both)
    n, apart = found["wins"] + found["losses"], abs(found["wins"] - found["losses"])
    found |= {"p_chi_square": chi2.sf((apart - 1) ** 2 / n, 1) if n else 1.0}
    return found | gains(both, [row for row, _ in known]) | {"first_mean": first, "second_mean": second}


class Sort(plain.Paper):
    """Folders of runs, and of trainings, by label."""

    NAMING = (
        *"source label group over up_to model memory pairs training trained epoch book text term".split(),
        *("first", "second", "search", "tried", *GROUPS),
    )
    TOGETHER = ("Figure 10", "Figure 12", "Figure 14", *CHECKPOINTS, "Share of A")
    """Those whose correction is for all rows, and not for those of a run."""

    def __init__(self, found, runs, trainings):
        super().__init__(found)
        self.runs, self.trainings = runs, trainings
        self.rows = {label: rows_of(folder) for label, folder in runs.items()}

    def expected(self, name, exhibit):
        own = [record for record in exhibit.records if record["source"] == "own"]
        if "epoch" in own[0]:  # of each training all epochs must be there that were measured so
            kind = {"Appendix F.5": "sort_in_context", "Figure 15": "readout"}.get(name, "sort")
            known = {(of, one["epoch"]) for of in self.trainings for one in self.measures(of) if one[kind]}
            assert {(record["training"], record["epoch"]) for record in own} == known
        yield from ((record, self.EXPECTED[name](self, name, record)) for record in own)

    def families(self, name, rows):
        found = {}
        for p in ("p", "gain_p", "p_higher", "p_lower"):
            together = name in self.TOGETHER or (name, p) == ("Segment lengths", "gain_p")
            for record in rows[::2] if p == "gain_p" and together else rows:  # a gain stands beside both lengths
                if f"{p}_holm" in record and record[p] is not None:
                    family = "all" if together else (p, record.get("term") or record["label"])
                    found.setdefault(family, []).append((record[p], record[f"{p}_holm"]))
        return found.values()

    def asked_in(self, name, row):
        """In Table 2 twice: in all, and by the length of segments."""
        if self.EXPECTED[name] not in (Sort.rate, Sort.gain_of_memory) or row["label"] not in self.rows:
            return None
        words = {"Figure 8": 20, "Figure 9": 50}.get(name)
        return len(inside(name, {"segment_length": words}, self.rows[row["label"]])) * (2 if name == "Table 2" else 1)

    def identity(self, label):
        return json.loads((self.runs[label] / "run.json").read_text())["identity"]

    def reader(self, label):
        return {name: self.identity(label)[name] for name in ("model", "memory")}

    def measures(self, training):
        return lines_of(self.trainings[training] / "measures.jsonl")

    def measured(self, record):
        return next(one for one in self.measures(record["training"]) if one["epoch"] == record["epoch"])

    def asked(self, record, kind="sort"):
        return rows_of(self.trainings[record["training"]] / f"measures/epoch-{record['epoch']}/{kind}")

    def checkpoints(self, record, kind):
        """The questions of both checkpoints of a row; the model before training is that of the first training."""
        names = [record[side].partition(", epoch ") for side in ("first", "second")]
        places = [{"training": of if epoch else "books", "epoch": epoch or 0} for of, _, epoch in names]
        return [self.asked(place, kind) for place in places]

    # What a row of a frame should say

    def rate(self, name, record):
        if record["label"] == "mean of the runs":
            return self.pooled(name, record)
        asked = inside(name, record, self.rows[record["label"]])
        found = estimate([row.right for row in asked], asked) | self.reader(record["label"]) | labels(asked)
        found |= UNTESTED if found["n_failed"] else against_chance(asked)
        return found | {"mean_distance": fmean([row.pair.distance for row in asked])}

    def pooled(self, name, record):
        """The mean over runs, question by question."""
        memory = {"Figure 3b": "in-context", "Figure 5": "none"}[name]
        runs = [rows for label, rows in self.rows.items() if self.identity(label)["memory"] == memory]
        by_id = [{row.pair.id: row.right for row in rows} for rows in runs]
        asked = [row for row in inside(name, record, runs[0]) if all(row.pair.id in of for of in by_id)]
        values = [[of[row.pair.id] for of in by_id] for row in asked]
        means = [None if None in right else fmean(right) for right in values]
        found = estimate(means, asked) | UNTESTED | {"mean_distance": fmean([row.pair.distance for row in asked])}
        if not found["n_failed"]:
            of_excerpt = {}
            for row, value in zip(asked, means, strict=True):
                of_excerpt.setdefault(row.excerpt, []).append(value)
            above = [round(fmean(of) - 0.5, 12) for of in of_excerpt.values()]
            p = wilcoxon(above, zero_method="pratt", method="asymptotic").pvalue if any(above) else 1.0
            found |= {"p": p} | power(len(above))
        return found | {"model": f"{len(runs)} runs", "memory": memory}

    def gain_of_memory(self, name, record):
        baseline, found = BASELINES.get(record["label"]), dict.fromkeys(GAIN)
        if baseline:
            found = differences(*(inside(name, record, self.rows[label]) for label in (record["label"], baseline)))
        return self.rate(name, record) | {"baseline": baseline} | {f"gain_{key}": found[key] for key in GAIN}

    def gain_of_length(self, name, record):
        rows, numbers = self.rows[record["label"]], [None] * len(GAIN)
        short, long = ([row.right for row in rows if row.segment_length == words] for words in (20, 50))
        if None not in [*short, *long]:
            error = math.sqrt(sum(stdev(values) ** 2 / len(values) for values in (short, long)))
            gain, n, whole = fmean(long) - fmean(short), min(len(short), len(long)), fmean([*short, *long])
            smallest = (norm.ppf(0.975) + norm.ppf(0.8)) * math.sqrt(2 * whole * (1 - whole) / n)
            # The two askings of a pair are no independent questions.
            counts = [[sum(right), len(right) - sum(right)] for right in (long, short)]
            p = None if record["label"] == "both" else fisher_exact(counts).pvalue
            ends = (pytest.approx(gain + z * error, abs=error) for z in (-1.96, 1.96))
            numbers = gain, *ends, len(short) + len(long), p, pytest.approx(smallest, rel=0.1)
        return self.rate("", record) | {f"gain_{key}": one for key, one in zip(GAIN, numbers, strict=True)}

    def share_of_a(self, name, record):
        rows = self.rows[record["label"]]
        named = [row for row in rows if row.said in ("A", "B")]
        said, failed = [row.said == "A" for row in named], sum(row.said is None for row in rows)
        found = estimate(said, named) | {"n_failed": failed, "n_neither": len(rows) - len(named) - failed}
        found |= {"units": len(named), "p": binomtest(sum(said), len(said)).pvalue}
        found |= {"share_a_right": fmean([row.pair.answer == "A" for row in named])}
        return found | self.reader(record["label"]) | {"smallest": pytest.approx(1.40079 / len(named) ** 0.5, abs=1e-4)}

    def odds(self, name, record):
        """By the regression of statsmodels on the middle, the length and both, and the distance, clustered by excerpt."""
        rows = self.rows[record["label"]]
        known = [row for row in rows if row.right is not None]
        middle, rest = ([row.right for row in known if (row.position == "middle") is of] for of in (True, False))
        found = {"n": len(known), "n_failed": len(rows) - len(known), "n_in_middle": len(middle)}
        found |= {"accuracy_in_middle": fmean(middle), "accuracy_elsewhere": fmean(rest)}
        length, distance = np.log([(row.excerpt_length, row.pair.distance) for row in known]).T
        inside, length = np.array([row.position == "middle" for row in known]), length - length.mean()
        terms = {"middle": inside, "distance": distance}
        if any(length):
            terms |= {"middle x length": inside * length, "length": length}
        if min(of.count(right) for of in (middle, rest) for right in (True, False)) < 5 or record["term"] not in terms:
            return found | dict.fromkeys(("coefficient", "low", "high", "odds_ratio", "p"))
        clusters = {"groups": np.unique([str(row.excerpt) for row in known], return_inverse=True)[1]}
        right, columns = [float(row.right) for row in known], sm.add_constant(np.column_stack([*terms.values()]))
        fit = sm.Logit(right, columns).fit(disp=0, cov_type="cluster", cov_kwds=clusters)
        at = 1 + [*terms].index(record["term"])
        numbers = fit.params[at], *fit.conf_int()[at], math.exp(fit.params[at]), fit.pvalues[at]
        names = ("coefficient", "low", "high", "odds_ratio", "p")
        return found | {of: pytest.approx(one, rel=1e-3, abs=1e-5) for of, one in zip(names, numbers, strict=True)}

    def models(self, name, record):
        identities = [of for of in map(self.identity, self.runs) if of["model"] == record["model"]]
        shown, memories = record["model"].partition(":")[2], sorted({of["memory"] for of in identities})
        found = {"name": shown or record["model"], "memories": ", ".join(memories), "n_runs": len(identities)}
        return found | {"weights": None, "mmlu": None}

    def choice(self, name, record):
        what = {"Table 7": "prompt", "Table 10": "reading"}[name.partition(",")[0]]
        choice = json.loads((self.runs[what] / "prompt_selection.json").read_text())
        number = record[what] if "tried" in name else choice[what]
        (tried,) = [one for one in choice[f"{what}s"] if one["number"] == number]
        right = round(tried["n"] * tried["accuracy"])
        found = plain.estimate([1] * right + [0] * (tried["n"] - right) + [None] * tried["failed"])
        found |= {"share_a": tried["share_a"], "chosen": int(number == choice[what]), "n_tied": len(choice["tied"])}
        return found | {"tied": int(number in choice["tied"]), what: number}

    def recall(self, name, record):
        rows, ranks = self.rows["searched"], {}
        for line in lines_of(self.runs["searched"] / "retrieved.jsonl"):
            ranks[line["id"]] = [rank is not None and rank < 10 for rank in line["ranks"]]
        found = estimate([fmean(ranks[row.pair.id]) for row in rows], rows)
        return found | {"query": 8, "retriever": "bm25", "n": 2 * len(rows)}

    def accuracy_by_epoch(self, name, record):
        rows = self.asked(record, "sort" if name == "Figure 17" else "sort-in-context")
        return estimate([row.right for row in rows], rows) | labels(rows)

    def perplexity(self, name, record):
        return {"mean": self.measured(record)["perplexity"][record["text"]]}

    def readout(self, name, record):
        read, found = self.measured(record)["readout"], dict.fromkeys(plain.ENDS) | {"n_failed": 0}
        if record["book"] is None:
            low, high = read["interval"]
            return found | {"mean": read["accuracy"], "low": low, "high": high, "n": read["n"]}
        n = sum(str(row.book_idx) == record["book"] for row in self.asked(record))
        return found | {"mean": read["by_group"][record["book"]], "n": n}

    def log_ratio(self, name, record):
        rows = self.asked(record)
        known = [row for row in rows if row.log_ratio is not None]
        return estimate([row.log_ratio for row in known], known) | {"n_asked": len(rows)}

    def differences(self, name, record):
        return differences(*self.checkpoints(record, "sort" if name == "Figure 18" else "sort-in-context"))

    def ratios(self, name, record):
        pairs = zip(*self.checkpoints(record, "sort"), strict=True)
        known = [(one, other) for one, other in pairs if None not in (one.log_ratio, other.log_ratio)]
        both = [(one.log_ratio, other.log_ratio) for one, other in known]
        higher, lower = (ttest_rel(*zip(*both, strict=True), alternative=way).pvalue for way in ("greater", "less"))
        return gains(both, [row for row, _ in known]) | {"p_higher": higher, "p_lower": lower}

    EXPECTED: ClassVar = {
        "Table 11": gain_of_memory,
        "Segment lengths": gain_of_length,
        "Share of A": share_of_a,
        "Figure 11, regression": odds,
        "Table 5": models,
        "Table 8": recall,
        "Figure 15": readout,
        "Figure 16": perplexity,
        "Figure 19": ratios,
        "Figure 20": log_ratio,
        **dict.fromkeys(("Table 1", "Table 2"), rate),
        **dict.fromkeys([f"Figure {number}" for number in (2, "3a", "3b", "4a", "4b", *range(5, 15))], rate),
        **dict.fromkeys([f"Table {n}{rest}" for n in (7, 10) for rest in ("", ", all that were tried")], choice),
        **dict.fromkeys(("Figure 17", "Appendix F.5"), accuracy_by_epoch),
        **dict.fromkeys(CHECKPOINTS[:2], differences),
    }
    """What computes a row of each exhibit."""
