import json
import shutil
import zipfile
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.metric_folders import metric_module
from epbench.tulving.dataset import configs_of
from epbench.tulving.published_runs import score_published_runs
from epbench.tulving.questions import single_event
from epbench.tulving.released import open_archive, read_book
from epbench.tulving.selection import select


def quiet(items, what, total):
    return items


@pytest.fixture(scope="module")
def unpacked(released, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    with zipfile.ZipFile(released("released_n20.zip")) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def archive(unpacked, tmp_path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(unpacked, tmp_path / "data"))


@pytest.mark.parametrize(
    ("name", "book", "counts"),
    [("released_n20.zip", "short", (564, 468, 456)), ("released_n200.zip", "long", (3886, 3199, 686))],
)
def test_a_published_book_gives_the_published_counts(released, name, book, counts):
    archive = open_archive(released(name))
    data = read_book(archive, archive.find_book(book, "default", "narrative"))
    answerable = [q for q in data.questions if q.n_chapters]
    again = select(data.questions, rule="alphabetical")
    assert (len(answerable), len(single_event(data.questions)), len(data.selected)) == counts
    assert len(again) == counts[2]
    ours = {q.id: q for q in data.questions}
    for q in data.selected:
        if q.n_chapters:
            assert set(q.answer) == set(ours[q.id].answer) and q.chapters == ours[q.id].chapters
            assert q.get == "all" or q.answer == ours[q.id].answer
    assert [config.name for config in configs_of(data)] == ["qa", "all_questions", "finetune", "chapters", "book"]


def test_published_texts_are_kept_word_for_word(released, unpacked):
    archive = open_archive(released("released_n20.zip"))
    data = read_book(archive, archive.books[0])
    assert data.book() == json.loads(next(unpacked.glob("*/books/*/book.json")).read_text())
    assert data.selected[0].question == (
        "Consider all events involving Astronomy Night. List all the locations where these events took place, "
        "without mentioning the events themselves."
    )
    assert all(chapter.text in data.book() for chapter in data.chapters)


def test_published_runs_are_rescored_to_the_last_digit(released, tmp_path):
    expected = json.loads(released("expected_n20.json").read_text())
    score_published_runs(open_archive(released("released_n20.zip")), tmp_path, quiet)
    found = {path.parent.name: path.parent for path in tmp_path.glob("*/*/scores.json")}
    assert found.keys() == expected.keys()
    for name, run in expected.items():
        scores = json.loads((found[name] / "scores.json").read_text())
        assert scores["reference"] == run["upstream"]
        names = {"simple_recall": "simple_recall_score", "all": "all_matched"}
        for theirs, value in run["unrounded"].items():
            if theirs not in ("f1_by_bin", "n_chronological"):
                assert scores[names.get(theirs, theirs)] == pytest.approx(value, abs=1e-9)
        assert scores["f1_by_bin"] == pytest.approx(run["unrounded"]["f1_by_bin"], abs=1e-9)
        lines = [json.loads(line) for line in (found[name] / "judgements.jsonl").read_text().splitlines()]
        data = read_book(
            open_archive(released("released_n20.zip")), open_archive(released("released_n20.zip")).books[0]
        )
        result = metric_module("episodic_f1").EpisodicF1(keep_in_memory=True).compute(
            predictions=[line["items"] for line in lines],
            references=[q.answer for q in data.selected],
            matching_scores=[[min(1, s) for s in line["scores"]] for line in lines],
        )  # fmt: skip
        assert [q["f1"] for q in result["per_question"]] == pytest.approx(run["per_question_f1"], abs=1e-9)


def test_a_folder_reads_like_its_zip_wherever_it_stands(archive, released):
    deep = archive.parent / "figshare/v3"
    deep.mkdir(parents=True)
    archive.rename(deep / "data")
    found = open_archive(archive.parent / "figshare")
    assert (
        read_book(found, found.books[0]).selected
        == read_book(
            open_archive(released("released_n20.zip")), open_archive(released("released_n20.zip")).books[0]
        ).selected
    )


def test_the_reordered_book_is_rebuilt_and_scored(archive, tmp_path):
    """As published: answers alone, under a name of their own."""
    base = archive / "Udefault_Sdefault_seed0"
    shutil.copytree(base / "answers", archive / "UdefaultOrdered_Sdefault_seed0/answers")
    book = next((archive / "UdefaultOrdered_Sdefault_seed0/answers").iterdir())
    book.rename(book.with_name(book.name.replace("_Idefault_", "_Iordered_")))
    found = open_archive(archive)
    ordered = read_book(found, found.find_book("short", "default", "chronological"))
    times = [chapter.event.time for chapter in ordered.chapters]
    assert times == sorted(times) and ordered.book().startswith("Chapter 1\n\n")
    plain = read_book(found, found.find_book("short", "default", "narrative"))
    assert [q.id for q in ordered.selected] == [q.id for q in plain.selected]
    assert [q.chapters for q in ordered.selected] != [q.chapters for q in plain.selected]
    scores = score_published_runs(found, tmp_path / "runs", quiet)
    assert len(scores) == 6
    assert (
        scores["short, prompting gpt-4o-2024-08-06"]["latest"]
        == scores["short-ordered, prompting gpt-4o-2024-08-06"]["latest"]
    )


def test_several_generating_models_are_told_apart(archive):
    books = archive / "Udefault_Sdefault_seed0/books"
    book = next(books.iterdir())
    shutil.copytree(book, books / book.name.replace("claude-3-5-sonnet-20240620", "gpt-4o-2024-05-13"))
    found = open_archive(archive)
    with pytest.raises(BadInput, match="--generator: claude-3-5-sonnet-20240620, gpt-4o-2024-05-13"):
        found.find_book("short", "default", "narrative")
    assert found.find_book("short", "default", "narrative", "gpt-4o-2024-05-13").generator == "gpt-4o-2024-05-13"


@pytest.mark.parametrize(("book", "universe"), [("long", "default"), ("short", "news")])
def test_a_book_that_is_not_there_is_told_with_those_that_are(released, book, universe):
    with pytest.raises(BadInput, match=r"it has: short by claude-3-5-sonnet-20240620"):
        open_archive(released("released_n20.zip")).find_book(book, universe, "narrative")


DAMAGES = {
    "a missing file": ("events.json", None, "events.json: the file is missing"),
    "truncated JSON": ("events.json", b'[["September', "no JSON, or truncated"),
    "another type": ("events.json", b"{}", "dict found, list expected"),
    "truncated Parquet": ("books/*/df_qa.parquet", b"PAR1", "no Parquet, or truncated"),
    "a foreign Parquet": ("books/*/df_qa.parquet", "books/*/df_book_groundtruth.parquet", "column 'q_idx' is missing"),
    "a missing reply": ("answers/*/*4o-2024*/raw_answers/7.json", None, "raw_answers/7.json: the file is missing"),
    "a foreign verdict": ("answers/*/*4o-2024*/evaluated_answers/7.json", b"{}", "matching scores are expected"),
    "a missing chapter": ("books/*/book.json", b'"Chapter 1\\n\\nx"', "heading 'Chapter 2' is missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_is_one_clear_error(archive, tmp_path, damage):
    pattern, content, message = DAMAGES[damage]
    for path in (archive / "Udefault_Sdefault_seed0").glob(pattern):
        if content is None:
            path.unlink()
        elif isinstance(content, str):
            path.write_bytes(next((archive / "Udefault_Sdefault_seed0").glob(content)).read_bytes())
        else:
            path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        found = open_archive(archive)
        read_book(found, found.books[0])
        score_published_runs(found, tmp_path / "runs", quiet)


def test_a_zip_that_is_none_or_truncated_or_climbs_is_refused(released, tmp_path):
    whole = released("released_n20.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.zip").write_text("hello")
    with zipfile.ZipFile(tmp_path / "climbs.zip", "w") as archive:
        archive.writestr("../../evil.json", "[]")
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        archive.writestr("data/readme.txt", "x")
    for name, message in (
        ("cut.zip", "truncated"), ("text.zip", "no zip"), ("climbs.zip", "climbs out of the folder"),
        ("foreign.zip", "no published book"), ("absent.zip", "no such folder or zip"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=message):
            open_archive(tmp_path / name)
    assert not (tmp_path.parent.parent / "evil.json").exists()
