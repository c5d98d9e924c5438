"""eval_scripts/verify.py: an untouched run holds, and whatever is changed in its folder is found and named."""

import hashlib
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench.booksort.scores.run_files import APART
from epbench.files.json_files import write_json
from epbench.runs.checksums import changed_since
from epbench.tulving.scores.scoring import NAMING
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import COMMANDS, lines_of, read, rows_of, write_lines

VERIFY, EVALUATE = "eval_scripts/verify.py", "eval_scripts/tulving.py"


@pytest.fixture
def unnoted(copied):
    """Copies a run, without the hashes of its files."""

    def copy(name):
        run = copied(name)
        (run / "checksums.json").unlink()
        return run

    return copy


def edit_json(name, edit):
    def change(run):
        content = read(run, name)
        edit(content)
        write_json(run / name, content)

    return name, change


def edit_line(name, edit):
    def change(run):
        records = lines_of(run / name)
        edit(records[0])
        write_lines(run / name, records)

    return name, change


def edit_text(name, old, new):
    def change(run):
        text = (run / name).read_text("utf-8")
        assert old in text
        (run / name).write_text(text.replace(old, new, 1), "utf-8")

    return name, change


def edit_cell(column, value):
    def change(run):
        table = pq.read_table(run / "questions.parquet")
        rows = table.to_pylist()
        assert rows[0][column] != value
        rows[0][column] = value
        pq.write_table(pa.Table.from_pylist(rows, table.schema), run / "questions.parquet")

    return "questions.parquet", change


def without_line(name):
    return name, lambda run: write_lines(run / name, lines_of(run / name)[1:])


def with_line(name, **values):
    def change(run):
        records = lines_of(run / name)
        write_lines(run / name, [*records, records[0] | values])

    return name, change


def set_to(*path, value):
    def edit(content):
        for name in path[:-1]:
            content = content[name]
        assert content[path[-1]] != value
        content[path[-1]] = value

    return edit


IN_EACH = [
    without_line("answers.jsonl"),
    edit_text("table.md", "|", "| 9.999"),
    edit_text("report.html", "<h1>", "<h1>The best "),
    edit_json("run.json", set_to("identity", "fingerprint", value="0" * 16)),
]
PLANTED = {
    "tulving": [
        edit_json("scores.json", set_to("simple_recall_score", value=0.999)),
        edit_json("scores.json", set_to("n_failed", value=7)),
        edit_json("scores.json", set_to("judge", "name", value="gpt-4o")),
        edit_json("usage.json", set_to("requests", value=1)),
        edit_line("answers.jsonl", set_to("answer", value="In Rome.")),
        with_line("answers.jsonl", key="0" * 24, id="no such question"),
        edit_line("judgements.jsonl", set_to("items", value=["Rome"])),
        without_line("judgements.jsonl"),
        edit_cell("reason", "because I say so"),
        edit_cell("f1", 0.123),
        edit_json("run.json", set_to("identity", "model", value="gpt-4o")),
        *IN_EACH,
    ],
    "booksort": [
        edit_json("scores.json", set_to("accuracy", value=0.999)),
        edit_json("usage.json", set_to("requests", value=1)),
        edit_line("answers.jsonl", set_to("answer", value="neither")),
        with_line("answers.jsonl", key="0" * 24, id="no such pair"),
        edit_cell("predicted", "X"),
        *IN_EACH,
    ],
    "memfail": [
        edit_json("scores.json", set_to("by_k", "5", "success_rate", value=0.999)),
        edit_json("usage.json", set_to("answering", "requests", value=1)),
        edit_line("answers.jsonl", set_to("answer", value="(E) nobody")),
        edit_line("judgements.jsonl", lambda record: record.update(verdict=not record["verdict"])),
        without_line("judgements.jsonl"),
        edit_line("retrieved.jsonl", set_to("memories", value=["something else"])),
        edit_cell("label", "summary_error"),
        *IN_EACH,
    ],
}  # fmt: skip


@pytest.mark.parametrize("benchmark", PLANTED)
def test_an_untouched_run_holds(small_runs, benchmark):
    said = ran(VERIFY, small_runs / benchmark)
    assert "does not hold" not in said and "0 do not" in said


@pytest.mark.parametrize(("benchmark", "planted"), [(name, one) for name in PLANTED for one in PLANTED[name]])
def test_a_planted_change_is_found_with_and_without_hashes(copied, benchmark, planted):
    """Without hashes, the results themselves give the change away: in the changed file, or in what follows from it."""
    run, (name, change) = copied(benchmark), planted
    assert changed_since(run) == {}
    change(run)
    assert changed_since(run) in ({name: "changed"}, {name: "grown"})
    (run / "checksums.json").unlink()
    done = script(VERIFY, run)
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(run))]
    assert done.returncode == 1 and lines, done.stdout + done.stderr


def test_a_changed_dataset_is_told_by_its_fingerprint(small_runs, tmp_path):
    ran(f"builders/tulving.py --book short --events 6 --seed 3 --out {tmp_path}")
    done = script(VERIFY, small_runs / "tulving", "--dataset", tmp_path / "short")
    assert done.returncode == 1 and "dataset: found fingerprint" in done.stdout


def test_a_run_that_was_judged_again_holds(copied, small_sets):
    run = copied("tulving")
    ran(f"{EVALUATE} --dataset {small_sets / 'short'} --out {run} --rejudge --judge lexical")
    assert "0 do not" in ran(VERIFY, run)


