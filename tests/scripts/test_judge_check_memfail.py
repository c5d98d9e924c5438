"""The judge check of MemFail as a user runs it: by the rules, by a model behind an endpoint, and in the reports of runs."""

import json

import pytest

from epbench.memfail.dataset.load import CONFIGS
from tests.memfail.honest_judge import verdict
from tests.models.loopback_endpoint import LoopbackEndpoint

CHECK = "eval_scripts/judge_check.py"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A store of one's own: a passport that stays would change the reports of other tests."""
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def check(script, *args):
    return script(CHECK, "--benchmark", "memfail", "--n", "20", "--rows", "20", *args)


def passport_of(folder):
    return json.loads((folder / "passport.json").read_text())


@pytest.mark.slow
def test_the_rules_get_their_passport_and_runs_tell_it(script, tmp_path, cache):
    done = check(script, "--judge", "lexical", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    passport = passport_of(tmp_path / "r")
    assert {config["config"] for config in passport["configs"]} == set(CONFIGS)
    assert passport["judge"] == "lexical" and passport["failed"] == 0
    assert "fact absent" in done.stdout and "specificity" in done.stdout
    assert len(list((cache / "passports").iterdir())) == 1
    before = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir() if path.is_file()}
    again = check(script, "--judge", "lexical", "--out", tmp_path / "r")
    assert again.returncode == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir() if path.is_file()} == before

    made = script("builders/memfail.py", "--config", "long_hop", "--rows", 20, "--out", tmp_path / "d")
    assert made.returncode == 0, made.stderr
    run = ["--dataset", tmp_path / "d/memfail", "--config", "long_hop", "--system", "oracle", "--out", tmp_path / "run"]
    assert script("eval_scripts/memfail.py", *run).returncode == 0
    report = script("eval_scripts/report.py", tmp_path / "run", "--out", tmp_path / "report")
    assert report.returncode == 0, report.stderr
    assert "of planted faults it finds" in report.stdout
    for name in ("report.html", "table.md"):
        assert f"{passport['sensitivity']:.1%}" in (tmp_path / "report" / name).read_text()


@pytest.mark.slow
def test_a_model_is_planned_asked_once_and_exposed(script, tmp_path):
    base = ["--config", "long_hop", "--judge", "openai:tiny", "--out", tmp_path / "r"]
    with LoopbackEndpoint(lambda prompt: verdict(True)) as endpoint:
        plan = check(script, *base, "--base-url", endpoint.url, "--plan")
        assert plan.returncode == 0 and "requests" in plan.stdout and not (tmp_path / "r").exists()
        done = check(script, *base, "--base-url", endpoint.url)
        assert done.returncode == 0, done.stderr
        asked = endpoint.answered
        assert check(script, *base, "--base-url", endpoint.url).returncode == 0 and endpoint.answered == asked
    passport = passport_of(tmp_path / "r")
    by_fault = {fault["fault"]: fault for fault in passport["faults"]}
    assert passport["specificity"] == 1 and by_fault["fact absent"]["right"] == 0
    assert by_fault["answer wrong"]["rate"] == 1  # a letter needs no judge


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--config", "other"], "unknown config 'other'"),
        (["--n", 5], "expected at least 20 of each, got 5"),
        (["--dataset", "nowhere-to-be-found"], "nowhere-to-be-found"),
        (["--released", "x.zip"], "it goes with --benchmark tulving"),
    ],
)
def test_bad_input_is_one_line(script, tmp_path, args, message):
    done = check(script, "--judge", "lexical", "--out", tmp_path / "r", *args)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_what_is_for_memfail_is_refused_for_tulving(script, tmp_path):
    done = script(CHECK, "--judge", "lexical", "--rows", "5", "--out", tmp_path / "r")
    assert done.returncode == 2 and "give --benchmark memfail with them" in done.stderr
