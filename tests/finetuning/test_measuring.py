"""Questions that several processes share: each is asked once, groups stay together, and one journal has all answers."""

import json
import tempfile
import threading
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.finetuning.launching import Ranks
from epbench.finetuning.run import ask_together
from epbench.models.protocol import Reply, Request
from tests.finetuning.thread_ranks import together

group_of = attrgetter("context")


class Echo:
    """Answers with the id, fails on some questions, stops like a killed process after an answer if it is to meet others."""

    name = identity = "echo"

    def __init__(self, asked, fails=(), meeting=None):
        self.asked, self.fails, self.meeting = asked, fails, meeting

    def answer(self, requests):
        for number, request in enumerate(requests):
            if number == 1 and self.meeting:
                self.meeting.wait()  # until all have answered a question
                raise KeyboardInterrupt
            self.asked.append(request.id)
            outcome = {"failure": "lost"} if request.id in self.fails else {"text": request.id}
            yield Reply(request.key(self.name), request.id, **outcome)


def requests_of(groups):
    return [Request(f"{group}.{i}", "", group, f"{i}?") for group, n in groups.items() for i in range(n)]


def journaled(folder):
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


groups = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4), min_size=1)


@settings(max_examples=25)
@given(groups, st.integers(1, 4), st.data())
def test_every_question_is_asked_once_and_groups_stay_together(groups, n, data):
    requests = requests_of(groups)
    shuffled = data.draw(st.permutations(requests))
    with tempfile.TemporaryDirectory() as name:
        folder, asked = Path(name), [[] for _ in range(n)]
        together(n, lambda ranks: ask_together(folder, shuffled, Echo(asked[ranks.index]), ranks, group_of))
        assert sorted(id_ for share in asked for id_ in share) == sorted(request.id for request in requests)
        assert all(sum(any(id_[0] == group for id_ in share) for share in asked) == 1 for group in groups)
        assert sorted(record["answer"] for record in journaled(folder)) == sorted(request.id for request in requests)
        assert [path.name for path in folder.iterdir()] == ["answers.jsonl"]


@pytest.mark.parametrize("n", [1, 3])
def test_failures_are_asked_again_and_answers_are_not(tmp_path, n):
    requests, first, second = requests_of({"a": 3, "b": 2}), [], []
    together(3, lambda ranks: ask_together(tmp_path, requests, Echo(first, {"a.1", "b.0"}), ranks, group_of))
    assert sorted(first) == ["a.0", "a.1", "a.2", "b.0", "b.1"]
    work = lambda ranks: ask_together(tmp_path, requests, Echo(second), ranks, group_of)  # noqa: E731
    together(n, work) if n > 1 else work(Ranks())
    assert sorted(second) == ["a.1", "b.0"]
    last = {record["key"]: record for record in journaled(tmp_path)}
    assert sorted(record["answer"] for record in last.values()) == sorted(first)


def test_what_a_killed_start_has_left_is_not_asked_again(tmp_path):
    requests, first, second, meeting = requests_of({"a": 2, "b": 2, "c": 2}), [], [], threading.Barrier(3)
    with pytest.raises(KeyboardInterrupt):
        together(3, lambda ranks: ask_together(tmp_path, requests, Echo(first, (), meeting), ranks, group_of))
    assert len(first) == 3 and len(list(tmp_path.glob("answers-*-of-3.jsonl"))) == 3
    together(2, lambda ranks: ask_together(tmp_path, requests, Echo(second), ranks, group_of))
    assert sorted(first + second) == sorted(request.id for request in requests)
    assert len(journaled(tmp_path)) == 6 and not list(tmp_path.glob("answers-*"))
