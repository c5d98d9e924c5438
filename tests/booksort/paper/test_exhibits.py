"""Every number of every exhibit is what the journals say, counted anew by plain loops."""

import itertools
import json
import math

import pytest
from scipy.stats import binomtest, fisher_exact, norm, ttest_rel

from epbench.booksort.paper import results
from epbench.reports.exhibit import Missing
from tests.booksort.paper import plain

RATES = [one.name for one in (*results.DECLARED, results.TABLE_11)]
POOLED = {"Figure 3b": "in-context", "Figure 5": "none"}
TOGETHER = ("Figure 10", "Figure 12", "Figure 14")
"""Those whose correction is for all groups in the table, and not for those of a run."""
GROUPS = {
    "segment_length": lambda row: row.pair.segment_length,
    "excerpt_length": lambda row: row.pair.excerpt_length,
    "distance_bin": lambda row: row.pair.distance_bin,
    "book_idx": lambda row: row.pair.book_idx,
    "part": lambda row: "SORT" if row.pair.excerpt_length <= 2500 else "SORT-extend",
    "position": lambda row: row.third,
}


@pytest.fixture(scope="module")
def counted(made, chosen):
    """The questions of every run by the label that it has in tables."""
    folders = {name: made[name] for name in made if name not in ("books", "control")}
    folders |= {folder.name: folder for folder, _ in chosen.values()}
    return {name: plain.rows_of(folder) for name, folder in folders.items()}


def inside(name, record, rows):
    """The questions that a row of a frame is about."""
    asked = [row for row in rows if all(record.get(key) in (None, of(row)) for key, of in GROUPS.items())]
    if "up_to" in record:
        asked = [row for row in asked if record["over"] < row.pair.distance <= (record["up_to"] or math.inf)]
    return (
        [row for row in asked if row.pair.distance_bin > 200] if name == "Figure 4b" else asked
    )  # as it was retrieved


def of_run(exhibit):
    """The own rows of a frame by the label of the run."""
    families = {}
    for record in exhibit.records:
        if record["source"] == "own":
            families.setdefault(record["label"], []).append(record)
    return families


def check(record, asked):
    """A row of a frame about the accuracy on some questions."""
    right = [float(row.right) for row in asked if row.right is not None]
    lost = len(asked) - len(right)
    assert (record["n"], record["n_failed"]) == (len(right), lost)
    if lost:
        assert record["mean"] is record["low"] is record.get("p") is record.get("p_holm") is None
        ends = sum(right) / len(asked), (sum(right) + lost) / len(asked)
        assert (record["lowest"], record["highest"]) == pytest.approx(ends)
        return
    assert record["mean"] == pytest.approx(plain.mean(right)) and record["lowest"] is record["highest"] is None
    excerpts = [row.excerpt for row in asked]
    near = plain.interval(right, excerpts) if len(set(excerpts)) > 1 else (None, None)
    assert (record["low"], record["high"]) == pytest.approx(near, abs=0.3 / len(right) ** 0.5)
    if "p" in record:
        assert record["p"] == pytest.approx(plain.p_against_chance(asked))
        limit = 0.5 + 1.40079 / record["units"] ** 0.5
        assert record["smallest"] == (pytest.approx(limit, abs=1e-4) if limit < 1 else None)
        squares = sum((value - plain.mean(right)) ** 2 for value in right)
        assert record["sd"] == (pytest.approx(math.sqrt(squares / (len(right) - 1))) if len(right) > 1 else None)
    if "mean_distance" in record:
        assert record["mean_distance"] == pytest.approx(plain.mean([row.pair.distance for row in asked]))
    if "greedy_accuracy" in record:
        assert record["greedy_accuracy"] == pytest.approx(plain.mean(right))
        assert record["label_mass"] == pytest.approx(0.95)


def check_holm(records, key="p"):
    known = [record for record in records if record[key] is not None]
    assert [record[f"{key}_holm"] for record in known] == pytest.approx(plain.holm([record[key] for record in known]))


