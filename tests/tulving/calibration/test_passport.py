"""A passport exposes judges that are wrong by design, and corrects the scores of those that err now and then."""

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.judges.protocol import PastJudge
from epbench.progress import no_progress
from epbench.runs.folder import open_run
from epbench.tulving.calibration.answers import KINDS, make_calibration_set
from epbench.tulving.calibration.passport import (
    corrected,
    find_passport,
    is_right,
    judge_scores,
    make_passport,
    one_score,
    passport_path,
    store_passport,
    with_passport,
)
from epbench.tulving.judging import load
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.own_answers import record_answers
from epbench.tulving.judging.verdicts import ScoredAnswer, judge_answers
from epbench.tulving.scores.results import finish
from epbench.tulving.scores.tables import judge_lines
from tests.tulving.biased_judges import (
    BiasedJudge,
    always_one,
    always_zero,
    ignores_order,
    knows_no_half,
    lists_only_what_is_true,
    truly,
)
from tests.tulving.question_rows import row

MADE = make_calibration_set(20)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path))


def passport_of(change=lambda made, true: true, made=MADE):
    judge = BiasedJudge(made, change)
    verdicts = {answer.judge_input.id: change(answer, truly(answer)) for answer in made}
    return make_passport(judge, made, {id_: v for id_, v in verdicts.items() if v is not None}, seed=0)


def f1_of(value):
    return {"f1_by_bin": {"0": value}, "failed_by_bin": {}}


def rates(passport):
    return {kind["kind"]: kind["rate"] for kind in passport["kinds"]}


def wrong_kinds(passport):
    return {kind for kind, rate in rates(passport).items() if rate < 1}


def test_a_judge_without_error_has_a_clean_passport():
    passport = passport_of()
    assert set(rates(passport).values()) == {1.0} and list(rates(passport)) == list(KINDS)
    assert (passport["sensitivity"], passport["specificity"], passport["order"]) == (1.0, 1.0, 1.0)
    assert passport["f1_when_right"] == {"nothing_true": 1.0, "something_true": 1.0}
    assert passport["f1_when_wrong"] == {"nothing_true": 0.0, "something_true": 0.0}
    for kind in passport["kinds"]:
        assert (kind["n"], kind["right"], kind["failed"], kind["high"]) == (20, 20, 0, 1.0)
        assert kind["low"] == pytest.approx(0.8389, abs=1e-4)  # Wilson for 20 of 20


def test_a_judge_that_always_says_yes_is_exposed():
    passport = passport_of(always_one)
    right = {kind for kind, rate in rates(passport).items() if rate == 1}
    assert right == {"exact", "paraphrase", "other date format", "superset", "invented"}
    for kind in ("one missing", "one wrong", "missed", "nonsense", "denied", "abstention", "first name only"):
        assert rates(passport)[kind] == 0.0, kind
    shares = {kind["kind"]: (kind["sensitivity"], kind["specificity"]) for kind in passport["kinds"]}
    assert shares["nonsense"] == (None, 0.0) and shares["exact"] == (1.0, None) and shares["abstention"] == (0.0, None)
    assert shares["invented"] == (None, 1.0)  # it lists something, so that nothing is credited
    assert passport["f1_when_wrong"]["something_true"] == 1.0
    nothing = {"simple_recall_score": None, "f1_by_bin": {"0": None, "1": None}}
    assert corrected({"0": 0.0, "1": 1.0}, passport) == nothing


def test_a_judge_that_always_says_no_is_exposed():
    passport = passport_of(always_zero)
    right = {kind for kind, rate in rates(passport).items() if rate == 1}
    assert right == {"abstention", "missed", "nonsense", "denied"}
    assert passport["order"] is None and passport["order_interval"] is None


def test_a_judge_that_ignores_the_order_or_knows_no_half_is_exposed_by_it_alone():
    passport = passport_of(ignores_order)
    assert wrong_kinds(passport) == {"reversed"} and passport["sensitivity"] == passport["specificity"] == 1.0
    complete = [made for made in MADE if made.order is not None]
    assert passport["order"] == pytest.approx(sum(made.kind != "reversed" for made in complete) / len(complete))
    assert wrong_kinds(passport_of(knows_no_half)) == {"wrong day", "month only", "first name only"}


def test_items_are_wrong_only_where_the_score_depends_on_them():
    """Without its false items a wrong answer gets too much; an answer with all true items gets what it is due."""
    passport = passport_of(lists_only_what_is_true)
    assert {"one wrong", "invented"} <= wrong_kinds(passport) and rates(passport)["superset"] == 1.0
    assert rates(passport)["nonsense"] == rates(passport)["denied"] == 1.0
    assert passport["specificity"] < 1 and passport["sensitivity"] == 1.0


