"""Numbers of exhibits about Book-SORT computed anew: from journals, by loops and sums over lists."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, fisher_exact, norm, ttest_rel, wilcoxon

from epbench.booksort.dataset.load import Pair, both_orders, load_pairs
from tests.paper.plain import Paper, mcnemar
from tests.paper.plain import estimate as without_interval
from tests.paper.sort_runs import answers_of


@dataclass(frozen=True)
class Row:
    """A question; right is None if it failed, said is the label with the higher probability or the one written."""

    pair: Pair
    right: bool | None
    said: str | None
    log_ratio: float | None
    mass: float | None

    @property
    def excerpt(self):
        return self.pair.book_idx, self.pair.excerpt_length, self.pair.segment_length, self.pair.excerpt_idx

    @property
    def third(self):
        first, second = (min(2, 3 * at // self.pair.excerpt_length) for at in self.pair.positions)
        return ("first", "middle", "last")[first] if first == second else "in two thirds"


def rows_of(run):
    """All questions of a run in the order of its set, by answers.jsonl and the set that run.json names."""
    described = json.loads((run / "run.json").read_text())
    pairs = load_pairs(described["dataset"], described["identity"]["config"])
    found, said = [], answers_of(run)
    for pair in both_orders(pairs) if described["identity"]["both_orders"] else pairs:
        record = said[pair.id]
        known, answer, ratio, mass = record.get("probabilities"), None, None, None
        if record.get("failure") is None:
            answer = max(known, key=known.get) if known else record["answer"] if record["answer"] in "AB" else "X"
            mass = known["A"] + known["B"] if known else None
            ratio = math.log(known[pair.answer] / mass) if known else None
        found.append(Row(pair, None if answer is None else answer == pair.answer, answer, ratio, mass))
    return found


class Sort(Paper):
    """Folders of runs by label, of trainings, and by what is chosen the counts of a search."""

    def __init__(self, found, runs, trainings, choices):
        super().__init__(found)
        self.runs, self.trainings, self.choices = runs, trainings, choices
        self.rows = {label: rows_of(folder) for label, folder in runs.items()}

    @property
    def NAMING(self):
        return NAMING

    def expected(self, name, exhibit):
        own = [record for record in exhibit.records if record["source"] == "own"]
        if "epoch" in own[0]:  # of each training all epochs must be there that were measured so
            kind = {"Appendix F.5": "sort_in_context", "Figure 15": "readout"}.get(name, "sort")
            measured = {(of, one["epoch"]) for of in self.trainings for one in self.measures(of) if one[kind]}
            assert {(record["training"], record["epoch"]) for record in own} == measured
        yield from ((record, EXPECTED[name](name, record, self)) for record in own)

    def families(self, name, rows):
        found = {}
        for p in ("p", "gain_p", "p_higher", "p_lower"):
            of_gain = (name, p) == ("Segment lengths", "gain_p")
            for record in rows[::2] if of_gain else rows:
                if f"{p}_holm" in record and record[p] is not None:
                    family = p if name in TOGETHER or of_gain else (p, record.get("label"))
                    family = "ratios" if p in ("p_higher", "p_lower") else family
                    found.setdefault(family, []).append((record[p], record[f"{p}_holm"]))
        return found.values()

    def asked_in(self, name, row):
        """How many questions all rows of a run have together, in Table 2 twice: in all, and by the length of segments."""
        if EXPECTED[name] not in (rate, gain_of_memory) or row["label"] not in self.rows:
            return None
        words = {"Figure 8": 20, "Figure 9": 50}.get(name)
        rows = inside(name, {"segment_length": words}, self.rows[row["label"]])
        return len(rows) * (2 if name == "Table 2" else 1)

    def identity(self, label):
        return json.loads((self.runs[label] / "run.json").read_text())["identity"]

    def measures(self, training):
        return [json.loads(line) for line in (self.trainings[training] / "measures.jsonl").read_text().splitlines()]

    def asked(self, training, epoch, kind="sort"):
        return rows_of(self.trainings[training] / f"measures/epoch-{epoch}/{kind}")

    def checkpoints(self, kind):
        """The questions of each checkpoint by its name."""
        found = {}
        for name, folder in self.trainings.items():
            for one in self.measures(name):
                title = f"{name}, epoch {one['epoch']}" if one["epoch"] else "before training"
                if (folder / f"measures/epoch-{one['epoch']}/{kind}").is_dir():
                    found.setdefault(title, self.asked(name, one["epoch"], kind))
        return found


# Statistics


def interval(values, clusters, draws=2000):
    """A 95 % interval of the mean, by drawing clusters; other draws than the package has, so about the same."""
    known = sorted(set(clusters))
    if len(known) < 2:
        return None, None
    of = [[value for value, cluster in zip(values, clusters, strict=True) if cluster == one] for one in known]
    drawn = np.random.default_rng(5).integers(len(known), size=(draws, len(known)))
    sums, counts = (np.array(list(map(what, of)), float)[drawn].sum(axis=1) for what in (sum, len))
    ends = np.quantile(sums / counts, (0.025, 0.975))
    return tuple(pytest.approx(end, abs=0.3 / len(values) ** 0.5) for end in ends)


def smallest_difference(differences):
    """Two-sided at 0.05 with a power of 0.8, by the normal approximation."""
    if len(differences) < 3 or not stdev(differences):
        return None
    found = (norm.ppf(0.975) + norm.ppf(0.8)) * stdev(differences) / math.sqrt(len(differences))
    return pytest.approx(found, rel=0.3 if len(differences) < 20 else 0.1)


def estimate(values, clusters):
    """The mean with its interval, or the range in which it lies if values are lost."""
    found = without_interval(values)
    if found["mean"] is None:
        return found
    low, high = interval(values, clusters)
    if len({*values}) == 1 and values[0] in (0, 1) and low is not None:  # the exact interval of as many clusters
        low, high = binomtest((k := len(set(clusters))) * int(values[0]), k).proportion_ci(method="exact")
        low, high = pytest.approx(low), pytest.approx(high)
    return found | {"low": low, "high": high}


def against_chance(rows):
    """Exact and two-sided; where pairs were asked twice, right both times against wrong both times."""
    times: dict[str, list[Any]] = {}
    for row in rows:
        times.setdefault(row.pair.id.removesuffix("/swapped"), []).append(row.right)
    twice = any(len(right) > 1 for right in times.values())
    units = [right[0] for right in times.values() if right[0] == right[-1]] if twice else [row.right for row in rows]
    return {"p": float(binomtest(sum(units), len(units)).pvalue), **_power(len(units))}


def _power(n: int) -> dict[str, Any]:
    limit = 0.5 + 1.40079 / n**0.5
    return {"units": n, "smallest": pytest.approx(limit, abs=1e-4) if limit < 1 else None}


# What a row of a frame should say, by the exhibit

UNTESTED = {"p": None, "units": None, "smallest": None}
GROUPS = {
    **{name: lambda row, name=name: getattr(row.pair, name) for name in ("segment_length", "excerpt_length")},
    **{name: lambda row, name=name: getattr(row.pair, name) for name in ("distance_bin", "book_idx")},
    "part": lambda row: "SORT" if row.pair.excerpt_length <= 2500 else "SORT-extend",
    "position": lambda row: row.third,
}


def inside(name, record, rows):
    """The questions that a row of a frame is about."""
    asked = [row for row in rows if all(record.get(key) in (None, of(row)) for key, of in GROUPS.items())]
    if "up_to" in record:
        asked = [row for row in asked if record["over"] < row.pair.distance <= (record["up_to"] or math.inf)]
    # As it was retrieved
    return [row for row in asked if row.pair.distance_bin > 200] if name == "Figure 4b" else asked


def labels(rows):
    """What is written is the more probable label in these runs."""
    known, lost = [row.mass for row in rows if row.mass is not None], any(row.right is None for row in rows)
    greedy = None if lost else fmean([row.right for row in rows])
    return {"greedy_accuracy": greedy, "label_mass": fmean(known) if known else None}


def rate(name, record, journals):
    if record["label"] == "mean of the runs":
        return pooled(name, record, journals)
    asked, identity = inside(name, record, journals.rows[record["label"]]), journals.identity(record["label"])
    found = estimate([row.right for row in asked], [row.excerpt for row in asked])
    found |= {"model": identity["model"], "memory": identity["memory"]} | labels(asked)
    found |= UNTESTED if found["n_failed"] else against_chance(asked)
    found["mean_distance"] = fmean([row.pair.distance for row in asked])
    return {key: value for key, value in found.items() if key in record}


def pooled(name, record, journals):
    """The mean over runs, question by question."""
    memory = {"Figure 3b": "in-context", "Figure 5": "none"}[name]
    runs = [rows for label, rows in journals.rows.items() if journals.identity(label)["memory"] == memory]
    by_id = [{row.pair.id: row for row in rows} for rows in runs]
    asked = [row for row in inside(name, record, runs[0]) if all(row.pair.id in of for of in by_id)]
    values = [[of[row.pair.id].right for of in by_id] for row in asked]
    means = [None if None in right else fmean(right) for right in values]
    found = estimate(means, [row.excerpt for row in asked]) | UNTESTED
    found |= {"label": "mean of the runs", "model": f"{len(runs)} runs", "memory": memory}
    if not found["n_failed"]:
        of_excerpt: dict[Any, list[float]] = {}
        for row, value in zip(asked, means, strict=True):
            of_excerpt.setdefault(row.excerpt, []).append(value)
        above = [round(fmean(of) - 0.5, 12) for of in of_excerpt.values()]
        p = wilcoxon(above, zero_method="pratt", method="asymptotic").pvalue if any(above) else 1.0
        found |= {"p": p, **_power(len(above))}
    distances = [row.pair.distance for row in asked]
    return found | ({"mean_distance": fmean(distances)} if "mean_distance" in record else {})


GAIN = ("mean", "low", "high", "n", "p", "smallest")
BASELINES = {"shown": "base", "shown-small": "base-small", "prompt": None}


def gain_of_memory(name, record, journals):
    baseline, asked = BASELINES.get(record["label"]), inside(name, record, journals.rows[record["label"]])
    found: Mapping[str, Any] = dict.fromkeys(GAIN)
    if baseline:
        without = inside(name, record, journals.rows[baseline])
        found = differences([(one.right, other.right) for one, other in zip(asked, without, strict=True)], asked)
    return rate(name, record, journals) | {"baseline": baseline} | {f"gain_{key}": found[key] for key in GAIN}


def differences(both, rows):
    """McNemar's test of outcomes of the same questions, and how much they differ."""
    both, rows = zip(*((two, row) for two, row in zip(both, rows, strict=True) if None not in two), strict=True)
    gains = [one - other for one, other in both]
    found, first, second = mcnemar(both)
    low, high = interval(gains, [row.excerpt for row in rows])
    n, apart = found["wins"] + found["losses"], abs(found["wins"] - found["losses"])
    found |= {"mean": fmean(gains), "low": low, "high": high, "smallest": smallest_difference(gains)}
    found |= {"p_chi_square": chi2.sf((apart - 1) ** 2 / n, 1) if n else 1.0}
    return found | {"first_mean": first, "second_mean": second}


