"""The scripts as a user runs them: build, install, ask, score, and every way in which that can go wrong."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from epbench.hub.dataset_folder import CANARY

ROOT = Path(__file__).parents[2]


def refused(done, message):
    """Exit status 2, one line that begins with `error:`, no traceback."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    assert message in lines[0], lines[0]


@pytest.fixture(scope="module")
def runs(script, short_book, tmp_path_factory):
    """One run per memory on the short book."""
    out = tmp_path_factory.mktemp("runs")
    for memory in ("in-context", "rag-paragraph", "rag-chapter", "none"):
        done = script("eval_scripts/tulving.py", "--dataset", short_book, "--memory", memory, "--out", out / memory)
        assert done.returncode == 0, done.stderr
        assert "simple recall" in done.stdout
    return out


def scores_of(folder):
    return json.loads((folder / "scores.json").read_text())


def test_a_built_book_loads_with_all_its_configs(short_book):
    from datasets import load_dataset

    for config, split, columns in (
        ("qa", "test", 16), ("all_questions", "test", 16), ("finetune", "train", 3), ("chapters", "test", 11), ("book", "test", 3),
    ):  # fmt: skip
        rows = load_dataset(str(short_book), config, split=split)
        assert len(rows.column_names) == columns and len(rows) > 0
    qa = load_dataset(str(short_book), split="test")
    assert list(qa[0]) == [
        "id", "template", "cue", "time", "space", "entity", "content", "trace", "get", "question", "answer", "chapters",
        "n_chapters", "bin", "origin", "canary",
    ]  # fmt: skip
    for message in load_dataset(str(short_book), "finetune", split="train")["messages"]:
        assert [turn["role"] for turn in message] == ["user", "assistant"]
        assert not any(CANARY in turn["content"] for turn in message)


def test_the_same_command_writes_the_same_bytes(script, short_book, tmp_path):
    assert script("builders/tulving.py", "--book", "short", "--out", tmp_path).returncode == 0
    files = sorted(p.relative_to(short_book) for p in short_book.rglob("*") if p.is_file())
    assert len(files) == 10
    assert all((tmp_path / "short" / f).read_bytes() == (short_book / f).read_bytes() for f in files)


