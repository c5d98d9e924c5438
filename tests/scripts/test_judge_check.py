"""The judge check as a user runs it: by the rules, by a model behind an endpoint, through a kill, on published answers."""

import json
from collections import Counter

import pytest

from epbench.memfail.dataset.load import CONFIGS
from epbench.tulving.calibration.answers import KINDS, make_calibration_set
from epbench.tulving.calibration.passport import find_passport, is_right
from epbench.tulving.judging.lexical import LexicalJudge
from tests.memfail.memfail_samples import verdict as memfail_verdict
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.published_data import ARCHIVES
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import files_in, read, scores_of
from tests.tulving.scripted_judge import honest, is_order, verdict

CHECK = "eval_scripts/judge_check.py"
OF_MEMFAIL = f"{CHECK} --benchmark memfail --n 20 --rows 20"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A store of one's own: a passport that stays would change the reports of other tests."""
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def yes(prompt):
    """A judge for whom everything true is found, in the true order."""
    n = honest(prompt).count('"number"')
    return honest(prompt) if is_order(prompt) else json.dumps(verdict(prompt, [1] * n))


@pytest.mark.slow
def test_the_rules_get_their_passport(tmp_path, cache):
    done = ran(CHECK, "--judge", "lexical", "--n", "25", "--seed", "4", "--out", tmp_path / "r")
    passport = read(tmp_path / "r", "passport.json")
    judge, made = LexicalJudge(), make_calibration_set(25, 4)
    right = Counter(answer.kind for answer in made if is_right(answer, judge.verdict(answer.judge_input)))
    assert {kind["kind"]: kind["right"] for kind in passport["kinds"]} == {kind: right[kind] for kind in KINDS}
    for kind in passport["kinds"]:
        assert kind["n"] == 25 and kind["rate"] == kind["right"] / 25 and kind["low"] <= kind["rate"] <= kind["high"]
    assert (passport["judge"], passport["prompt_hash"], passport["seed"]) == ("lexical", judge.prompt_hash, 4)
    assert 0 < passport["sensitivity"] < 1 and 0 < passport["specificity"] < 1 and passport["failed"] == 0
    for name in ("run.json", "answers.jsonl", "judgements.jsonl", "table.md", "report.html"):
        assert (tmp_path / "r" / name).is_file()
    assert f"| paraphrase | 25 | {right['paraphrase']} |" in (tmp_path / "r/table.md").read_text()
    page = (tmp_path / "r/report.html").read_text()
    assert "<svg" in page and "Wrong verdicts" in page and "share of right verdicts" in page
    assert "paraphrase" in done and "25/25" in done
    assert find_passport(judge) == passport and len(list((cache / "passports").iterdir())) == 1
    before = files_in(tmp_path / "r")
    ran(CHECK, "--judge", "lexical", "--n", "25", "--seed", "4", "--out", tmp_path / "r")
    assert files_in(tmp_path / "r") == before


@pytest.mark.slow
def test_a_model_that_always_says_yes_is_exposed_and_its_runs_tell(tmp_path, short_book):
    with LoopbackEndpoint(yes) as endpoint:
        run = ["eval_scripts/tulving.py", "--dataset", short_book, "--memory", "none", "--limit", 40]
        run += ["--judge", "openai:tiny", "--judge-url", endpoint.url, "--out", tmp_path / "run"]
        ran(*run)
        hint = "epbench judge-check --judge openai:tiny --out runs/judge"
        assert hint in (tmp_path / "run/table.md").read_text()
        said = ran(f"{CHECK} --judge openai:tiny --base-url {endpoint.url} --n 20 --out {tmp_path / 'check'}")
        assert f"judge openai:tiny: {20 * len(KINDS)} verdicts, at most" in said
        rates = {kind["kind"]: kind["rate"] for kind in read(tmp_path / "check", "passport.json")["kinds"]}
        assert rates["exact"] > 0.9 and max(rates["one missing"], rates["one wrong"], rates["wrong day"]) < 0.1
        ran("eval_scripts/report.py", tmp_path / "run", "--out", tmp_path / "side")
        assert "judge openai:tiny: sensitivity" in (tmp_path / "side/report.html").read_text()
        ran(*run)
        scores, page = scores_of(tmp_path / "run"), (tmp_path / "run/report.html").read_text()
        assert scores["judge"]["specificity"] < 0.5 and scores["judge"]["passport"]["n"] == 20
        assert f"specificity {scores['judge']['specificity']:.3f}" in page and hint not in page


