from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import RunFailed
from epbench.tulving.judging.verdicts import QuestionToScore, ScoredAnswer
from epbench.tulving.questions.generate import BINS
from epbench.tulving.scores.scoring import awareness_of, score_run

BASE = ScoredAnswer("q", "all", "1", 1, ("a", None, None, None), ["x"], ["x"], [1.0], [])
ORDERED = replace(BASE, get="chronological", bin="2", n_chapters=2, reference=["x", "y"], scores=[1, 1])


GETS = st.sampled_from(["all", "latest", "chronological"])


def rows():
    return [
        replace(BASE, bin="0", n_chapters=0, reference=[], items=[], scores=[], cue=("0", None, None, None)),
        BASE,
        replace(BASE, scores=[0.0], cue=("b", None, None, None)),
        replace(BASE, get="latest", bin="2", n_chapters=2, scores=[0.5], cue=(None, None, "e", None)),
        replace(BASE, get="latest", bin="1", n_chapters=1, scores=[0.0]),
        replace(ORDERED, order=["y", "x"]),
        replace(ORDERED, order=["x", "y"]),
        replace(ORDERED, scores=[1, 0], order=["x"]),
        replace(ORDERED, reference=["x", "x"], order=["x"]),
    ]


def test_scores_count_the_questions_they_are_about():
    scores = score_run(rows())
    assert scores["f1_by_bin"] == {"0": 1.0, "1": 0.5}
    assert scores["simple_recall_score"] == 0.75
    assert scores["latest"] == 0.5
    assert scores["all_matched"] == pytest.approx(2 / 3)
    assert scores["kendall_tau"] == 0.0
    assert scores["chronological_awareness"] == 0.25
    assert (scores["n_questions"], scores["n_failed"], scores["n_by_bin"]) == (9, 0, {"0": 1, "1": 2})
    assert scores["incomplete"] == scores["failed_by_bin"] == {}


def lost(get="all", bin_="2", n_chapters=2, reference=("x", "y"), cue="lost"):
    return QuestionToScore("l", get, bin_, n_chapters, (cue, None, None, None), reference)


def test_a_bin_that_lost_a_question_has_bounds_and_no_mean():
    scores = score_run(rows(), [lost(bin_="1", n_chapters=1), lost(bin_="1", n_chapters=1)])
    assert scores["f1_by_bin"] == {"0": 1.0} and scores["simple_recall_score"] is None
    # Bin 1 has one right and one wrong answer; with two wrong ones it is at 1/4, with two right ones at 3/4.
    assert scores["incomplete"] == {"simple_recall_score": [0.625, 0.875], "f1_by_bin.1": [0.25, 0.75]}
    assert not {"simple_recall_score", "f1_by_bin.1"} & scores["intervals"].keys()
    assert scores["latest"] == 0.5 and scores["chronological_awareness"] == 0.25  # they lost nothing
    assert (scores["n_questions"], scores["n_failed"]) == (11, 2)
    assert (scores["n_by_bin"], scores["failed_by_bin"]) == ({"0": 1, "1": 4}, {"1": 2})


def test_a_bin_that_lost_every_question_is_still_part_of_the_headline():
    """Thirty of forty verdicts missing, and the ten that are there right: that is no perfect run."""
    right = [replace(BASE, cue=(str(i), None, None, None)) for i in range(10)]
    missing = [lost(bin_=bin_) for bin_ in ("0", "2", "3-5") for _ in range(10)]
    scores = score_run(right, missing)
    assert scores["simple_recall_score"] is None and scores["f1_by_bin"] == {"1": 1.0}
    assert scores["incomplete"]["simple_recall_score"] == [0.25, 1.0]
    assert scores["incomplete"]["f1_by_bin.3-5"] == [0.0, 1.0]
    assert scores["failed_by_bin"] == {"0": 10, "2": 10, "3-5": 10}