def gain_of_length(name, record, journals):
    rows = journals.rows[record["label"]]
    short, long = ([row.right for row in rows if row.pair.segment_length == words] for words in (20, 50))
    found: dict[str, Any] = dict.fromkeys(GAIN)
    if None not in [*short, *long]:
        error = math.sqrt(sum(stdev(values) ** 2 / len(values) for values in (short, long)))
        gain, n, whole = fmean(long) - fmean(short), min(len(short), len(long)), fmean([*short, *long])
        counts = [[sum(right), len(right) - sum(right)] for right in (long, short)]
        smallest = (norm.ppf(0.975) + norm.ppf(0.8)) * math.sqrt(2 * whole * (1 - whole) / n)
        # The two askings of a pair are no independent questions.
        p = None if record["label"] == "both" else fisher_exact(counts).pvalue
        low, high = (pytest.approx(gain + z * error, abs=error) for z in (-1.96, 1.96))
        numbers = gain, low, high, len(short) + len(long), p, pytest.approx(smallest, rel=0.1)
        found = dict(zip(GAIN, numbers, strict=True))
    return rate("", record, journals) | {f"gain_{key}": value for key, value in found.items()}


def share_of_a(name, record, journals):
    rows, identity = journals.rows[record["label"]], journals.identity(record["label"])
    named = [row for row in rows if row.said in ("A", "B")]
    said, failed = [row.said == "A" for row in named], sum(row.said is None for row in rows)
    found = estimate(said, [row.excerpt for row in named])
    found |= {"model": identity["model"], "memory": identity["memory"], "n_failed": failed, "units": len(named)}
    found |= {"n_neither": len(rows) - len(named) - failed, "p": binomtest(sum(said), len(said)).pvalue}
    found["share_a_right"] = fmean([row.pair.answer == "A" for row in named])
    return found | {"smallest": pytest.approx(1.40079 / len(named) ** 0.5, abs=1e-4)}


