"""Passports: counted by hand, kept and told of, and of judges that are always or never satisfied."""

import json

import pytest

from epbench.errors import RunFailed
from epbench.files.json_files import write_json
from epbench.judges.protocol import PastJudge
from epbench.memfail.calibration import passport as passports
from epbench.memfail.calibration.faults import FAULTS, NO_FAULT
from epbench.memfail.calibration.passport import passport_note, passport_path, plan_lines, planted_set
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.progress import no_progress
from epbench.runs.folder import open_run
from tests.memfail.memfail_samples import ScriptedJudge

CONFIGS = ("conditional_facts_easy", "long_hop")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def cases():
    return planted_set(CONFIGS, 20, 0, dataset=None, rows=25)


def made(judge, cases, labels):
    return passports.make_passport(judge, cases, labels, n=20, seed=0, rows="made rows")


def checked(folder, cases, judge):
    with open_run(folder, {"benchmark": "judge check, memfail"}, {}) as opened:
        return passports.check_judge_on(opened, cases, judge, no_progress, n=20, seed=0, rows="made rows")


def test_numbers_of_a_passport(cases):
    judge = PastJudge("j", "1")
    passport = made(judge, cases, [case.expected for case in cases])
    assert [passport[share] for share in ("sensitivity", "stage", "specificity", "failed")] == [1, 1, 1, 0]
    assert sum(fault["n"] for fault in passport["faults"]) == len(cases)
    assert [fault["fault"] for fault in passport["faults"]] == list(FAULTS)
    blind = made(judge, cases, ["correct"] * len(cases))
    assert (blind["sensitivity"], blind["stage"], blind["specificity"]) == (0, 0, 1)
    strict = made(judge, cases, ["storage_error"] * len(cases))
    own = sum(case.expected == "storage_error" for case in cases) / sum(case.fault != NO_FAULT for case in cases)
    assert (strict["sensitivity"], strict["stage"], strict["specificity"]) == (1, own, 0)
    by_fault = {fault["fault"]: fault for fault in strict["faults"]}
    assert (by_fault["answer wrong"]["noticed"], by_fault["answer wrong"]["right"]) == (40, 0)
    assert by_fault["fact absent"]["low"] < by_fault["fact absent"]["rate"] == 1.0 == by_fault["fact absent"]["high"]
    silent = made(judge, cases, ["failed" if case.fault == "fact absent" else case.expected for case in cases])
    absent = next(fault for fault in silent["faults"] if fault["fault"] == "fact absent")
    assert (absent["n"], absent["rate"], absent["low"], absent["failed"]) == (0, None, None, 40)
    assert silent["failed"] == 40 and silent["stage"] == 1  # neither right nor wrong


def test_a_passport_holds_only_for_the_server_that_was_checked(cases):
    one, other, unknown = (PastJudge("openai:j", "1", setup) for setup in ("http://a/v1", "http://b/v1", ""))
    write_json(passport_path(one), made(one, cases, [case.expected for case in cases]))
    assert "openai:j (1; http://a/v1)" in passport_note(one)
    assert passport_note(other) is None and passport_note(unknown) is None
    passport_path(one).rename(passport_path(other))
    assert passport_note(other) is None


@pytest.mark.slow
def test_a_check_writes_a_passport_that_later_runs_are_told_of(cases, tmp_path):
    judge = LexicalJudge()
    assert passport_note(judge) is None
    passport = checked(tmp_path / "r", cases, judge)
    assert json.loads((tmp_path / "r/passport.json").read_text()) == passport
    assert json.loads(passport_path(judge).read_text()) == passport
    note = passport_note(PastJudge(judge.name, judge.prompt_hash))
    assert f"{passport['sensitivity']:.1%}" in note and f"({len(cases):,} cases, made rows)" in note
    assert passport_note(PastJudge(judge.name, "another")) is None
    assert 0.9 < passport["specificity"] <= 1 and passport["stage"] <= passport["sensitivity"]
    for name in ("table.md", "report.html"):
        assert "fact absent" in (tmp_path / "r" / name).read_text()
    page = (tmp_path / "r/report.html").read_text()
    assert "<svg" in page and "Wrong labels" in page
    before = (tmp_path / "r/judgements.jsonl").read_bytes()
    checked(tmp_path / "r", cases, judge)
    assert (tmp_path / "r/judgements.jsonl").read_bytes() == before  # nothing is judged twice
    lines = before.splitlines(keepends=True)
    (tmp_path / "r/judgements.jsonl").write_bytes(b"".join(lines[:50]) + lines[50][:9])  # killed while it wrote
    assert checked(tmp_path / "r", cases, judge) == passport
    assert len((tmp_path / "r/judgements.jsonl").read_bytes().splitlines()) == len(lines)


def test_a_judge_without_a_verdict_has_no_passport(cases, tmp_path):
    with pytest.raises(RunFailed, match=r"has judged none of the \d+ planted cases; most often \(\d+\): overloaded"):
        checked(tmp_path / "none", cases, ScriptedJudge(otherwise=None))


def test_a_set_depends_on_its_seed_alone_and_its_plan_counts_each_check_once(cases):
    again, other = (planted_set(CONFIGS, 20, seed, dataset=None, rows=25) for seed in (0, 1))
    assert passports.fingerprint_of(cases) == passports.fingerprint_of(again) != passports.fingerprint_of(other)
    (line,) = plan_lines(LexicalJudge(), [*cases, *cases])
    assert line == plan_lines(LexicalJudge(), cases)[0].replace(f"{len(cases):,} cases", f"{2 * len(cases):,} cases")
    assert line.endswith("no tokens")


def test_what_is_no_passport_is_ignored_with_a_warning(caplog):
    path = passport_path(LexicalJudge())
    path.parent.mkdir(parents=True)
    path.write_text('{"judge": "lexical"}')
    assert passport_note(LexicalJudge()) is None
    assert "the passport is ignored" in caplog.text