@pytest.mark.slow
def test_merged_shards_and_own_answers_hold(small_sets, tmp_path):
    books = small_sets / "short"
    for part in "12":
        ran(f"{EVALUATE} --dataset {books} --memory none --shard {part}/2 --out {tmp_path / part}")
        assert "0 do not" in ran(VERIFY, tmp_path / part)
    ran("eval_scripts/merge.py", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "whole")
    answers = [{"id": row["id"], "answer": "Nobody knows."} for row in rows_of(books, "qa")]
    write_lines(tmp_path / "mine.jsonl", answers)
    ran(f"{EVALUATE} --dataset {books} --answers {tmp_path / 'mine.jsonl'} --out {tmp_path / 'own'}")
    for name in ("whole", "own"):
        assert "0 do not" in ran(VERIFY, tmp_path / name)


@pytest.mark.slow
def test_a_published_run_is_scored_again_from_its_archive(released, tmp_path):
    ran(EVALUATE, "--released", released, "--out", tmp_path / "published")
    run = sorted((tmp_path / "published").glob("*/*"))[0]
    assert "0 do not" in ran(VERIFY, run, "--released", released)
    edit_line("judgements.jsonl", lambda record: record.update(items=["Rome"]))[1](run)
    done = script(VERIFY, run, "--released", released)
    assert done.returncode == 1 and "records are not those of the archive" in done.stdout
    refused(script(VERIFY, run), "give the archive")


def test_what_has_not_ended_or_is_no_run_is_refused(unnoted, tmp_path):
    refused(script(VERIFY, tmp_path), "no run.json")
    run = unnoted("booksort")
    (run / "scores.json").unlink()
    refused(script(VERIFY, run), "only a run that has ended can be verified")


def test_other_versions_are_told_and_are_no_fault(unnoted):
    run = unnoted("booksort")
    old = read(run, "run.json")["versions"]["scipy"]
    edit_json("run.json", set_to("versions", "scipy", value="0.1"))[1](run)
    edit_text("report.html", f">{old}<", ">0.1<")[1](run)
    assert "scipy 0.1, here" in " ".join(ran(VERIFY, run).split())


def without(content, names):
    """The content without these fields, wherever they stand in it."""
    if isinstance(content, list):
        return [without(value, names) for value in content]
    if not isinstance(content, dict):
        return content
    return {name: without(value, names) for name, value in content.items() if name not in names}


def test_a_run_of_an_earlier_version_holds_without_the_fields_of_later_ones(unnoted):
    run = unnoted("tulving")
    whole = read(run, "scores.json")
    older = without(whole, ("coverage", "possible"))
    for content in (older, without(whole, NAMING)):  # the second is of the version between
        write_json(run / "scores.json", content)
        assert "0 do not" in ran(VERIFY, run)
    for content, said in (
        (older | {"possible": whole["possible"]}, "coverage"),  # one of the two was taken out
        (older | {"n_failed": 1}, "n_failed"),
    ):
        write_json(run / "scores.json", content)
        done = script(VERIFY, run)
        assert done.returncode == 1 and said in done.stdout


@pytest.mark.slow
def test_a_run_of_book_sort_without_the_auc_holds_and_is_shown(unnoted, tmp_path):
    run = unnoted("booksort")
    whole = read(run, "scores.json")
    older = without(whole, APART)
    assert "auc" in whole and '"auc' not in json.dumps(older)
    write_json(run / "scores.json", older)
    assert "0 do not" in ran(VERIFY, run)
    ran("eval_scripts/report.py", run, "--out", tmp_path / "page")
    write_json(run / "scores.json", older | {"n_invalid": 3})
    assert script(VERIFY, run).returncode == 1


@pytest.mark.parametrize("name", ["tulving", "booksort", "memfail"])
def test_a_run_on_a_relative_path_is_verified_from_any_folder(small_sets, tmp_path, monkeypatch, name):
    shutil.copytree(small_sets, tmp_path / "sets")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ran(f"{COMMANDS[name].format('sets')} --limit 4 --out run")
    assert read(tmp_path, "run/run.json")["dataset"].startswith("sets/")
    monkeypatch.chdir(tmp_path / "elsewhere")
    ran(VERIFY, "../run")
    shutil.move(tmp_path, moved := tmp_path.with_name("moved"))  # both of them, so that the path holds from there
    monkeypatch.chdir(moved)
    ran(VERIFY, "run")


def test_a_table_of_questions_that_is_no_utf8_is_one_line(unnoted):
    run = unnoted("tulving-none")
    table = pq.read_table(run / "questions.parquet")
    column = table.schema.get_field_index("question")
    broken = pa.array([b"\xff\xfe"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.set_column(column, table.schema.field(column), broken), run / "questions.parquet")
    done = script(VERIFY, run)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"{run}: questions.parquet: it cannot be read" in done.stdout


def test_a_page_of_another_version_is_no_fault_and_its_scores_are_checked_all_the_same(copied):
    run = copied("tulving")
    noted = read(run, "checksums.json")
    edit_text("report.html", "<h2>Scores</h2>", "<h2>All scores</h2>")[1](run)
    page = (run / "report.html").read_bytes()
    noted["sha256"]["report.html"], noted["bytes"]["report.html"] = hashlib.sha256(page).hexdigest(), len(page)
    write_json(run / "checksums.json", noted | {"code": "another"})
    said = " ".join(ran(VERIFY, run).split())
    assert "report.html not checked another version made it" in said and "scores.json holds" in said
    write_json(run / "checksums.json", noted)
    assert "1 do not" in script(VERIFY, run).stdout