@pytest.mark.parametrize(
    ("args", "name"),
    [
        pytest.param(["--book", "short", "--universe", "news"], "news-short", marks=pytest.mark.slow),
        (["--book", "short", "--universe", "scifi", "--order", "chronological"], "scifi-short-ordered"),
        (["--book", "long", "--events", "8", "--seed", "5", "--selection", "alphabetical"], "long"),
    ],
)
def test_variants_have_names_of_their_own(script, tmp_path, args, name):
    done = script("builders/tulving.py", *args, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert " ".join(args) in (tmp_path / name / "README.md").read_text()


def test_without_memory_only_abstentions_are_right(runs):
    assert scores_of(runs / "none")["f1_by_bin"] == {"0": 1.0, "1": 0.0, "2": 0.0, "3-5": 0.0}


def test_the_whole_book_beats_its_passages(runs):
    scores = {memory: scores_of(runs / memory) for memory in ("in-context", "rag-paragraph", "rag-chapter")}
    assert scores["in-context"]["simple_recall_score"] > 0.9
    for bin_ in ("2", "3-5"):
        assert scores["in-context"]["f1_by_bin"][bin_] > scores["rag-paragraph"]["f1_by_bin"][bin_] + 0.15
    assert scores["rag-chapter"]["simple_recall_score"] > scores["rag-paragraph"]["simple_recall_score"]


@pytest.mark.slow
def test_the_built_in_memory_systems_read_a_book(script, short_book, runs, tmp_path):
    scores = {}
    for memory in ("oracle", "verbatim-bm25"):
        command = ["eval_scripts/tulving.py", "--dataset", short_book, "--memory", memory, "--out", tmp_path / memory]
        done = script(*command)
        assert done.returncode == 0, done.stderr
        scores[memory] = scores_of(tmp_path / memory)
        assert scores[memory]["n_failed"] == 0
        assert json.loads((tmp_path / memory / "run.json").read_text())["identity"]["memory"] == memory
    none = scores_of(runs / "none")
    assert scores["oracle"]["simple_recall_score"] >= scores["verbatim-bm25"]["simple_recall_score"]
    assert scores["verbatim-bm25"]["simple_recall_score"] > none["simple_recall_score"]
    assert all(scores["oracle"]["f1_by_bin"][bin_] >= f1 for bin_, f1 in none["f1_by_bin"].items())
    rows = {row["id"]: row["chapters"] for row in _qa(short_book)}
    for line in (tmp_path / "oracle" / "retrieved.jsonl").read_text().splitlines():
        record = json.loads(line)
        found = [int(memory.split("\n")[0].removeprefix("Chapter ")) for memory in record["memories"]]
        assert set(found) >= set(rows[record["question"]]) and found == sorted(found)


def _qa(folder):
    from datasets import load_dataset

    return load_dataset(str(folder), split="test")


def test_a_run_folder_has_its_files(runs):
    folder = runs / "in-context"
    assert {"run.json", "answers.jsonl", "judgements.jsonl", "scores.json", "table.md", "report.html"} <= {
        p.name for p in folder.iterdir()
    }
    run = json.loads((folder / "run.json").read_text())
    assert run["identity"]["memory"] == "in-context" and "datasets" in run["versions"] and "--memory" in run["command"]
    page = (folder / "report.html").read_text()
    assert "<svg" in page and "matching chapters" in page
    assert not re.search(r"(?:src|href)=.?http|<script src|@import", page)  # it needs nothing else
    scores = scores_of(folder)
    assert scores["n_failed"] == 0 and set(scores["intervals"]) >= {"simple_recall_score", "latest", "f1_by_bin.1"}


def test_a_second_start_asks_nothing_twice_and_scores_the_same(script, short_book, runs):
    folder = runs / "rag-chapter"
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    done = script("eval_scripts/tulving.py", "--dataset", short_book, "--memory", "rag-chapter", "--out", folder)
    assert done.returncode == 0
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("after", [300, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 700))])
def test_a_killed_run_goes_on_where_it_was(short_book, runs, tmp_path, hf_home, after):
    """Kill -9 after so many records; the next start answers the rest once, and the scores are those of a whole run."""
    command = [sys.executable, ROOT / "eval_scripts/tulving.py", "--dataset", short_book, "--memory", "rag-paragraph"]
    env = os.environ | {"HF_HOME": str(hf_home)}
    journals = [tmp_path / "r" / name for name in ("answers.jsonl", "judgements.jsonl")]
    process = subprocess.Popen(
        [*command, "--out", tmp_path / "r"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while process.poll() is None and sum(p.read_bytes().count(b"\n") for p in journals if p.exists()) < after:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    killed = sum(p.read_bytes().count(b"\n") for p in journals if p.exists())
    assert killed >= after
    done = subprocess.run([*command, "--out", tmp_path / "r"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert scores_of(tmp_path / "r") == scores_of(runs / "rag-paragraph")
    for path in journals:
        keys = Counter(json.loads(line)["key"] for line in path.read_bytes().splitlines())
        assert set(keys.values()) == {1}
        whole = (runs / "rag-paragraph" / path.name).read_bytes().splitlines()
        assert keys.keys() == {json.loads(line)["key"] for line in whole}


def test_limit_asks_a_part_that_grows(script, short_book, tmp_path):
    ids = []
    for limit in (10, 25):
        done = script(
            "eval_scripts/tulving.py",
            "--dataset",
            short_book,
            "--memory",
            "none",
            "--limit",
            limit,
            "--out",
            tmp_path / "r",
        )
        assert done.returncode == 0, done.stderr
        ids.append({json.loads(line)["id"] for line in (tmp_path / "r/answers.jsonl").read_text().splitlines()})
    assert len(ids[0]) == 10 and len(ids[1]) == 25 and ids[0] < ids[1]


def test_own_answers_are_scored(script, short_book, runs, tmp_path):
    (tmp_path / "mine.jsonl").write_bytes((runs / "in-context/answers.jsonl").read_bytes())
    done = script(
        "eval_scripts/tulving.py",
        "--dataset",
        short_book,
        "--answers",
        tmp_path / "mine.jsonl",
        "--out",
        tmp_path / "r",
    )
    assert done.returncode == 0, done.stderr
    mine, whole = scores_of(tmp_path / "r"), scores_of(runs / "in-context")
    assert mine == whole


@pytest.mark.slow
def test_missing_answers_are_wrong_and_coverage_stands_beside_the_scores(script, short_book, runs, tmp_path):
    lines = (runs / "in-context/answers.jsonl").read_text().splitlines()
    (tmp_path / "part.jsonl").write_text("\n".join(lines[:3]))
    command = ["eval_scripts/tulving.py", "--dataset", short_book, "--answers", tmp_path / "part.jsonl"]
    done = script(*command, "--out", tmp_path / "r")
    out = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert "part.jsonl answers 3 of 450 questions" in out and "447 missing ones count as wrong" in out
    assert "447 of 450 questions have no answer in the file, which counts as wrong." in out and "3 of 450" in out
    scores = scores_of(tmp_path / "r")
    assert scores["coverage"] == {"questions": 450, "asked": 450, "answered": 3, "missing": 447, "failed": 0}
    assert scores["n_failed"] == 0 and not scores["incomplete"] and 0 <= scores["simple_recall_score"] < 0.02
    for name, (low, high) in scores["possible"].items():
        value = scores["f1_by_bin"][name.split(".")[1]] if "." in name else scores[name]
        assert value is None or low - 1e-9 <= value <= high + 1e-9, name
    assert scores["possible"]["simple_recall_score"][1] > 0.98
    table = (tmp_path / "r/table.md").read_text()
    assert "| answered | possible |" in table and "3 of 450" in table
    assert "lowest possible" in (tmp_path / "r/report.html").read_text()
    verified = script("eval_scripts/verify.py", tmp_path / "r")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_recorded_failure_is_neither_right_nor_wrong(script, short_book, runs, tmp_path):
    lines = (runs / "in-context/answers.jsonl").read_text().splitlines()
    failed = [json.dumps({"id": json.loads(line)["id"], "failure": "out of credit"}) for line in lines[-4:]]
    failed += [json.dumps({"id": json.loads(line)["id"], "answer": None}) for line in lines[-7:-4]]
    (tmp_path / "part.jsonl").write_text("\n".join([*lines[:-7], *failed]))
    command = ["eval_scripts/tulving.py", "--dataset", short_book, "--answers", tmp_path / "part.jsonl"]
    done = script(*command, "--out", tmp_path / "r")
    assert done.returncode == 0 and scores_of(tmp_path / "r")["n_failed"] == 7
    assert "7 of 450 questions have no answer or no verdict" in " ".join(done.stdout.split())
    assert "failed 4 times: out of credit" in done.stdout
    scores, whole = scores_of(tmp_path / "r"), scores_of(runs / "in-context")
    assert scores["coverage"] == {"questions": 450, "asked": 450, "answered": 443, "missing": 0, "failed": 7}
    assert scores["incomplete"] == scores["possible"] and sum(scores["failed_by_bin"].values()) <= 7
    for name, (low, high) in scores["incomplete"].items():
        value = whole["f1_by_bin"][name.split(".")[1]] if "." in name else whole[name]
        assert low - 1e-9 <= value <= high + 1e-9, name
    assert not scores["incomplete"].keys() & scores["intervals"].keys()
    assert "An incomplete score is a range" in done.stdout and "(incomplete)" in (tmp_path / "r/table.md").read_text()


@pytest.mark.slow
def test_empty_answers_are_none_and_no_abstentions(script, short_book, runs, tmp_path):
    """Nothing said of what never happened is not right: someone who is asked in vain has abstained from nothing."""
    answers = [json.loads(line) for line in (runs / "in-context/answers.jsonl").read_text().splitlines()]
    silent = "".join(
        json.dumps({"id": a["id"], "answer": "" if i % 2 else " \n"}) + "\n" for i, a in enumerate(answers)
    )
    (tmp_path / "silent.jsonl").write_text(silent)
    base = ["eval_scripts/tulving.py", "--dataset", short_book, "--answers"]
    done = script(*base, tmp_path / "silent.jsonl", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    scores = scores_of(tmp_path / "r")
    assert scores["simple_recall_score"] == 0 and set(scores["f1_by_bin"].values()) == {0}
    answers[0]["answer"] = ""
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(a) + "\n" for a in answers))
    done = script(*base, tmp_path / "one.jsonl", "--out", tmp_path / "one")
    assert done.returncode == 0 and scores_of(tmp_path / "one")["coverage"]["missing"] == 1
    nothing = "".join(json.dumps({"id": a["id"], "failure": "refused"}) + "\n" for a in answers)
    (tmp_path / "failed.jsonl").write_text(nothing)
    done = script(*base, tmp_path / "failed.jsonl", "--out", tmp_path / "f")
    assert done.returncode == 1 and "nothing to score: all 450 questions failed" in done.stderr
    assert (
        "judge" not in json.loads((tmp_path / "f/run.json").read_text()) and not (tmp_path / "f/scores.json").exists()
    )
    refused(script(*base, tmp_path / "one.jsonl", "--repeats", "2", "--out", tmp_path / "x"), "--repeats 2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "t99-x", "answer": "a"}', "line 1, field 'id': no question of this dataset has the id 't99-x'"),
        ('{"id": "t99-x"}', "line 1: expected the fields 'answer' or 'failure', found 'id'"),
        ("\n[1]", "line 2: expected an object, found [1]"),
        ("hello", "line 1: expected JSON in UTF-8"),
        ("", "expected answers, found none"),
        (None, "no such file"),
    ],
)
def test_bad_answers_are_named(script, short_book, tmp_path, content, message):
    if content is not None:
        (tmp_path / "a.jsonl").write_text(content)
    done = script(
        "eval_scripts/tulving.py", "--dataset", short_book, "--answers", tmp_path / "a.jsonl", "--out", tmp_path / "r"
    )
    refused(done, message)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--book", "medium"], "unknown book 'medium'; there are: short, long, very-long"),
        (
            ["--book", "short", "--universe", "mars"],
            "unknown universe 'mars': expected default, family, news, scifi, software, ward, or a folder with universe.toml",
        ),
        (["--book", "short", "--events", "20000"], "20000 events do not fit into a universe of 100"),
        (["--book", "short", "--events", "0"], "expected at least 1 event, found 0"),
        (["--book", "short", "--universe-size", "5000"], "a universe of 5000 needs 5000 days"),
        (["--book", "short", "--writer", "shakespeare"], "unknown writer 'shakespeare'"),
        (["--book", "short", "--released", "nowhere.zip"], "nowhere.zip: no such folder or zip"),
    ],
)
def test_bad_recipes_leave_nothing(script, tmp_path, args, message):
    refused(script("builders/tulving.py", *args, "--out", tmp_path / "out"), message)
    assert list(tmp_path.iterdir()) == []