def test_each_score_of_order_knows_what_it_lost():
    without = score_run(rows())
    latest = score_run(rows(), [lost(get="latest")])
    assert latest["incomplete"] == {"latest": [0.25, 0.75], "chronological_awareness": [0.125, 0.375]}
    assert latest["latest"] is latest["chronological_awareness"] is None
    assert latest["all_matched"] == without["all_matched"] and latest["f1_by_bin"] == without["f1_by_bin"]
    order = score_run(rows(), [lost(get="chronological")])
    # Found are lists with taus of -1 and 1, one of three is not complete; a fourth is not found, or found in some order.
    assert order["incomplete"] == {
        "all_matched": [0.5, 0.75],
        "kendall_tau": [pytest.approx(-1 / 3), pytest.approx(1 / 3)],
        "chronological_awareness": [0.25, pytest.approx((0.5 + 0.25) / 2)],
    }
    assert order["latest"] == 0.5 and order["all_matched"] is order["kendall_tau"] is None
    nothing_found = score_run([replace(rows()[7])], [lost(get="chronological")])
    assert nothing_found["incomplete"] == {"all_matched": [0.0, 0.5], "kendall_tau": [-1.0, 1.0]}


def test_questions_that_no_score_is_made_of_spoil_none():
    missing = [lost(get="latest", n_chapters=1), lost(get="chronological", reference=("x", "x"))]
    scores, without = score_run(rows(), missing), score_run(rows())
    assert scores["n_failed"] == 2 and scores["incomplete"] == {}
    same = [name for name in without if not name.startswith("n_") and name != "coverage"]
    assert all(scores[name] == without[name] for name in same)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(GETS, st.sampled_from(BINS), st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_bounds_are_the_scores_of_the_run_whose_lost_questions_are_wrong_or_right(questions):
    """Each question is right or wrong, and lost or not."""

    def row(get, bin_, right, order=None):
        n, found = BINS.index(bin_), ["x", "y"] if bin_ != "0" else []
        answered = found if right else (["z"] if bin_ == "0" else [])
        order = answered if right else order or []
        return ScoredAnswer("q", get, bin_, n, (None,) * 4, found, answered, [float(right)] * len(found), order)

    seen = [row(get, bin_, right) for get, bin_, right, is_lost in questions if not is_lost]
    gone = [(get, bin_) for get, bin_, _, is_lost in questions if is_lost]
    if not seen:
        return
    scores = score_run(seen, [row(get, bin_, True) for get, bin_ in gone])
    ends = [
        score_run(seen + [row(get, bin_, right, order) for get, bin_ in gone])
        for right, order in ((False, None), (False, ["y", "x"]), (True, None))
    ]
    names = ["simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness"]
    for name in [*names, *(f"f1_by_bin.{bin_}" for bin_ in BINS)]:
        *lows, high = (end["f1_by_bin"].get(name.split(".")[1]) if "." in name else end[name] for end in ends)
        low = min((low for low in lows if low is not None), default=None)
        if name in scores["incomplete"]:
            assert scores["incomplete"][name] == pytest.approx([low, high])
            assert scores["f1_by_bin"].get(name.split(".")[-1]) is None if "." in name else scores[name] is None
        else:
            complete = scores["f1_by_bin"].get(name.split(".")[1]) if "." in name else scores[name]
            assert complete == pytest.approx(low) == pytest.approx(high)
    assert scores["n_by_bin"] == ends[0]["n_by_bin"] and scores["n_questions"] == ends[0]["n_questions"]
    # Were they missing instead, which is wrong, the bounds would be what is possible.
    missing = score_run(seen + [replace(row(get, bin_, False), items=[""], missing=True) for get, bin_ in gone])
    assert missing["possible"].keys() == scores["incomplete"].keys()
    for name, ends in missing["possible"].items():
        assert ends == pytest.approx(scores["incomplete"][name])
    answered = {"asked": len(questions), "answered": len(seen), "missing": len(gone), "failed": 0}
    assert missing["coverage"] == missing["coverage"] | answered


def test_nothing_but_failures_is_an_error():
    with pytest.raises(RunFailed, match="all 3 questions failed"):
        score_run([], [lost()] * 3)


def test_a_negative_order_counts_as_none():
    for latest, taus, awareness in (
        ([0.5], [1.0, None], 0.5), ([0.5], [-1.0, None], 0.25), ([0.5], [None], 0.25), ([], [1.0], None), ([0.5], [], None),
    ):  # fmt: skip
        assert awareness_of(latest, taus)["chronological_awareness"] == awareness


def test_intervals_hold_their_scores():
    scores = score_run(rows() * 5)
    for name, (low, high) in scores["intervals"].items():
        value = scores["f1_by_bin"][name.split(".")[1]] if "." in name else scores[name]
        assert low - 1e-9 <= value <= high + 1e-9, name


def test_items_are_counted_over_the_answers_that_name_something_to_questions_with_true_items():
    named = [
        replace(BASE, items=["x", "y", "z"]),  # 3 for 1
        replace(BASE, items=["x", "x"], cue=("b", None, None, None)),  # a repeat counts once: 1 for 1
        replace(BASE, items=[], scores=[0.0]),  # an abstention
        replace(BASE, items=[""], scores=[0.0], missing=True),
        replace(BASE, bin="0", n_chapters=0, reference=[], items=["y"], scores=[]),  # nothing is true there
        replace(BASE, get="latest", bin="2", n_chapters=2, items=["x", "y"], scores=[1.0]),  # 2 for 1
        replace(BASE, get="latest", bin="2", n_chapters=2, items=["x"], scores=[1.0]),  # 1 for 1
        # 2 for 1, and no latest question
        replace(BASE, get="latest", bin="1", n_chapters=1, items=["x", "y"], scores=[1.0]),
    ]
    scores = score_run(named)
    assert scores["items_ratio"] == 9 / 5
    assert (scores["latest"], scores["latest_several"]) == (1.0, 0.5)  # F1 does not count what is named beside
    assert scores["f1_by_bin"] == {"0": 0.0, "1": 0.5}
    assert scores["harsh_simple_recall_score"] == pytest.approx((0 + (0.5 + 1 + 0 + 0) / 4) / 2)
    assert score_run([replace(BASE, items=[], scores=[0.0])])["items_ratio"] is None
    # A lost question leaves no harsh recall, but the items of the others.
    scores = score_run([replace(BASE, items=["x", "y"])], [lost()])
    assert (scores["harsh_simple_recall_score"], scores["items_ratio"]) == (None, 2.0)
    assert score_run([BASE], [lost("latest")])["harsh_simple_recall_score"] == 1.0


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), min_size=1, max_size=6), st.booleans()
)
@settings(max_examples=60, deadline=None)
def test_what_answers_to_one_question_have_in_common(given_scores, loses):
    several = [(n, score) for n, of_one in enumerate(given_scores) for score in of_one]
    asked = [replace(BASE, id=f"q{n}", cue=(str(n), None, None, None), scores=[score]) for n, score in several]
    scores = score_run(asked, [QuestionToScore("q0", "all", "1", 1, ("0", None, None, None), ["x"])] if loses else [])
    f1 = [of_one for of_one in given_scores[loses:] if len(of_one) > 1]
    if not f1:
        assert "over_repeats" not in scores
        return
    found = scores["over_repeats"]
    assert (found["n"], found["repeats"]) == (len(f1), max(map(len, f1)))
    assert found["all_right"] == pytest.approx(sum(set(of_one) == {1} for of_one in f1) / len(f1))
    assert found["any_right"] == pytest.approx(sum(1 in of_one for of_one in f1) / len(f1))
    assert found["f1_sd"] == pytest.approx(np.mean([np.std(of_one, ddof=1) for of_one in f1]))
    for name in ("any_right", "all_right") if len(f1) > 1 else ():  # one cue has no interval
        low, high = scores["intervals"][f"over_repeats.{name}"]
        assert 0 <= low <= found[name] + 1e-9 and found[name] - 1e-9 <= high <= 1
