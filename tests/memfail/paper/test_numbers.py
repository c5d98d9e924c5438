"""Every number of every exhibit of the paper, against what plain loops make of the files of the runs and of the paper."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from scipy.stats import binomtest, t

from epbench.memfail.paper import make
from epbench.memfail.paper.leaderboard import leaderboards
from epbench.memfail.paper.make import exhibits
from epbench.reports.exhibit import Exhibit
from tests.memfail.paper.conftest import LABELS, SYSTEMS, K
from tests.memfail.paper.plain import Reported, beside, cell, labels, lines_of, questions_of, stages

TEXTS = {
    *"config label source system system_model model judge shown questions stage size generator".split(),
    *"label_first label_second origin memory about".split(),
}
NAMES = ["Table 2", *(f"Figure {number}" for number in range(1, 10)), "Figure 1, beside success", "Differences"]
NAMES += ["Figure 9, no model inside", "Scaling in N", "Scaling in K", "Tokens and cost", "Leaderboard, MemFail"]
FOLDERS = {label: name for name, label in LABELS.items()}
SIZES = {
    "coexisting_facts": ("n_facts", lambda row: len(row["preferences"])),
    "long_hop": ("hops", lambda row: row["hop_count"]),
}


@pytest.fixture(scope="module")
def shown(made):
    with pytest.MonkeyPatch.context() as patch:  # tokens are words, so that nobody needs a vocabulary
        patch.setattr(make, "cl100k_tokens", lambda: lambda text: len(text.split()))
        found = [*exhibits(made.inputs), *leaderboards(made.inputs)]
    return {one.name: one for one in found if isinstance(one, Exhibit)}


@pytest.fixture(scope="module")
def reported(made):
    return Reported(made.folder)


def of_run(made, label, config):
    return questions_of(made.folder / FOLDERS[label] / config)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_that_of_the_files(made, shown, reported, name):
    exhibit, checked = shown[name], 0
    for record in exhibit.records:
        expected = numbers(name, record, made, reported, exhibit)
        if expected is not None:
            found = {column: value for column, value in record.items() if column not in TEXTS}
            assert found == pytest.approx(expected, abs=1e-9), (name, record)
            checked += 1
    assert checked
    assert not any(value != value for record in exhibit.records for value in record.values())  # NaN


def numbers(name, record, made, reported, exhibit):
    """The expected numbers of a record, by column; None for a record that another test is about."""
    if name == "Table 2":
        return of_rows(record, made) if record["source"] == "own" else None
    if name == "Differences":
        return of_pair(record, made, exhibit)
    if name == "Tokens and cost":
        return of_stage(record, made)
    if name.startswith("Leaderboard"):
        return of_standing(record, made, exhibit) if record["source"] == "own" else None
    kind = record.get("questions", "all")
    if record["source"] == "reported":
        place = record["config"], record["system"], record["system_model"], record["k"]
        found = reported.stages(place, kind) if "n_success" in record else reported.cell(place)
        return found | {"k": record["k"]}
    questions = [q for q in of_run(made, record["label"], record["config"]) if kind in ("all", q["kind"])]
    if name.startswith("Scaling"):
        column, size_of = SIZES[record["config"]]
        ids = {row["id"] for row in made.rows[record["config"]] if size_of(row) == record[column]}
        part = {"k": K, column: record[column], "tokens_per_memory": None}  # which are counted for all questions alone
        return cell([q for q in questions if q["id"] in ids]) | part
    plain = stages if "n_success" in record else beside if "n_earned" in record else cell
    return plain(questions) | {"k": K} | ({} if kind == "all" else {"tokens_per_memory": None})


def of_rows(record, made):
    rows = made.rows[record["config"]]
    if record["size"]:
        rows = [row for row in rows if SIZES[record["config"]][1](row) == int(record["size"].split(" = ")[1])]
    if record["config"] == "persona_retrieval":
        asked = [question for row in rows for question in row["questions"]]
        misleading = sum(question["is_misleading"] for question in asked) / len(asked)
        assert (record["misleading"], record["questions"]) == (misleading, len(asked))
        return None
    texts = {"coexisting_facts": "preference_facts", "long_hop": "facts"}[record["config"]]
    if record["config"] == "coexisting_facts":
        words = sum(len(text.split()) for row in rows for text in [*row[texts], row["question"]])
        assert record["tokens"] == pytest.approx(words / len(rows))
        assert record["facts"] == sum(len(row["preferences"]) for row in rows)
    assert (record["rows"], record["questions"]) == (len(rows), len(rows))
    return {column: value for column, value in record.items() if column not in TEXTS}


def of_pair(record, made, exhibit):
    """McNemar's exact test, Holm's correction and the smallest difference, by hand; the bootstrap is tested elsewhere."""
    runs = [of_run(made, record[f"label_{side}"], record["config"]) for side in ("first", "second")]
    one, other = ({q["id"]: q["success"] for q in questions} for questions in runs)
    both = [(one[id_], other[id_]) for id_ in one if None not in (one[id_], other[id_])]
    n, wins, losses = len(both), both.count((True, False)), both.count((False, True))
    rates = [sum(of) / n for of in zip(*both, strict=True)]
    rate = min(max(sum(rates) / 2, 0.5 / n), 1 - 0.5 / n)

    def smallest(alpha):
        return min(1.0, (t.ppf(1 - alpha / 2, n - 1) + t.ppf(0.8, n - 1)) * math.sqrt(2 * rate * (1 - rate) / n))

    ps = sorted(r["p"] for r in exhibit.records)
    holm = max(min(1.0, p * (len(ps) - rank)) for rank, p in enumerate(ps) if p <= record["p"])
    assert record["low"] <= record["difference"] <= record["high"]
    lost = {f"n_failed_{side}": list(of.values()).count(None) for side, of in (("first", one), ("second", other))}
    found = {"k": K, "n": n, "success_first": rates[0], "success_second": rates[1], "difference": rates[0] - rates[1]}
    found |= {**lost, "low": record["low"], "high": record["high"], "p_holm": holm}
    found |= {"better": wins, "worse": losses, "equal": n - wins - losses, "smallest_difference": smallest(0.05)}
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return found | {"p": p, "smallest_difference_corrected": smallest(0.05 / len(ps))}


def of_stage(record, made):
    folder = made.folder / FOLDERS[record["label"]] / record["config"]
    usage = json.loads((folder / "usage.json").read_text("utf-8"))[record["stage"]]
    journal = {"answering": "answers.jsonl", "judging": "judgements.jsonl"}.get(record["stage"])
    none = 0 if record["label"].endswith("(baseline)") or journal else None  # a baseline asks no model
    calls = len(lines_of(folder / journal)) if journal else usage.get("calls", none)
    tokens = {name: usage.get(name, none) for name in ("tokens_in", "tokens_out")}
    found = {"calls": calls, **tokens, "embedding": 0, "seconds": usage["seconds"], "cost": None, "cost_of_run": None}
    return found | {"retries": None if journal else usage.get("retries", none)}


def of_standing(record, made, exhibit):
    """A score for each config, with the floor of the run without memory and the ceiling of the oracle on the same rows."""
    expected, means, asked = {}, [], 0
    for config in made.rows:
        questions = of_run(made, record["label"], config)
        found, asked = cell(questions), asked + len(questions)
        misleading = sum(q["kind"] == "misleading" for q in questions) / len(questions)
        floor = max(misleading, cell(of_run(made, LABELS["floor"], config))["mean"])
        ceiling = 1.0 if record["label"] == LABELS["all"] else cell(of_run(made, LABELS["all"], config))["mean"]
        highest = found["mean"] if found["highest"] is None else found["highest"]
        names = ("mean", "low", "high", "lowest", "highest")
        values = {name: found[name] for name in names} | {"floor": floor, "ceiling": ceiling}
        expected |= {f"{config}_{name}": value for name, value in values.items()}
        expected[f"{config}_below_floor"] = int(highest < floor)
        means.append(found["mean"])
    others = {column: value for column, value in record.items() if column not in TEXTS and column not in expected}
    assert others["n_asked"] == asked and others["rank"] == (None if others["mean_mean"] is None else others["rank"])
    assert others["mean_mean"] is None  # two configs have no run here
    return expected | others


def test_the_table_of_questions_is_that_of_the_journals(made):
    failed = Counter()
    for name in SYSTEMS:
        for config in SIZES:
            folder = made.folder / name / config
            found = {question["id"]: question["label"] for question in questions_of(folder)}
            assert found == labels(folder, made.rows[config])
            failed[name] += list(found.values()).count("failed")
    assert failed["flaky"] and not failed["bm25"]  # or nothing is tested


def test_cells_show_what_the_frame_holds(made, shown):
    def row(name, *first):
        table = shown[name].table
        (found,) = [row for row in table.rows if tuple(row[: len(first)]) == first]
        return dict(zip(table.head, found, strict=True))

    label, config = LABELS["flaky"], "long_hop"
    questions = of_run(made, label, config)
    found = stages(questions)
    n, failed, right = found["n"], found["n_failed"], found["n_right"]
    success = f"{right / (n + failed):.3f} to {(right + failed) / (n + failed):.3f}"
    assert failed and row("Figure 1", config, label)[f"k = {K}"] == success
    beside_it = row("Figure 1, beside success", config, label)
    assert (beside_it["success"], beside_it["failed"]) == (success, str(failed))
    of_stages = row("Figure 9, no model inside", config, label)
    assert of_stages["correct"] == f"{right} ({right / n:.2f})" and of_stages["n"] == str(n)
    hops = made.rows[config][0]["hop_count"]
    ids = {one["id"] for one in made.rows[config] if one["hop_count"] == hops}
    of_size = cell([question for question in questions if question["id"] in ids])
    assert row("Scaling in K", label)[f"K = {hops}"].endswith(f"[{of_size['n']}]")
    pairs = shown["Differences"].table
    for record, cells in zip(shown["Differences"].records, pairs.rows, strict=True):
        expected = {
            "success": "{success_first:.3f} / {success_second:.3f}",
            "better / equal / worse": "{better} / {equal} / {worse}",
            "different": "yes" if record["p_holm"] < 0.05 else "not shown",
            "smallest difference: alone / corrected": "{smallest_difference:.3f} / {smallest_difference_corrected:.3f}",
            "p (Holm)": "{p_holm:.3g}",
        }
        found = dict(zip(pairs.head, cells, strict=True))
        assert {name: found[name] for name in expected} == {name: of.format(**record) for name, of in expected.items()}