def models(name, record, journals):
    runs = [label for label in journals.runs if journals.identity(label)["model"] == record["model"]]
    memories = ", ".join(sorted({journals.identity(label)["memory"] for label in runs}))
    shown = record["model"].partition(":")[2] or record["model"]
    return {"name": shown, "weights": None, "memories": memories, "n_runs": len(runs), "mmlu": None}


def choice(name, record, journals):
    what = {"Table 7": "prompt", "Table 10": "reading"}[name.partition(",")[0]]
    counts = journals.choices[what]
    best = max(right / n for right, n, _, _ in counts.values())
    size = next(n for right, n, _, _ in counts.values() if right / n == best)
    error = (best * (1 - best) / size) ** 0.5
    tied = sorted(number for number, (right, n, _, _) in counts.items() if right / n >= best - error)
    leans = {number: abs(counts[number][3] / counts[number][1] - 0.5) for number in tied}
    chosen = min(tied, key=lambda number: (leans[number], -counts[number][0] / counts[number][1], number))
    number = record[what]
    right, n, failed, n_a = counts[number]
    found = estimate([1.0] * right + [0.0] * (n - right) + [None] * failed, range(n))
    found |= {"low": None, "high": None, "share_a": n_a / n, "chosen": int(number == chosen)}
    found |= {"tied": int(number in tied), "n_tied": len(tied), what: number if "tried" in name else chosen}
    return {key: value for key, value in found.items() if key != "sd"}


