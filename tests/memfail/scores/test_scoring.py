"""From outcomes to scores: rates of the judged questions, groups, floors; the published counts give the published rates."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.dataset.load import CONFIGS, QuestionRecord, questions_of
from epbench.memfail.judging.diagnosis import ERRORS, LeftOut
from epbench.memfail.scores.scoring import commonest_answers, finish, floor_of, score_outcomes
from epbench.metric_folders import formulas
from epbench.runs.folder import open_run
from tests.memfail.memfail_samples import outcome, question, template
from tests.memfail.template_runs import outcomes_of

LABELS = formulas("memory_failures").LABELS


def test_three_numbers_side_by_side():
    outcomes = [
        outcome(), outcome("retrieval_error", facts=("correct", "retrieval_error")), outcome("summary_error", right=False),
        outcome("failed", right=None, facts=(), n=0, words=0), outcome("reasoning_error", right=False),
    ]  # fmt: skip
    scores = score_outcomes(outcomes)["5"]
    assert scores["success_rate"] == 0.25 and scores["answer_accuracy"] == 0.5
    assert {error: scores[error] for error in ERRORS} == {
        "storage_error": 0, "summary_error": 0.25, "retrieval_error": 0.25, "reasoning_error": 0.25,
    }  # fmt: skip
    assert (scores["n"], scores["failed"], scores["vacuous"], scores["by_group"]) == (5, 1, 0, {})
    assert scores["facts"] == {"correct": 4, "retrieval_error": 1}
    assert (scores["memories"], scores["words_per_memory"]) == (8 / 5, 5)
    for name, (low, high) in scores["intervals"].items():
        assert 0 <= low <= scores[name] <= high <= 1, name


def test_persona_is_split_and_vacuous_passes_stand_apart():
    direct = [outcome(kind="direct", group="direct"), outcome("storage_error", kind="direct", group="direct")]
    misleading = [outcome(kind="misleading", group="misleading", vacuous=v) for v in (True, True, False)]
    misleading.append(outcome("summary_error", kind="misleading", group="misleading"))
    scores = score_outcomes(direct + misleading)["5"]
    assert scores["success_rate"] == 4 / 6 and scores["vacuous"] == 2
    assert scores["success_earned"] == 2 / 4 and scores["vacuous_wrong"] == 0
    assert scores["direct"]["success_rate"] == 0.5 and "by_group" not in scores["direct"]
    assert scores["misleading"]["success_rate"] == 3 / 4 and scores["misleading"]["success_earned"] == 0.5
    assert scores["misleading"]["answer_accuracy"] == 1.0  # the answers abstain, also where success says otherwise
    assert set(scores["by_group"]) == {"direct", "misleading"}


@pytest.mark.parametrize(
    ("config", "says", "expected"),
    [
        ("long_hop", ('{"choice": "A"}', "Answer: A", "It is B.", "I cannot say."), ("A", 0.5)),
        ("conditional_facts_easy", ("Yes, she does.", "Yes.", "No, not today.", "yes"), ("yes", 0.75)),
        ("long_hop", ("I cannot say.",) * 4, None),
        ("coexisting_facts", ("Yes.",) * 4, None),
    ],
)
def test_a_preferred_letter_or_yes_shows_at_each_k(config, says, expected):
    _, questions = template(config, 5)
    records = [
        QuestionRecord(question, k, "", (), answer, failure)
        for k in (5, 10)
        for question, answer, failure in zip(questions, [*says, ""], [None] * 4 + ["no reply"], strict=True)
    ]
    found = commonest_answers(records)
    at_k = expected and {"answer": expected[0], "share": expected[1], "n": 4}
    assert found == ({"5": at_k, "10": at_k} if expected else {})


def test_without_a_judged_question_nothing_is_defined():
    scores = score_outcomes([outcome("failed", right=None, facts=(), n=0, words=0)])["5"]
    assert scores["success_rate"] is scores["answer_accuracy"] is scores["words_per_memory"] is None
    assert scores["intervals"] == {} and scores["failed"] == scores["n"] == 1
    json.dumps(scores, allow_nan=False)


OUTCOMES = st.lists(
    st.builds(
        outcome,
        st.sampled_from(LABELS),
        st.sampled_from([2, 5, 10]),
        group=st.sampled_from(["2", "3"]),
        right=st.sampled_from([True, False, None]),
        n=st.integers(0, 4),
    ),
    min_size=1,
)


@given(OUTCOMES)
def test_shares_add_up_at_every_k_and_in_every_group(outcomes):
    by_k = score_outcomes(outcomes)
    assert list(by_k) == [str(k) for k in sorted({o.k for o in outcomes})]
    assert sum(scores["n"] for scores in by_k.values()) == len(outcomes)
    for scores in by_k.values():
        assert sum(group["n"] for group in scores["by_group"].values()) == scores["n"]
        if scores["n"] > scores["failed"]:
            assert scores["success_rate"] + sum(scores[error] for error in ERRORS) == pytest.approx(1)
            low, high = scores["intervals"]["success_rate"]
            assert low <= scores["success_rate"] <= high


PANELS = {
    "conditional": "Conditional-Facts", "conditional_hard": "Conditional-Facts (Hard)", "coexisting": "Coexisting-Facts",
    "persona_retrieval_nonmisleading": "Persona-Retrieval", "persona_retrieval_misleading": "Persona-Retrieval",
    "long_hop": "Long-Hop",
}  # fmt: skip


def test_the_published_counts_give_the_published_rates(results):
    cells, errors = defaultdict(list), defaultdict(Counter)
    for row in json.loads((results / "paper_error_breakdown.json").read_text("utf-8"))["rows"]:
        labels = ["correct"] * row["correct_or_unanalysed"]
        labels += [label for label in ERRORS for _ in range(row[label.removesuffix("_error")])]
        kind = row["dataset"].removeprefix("persona_retrieval_") if row["dataset"].startswith("persona") else ""
        kind = {"nonmisleading": "direct"}.get(kind, kind)
        cell = PANELS[row["dataset"]], row["system"], row["internal_model"]
        cells[cell] += [outcome(label, row["k"], kind=kind) for label in labels]
        errors[cell, row["k"]].update({error: row[error.removesuffix("_error")] for error in ERRORS})
    scored = {cell: score_outcomes(outcomes) for cell, outcomes in cells.items()}
    rows = json.loads((results / "paper_results.json").read_text("utf-8"))["rows"]
    assert len(rows) == 224
    for row in rows:
        cell = row["dataset"], row["system"], row["internal_model"]
        scores = scored[cell][str(row["k"])]
        assert (scores["n"], round(scores["success_rate"], 3)) == (row["n"], row["success_rate"]), row
        assert [round(bound, 4) for bound in scores["intervals"]["success_rate"]] == pytest.approx(
            row["wilson95_z1.96"], abs=1.01e-4
        )
        for error in ERRORS:
            assert scores[error] == pytest.approx(errors[cell, row["k"]][error] / row["n"])


def test_floors_that_need_no_run():
    easy = [question(config=CONFIGS[0], reference=truth) for truth in ("Yes — a", "No — b", "No — c")]
    assert floor_of(easy) == {"success_rate": 0, "answer_accuracy": 2 / 3}
    persona = [question(kind=kind) for kind in ("direct", "misleading", "misleading", "direct")]
    assert floor_of(persona) == {"success_rate": 0.5, "answer_accuracy": 0.5}
    hops = [question(reference=truth, choices=("a", "b")) for truth in "aab"]
    assert floor_of(hops) == {"success_rate": 0, "answer_accuracy": 2 / 3}
    assert floor_of([question()]) == {"success_rate": 0, "answer_accuracy": 0}


def test_published_rows_have_the_published_floors(published_rows):
    floors = {config: floor_of(questions_of(config, rows)) for config, rows in published_rows.items()}
    assert floors["persona_retrieval"]["success_rate"] == 157 / 300
    assert floors["conditional_facts_easy"]["answer_accuracy"] == 0.69
    assert floors["long_hop"]["answer_accuracy"] == 24 / 92


def test_a_run_without_memory_is_the_floor_that_was_computed(tmp_path):
    for config in CONFIGS:
        outcomes = outcomes_of(tmp_path / config, config, "none", n=20)
        _, questions = template(config, 20)
        assert score_outcomes(outcomes)["5"]["success_rate"] == floor_of(questions)["success_rate"]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_no_vacuous_pass_is_earned_whatever_its_answer(passes):
    """Each question: whether it passed vacuously, else whether it passed, and whether its answer is right."""
    outcomes = [
        outcome("correct" if vacuous or passed else "storage_error", kind="misleading", vacuous=vacuous, right=right)
        for vacuous, passed, right in passes
    ]
    scores = score_outcomes(outcomes)["5"]
    own = [passed for vacuous, passed, _ in passes if not vacuous]
    assert scores["success_earned"] == (sum(own) / len(own) if own else None)
    assert scores["vacuous"] == len(passes) - len(own)
    assert scores["vacuous_wrong"] == sum(vacuous and not right for vacuous, _, right in passes)


def test_finish_writes_what_a_run_is_worth_and_what_the_judge_cannot_see(tmp_path):
    outcomes = outcomes_of(tmp_path, "long_hop", "oracle", n=6, ks=(2, 5))
    outcomes = [replace(o, needs=(f"r/{i}",), unsure=(f"r/{i}",) if i == 0 else ()) for i, o in enumerate(outcomes)]
    _, questions = template("long_hop", 6)
    traces = [QuestionRecord(question, k, "", ("m",)) for k in (2, 5) for question in questions]
    usage = {
        "answering": {"requests": 12, "failed": {}}, "memory_tokens": {"2": {"per_memory": 9.5}}, "warnings": ["first"],
    }  # fmt: skip
    with open_run(tmp_path, {}, {}) as folder:
        scores = finish(folder, outcomes, traces, {"": ["one two", "three"]}, "oracle", usage, LeftOut(1, 1, 8))
    assert json.loads((tmp_path / "scores.json").read_text("utf-8")) == scores
    assert (scores["config"], scores["system"]) == ("long_hop", "oracle")
    assert (scores["n_questions"], scores["n_failed"]) == (6, 0)
    assert scores["stored"] == {"stores": 1, "memories": 2, "words": 3}
    assert [scores["by_k"][k]["tokens_per_memory"] for k in ("2", "5")] == [9.5, None]
    assert scores["unnoticed"] == {"n": 1, "misplaced": 1, "of": 8, "share": 1 / 8}
    assert scores["not_judgeable"] == {"n": 1, "of": 12}
    first, absent, unsure = scores["warnings"]
    assert first == "first" and "for 1 of 8" in absent and "1 of 12 needed facts" in unsure
    written = json.loads((tmp_path / "usage.json").read_text("utf-8"))
    assert written["judging"]["requests"] > 0 and "warnings" not in written
    assert "would not notice it" in (tmp_path / "table.md").read_text("utf-8")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "would not miss, if they were absent: 1 of 8" in page and "nothing to decide by: 1 of 12" in page
    assert (tmp_path / "questions.parquet").is_file()
