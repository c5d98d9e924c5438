"""The metric of Book-SORT against slow and sure ways to the same numbers."""

import math
import random

import evaluate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.metric_folders import formulas, metric_path

FORMULAS = formulas("sort_accuracy")
sort_accuracy = FORMULAS.sort_accuracy
answers = st.sampled_from(["A", "B", "X", "", "a"])
rows = st.lists(st.tuples(answers, st.sampled_from("AB"), st.sampled_from(["near", "far"])), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_counts_are_those_of_a_loop(rows):
    given_, true, groups = (list(column) for column in zip(*rows, strict=True))
    found = sort_accuracy(given_, true, groups)
    right = sum(g == t for g, t, _ in rows)
    assert found["n"] == len(rows) and math.isclose(found["accuracy"], right / len(rows))
    assert found["n_invalid"] == sum(g not in ("A", "B") for g in given_)
    valid = [g for g in given_ if g in ("A", "B")]
    assert found["share_a"] == (valid.count("A") / len(valid) if valid else None)
    tail = sum(math.comb(len(rows), k) for k in range(right, len(rows) + 1)) / 2 ** len(rows)
    assert math.isclose(found["p_value"], tail, rel_tol=1e-9)
    for group, part in found["by_group"].items():
        members = [(g, t) for g, t, of in rows if of == group]
        assert part == sort_accuracy(*map(list, zip(*members, strict=True)))


def test_interval_is_that_of_a_plain_bootstrap_over_clusters():
    draw = random.Random(3)
    clusters = [str(i // 4) for i in range(400)]
    shared = {c: draw.random() for c in dict.fromkeys(clusters)}
    correct = [draw.random() < 0.05 + 0.9 * shared[c] for c in clusters]
    low, high = FORMULAS.accuracy_interval(correct, clusters)
    members = {c: [ok for ok, of in zip(correct, clusters, strict=True) if of == c] for c in shared}
    names, means = sorted(members), []
    for _ in range(2000):
        drawn = [ok for c in draw.choices(names, k=len(names)) for ok in members[c]]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    assert abs(low - means[50]) < 0.01 and abs(high - means[1949]) < 0.01
    naive_low, naive_high = FORMULAS.accuracy_interval(correct)
    assert high - low > naive_high - naive_low


score = st.sampled_from([-math.inf, -1.5, 0, 0.25, 0.5, 3, math.inf])
scored = st.lists(st.tuples(score, st.sampled_from("AB"), st.sampled_from("wxyz")), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(scored)
def test_auc_and_calibrated_accuracy_are_those_of_loops(rows):
    scores, answers, clusters = map(list, zip(*rows, strict=True))
    result = FORMULAS.discrimination(scores, answers, clusters)
    wins = [(a > b) + (a == b) / 2 for a, of, _ in rows if of == "A" for b, of_b, _ in rows if of_b == "B"]
    assert result["auc"] == (pytest.approx(sum(wins) / len(wins)) if wins else None)
    if len(set(clusters)) < 2:
        assert result["calibrated_accuracy"] is result["auc_p_value"] is result["auc_low"] is None
        return
    right = 0.0
    for score, answer, cluster in rows:
        others = sorted(other for other, _, of in rows if of != cluster)
        middle = (others[(len(others) - 1) // 2] + others[len(others) // 2]) / 2
        limit = 0.0 if math.isnan(middle) else middle
        says_a = (score > limit) + (score == limit) / 2
        right += says_a if answer == "A" else 1 - says_a
    assert result["calibrated_accuracy"] == pytest.approx(right / len(rows))
    if wins:
        assert 0 < result["auc_p_value"] <= 1
        assert result["auc_low"] is None or 0 < result["auc_low"] < result["auc"] < result["auc_high"] < 1


def _biased(draw, n_clusters, shift):
    """Scores of a reader that always prefers A, of one excerpt more than of another, and knows more the larger the shift."""
    rows = []
    for cluster in range(n_clusters):
        liking = draw.gauss(3, 1)
        rows += [(liking + draw.gauss(0, 1) + shift * (answer == "A"), answer, str(cluster)) for answer in "AABB"]
    return map(list, zip(*rows, strict=True))


@pytest.mark.slow
def test_auc_interval_and_test_hold_what_they_promise_for_a_biased_reader():
    draw, rejected, covered, found, calibrated = random.Random(11), 0, 0, 0, 0.0
    for _ in range(200):
        result = FORMULAS.discrimination(*_biased(draw, 25, 0.0))
        rejected += result["auc_p_value"] <= 0.05
        calibrated += result["calibrated_accuracy"] / 200
        covered += result["auc_low"] <= 0.5 <= result["auc_high"]
        found += FORMULAS.discrimination(*_biased(draw, 25, 1.5))["auc_p_value"] <= 0.05
    assert rejected <= 20 and covered >= 180 and found >= 190  # 10, 190 and 200 are expected
    assert abs(calibrated - 0.5) < 0.02


def test_a_reader_that_always_says_a_has_chance_accuracy_and_yet_tells_the_answers_apart():
    scores, answers, clusters = _biased(random.Random(2), 100, 1.5)
    result = sort_accuracy(["A"] * 400, answers, None, clusters, scores)
    assert result["accuracy"] == 0.5 and result["auc"] > 0.7 and result["calibrated_accuracy"] > 0.65
    assert result["auc_p_value"] < 0.001 and result["auc_low"] > 0.5
    assert result["auc"] == sort_accuracy(["A"] * 400, answers, None, clusters, [2.0**s for s in scores])["auc"]


@pytest.mark.parametrize(
    ("said", "true", "more", "message"),
    [
        ([], [], {}, "at least one row"),
        (["A"], ["A", "B"], {}, "references: expected 1 rows, as many as predictions, found 2"),
        (["A"], ["C"], {}, "references, row 0: expected 'A' or 'B', found 'C'"),
        ([None], ["A"], {}, "predictions, row 0: expected a string, found None"),
        (["A", "B"], ["A", "B"], {"clusters": "AB"}, "clusters: expected a list"),
        (["A"], ["A"], {"scores": [math.nan]}, "scores, row 0: expected a number that is not NaN"),
        (["A"], ["A"], {"scores": [True]}, "scores, row 0: .* found True"),
    ],
)
def test_bad_values_are_refused(said, true, more, message):
    with pytest.raises(ValueError, match=message):
        sort_accuracy(predictions=said, references=true, **more)


def test_evaluate_gives_the_same_and_refuses_the_same(hf_home):
    metric = evaluate.load(str(metric_path("sort_accuracy")), keep_in_memory=True)
    values = {"predictions": ["A", "B", "?"] * 9, "references": ["A", "A", "B"] * 9}
    more = {"groups": ["x", "y", "y"] * 9, "clusters": [str(i % 5) for i in range(27)]}
    more["scores"] = [math.sin(i) for i in range(27)]
    assert metric.compute(**values, **more) == sort_accuracy(**values, **more)
    with pytest.raises(ValueError, match="row 1: expected 'A' or 'B', found 'C'"):
        metric.compute(predictions=["A", "B"], references=["A", "C"])
