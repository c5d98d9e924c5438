"""What an endpoint says: the commonest of its errors is named, and its words reach screen, table and page as text."""

import shutil

import pytest

from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts.in_process import ran, script

WORDS = "this model takes no such prompt"
HOSTILE = "[/INST] [red]x[/red] \x1b[2J\x1b]0;owned\x07 <script>alert(1)</script> | $\\frac$ :smile:"
FOLDER = "o[red]x a$\\frac$ <b>"


@pytest.fixture
def endpoint():
    """It refuses every call, the first one in other words."""
    with LoopbackEndpoint(
        script=lambda number, body: Fault("status", 422, words=WORDS if number else "something else")
    ) as opened:
        yield opened


COMMANDS = {
    "tulving": "eval_scripts/tulving.py --dataset {}/short --memory none",
    "booksort": "eval_scripts/booksort.py --dataset {}/booksort --memory none",
    "memfail": "eval_scripts/memfail.py --dataset {}/memfail --config long_hop --system full-context",
}


@pytest.mark.parametrize(
    ("benchmark", "role"),
    [("tulving", "model"), ("tulving", "judge"), ("booksort", "model"), ("memfail", "model"), ("memfail", "judge")],
)
def test_a_run_without_any_answer(small_sets, endpoint, tmp_path, benchmark, role):
    address = f"--{'base' if role == 'model' else 'judge'}-url {endpoint.url}"
    command = COMMANDS[benchmark].format(small_sets)
    done = script(f"{command} --{role} openai:tiny {address} --limit 6 --out {tmp_path / 'r'}")
    assert done.returncode == (0 if benchmark == "memfail" else 1), done.stdout + done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.partition(": ")[2].startswith("nothing to score: all 6 questions failed; most often ("), last
    number, said = last.partition("most often (")[2].split("): ", 1)
    assert WORDS in said and ("judge openai:tiny" in said or role == "model" or benchmark == "memfail")
    # A question of MemFail has several calls of the judge.
    assert int(number) == 5 or (benchmark, role, int(number)) == ("memfail", "judge", 6), last


@pytest.mark.slow
def test_a_judge_that_is_checked(endpoint, tmp_path):
    check = "eval_scripts/judge_check.py --judge openai:tiny --n 20"
    done = script(f"{check} --base-url {endpoint.url} --out {tmp_path / 'r'}")
    assert done.returncode == 1
    assert "has judged none of the" in done.stderr and "; most often (" in done.stderr and WORDS in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "builders/tulving.py --book short --events 6 --writer openai:tiny",
        "builders/memfail.py --source openai:tiny --config long_hop --rows 5",
    ],
)
def test_a_model_that_writes(endpoint, tmp_path, command):
    done = script(f"{command} --base-url {endpoint.url} --out {tmp_path}")
    assert done.returncode == 1, done.stderr
    said = done.stderr.partition("got no answer; most often (")[2]
    assert WORDS in said or "something else" in said, done.stderr  # a single request gets the words of the first call


# ---- hostile words, also in the name of a folder ----


def _refuses_some(number, body):
    return Fault("status", 400, words=HOSTILE) if number % 3 == 0 else None


@pytest.fixture
def hostile():
    with LoopbackEndpoint(lambda prompt: f"Segment A {HOSTILE}", script=_refuses_some) as opened:
        yield opened


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
def test_runs_and_what_stands_side_by_side(short_book, sort_set, hostile, tmp_path):
    out = tmp_path / FOLDER
    asked = ("--memory", "none", "--model", "openai:tiny", "--base-url", hostile.url, "--limit", 12, "--out", out)
    done = script("eval_scripts/tulving.py", "--dataset", short_book, *asked)
    _check(done, out)
    ran("eval_scripts/report.py", out, "--out", tmp_path / "side")
    table, page = (tmp_path / "side/table.md").read_text(), (tmp_path / "side/report.html").read_text()
    assert "&lt;b&gt;" in table and "<b>" not in table and "a$\\frac$" in page
    shutil.rmtree(out)
    _check(script("eval_scripts/booksort.py", "--dataset", sort_set, "--config", "all", *asked), out)
