"""What an endpoint says, or a folder is called, reaches screen, table and page as text and as nothing else."""

import shutil

import pytest

from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts import in_process
from tests.scripts.in_process import ran

WORDS = "[/INST] [red]x[/red] \x1b[2J\x1b]0;owned\x07 <script>alert(1)</script> | $\\frac$ :smile:"
FOLDER = "o[red]x a$\\frac$ <b>"


def _refuses_some(number, body):
    return Fault("status", 400, words=WORDS) if number % 3 == 0 else None


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    with LoopbackEndpoint(lambda prompt: f"Segment A {WORDS}", script=_refuses_some) as endpoint:
        yield endpoint


def _check(done, folder):
    assert done.returncode == 0, done.stderr
    shown = done.stdout.replace("\n", "").replace(" ", "")
    assert "[/INST][red]x[/red]" in shown and ":smile:" in shown
    assert str(folder / "report.html").replace(" ", "") in shown
    for text in (done.stdout, done.stderr, (folder / "table.md").read_text(), (folder / "report.html").read_text()):
        assert "\x1b" not in text and "\x07" not in text
    assert "<script" not in (folder / "table.md").read_text()
    assert "<script>alert" not in (folder / "report.html").read_text()


@pytest.mark.slow
def test_runs_and_what_stands_side_by_side(short_book, sort_set, endpoint, tmp_path):
    out = tmp_path / FOLDER
    asked = ("--memory", "none", "--model", "openai:tiny", "--base-url", endpoint.url, "--limit", 12, "--out", out)
    done = in_process.script("eval_scripts/tulving.py", "--dataset", short_book, *asked)
    _check(done, out)
    ran("eval_scripts/report.py", out, "--out", tmp_path / "side")
    table, page = (tmp_path / "side/table.md").read_text(), (tmp_path / "side/report.html").read_text()
    assert "&lt;b&gt;" in table and "<b>" not in table and "a$\\frac$" in page
    shutil.rmtree(out)
    _check(in_process.script("eval_scripts/booksort.py", "--dataset", sort_set, "--config", "all", *asked), out)