def recall(name, record, journals):
    rows = journals.rows["searched"]
    lines = map(json.loads, (journals.runs["searched"] / "retrieved.jsonl").read_text().splitlines())
    ranks = {line["id"]: line["ranks"] for line in lines}
    values = [fmean([rank is not None and rank < 10 for rank in ranks[row.pair.id]]) for row in rows]
    found = estimate(values, [row.excerpt for row in rows])
    numbers = {key: found[key] for key in ("mean", "low", "high")} | {"n": 2 * len(values)}
    return {"query": 8, "retriever": "bm25"} | numbers


def accuracy_by_epoch(name, record, journals):
    rows = journals.asked(record["training"], record["epoch"], "sort" if name == "Figure 17" else "sort-in-context")
    found = estimate([row.right for row in rows], [row.excerpt for row in rows]) | labels(rows)
    return {key: value for key, value in found.items() if key != "sd"}


def _measured(record, journals):
    return next(one for one in journals.measures(record["training"]) if one["epoch"] == record["epoch"])


def perplexity(name, record, journals):
    return {"mean": _measured(record, journals)["perplexity"][record["text"]]}


def readout(name, record, journals):
    read = _measured(record, journals)["readout"]
    found = {"n_failed": 0, "low": None, "high": None, "lowest": None, "highest": None}
    if record["book"] is None:
        low, high = read["interval"]
        return found | {"mean": read["accuracy"], "low": low, "high": high, "n": read["n"]}
    rows = journals.asked(record["training"], record["epoch"])
    n = sum(str(row.pair.book_idx) == record["book"] for row in rows)
    return found | {"mean": read["by_group"][record["book"]], "n": n}


def log_ratio(name, record, journals):
    rows = journals.asked(record["training"], record["epoch"])
    known = [row for row in rows if row.log_ratio is not None]
    found = estimate([row.log_ratio for row in known], [row.excerpt for row in known])
    return {key: found[key] for key in ("mean", "low", "high", "n")} | {"n_asked": len(rows)}


def checkpoints(name, record, journals):
    asked = journals.checkpoints("sort" if name == "Figure 18" else "sort-in-context")
    one, other = asked[record["first"]], asked[record["second"]]
    return differences([(a.right, b.right) for a, b in zip(one, other, strict=True)], one)


def ratios_of_checkpoints(name, record, journals):
    asked = journals.checkpoints("sort")
    pairs = list(zip(asked[record["first"]], asked[record["second"]], strict=True))
    both = [(a.log_ratio, b.log_ratio) for a, b in pairs if a.log_ratio is not None and b.log_ratio is not None]
    gains = [a - b for a, b in both]
    low, high = interval(gains, [a.excerpt for a, b in pairs if a.log_ratio is not None and b.log_ratio is not None])
    higher, lower = (ttest_rel(*zip(*both, strict=True), alternative=way).pvalue for way in ("greater", "less"))
    found = {"n": len(both), "mean": fmean(gains), "low": low, "high": high, "smallest": smallest_difference(gains)}
    return found | {"p_higher": higher, "p_lower": lower}


EXPECTED = {
    "Table 11": gain_of_memory,
    "Segment lengths": gain_of_length,
    "Share of A": share_of_a,
    "Table 5": models,
    "Table 8": recall,
    "Figure 15": readout,
    "Figure 16": perplexity,
    "Figure 19": ratios_of_checkpoints,
    "Figure 20": log_ratio,
    **dict.fromkeys([f"Table {number}" for number in (1, 2)], rate),
    **dict.fromkeys([f"Figure {number}" for number in (2, "3a", "3b", "4a", "4b", *range(5, 15))], rate),
    **{f"{name}{rest}": choice for name in ("Table 7", "Table 10") for rest in ("", ", all that were tried")},
    **dict.fromkeys(("Figure 17", "Appendix F.5"), accuracy_by_epoch),
    **dict.fromkeys(("Figure 18", "Appendix F.5, differences"), checkpoints),
}
"""What computes a row of each exhibit; the regression of Figure 11 has a test of its own."""


NAMING = {
    *"source label group over up_to model memory pairs training trained epoch book text".split(),
    *("first", "second", "search", *GROUPS, "tried"),
}
TOGETHER = ("Figure 10", "Figure 12", "Figure 14", "Share of A", "Figure 18", "Appendix F.5, differences")
"""Those whose correction is for all rows, and not for those of a run."""