@pytest.mark.slow
def test_a_judge_that_fails_now_and_then_fails_apart_and_one_that_always_does_has_no_passport(tmp_path):
    def garbled(prompt):
        return "no verdict" if "Kayak" in prompt or "Bavaria" in prompt else honest(prompt)

    with LoopbackEndpoint(garbled) as endpoint:
        base = [CHECK, "--judge", "openai:tiny", "--base-url", endpoint.url, "--n", "20"]
        done = ran(*base, "--out", tmp_path / "r")
        passport = read(tmp_path / "r", "passport.json")
        affected = [m for m in make_calibration_set(20) if any(w in f"{m.judge_input}" for w in ("Kayak", "Bavaria"))]
        assert passport["failed"] == len(affected) > 3
        assert f"{len(affected)} calibration answers have no verdict" in done
        endpoint.answer = honest
        ran(*base, "--out", tmp_path / "r")
        assert read(tmp_path / "r", "passport.json")["failed"] == 0
        endpoint.answer = lambda prompt: "no verdict"
        none = script(*base, "--out", tmp_path / "none")
        assert none.returncode == 1 and "judged none of" in none.stderr
        assert not (tmp_path / "none/passport.json").exists()


def test_a_plan_asks_nothing(tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        base = [CHECK, "--judge", "openai:tiny", "--base-url", endpoint.url, "--out", tmp_path / "r", "--plan"]
        assert f"{30 * len(KINDS)} verdicts, at most" in ran(*base)
        assert not endpoint.calls and not (tmp_path / "r").exists()
    assert "no tokens" in ran(CHECK, "--judge", "lexical", "--plan", "--out", tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_the_folder_of_another_check_is_refused(tmp_path):
    out = ["--out", tmp_path / "r"]
    ran(CHECK, "--judge", "lexical", "--n", "20", *out)
    refused(script(CHECK, "--judge", "lexical", "--n", "21", *out), "its n is 20, expected 21")


@pytest.mark.slow
@pytest.mark.parametrize(("archive", "expected"), ARCHIVES, ids=lambda path: path.name)
def test_the_rules_are_held_against_the_published_judge(archive, expected, tmp_path):
    done = ran(CHECK, "--judge", "lexical", "--released", archive, "--out", tmp_path / "r")
    assert "short, rag" in done and "kappa" in done
    found = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "r").glob("*/*/agreement.json")}
    expected = json.loads(expected.read_text())
    assert found.keys() == expected.keys()
    for name, agreement in found.items():
        assert agreement["judges"][0] == "lexical" and agreement["judges"][1].endswith(" (published)")
        assert (agreement["n_questions"], agreement["n_failed"]) == (456, 0)
        assert agreement["item_agreement"] > 0.9 and agreement["kappa"] > 0.8
        published = expected[name]["unrounded"]["simple_recall"]
        assert agreement["simple_recall_score"][1] == pytest.approx(published, abs=1e-9)
        assert 0 < len(agreement["disagreements"]) <= 20
    table = next((tmp_path / "r").glob("*/*/table.md")).read_text()
    assert "| get = latest |" in table and "| 3-5 chapters |" in table


@pytest.mark.slow
def test_published_runs_are_chosen(released, tmp_path):
    base = [CHECK, "--judge", "lexical", "--released", released, "--out", tmp_path / "r"]
    ran(*base, "--book", "short", "--generator", "made", "--run", "rag")
    (run,) = (tmp_path / "r").glob("*/*/agreement.json")
    assert run.parent.name == "answered_by_kind_rag_model_gpt-4o_chunk_paragraph_top12"
    refused(script(*base, "--book", "long"), "no run matches; it has: short, prompting gpt-4o")
    assert ran(*base, "--plan").count("456 verdicts, no tokens") == 3


# ---- MemFail ----


@pytest.mark.slow
def test_the_rules_get_their_passport_for_memfail_and_runs_tell_it(tmp_path, cache):
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
def test_for_memfail_a_model_is_planned_asked_once_and_exposed(tmp_path):
    base = f"{OF_MEMFAIL} --config long_hop --judge openai:tiny --out {tmp_path / 'r'}"
    with LoopbackEndpoint(lambda prompt: memfail_verdict(True)) as endpoint:
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
