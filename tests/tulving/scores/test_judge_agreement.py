"""Judges held against each other, on verdicts and on the journals of a run, with numbers worked out by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput, RunFailed
from epbench.judges.protocol import PastJudge
from epbench.tulving.judging.verdicts import ScoredAnswer, judge_input
from epbench.tulving.scores.judge_agreement import (
    SHOWN,
    agreement_screen,
    agreement_table,
    agreements,
    judge_agreement,
    judges_of,
    last_judge,
)
from tests.scripts.run_files import lines_of, write_lines
from tests.tulving.question_rows import row


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


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=2, max_size=40))
def test_kappa_is_agreement_beyond_chance(pairs):
    first = [verdict(f"q{i}-", [one]) for i, (one, _) in enumerate(pairs)]
    second = [verdict(f"q{i}-", [other]) for i, (_, other) in enumerate(pairs)]
    found = judge_agreement(first, second, texts(*first))
    n, yes = len(pairs), [sum(pair[k] for pair in pairs) / len(pairs) for k in (0, 1)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    same = sum(one == other for one, other in pairs) / n
    assert found["kappa"] == (None if chance == 1 else pytest.approx((same - chance) / (1 - chance)))
    assert len(found["disagreements"]) == min(SHOWN, sum(one != other for one, other in pairs))
    alone = judge_agreement(first, first, texts(*first))
    assert (alone["item_agreement"], alone["score_difference"], alone["disagreements"]) == (1, 0, [])
    assert alone["kappa"] in (None, 1.0) and alone["f1_correlation"] in (None, pytest.approx(1))


def test_tables_show_it():
    from rich.console import Console

    found = judge_agreement(FIRST, SECOND, texts(*FIRST))
    text = agreement_table(found, ("lexical", "another"))
    assert "| all | 4 | 6 | 0.667 |" in text and "| get = latest | 1 | 1 | 1.000 | – |" in text
    assert "| simple recall by | lexical | another |" in text and "0.625 | 0.250 |" in text
    console = Console(width=100, record=True)
    console.print(agreement_screen({"short, none": found}))
    assert "0.625 0.250" in console.export_text()


ONE, OTHER = PastJudge("lexical", "rules-1"), PastJudge("openai:tiny", "abc")
TRUE = {"a": ["Ann", "Bob"], "b": ["Ann"], "c": ["Cleo"], "d": []}
ROWS = [row(id_, items, question=f"Who in {id_}?", bin="2", n_chapters=2) for id_, items in TRUE.items()]


def judged(judge, row, answer, items, scores, **more):
    key = judge_input(row, answer).key(judge)
    about = {"key": key, "id": row["id"], "judge": judge.name, "prompt_hash": judge.prompt_hash}
    return about | {"items": items, "scores": scores, "order": [], "reason": f"{judge.name} on {answer}"} | more


@pytest.fixture
def folder(tmp_path):
    """Four answers, one of them given twice; the second judge has failed on the third."""
    given = [("a", "Ann", 0), ("a", "Ann", 1), ("a", "Bob!", 2), ("b", "An", 0), ("c", "Cleo", 0), ("d", "Dan", 0)]
    answers = [{"key": f"k{i}", "id": id_, "repeat": n, "answer": text} for i, (id_, text, n) in enumerate(given)]
    write_lines(tmp_path / "answers.jsonl", answers)
    a, b, c, d = ROWS
    write_lines(
        tmp_path / "judgements.jsonl",
        [
            judged(ONE, a, "Ann", ["Ann"], [1.0, 0.0]),
            judged(ONE, a, "Bob!", ["Bob"], [0.0, 1.0]),
            judged(ONE, b, "An", ["An"], [0.0]),
            judged(ONE, c, "Cleo", ["Cleo"], [1.0]),
            judged(ONE, d, "Dan", ["Dan"], []),
            judged(OTHER, a, "Ann", ["Ann"], [1.0, 0.0]),
            judged(OTHER, a, "Bob!", ["Bob", "Bob", "!"], [0.5, 1.0]),
            judged(OTHER, b, "An", ["An"], [1.0]),
            {"key": "x", "id": "c", "judge": OTHER.name, "prompt_hash": OTHER.prompt_hash, "failure": "429"},
            judged(OTHER, d, "Dan", [], []),
        ],
    )
    return tmp_path


def test_agreement_by_hand_with_the_largest_disagreements_first_and_both_reasons(folder):
    (pair,) = agreements(folder, ROWS)
    assert pair["judges"] == ["lexical", "openai:tiny"]
    # Shared are Ann, Bob!, An and Dan; their true items have the scores 1 0 | 0 1 | 0 and 1 0 | .5 1 | 1.
    assert (pair["n_questions"], pair["n_items"], pair["n_one_sided"]) == (4, 5, 1)
    assert pair["item_agreement"] == pytest.approx(3 / 5)
    assert pair["score_difference"] == pytest.approx(1.5 / 5)
    assert pair["items_difference"] == pytest.approx((0 + 1 + 0 + 1) / 4)
    # F1: 2/3 and 2/3 | 2/3 and 3/4 | 0 and 1 | 0 and 1
    assert pair["f1_distance"] == pytest.approx((0 + 1 / 12 + 1 + 1) / 4)
    # Found by the first: 1 0 0 1 0, by the second: 1 0 1 1 1; chance agrees on .4 · .8 + .6 · .2
    assert pair["kappa"] == pytest.approx((0.6 - 0.44) / (1 - 0.44))
    assert [case["id"] for case in pair["disagreements"]] == ["b", "d", "a"]
    first = pair["disagreements"][0]
    assert (first["question"], first["answer"], first["truth"]) == ("Who in b?", "An", ["Ann"])
    assert first["first"] == {"items": ["An"], "scores": [0.0], "f1": 0.0, "reason": "lexical on An"}
    assert first["second"] == {"items": ["An"], "scores": [1.0], "f1": 1.0, "reason": "openai:tiny on An"}


def test_three_judges_are_three_pairs_and_namesakes_show_their_prompts(folder):
    with (folder / "judgements.jsonl").open("a") as journal:
        third = PastJudge("openai:tiny", "other")
        journal.write(json.dumps(judged(third, ROWS[1], "An", [], [0.0])) + "\n")
    assert [pair["judges"] for pair in agreements(folder, ROWS)] == [
        ["lexical", "openai:tiny (abc)"], ["lexical", "openai:tiny (other)"], ["openai:tiny (abc)", "openai:tiny (other)"]
    ]  # fmt: skip


def test_a_published_judge_is_found_under_the_keys_of_the_answers(folder):
    """Its verdicts have no prompt hash, and may have scores beyond 1."""
    with (folder / "judgements.jsonl").open("a") as journal:
        verdict = {"items": ["An"], "scores": [1.5], "order": [], "reason": ""}
        journal.write(json.dumps({"key": "k3", "id": "b", "judge": "claude", **verdict}) + "\n")
    pairs = {tuple(pair["judges"]): pair for pair in agreements(folder, ROWS)}
    assert pairs["openai:tiny", "claude"]["score_difference"] == 0
    assert pairs["lexical", "claude"]["f1_distance"] == 1 and pairs["lexical", "claude"]["n_questions"] == 1


def test_one_judge_agrees_with_nobody(folder):
    write_lines(folder / "judgements.jsonl", lines_of(folder / "judgements.jsonl")[:5])
    assert judges_of(folder) == [ONE]
    with pytest.raises(BadInput, match="expected verdicts by at least two judges, judged by lexical"):
        agreements(folder, ROWS)
    write_lines(folder / "judgements.jsonl", [])
    with pytest.raises(BadInput, match="judged by nobody"):
        agreements(folder, ROWS)


def test_the_last_judge_stands_in_the_scores(folder):
    for judge, expected in (
        ({"name": "lexical", "prompt_hash": "rules-1"}, ONE),
        ({"name": "claude", "prompt_hash": None}, PastJudge("claude", "published")),
    ):
        (folder / "scores.json").write_text(json.dumps({"judge": judge}))
        assert last_judge(folder) == expected
    (folder / "scores.json").write_text("{}")
    with pytest.raises(BadInput, match="expected scores that name a judge"):
        last_judge(folder)
