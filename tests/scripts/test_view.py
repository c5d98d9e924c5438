"""eval_scripts/view.py: the runs of a folder, served on this machine alone or written as files."""

import json
import shutil
import urllib.error
import urllib.request
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer

import pytest
from filelock import FileLock

from tests.loopback import Loopback
from tests.scripts.in_process import loaded, ran, refused, script
from tests.scripts.run_files import change, read, scores_of

VIEW = "eval_scripts/view.py"
HOSTILE = "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"


@pytest.fixture(scope="module")
def view():
    return loaded(VIEW)


@contextmanager
def served(view, folder, scratch):
    scratch.mkdir(exist_ok=True)
    with Loopback(ThreadingHTTPServer((view.HOST, 0), partial(view.Viewer, folder, scratch))) as server:
        yield server.url


def got(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as reply:
        return reply.read().decode()


def refusal(address, **headers):
    with pytest.raises(urllib.error.HTTPError) as error:
        got(address, **headers)
    return error.value.code, error.value.read().decode()


def test_the_list_has_every_run_with_its_scores(view, small_runs, tmp_path):
    with served(view, small_runs, tmp_path / "scratch") as address:
        rows = {row["path"]: row for row in json.loads(got(f"{address}/runs.json"))}
        page = got(f"{address}/")
    assert set(rows) == {path.parent.relative_to(small_runs).as_posix() for path in small_runs.rglob("run.json")}
    scores = scores_of(small_runs / "tulving")
    row = rows["tulving"]
    assert row["scores"]["simple recall"][0] == scores["simple_recall_score"] and row["state"] == "finished"
    assert (row["memory"], row["questions"]) == ("rag-chapter", 40)
    assert "connect-src 'self'" in page and page.count("<script>") == 1


def test_a_page_and_a_comparison_are_served_and_nothing_else_is(view, small_runs, tmp_path):
    with served(view, small_runs, tmp_path / "scratch") as address:
        assert got(f"{address}/run/tulving") == (small_runs / "tulving" / "report.html").read_text("utf-8")
        beside = got(f"{address}/compare?run=tulving&run=tulving-none")
        assert "2 runs" in beside and "Question by question" in beside
        for path in ("/run/..%2F..", "/run/%2Fetc", "/run/tulving%2F..", "/etc/passwd", "/run/"):
            assert refusal(address + path)[0] == 404
        assert "two" in refusal(f"{address}/compare?run=tulving")[1]
        assert "2 benchmarks" in refusal(f"{address}/compare?run=tulving&run=booksort")[1]
        assert refusal(f"{address}/", Host="elsewhere.example")[0] == 403


def test_a_run_that_is_being_made_is_told_from_one_that_stopped(view, small_runs, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(small_runs / "tulving", runs / "new")
    (runs / "new" / "scores.json").unlink()
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{", "utf-8")
    with FileLock(runs / "new" / ".lock"):
        (row,) = view.rows_of(runs)
        assert (row.state, row.scores) == ("at work", {}) and row.answers == 40
    assert [row.state for row in view.rows_of(runs)] == ["stopped"]


def test_a_bundle_needs_no_server(small_runs, tmp_path):
    ran(VIEW, small_runs, "--bundle", tmp_path / "site")
    files = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.html")}
    assert "index.html" in files and len([name for name in files if name.startswith("runs/")]) >= 5
    assert len([name for name in files if name.startswith("together/")]) == 2  # the books and MemFail


def test_profiles_are_listed_with_the_pages_that_they_lead_to(view, small_runs, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(small_runs / "tulving", runs / "mine" / "runs" / "tulving-1")
    (runs / "mine" / "profile.html").write_text("a profile", "utf-8")
    with served(view, runs, tmp_path / "scratch") as address:
        assert "profile/mine/profile.html" in got(f"{address}/")
        assert got(f"{address}/profile/mine/profile.html") == "a profile"
        assert "simple recall" in got(f"{address}/profile/mine/runs/tulving-1/report.html")
        for path in ("mine/runs/tulving-1/run.json", "mine/..%2F..%2Fetc", "../runs/mine/profile.html%00"):
            assert refusal(f"{address}/profile/{path}")[0] == 404
    ran(VIEW, runs, "--bundle", tmp_path / "site")
    assert (tmp_path / "site/profiles/0/profile.html").read_text("utf-8") == "a profile"
    assert (tmp_path / "site/profiles/0/runs/tulving-1/report.html").is_file()


def test_what_is_no_folder_is_refused(tmp_path):
    refused(script(VIEW, tmp_path / "none"), "expected a folder of runs")


# ---- in a browser ----


def names_of(browser):
    return browser.js("[...document.querySelectorAll('.runs tbody tr td:nth-child(2)')].map(one => one.innerText)")


def test_runs_are_filtered_sorted_and_compared(view, small_runs, tmp_path, browser):
    with served(view, small_runs, tmp_path / "scratch") as address:
        browser.open(f"{address}/")
        browser.choose("benchmark", "tulving")
        assert browser.text(".status").startswith("2 of ")
        headers = "[...document.querySelectorAll('.runs th button')]"
        browser.js(f"{headers}.find(b => b.innerText === 'simple recall').click()")
        assert names_of(browser) == ["tulving", "tulving-none"]
        browser.js(f"{headers}[0].click()")
        assert names_of(browser) == ["tulving-none", "tulving"]
        assert browser.js("document.querySelector('.filters button').disabled")
        browser.js("document.querySelectorAll('.runs input').forEach(box => box.click())")
        assert not browser.js("document.querySelector('.filters button').disabled")
        assert browser.complaints() == []


@pytest.mark.slow
def test_the_list_follows_a_run(view, small_runs, tmp_path, browser):
    runs = tmp_path / "runs"
    run = shutil.copytree(small_runs / "tulving", runs / "new")
    scores, journal = (run / "scores.json").read_bytes(), (run / "answers.jsonl").read_bytes()
    change(run / "run.json", identity=read(run, "run.json")["identity"] | {"model": HOSTILE})
    (run / "scores.json").unlink()
    (run / "answers.jsonl").write_bytes(b"\n".join(journal.split(b"\n")[:3]) + b"\n")
    wait = "new Promise(done => setTimeout(done, 3000))"
    with served(view, runs, tmp_path / "scratch") as address, FileLock(run / ".lock"):
        browser.open(f"{address}/")
        assert "at work: 3 answers" in browser.text(".runs tbody")
        (run / "answers.jsonl").write_bytes(journal)
        browser.js(wait)
        assert "at work: 40 answers" in browser.text(".runs tbody")
        (run / "scores.json").write_bytes(scores)
        browser.js(wait)
        assert "40 questions" in browser.text(".runs tbody") and HOSTILE in browser.text(".runs tbody")
        assert browser.js("window.stolen") is None and browser.complaints() == []
