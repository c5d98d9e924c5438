import json
from dataclasses import replace

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_pairs
from epbench.booksort.evaluation import CHOICE, SWEEP, Tried, choose, screen_table, select_prompt
from epbench.errors import RunFailed
from epbench.models.protocol import Reply
from epbench.progress import no_progress

PACK = load_prompts()


class Habit:
    """A reader whose accuracy depends on the prompt: `right` is the number of right answers by prompt."""

    name = identity = "habit"

    def __init__(self, pairs, right, fails=()):
        self.answers = {pair.id: pair.answer for pair in pairs}
        self.order = list(self.answers)
        self.right, self.fails, self.asked = right, fails, 0

    def answer(self, requests):
        for request in requests:
            self.asked += 1
            number = int(request.system)
            if number in self.fails:
                yield Reply(request.key(self.name), request.id, failure="no answer")
                continue
            reference = self.answers[request.id]
            wrong = {"A": "B", "B": "A"}[reference]
            text = reference if self.order.index(request.id) < self.right[number] else wrong
            yield Reply(request.key(self.name), request.id, text)


@pytest.fixture(scope="module")
def pairs(dataset):
    return load_pairs(dataset, ["e120_s20"], "validation")


@pytest.fixture(scope="module")
def requests(pairs):
    named = replace(PACK, prompts={n: replace(prompt, system=str(n)) for n, prompt in PACK.prompts.items()})
    return {number: requests_for("in-context", pairs, named, number) for number in named.prompts}


def test_all_prompts_are_asked_and_the_best_is_chosen(tmp_path, pairs, requests):
    model = Habit(pairs, dict.fromkeys(range(1, 13), 2) | {5: 15})
    choice = select_prompt(tmp_path, requests, pairs, model, no_progress)
    assert choice["prompt"] == 5 and choice["tied"] == [5]
    assert model.asked == 12 * len(pairs) == 192
    assert json.loads((tmp_path / CHOICE).read_text()) == choice
    rows = {one["number"]: one for one in choice["prompts"]}
    assert rows[5]["accuracy"] == 15 / 16 and rows[1]["accuracy"] == 2 / 16 and rows[5]["n"] == 16
    given = [pair.answer if i < 15 else {"A": "B", "B": "A"}[pair.answer] for i, pair in enumerate(pairs)]
    assert rows[5]["share_a"] == given.count("A") / 16
    assert "prompt 5 has the highest accuracy, 0.938 over 16 answers" in choice["reason"]
    assert len(screen_table(choice).rows) == 12


def test_a_choice_is_kept_and_a_broken_sweep_goes_on(tmp_path, pairs, requests):
    model = Habit(pairs, dict.fromkeys(range(1, 13), 8))
    choice = select_prompt(tmp_path, requests, pairs, model, no_progress)
    assert select_prompt(tmp_path, requests, pairs, Habit(pairs, {}), no_progress) == choice  # nothing is asked again
    (tmp_path / CHOICE).unlink()
    journal = tmp_path / SWEEP
    journal.write_bytes(b"\n".join(journal.read_bytes().splitlines()[:100]) + b"\n{torn")
    again = Habit(pairs, dict.fromkeys(range(1, 13), 8))
    assert select_prompt(tmp_path, requests, pairs, again, no_progress) == choice
    assert again.asked == 92


def test_nothing_is_chosen_while_a_prompt_has_too_few_answers(tmp_path, pairs, requests):
    right = dict.fromkeys(range(1, 13), 6) | {7: 9}
    message = r"16 of 16 questions of prompt 7 failed.*run again to repeat them.*give the number of a prompt"
    with pytest.raises(RunFailed, match=message):
        select_prompt(tmp_path, requests, pairs, Habit(pairs, right, fails=(7,)), no_progress)
    assert not (tmp_path / "prompt_selection.json").exists()
    choice = select_prompt(tmp_path, requests, pairs, Habit(pairs, right), no_progress)
    assert choice["prompt"] == 7 and choice["prompts"][6]["failed"] == 0
    with pytest.raises(RunFailed, match="99 of 100 questions of prompt 1 failed"):  # a single lucky answer would win
        choose([Tried(1, 1, 99, 1.0, 0.5), Tried(2, 100, 0, 0.9, 0.5)])
    some = choose([Tried(1, 95, 5, 0.6, 0.5), Tried(2, 100, 0, 0.5, 0.5)])
    assert some["prompt"] == 1 and some["prompts"][0]["failed"] == 5


def test_within_a_standard_error_the_share_of_a_decides():
    tried = [Tried(1, 400, 0, 0.90, 0.70), Tried(2, 400, 0, 0.89, 0.51), Tried(3, 400, 0, 0.88, 0.50)]
    choice = choose(tried)  # the standard error of 0.9 over 400 is 0.015
    assert choice["prompt"] == 2 and choice["tied"] == [1, 2]
    assert "2 prompts are within its standard error of 0.015" in choice["reason"] and "0.510" in choice["reason"]


def test_equal_prompts_are_decided_by_accuracy_then_number():
    assert choose([Tried(4, 100, 0, 0.6, 0.5), Tried(2, 100, 0, 0.61, 0.5)])["prompt"] == 2
    assert choose([Tried(4, 100, 0, 0.6, 0.5), Tried(2, 100, 0, 0.6, 0.5)])["prompt"] == 2
    assert choose([Tried(1, 50, 0, 0.0, None), Tried(2, 50, 0, 0.0, 0.9)])["prompt"] == 2
    choice = choose([Tried(0, 100, 0, 0.6, 0.5), Tried(7, 100, 0, 0.8, 0.5)], "reading")
    assert choice["reading"] == 7 and choice["readings"][0]["number"] == 0 and "reading 7 has" in choice["reason"]
    assert len(screen_table(choice, "reading").rows) == 2
