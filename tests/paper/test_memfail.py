"""What the exhibits about MemFail promise beside their numbers: names of runs, notes, drawings, and what is refused."""

import json
import shutil
from dataclasses import replace

import pytest

from epbench.errors import BadInput
from epbench.judges.protocol import PastJudge
from epbench.memfail.dataset.load import CONFIGS, load_memfail
from epbench.memfail.paper import make
from epbench.memfail.paper.figures import by_k, by_model
from epbench.memfail.paper.inputs import PUBLISHED_ROWS, Inputs, notes_on, read_datasets, read_runs, rows_of
from epbench.memfail.paper.make import differences, exhibits, leaderboards, table_2, tokens_and_cost
from epbench.memfail.scores.reported_rates import PAPER, read_reported
from epbench.models.estimate import read_prices
from epbench.reports.exhibit import Exhibit, Missing
from epbench.reports.figures import drawing
from tests.conftest import SHARED
from tests.paper.plain_memfail import LABELS, K, cell, questions_of, stages

published = pytest.mark.skipif(not (SHARED / "memfail").is_dir(), reason="needs the published rows beside the checkout")


def drawn(exhibit):
    """The figure, and the texts of its legend and above its panels."""
    with drawing():
        figure = exhibit.plot()
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return figure, legends + [title for axes in figure.axes if (title := axes.get_title())]


def test_runs_are_called_by_system_reader_or_folder_and_may_lack_a_judge_or_usage(memfail_folder, tmp_path):
    again, one = tmp_path / "again", memfail_folder / "bm25"
    shutil.copytree(memfail_folder / "bm25/long_hop", again)
    assert {run.label for run in read_runs([one])} == {"verbatim-bm25 (baseline)"}
    labels = [run.label for run in read_runs([one, again]) if run.config == "long_hop"]
    assert labels == ["verbatim-bm25 (baseline) [bm25]", "verbatim-bm25 (baseline) [again]"]
    shutil.copytree(again, tmp_path / "other/again")
    with pytest.raises(BadInput, match="rename one of the folders"):
        read_runs([again, tmp_path / "other/again"])
    (again / "usage.json").unlink()
    about = json.loads((again / "run.json").read_text("utf-8"))
    (again / "run.json").write_text(json.dumps({name: about[name] for name in about if name != "judge"}), "utf-8")
    (run,) = read_runs([again])
    assert run.spent["answering"].calls is None and run.system_model == "" and not run.on_published_rows
    assert isinstance(by_k(Inputs([run]), "Figure 1"), Exhibit)
    (board,) = leaderboards(Inputs([run]))
    assert [record["judge"] for record in board.records] == ["not named, without a passport"]
    (again / "questions.parquet").unlink()
    with pytest.raises(BadInput, match="start the run again"):
        exhibits(Inputs(read_runs([again])))
    with pytest.raises(BadInput, match="expected a folder with"):
        read_datasets([str(tmp_path)])


def test_notes_say_what_to_know_beside_own_and_reported_rates(memfail_given, memfail_folder):
    first = by_k(memfail_given, "Figure 1")
    assert {r["system_model"] for r in first.records if r["source"] == "reported"} == {"gpt-4.1-mini"}
    shown = {row[1] for row in by_k(memfail_given, "Figure 4").table.rows}
    assert shown >= {"Mem0, haiku-4.5 (reported)", "oracle (baseline)"}
    outcomes = questions_of(memfail_folder / "floor/persona_retrieval")
    empty = sum(line["vacuous"] for line in outcomes)
    rate, notes = f"{empty / len(outcomes):.3f}", "\n".join(first.table.notes)
    for text in (
        *("Garg et al.", "other rows than the published ones", "from all of them wrong", "judge lexical"),
        f"persona_retrieval {rate} computed, {rate} measured",
        f"none (baseline) at k = {K}: {empty} of {empty}",
        "Ceilings, the best success at any k: coexisting_facts oracle (baseline) 1.000",
    ):
        assert text in notes
    alone = by_k(Inputs([run for run in memfail_given.runs if run.system == "verbatim-bm25"]), "Figure 1")
    assert any("No ceiling is known" in note for note in alone.table.notes)
    compared = " ".join(differences(memfail_given).table.notes)
    for text in ("McNemar", "Holm over all 18 comparisons", "80 % power", "failed in one of the runs are left out"):
        assert text in compared
    one, other = [run for run in memfail_given.runs if run.config == "long_hop"][:2]  # with other judges
    assert isinstance(differences(Inputs([one, replace(other, judge=PastJudge("another", "1"))])), Missing)
    (found,) = leaderboards(replace(memfail_given, sources={"rates.json": "a table of the paper"}))
    assert {record["origin"] for record in found.records if record["source"] == "reported"} == {"rates.json"}
    assert any("rates.json: a table of the paper." in note for note in found.table.notes)


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


