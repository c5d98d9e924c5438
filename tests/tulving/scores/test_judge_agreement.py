"""Two judges held against each other, with numbers worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import RunFailed
from epbench.tulving.judging.verdicts import ScoredAnswer
from epbench.tulving.scores.judge_agreement import SHOWN, agreement_screen, agreement_table, judge_agreement


def verdict(id_, scores, items=None, *, get="all", truth=None):
    truth = truth or [f"{id_}{i}" for i in range(len(scores))]
    n = len(set(truth))
    bin_ = str(n) if n < 3 else "3-5"
    return ScoredAnswer(id_, get, bin_, n, (id_, None, None, None), truth, items or truth or ["x"], scores, [])


def texts(*rows):
    return {row.id: (f"question {row.id}", f"answer {row.id}") for row in rows}


FIRST = [verdict("a", [1, 1]), verdict("b", [1, 0]), verdict("c", [0.5]), verdict("d", [0], get="latest")]
SECOND = [verdict("a", [1, 0]), verdict("b", [1, 0]), verdict("c", [0]), verdict("d", [0], get="latest")]


def test_the_figures_are_those_worked_out_by_hand():
    found = judge_agreement(FIRST, SECOND, texts(*FIRST))
    assert (found["n_questions"], found["n_items"]) == (4, 6)
    # Found by the first: yes yes yes no yes no; by the second: yes no yes no no no.
    assert found["item_agreement"] == pytest.approx(4 / 6)
    expected = 4 / 6 * 2 / 6 + 2 / 6 * 4 / 6
    assert found["kappa"] == pytest.approx((4 / 6 - expected) / (1 - expected))
    assert found["score_difference"] == pytest.approx((1 + 0.5) / 6)
    # F1: 1, 0.5, 0.5, 0 and 0.5, 0.5, 0, 0.
    assert found["f1_difference"] == pytest.approx(0.25)
    assert found["f1_correlation"] == pytest.approx(0.25 / (0.5**0.5 * 0.25**0.5))
    assert found["simple_recall_score"] == [pytest.approx((0.75 + 0.5) / 2), pytest.approx(0.5 / 2)]
    assert list(found["by_get"]) == ["all", "latest"] and list(found["by_bin"]) == ["1", "2"]
    assert found["by_get"]["latest"]["item_agreement"] == 1.0 and found["by_get"]["latest"]["kappa"] is None
    assert [case["id"] for case in found["disagreements"]] == ["a", "c"]
    first = found["disagreements"][0]
    assert (first["question"], first["answer"], first["truth"]) == ("question a", "answer a", ["a0", "a1"])
    assert first["first"] == {"items": ["a0", "a1"], "scores": [1, 1], "f1": 1.0}
    assert first["second"] == {"items": ["a0", "a1"], "scores": [1, 0], "f1": 0.5}


def test_a_repeated_item_counts_once():
    one = verdict("a", [1, 0, 1], truth=["x", "y", "x"])
    other = verdict("a", [1, 1, 1], truth=["x", "y", "x"])
    found = judge_agreement([one], [other], texts(one))
    assert found["n_items"] == 2 and found["item_agreement"] == 0.5


def test_what_only_one_has_judged_is_left_out():
    found = judge_agreement(FIRST, SECOND[1:], texts(*FIRST))
    assert found["n_questions"] == 3 and [case["id"] for case in found["disagreements"]] == ["c"]
    with pytest.raises(RunFailed, match="no answer was judged by both judges"):
        judge_agreement(FIRST[:1], SECOND[1:], texts(*FIRST))


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), min_size=1, max_size=30))
def test_a_judge_agrees_with_itself(scores):
    rows = [verdict(f"q{i}-", given) for i, given in enumerate(scores)]
    found = judge_agreement(rows, rows, texts(*rows))
    assert found["item_agreement"] == 1 and found["score_difference"] == found["f1_difference"] == 0
    assert found["kappa"] in (None, 1.0) and found["disagreements"] == []
    assert found["f1_correlation"] is None or found["f1_correlation"] == pytest.approx(1)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=2, max_size=40))
def test_kappa_is_agreement_beyond_chance(pairs):
    first = [verdict(f"q{i}-", [one]) for i, (one, _) in enumerate(pairs)]
    second = [verdict(f"q{i}-", [other]) for i, (_, other) in enumerate(pairs)]
    found = judge_agreement(first, second, texts(*first))
    n, yes = len(pairs), [sum(pair[k] for pair in pairs) / len(pairs) for k in (0, 1)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    same = sum(one == other for one, other in pairs) / n
    if chance == 1:
        assert found["kappa"] is None
    else:
        assert found["kappa"] == pytest.approx((same - chance) / (1 - chance))
    assert len(found["disagreements"]) == min(SHOWN, sum(one != other for one, other in pairs))


def test_tables_show_it():
    from rich.console import Console

    found = judge_agreement(FIRST, SECOND, texts(*FIRST))
    text = agreement_table(found, ("lexical", "another"))
    assert "| all | 4 | 6 | 0.667 |" in text and "| get = latest | 1 | 1 | 1.000 | – |" in text
    assert "| simple recall by | lexical | another |" in text and "0.625 | 0.250 |" in text
    console = Console(width=100, record=True)
    console.print(agreement_screen({"short, none": found}))
    assert "0.625 0.250" in console.export_text()
