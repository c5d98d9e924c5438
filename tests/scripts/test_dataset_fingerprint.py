"""A run is told by all the texts that it reads: those of the chapters, and of the pairs that a prompt is chosen on."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench import load_book
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import change, read

EVALUATE = "eval_scripts/tulving.py"


def edited(dataset, out, config, edit, pattern="test-*.parquet"):
    """A copy of a dataset in which each row of one config is changed."""
    shutil.copytree(dataset, out)
    (path,) = (out / config).glob(pattern)
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist([row | edit(row) for row in table.to_pylist()], table.schema), path)
    return out


@pytest.fixture(scope="module")
def other_chapters(small_sets, tmp_path_factory):
    """The questions and the book of `short`, and chapters that do not say where."""
    places = {row["space"] for row in load_book(str(small_sets / "short")).rows if row["space"]}

    def edit(row):
        for place in places:
            row["text"] = row["text"].replace(place, "somewhere")
        return {"text": row["text"]}

    return edited(small_sets / "short", tmp_path_factory.mktemp("edited") / "short", "chapters", edit)


def test_a_book_is_told_by_its_chapters_too(small_sets, other_chapters):
    one, other = load_book(str(small_sets / "short")), load_book(str(other_chapters))
    assert one.fingerprint == other.fingerprint and one.chapters != other.chapters


@pytest.mark.slow
def test_a_run_on_other_chapters_is_another_run(copied, other_chapters, tmp_path):
    mine, other_run = copied("tulving"), tmp_path / "other"
    command = f"{EVALUATE} --dataset {other_chapters} --memory rag-chapter --limit 40 --out"
    refused(script(command, mine), "its chapters is")
    ran(command, other_run)
    refused(script("eval_scripts/compare.py", mine, other_run), "the runs are on different chapters")
    refused(script("eval_scripts/report.py", mine, other_run, "--out", tmp_path / "report"), "different chapters")
    refused(script("eval_scripts/merge.py", mine, other_run, "--out", tmp_path / "whole"), "its chapters is")
    done = script("eval_scripts/verify.py", mine, "--dataset", other_chapters)
    assert done.returncode == 1 and "chapters: found fingerprint" in done.stdout
    ran("eval_scripts/tables.py", mine, other_run, "--out", tmp_path / "tables")
    board = (tmp_path / "tables/LEADERBOARD.md").read_text()
    assert board.count("Simple recall and chronological awareness on short") == 2


def test_a_run_without_a_fingerprint_of_chapters_goes_on_and_says_so(small_sets, small_runs, copied, tmp_path):
    """As an earlier version left it: nothing says which chapters it read, and no hash of a file is known."""
    old = copied("tulving")
    identity = read(old, "run.json")["identity"]
    assert identity.pop("chapters")
    change(old / "run.json", identity=identity)
    (old / "checksums.json").unlink()
    answers = (old / "answers.jsonl").read_bytes()
    ran(EVALUATE, "--dataset", small_sets / "short", "--memory", "rag-chapter", "--limit", 40, "--out", old)
    assert (old / "answers.jsonl").read_bytes() == answers
    assert "chapters" not in read(old, "run.json")["identity"]
    assert "the run has no fingerprint of their texts" in " ".join(ran("eval_scripts/verify.py", old).split())
    for name, args in (("compare", []), ("report", ["--out", tmp_path / "report"])):
        said = ran(f"eval_scripts/{name}.py", old, small_runs / "tulving-none", *args)
        assert "did not note the text of the chapters" in " ".join(said.split())
    assert "did not note the text" in (tmp_path / "report/report.html").read_text()
    ran("eval_scripts/merge.py", old, small_runs / "tulving", "--out", tmp_path / "whole")
    assert "chapters" not in read(tmp_path, "whole/run.json")["identity"]


def test_a_prompt_that_is_chosen_depends_on_the_pairs_that_it_is_chosen_on(small_sets, tmp_path):
    other = edited(
        small_sets / "booksort", tmp_path / "booksort", "e250_s20",
        lambda row: {"present_seg1_first": 1 - row["present_seg1_first"], "answer": "AB"["AB".index(row["answer"]) - 1]},
        "validation-*.parquet",
    )  # fmt: skip
    run = ["--memory", "none", "--model", "oracle", "--select-prompt", "--limit", 4, "--out", tmp_path / "run"]
    ran("eval_scripts/booksort.py", "--dataset", small_sets / "booksort", *run)
    refused(script("eval_scripts/booksort.py", "--dataset", other, *run), "its held_out is")