def test_success_by_model_has_the_systems_that_were_run_with_two(memfail_given):
    assert {r["system"] for r in by_model(memfail_given, "Figure 2").records} == {"StructMem", "SimpleMem"}
    assert {r["source"] for r in by_model(memfail_given, "Figure 5").records} == {"reported"}  # baselines have none
    bm25 = next(run for run in memfail_given.runs if run.system == "verbatim-bm25" and run.config == "long_hop")
    mine = [replace(bm25, system="mine", label=f"mine, {m}", system_model=m) for m in ("b", "a")]
    exhibit = by_model(Inputs(mine), "Figure 5")
    assert exhibit.table.head == ["config", "system", "k", "a", "b"]
    assert exhibit.table.rows[0][:3] == ["long_hop", "mine", str(K)]
    assert "a" in drawn(exhibit)[1] and exhibit.table.notes[0] == f"The figure shows k = {K}."
    assert isinstance(by_model(Inputs(mine[:1]), "Figure 5"), Missing)


def test_cells_show_what_the_frame_holds(memfail_paper):
    def row(name, *first):
        table = memfail_paper.exhibits[name].table
        (found,) = [row for row in table.rows if tuple(row[: len(first)]) == first]
        return dict(zip(table.head, found, strict=True))

    label, config = LABELS["flaky"], "long_hop"
    questions = memfail_paper.of_run(label, config)
    found = stages(questions)
    n, failed, right = found["n"], found["n_failed"], found["n_right"]
    success = f"{right / (n + failed):.3f} to {(right + failed) / (n + failed):.3f}"
    assert failed and row("Figure 1", config, label)[f"k = {K}"] == success
    beside_it = row("Figure 1, beside success", config, label)
    assert (beside_it["success"], beside_it["failed"]) == (success, str(failed))
    of_stages = row("Figure 9, no model inside", config, label)
    assert of_stages["correct"] == f"{right} ({right / n:.2f})" and of_stages["n"] == str(n)
    hops = memfail_paper.rows[config][0]["hop_count"]
    ids = {one["id"] for one in memfail_paper.rows[config] if one["hop_count"] == hops}
    of_size = cell([question for question in questions if question["id"] in ids])
    assert row("Scaling in K", label)[f"K = {hops}"].endswith(f"[{of_size['n']}]")
    pairs = memfail_paper.exhibits["Differences"]
    for record, cells in zip(pairs.records, pairs.table.rows, strict=True):
        different = "yes" if record["p_holm"] < 0.05 else "not shown"
        expected = [
            *("{success_first:.3f} / {success_second:.3f}", "{better} / {equal} / {worse}", "{p_holm:.3g}", different),
            "{smallest_difference:.3f} / {smallest_difference_corrected:.3f}",
        ]
        assert [cells[at] for at in (4, 6, 8, 9, 10)] == [text.format(**record) for text in expected]


@pytest.mark.slow
def test_drawings_have_a_panel_for_each_config_one_legend_and_need_no_colour(memfail_paper):
    found = memfail_paper.exhibits
    _, texts = drawn(found["Figure 1"])
    assert {"Coexisting facts", "Long hop", "oracle (baseline)", "Mem0, gpt-4.1-mini (reported)"} <= set(texts)
    assert texts.count("oracle (baseline)") == 1
    assert {"gpt-4.1-mini, Long hop", "no model inside, Coexisting facts"} <= {*drawn(found["Figure 4"])[1]}
    of_stages, texts = drawn(found["Figure 8"])
    assert {"Persona retrieval, direct", "Persona retrieval, misleading", "storage error"} <= set(texts)
    assert len({patch.get_hatch() for patch in of_stages.axes[0].patches}) == 5
    by_memory = found["Figure 3"]
    assert ("none", "long_hop") not in {(r["system"], r["config"]) for r in by_memory.records}  # nothing came back
    assert all(drawn(one)[0].axes for one in (by_memory, found["Scaling in N"], found["Scaling in K"]))


def test_prices_add_a_cost_and_table_2_says_why_tokens_are_not_counted(
    memfail_given, memfail_folder, tmp_path, monkeypatch
):
    assert any("No file of prices" in note for note in tokens_and_cost(memfail_given).table.notes)
    (tmp_path / "p.json").write_text('{"currency": "USD", "models": {}}', "utf-8")
    prices = read_prices(tmp_path / "p.json")
    priced = tokens_and_cost(Inputs(read_runs([memfail_folder / "bm25"], prices), prices=prices))
    assert "cost in USD" in priced.table.head and {record["cost"] for record in priced.records} == {0.0}

    def absent():
        raise BadInput("no vocabulary")

    monkeypatch.setattr(make, "cl100k_tokens", absent)
    exhibit = table_2(memfail_given)
    assert {r["tokens"] for r in exhibit.records if r["source"] == "own"} == {None}
    assert "Tokens were not counted: no vocabulary." in exhibit.table.notes
    reported = [r for r in exhibit.records if r["source"] == "reported"]
    assert len(reported) == 10 and sum(r["rows"] for r in reported) == 492
    assert [r["tokens"] for r in reported if r["config"] == "long_hop"] == [59, 74, 87]


@pytest.mark.slow
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
