"""Verdicts in a journal: what a record says, what is open, and what is asked again."""

import json
from dataclasses import dataclass

import pytest

from epbench.journals.journal import Journal, read_journal
from epbench.judges.protocol import Judgement, PastJudge, failures_of, judge_open, open_inputs
from epbench.models.protocol import Usage
from epbench.progress import no_progress


@dataclass(frozen=True)
class Word:
    text: str

    def key(self, judge):
        return f"{judge.name} {judge.prompt_hash} {self.text}"


@dataclass(frozen=True)
class Length:
    length: int
    even: bool


class Counter:
    """Counts letters; fails on given words, remembers what it was asked."""

    name, prompt_hash, setup = "counter", "1", ""

    def __init__(self, *fails):
        self.fails, self.asked, self.closed = fails, [], False

    def plan(self, inputs):
        return None

    def judge(self, inputs, calls=None):
        try:
            for word in inputs:
                self.asked.append(word.text)
                failed = word.text in self.fails
                verdict = None if failed else Length(len(word.text), len(word.text) % 2 == 0)
                yield Judgement(word.key(self), verdict, "too long" if failed else None, ("raw",), Usage(3, 0, 1))
        finally:
            self.closed = True


def judged(path, judge, *texts, progress=no_progress):
    journal = Journal(path)
    judge_open(journal, [Word(text) for text in texts], judge, progress, "lengths", lambda word, s: {"id": word.text})
    journal.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lengths.jsonl"


def test_a_record_has_the_fields_of_the_verdict_or_the_failure(path):
    judged(path, Counter("loud"), "a", "loud")
    usage = {"prompt": 3, "cached": 0, "completion": 1}
    about = {"judge": "counter", "prompt_hash": "1", "raw": ["raw"], "usage": usage}
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"key": "counter 1 a", "id": "a", **about, "length": 1, "even": False},
        {"key": "counter 1 loud", "id": "loud", **about, "failure": "too long"},
    ]


def test_inputs_are_judged_once_and_failures_again(path):
    judged(path, first := Counter("b"), "a", "b", "a")
    assert first.asked == ["a", "b"] and failures_of(read_journal(path), first) == {"too long": 1}
    assert list(open_inputs(read_journal(path), [Word("a"), Word("b"), Word("c")], first)) == [
        "counter 1 b", "counter 1 c"
    ]  # fmt: skip
    judged(path, second := Counter(), "a", "b", "c")
    assert second.asked == ["b", "c"] and failures_of(read_journal(path), second) == {}
    judged(path, third := Counter(), "a", "b", "c")
    assert third.asked == [] and not third.closed  # it is not even asked for nothing


def test_a_judge_has_its_own_verdicts_and_failures(path):
    judged(path, Counter("a"), "a", "b")
    other = PastJudge("counter", "2")
    judged(path, other, "b")
    records = read_journal(path)
    assert failures_of(records, Counter()) == {"too long": 1}
    assert failures_of(records, other) == {"counter has not judged this answer": 1}
    assert len(open_inputs(records, [Word("b")], other)) == 1 and not open_inputs(records, [Word("b")], Counter())


def test_verdicts_are_kept_as_they_come_and_the_judge_is_closed(path):
    def stop_after_two(items, what, total, done):
        assert (what, total, done) == ("lengths", 3, 0)
        for n, item in enumerate(items, 1):
            yield item
            if n == 2:
                raise KeyboardInterrupt

    judge = Counter()
    with pytest.raises(KeyboardInterrupt):
        judged(path, judge, "a", "b", "c", progress=stop_after_two)
    assert judge.closed and len(read_journal(path)) == 2


def test_progress_counts_verdicts_of_earlier_starts_and_sees_the_records(path):
    seen = []

    def progress(items, *about):
        seen.append((*about, list(items)))
        return seen[-1][-1]

    judged(path, Counter("loud"), "a", "b", "loud")
    judged(path, Counter(), "a", "b", "c", "c", "loud", progress=progress)
    ((what, total, done, items),) = seen
    assert (what, total, done) == ("lengths", 4, 2)
    assert [(item["id"], item["usage"]["completion"]) for item in items] == [("c", 1), ("loud", 1)]
