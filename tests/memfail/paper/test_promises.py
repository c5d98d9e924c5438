"""What the tables and figures promise: their order, what is missing, names of runs, notes, drawings, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace

import pytest

from epbench.errors import BadInput
from epbench.judges.protocol import PastJudge
from epbench.memfail.dataset.load import CONFIGS, load_memfail
from epbench.memfail.paper import make
from epbench.memfail.paper.figures import by_k, by_model
from epbench.memfail.paper.inputs import PUBLISHED_ROWS, Inputs, read_datasets, read_runs
from epbench.memfail.paper.leaderboard import leaderboards
from epbench.memfail.paper.make import differences, exhibits, table_2, tokens_and_cost
from epbench.memfail.paper.rows import notes_on, rows_of
from epbench.memfail.scores.reported_rates import PAPER, read_reported
from epbench.models.prices import read_prices
from epbench.reports.exhibit import Exhibit, Missing, as_csv, write_exhibits
from epbench.reports.figures import drawing
from tests.conftest import SHARED
from tests.memfail.paper.conftest import K
from tests.memfail.paper.plain import questions_of

NAMES = [
    *("Table 2", "Figure 1", "Figure 1, beside success", "Figure 2", "Figure 3", "Figure 3, tokens per question"),
    *(f"Figure {number}" for number in range(4, 10)),
]
MORE = ["Differences", "Scaling in N", "Scaling in K", "Tokens and cost"]
published = pytest.mark.skipif(not (SHARED / "memfail").is_dir(), reason="needs the published rows beside the checkout")


def drawn(exhibit):
    """The figure, and the texts of its legend and above its panels."""
    with drawing():
        figure = exhibit.plot()
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return figure, legends + [title for axes in figure.axes if (title := axes.get_title())]


@pytest.mark.slow
def test_everything_is_in_the_order_of_the_paper_and_can_be_written(made, tmp_path):
    found = exhibits(made.inputs)
    assert [one.name for one in found] == [*NAMES, "Figure 9, no model inside", *MORE]
    shown = write_exhibits(tmp_path, "MemFail", found)
    assert len(shown.rows) == sum(isinstance(one, Missing) for one in found) and (tmp_path / "figure-08.svg").is_file()
    for one in (one for one in found if isinstance(one, Exhibit)):
        assert one.title[-1] != "." and all(note.endswith(".") or "judge" in note for note in one.table.notes)
        assert len({tuple(record) for record in one.records}) == 1  # the same columns in each
        rows = list(csv.DictReader(io.StringIO(as_csv(one))))
        cells = {cell for row in rows for cell in row.values()}
        assert len(rows) == len(one.records) and not {"nan", "NaN"} & cells


def test_without_anything_only_what_needs_nothing_is_made():
    found = exhibits(Inputs())
    assert [one.name for one in found if isinstance(one, Exhibit)] == ["Table 2"]
    missing = [one for one in found if isinstance(one, Missing)]
    assert [one.name for one in missing] == [name for name in [*NAMES, *MORE] if name != "Table 2"]
    assert all(one.needs for one in missing) and leaderboards(Inputs()) == []


def test_runs_are_called_by_system_reader_or_folder(made, tmp_path):
    again, one = tmp_path / "again", made.folder / "bm25"
    shutil.copytree(made.folder / "bm25/long_hop", again)
    assert {run.label for run in read_runs([one])} == {"verbatim-bm25 (baseline)"}
    labels = [run.label for run in read_runs([one, again]) if run.config == "long_hop"]
    assert labels == ["verbatim-bm25 (baseline) [bm25]", "verbatim-bm25 (baseline) [again]"]
    shutil.copytree(again, tmp_path / "other/again")
    with pytest.raises(BadInput, match="rename one of the folders"):
        read_runs([again, tmp_path / "other/again"])
    (again / "questions.parquet").unlink()
    with pytest.raises(BadInput, match="start the run again"):
        exhibits(Inputs(read_runs([again])))
    with pytest.raises(BadInput, match="expected a folder with"):
        read_datasets([str(tmp_path)])


def test_runs_without_a_judge_or_usage_are_shown(made, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(made.folder / "bm25/long_hop", folder)
    (folder / "usage.json").unlink()
    about = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({name: about[name] for name in about if name != "judge"}), "utf-8")
    (run,) = read_runs([folder])
    assert run.spent["answering"].calls is None and run.system_model == "" and not run.on_published_rows
    assert isinstance(by_k(Inputs([run]), "Figure 1"), Exhibit)
    (board,) = leaderboards(Inputs([run]))
    assert [record["judge"] for record in board.records] == ["not named, without a passport"]


def test_notes_say_what_to_know_beside_own_and_reported_rates(made):
    first = by_k(made.inputs, "Figure 1")
    assert {r["system_model"] for r in first.records if r["source"] == "reported"} == {"gpt-4.1-mini"}
    shown = {row[1] for row in by_k(made.inputs, "Figure 4").table.rows}
    assert shown >= {"Mem0, haiku-4.5 (reported)", "oracle (baseline)"}
    outcomes = questions_of(made.folder / "floor/persona_retrieval")
    empty = sum(line["vacuous"] for line in outcomes)
    rate, notes = f"{empty / len(outcomes):.3f}", "\n".join(first.table.notes)
    for text in (
        *("Garg et al.", "other rows than the published ones", "from all of them wrong", "judge lexical"),
        f"persona_retrieval {rate} computed, {rate} measured",
        f"none (baseline) at k = {K}: {empty} of {empty}",
        "Ceilings, the best success at any k: coexisting_facts oracle (baseline) 1.000",
    ):
        assert text in notes
    alone = by_k(Inputs([run for run in made.inputs.runs if run.system == "verbatim-bm25"]), "Figure 1")
    assert any("No ceiling is known" in note for note in alone.table.notes)
    compared = " ".join(differences(made.inputs).table.notes)
    for text in ("McNemar", "Holm over all 18 comparisons", "80 % power", "failed in one of the runs are left out"):
        assert text in compared


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


def test_success_by_model_has_the_systems_that_were_run_with_two(made):
    assert {r["system"] for r in by_model(made.inputs, "Figure 2").records} == {"StructMem", "SimpleMem"}
    assert {r["source"] for r in by_model(made.inputs, "Figure 5").records} == {"reported"}  # no model inside baselines
    bm25 = next(run for run in made.inputs.runs if run.system == "verbatim-bm25" and run.config == "long_hop")
    mine = [replace(bm25, system="mine", label=f"mine, {m}", system_model=m) for m in ("b", "a")]
    exhibit = by_model(Inputs(mine), "Figure 5")
    assert exhibit.table.head == ["config", "system", "k", "a", "b"]
    assert exhibit.table.rows[0][:3] == ["long_hop", "mine", str(K)]
    assert "a" in drawn(exhibit)[1] and exhibit.table.notes[0] == f"The figure shows k = {K}."
    assert isinstance(by_model(Inputs(mine[:1]), "Figure 5"), Missing)


@pytest.mark.slow
def test_drawings_have_a_panel_for_each_config_one_legend_and_need_no_colour(made):
    found = {one.name: one for one in exhibits(made.inputs)}
    _, texts = drawn(found["Figure 1"])
    assert {"Coexisting facts", "Long hop", "oracle (baseline)", "Mem0, gpt-4.1-mini (reported)"} <= set(texts)
    assert texts.count("oracle (baseline)") == 1
    assert {"gpt-4.1-mini, Long hop", "no model inside, Coexisting facts"} <= {*drawn(found["Figure 4"])[1]}
    stages, texts = drawn(found["Figure 8"])
    assert {"Persona retrieval, direct", "Persona retrieval, misleading", "storage error"} <= set(texts)
    assert len({patch.get_hatch() for patch in stages.axes[0].patches}) == 5
    by_memory, by_question = found["Figure 3"], found["Figure 3, tokens per question"]
    assert isinstance(by_question, Missing)  # neither the reader nor these reported rates have tokens
    assert ("none", "long_hop") not in {(r["system"], r["config"]) for r in by_memory.records}  # nothing came back
    assert all(drawn(one)[0].axes for one in (by_memory, found["Scaling in N"], found["Scaling in K"]))


def test_runs_with_other_judges_are_not_compared(made):
    one, other = [run for run in made.inputs.runs if run.config == "long_hop"][:2]
    assert isinstance(differences(Inputs([one, replace(other, judge=PastJudge("another", "1"))])), Missing)
    assert isinstance(differences(Inputs([one])), Missing)


def test_prices_add_a_cost(made, tmp_path):
    assert any("No file of prices" in note for note in tokens_and_cost(made.inputs).table.notes)
    (tmp_path / "p.json").write_text('{"currency": "USD", "models": {}}', "utf-8")
    prices = read_prices(tmp_path / "p.json")
    priced = tokens_and_cost(Inputs(read_runs([made.folder / "bm25"], prices), prices=prices))
    assert "cost in USD" in priced.table.head and {record["cost"] for record in priced.records} == {0.0}


def test_table_2_stands_beside_the_papers_and_says_why_tokens_are_not_counted(made, monkeypatch):
    def absent():
        raise BadInput("no vocabulary")

    monkeypatch.setattr(make, "cl100k_tokens", absent)
    exhibit = table_2(made.inputs)
    assert {r["tokens"] for r in exhibit.records if r["source"] == "own"} == {None}
    assert "Tokens were not counted: no vocabulary." in exhibit.table.notes
    reported = [r for r in exhibit.records if r["source"] == "reported"]
    assert len(reported) == 10 and sum(r["rows"] for r in reported) == 492
    assert [r["tokens"] for r in reported if r["config"] == "long_hop"] == [59, 74, 87]


def test_reported_rows_of_the_leaderboard_name_their_file(made):
    (found,) = leaderboards(replace(made.inputs, sources={"rates.json": "a table of the paper"}))
    assert {record["origin"] for record in found.records if record["source"] == "reported"} == {"rates.json"}
    assert any("rates.json: a table of the paper." in note for note in found.table.notes)


@published
def test_the_published_rows_are_known_and_have_the_numbers_of_the_paper(script, tmp_path):
    built = script("builders/memfail.py", "--source", SHARED / "memfail", "--out", tmp_path)
    assert built.returncode == 0, built.stderr
    data = str(tmp_path / "memfail")
    assert {config: load_memfail(data, config).fingerprint for config in CONFIGS} == PUBLISHED_ROWS
    found = table_2(Inputs(datasets=read_datasets([data])))
    for config, size in {(r["config"], r["size"]) for r in found.records}:
        one, other = (r for r in found.records if (r["config"], r["size"]) == (config, size))
        for column in ("rows", "questions", "yes", "no", "condition_types"):
            assert one[column] == other[column], (config, size, column)
        if one["tokens"] is not None and other["tokens"] is not None:
            assert round(one["tokens"]) == round(other["tokens"])


RATES = "Mem0 .35 .61 .69, SimpleMem .07 .20 .34, A-MEM .25 .51 .61, StructMem .25 .49 .54"
"""Of Figure 1 on coexisting facts, at k = 5, 10 and 15."""


def test_the_numbers_of_the_papers_figures_come_out():
    made = {one.name: one for one in exhibits(Inputs(reported=read_reported(PAPER)))}

    def record(figure, config, system, k, **more):
        wanted = {"config": config, "system": system, "k": k, **more}
        (found,) = [r for r in made[figure].records if wanted.items() <= r.items()]
        return found

    for system, *rates in map(str.split, RATES.split(", ")):
        found = [record("Figure 1", "coexisting_facts", system, k)["mean"] for k in (5, 10, 15)]
        assert found == list(map(float, rates))
    mem0 = record("Figure 1", "coexisting_facts", "Mem0", 5)
    assert (round(mem0["low"], 4), round(mem0["high"], 4)) == (0.2636, 0.4475)
    hard = record("Figure 8", "conditional_facts_hard", "A-MEM", 5)
    assert [hard[f"n_{s}_error"] for s in ("storage", "summary", "retrieval", "reasoning")] == [3, 47, 1, 14]
    direct = record("Figure 8", "persona_retrieval", "Mem0", 5, questions="direct")
    assert (direct["n"], direct["n_storage_error"], direct["n_success"]) == (143, 103, 14)
    assert record("Figure 9", "conditional_facts_easy", "StructMem", 5)["storage_error"] == 1.0
    empty = "StructMem, gpt-5.4-mini (reported) on conditional_facts_easy"
    assert any(empty in note for note in made["Figure 9"].table.notes)
    tokens = record("Figure 3, tokens per question", "coexisting_facts", "Mem0", 5, system_model="gpt-4.1-mini")
    assert tokens["tokens_per_question"] == 1381
    assert len(made["Figure 4"].records) > 300 and isinstance(made["Differences"], Missing)
