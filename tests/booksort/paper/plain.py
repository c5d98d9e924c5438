"""Numbers of exhibits computed anew and plainly: from journals, by loops and sums over lists."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from scipy.stats import binomtest, chi2, fisher_exact, norm, ttest_rel, wilcoxon
from statsmodels.stats.multitest import multipletests

from epbench.booksort.dataset.load import Pair, both_orders, load_pairs
from tests.booksort.paper.made_runs import answers_of


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


def rows_of(run: Path) -> list[Row]:
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


@dataclass(frozen=True)
class Journals:
    """What was given to make exhibits from: folders of runs by label, of trainings, and by what is chosen the counts of a search."""

    runs: Mapping[str, Path]
    trainings: Mapping[str, Path]
    choices: Mapping[str, Mapping[int, Sequence[int]]]

    def __post_init__(self):
        object.__setattr__(self, "rows", {label: rows_of(folder) for label, folder in self.runs.items()})

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


def interval(values: Sequence[float], clusters: Sequence[Any], draws: int = 2000) -> tuple[Any, Any]:
    """A 95 % interval of the mean, by drawing clusters; another generator than the package has, so about the same."""
    by_cluster: dict[Any, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        by_cluster.setdefault(cluster, []).append(value)
    groups, stream = list(by_cluster.values()), random.Random(5)
    if len(groups) < 2:
        return None, None
    means = sorted(fmean([value for _ in groups for value in stream.choice(groups)]) for _ in range(draws))
    ends = means[int(0.025 * draws)], means[int(0.975 * draws)]
    return tuple(pytest.approx(end, abs=0.3 / len(values) ** 0.5) for end in ends)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm, as another library has it."""
    return multipletests(p_values, method="holm")[1].tolist()


def smallest_difference(differences: Sequence[float]) -> Any:
    """Two-sided at 0.05 with a power of 0.8, by the normal approximation."""
    if len(differences) < 3 or not stdev(differences):
        return None
    found = (norm.ppf(0.975) + norm.ppf(0.8)) * stdev(differences) / math.sqrt(len(differences))
    return pytest.approx(found, rel=0.3 if len(differences) < 20 else 0.1)


def estimate(values: Sequence[float | None], clusters: Sequence[Any]) -> dict[str, Any]:
    """The mean with its interval, or the range in which it lies if values are lost."""
    known = [float(value) for value in values if value is not None]
    n, lost = len(known), len(values) - len(known)
    names = ("mean", "sd", "low", "high", "lowest", "highest")
    found = dict.fromkeys(names) | {"n": n, "n_failed": lost}
    if lost:
        return found | {"lowest": sum(known) / len(values), "highest": (sum(known) + lost) / len(values)}
    low, high = interval(known, clusters)
    if known and set(known) in ({0.0}, {1.0}) and low is not None:  # the exact interval of as many clusters
        low, high = binomtest((k := len(set(clusters))) * int(known[0]), k).proportion_ci(method="exact")
        low, high = pytest.approx(low), pytest.approx(high)
    return found | {"mean": fmean(known), "sd": stdev(known) if n > 1 else None, "low": low, "high": high}


def against_chance(rows: Sequence[Row]) -> dict[str, Any]:
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
GROUPS: Mapping[str, Callable[[Row], Any]] = {
    **{name: lambda row, name=name: getattr(row.pair, name) for name in ("segment_length", "excerpt_length")},
    **{name: lambda row, name=name: getattr(row.pair, name) for name in ("distance_bin", "book_idx")},
    "part": lambda row: "SORT" if row.pair.excerpt_length <= 2500 else "SORT-extend",
    "position": lambda row: row.third,
}


def inside(name: str, record: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    """The questions that a row of a frame is about."""
    asked = [row for row in rows if all(record.get(key) in (None, of(row)) for key, of in GROUPS.items())]
    if "up_to" in record:
        asked = [row for row in asked if record["over"] < row.pair.distance <= (record["up_to"] or math.inf)]
    # As it was retrieved
    return [row for row in asked if row.pair.distance_bin > 200] if name == "Figure 4b" else asked


def labels(rows: Sequence[Row]) -> dict[str, Any]:
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
    wins, losses = gains.count(1), gains.count(-1)
    n = wins + losses
    low, high = interval(gains, [row.excerpt for row in rows])
    found = {"n": len(gains), "mean": fmean(gains), "low": low, "high": high, "smallest": smallest_difference(gains)}
    found |= {"p": binomtest(wins, n).pvalue if n else 1.0, "wins": wins, "losses": losses, "ties": gains.count(0)}
    found["p_chi_square"] = chi2.sf((abs(wins - losses) - 1) ** 2 / n, 1) if n else 1.0
    return found | dict(zip(("first_mean", "second_mean"), map(fmean, zip(*both, strict=True)), strict=True))


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


def keys(name: str, journals: Journals) -> list[tuple[Any, ...]] | None:
    """The rows that an exhibit about trainings or choices must have, by the columns that name them; None for others."""
    if EXPECTED[name] in (checkpoints, ratios_of_checkpoints):
        kind = "sort-in-context" if name.startswith("Appendix") else "sort"
        return list(itertools.combinations(journals.checkpoints(kind), 2))
    measured = [(training, one["epoch"], one) for training in journals.trainings for one in journals.measures(training)]
    epochs = [(training, epoch) for training, epoch, _ in measured]
    if name == "Figure 16":
        return [(training, epoch, text) for training, epoch, one in measured for text in one["perplexity"]]
    if name == "Figure 15":
        read = [(training, epoch, one["readout"]) for training, epoch, one in measured if one["readout"]]
        return [(training, epoch, book) for training, epoch, one in read for book in (None, *one["by_group"])]
    of_books = [place for place in epochs if place[0] == "books"]
    return {"Figure 17": epochs, "Figure 20": epochs, "Appendix F.5": of_books}.get(name)
