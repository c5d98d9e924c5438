"""eval_scripts/verify.py: an untouched run holds, and whatever is changed in its folder is found and named."""

import hashlib
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench.booksort.scores.run_files import APART
from epbench.runs.checksums import changed_since
from epbench.tulving.scores.scoring import NAMING
from tests.scripts.in_process import refused, script

VERIFY = "eval_scripts/verify.py"


def ran(name, *args):
    done = script(name, *args)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def books(small_sets):
    return small_sets / "short"


@pytest.fixture(scope="module")
def runs(small_runs):
    return small_runs


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def edit_json(name, edit):
    def change(run):
        content = json.loads((run / name).read_text("utf-8"))
        edit(content)
        (run / name).write_text(json.dumps(content), "utf-8")

    return name, change


def edit_line(name, edit, number=0):
    def change(run):
        records = lines_of(run / name)
        edit(records[number])
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


def set_to(name, value):
    def edit(content):
        assert content[name] != value
        content[name] = value

    return edit


def set_in(*path, value):
    def edit(content):
        for name in path[:-1]:
            content = content[name]
        assert content[path[-1]] != value
        content[path[-1]] = value

    return edit


PLANTED = {
    "tulving": [
        edit_json("scores.json", set_to("simple_recall_score", 0.999)),
        edit_json("scores.json", set_to("n_failed", 7)),
        edit_json("scores.json", set_in("judge", "name", value="gpt-4o")),
        edit_json("usage.json", set_to("requests", 1)),
        edit_line("answers.jsonl", set_to("answer", "In Rome.")),
        without_line("answers.jsonl"),
        with_line("answers.jsonl", key="0" * 24, id="no such question"),
        edit_line("judgements.jsonl", set_to("items", ["Rome"])),
        without_line("judgements.jsonl"),
        edit_cell("reason", "because I say so"),
        edit_cell("f1", 0.123),
        edit_text("table.md", "|", "| 9.999"),
        edit_text("report.html", "<h1>", "<h1>The best "),
        edit_json("run.json", set_in("identity", "model", value="gpt-4o")),
        edit_json("run.json", set_in("identity", "fingerprint", value="0" * 16)),
    ],
    "booksort": [
        edit_json("scores.json", set_to("accuracy", 0.999)),
        edit_json("usage.json", set_to("requests", 1)),
        edit_line("answers.jsonl", set_to("answer", "neither")),
        without_line("answers.jsonl"),
        with_line("answers.jsonl", key="0" * 24, id="no such pair"),
        edit_cell("predicted", "X"),
        edit_text("table.md", "|", "| 9.999"),
        edit_text("report.html", "<h1>", "<h1>The best "),
        edit_json("run.json", set_in("identity", "fingerprint", value="0" * 16)),
    ],
    "memfail": [
        edit_json("scores.json", set_in("by_k", "5", "success_rate", value=0.999)),
        edit_json("usage.json", set_in("answering", "requests", value=1)),
        edit_line("answers.jsonl", set_to("answer", "(E) nobody")),
        without_line("answers.jsonl"),
        edit_line("judgements.jsonl", lambda record: record.update(verdict=not record["verdict"])),
        without_line("judgements.jsonl"),
        edit_line("retrieved.jsonl", set_to("memories", ["something else"])),
        edit_cell("label", "summary_error"),
        edit_text("table.md", "|", "| 9.999"),
        edit_text("report.html", "<h1>", "<h1>The best "),
        edit_json("run.json", set_in("identity", "fingerprint", value="0" * 16)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("benchmark", PLANTED)
def test_an_untouched_run_holds(runs, benchmark):
    done = ran(VERIFY, runs / benchmark)
    assert "does not hold" not in done.stdout and "0 do not" in done.stdout


@pytest.mark.parametrize(
    ("benchmark", "number"), [(b, n) for b, planted in PLANTED.items() for n in range(len(planted))]
)
def test_a_planted_change_is_found_by_the_results_alone(runs, tmp_path, benchmark, number):
    """Without hashes, the results themselves give the change away: in the changed file, or in what follows from it."""
    run = tmp_path / "run"
    shutil.copytree(runs / benchmark, run)
    PLANTED[benchmark][number][1](run)
    (run / "checksums.json").unlink()
    done = script(VERIFY, run)
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(run))]
    assert done.returncode == 1 and lines, done.stdout + done.stderr


@pytest.mark.parametrize("benchmark", PLANTED)
def test_the_hashes_name_each_changed_file(runs, tmp_path, benchmark):
    for number, (name, change) in enumerate(PLANTED[benchmark]):
        run = tmp_path / str(number)
        shutil.copytree(runs / benchmark, run)
        assert changed_since(run) == {}
        change(run)
        assert changed_since(run) in ({name: "changed"}, {name: "grown"})


def test_a_changed_dataset_is_told_by_its_fingerprint(runs, books, tmp_path):
    ran("builders/tulving.py", "--book", "short", "--events", 6, "--seed", 3, "--out", tmp_path)
    done = script(VERIFY, runs / "tulving", "--dataset", tmp_path / "short")
    assert done.returncode == 1 and "dataset: found fingerprint" in done.stdout


def test_a_run_that_was_judged_again_holds(runs, books, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs / "tulving", run)
    ran("eval_scripts/tulving.py", "--dataset", books, "--out", run, "--rejudge", "--judge", "lexical")
    assert "0 do not" in ran(VERIFY, run).stdout


@pytest.mark.slow
def test_merged_shards_and_own_answers_hold(books, tmp_path):
    for part in ("1/2", "2/2"):
        shard = tmp_path / part[0]
        ran("eval_scripts/tulving.py", "--dataset", books, "--memory", "none", "--shard", part, "--out", shard)
        assert "0 do not" in ran(VERIFY, shard).stdout
    ran("eval_scripts/merge.py", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "whole")
    rows = [row["id"] for row in pq.read_table(next((books / "qa").glob("*.parquet"))).to_pylist()]
    write_lines(tmp_path / "mine.jsonl", [{"id": id_, "answer": "Nobody knows."} for id_ in rows])
    ran("eval_scripts/tulving.py", "--dataset", books, "--answers", tmp_path / "mine.jsonl", "--out", tmp_path / "own")
    for name in ("whole", "own"):
        assert "0 do not" in ran(VERIFY, tmp_path / name).stdout


@pytest.mark.slow
def test_a_published_run_is_scored_again_from_its_archive(released, tmp_path):
    ran("eval_scripts/tulving.py", "--released", released, "--out", tmp_path / "published")
    run = sorted((tmp_path / "published").glob("*/*"))[0]
    assert "0 do not" in ran(VERIFY, run, "--released", released).stdout
    records = lines_of(run / "judgements.jsonl")
    records[0]["items"] = ["Rome"]
    write_lines(run / "judgements.jsonl", records)
    done = script(VERIFY, run, "--released", released)
    assert done.returncode == 1 and "records are not those of the archive" in done.stdout
    refused(script(VERIFY, run), "give the archive")


def test_what_has_not_ended_or_is_no_run_is_refused(runs, tmp_path):
    refused(script(VERIFY, tmp_path), "no run.json")
    run = tmp_path / "run"
    shutil.copytree(runs / "booksort", run)
    (run / "scores.json").unlink()
    refused(script(VERIFY, run), "only a run that has ended can be verified")


def test_other_versions_are_told_and_are_no_fault(runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs / "booksort", run)
    (run / "checksums.json").unlink()
    described = json.loads((run / "run.json").read_text("utf-8"))
    old = described["versions"]["scipy"]
    described["versions"]["scipy"] = "0.1"
    (run / "run.json").write_text(json.dumps(described), "utf-8")
    report = (run / "report.html").read_text("utf-8")
    (run / "report.html").write_text(report.replace(f">{old}<", ">0.1<"), "utf-8")
    done = script(VERIFY, run)
    assert "scipy 0.1, here" in " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout


def test_a_run_of_an_earlier_version_holds_without_the_fields_of_later_ones(runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs / "tulving", run)
    (run / "checksums.json").unlink()
    whole = json.loads((run / "scores.json").read_text("utf-8"))
    older = {name: value for name, value in whole.items() if name not in ("coverage", "possible")}
    assert len(older) == len(whole) - 2
    (run / "scores.json").write_text(json.dumps(older), "utf-8")
    assert "0 do not" in ran(VERIFY, run).stdout
    earlier = {name: value for name, value in whole.items() if name not in NAMING}
    (run / "scores.json").write_text(json.dumps(earlier), "utf-8")  # of the version between
    assert "0 do not" in ran(VERIFY, run).stdout
    (run / "scores.json").write_text(json.dumps(older | {"possible": whole["possible"]}), "utf-8")
    done = script(VERIFY, run)  # one of the two was taken out
    assert done.returncode == 1 and "coverage" in done.stdout
    (run / "scores.json").write_text(json.dumps(older | {"n_failed": 1}), "utf-8")
    assert script(VERIFY, run).returncode == 1


def _without(content, names):
    """The content without these fields, wherever they stand in it."""
    if isinstance(content, list):
        return [_without(value, names) for value in content]
    if not isinstance(content, dict):
        return content
    return {name: _without(value, names) for name, value in content.items() if name not in names}


def test_a_run_of_book_sort_without_the_auc_holds_and_is_shown(runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs / "booksort", run)
    (run / "checksums.json").unlink()
    whole = json.loads((run / "scores.json").read_text("utf-8"))
    older = _without(whole, APART)
    assert "auc" in whole and '"auc' not in json.dumps(older)
    (run / "scores.json").write_text(json.dumps(older), "utf-8")
    assert "0 do not" in ran(VERIFY, run).stdout
    ran("eval_scripts/report.py", run, "--out", tmp_path / "page")
    (run / "scores.json").write_text(json.dumps(older | {"n_invalid": 3}), "utf-8")
    assert script(VERIFY, run).returncode == 1


@pytest.mark.parametrize("benchmark", ["tulving", "booksort", "memfail"])
def test_a_run_on_a_relative_path_is_verified_from_any_folder(small_sets, tmp_path, monkeypatch, benchmark):
    names = {"tulving": "short"}
    shutil.copytree(small_sets / names.get(benchmark, benchmark), tmp_path / "set")
    (tmp_path / "elsewhere").mkdir()
    how = {
        "tulving": ["--memory", "none", "--limit", 5],
        "booksort": ["--memory", "none", "--model", "oracle", "--limit", 4],
        "memfail": ["--config", "long_hop", "--system", "none", "--limit", 3],
    }
    monkeypatch.chdir(tmp_path)
    ran(f"eval_scripts/{benchmark}.py", "--dataset", "set", *how[benchmark], "--out", "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["dataset"] == "set"
    monkeypatch.chdir(tmp_path / "elsewhere")
    ran(VERIFY, "../run")
    shutil.move(tmp_path, moved := tmp_path.with_name("moved"))  # both of them, so that the path holds from there
    monkeypatch.chdir(moved)
    ran(VERIFY, "run")


def test_a_table_of_questions_that_is_no_utf8_is_one_line(runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs / "tulving-none", run)
    table = pq.read_table(run / "questions.parquet")
    column = table.schema.get_field_index("question")
    broken = pa.array([b"\xff\xfe"] * len(table), pa.binary()).view(pa.string())
    pq.write_table(table.set_column(column, table.schema.field(column), broken), run / "questions.parquet")
    done = script(VERIFY, run)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"{run}: questions.parquet: it cannot be read" in done.stdout


def test_a_page_of_another_version_is_no_fault_and_its_scores_are_checked_all_the_same(runs, tmp_path):
    run = shutil.copytree(runs / "tulving", tmp_path / "run")
    noted = json.loads((run / "checksums.json").read_text("utf-8"))
    page = (run / "report.html").read_text("utf-8").replace("<h2>Scores</h2>", "<h2>All scores</h2>").encode()
    (run / "report.html").write_bytes(page)
    noted["sha256"]["report.html"], noted["bytes"]["report.html"] = hashlib.sha256(page).hexdigest(), len(page)
    (run / "checksums.json").write_text(json.dumps(noted | {"code": "another"}), "utf-8")
    said = " ".join(ran(VERIFY, run).stdout.split())
    assert "report.html not checked another version made it" in said and "scores.json holds" in said
    (run / "checksums.json").write_text(json.dumps(noted), "utf-8")
    assert "1 do not" in script(VERIFY, run).stdout
