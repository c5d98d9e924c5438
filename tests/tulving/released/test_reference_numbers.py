"""The numbers as the code of the paper prints them; whole runs of it are in test_released.py."""

from dataclasses import replace

import pytest

from epbench.tulving.judging.verdicts import ScoredAnswer
from epbench.tulving.questions.generate import bin_of
from epbench.tulving.released.verdicts import reference_numbers, unclipped_f1
from tests.published_data import published_cases
from tests.reference_cases import SCORING, with_published

REPEATS = "duplicated predicted items"  # that code drops them when it reads a verdict, before the function of this case


def row(get, n_chapters, f1):
    """A question with that F1."""
    return ScoredAnswer("q", get, bin_of(n_chapters), n_chapters, (), ["x"], ["x"], [f1], [])


def test_f1_is_that_of_the_reference_without_clipping():
    checked = 0
    for case in with_published(SCORING, "scoring_cases.json"):
        if case["function"] != "generate_metric(policy=remove_duplicates)" or "error" in case:
            continue
        evaluation, truth = case["input"]["evaluation"], list(dict.fromkeys(case["input"]["correct_answer"]))
        pairs = [pair for entry in evaluation["matching_score"] for pair in entry.items()]
        first = dict(reversed([(name, float(score)) for name, score in pairs]))
        in_order = [first[name] for name in dict.fromkeys(name for name, _ in pairs)]
        items = evaluation["identified_items_in_AI_answer"]
        judged = ScoredAnswer("q", "all", "1", 1, (), truth, items, in_order, [])
        repeated = replace(judged, items=[*items, *items])
        assert unclipped_f1(repeated) == unclipped_f1(judged)  # a repeated item of an answer counts once
        if case["case"] != REPEATS:
            assert unclipped_f1(judged) == pytest.approx(case["output"]["f1_score_lenient"], abs=1e-12), case["case"]
            checked += 1
    assert checked >= 17


def numbers(answered, indexes):
    """Of questions as (get, n_chapters, F1), and of chronological ones by their indexes (found, true)."""
    rows = [row(*question) for question in answered] + [row("chronological", 2, 0.0) for _ in indexes]
    return reference_numbers(rows, [([], [])] * len(answered) + [(true, found) for found, true in indexes])


def test_bin_means_are_rounded_before_they_are_averaged():
    everything = [("all", n, f1) for n, f1 in ((0, 1), (1, 1 / 3), (1, 1 / 3), (4, 2 / 3), (9, 1.5))]
    latest = [("latest", n, f1) for n, f1 in ((1, 1), (2, 1 / 3), (3, 0.5), (5, 0.5))]
    orders = [([0, 1, 2], [0, 1, 2]), ([1, 0, 2], [0, 1, 2]), ([1], [0, 1]), ([0], [0])]
    found = numbers([*everything, *latest], orders)
    assert found == {
        "simple_recall": 0.875,  # (1 + 0.33 + 0.67 + 1.5) / 4
        "latest": "44.33%",  # (0.33 + 2 · 0.5) / 3
        "all": "66.67%",
        "kendall_tau": 0.67,
        "chronological_awareness": 0.445,  # (0.4433 + 0.6667 · 0.67) / 2
    }


def test_a_negative_order_counts_as_none():
    found = numbers([("all", 1, 1), ("latest", 2, 0.5)], [([1, 0], [0, 1])])
    assert (found["kendall_tau"], found["chronological_awareness"]) == (-1.0, 0.25)


def test_what_no_question_counts_for_is_none():
    assert numbers([("all", 1, 1)], []) == {
        "simple_recall": 1.0, "latest": None, "all": None, "kendall_tau": None, "chronological_awareness": None,
    }  # fmt: skip
    assert numbers([("latest", 2, 1)], [([0], [0, 1])]) == {
        "simple_recall": None, "latest": "100%", "all": "0%", "kendall_tau": None, "chronological_awareness": 0.5,
    }  # fmt: skip


def test_a_number_that_the_judge_repeats_cannot_be_found_twice():
    assert numbers([("latest", 2, 1)], [([0], [0, 0]), ([0, 1], [0, 1])])["all"] == "50%"


def test_tables_of_the_reference_are_reproduced():
    for case in published_cases("scoring_cases.json"):
        if case["function"] == "leaderboard aggregation":
            names, given = ("get", "n_chapters_correct_answer", "f1_score_lenient"), case["input"]
            answered = [tuple(one[name] for name in names) for one in given["evaluations"]]
            found, table = numbers(answered, given["chrono"]), case["output"]["kendall_table"]
            recall, awareness = case["output"]["final"].values()
            assert (found["simple_recall"], found["chronological_awareness"]) == (recall, awareness)
            for name in ("latest", "all"):
                assert float(found[name].strip("%")) == float(table[name.capitalize()].strip("%"))
            assert found["kendall_tau"] == (None if table["Kendall τ"] == "NaN" else table["Kendall τ"])
