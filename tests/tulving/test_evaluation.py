"""A reader that fails now and then: what failed is neither right nor wrong, and is asked again."""

import json

from epbench.models.protocol import Reply, Request
from epbench.runs.asking import ANSWERS, ask
from epbench.runs.folder import open_run
from epbench.tulving.evaluation import finish
from epbench.tulving.judging import judge_answers
from epbench.tulving.lexical_judge import LexicalJudge


class Shaky:
    """Fails the given questions, answers the others with their id, and remembers what it was asked."""

    name = identity = "shaky"

    def __init__(self, fails=()):
        self.fails, self.asked = set(fails), []

    def answer(self, requests):
        for request in requests:
            self.asked.append(request.id)
            if request.id in self.fails:
                yield Reply(request.key(self.name), request.id, failure="429 too many requests")
            else:
                yield Reply(request.key(self.name), request.id, f"Person {request.id}")


def quiet(items, what, total):
    return items


def row(id_):
    return {
        "id": id_, "question": "Who?", "trace": "entities", "get": "all", "answer": [f"Person {id_}"], "bin": "1",
        "n_chapters": 1, "time": id_, "space": None, "entity": None, "content": None,
    }  # fmt: skip


def test_failed_questions_are_counted_apart_and_asked_again(tmp_path):
    rows = [row(f"{letter}x") for letter in "abcdefgh"]
    requests = [Request(r["id"], "s", "c", r["question"]) for r in rows]

    def start(model):
        with open_run(tmp_path / "r", {"model": "shaky"}, {"book": "b"}) as folder:
            ask(folder / ANSWERS, requests, model, quiet)
            verdicts = judge_answers(folder, rows, LexicalJudge(), quiet)
            return finish(folder, verdicts, len(rows) - len(verdicts), "shaky")

    first = start(shaky := Shaky(fails=["bx", "dx"]))
    assert (first["n_failed"], first["n_questions"], first["f1_by_bin"]) == (2, 8, {"1": 1.0})
    assert len(shaky.asked) == 8
    reasons = [json.loads(line).get("failure") for line in (tmp_path / "r/answers.jsonl").read_text().splitlines()]
    assert reasons.count("429 too many requests") == 2
    second = start(again := Shaky())
    assert again.asked == ["bx", "dx"]
    assert (second["n_failed"], second["n_questions"]) == (0, 8)
    third = start(never := Shaky())
    assert never.asked == [] and third == second


def test_repeats_are_judged_each_and_the_account_adds_up(tmp_path):
    rows = [row("ax")]
    requests = [Request("ax", "s", "c", "Who?", repeat=i) for i in range(3)]
    with open_run(tmp_path / "r", {"model": "shaky"}, {"book": "b"}) as folder:
        ask(folder / ANSWERS, requests, Shaky(), quiet)
        verdicts = judge_answers(folder, rows, LexicalJudge(), quiet)
        finish(folder, verdicts, 0, "shaky")
    assert len(verdicts) == 3
    assert len((tmp_path / "r/judgements.jsonl").read_text().splitlines()) == 1  # the same answer is judged once
    account = json.loads((tmp_path / "r/account.json").read_text())
    assert (account["requests"], account["failed"], account["saved"]) == (3, {}, 0)
    assert "No request failed" in (tmp_path / "r/report.html").read_text()
