"""The scripts as a user runs them: build, install, ask, score, and every way in which that can go wrong."""

import re
import shutil
import zipfile

import pytest
from datasets import load_dataset

from epbench.hub.dataset_folder import CANARY
from tests.scripts.in_process import ROOT, ran, refused, script
from tests.scripts.run_files import BUILT, drop, files_below, lines_of, read, scores_of, without_bytes, write_lines

BUILD, EVALUATE = "builders/tulving.py", "eval_scripts/tulving.py"


@pytest.fixture(scope="module")
def runs(short_book, tmp_path_factory):
    """One run per memory on the short book."""
    out = tmp_path_factory.mktemp("runs")
    for memory in ("in-context", "rag-paragraph", "rag-chapter", "none"):
        assert "simple recall" in ran(f"{EVALUATE} --dataset {short_book} --memory {memory} --out {out / memory}")
    return out


def answers_of(run):
    return lines_of(run / "answers.jsonl")


@pytest.fixture
def answers(short_book, tmp_path):
    """The words of a command that scores these answers, which it finds in a file."""

    def written(name, records):
        write_lines(tmp_path / name, records)
        return f"{EVALUATE} --dataset {short_book} --answers {tmp_path / name} --out {tmp_path / 'r'}"

    return written


def test_a_built_book_loads_with_all_its_configs(short_book):
    for config, columns in {"qa": 16, "all_questions": 16, "finetune": 3, "chapters": 11, "book": 3}.items():
        rows = load_dataset(str(short_book), config, split="train" if config == "finetune" else "test")
        assert len(rows.column_names) == columns and len(rows) > 0
    columns = "id template cue time space entity content trace get question answer chapters n_chapters bin origin"
    assert load_dataset(str(short_book), split="test").column_names == [*columns.split(), "canary"]
    for message in load_dataset(str(short_book), "finetune", split="train")["messages"]:
        assert [turn["role"] for turn in message] == ["user", "assistant"]
        assert not any(CANARY in turn["content"] for turn in message)


@pytest.mark.parametrize(("name", "n_files"), [("short", 10), ("booksort", 7), ("memfail", 6)])
def test_the_same_command_writes_the_same_bytes(small_sets, tmp_path, name, n_files):
    ran(BUILT[name], "--out", tmp_path)
    made = files_below(tmp_path / name)
    assert len(made) == n_files and made == files_below(small_sets / name)


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ("--book short --universe scifi --order chronological", "scifi-short-ordered"),
        ("--book long --events 8 --seed 5 --selection alphabetical", "long"),
    ],
)
def test_variants_have_names_of_their_own(tmp_path, args, name):
    ran(f"{BUILD} {args} --out {tmp_path}")
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert args in (tmp_path / name / "README.md").read_text()


def test_memories_differ_as_they_should(runs):
    scores = {memory: scores_of(runs / memory) for memory in ("in-context", "rag-paragraph", "rag-chapter", "none")}
    assert scores["none"]["f1_by_bin"] == {"0": 1.0, "1": 0.0, "2": 0.0, "3-5": 0.0}  # abstentions alone are right
    assert scores["in-context"]["simple_recall_score"] > 0.9
    for bin_ in ("2", "3-5"):
        assert scores["in-context"]["f1_by_bin"][bin_] > scores["rag-paragraph"]["f1_by_bin"][bin_] + 0.15
    assert scores["rag-chapter"]["simple_recall_score"] > scores["rag-paragraph"]["simple_recall_score"]


@pytest.mark.slow
def test_the_built_in_memory_systems_read_a_book(short_book, runs, tmp_path):
    scores = {}
    for memory in ("oracle", "verbatim-bm25"):
        ran(f"{EVALUATE} --dataset {short_book} --memory {memory} --out {tmp_path / memory}")
        scores[memory] = scores_of(tmp_path / memory)
        assert scores[memory]["n_failed"] == 0
        assert read(tmp_path / memory, "run.json")["identity"]["memory"] == memory
    none = scores_of(runs / "none")
    assert scores["oracle"]["simple_recall_score"] >= scores["verbatim-bm25"]["simple_recall_score"]
    assert scores["verbatim-bm25"]["simple_recall_score"] > none["simple_recall_score"]
    assert all(scores["oracle"]["f1_by_bin"][bin_] >= f1 for bin_, f1 in none["f1_by_bin"].items())
    rows = {row["id"]: row["chapters"] for row in load_dataset(str(short_book), split="test")}
    for record in lines_of(tmp_path / "oracle/retrieved.jsonl"):
        found = [int(memory.split("\n")[0].removeprefix("Chapter ")) for memory in record["memories"]]
        assert set(found) >= set(rows[record["question"]]) and found == sorted(found)