def test_bad_evaluations_are_named(script, short_book, runs, tmp_path):
    evaluate = "eval_scripts/tulving.py"
    base = ["--dataset", short_book, "--out", tmp_path / "r"]
    refused(script(evaluate, *base), "either --memory to ask a reader, or --answers")
    refused(script(evaluate, *base, "--memory", "human"), "unknown memory 'human'")
    refused(script(evaluate, *base, "--memory", "none", "--model", "gpt"), "unknown model 'gpt'")
    refused(script(evaluate, *base, "--memory", "none", "--judge", "gpt"), "judge: unknown model 'gpt'")
    refused(
        script(evaluate, *base, "--memory", "none", "--shard", "3/2"),
        "shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got '3/2'",
    )
    refused(script(evaluate, *base, "--memory", "rag-chapter", "--top-k", "0"), "top-k: expected at least 1")
    refused(script(evaluate, *base, "--memory", "none", "--limit", "0"), "limit: expected at least 1, got 0")
    refused(
        script(evaluate, "--dataset", tmp_path, "--memory", "none", "--out", tmp_path / "r"),
        "expected the rows of a dataset in qa/test-*.parquet",
    )
    refused(
        script(evaluate, "--dataset", "epbench/nothing", "--memory", "none", "--out", tmp_path / "r"), "epbench/nothing"
    )
    refused(script(evaluate, "--released", tmp_path / "no.zip", "--out", tmp_path / "r"), "no such folder or zip")
    assert not (tmp_path / "r").exists()
    other = script(evaluate, "--dataset", short_book, "--memory", "none", "--out", runs / "in-context")
    refused(other, "this folder holds another run: its memory is 'in-context', expected 'none'")


