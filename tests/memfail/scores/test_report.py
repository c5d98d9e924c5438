"""Tables and reports: baselines and reported rates beside systems, the floor in every table, one file per page."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from epbench.errors import BadInput
from epbench.memfail.benchmark import BENCHMARK
from epbench.memfail.scores.report import comparison_report, html_report
from epbench.memfail.scores.reported_rates import beside, read_reported
from epbench.memfail.scores.run_files import run_folders
from epbench.memfail.scores.scoring import score_outcomes
from epbench.memfail.scores.tables import by_config, markdown_table, screen_tables, tables
from tests.memfail.memfail_samples import outcome


def run(system, labels, config="coexisting_facts", ks=(5,), *, right=True, floor=None, **values):
    outcomes = [outcome(label, k, group=str(2 + i % 2), right=right, i=i) for k in ks for i, label in enumerate(labels)]
    by_k = score_outcomes(outcomes)
    for scores in by_k.values():
        scores["tokens_per_memory"] = 7.5 if scores["words_per_memory"] is not None else None
    return {
        "config": config, "system": system, "by_k": by_k, "warnings": [],
        "floor": floor or {"success_rate": 0.0, "answer_accuracy": 0.0}, **values,
    }  # fmt: skip


write_side_by_side = BENCHMARK.side_by_side
C, S, R = "correct", "storage_error", "retrieval_error"


@pytest.fixture
def runs():
    return {
        "all <text>": run("full-context", [C, C, C, C], ks=(5, 10)),
        "mine": run("my:Memory", [C, S, R, "failed"], ks=(5, 10), warnings=["the store is <empty>"]),
        "nothing": run("none", [C, C, S, S], ks=(5,)),
        "chains": run("my:Memory", [C, R], "long_hop"),
    }


def test_floor_first_ceiling_last_and_a_system_below_the_floor_is_marked(runs):
    main, groups, *_ = tables(runs)
    titles, rows = main.head, main.rows
    # The first floor is computed from the questions, beside the run without memory.
    assert [row[0] for row in rows] == ["floor", "nothing", "mine", "mine", "all <text>", "all <text>"]
    assert [row[1] for row in rows] == ["–", "5", "5", "10", "5", "10"]
    notes = {tuple(row[:2]): row[-1] for row in rows}
    assert notes["nothing", "5"] == notes["all <text>", "5"] == "baseline"
    assert notes["mine", "5"] == notes["mine", "10"] == "below floor"  # the floor of k = 5 serves k = 10
    mine = dict(zip(titles, rows[2], strict=True))
    assert mine["success"].startswith("0.333 (") and (mine["storage"], mine["retrieval"]) == ("0.333", "0.333")
    assert (mine["failed"], mine["words/memory"]) == ("1", "5.0") and "vacuous" not in titles
    assert groups.head == ["coexisting_facts: success by group", "k", "2 (2)", "3 (2)"]


def test_without_a_run_without_memory_the_floor_is_computed():
    floor = {"success_rate": 0.5, "answer_accuracy": 0.68}
    scores = run("m:M", [C, S, S], right=False, floor=floor)
    scores["by_k"]["5"]["vacuous"] = 1
    table, *_ = tables({"m": scores})
    titles, rows = table.head, table.rows
    assert dict(zip(titles, rows[0], strict=True))["success"] == "0.500" and rows[0][-1] == "computed"
    assert "vacuous" in titles and "earned" in titles
    assert rows[1][-1] == "below floor, answers below floor"


@pytest.mark.parametrize(("share", "n", "shown"), [(0.84, 100, "84% say A"), (0.79, 100, ""), (1.0, 9, "")])
def test_a_reader_that_prefers_an_answer_is_marked(share, n, shown):
    scores = run("m:M", [C, S], "long_hop", commonest_answer={"5": {"answer": "A", "share": share, "n": n}})
    assert tables({"m": scores})[0].rows[-1][-1] == shown


def test_configs_have_tables_of_their_own(runs):
    assert list(by_config(runs)) == ["coexisting_facts", "long_hop"]
    text = markdown_table(runs)
    places = [text.index(of) for of in ("| coexisting_facts |", "| long_hop |", "- mine: the store is &lt;empty&gt;")]
    assert places == sorted(places)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.split("\n\n")[0].splitlines()}
    assert len(widths) == 1
    console = Console(file=io.StringIO(), width=200)
    console.print(screen_tables(runs))
    assert "below floor" in console.file.getvalue()


@pytest.mark.slow
def test_a_page_of_several_runs_has_floor_ceiling_and_diagnosis_in_one_figure(runs, drawn_pictures):
    html = comparison_report(runs)
    assert "tokens per retrieved memory" in html
    assert html.count("<svg") == 6  # coexisting: stages, by k, by tokens, by group; chains: stages, by group
    stages = html[html.index("<svg") : html.index("</svg>")]
    for text in ("floor, no memory (0.50)", "ceiling, all &lt;text&gt; (1.00)", "storage error", "correct", "k = 10"):
        assert text in stages, text
    assert "nothing" not in stages  # a line, and no bar
    assert "Warning: mine: the store is &lt;empty&gt;" in html
    assert "src=" not in html and "@import" not in html
    assert html == comparison_report(runs)


def test_the_page_of_one_run(runs):
    about = {
        "identity": {"benchmark": "memfail", "system": "my:Memory"}, "command": "python x.py", "python": "3", "platform": "p",
        "versions": {},
    }  # fmt: skip
    usage = {"answering": {"requests": 4, "failed": {"429 <slow>": 1}}, "storing": {"seconds": 1.5}}
    html = html_report("mine", about, runs["mine"] | {"n_questions": 3}, usage)
    assert html.count("<svg") == 3
    for text in ("429 &lt;slow&gt;", "python x.py", "storing", "Needed memories", "retrieval error"):
        assert text in html, text


def test_a_run_in_which_everything_failed_has_a_page():
    scores = run("m:M", ["failed", "failed"], right=None)
    assert "MemFail: 1 runs" in comparison_report({"m": scores})
    assert "–" in markdown_table({"m": scores})


ABOUT = {"dataset": "Coexisting-Facts", "system": "Mem0", "internal_model": "tiny"}
ROW = ABOUT | {"k": 5, "success_rate": 0.35, "n": 100}


def reported(folder, *rows):
    path = folder / "reported.json"
    path.write_text(json.dumps({"rows": list(rows)}), "utf-8")
    return path


def test_reported_rates_stand_beside_what_they_can_be_compared_with(runs, tmp_path):
    rows = [ROW, ROW | {"k": 15}, ROW | {"dataset": "Persona-Retrieval", "n": 300}]
    joined = beside(runs, read_reported(reported(tmp_path, *rows)))
    assert set(joined) - set(runs) == {"Mem0, tiny, reported (coexisting_facts)"}
    table, *_ = tables(joined)
    cell = next(row for row in table.rows if row[0].startswith("Mem0"))
    assert cell[1:3] == ["5", "0.350 (0.26–0.45)"] and cell[-1] == "reported, below floor"
    html = comparison_report(joined)
    assert "MemFail: 4 runs" in html and "Mem0, tiny, reported" in html


def written(folder, scores, fingerprint="1", files=(), judge=None, **identity):
    folder.mkdir(parents=True)
    identity = {"benchmark": "memfail", "fingerprint": fingerprint, **identity}
    about = {"identity": identity} | ({"judge": judge} if judge else {})
    for name, content in {"run.json": about, "scores.json": scores, **dict(files)}.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return folder


def test_folders_of_runs_become_one_page(runs, tmp_path):
    one = written(tmp_path / "floor", runs["nothing"])
    written(tmp_path / "mine" / "coexisting_facts", runs["mine"])
    written(tmp_path / "mine" / "long_hop", runs["chains"])
    mine = tmp_path / "mine"
    assert run_folders([one, mine]) == [(one, one), (mine, mine / "coexisting_facts"), (mine, mine / "long_hop")]
    out = tmp_path / "out"
    joined, _ = write_side_by_side([one, mine], out, [reported(tmp_path, ROW)])
    assert list(joined)[:3] == ["floor", "mine (coexisting_facts)", "mine (long_hop)"]
    table, *_ = tables(joined)
    assert [row[0] for row in table.rows] == ["floor", "floor", "mine", "mine", "Mem0, tiny, reported"]
    assert "| floor | 5 |" in (out / "table.md").read_text("utf-8")


def test_a_page_tells_models_inside_systems_tokens_costs_judges_and_claims(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    judge = {"name": "openai:judge@1", "prompt_hash": "abc"}
    said = {f"q{i}@5": ({"answer": "x"}, 90 + i) for i in range(4)} | {"q9@5": ({"failure": "late"}, 9000)}
    answers = [
        {"key": id_, "id": id_, "repeat": 0, **reply, "usage": {"prompt": tokens, "completion": 10}}
        for id_, (reply, tokens) in said.items()
    ]
    tokens = {"tokens_in": 1_000_000, "tokens_out": 0, "embedding_tokens": 0}
    files = {
        "usage.json": {"storing": {"calls": 3, "seconds": 7.0, "retries": 1, **tokens}},
        "answers.jsonl": "".join(json.dumps(answer) + "\n" for answer in answers),
    }
    folders = []
    for system, model in [("mem0-1", "gpt-4.1-mini"), ("mem0-1", "gemini-3.1"), ("simplemem", "gpt-4.1-mini")]:
        about = {"system": system, "system_model": model, "model": "openai:reader", "judge": judge, "files": files}
        folders.append(written(tmp_path / f"{system}-{model}", run(system, [C, S, R, R], ks=(5, 10)), **about))
    prices = tmp_path / "prices.json"
    prices.write_text('{"currency": "EUR", "models": {"gpt-4.1-mini": {"input": 2.5}}}', "utf-8")
    out, rates = tmp_path / "out", reported(tmp_path, ROW | {"mean_tokens_per_graded_question": 1381})
    joined, _ = write_side_by_side(folders, out, [rates], prices)
    assert joined["mem0-1-gemini-3.1"]["system_model"] == "gemini-3.1"
    assert joined["mem0-1-gemini-3.1"]["by_k"]["5"]["tokens_per_question"] == 101.5
    text, page = (out / "table.md").read_text("utf-8"), (out / "report.html").read_text("utf-8")
    for where in (text, page):
        assert "openai:judge@1 (abc) has no passport yet" in where
        for shown in ("cost in EUR", "2.5000", "What the runs took", "1,381"):
            assert shown in where, shown
    assert "--benchmark memfail --judge openai:judge --out" in page
    assert "Success by the model inside the memory system" in page and "What became of the questions, by system" in page
    claims = {claim["name"]: claim for claim in json.loads((out / "claims.json").read_text("utf-8"))["claims"]}
    (case,) = claims["stronger-models-gain-little"]["your runs"]["cases"]
    assert case["counts"] == [[1, 4], [1, 4]] and case["value"] == 0
    assert claims["stronger-models-gain-little"]["reported"]["missing"]


def test_a_run_is_a_baseline_if_its_run_json_says_so(tmp_path):
    known = written(tmp_path / "known", run("recent", [C, S]), control=True)
    own = written(tmp_path / "own", run("verbatim-mine.py:Mine", [C, S]), control=False)
    older = written(tmp_path / "older", run("verbatim-bm25", [C, S]))
    table, *_ = tables(write_side_by_side([known, own, older], tmp_path / "out")[0])
    notes = {row[0]: row[-1] for row in table.rows}
    assert (notes["known"], notes["own"], notes["older"]) == ("baseline", "", "baseline")
    assert [row[0] for row in table.rows] == ["floor", "own", "known", "older"]
    assert "baseline" not in json.loads((known / "scores.json").read_text("utf-8"))


def test_runs_that_cannot_be_compared_are_one_line(runs, tmp_path):
    one, unended = (written(tmp_path / of / "run", runs["nothing"]) for of in ("a", "unended"))
    (unended / "scores.json").unlink()
    mine = runs["mine"]
    for folders, message in (
        ([one, written(tmp_path / "b" / "run", mine)], "two runs are called 'run'"),
        ([one, written(tmp_path / "c", mine, "2")], "different rows of coexisting_facts"),
        ([tmp_path / "nowhere"], "nowhere: no run.json in it; expected the folder of a run"),
        ([written(tmp_path / "other", mine, benchmark="tulving")], "other: expected a run of MemFail"),
        ([written(tmp_path / "bad", mine, system_model=["a"])], "field 'identity', field 'system_model': expected"),
        ([unended], r"has no scores\.json"),
    ):
        with pytest.raises(BadInput, match=message):
            write_side_by_side(folders, tmp_path / "out")
    assert not (tmp_path / "out").exists()