@pytest.mark.parametrize("name", [name for name in RATES if name not in POOLED])
def test_accuracies_are_shares_of_right_answers(found, counted, name):
    families = of_run(found[name])
    for label, records in families.items():
        groups = [inside(name, record, counted[label]) for record in records]
        assert all(groups)
        for record, asked in zip(records, groups, strict=True):
            check(record, asked)
        if name != "Table 2":  # which has each question twice
            every = [row for row in counted[label] if inside(name, {}, [row])]
            words = {"Figure 8": 20, "Figure 9": 50}.get(name)
            assert sum(map(len, groups)) == sum(words in (None, row.pair.segment_length) for row in every)
    together = [list(itertools.chain(*families.values()))]
    for family in together if name in TOGETHER else families.values():
        check_holm(family)


@pytest.mark.parametrize("name", POOLED)
def test_means_over_runs_lose_no_failure(found, counted, given, name):
    runs = [counted[run.label] for run in given.runs if run.memory == POOLED[name]]
    by_id = [{row.pair.id: row for row in rows} for rows in runs]
    for record in found[name].records:
        asked = [
            [of[row.pair.id].right for of in by_id]
            for row in inside(name, record, runs[0])
            if all(row.pair.id in of for of in by_id)
        ]
        whole = [sum(right) / len(right) for right in asked if None not in right]
        assert (record["label"], record["model"]) == ("mean of the runs", f"{len(runs)} runs")
        assert (record["n"], record["n_failed"]) == (len(whole), len(asked) - len(whole))
        assert record["mean"] == (pytest.approx(plain.mean(whole)) if len(whole) == len(asked) else None)
    check_holm(found[name].records)
    assert any("Wilcoxon" in note for note in found[name].notes)


def test_gains_over_no_memory_are_those_of_the_same_questions(found, counted):
    assert {record["gain_mean"] for record in of_run(found["Table 11"])["llama"]} == {None}
    for label, baseline in (("shown", "base"), ("shown-small", "base-small")):
        records = of_run(found["Table 11"])[label]
        for record in records:
            with_memory, without = (inside("Table 11", record, counted[name]) for name in (label, baseline))
            differences = [one.right - other.right for one, other in zip(with_memory, without, strict=True)]
            assert record["gain_mean"] == pytest.approx(plain.mean(differences)) and record["baseline"] == baseline
            p = plain.mcnemar(differences.count(1), differences.count(-1))
            assert (record["gain_n"], record["gain_p"]) == (len(differences), pytest.approx(p))
            assert record["gain_low"] <= record["gain_mean"] <= record["gain_high"]
        check_holm(records, "gain_p")


def test_gains_of_longer_segments(found, counted):
    families = of_run(found["Segment lengths"])
    for label, records in families.items():
        short, long = groups = [inside("", record, counted[label]) for record in records]
        for record, asked in zip(records, groups, strict=True):
            assert record["gain_p"] == records[0]["gain_p"]
            check(record, asked)
        if any(row.right is None for row in counted[label]):
            assert records[0]["gain_mean"] is records[0]["gain_p"] is None
            continue
        gain = plain.mean([row.right for row in long]) - plain.mean([row.right for row in short])
        assert records[0]["gain_mean"] == pytest.approx(gain)
        counts = [[sum(row.right for row in rows), sum(not row.right for row in rows)] for rows in (long, short)]
        # The two askings of a pair are no independent questions.
        assert records[0]["gain_p"] == (None if label == "both" else pytest.approx(fisher_exact(counts).pvalue))
    check_holm([records[0] for records in families.values()], "gain_p")


def test_the_share_of_a_is_counted_over_answers_that_name_a_segment(found, counted):
    records = found["Share of A"].records
    for record in records:
        rows = counted[record["label"]]
        named = [row for row in rows if row.said in ("A", "B")]
        said = sum(row.said == "A" for row in named)
        assert (record["n"], record["mean"]) == (len(named), pytest.approx(said / len(named)))
        assert record["share_a_right"] == plain.mean([row.pair.answer == "A" for row in named])
        assert record["n_failed"] == sum(row.said is None for row in rows)
        assert record["n_neither"] == len(rows) - len(named) - record["n_failed"]
        assert record["p"] == pytest.approx(binomtest(said, len(named)).pvalue)
    check_holm(records)


# Settings


def test_models_are_those_of_the_runs(found, given):
    for record in found["Table 5"].records[9:]:
        runs = [run for run in given.runs if run.model == record["model"]]
        assert (record["n_runs"], record["mmlu"]) == (len(runs), None)
        assert record["memories"] == ", ".join(sorted({run.memory for run in runs}))


