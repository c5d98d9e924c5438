"""Agreement of people with a judge, and how a passport keeps it."""

import json

import pytest

from epbench.judges.protocol import agreement, people_line, with_people

# 100 decisions: both yes 45, both no 40, judge yes and person no 5, judge no and person yes 10.
TABLE = [("yes", "yes")] * 45 + [("no", "no")] * 40 + [("yes", "no")] * 5 + [("no", "yes")] * 10


def test_agreement_and_kappa_of_a_known_table():
    found = agreement(TABLE, range(100))
    assert (found["n"], found["agreement"]) == (100, 0.85)
    assert found["kappa"] == pytest.approx((0.85 - 0.5) / 0.5)  # by chance: 0.5 * 0.55 + 0.5 * 0.45
    low, high = found["kappa_interval"]
    # The usual standard error sqrt(p(1 - p) / n) / (1 - chance), which the bootstrap should be near.
    assert low == pytest.approx(0.7 - 1.96 * 0.0714, abs=0.03) and high == pytest.approx(0.7 + 1.96 * 0.0714, abs=0.03)
    assert found["agreement_interval"] == pytest.approx((0.7672, 0.9069), abs=1e-3)


def test_kappa_of_several_labels_of_opposite_ones_and_of_none():
    assert agreement([("a", "b"), ("b", "a")], [1, 2])["kappa"] == pytest.approx(-1)
    for n in (1, 22):
        found = agreement([("yes", "yes")] * n, range(n))
        assert (found["agreement"], found["kappa"], found["kappa_interval"]) == (1, None, None)
    labels = [("a", "a"), ("b", "b"), ("c", "c"), ("c", "a")]
    assert agreement(labels, range(4))["kappa"] == pytest.approx((3 / 4 - 5 / 16) / (11 / 16))


def test_decisions_about_one_answer_are_drawn_together():
    apart = agreement(TABLE, range(100))["kappa_interval"]
    together = agreement([pair for pair in TABLE for _ in range(4)], [i for i in range(100) for _ in range(4)])
    assert together["kappa_interval"] == pytest.approx(apart)


def test_a_new_passport_keeps_what_people_said(tmp_path):
    path, said = tmp_path / "passport.json", {"items": agreement(TABLE, range(100))}
    assert with_people(path, {"n": 1}) == {"n": 1}
    path.write_text(json.dumps({"n": 0, "people": said}), "utf-8")
    assert with_people(path, {"n": 1})["people"]["items"]["kappa"] == said["items"]["kappa"]
    path.write_text("{", "utf-8")
    assert with_people(path, {"n": 1}) == {"n": 1}
    assert people_line({"people": said}) == "people agree on 85.0% of 100 items, kappa 0.70"
    assert people_line({}) == ""
