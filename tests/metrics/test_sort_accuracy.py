"""The metric of Book-SORT against slow and sure ways to the same numbers."""

import math
import random

import evaluate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.metric_folders import metric_module, metric_path

MODULE = metric_module("sort_accuracy")
sort_accuracy = MODULE.sort_accuracy
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
    low, high = MODULE.accuracy_interval(correct, clusters)
    members = {c: [ok for ok, of in zip(correct, clusters, strict=True) if of == c] for c in shared}
    names, means = sorted(members), []
    for _ in range(2000):
        drawn = [ok for c in draw.choices(names, k=len(names)) for ok in members[c]]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    assert abs(low - means[50]) < 0.01 and abs(high - means[1949]) < 0.01
    naive_low, naive_high = MODULE.accuracy_interval(correct)
    assert high - low > naive_high - naive_low


def test_interval_does_not_depend_on_the_names_of_clusters():
    correct = [True, False, True, True, False, True, True, True]
    assert MODULE.accuracy_interval(correct, list("aabbccdd")) == MODULE.accuracy_interval(correct, list("wwxxyyzz"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"predictions": [], "references": []}, "at least one row"),
        (
            {"predictions": ["A"], "references": ["A", "B"]},
            "references: expected 1 rows, as many as predictions, found 2",
        ),
        ({"predictions": ["A"], "references": ["C"]}, "references, row 0: expected 'A' or 'B', found 'C'"),
        ({"predictions": [1], "references": ["A"]}, "predictions, row 0: expected a string, found 1"),
        ({"predictions": [None], "references": ["A"]}, "predictions, row 0: expected a string, found None"),
        (
            {"predictions": ["A"], "references": ["A"], "groups": ["x", "y"]},
            "groups: expected 1 rows, as many as predictions, found 2",
        ),
        ({"predictions": ["A", "B"], "references": ["A", "B"], "clusters": "AB"}, "clusters: expected a list"),
        ({"predictions": ["A"], "references": ["A"], "clusters": [7]}, "clusters, row 0: expected a string, found 7"),
    ],
)
def test_bad_values_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        sort_accuracy(**values)


def test_evaluate_gives_the_same_and_refuses_the_same(hf_home):
    metric = evaluate.load(str(metric_path("sort_accuracy")), keep_in_memory=True)
    values = {"predictions": ["A", "B", "?"] * 9, "references": ["A", "A", "B"] * 9}
    more = {"groups": ["x", "y", "y"] * 9, "clusters": [str(i % 5) for i in range(27)]}
    assert metric.compute(**values, **more) == sort_accuracy(**values, **more)
    with pytest.raises(ValueError, match="row 1: expected 'A' or 'B', found 'C'"):
        metric.compute(predictions=["A", "B"], references=["A", "C"])