@pytest.mark.parametrize(("name", "what"), [("Table 7", "prompt"), ("Table 10", "reading")])
def test_choices_are_those_of_the_search(found, chosen, name, what):
    counts = chosen[what][1]
    best = max(right / n for right, n, _, _ in counts.values())
    size = next(n for right, n, _, _ in counts.values() if right / n == best)
    error = (best * (1 - best) / size) ** 0.5
    tied = sorted(number for number, (right, n, _, _) in counts.items() if right / n >= best - error)
    leans = {number: abs(counts[number][3] / counts[number][1] - 0.5) for number in tied}
    choice = min(tied, key=lambda number: (leans[number], -counts[number][0] / counts[number][1], number))
    tried = found[f"{name}, all that were tried"]
    assert [record[what] for record in tried.records] == sorted(counts)
    for record, row in zip(tried.records, tried.table.rows, strict=True):
        right, n, failed, n_a = counts[record[what]]
        assert (record["n"], record["n_failed"], record["share_a"]) == (n, failed, pytest.approx(n_a / n))
        assert (record["chosen"], record["tied"]) == (record[what] == choice, record[what] in tied)
        ends = (right / (n + failed), (right + failed) / (n + failed)) if failed else (None, None)
        assert (record["lowest"], record["highest"]) == pytest.approx(ends)
        assert record["mean"] == (None if failed else pytest.approx(right / n))
        assert row[1].endswith(" ←") == (record[what] == choice)
    assert found[name].records[-1][what] == choice


def test_recall_is_that_of_the_journal(found, made, counted):
    (record,) = (record for record in found["Table 8"].records if record["source"] == "own")
    lines = map(json.loads, (made["searched"] / "retrieved.jsonl").read_text().splitlines())
    ranks = {line["id"]: line["ranks"] for line in lines}
    values = [
        plain.mean([rank is not None and rank < 10 for rank in ranks[row.pair.id]]) for row in counted["searched"]
    ]
    assert (record["mean"], record["n"]) == (pytest.approx(plain.mean(values)), 2 * len(values))
    assert (record["query"], record["search"][:14]) == (8, "searched: bm25")
    near = plain.interval(values, [row.excerpt for row in counted["searched"]])
    assert (record["low"], record["high"]) == pytest.approx(near, abs=0.03)


# Trainings


def measures(made, name):
    return [json.loads(line) for line in (made[name] / "measures.jsonl").read_text().splitlines()]


def asked_after(made, record, kind="sort"):
    return plain.rows_of(made[record["training"]] / f"measures/epoch-{record['epoch']}/{kind}")


@pytest.mark.parametrize(("name", "kind"), [("Figure 17", "sort"), ("Appendix F.5", "sort-in-context")])
def test_accuracies_by_epoch_are_those_of_the_answers(found, made, name, kind):
    own = [record for record in found[name].records if record["source"] == "own"]
    trainings = ("books", "control") if kind == "sort" else ("books",)
    expected = [(training, one["epoch"]) for training in trainings for one in measures(made, training)]
    assert [(record["training"], record["epoch"]) for record in own] == expected
    for record in own:
        rows = asked_after(made, record, kind)
        check({key: value for key, value in record.items() if key != "greedy_accuracy"}, rows)
        if not record["n_failed"]:
            assert record["greedy_accuracy"] == record["mean"] and record["label_mass"] == pytest.approx(0.95)


def test_perplexities_and_read_outs_are_those_of_the_journal(found, made):
    records = [record for record in found["Figure 16"].records if record["source"] == "own"]
    assert [(record["training"], record["epoch"], record["text"], record["mean"]) for record in records] == [
        (name, one["epoch"], text, value)
        for name in ("books", "control")
        for one in measures(made, name)
        for text, value in one["perplexity"].items()
    ]
    names = ("epoch", "book", "mean", "low", "high", "n")
    expected = []
    for one in measures(made, "books")[1:]:
        read = one["readout"]
        expected.append((one["epoch"], None, read["accuracy"], *read["interval"], read["n"]))
        expected += [(one["epoch"], book, value, None, None, 24) for book, value in read["by_group"].items()]
    assert [tuple(record[name] for name in names) for record in found["Figure 15"].records] == expected


