"""The figures: every number in them is that of the journals, and of the reported files."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.rows import notes_on, rows_of
from epbench.memfail.paper.stages import figures_6_to_9, tokens_and_cost
from epbench.memfail.paper.systems import figure_1, figure_2, figure_3, figure_4, figure_5, scaling
from epbench.memfail.scores.cost import read_prices, spent
from epbench.reports.exhibit import Exhibit, Missing
from epbench.reports.figures import drawing
from tests.memfail.paper.conftest import SYSTEMS, K
from tests.memfail.paper.plain import counts, labels, lines_of, wilson

LABELS = {
    "floor": "none (baseline)", "bm25": "verbatim-bm25 (baseline)", "all": "oracle (baseline)", "flaky": "flaky.py:Flaky",
}  # fmt: skip
ONE_QUESTION_A_ROW = ("coexisting_facts", "long_hop")
SHORT = ("correct", "storage", "summary", "retrieval", "reasoning")


def own(records, name, config):
    return [r for r in records if (r["source"], r["label"], r["config"]) == ("own", LABELS[name], config)]


def cells_of(table, *first):
    """The rows of a table that begin with these cells, by title."""
    return [dict(zip(table.head, row, strict=True)) for row in table.rows if tuple(row[: len(first)]) == first]


def drawn(exhibit):
    with drawing():
        return exhibit.plot()


def texts_in(figure):
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return legends + [title for axes in figure.axes if (title := axes.get_title())]


@pytest.mark.parametrize("make", [figure_1, figure_4])
def test_success_by_k_is_that_of_the_journals(made, make):
    exhibit = make(made.inputs)
    for name in SYSTEMS:
        for config in ONE_QUESTION_A_ROW:
            found = counts(labels(made.folder / name / config, made.rows[config]))
            n, failed, right = len(made.rows[config]), found["failed"], found["correct"]
            (record,) = own(exhibit.records, name, config)
            assert (record["k"], record["n"], record["n_failed"], record["n_right"]) == (K, n - failed, failed, right)
            if failed:
                assert record["mean"] is record["low"] is record["high"] is None
                assert (record["lowest"], record["highest"]) == pytest.approx((right / n, (right + failed) / n))
            else:
                assert record["mean"] == pytest.approx(right / n) and record["lowest"] is record["highest"] is None
                assert (record["low"], record["high"]) == pytest.approx(wilson(right, n))
            for stage in SHORT[1:]:
                assert record[f"{stage}_error"] == pytest.approx(found[stage] / (n - failed))
            (shown,) = cells_of(exhibit.table, config, LABELS[name])
            low, high = wilson(right, n)
            expected = f"{right / n:.3f} ({low:.2f}–{high:.2f})"
            assert shown[f"k = {K}"] == (f"{right / n:.3f} to {(right + failed) / n:.3f}" if failed else expected)
    assert counts(labels(made.folder / "flaky/long_hop", made.rows["long_hop"]))["failed"]  # or nothing is tested
    assert any("from all of them wrong" in note for note in exhibit.table.notes)


def test_reported_rates_stand_beside_them_with_a_mark_and_intervals(made):
    rows = json.loads((made.folder / "paper_results.json").read_text())["rows"]
    exhibit = figure_4(made.inputs)
    for row in rows:
        if row["dataset"] == "Long-Hop":
            label = f"{row['system']}, {row['internal_model']} (reported)"
            (record,) = [
                r for r in exhibit.records if (r["label"], r["config"], r["k"]) == (label, "long_hop", row["k"])
            ]
            assert record["mean"] == row["success_rate"] and record["source"] == "reported"
            assert (record["low"], record["high"]) == pytest.approx(row["wilson95_z1.96"], abs=1e-4)
            (shown,) = cells_of(exhibit.table, "long_hop", label)
            assert shown[f"k = {row['k']}"].startswith(f"{row['success_rate']:.3f} (")
    first = figure_1(made.inputs)
    assert {r["system_model"] for r in first.records if r["source"] == "reported"} == {"gpt-4.1-mini"}
    assert any("Garg et al." in note for note in first.table.notes)
    assert any("other rows than the published ones" in note for note in first.table.notes)


def test_floor_ceiling_vacuous_passes_and_judges_are_in_the_notes(made):
    notes = "\n".join(figure_1(made.inputs).table.notes)
    outcomes = pq.read_table(made.folder / "floor/persona_retrieval/questions.parquet").to_pylist()
    empty = sum(line["vacuous"] for line in outcomes)
    assert f"persona_retrieval {empty / len(outcomes):.3f} computed, {empty / len(outcomes):.3f} measured" in notes
    assert f"none (baseline) at k = {K}: {empty} of {empty}" in notes
    assert "Ceilings, the best success at any k: coexisting_facts oracle (baseline) 1.000" in notes
    assert "judge lexical" in notes
    alone = figure_1(Inputs([run for run in made.inputs.runs if run.system == "verbatim-bm25"]))
    assert any("No ceiling is known" in note for note in alone.table.notes)


def test_the_drawings_have_a_panel_for_each_config_and_one_legend(made):
    texts = texts_in(drawn(figure_1(made.inputs)))
    assert {"Coexisting facts", "Long hop", "oracle (baseline)", "Mem0, gpt-4.1-mini (reported)"} <= set(texts)
    assert texts.count("oracle (baseline)") == 1
    grid = drawn(figure_4(made.inputs))
    shown = {text for text in texts_in(grid) if ", " in text}
    assert {"gpt-4.1-mini, Long hop", "no model inside, Coexisting facts"} <= shown


def test_success_by_model_has_the_systems_that_were_run_with_two(made):
    rows = json.loads((made.folder / "paper_results.json").read_text())["rows"]
    all_, two = figure_5(made.inputs), figure_2(made.inputs)
    assert {r["system"] for r in two.records} == {"StructMem", "SimpleMem"}
    assert {r["source"] for r in all_.records} == {"reported"}  # baselines have no model inside
    for row in rows:
        if row["dataset"] == "Coexisting-Facts":
            (shown,) = [
                cells
                for cells in cells_of(all_.table, "coexisting_facts", f"{row['system']} (reported)")
                if cells["k"] == str(row["k"])
            ]
            assert shown[row["internal_model"]].startswith(f"{row['success_rate']:.3f}")
    bm25 = [run for run in made.inputs.runs if run.system == "verbatim-bm25" and run.config == "long_hop"]
    mine = [replace(bm25[0], system="mine", label=f"mine, {m}", system_model=m, baseline=False) for m in ("b", "a")]
    exhibit = figure_5(Inputs(mine))
    assert exhibit.table.head == ["config", "system", "k", "a", "b"]
    assert exhibit.table.rows[0][:3] == ["long_hop", "mine", str(K)]
    assert "a" in texts_in(drawn(exhibit)) and exhibit.table.notes[0] == f"The figure shows k = {K}."
    assert isinstance(figure_5(Inputs(mine[:1])), Missing)


def test_stages_are_those_of_the_journals_and_of_the_reported_counts(made):
    *paper, none = figures_6_to_9(made.inputs)
    assert [one.name for one in paper] == ["Figure 6", "Figure 7", "Figure 8", "Figure 9"]
    assert none.name == "Figure 9, no model inside"
    for name in SYSTEMS:
        for config in ONE_QUESTION_A_ROW:
            found = counts(labels(made.folder / name / config, made.rows[config]))
            n = len(made.rows[config]) - found["failed"]
            (record,) = own(none.records, name, config)
            assert [record["n"], record["n_failed"]] == [n, found["failed"]]
            names = ("n_success", "n_storage_error", "n_summary_error", "n_retrieval_error", "n_reasoning_error")
            assert [record[x] for x in names] == [found[stage] for stage in SHORT]
            (shown,) = cells_of(none.table, config, LABELS[name])
            assert [shown[stage] for stage in SHORT] == [f"{found[s]} ({found[s] / n:.2f})" for s in SHORT]
            assert (shown["n"], shown["failed"]) == (str(n), str(found["failed"]))
    rows = json.loads((made.folder / "paper_error_breakdown.json").read_text())["rows"]
    for row in rows:
        if row["dataset"] == "persona_retrieval_misleading" and row["internal_model"] == "haiku-4.5":
            (record,) = [
                r
                for r in paper[1].records
                if (r["config"], r["system"], r["k"], r["questions"])
                == ("persona_retrieval", row["system"], row["k"], "misleading")
            ]
            assert record["n_success"] == row["correct_or_unanalysed"] and record["n"] == row["n"]
            assert [record[f"n_{stage}_error"] for stage in SHORT[1:]] == [row[stage] for stage in SHORT[1:]]


@pytest.mark.slow
def test_stages_are_told_apart_without_colour(made):
    figure = drawn(figures_6_to_9(made.inputs)[2])
    assert {"Persona retrieval, direct", "Persona retrieval, misleading", "storage error"} <= set(texts_in(figure))
    hatches = {patch.get_hatch() for patch in figure.axes[0].patches}
    assert len(hatches) == 5


def test_scaling_is_that_of_the_journals(made):
    for exhibit, config, size_of, column in zip(
        scaling(made.inputs), ONE_QUESTION_A_ROW, (lambda r: len(r["preferences"]), lambda r: r["hop_count"]),
        ("n_facts", "hops"), strict=True,
    ):  # fmt: skip
        for name in SYSTEMS:
            found = labels(made.folder / name / config, made.rows[config])
            for size in sorted({size_of(row) for row in made.rows[config]}):
                part = counts(found, [row["id"] for row in made.rows[config] if size_of(row) == size])
                (record,) = [r for r in own(exhibit.records, name, config) if r[column] == size]
                judged = part.total() - part["failed"]
                assert (record["n_right"], record["n_failed"]) == (part["correct"], part["failed"])
                whole = not part["failed"]
                assert record["mean"] == (pytest.approx(part["correct"] / judged) if whole else None)
                (shown,) = cells_of(exhibit.table, LABELS[name])
                assert shown[f"{exhibit.name[-1]} = {size}"].endswith(f"[{judged}]")
        assert drawn(exhibit).axes


def test_tokens_per_memory_are_words_for_the_lexical_reader(made):
    by_memory, by_question = figure_3(made.inputs)
    for config in ONE_QUESTION_A_ROW:
        retrieved = [m for line in lines_of(made.folder / f"bm25/{config}/retrieved.jsonl") for m in line["memories"]]
        (record,) = own(by_memory.records, "bm25", config)
        assert record["words_per_memory"] == pytest.approx(sum(len(m.split()) for m in retrieved) / len(retrieved))
        (shown,) = cells_of(by_memory.table, config, LABELS["bm25"])
        assert shown["tokens per retrieved memory"] == f"{record['tokens_per_memory']:,.1f}"
    assert not own(by_memory.records, "floor", "long_hop")  # nothing was retrieved
    assert isinstance(by_question, Missing)  # neither the reader nor these reported rates have tokens
    assert drawn(by_memory).axes


def test_tokens_and_cost_are_those_of_the_runs(made, tmp_path):
    exhibit = tokens_and_cost(made.inputs)
    for name in SYSTEMS:
        for config in ONE_QUESTION_A_ROW:
            records = {r["stage"]: r for r in own(exhibit.records, name, config)}
            assert records["answering"]["calls"] == len(lines_of(made.folder / name / config / "answers.jsonl"))
            assert records["judging"]["calls"] == len(lines_of(made.folder / name / config / "judgements.jsonl"))
            assert records["judging"]["cost"] is None and records["judging"]["cost_of_run"] is None
    assert any("No file of prices" in note for note in exhibit.table.notes)
    (tmp_path / "p.json").write_text('{"currency": "USD", "models": {}}')
    prices = read_prices(tmp_path / "p.json")
    run = made.inputs.runs[0]
    about = json.loads((run.folder / "run.json").read_text())
    usage = json.loads((run.folder / "usage.json").read_text())
    priced = tokens_and_cost(Inputs([replace(run, spent=spent(about, usage, prices))], prices=prices))
    assert isinstance(priced, Exhibit) and "cost in USD" in priced.table.head


def test_reported_systems_in_which_nothing_was_stored_are_pointed_out():
    errors = {"storage_error": 1.0, "summary_error": 0.0, "retrieval_error": 0.0, "reasoning_error": 0.0}
    by_k = {"5": {"success_rate": 0.0, "n": 92, "intervals": {}, **errors}}
    rates = {"config": "long_hop", "system": "StructMem", "system_model": "small", "reported": True, "by_k": by_k}
    inputs = Inputs(reported={"StructMem, small, reported (long_hop)": rates})
    (one,) = rows_of(inputs)
    assert (one["label"], one["source"]) == ("StructMem, small (reported)", "reported")
    assert any("StructMem, small (reported) on long_hop is a storage error" in note for note in notes_on(inputs, [one]))
    by_k["5"]["storage_error"] = 0.9
    assert not any("storage error" in note for note in notes_on(inputs, rows_of(inputs)))