def test_failures_are_neither_right_nor_wrong():
    passport = passport_of(lambda made, true: None if made.judge_input.id.endswith(("1", "3")) else true)
    assert passport["failed"] == 4 * len(KINDS) and set(rates(passport).values()) == {1.0}
    assert all((kind["n"], kind["failed"]) == (16, 4) for kind in passport["kinds"])
    nothing = passport_of(lambda made, true: None if made.kind == "exact" else true)
    exact = nothing["kinds"][0]
    assert (exact["n"], exact["right"], exact["rate"], exact["low"], exact["failed"]) == (0, 0, None, None, 20)


def test_a_score_near_the_true_one_is_the_same_decision():
    made = next(made for made in MADE if made.kind == "wrong day")
    true = truly(made)
    for shift in (-0.25, 0.25, 0.3):
        scores = [score + shift if score == 0.5 else score for score in true.scores]
        assert is_right(made, replace(true, scores=scores)) == (shift <= 0.25)


@given(st.floats(0, 1), st.floats(0, 0.4), st.floats(0.5, 1), st.floats(0, 0.4), st.floats(0.5, 1))
def test_a_linear_error_is_taken_back(f1, wrong, right, wrong_0, right_0):
    passport = {
        "f1_when_right": {"something_true": right, "nothing_true": right_0},
        "f1_when_wrong": {"something_true": wrong, "nothing_true": wrong_0},
    }
    seen = {"0": wrong_0 + (right_0 - wrong_0) * f1, "2": wrong + (right - wrong) * f1}
    back = corrected(seen, passport)
    assert back["f1_by_bin"] == pytest.approx({"0": f1, "2": f1}, abs=1e-9)
    assert back["simple_recall_score"] == pytest.approx(f1, abs=1e-9)
    outside = corrected({"0": 0.0, "2": 1.0}, passport)["f1_by_bin"]
    assert outside == {"0": 0.0, "2": 1.0}


def test_the_passport_of_the_rules_is_made_on_the_fly_within_a_second(tmp_path):
    find_passport(LexicalJudge())  # modules are loaded
    start = time.process_time()
    passport = find_passport(LexicalJudge())
    assert time.process_time() - start < 1
    assert passport["judge"] == "lexical" and passport["n"] == 30 and not list(tmp_path.iterdir())
    assert wrong_kinds(passport) == {"paraphrase", "denied"}  # it compares words, not meanings
    assert rates(passport)["paraphrase"] < 0.2 and rates(passport)["denied"] < 0.2


def test_any_judge_that_follows_rules_has_a_passport_by_itself(monkeypatch):
    made = make_calibration_set()
    some = BiasedJudge(made, lambda answer, true: None if answer.judge_input.id == "exact-001" else true, name="own")
    monkeypatch.setattr(load, "RULE_JUDGES", {"own": lambda: some})
    for judge in (some, PastJudge("own", "p1")):  # a report on an older run knows no more than the name
        passport = find_passport(judge)
        assert (passport["judge"], passport["failed"]) == ("own", 1) and set(rates(passport).values()) == {1.0}
    assert find_passport(PastJudge("own", "p2")) is None  # other rules
    assert find_passport(PastJudge("a judge elsewhere", "p1")) is None
    assert find_passport(PastJudge("hf:no/such", "p1")) is None


def test_passports_are_found_again_by_judge_and_prompt(tmp_path):
    judge = BiasedJudge(MADE, name="openai:org/some judge")
    assert find_passport(judge) is None
    passport = passport_of() | {"judge": judge.name}
    store_passport(judge, passport)
    assert (tmp_path / "passports/openai-org-some-judge-p1.json").is_file()
    assert find_passport(judge) == passport
    assert find_passport(BiasedJudge(MADE, name="openai:org/some judge", prompt_hash="p2")) is None
    assert find_passport(BiasedJudge(MADE, name="openai:org-some judge")) is None  # the same file, and another judge


def test_a_passport_holds_only_for_the_server_that_was_checked():
    one, other, unknown = (PastJudge("openai:j", "p1", setup) for setup in ("http://a/v1", "http://b/v1", ""))
    passport = make_passport(one, MADE, {answer.judge_input.id: truly(answer) for answer in MADE}, 0)
    assert passport["setup"] == "http://a/v1"
    store_passport(one, passport)
    assert [find_passport(judge) for judge in (one, other, unknown)] == [passport, None, None]
    passport_path(one).rename(passport_path(other))
    assert find_passport(other) is None  # a file under another name says whose it is
    scores = {"f1_by_bin": {}, "failed_by_bin": {}, "judge": judge_scores(other, None)["judge"]}
    store_passport(one, passport)
    about = {"name": "openai:j", "prompt_hash": "p1", "setup": "http://b/v1", "passport": None}
    assert with_passport(scores)["judge"] == about