def test_log_ratios_are_those_of_the_answers(found, made):
    for record in found["Figure 20"].records:
        rows = asked_after(made, record)
        known = [row for row in rows if row.log_ratio is not None]
        assert (record["n"], record["n_asked"]) == (len(known), len(rows))
        ratios = [row.log_ratio for row in known]
        assert record["mean"] == pytest.approx(plain.mean(ratios))
        near = plain.interval(ratios, [row.excerpt for row in known])
        assert (record["low"], record["high"]) == pytest.approx(near, abs=0.08)


def checkpoints(made, kind):
    """The questions of each checkpoint by its name."""
    found = {}
    for name in ("books", "control"):
        for one in measures(made, name):
            title = f"{name}, epoch {one['epoch']}" if one["epoch"] else "before training"
            if (made[name] / f"measures/epoch-{one['epoch']}/{kind}").is_dir():
                found.setdefault(title, asked_after(made, {"training": name, **one}, kind))
    return found


def smallest(differences):
    """Two-sided at 0.05 with a power of 0.8, by the normal approximation."""
    middle = plain.mean(differences)
    deviation = math.sqrt(sum((d - middle) ** 2 for d in differences) / (len(differences) - 1))
    return (norm.ppf(0.975) + norm.ppf(0.8)) * deviation / math.sqrt(len(differences))


@pytest.mark.parametrize(("name", "kind"), [("Figure 18", "sort"), ("Appendix F.5, differences", "sort-in-context")])
def test_differences_of_checkpoints_are_mcnemar_of_each_two(found, made, name, kind):
    asked = checkpoints(made, kind)
    for record, (one, other) in zip(found[name].records, itertools.combinations(asked, 2), strict=True):
        pairs = zip(asked[one], asked[other], strict=True)
        both = [(a.right, b.right) for a, b in pairs if a.right is not None and b.right is not None]
        differences = [a - b for a, b in both]
        wins, losses = differences.count(1), differences.count(-1)
        assert (record["first"], record["second"], record["n"]) == (one, other, len(both))
        assert (record["first_mean"], record["second_mean"]) == pytest.approx(
            [plain.mean(of) for of in zip(*both, strict=True)]
        )
        assert record["mean"] == pytest.approx(plain.mean(differences))
        assert (record["wins"], record["ties"], record["losses"]) == (wins, differences.count(0), losses)
        assert record["p"] == pytest.approx(plain.mcnemar(wins, losses))
        assert record["smallest"] == pytest.approx(smallest(differences), rel=0.1)
    check_holm(found[name].records)
    assert any("24 failed questions are left out" in note for note in found[name].notes)


def test_log_ratios_of_checkpoints_are_tested_in_both_directions(found, made):
    asked, tests, records = checkpoints(made, "sort"), [], found["Figure 19"].records
    for record, (one, other) in zip(records, itertools.combinations(asked, 2), strict=True):
        pairs = zip(asked[one], asked[other], strict=True)
        both = [(a.log_ratio, b.log_ratio) for a, b in pairs if a.log_ratio is not None and b.log_ratio is not None]
        assert record["n"] == len(both) and record["mean"] == pytest.approx(plain.mean([a - b for a, b in both]))
        assert record["smallest"] == pytest.approx(smallest([a - b for a, b in both]), rel=0.1)
        for way, alternative in (("higher", "greater"), ("lower", "less")):
            tests.append(ttest_rel(*zip(*both, strict=True), alternative=alternative).pvalue)
            assert record[f"p_{way}"] == pytest.approx(tests[-1], rel=1e-6)
    corrected = [record[f"p_{way}_holm"] for record in records for way in ("higher", "lower")]
    assert corrected == pytest.approx(plain.holm(tests), rel=1e-6)


def test_nothing_is_left_out(found):
    """Every exhibit that these runs suffice for is made, and recomputed above or in test_regression.py."""
    recomputed = {*RATES, "Segment lengths", "Share of A", "Table 5", "Table 7", "Table 8", "Table 10"}
    recomputed |= {f"{name}, all that were tried" for name in ("Table 7", "Table 10")} | {
        f"Figure {n}" for n in range(15, 21)
    }
    assert set(found) == recomputed | {"Appendix F.5", "Appendix F.5, differences", "Figure 11, regression"}
    assert not any(isinstance(one, Missing) for one in found.values())
