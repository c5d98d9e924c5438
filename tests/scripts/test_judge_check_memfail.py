"""The judge check of MemFail as a user runs it: by the rules, by a model behind an endpoint, and in the reports of runs."""

import pytest

from epbench.memfail.dataset.load import CONFIGS
from tests.memfail.honest_judge import verdict
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import files_in, read

CHECK = "eval_scripts/judge_check.py"
OF_MEMFAIL = f"{CHECK} --benchmark memfail --n 20 --rows 20"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A store of one's own: a passport that stays would change the reports of other tests."""
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.slow
def test_the_rules_get_their_passport_and_runs_tell_it(tmp_path, cache):
    command = f"{OF_MEMFAIL} --judge lexical --out {tmp_path / 'r'}"
    said = ran(command)
    passport = read(tmp_path / "r", "passport.json")
    assert {config["config"] for config in passport["configs"]} == set(CONFIGS)
    assert passport["judge"] == "lexical" and passport["failed"] == 0
    assert "fact absent" in said and "specificity" in said
    assert len(list((cache / "passports").iterdir())) == 1
    before = files_in(tmp_path / "r")
    ran(command)
    assert files_in(tmp_path / "r") == before

    ran("builders/memfail.py", "--config", "long_hop", "--rows", 20, "--out", tmp_path / "d")
    run = ["--dataset", tmp_path / "d/memfail", "--config", "long_hop", "--system", "oracle", "--out", tmp_path / "run"]
    ran("eval_scripts/memfail.py", *run)
    report = ran("eval_scripts/report.py", tmp_path / "run", "--out", tmp_path / "report")
    assert "of planted faults it finds" in report
    for name in ("report.html", "table.md"):
        assert f"{passport['sensitivity']:.1%}" in (tmp_path / "report" / name).read_text()


@pytest.mark.slow
def test_a_model_is_planned_asked_once_and_exposed(tmp_path):
    base = f"{OF_MEMFAIL} --config long_hop --judge openai:tiny --out {tmp_path / 'r'}"
    with LoopbackEndpoint(lambda prompt: verdict(True)) as endpoint:
        command = f"{base} --base-url {endpoint.url}"
        assert "requests" in ran(command, "--plan") and not (tmp_path / "r").exists()
        ran(command)
        asked = endpoint.answered
        ran(command)
        assert endpoint.answered == asked
    passport = read(tmp_path / "r", "passport.json")
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
def test_bad_input_is_one_line(tmp_path, args, message):
    refused(script(OF_MEMFAIL, "--judge", "lexical", "--out", tmp_path / "r", *args), message)


def test_what_is_for_memfail_is_refused_for_tulving(tmp_path):
    done = script(f"{CHECK} --judge lexical --rows 5 --out {tmp_path / 'r'}")
    refused(done, "give --benchmark memfail with them")