def test_a_run_folder_has_its_files(runs):
    folder = runs / "in-context"
    names = {"run.json", "answers.jsonl", "judgements.jsonl", "scores.json", "table.md", "report.html"}
    assert names <= files_below(folder).keys()
    run = read(folder, "run.json")
    assert run["identity"]["memory"] == "in-context" and "datasets" in run["versions"] and "--memory" in run["command"]
    page = (folder / "report.html").read_text()
    assert "<svg" in page and "matching chapters" in page
    assert not re.search(r"(?:src|href)=.?http|<script src|@import", page)  # it needs nothing else
    scores = scores_of(folder)
    assert scores["n_failed"] == 0 and set(scores["intervals"]) >= {"simple_recall_score", "latest", "f1_by_bin.1"}


def test_limit_asks_a_part_that_grows(short_book, tmp_path):
    ids = []
    for limit in (10, 25):
        ran(f"{EVALUATE} --dataset {short_book} --memory none --limit {limit} --out {tmp_path / 'r'}")
        ids.append({answer["id"] for answer in answers_of(tmp_path / "r")})
    assert len(ids[0]) == 10 and len(ids[1]) == 25 and ids[0] < ids[1]
    run = read(tmp_path, "r/run.json")
    assert run["limit"] == 25 and "--limit 25" in run["command"]  # the command that alone makes this run


def test_own_answers_are_scored(answers, runs, tmp_path):
    ran(answers("mine.jsonl", answers_of(runs / "in-context")))
    assert scores_of(tmp_path / "r") == scores_of(runs / "in-context")


@pytest.mark.slow
def test_missing_answers_are_wrong_and_coverage_stands_beside_the_scores(answers, runs, tmp_path):
    out = " ".join(ran(answers("part.jsonl", answers_of(runs / "in-context")[:3])).split())
    assert "part.jsonl answers 3 of 450 questions" in out and "447 missing ones count as wrong" in out
    assert "447 of 450 questions have no answer in the file, which counts as wrong." in out and "3 of 450" in out
    scores = scores_of(tmp_path / "r")
    assert scores["coverage"] == {"questions": 450, "asked": 450, "answered": 3, "missing": 447, "failed": 0}
    assert scores["n_failed"] == 0 and not scores["incomplete"] and 0 <= scores["simple_recall_score"] < 0.02
    assert_within(scores["possible"], scores)
    assert scores["possible"]["simple_recall_score"][1] > 0.98
    table = (tmp_path / "r/table.md").read_text()
    assert "| answered | possible |" in table and "3 of 450" in table
    assert "lowest possible" in (tmp_path / "r/report.html").read_text()
    ran("eval_scripts/verify.py", tmp_path / "r")


def assert_within(ranges, scores):
    for name, (low, high) in ranges.items():
        value = scores["f1_by_bin"][name.split(".")[1]] if "." in name else scores[name]
        assert value is None or low - 1e-9 <= value <= high + 1e-9, name


def test_a_recorded_failure_is_neither_right_nor_wrong(answers, runs, tmp_path):
    found = answers_of(runs / "in-context")
    failed = [{"id": answer["id"], "failure": "out of credit"} for answer in found[-4:]]
    failed += [{"id": answer["id"], "answer": None} for answer in found[-7:-4]]
    out = ran(answers("part.jsonl", [*found[:-7], *failed]))
    assert "7 of 450 questions have no answer or no verdict" in " ".join(out.split())
    assert "failed 4 times: out of credit" in out and "An incomplete score is a range" in out
    scores = scores_of(tmp_path / "r")
    assert scores["coverage"] == {"questions": 450, "asked": 450, "answered": 443, "missing": 0, "failed": 7}
    assert scores["incomplete"] == scores["possible"] and sum(scores["failed_by_bin"].values()) <= 7
    assert_within(scores["incomplete"], scores_of(runs / "in-context"))
    assert not scores["incomplete"].keys() & scores["intervals"].keys() and scores["n_failed"] == 7
    assert "(incomplete)" in (tmp_path / "r/table.md").read_text()


@pytest.mark.slow
def test_empty_answers_are_none_and_no_abstentions(answers, runs, tmp_path):
    """Nothing said of what never happened is not right: someone who is asked in vain has abstained from nothing."""
    found = answers_of(runs / "in-context")
    ran(answers("silent.jsonl", [{"id": a["id"], "answer": "" if i % 2 else " \n"} for i, a in enumerate(found)]))
    scores = scores_of(tmp_path / "r")
    assert scores["simple_recall_score"] == 0 and set(scores["f1_by_bin"].values()) == {0}
    assert scores["coverage"]["missing"] == 450
    done = script(answers("failed.jsonl", [{"id": a["id"], "failure": "refused"} for a in found]) + "f")
    assert done.returncode == 1 and "nothing to score: all 450 questions failed" in done.stderr
    assert "judge" not in read(tmp_path, "rf/run.json")
    assert not (tmp_path / "rf/scores.json").exists()
    refused(script(answers("silent.jsonl", found) + "x --repeats 2"), "--repeats 2")


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
def test_bad_answers_are_named(short_book, tmp_path, content, message):
    if content is not None:
        (tmp_path / "a.jsonl").write_text(content)
    base = f"{EVALUATE} --dataset {short_book} --answers {tmp_path / 'a.jsonl'}"
    refused(script(base, "--out", tmp_path / "r"), message)
    assert not (tmp_path / "r").exists()