def scored(*scores, missing=False):
    return ScoredAnswer("q", "all", "1", 1, (), ["x"] * len(scores), [], scores, [], missing=missing)


def test_one_score_for_everything_is_told_and_anything_else_is_not():
    for score in (0, 1):
        many = [scored(score, score), *[scored(score)] * 19]
        assert one_score(many) == one_score([*many, scored()]) == {"score": score, "answers": 20}
        assert one_score([*many, *[scored(0, missing=True)] * 5]) == {"score": score, "answers": 20}
        assert one_score(many[1:]) is None  # too few to say anything
        assert one_score([*many, scored(1 - score)]) is None
    assert one_score([scored(0.5)] * 30) is None


@pytest.mark.parametrize("content", ["{", '{"judge": "made", "prompt_hash": "p1"}'])
def test_a_damaged_passport_is_ignored_with_a_warning(caplog, content):
    judge = BiasedJudge(MADE)
    store_passport(judge, passport_of())
    passport_path(judge).write_text(content)
    assert find_passport(judge) is None
    assert str(passport_path(judge)) in caplog.text and "until this judge is checked again" in caplog.text


ROWS = [row("a", ["Zoe Brown"]), row("b", ["Ann Lee"]), row("c", []), row("d", [])]


def run_of(folder, judge):
    answers = {"a": "Zoe Brown", "b": "I do not know.", "c": "I do not know.", "d": "Zoe Brown"}
    with open_run(folder, {"memory": "none"}, {"book": "short"}):
        record_answers(folder, answers, "test")
        judge_answers(folder, ROWS, judge, no_progress)
        return finish(folder, ROWS, judge, "mine")


def test_reports_show_the_passport_beside_the_headline(tmp_path):
    scores = run_of(tmp_path / "r", LexicalJudge())
    assert scores["f1_by_bin"] == {"0": 0.5, "1": 0.5} and scores["judge"]["passport"]["n"] == 30
    assert scores["corrected"] == {"simple_recall_score": 0.5, "f1_by_bin": {"0": 0.5, "1": 0.5}}
    (line,) = judge_lines({"mine": scores})
    assert line.startswith(f"judge lexical: sensitivity {scores['judge']['sensitivity']:.3f} (")
    assert line.endswith("simple recall corrected for it: 0.500")
    for name in ("table.md", "report.html"):
        assert line in (tmp_path / "r" / name).read_text()
    assert run_of(tmp_path / "r", LexicalJudge()) == scores
    assert json.loads((tmp_path / "r/scores.json").read_text()) == scores


def test_a_passport_made_after_the_run_is_in_later_reports():
    judge = BiasedJudge(MADE, name="openai:judge-x")
    before = f1_of(1.0) | judge_scores(judge, f1_of(1.0))
    assert with_passport(before) == before and before["corrected"] is before["judge"]["passport"] is None
    (line,) = judge_lines({"mine": before})
    assert "judge openai:judge-x has no passport" in line
    assert "epbench judge-check --judge openai:judge-x --out runs/judge" in line
    store_passport(judge, passport_of() | {"judge": judge.name, "failed": 7})
    after = with_passport(before)
    assert after["judge"]["passport"]["failed"] == 7 and after["corrected"]["simple_recall_score"] == 1.0
    assert "; no verdict on 7 answers of the calibration set" in judge_lines({"mine": after})[0]
    store_passport(judge, passport_of(always_one) | {"judge": judge.name})
    assert "tells right from wrong answers too rarely" in judge_lines({"mine": with_passport(before)})[0]
    passport_path(judge).unlink()  # a report on a machine that does not have it
    assert with_passport(after) == after
    for others in ({"f1_by_bin": {}}, {"judge": {"name": "x", "prompt_hash": None, "passport": None}}):
        assert with_passport(others) == others


def test_runs_of_one_judge_share_a_line():
    rules = judge_scores(LexicalJudge(), f1_of(1.0))
    model = judge_scores(BiasedJudge(MADE, name="openai:x"), f1_of(1.0))
    worse = judge_scores(LexicalJudge(), f1_of(0.25))
    (line,) = judge_lines({"a": rules, "c": worse})
    assert line.startswith("judge lexical: ") and line.endswith("simple recall corrected for it: a 1.000, c 0.250")
    assert judge_lines({"a": rules, "b": model, "c": worse}) == [f"a, c: {line}", f"b: {judge_lines({'b': model})[0]}"]
