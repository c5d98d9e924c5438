"""Published data as it really is: runs that are not complete, odd scores, other names, and a part of the questions."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.progress import no_progress
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.events.dates import from_words
from epbench.tulving.released.archive import Files, open_archive
from epbench.tulving.released.runs import MILLION_TOKENS_ROWS, published_runs, read_published_run, score_published_runs
from epbench.tulving.released.verdicts import read_published_verdict
from tests.published_archive import published_truth, write_book, write_json, write_run, write_verdict
from tests.refusals import refusal
from tests.scripts.in_process import refused

WHOLE = make_book(Recipe("short"))
# Few enough to be quick: some of every mode and bin.
BOOK = replace(WHOLE, selected=[q for i, q in enumerate(WHOLE.selected) if i % 9 == 0 or q.get != "all"])
MANY = next(i for i, q in enumerate(BOOK.selected) if q.get == "all" and len(q.answer) >= 3)
ORDERED = next(i for i, q in enumerate(BOOK.selected) if q.get == "chronological" and len(set(q.answer)) >= 2)
RUNS = ("answered_by_kind_prompting_model_a", "answered_by_kind_prompting_model_b")
DAMAGED = "short, prompting b"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pristine")
    answers = write_book(folder, BOOK)
    for seed, name in enumerate(RUNS):
        write_run(answers / name, BOOK.selected, seed)
    return folder


@pytest.fixture(scope="module")
def whole(pristine, tmp_path_factory):
    """The scores of the runs without a fault."""
    return score(pristine, tmp_path_factory.mktemp("whole")).scores


@pytest.fixture
def archive(pristine, tmp_path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "data"))


@pytest.fixture
def run(archive) -> Path:
    """The run in which a test plants faults; the other one stays as it is."""
    (found,) = archive.glob(f"*/answers/*/{RUNS[1]}")
    return found


def score(archive, out):
    return score_published_runs(open_archive(archive), out, no_progress)


def scores_in(out):
    return {path.parent.name: json.loads(path.read_text()) for path in out.rglob("scores.json")}


def pairs_of(run, number):
    content = json.loads((run / f"evaluated_answers/{number}.json").read_text())
    return content["predicted_items"], [pair for entry in content[ITEM] for pair in entry.items()]


ITEM, SCORES = "matching_groundtruth_items_score", "field 'matching_groundtruth_items_score': "
FAULTS = {
    "no answer": ("raw_answers", None, "the file is missing; expected "),
    "an answer of null": ("raw_answers", "null", "expected a text, found None"),
    "an answer cut off": ("raw_answers", '"Once', "not JSON, or truncated"),
    "no verdict": ("evaluated_answers", None, "the file is missing"),
    "a verdict cut off": ("evaluated_answers", '{"predicted', "not JSON, or truncated"),
    "no order": ("chronological_answers", None, "the file is missing"),
    "an order of texts": (
        "chronological_answers", '{"groundtruth_indexes": [0], "predicted_indexes": ["0"]}',
        "field 'predicted_indexes[0]': expected a whole number, found '0'",
    ),
    "an order of nothing": ("chronological_answers", "{}", "field 'groundtruth_indexes': expected a list"),
    "no items": ("evaluated_answers", "{}", "field 'predicted_items': expected a list of texts, found None"),
}  # fmt: skip


@pytest.mark.slow
def test_an_incomplete_run_is_listed_with_the_file_and_the_others_are_scored(archive, run, whole, tmp_path):
    """Each copy of the run has a fault of its own."""
    expected = {}

    def faulty(name, folder, number, content, message):
        copy = Path(shutil.copytree(run, run.with_name(f"answered_by_kind_{name}")))
        (copy / folder / f"{number}.json").unlink()
        if content is not None:
            (copy / folder / f"{number}.json").write_text(content)
        expected[f"short, {name}"] = f"{folder}/{number}.json", message

    for name, (folder, content, message) in FAULTS.items():
        faulty(name, folder, ORDERED, content, message)
    verdict = json.loads((run / f"evaluated_answers/{MANY}.json").read_text())
    pairs = [next(iter(entry.items())) for entry in verdict[ITEM]]
    for value in ("NaN", "-Infinity", "null", '"inf"', '"score"', "[1]", "1e400"):
        content = json.dumps(verdict | {ITEM: [{pairs[0][0]: "PLANTED"}, *verdict[ITEM][1:]]})
        message = f"expected a finite number for {pairs[0][0]!r}, found {json.loads(value)!r}"
        faulty(value, "evaluated_answers", MANY, content.replace('"PLANTED"', value), SCORES + message)
    n, objects = f"expected scores for {len(pairs)} different", "expected a list of objects {item: score}"
    for name, entries, message in (
        ("one name fewer", verdict[ITEM][1:], n), ("one name more", [*verdict[ITEM], {"one more": 1}], n),
        ("an object", dict(pairs), objects), ("an empty entry", [{}, *verdict[ITEM][1:]], objects),
    ):  # fmt: skip
        faulty(name, "evaluated_answers", MANY, json.dumps(verdict | {ITEM: entries}), SCORES + message)
    rescored = score(archive, tmp_path / "runs")
    assert rescored.scores == whole and rescored.not_scored.keys() == expected.keys()
    for label, reason in rescored.not_scored.items():
        file, message = expected[label]
        assert reason.count(file) == 1 and message in reason, label
        assert f", question {BOOK.selected[MANY].id}, field" in reason or not message.startswith(SCORES)
    assert set(scores_in(tmp_path / "runs")) == set(RUNS)


@pytest.mark.parametrize(("value", "counts"), [("1", 1.0), (" 0.5 ", 0.5), (True, 1.0), (2, 2.0), (-1, -1.0)])
def test_what_the_code_of_the_paper_takes_for_a_score_is_one(tmp_path, value, counts):
    question = BOOK.selected[MANY]
    truth = published_truth(question)
    write_verdict(tmp_path, 0, truth, [(truth[0], value), *((item, 0) for item in truth[1:])])
    assert read_published_verdict(Files(tmp_path), ".", 0, question).scores[0] == counts


def test_scores_under_unknown_names_are_taken_by_position_and_counted(archive, run, whole, tmp_path):
    items, pairs = pairs_of(run, MANY)
    renamed = [("the first, in other words", pairs[0][1]), *pairs[1:]]
    write_verdict(run, MANY, items, [*renamed[1:], renamed[0]])  # and last, where the other names leave a place
    rescored = score(archive, tmp_path / "after")
    (note,) = rescored.notes[DAMAGED]
    n = sum(len(set(q.answer)) for q in BOOK.selected)
    assert note.startswith(f"Scores of 1 of the {n} true items are taken by position")
    assert rescored.scores[DAMAGED] == whole[DAMAGED] | {"notes": [note]}


def test_another_date_format_or_case_is_the_same_name(tmp_path):
    question = next(q for q in BOOK.selected if q.trace == "times" and len(q.answer) >= 2)
    iso = [from_words(day).isoformat() for day in question.answer]
    write_verdict(tmp_path, 0, [], [(day, i / 10) for i, day in reversed(list(enumerate(iso)))])
    verdict = read_published_verdict(Files(tmp_path), ".", 0, question)
    assert verdict.scores == [i / 10 for i in range(len(iso))] and verdict.n_by_position == 0


def test_a_chapter_is_named_by_its_number_or_by_its_text(tmp_path):
    question = next(q for q in WHOLE.selected if q.trace == "full_details" and q.answer)
    for name, by_position in ((f"Full chapter {question.chapters[0]}", 0), (question.answer[0], 0), ("Chapter", 1)):
        write_verdict(tmp_path, 0, ["x"], [(name, 0.5)])
        verdict = read_published_verdict(Files(tmp_path), ".", 0, question)
        assert (verdict.scores, verdict.n_by_position) == ([0.5], by_position)


words = st.text("abcdef", min_size=1, max_size=3)


@settings(deadline=None)
@given(st.data(), st.lists(words, min_size=1, max_size=6))
def test_every_score_goes_to_one_item_and_named_ones_to_theirs(tmp_path_factory, data, answer):
    question = BOOK.selected[MANY]._replace(answer=answer)
    truth = list(dict.fromkeys(answer))
    scores = data.draw(st.lists(st.integers(0, 100), min_size=len(truth), max_size=len(truth), unique=True))
    renamed = data.draw(st.sets(st.sampled_from(truth)))
    pairs = [(f"~{i}" if item in renamed else item, s) for i, (item, s) in enumerate(zip(truth, scores, strict=True))]
    folder = tmp_path_factory.mktemp("one")
    write_verdict(folder, 0, [], data.draw(st.permutations(pairs)))
    verdict = read_published_verdict(Files(folder), ".", 0, question)
    given_to = dict(zip(answer, verdict.scores, strict=True))
    assert sorted(given_to.values()) == sorted(scores)
    assert verdict.n_by_position == len(renamed)
    assert all(given_to[item] == score for item, score in zip(truth, scores, strict=True) if item not in renamed)
    assert [given_to[item] for item in answer] == verdict.scores


def test_what_fine_tuning_was_given_is_no_run(archive, run, tmp_path):
    job = run.with_name("answered_by_kind_ftuning_model_gpt-4o-mini-2024-07-18_fpolicy_single")
    write_json(job / "ftuning_single.id", "file-1")
    (job / "ftuning_single_10397.jsonl").write_text("{}\n")
    tuned = run.with_name("answered_by_kind_ftuning_model_ft:gpt-4o-mini-2024-07-18:x::y_fpolicy_single")
    run.rename(tuned)
    rescored = score(archive, tmp_path / "runs")
    theirs = "short, ftuning ft:gpt-4o-mini-2024-07-18:x::y_fpolicy_single"
    assert (list(rescored.scores), rescored.not_scored) == ([theirs, "short, prompting a"], {})
    files = ["ftuning_single.id", "ftuning_single_10397.jsonl"]
    assert rescored.no_runs == {job.relative_to(archive).as_posix(): files}


@pytest.mark.slow
def test_a_run_that_cannot_be_scored_now_does_not_look_scored(archive, run, tmp_path):
    before = score(archive, tmp_path / "runs").scores
    out = next((tmp_path / "runs").glob(f"*/{RUNS[1]}"))
    journals = {name: (out / name).read_text() for name in ("answers.jsonl", "judgements.jsonl")}
    (run / "raw_answers/3.json").rename(run / "kept.json")
    assert list(score(archive, tmp_path / "runs").not_scored) == [DAMAGED]
    left = {path.name for path in out.iterdir() if path.name[0] != "."}
    assert left == {"answers.jsonl", "checksums.json", "judgements.jsonl", "run.json"}
    (run / "kept.json").rename(run / "raw_answers/3.json")
    assert score(archive, tmp_path / "runs").scores == before
    assert {name: (out / name).read_text() for name in journals} == journals
    shutil.rmtree(run / "raw_answers")  # no longer a run
    assert list(score(archive, tmp_path / "runs").no_runs) == [run.relative_to(archive).as_posix()]
    assert not (out / "scores.json").exists()


@pytest.mark.slow
def test_the_journal_follows_the_archive(archive, run, tmp_path):
    before = score(archive, tmp_path / "runs").scores
    with next((tmp_path / "runs").glob(f"*/{RUNS[1]}/answers.jsonl")).open("a") as journal:
        stale = {"key": "9999", "id": BOOK.selected[0].id, "repeat": 0, "answer": "from an archive that asked more"}
        journal.write(json.dumps(stale) + "\n")
    assert score(archive, tmp_path / "runs").scores == before
    items, pairs = pairs_of(run, MANY)
    write_verdict(run, MANY, items, [(name, 0.25) for name, _ in pairs])
    write_json(run / f"raw_answers/{MANY}.json", "another answer")
    after = score(archive, tmp_path / "runs").scores[DAMAGED]
    assert after == score(archive, tmp_path / "anew").scores[DAMAGED]
    for name, field, value in (("answers", "answer", "another answer"), ("judgements", "scores", [0.25] * len(pairs))):
        lines = next((tmp_path / "runs").glob(f"*/{RUNS[1]}/{name}.jsonl")).read_text().splitlines()
        assert len(lines) == len(BOOK.selected) + 1
        assert json.loads(lines[-1])["key"] == str(MANY) and json.loads(lines[-1])[field] == value


@pytest.mark.slow
def test_runs_of_one_name_in_several_experiments_have_folders_of_their_own(archive, tmp_path):
    for place in (archive, archive / "copy"):
        for seed in (1, 2):
            write_run(write_book(place, BOOK, seed=seed) / RUNS[0], BOOK.selected, seed)
    rescored = score(archive, tmp_path / "runs")
    assert len(rescored.scores) == 6 and len(list((tmp_path / "runs").rglob("scores.json"))) == 6


@pytest.mark.slow
class TestTheBookOfAMillionTokens:
    @pytest.fixture(scope="class")
    def book(self):
        data = make_book(Recipe("very-long"))
        assert len(data.selected) > max(MILLION_TOKENS_ROWS)
        return replace(data, chapters=[replace(c, text=f"{c.number}.") for c in data.chapters], text="")

    @pytest.fixture(scope="class")
    def archive(self, book, tmp_path_factory):
        folder = tmp_path_factory.mktemp("million")
        answers = write_book(folder, book)
        write_run(answers / "answered_by_kind_prompting_model_part", [book.selected[i] for i in MILLION_TOKENS_ROWS])
        write_run(answers / "answered_by_kind_prompting_model_other", book.selected[:35])
        first = [book.selected[i] for i in MILLION_TOKENS_ROWS[:20]]
        write_run(answers / "answered_by_kind_prompting_model_short", first)
        return folder

    @pytest.fixture(scope="class")
    def out(self, tmp_path_factory):
        return tmp_path_factory.mktemp("million-runs")

    @pytest.fixture(scope="class")
    def rescored(self, archive, out):
        return score(archive, out)

    def test_its_35_answers_belong_to_the_35_chosen_questions(self, book, rescored, out):
        assert len(set(MILLION_TOKENS_ROWS)) == 35
        assert list(rescored.scores) == ["very-long, prompting part"]
        note = f"It was asked 35 of the {len(book.selected)} questions of its book."
        assert rescored.notes["very-long, prompting part"] == [note]
        (run,) = out.glob("*/*part")
        answers = [json.loads(line) for line in (run / "answers.jsonl").read_text().splitlines()]
        asked = [book.selected[row] for row in MILLION_TOKENS_ROWS]
        assert [answer["id"] for answer in answers] == [q.id for q in asked]
        for answer, question in zip(answers, asked, strict=True):
            assert all(item in answer["answer"] for item in published_truth(question))
        scores = rescored.scores["very-long, prompting part"]
        assert scores["n_questions"] == 35 and scores["reference"]["simple_recall"] is not None

    def test_other_questions_are_not_taken_for_them(self, rescored):
        reasons = rescored.not_scored
        assert reasons.keys() == {"very-long, prompting other", "very-long, prompting short"}
        few = "raw_answers/20.json: the file is missing; expected 35 answers in the run, found 20"
        assert few in reasons["very-long, prompting short"]
        assert "one for each true item" in reasons["very-long, prompting other"]

    @pytest.mark.slow
    def test_other_questions_with_as_many_items_are_not_taken_for_them(self, book, archive, tmp_path):
        copy = Path(shutil.copytree(archive, tmp_path / "data"))
        (run,) = copy.glob("*/answers/*/*part")
        for number, row in enumerate(MILLION_TOKENS_ROWS):
            n = len(set(book.selected[row].answer))
            write_verdict(run, number, [], [(f"item {i} of another question", 1) for i in range(n)])
        part = next(run for run in published_runs(open_archive(copy)) if run.label.endswith("part"))
        assert "do not belong to the question" in refusal(read_published_run, Files(copy), part)


def test_on_the_command_line_what_is_complete_is_scored_and_the_rest_is_listed(script, archive, run, tmp_path):
    write_json(run.with_name("answered_by_kind_ftuning_model_m_fpolicy_single") / "ftuning_single.id", "file-1")
    write_json(run / "raw_answers/3.json", None)
    done = script("eval_scripts/tulving.py", "--released", archive, "--out", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    *_, no_run, reason, count = done.stdout.splitlines()
    assert no_run.startswith("no run: ") and no_run.endswith("holds no raw_answers, only ftuning_single.id")
    assert reason.startswith(f"not scored: {DAMAGED}: ")
    assert reason.endswith("raw_answers/3.json: expected a text, found None")
    assert count == "1 runs scored, 1 not scored" and list(scores_in(tmp_path / "runs")) == [RUNS[0]]


def test_an_archive_without_a_complete_run_is_one_error(script, archive, tmp_path):
    for path in archive.glob("*/answers/*/*/raw_answers/3.json"):
        path.unlink()
    done = script("eval_scripts/tulving.py", "--released", archive, "--out", tmp_path / "runs")
    refused(done, "none of its 2 runs can be scored; short, prompting a: ")
    assert scores_in(tmp_path / "runs") == {} and "raw_answers/3.json" in done.stderr
    for path in archive.glob("*/answers/*/*/raw_answers"):
        shutil.rmtree(path)
    assert "found no published run" in refusal(score, archive, tmp_path / "runs")
