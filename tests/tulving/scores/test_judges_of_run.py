"""Judges of one run held against each other, on journals made by hand."""

import json

import pytest

from epbench import BadInput
from epbench.judges.protocol import PastJudge
from epbench.tulving.judging.verdicts import judge_input
from epbench.tulving.scores.judge_agreement import agreements, judges_of, last_judge

ONE, OTHER = PastJudge("lexical", "rules-1"), PastJudge("openai:tiny", "abc")


def row(id_, *truth):
    return {
        "id": id_, "question": f"Who in {id_}?", "trace": "entities", "get": "all", "answer": list(truth), "bin": "2",
        "n_chapters": 2, "time": id_, "space": None, "entity": None, "content": None,
    }  # fmt: skip


ROWS = [row("a", "Ann", "Bob"), row("b", "Ann"), row("c", "Cleo"), row("d")]


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def verdict(judge, row, answer, items, scores, **more):
    key = judge_input(row, answer).key(judge)
    about = {"key": key, "id": row["id"], "judge": judge.name, "prompt_hash": judge.prompt_hash}
    return about | {"items": items, "scores": scores, "order": [], "reason": f"{judge.name} on {answer}"} | more


@pytest.fixture
def folder(tmp_path):
    """Four answers, one of them given twice; the second judge has failed on the third."""
    given = [("a", "Ann", 0), ("a", "Ann", 1), ("a", "Bob!", 2), ("b", "An", 0), ("c", "Cleo", 0), ("d", "Dan", 0)]
    write(
        tmp_path / "answers.jsonl",
        [{"key": f"k{i}", "id": id_, "repeat": n, "answer": answer} for i, (id_, answer, n) in enumerate(given)],
    )
    a, b, c, d = ROWS
    write(
        tmp_path / "judgements.jsonl",
        [
            verdict(ONE, a, "Ann", ["Ann"], [1.0, 0.0]),
            verdict(ONE, a, "Bob!", ["Bob"], [0.0, 1.0]),
            verdict(ONE, b, "An", ["An"], [0.0]),
            verdict(ONE, c, "Cleo", ["Cleo"], [1.0]),
            verdict(ONE, d, "Dan", ["Dan"], []),
            verdict(OTHER, a, "Ann", ["Ann"], [1.0, 0.0]),
            verdict(OTHER, a, "Bob!", ["Bob", "Bob", "!"], [0.5, 1.0]),
            verdict(OTHER, b, "An", ["An"], [1.0]),
            {"key": "x", "id": "c", "judge": OTHER.name, "prompt_hash": OTHER.prompt_hash, "failure": "429"},
            verdict(OTHER, d, "Dan", [], []),
        ],
    )
    return tmp_path


def test_agreement_by_hand(folder):
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


def test_the_largest_disagreements_come_first_with_both_reasons(folder):
    (pair,) = agreements(folder, ROWS)
    assert [case["id"] for case in pair["disagreements"]] == ["b", "d", "a"]
    first = pair["disagreements"][0]
    assert (first["question"], first["answer"], first["truth"]) == ("Who in b?", "An", ["Ann"])
    assert first["first"] == {"items": ["An"], "scores": [0.0], "f1": 0.0, "reason": "lexical on An"}
    assert first["second"] == {"items": ["An"], "scores": [1.0], "f1": 1.0, "reason": "openai:tiny on An"}


def test_three_judges_are_three_pairs_and_namesakes_show_their_prompts(folder):
    with (folder / "judgements.jsonl").open("a") as journal:
        third = PastJudge("openai:tiny", "other")
        journal.write(json.dumps(verdict(third, ROWS[1], "An", [], [0.0])) + "\n")
    assert [pair["judges"] for pair in agreements(folder, ROWS)] == [
        ["lexical", "openai:tiny (abc)"], ["lexical", "openai:tiny (other)"], ["openai:tiny (abc)", "openai:tiny (other)"]
    ]  # fmt: skip


def test_a_published_judge_is_found_under_the_keys_of_the_answers(folder):
    """Its verdicts have no prompt hash, and may have scores beyond 1."""
    with (folder / "judgements.jsonl").open("a") as journal:
        published = {
            "key": "k3",
            "id": "b",
            "judge": "claude",
            "items": ["An"],
            "scores": [1.5],
            "order": [],
            "reason": "",
        }
        journal.write(json.dumps(published) + "\n")
    pairs = {tuple(pair["judges"]): pair for pair in agreements(folder, ROWS)}
    assert pairs["openai:tiny", "claude"]["score_difference"] == 0
    assert pairs["lexical", "claude"]["f1_distance"] == 1 and pairs["lexical", "claude"]["n_questions"] == 1


def test_one_judge_agrees_with_nobody(folder):
    records = [json.loads(line) for line in (folder / "judgements.jsonl").read_text().splitlines()]
    write(folder / "judgements.jsonl", records[:5])
    assert judges_of(folder) == [ONE]
    with pytest.raises(BadInput, match="expected verdicts by at least two judges, judged by lexical"):
        agreements(folder, ROWS)
    write(folder / "judgements.jsonl", [])
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
