"""epbench profile: from a model to its page, again from its journals, and two profiles beside one another."""

import json
import shutil
import subprocess
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest
from msgspec.structs import replace

from epbench.command import commands
from epbench.profile.dimensions import measured
from epbench.profile.page import _dots, read_profile, scores_of
from epbench.profile.plan import preset_names, read_preset
from epbench.runs.benchmark import find_benchmark, recompute
from tests.scripts.in_process import ROOT, refused, script

PROFILE = "eval_scripts/make_profile.py"
SMALL = """
version = 3
about = "Small, for a test"

[[part]]
name = "tulving-1"
benchmark = "tulving"
build = ["--book", "short", "--events", "6"]
dataset = "short"
limit = 40
ask = []

[[part]]
name = "booksort"
benchmark = "booksort"
build = ["--template-books", "2", "--excerpt-words", "250", "--segment-words", "20", "--excerpts", "2"]
dataset = "booksort"
ask = ["--config", "e250_s20"]

[[part]]
name = "memfail"
benchmark = "memfail"
build = ["--rows", "6", "--config", "coexisting_facts", "long_hop"]
dataset = "memfail"
ask = ["--config", "coexisting_facts", "long_hop"]
"""


@pytest.fixture(scope="module")
def preset(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("preset") / "small.toml"
    path.write_text(SMALL, "utf-8")
    return path


def profile(*words):
    """The script with its runs in this process, without the seconds that a new Python takes for each of them."""
    real = subprocess.run

    def run(command, **more):
        if command[1:3] != ["-m", "epbench"]:
            return real(command, **more)
        n = 2 if command[3] in ("build", "eval") else 1
        return script(str(commands()[tuple(command[3 : 3 + n])].relative_to(ROOT)), *command[3 + n :])

    with patch.object(subprocess, "run", run):
        return script(PROFILE, *words)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory, preset):
    out = tmp_path_factory.mktemp("profiles")
    for memory in ("in-context", "rag-paragraph"):
        if (data := out / "in-context/data").is_dir():  # building it twice would take twice as long
            shutil.copytree(data, out / memory / "data")
        done = profile("lexical", "--memory", memory, "--preset", preset, "--out", out / memory)
        assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_every_dimension_that_was_measured_is_there_and_no_other(profiles):
    found = read_profile(profiles / "in-context")
    names = [score.name for score in found.dimensions]
    assert {"single events", "what never happened", "storing", "using"} <= set(names)
    assert not {"inference", "order within an excerpt"} & set(names)
    assert found.missing == {"booksort": "rules give no probabilities of A and B"}
    assert all(0 <= score.floor <= score.ceiling == 1 and score.n > 0 for score in found.dimensions)
    files = {path.name: path for path in (profiles / "in-context").glob("profile.*")}
    assert files.keys() == {"profile.json", "profile.csv", "profile.svg", "profile.html"}
    for score in found.dimensions:
        assert f'href="{score.run}/report.html"' in files["profile.html"].read_text("utf-8")
        assert (profiles / "in-context" / score.run / "report.html").is_file()


@pytest.mark.slow
def test_every_number_is_that_of_the_journals(profiles, tmp_path):
    again: dict[str, Path] = {}
    for run in sorted(path.parent for path in (profiles / "in-context" / "runs").rglob("run.json")):
        relative = run.relative_to(profiles / "in-context" / "runs")
        recompute(find_benchmark(run), run, tmp_path / relative)
        again[relative.parts[0]] = tmp_path / relative.parts[0]
    found = {score.name: (score.score, score.low, score.high) for score in scores_of(list(measured(again, tmp_path)))}
    noted = read_profile(profiles / "in-context").dimensions
    assert found == {score.name: (score.score, score.low, score.high) for score in noted}


@pytest.mark.slow
def test_the_same_command_asks_nothing_again(profiles, preset):
    journal = profiles / "in-context" / "runs" / "tulving-1" / "answers.jsonl"
    before = journal.read_bytes(), (profiles / "in-context" / "profile.json").read_bytes()
    done = profile("lexical", "--preset", preset, "--out", profiles / "in-context")
    assert done.returncode == 0
    assert before == (journal.read_bytes(), (profiles / "in-context" / "profile.json").read_bytes())