def test_the_folder_of_another_run_is_refused(short_book, runs, tmp_path):
    other = script(f"{EVALUATE} --dataset {short_book} --memory none --out {runs / 'in-context'}")
    refused(other, "this folder holds another run: its memory is 'in-context', expected 'none'")
    ran(f"{BUILD} --book short --seed 9 --out {tmp_path}")
    other = script(f"{EVALUATE} --dataset {tmp_path / 'short'} --memory none --out {runs / 'none'}")
    refused(other, "its fingerprint is")


@pytest.mark.slow
def test_publishing_makes_names_work_and_refuses_other_folders(process, short_book, tmp_path):
    home = {"HF_HOME": str(tmp_path / "hf")}
    done = process(f"builders/publish.py {short_book} --metrics --to cache", **home)
    assert done.returncode == 0 and 'load_dataset("epbench/short")' in done.stdout
    run = process(f"{EVALUATE} --dataset epbench/short --memory none --out {tmp_path / 'r'}", cwd=tmp_path, **home)
    assert run.returncode == 0, run.stderr
    refused(script(f"builders/publish.py {tmp_path} --to cache"), "is not a dataset folder")
    refused(script("builders/publish.py --to cache"), "nothing to publish")


@pytest.mark.slow
def test_a_run_that_lost_questions_stands_last_in_a_report(answers, runs, tmp_path):
    found = answers_of(runs / "in-context")
    lost = [answer if i % 9 else {"id": answer["id"], "failure": "lost"} for i, answer in enumerate(found)]
    ran(answers("best.jsonl", lost))
    ran("eval_scripts/report.py", tmp_path / "r", runs / "none", "--out", tmp_path / "report")
    table = (tmp_path / "report/table.md").read_text()
    assert table.index("| none |") < table.index("| r |") and "- r: 50 of 450 questions have no answer" in table
    assert "all wrong to all right" in (tmp_path / "report/report.html").read_text()
    drop(tmp_path / "r/scores.json", "incomplete")
    done = script("eval_scripts/report.py", tmp_path / "r", "--out", tmp_path / "x")
    refused(done, "scores.json: expected a field 'incomplete'")


@pytest.mark.slow
def test_the_reader_passes_half_on_the_published_book_with_its_wording(released, tmp_path):
    ran(f"{BUILD} --released {released} --book short --out {tmp_path}")
    ran(f"{EVALUATE} --dataset {tmp_path / 'short'} --memory in-context --out {tmp_path / 'r'}")
    assert scores_of(tmp_path / "r")["simple_recall_score"] >= 0.5
    ran(f"{EVALUATE} --released {released} --out {tmp_path / 'published'}")
    assert len(list((tmp_path / "published").glob("*/*/scores.json"))) == 3


@pytest.mark.slow
def test_one_command_converts_all_books_of_an_archive(released, tmp_path):
    with zipfile.ZipFile(released) as archive:
        archive.extractall(tmp_path / "data")
    books = tmp_path / "data/Udefault_Sdefault_seed0/books"
    (book,) = books.iterdir()
    shutil.copytree(book, books / book.name.replace("model_made_", "model_written-by-me_"))
    command = f"{BUILD} --released {tmp_path / 'data'} --book all --out {tmp_path / 'out'}"
    refused(script(f"{command} --generator made"), "--book all converts the books of every model")
    ran(f"{command} --empty published")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"short", "short-written-by-me"}
    card = (tmp_path / "out/short-written-by-me/README.md").read_text()
    assert "| questions, answerable and empty | 564 and 437 |" in card and "--released … --empty published`" in card
    assert "https://doi.org/10.6084/m9.figshare.28244480" in card and "epbench/short-written-by-me" in card


def test_a_committed_card_is_that_of_the_builder_by_the_command_in_it(tmp_path):
    committed = ROOT / "dataset_cards/short/README.md"
    command = re.search(r"By `python builders/tulving.py (.*?)`", committed.read_text())
    ran(f"{BUILD} {command[1]} --out {tmp_path}")
    made, kept = map(without_bytes, (tmp_path / "short/README.md", committed))
    assert made == kept, "run `make cards`"


def test_a_plan_stops_before_anything_is_done(short_book, tmp_path):
    out = ran(f"{EVALUATE} --dataset {short_book} --memory in-context --plan --out {tmp_path / 'r'}")
    assert "450 requests over 1 contexts" in out and not (tmp_path / "r").exists()
