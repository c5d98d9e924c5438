"""All exhibits in the order of the paper, what is missing, and what runs are called."""

from __future__ import annotations

import csv
import io
import shutil

import pyarrow.parquet as pq
import pytest

from epbench.errors import BadInput
from epbench.memfail.dataset.load import CONFIGS, load_memfail
from epbench.memfail.paper.inputs import PUBLISHED_ROWS, Inputs, read_datasets, read_runs
from epbench.memfail.paper.make import exhibits
from epbench.memfail.scores.reported_rates import PAPER, read_reported
from epbench.reports.exhibit import Exhibit, Missing, as_csv, write_exhibits
from tests.conftest import SHARED

NAMES = [
    "Table 2", "Figure 1", "Figure 1, beside success", "Figure 2", "Figure 3", "Figure 3, tokens per question",
    "Figure 4", "Figure 5", "Figure 6", "Figure 7", "Figure 8", "Figure 9",
]  # fmt: skip
MORE = ["Differences", "Scaling in N", "Scaling in K", "Tokens and cost"]


@pytest.mark.slow
def test_everything_is_in_the_order_of_the_paper_and_can_be_written(made, tmp_path):
    found = exhibits(made.inputs)
    assert [one.name for one in found] == [*NAMES, "Figure 9, no model inside", *MORE]
    shown = write_exhibits(tmp_path, "MemFail", found)
    assert len(shown.rows) == sum(isinstance(one, Missing) for one in found) and (tmp_path / "figure-08.svg").is_file()
    for one in found:
        if isinstance(one, Exhibit):
            assert one.title[-1] != "." and all(
                note.endswith((".", "judge")) or "judge" in note for note in one.table.notes
            )
            assert len({tuple(record) for record in one.records}) == 1  # the same columns in each
            rows = list(csv.DictReader(io.StringIO(as_csv(one))))
            assert len(rows) == len(one.records) and not {"nan", "NaN"} & {
                cell for row in rows for cell in row.values()
            }


def test_without_anything_only_what_needs_nothing_is_made():
    found = exhibits(Inputs())
    assert [one.name for one in found if isinstance(one, Exhibit)] == ["Table 2"]
    missing = [one for one in found if isinstance(one, Missing)]
    assert [one.name for one in missing] == [name for name in [*NAMES, *MORE] if name != "Table 2"]
    assert all(one.needs for one in missing)


def test_what_stands_beside_success_is_that_of_the_outcomes(made):
    (exhibit,) = [one for one in exhibits(made.inputs) if one.name == "Figure 1, beside success"]
    for record, row in zip(exhibit.records, exhibit.table.rows, strict=True):
        folder = {"none": "floor", "verbatim-bm25": "bm25", "oracle": "all"}.get(record["system"], "flaky")
        lines = pq.read_table(made.folder / folder / record["config"] / "questions.parquet").to_pylist()
        vacuous = sum(line["vacuous"] for line in lines)
        judged = [line for line in lines if line["success"] is not None]
        earned = sum(line["success"] and not line["vacuous"] for line in judged)
        answers = [line["answer_right"] for line in lines]
        assert (record["n_earned"], record["n_not_vacuous"]) == (earned, len(judged) - vacuous)
        assert [record[f"n_answers_{name}"] for name in ("right", "wrong", "unknown")] == [
            answers.count(True), answers.count(False), answers.count(None),
        ]  # fmt: skip
        assert row[6:] == [str(vacuous), str(record["vacuous_wrong"]), str(len(lines) - len(judged))]
        if not answers.count(None):
            assert row[5].startswith(f"{answers.count(True) / len(answers):.3f} (")
        else:
            assert row[5].startswith(f"{answers.count(True) / len(answers):.3f} to ")


def test_runs_are_called_by_system_reader_or_folder(made, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(made.folder / "bm25/long_hop", again)
    one = made.folder / "bm25"
    assert {run.label for run in read_runs([one])} == {"verbatim-bm25 (baseline)"}
    labels = [run.label for run in read_runs([one, again]) if run.config == "long_hop"]
    assert labels == ["verbatim-bm25 (baseline) [bm25]", "verbatim-bm25 (baseline) [again]"]
    shutil.copytree(again, tmp_path / "other/again")
    with pytest.raises(BadInput, match="rename one of the folders"):
        read_runs([again, tmp_path / "other/again"])
    (again / "questions.parquet").unlink()
    with pytest.raises(BadInput, match="start the run again"):
        read_runs([again])
    with pytest.raises(BadInput, match="expected a folder with"):
        read_datasets([str(tmp_path)])


def test_runs_without_a_judge_or_usage_are_shown(made, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(made.folder / "bm25/long_hop", folder)
    (folder / "usage.json").unlink()
    (run,) = read_runs([folder])
    assert run.spent["answering"].calls is None and run.system_model == "" and not run.on_published_rows
    assert [one for one in exhibits(Inputs([run])) if one.name == "Figure 1" and isinstance(one, Exhibit)]


@pytest.mark.skipif(not (SHARED / "memfail").is_dir(), reason="needs the published rows beside the checkout")
def test_the_published_rows_are_known(script, tmp_path):
    built = script("builders/memfail.py", "--source", SHARED / "memfail", "--out", tmp_path)
    assert built.returncode == 0, built.stderr
    found = {config: load_memfail(str(tmp_path / "memfail"), config).fingerprint for config in CONFIGS}
    assert found == PUBLISHED_ROWS


def test_the_numbers_of_the_papers_figures_come_out():
    made = {one.name: one for one in exhibits(Inputs(reported=read_reported(PAPER)))}

    def record(figure, config, system, k, **more):
        (found,) = [
            r
            for r in made[figure].records
            if (r["config"], r["system"], r["k"]) == (config, system, k)
            and all(r[name] == value for name, value in more.items())
        ]
        return found

    for system, rates in {
        "Mem0": (0.35, 0.61, 0.69), "SimpleMem": (0.07, 0.20, 0.34), "A-MEM": (0.25, 0.51, 0.61),
        "StructMem": (0.25, 0.49, 0.54),
    }.items():  # fmt: skip
        assert [record("Figure 1", "coexisting_facts", system, k)["mean"] for k in (5, 10, 15)] == list(rates)
    mem0 = record("Figure 1", "coexisting_facts", "Mem0", 5)
    assert (round(mem0["low"], 4), round(mem0["high"], 4)) == (0.2636, 0.4475)
    hard = record("Figure 8", "conditional_facts_hard", "A-MEM", 5)
    assert [hard[f"n_{s}_error"] for s in ("storage", "summary", "retrieval", "reasoning")] == [3, 47, 1, 14]
    direct = record("Figure 8", "persona_retrieval", "Mem0", 5, questions="direct")
    assert direct["n"] == 143 and direct["n_storage_error"] == 103 and direct["n_success"] == 14
    assert record("Figure 9", "conditional_facts_easy", "StructMem", 5)["storage_error"] == 1.0
    assert any(
        "StructMem, gpt-5.4-mini (reported) on conditional_facts_easy" in n for n in made["Figure 9"].table.notes
    )
    assert record("Figure 3, tokens per question", "coexisting_facts", "Mem0", 5, system_model="gpt-4.1-mini")[
        "tokens_per_question"
    ] == 1381  # fmt: skip
    assert len(made["Figure 4"].records) > 300 and isinstance(made["Differences"], Missing)