def test_a_run_folder_of_another_dataset_is_refused(script, runs, tmp_path):
    assert script("builders/tulving.py", "--book", "short", "--seed", "9", "--out", tmp_path).returncode == 0
    done = script(
        "eval_scripts/tulving.py", "--dataset", tmp_path / "short", "--memory", "none", "--out", runs / "none"
    )
    refused(done, "its fingerprint is")


@pytest.mark.slow
def test_publishing_makes_names_work_and_refuses_other_folders(script, short_book, tmp_path):
    done = script("builders/publish.py", short_book, "--metrics", "--to", "cache", HF_HOME=str(tmp_path / "hf"))
    assert done.returncode == 0 and 'load_dataset("epbench/short")' in done.stdout
    run = script(
        "eval_scripts/tulving.py", "--dataset", "epbench/short", "--memory", "none", "--out", tmp_path / "r",
        cwd=tmp_path, HF_HOME=str(tmp_path / "hf"),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    dry = script("builders/publish.py", short_book, "--to", "cache", "--dry-run", HF_HOME=str(tmp_path / "hf"))
    assert (
        dry.returncode == 0
        and dry.stdout.count("unchanged") == 5
        and "changed " not in dry.stdout.replace("unchanged", "")
    )
    refused(script("builders/publish.py", tmp_path, "--to", "cache"), "is not a dataset folder")
    refused(script("builders/publish.py", "--to", "cache"), "nothing to publish")


def test_a_report_puts_runs_side_by_side(script, runs, tmp_path):
    done = script("eval_scripts/report.py", runs / "in-context", runs / "none", "--out", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    assert "| in-context |" in (tmp_path / "report/table.md").read_text()
    assert "<svg" in (tmp_path / "report/report.html").read_text()
    refused(script("eval_scripts/report.py", tmp_path, "--out", tmp_path / "x"), "no run.json in it")


@pytest.mark.slow
def test_a_run_that_lost_questions_stands_last_in_a_report(script, short_book, runs, tmp_path):
    lines = (runs / "in-context/answers.jsonl").read_text().splitlines()
    failed = [json.dumps({"id": json.loads(line)["id"], "failure": "lost"}) for line in lines]
    (tmp_path / "best.jsonl").write_text("\n".join(line if i % 9 else failed[i] for i, line in enumerate(lines)))
    command = ["eval_scripts/tulving.py", "--dataset", short_book, "--answers", tmp_path / "best.jsonl"]
    assert script(*command, "--out", tmp_path / "part").returncode == 0
    done = script("eval_scripts/report.py", tmp_path / "part", runs / "none", "--out", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "report/table.md").read_text()
    assert table.index("| none |") < table.index("| part |") and "- part: 50 of 450 questions have no answer" in table
    assert "all wrong to all right" in (tmp_path / "report/report.html").read_text()
    old = {key: value for key, value in scores_of(tmp_path / "part").items() if key != "incomplete"}
    (tmp_path / "part/scores.json").write_text(json.dumps(old))
    refused(
        script("eval_scripts/report.py", tmp_path / "part", "--out", tmp_path / "x"),
        "scores.json: expected a field 'incomplete'",
    )


@pytest.mark.slow
def test_the_reader_passes_half_on_the_published_book_with_its_wording(script, released, tmp_path):
    archive = released
    done = script("builders/tulving.py", "--released", archive, "--book", "short", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    done = script(
        "eval_scripts/tulving.py", "--dataset", tmp_path / "short", "--memory", "in-context", "--out", tmp_path / "r"
    )
    assert done.returncode == 0, done.stderr
    assert scores_of(tmp_path / "r")["simple_recall_score"] >= 0.5
    again = script("eval_scripts/tulving.py", "--released", archive, "--out", tmp_path / "published")
    assert again.returncode == 0, again.stderr
    assert len(list((tmp_path / "published").glob("*/*/scores.json"))) == 3


def test_one_command_converts_all_books_of_an_archive(script, released, tmp_path):
    with zipfile.ZipFile(released) as archive:
        archive.extractall(tmp_path / "data")
    books = tmp_path / "data/Udefault_Sdefault_seed0/books"
    (book,) = books.iterdir()
    shutil.copytree(book, books / book.name.replace("model_made_", "model_written-by-me_"))
    command = ["builders/tulving.py", "--released", tmp_path / "data", "--book", "all", "--out", tmp_path / "out"]
    refused(script(*command, "--generator", "made"), "--book all converts the books of every model")
    done = script(*command, "--empty", "published")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"short", "short-written-by-me"}
    card = (tmp_path / "out/short-written-by-me/README.md").read_text()
    assert "| questions, answerable and empty | 564 and 437 |" in card and "--released … --empty published`" in card
    assert "https://doi.org/10.6084/m9.figshare.28244480" in card and "epbench/short-written-by-me" in card


@pytest.mark.parametrize(
    "name",
    [
        "short",
        *(
            pytest.param(name, marks=[pytest.mark.slow, pytest.mark.nightly])
            for name in ("news-long", "scifi-short", "long-ordered", "long-l4")
        ),
    ],
)
def test_the_committed_cards_are_those_of_the_builder(script, tmp_path, name):
    committed = ROOT / "dataset_cards" / name / "README.md"
    command = re.search(r"By `python builders/tulving.py (.*?)`", committed.read_text())
    done = script("builders/tulving.py", *command[1].split(), "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    made, kept = (
        re.sub(r"num_bytes: \d+", "", path.read_text()) for path in (tmp_path / name / "README.md", committed)
    )
    assert made == kept, "run `make cards`"  # bytes in memory depend on the version of pyarrow


@pytest.mark.slow
def test_shards_merge_into_the_whole_run(script, short_book, runs, tmp_path):
    base = ["eval_scripts/tulving.py", "--dataset", short_book, "--memory", "rag-paragraph"]
    for i in (1, 2, 3):
        done = script(*base, "--shard", f"{i}/3", "--out", tmp_path / f"part{i}")
        assert done.returncode == 0, done.stderr
    parts = [tmp_path / f"part{i}" for i in (1, 2, 3)]
    done = script("eval_scripts/merge.py", *parts, "--out", tmp_path / "whole")
    assert done.returncode == 0, done.stderr
    assert scores_of(tmp_path / "whole") == scores_of(runs / "rag-paragraph")
    done = script("eval_scripts/merge.py", *parts[:2], "--out", tmp_path / "two")
    two = scores_of(tmp_path / "two")
    assert two["n_failed"] > 100 and two["n_questions"] == 450 and two["simple_recall_score"] is None
    low, high = two["incomplete"]["simple_recall_score"]
    assert (
        low < scores_of(tmp_path / "whole")["simple_recall_score"] < high
        and "An incomplete score is a range" in done.stdout
    )
    refused(script("eval_scripts/merge.py", parts[0], runs / "none", "--out", tmp_path / "x"), "its memory is 'none'")


def test_a_plan_stops_before_anything_is_done(script, short_book, tmp_path):
    done = script(
        "eval_scripts/tulving.py", "--dataset", short_book, "--memory", "in-context", "--plan", "--out", tmp_path / "r"
    )
    assert done.returncode == 0 and "450 requests over 1 contexts" in done.stdout and not (tmp_path / "r").exists()
