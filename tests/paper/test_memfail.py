"""What the exhibits about MemFail promise beside their numbers: names of runs, drawings, what is refused; and the paper's."""

import json
import shutil
from dataclasses import replace
from unittest.mock import Mock

import pytest

from epbench.errors import BadInput
from epbench.judges.protocol import PastJudge
from epbench.memfail.dataset.load import CONFIGS, load_memfail
from epbench.memfail.leaderboard import leaderboards
from epbench.memfail.paper import make
from epbench.memfail.paper.inputs import PUBLISHED_ROWS, Inputs, read_datasets, read_runs
from epbench.memfail.paper.make import by_k, by_model, differences, exhibits, table_2, tokens_and_cost
from epbench.memfail.scores.reported_rates import PAPER, read_reported
from epbench.models.estimate import read_prices
from epbench.reports.exhibit import Missing
from tests.conftest import SHARED
from tests.paper.plain_memfail import K
from tests.scripts.in_process import ran


def test_runs_are_called_by_system_reader_or_folder_and_may_lack_a_judge_or_usage(memfail_folder, tmp_path):
    one, again = memfail_folder / "bm25", shutil.copytree(memfail_folder / "bm25/long_hop", tmp_path / "again")
    assert {run.label for run in read_runs([one])} == {"verbatim-bm25 (baseline)"}
    labels = [run.label for run in read_runs([one, again]) if run.config == "long_hop"]
    assert labels == ["verbatim-bm25 (baseline) [bm25]", "verbatim-bm25 (baseline) [again]"]
    with pytest.raises(BadInput, match="rename one of the folders"):
        read_runs([again, shutil.copytree(again, tmp_path / "other/again")])
    (again / "usage.json").unlink()
    about = json.loads((again / "run.json").read_text("utf-8"))
    (again / "run.json").write_text(json.dumps({name: about[name] for name in about if name != "judge"}), "utf-8")
    (run,) = read_runs([again])
    assert run.spent["answering"].calls is None and run.system_model == "" and not run.on_published_rows
    (board,) = leaderboards(Inputs([run]))
    assert [record["judge"] for record in board.records] == ["not named, without a passport"]
    (again / "questions.parquet").unlink()
    with pytest.raises(BadInput, match="start the run again"):
        exhibits(Inputs(read_runs([again])))
    with pytest.raises(BadInput, match="expected a folder with"):
        read_datasets([str(tmp_path)])


def test_what_is_compared_with_what(memfail_given):
    alone = by_k(Inputs([run for run in memfail_given.runs if run.system == "verbatim-bm25"]), "Figure 1")
    assert any("No ceiling is known" in note for note in alone.table.notes)
    one, other = [run for run in memfail_given.runs if run.config == "long_hop"][:2]
    assert isinstance(differences(Inputs([one, replace(other, judge=PastJudge("another", "1"))])), Missing)
    (found,) = leaderboards(replace(memfail_given, sources={"rates.json": "a table of the paper"}))
    assert {record["origin"] for record in found.records if record["source"] == "reported"} == {"rates.json"}
    assert any("rates.json: a table of the paper." in note for note in found.table.notes)


def test_success_by_model_has_the_systems_that_were_run_with_two(memfail_given):
    assert {r["system"] for r in by_model(memfail_given, "Figure 2").records} == {"StructMem", "SimpleMem"}
    assert {r["source"] for r in by_model(memfail_given, "Figure 5").records} == {"reported"}  # baselines have none
    bm25 = next(run for run in memfail_given.runs if run.system == "verbatim-bm25" and run.config == "long_hop")
    mine = [replace(bm25, system="mine", label=f"mine, {m}", system_model=m) for m in ("b", "a")]
    table = by_model(Inputs(mine), "Figure 5").table
    assert (table.head[3:], table.rows[0][:3]) == (["a", "b"], ["long_hop", "mine", str(K)])
    assert isinstance(by_model(Inputs(mine[:1]), "Figure 5"), Missing)


def test_prices_add_a_cost_and_missing_tokens_are_told(memfail_given, memfail_folder, tmp_path, monkeypatch):
    (tmp_path / "p.json").write_text('{"currency": "USD", "models": {}}', "utf-8")
    prices = read_prices(tmp_path / "p.json")
    priced = tokens_and_cost(Inputs(read_runs([memfail_folder / "bm25"], prices), prices=prices))
    assert "cost in USD" in priced.table.head and {record["cost"] for record in priced.records} == {0.0}
    monkeypatch.setattr(make, "cl100k_tokens", Mock(side_effect=BadInput("no vocabulary")))
    exhibit = table_2(memfail_given)
    assert {r["tokens"] for r in exhibit.records if r["source"] == "own"} == {None}
    assert "Tokens were not counted: no vocabulary." in exhibit.table.notes
    reported = [r for r in exhibit.records if r["source"] == "reported"]
    assert len(reported) == 10 and sum(r["rows"] for r in reported) == 492
    assert [r["tokens"] for r in reported if r["config"] == "long_hop"] == [59, 74, 87]


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "memfail").is_dir(), reason="needs the published rows beside the checkout")
def test_the_published_rows_are_known_and_have_the_numbers_of_the_paper(tmp_path):
    ran("builders/memfail.py", "--source", SHARED / "memfail", "--out", tmp_path)
    data = str(tmp_path / "memfail")
    assert {config: load_memfail(data, config).fingerprint for config in CONFIGS} == PUBLISHED_ROWS
    found = {(r["config"], r["size"], r["source"]): r for r in table_2(Inputs(datasets=read_datasets([data]))).records}
    for (config, size, _), theirs in found.items():
        own, tokens = found[config, size, "own"], theirs["tokens"]
        for column in ("rows", "questions", "yes", "no", "condition_types"):
            assert own[column] == theirs[column], (config, size, column)
        assert None in (own["tokens"], tokens) or round(own["tokens"]) == round(tokens)


NUMBERS = """
Figure 1 | config=coexisting_facts system=Mem0 k=5 mean=0.35 low=0.2636 high=0.4475
Figure 3, tokens per question | config=coexisting_facts system=Mem0 k=5 tokens_per_question=1381.0
Figure 8 | config=conditional_facts_hard system=A-MEM n_storage_error=3 n_summary_error=47 n_retrieval_error=1 n_reasoning_error=14
Figure 8 | config=persona_retrieval system=Mem0 questions=direct k=5 n=143 n_storage_error=103 n_success=14
Figure 9 | config=conditional_facts_easy system=StructMem k=5 storage_error=1.0
"""


def test_the_numbers_of_the_papers_figures_come_out():
    def in_words(of):
        return f"{of[0]}={round(of[1], 4) if isinstance(of[1], float) else of[1]}"

    reported = read_reported(PAPER)
    made = {one.name: one for one in exhibits(Inputs(reported=reported))}
    for figure, numbers in (line.split(" | ") for line in NUMBERS.strip().splitlines()):
        assert any({*numbers.split()} <= {*map(in_words, row.items())} for row in made[figure].records), numbers
    assert {row["system_model"] for row in made["Figure 1"].records} == {"gpt-4.1-mini"}
    rates = {(of["config"], of["system"], of["system_model"]): of["by_k"] for of in reported.values()}
    for row in made["Figure 4"].records:
        of_run = rates[row["config"], row["system"], row["system_model"]]
        assert row["mean"] == of_run.pop(str(row["k"]))["success_rate"]
    assert not any(rates.values()) and isinstance(made["Differences"], Missing)
    empty = "StructMem, gpt-5.4-mini (reported) on conditional_facts_easy"
    assert any(empty in note for note in made["Figure 9"].table.notes)