@pytest.mark.slow
def test_two_profiles_are_compared_and_others_refused(profiles, tmp_path):
    given = [profiles / "in-context", profiles / "rag-paragraph"]
    done = script(PROFILE, "--compare", *given, "--out", tmp_path / "both")
    assert done.returncode == 0 and "p, corrected" in done.stdout
    page = (tmp_path / "both" / "profile.html").read_text("utf-8")
    assert "lexical, in-context" in page and "lexical, rag-paragraph" in page
    assert (tmp_path / "both" / "profile.svg").read_text("utf-8").count("<svg") == 1
    rows = pd.read_csv(tmp_path / "both" / "profile.csv").set_index(["profile", "name"])
    for one in map(read_profile, given):
        assert rows.loc[one.name, "n"].to_dict() == {score.name: score.n for score in one.dimensions}
    other = shutil.copytree(given[1], tmp_path / "other")
    content = json.loads((other / "profile.json").read_text("utf-8"))
    (other / "profile.json").write_text(json.dumps(content | {"version": 4}), "utf-8")
    refused(script(PROFILE, "--compare", given[0], other, "--out", tmp_path / "none"), "has version 3")


@pytest.mark.slow
def test_a_score_without_an_interval_is_hollow_and_not_drawn_beside_others(profiles):
    one = read_profile(profiles / "in-context")
    bare = replace(one, name="bare", dimensions=[replace(score, low=None, high=None) for score in one.dimensions])

    def points(*shown):
        return [line for line in _dots(shown).axes[0].lines if line.get_marker() in "os" and len(line.get_xdata())]

    assert len(points(bare)) == len(points(one)) == sum(score.score is not None for score in one.dimensions)
    assert {line.get_markerfacecolor() for line in points(bare)} == {"none"}
    assert 0 < len(points(one, bare)) == sum(score.low is not None for score in one.dimensions)


@pytest.mark.slow
def test_a_spent_budget_is_named_and_a_larger_one_goes_on(profiles, preset, tmp_path):
    out = tmp_path / "profile"
    shutil.copytree(profiles / "in-context" / "data", out / "data")
    assert script(PROFILE, "lexical", "--preset", preset, "--budget", "0.001m", "--out", out).returncode == 0
    assert "the budget was spent" in str(read_profile(out).missing)
    assert profile("lexical", "--preset", preset, "--budget", "1h", "--out", out).returncode == 0
    assert set(read_profile(out).missing) == {"booksort"}
    assert json.loads((out / "limits.json").read_text("utf-8"))["limits"]["tulving-1"] == 40
    assert read_profile(out).dimensions == read_profile(profiles / "in-context").dimensions


@pytest.mark.slow
def test_a_budget_that_ends_between_two_configs_leaves_the_first(profiles, preset, tmp_path):
    out = shutil.copytree(profiles / "in-context", tmp_path / "profile")
    for name in ("scores.json", "questions.parquet"):
        (out / "runs/memfail/long_hop" / name).unlink()
    assert profile("lexical", "--preset", preset, "--budget", "0.001m", "--out", out).returncode == 0
    found = read_profile(out)
    assert found.missing["memfail"] == "in part: the budget was spent"
    whole = {score.name: score.n for score in read_profile(profiles / "in-context").dimensions}
    assert 0 < next(score.n for score in found.dimensions if score.name == "storing") < whole["storing"]


def test_what_cannot_be_done_is_refused(preset, tmp_path):
    for words, message in (
        ("", "expected a model"),
        ("lexical --preset none", "full, quick, standard"),
        (f"lexical --budget 5 --preset {preset}", "budget: expected"),
        (f"lexical --budget 5usd --preset {preset}", "a file of prices beside a price"),
        (f"--compare {tmp_path}", "at least two"),
    ):
        refused(script(f"{PROFILE} --out {tmp_path} {words}"), message)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_measures_every_dimension(name):
    from epbench.profile.dimensions import DIMENSIONS

    assert {part.name for part in read_preset(name).part} == {dimension.part for dimension in DIMENSIONS}
