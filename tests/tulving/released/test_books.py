import io
import json
import os
import shutil
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench import BadInput
from epbench.metric_folders import formulas
from epbench.progress import no_progress
from epbench.tulving.dataset.schema import configs_of
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.universe import Event
from epbench.tulving.questions.generate import BINS, all_questions, select, single_event
from epbench.tulving.released.archive import open_archive, reader_of, writer_of
from epbench.tulving.released.books import published_chapters, published_events, read_book
from epbench.tulving.released.runs import score_published_runs
from tests.published_data import ARCHIVES, BOOKS
from tests.refusals import refusal
from tests.scripts.run_files import lines_of

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def unpacked(released, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    with zipfile.ZipFile(released) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def archive(unpacked, tmp_path) -> Path:
    """A copy whose books and events a test may damage; thousands of answers are only linked."""

    def copy(source: str, target: str) -> None:
        (os.link if "/answers/" in source else shutil.copyfile)(source, target)

    return Path(shutil.copytree(unpacked, tmp_path / "data", copy_function=copy))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "book", "counts"), BOOKS, ids=lambda value: getattr(value, "name", ""))
def test_a_published_book_gives_the_published_counts(path, book, counts):
    archive = open_archive(path)
    data = read_book(archive, archive.find_book(book, "default", "narrative"))
    answerable = [q for q in data.questions if q.n_chapters]
    assert (len(answerable), len(single_event(data.questions)), len(data.selected)) == counts
    assert len(select(data.questions, rule="alphabetical")) == counts[2]
    ours = {q.id: q for q in data.questions}
    for q in data.selected:
        if q.n_chapters:
            assert set(q.answer) == set(ours[q.id].answer) and q.chapters == ours[q.id].chapters
            assert q.get == "all" or q.answer == ours[q.id].answer
    assert [config.name for config in configs_of(data)] == ["qa", "all_questions", "finetune", "chapters", "book"]


N_EMPTY = {"ours_n20.zip": 437, "released_n20.zip": 438, "released_n200.zip": 3657}
"""By archive, the questions without an answer; for the published ones as in Appendix B.2.3. Other names sort differently."""


@pytest.mark.parametrize(("path", "book", "counts"), BOOKS, ids=lambda value: getattr(value, "name", ""))
def test_the_published_rule_gives_the_published_empty_questions(path, book, counts):
    archive = open_archive(path)
    data = read_book(archive, archive.find_book(book, "default", "narrative"), empty="published")
    assert sum(not question.n_chapters for question in data.questions) == N_EMPTY[path.name]
    assert sum(question.n_chapters > 0 for question in data.questions) == counts[0]
    inner = {question.id for question in data.selected if question.origin == "inner"}
    found = {question.id for question in data.questions if question.origin == "inner"}
    assert path.name.startswith("ours") or (inner and inner <= found)  # ours were drawn by the other rule


@pytest.mark.parametrize("path", [path for path, _, counts in BOOKS if counts[0] == 3886], ids=lambda path: path.name)
@pytest.mark.parametrize(("n_events", "untold"), [(20, ()), (200, (56, 57, 59, 126))], ids=["short", "long"])
def test_the_cards_of_the_books_by_gpt_4o_have_the_numbers_of_the_published_events(path, n_events, untold):
    """Its books have the same events, of which it told all 20, and all of the 200 but four."""
    archive = open_archive(path)
    events = published_events(archive.files, archive.books[0])[:n_events]
    any_chapter = published_chapters(archive.files, archive.books[0])[0]
    chapters = []
    for event in (event for number, event in enumerate(events) if number not in untold):
        drawn = Event(from_words(event[0]), *event[1:])
        chapters.append(replace(any_chapter, number=len(chapters) + 1, event=drawn, text=drawn.detail))
    n_unused = [100 - len({event[i] for event in events}) for i in range(4)]
    unused = {letter: [f"new {k:02}" for k in range(n)] for letter, n in zip("tsec", n_unused, strict=True)}
    questions = all_questions(chapters, unused, empty="published")
    n_answered, bins = sum(q.n_chapters > 0 for q in questions), Counter(q.bin for q in select(questions))
    card = (ROOT / f"dataset_cards/{'short' if n_events == 20 else 'long'}-gpt-4o/README.md").read_text()
    for line in (
        f"| chapters | {len(chapters)} |",
        f"| questions, answerable and empty | {n_answered} and {len(questions) - n_answered} |",
        f"| questions with one matching chapter (`finetune`) | {len(single_event(questions))} |",
        f"| selected questions | {bins.total()} |",
        *(f"| selected, {bin_} matching chapters | {bins[bin_]} |" for bin_ in BINS),
    ):
        assert f"{line}\n" in card


@pytest.mark.parametrize("path", [path for path, _ in ARCHIVES], ids=lambda path: path.name)
def test_published_texts_are_kept_word_for_word(path):
    archive = open_archive(path)
    data = read_book(archive, archive.books[0])
    with zipfile.ZipFile(path) as files:
        (book,) = (name for name in files.namelist() if name.endswith("/book.json"))
        assert data.book() == json.loads(files.read(book))
        table = pq.read_table(io.BytesIO(files.read(book.replace("book.json", "df_qa.parquet"))))
    assert [q.question for q in data.selected] == table.column("question").to_pylist()
    assert all(chapter.text in data.book() for chapter in data.chapters)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "expected"), ARCHIVES, ids=lambda path: path.name)
def test_published_runs_are_rescored_to_the_last_digit(path, expected, tmp_path):
    expected = json.loads(expected.read_text())
    archive = open_archive(path)
    rescored = score_published_runs(archive, tmp_path, no_progress)
    assert (rescored.notes, rescored.not_scored, rescored.no_runs) == ({}, {}, {})
    found = {path.parent.name: path.parent for path in tmp_path.glob("*/*/scores.json")}
    assert found.keys() == expected.keys()
    selected = read_book(archive, archive.books[0]).selected
    for name, run in expected.items():
        scores = json.loads((found[name] / "scores.json").read_text())
        assert scores["reference"] == run["upstream"]
        names = {"simple_recall": "simple_recall_score", "all": "all_matched"}
        for theirs, value in run["unrounded"].items():
            if theirs not in ("f1_by_bin", "n_chronological"):
                assert scores[names.get(theirs, theirs)] == pytest.approx(value, abs=1e-9)
        assert scores["f1_by_bin"] == pytest.approx(run["unrounded"]["f1_by_bin"], abs=1e-9)
        lines = lines_of(found[name] / "judgements.jsonl")
        result = formulas("episodic_f1").episodic_f1(
            predictions=[line["items"] for line in lines],
            references=[q.answer for q in selected],
            matching_scores=[[min(1, s) for s in line["scores"]] for line in lines],
        )  # fmt: skip
        assert [q["f1"] for q in result["per_question"]] == pytest.approx(run["per_question_f1"], abs=1e-9)


@pytest.mark.slow
def test_a_folder_reads_like_its_zip_at_any_depth_whatever_an_operating_system_leaves(archive, released):
    book = next(archive.glob("*/books/*"))
    shadow = archive / "__MACOSX" / book.relative_to(archive)
    shadow.mkdir(parents=True)
    for path in (shadow / "book.json", book.parent / ".DS_Store", book / "._book.json"):
        path.write_bytes(b"\0")
    deep = archive.parent / "figshare/v3"
    deep.mkdir(parents=True)
    archive.rename(deep / "data")
    found, zipped = open_archive(archive.parent / "figshare"), open_archive(released)
    assert [each.folder for each in found.books] == [book.name]
    assert read_book(found, found.books[0]).selected == read_book(zipped, zipped.books[0]).selected


@pytest.mark.slow
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
    empty, as_drawn = (read_book(found, book, empty="published").questions for book in found.books)
    assert {q.id for q in empty} == {q.id for q in as_drawn} and empty != as_drawn
    assert [q.chapters for q in ordered.selected] != [q.chapters for q in plain.selected]
    scores = score_published_runs(found, tmp_path / "runs", no_progress).scores
    assert len(scores) == 6
    assert scores["short, prompting gpt-4o"]["latest"] == scores["short-ordered, prompting gpt-4o"]["latest"]


@pytest.mark.slow
def test_several_generating_models_are_told_apart(archive):
    books = archive / "Udefault_Sdefault_seed0/books"
    book = next(books.iterdir())
    shutil.copytree(book, books / book.name.replace("model_made_", "model_gpt-4o-2024-05-13_"))
    found = open_archive(archive)
    refused = refusal(found.find_book, "short", "default", "narrative")
    assert "choose one by its generator: gpt-4o-2024-05-13, made" in refused
    theirs = found.find_book("short", "default", "narrative", "gpt-4o-2024-05-13")
    assert theirs.generator == "gpt-4o-2024-05-13"
    names = {found.dataset_of(book) for book in found.books}
    assert names == {"short", "short-made"}  # with as many books each, the first name has the plain one
    ordered = book.name.replace("_Idefault_", "_Iordered_")
    shutil.copytree(archive / "Udefault_Sdefault_seed0/answers", archive / "UdefaultOrdered_Sdefault_seed0/answers")
    runs = next((archive / "UdefaultOrdered_Sdefault_seed0/answers").iterdir())
    runs.rename(runs.with_name(ordered))
    found = open_archive(archive)
    assert {found.dataset_of(book) for book in found.books} == {"short", "short-gpt-4o", "short-ordered"}


def test_the_error_of_a_missing_book_lists_the_books_that_there_are(released):
    assert "it has: short by made" in refusal(open_archive(released).find_book, "short", "news", "narrative")


DAMAGES = {
    "a missing file": ("events.json", None, "events.json: the file is missing"),
    "truncated JSON": ("events.json", b'[["September', "not JSON, or truncated"),
    "another type": ("events.json", b"{}", "expected a list, found {}"),
    "a short event": ("events.json", b'[["May 07, 2024"]]', r"field '\[0\]': expected a list of length 5, found "),
    "a layout without a style": (
        "meta_events.json",
        b'[{"nb_paragraphs": 1}]',
        r"field '\[0\].style': expected a text",
    ),
    "truncated Parquet": ("books/*/df_qa.parquet", b"PAR1", "not Parquet, or truncated"),
    "a foreign Parquet": (
        "books/*/df_qa.parquet",
        "books/*/df_book_groundtruth.parquet",
        "column 'question' is missing",
    ),
    "a missing chapter": ("books/*/book.json", b'"Chapter 1\\n\\nx"', "heading 'Chapter 2' is missing"),
    "no chapter": ("books/*/book.json", b'""', "heading 'Chapter 1' is missing"),
}


@pytest.mark.slow
def test_a_damaged_book_is_one_clear_error_and_leaves_its_runs_without_scores(archive, tmp_path):
    root = archive / "Udefault_Sdefault_seed0"
    for damage, (pattern, content, message) in DAMAGES.items():
        (path,) = root.glob(pattern)
        before = path.read_bytes()
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else next(root.glob(content)).read_bytes())
        found = open_archive(archive)
        with pytest.raises(BadInput, match=message) as error:
            read_book(found, found.books[0])
        rescored = score_published_runs(found, tmp_path / "runs", no_progress)
        assert rescored.scores == {} and set(rescored.not_scored.values()) == {str(error.value)}, damage
        assert len(rescored.not_scored) == 3
        path.write_bytes(before)


def test_a_damaged_question_is_named_by_row_and_field(archive):
    (path,) = archive.glob("*/books/*/df_qa.parquet")
    table, found = pq.read_table(path), open_archive(archive)
    for column, value, message in (
        ("q_idx", None, "expected a whole number, found None"),
        ("q_idx", 36, "expected 0 to 35, found 36"),
        ("correct_answer", [None], "expected a text, found None"),
        ("cue_completed", "(*, *)", "expected four elements, found '(*, *)'"),
        ("n_chapters_correct_answer", 99, "expected "),
    ):
        values = table.column(column).to_pylist()
        values[3] = value
        place, kind = table.column_names.index(column), table.schema.field(column).type
        pq.write_table(table.set_column(place, column, pa.array(values, kind)), path)
        field = "correct_answer[0]" if value == [None] else column
        assert f"row 3, field {field!r}: {message}" in refusal(read_book, found, found.books[0])


@pytest.mark.slow
def test_a_damaged_entry_of_a_zip_stops_only_the_runs_that_need_it(released, tmp_path):
    """Bytes of one compressed answer are overwritten, as by a disk."""
    content = bytearray(released.read_bytes())
    with zipfile.ZipFile(released) as files:
        entry = next(e for e in files.infolist() if "gpt-4o-mini/raw_answers/7.json" in e.filename)
    start = entry.header_offset + 30 + len(entry.filename) + 4
    n = entry.compress_size - 4
    content[start : start + n] = b"\xff" * n
    (tmp_path / "damaged.zip").write_bytes(content)
    rescored = score_published_runs(open_archive(tmp_path / "damaged.zip"), tmp_path / "runs", no_progress)
    assert len(rescored.scores) == 2
    (reason,) = rescored.not_scored.values()
    assert "raw_answers/7.json: damaged" in reason


def test_a_zip_that_is_foreign_truncated_or_points_outside_is_refused(released, tmp_path):
    whole = released.read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.zip").write_text("hello")
    with zipfile.ZipFile(tmp_path / "outside.zip", "w") as archive:
        archive.writestr("../../evil.json", "[]")
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        archive.writestr("data/readme.txt", "x")
    messages = {"cut": "truncated", "text": "not a zip", "outside": "points outside of the archive"}
    messages |= {"foreign": "no published book", "absent": "no such folder or zip"}
    for name, message in messages.items():
        assert message in refusal(open_archive, tmp_path / f"{name}.zip")
    assert not (tmp_path.parent.parent / "evil.json").exists()


@pytest.mark.parametrize(
    ("name", "memory", "model"),
    [
        ("prompting_model_gpt-4o-2024-08-06", "in-context", "gpt-4o-2024-08-06"),
        ("rag_model_claude-3-haiku-20240307_chunk_chapter_top17", "rag-chapter", "claude-3-haiku-20240307"),
        ("rag_model_gpt-4o_chunk_paragraph_top68", "rag-paragraph", "gpt-4o"),
        ("ftuning_model_ft:gpt-4o-mini-2024-07-18:org::AbC_fpolicy_single", "fine-tuned", "gpt-4o-mini-2024-07-18"),
        ("ftuning_model_own-model", "fine-tuned", "own-model"),
    ],
)
def test_who_answered_with_which_memory(name, memory, model):
    assert reader_of(f"answered_by_kind_{name}") == (memory, model)
    assert reader_of("answers/book/my_run") == ("", "my_run")
    assert writer_of("model_claude-3-5_itermax_10_Idefault_nbchapters_196_nbtokens_1") == "claude-3-5"
    assert writer_of("my_book") is None
