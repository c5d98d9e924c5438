"""The machine that asks a model for verdicts: calls that follow one another, repairs, plans."""

from dataclasses import dataclass

import pytest

from epbench import BadInput
from epbench.errors import UnusableReply
from epbench.journals.journal import read_journal
from epbench.judges.model import BaseModelJudge
from epbench.models.openai.model import EndpointModel
from epbench.models.protocol import Request, Sampling, Usage
from tests.models.loopback_endpoint import BROKEN, LoopbackEndpoint


@dataclass(frozen=True)
class Word:
    text: str

    def key(self, judge):
        return f"{judge.prompt_hash} {self.text}"


def number(reply):
    if not reply.isdigit():
        raise UnusableReply(f"{reply!r} is no number")
    return int(reply)


class Measures(BaseModelJudge):
    """Asks for the length of a word; of a long one also for the number of its vowels."""

    advice = "choose shorter words"

    def __init__(self, model):
        super().__init__(model, prompt_hash="1", repair="Again: {problem}", max_tokens=9)

    def requests(self, inputs):
        return [self._request(what, word) for word in inputs for what in ("length", "vowels")]

    def verdict_on(self, judge_input, id_, ask):
        length = yield from ask(self._request("length", judge_input), number)
        if length < 5:
            return (length,)
        return length, (yield from ask(self._request("vowels", judge_input), number))

    def _request(self, what, word):
        return Request(word.text, "", f"Tell the {what}.", word.text, Sampling(9))


def reply(prompt):
    """Of a word whose first letter is `x` only when asked again."""
    word = prompt.split("\n\n")[1]
    if word.startswith("y") or (word.startswith("x") and "Again: " not in prompt):
        return "?"
    return str(len(word) if "length" in prompt else sum(letter in "aeiou" for letter in word))


def measured(endpoint, *texts, calls=None):
    judge = Measures(EndpointModel("tiny", base_url=endpoint.url, attempts=1, concurrency=1))
    return {judgement.key.split()[1]: judgement for judgement in judge.judge([Word(text) for text in texts], calls)}


def test_a_call_may_follow_another_and_equal_inputs_are_judged_once():
    with LoopbackEndpoint(reply) as endpoint:
        found = measured(endpoint, "red", "orange", "blue", "red")
    assert {word: judgement.verdict for word, judgement in found.items()} == {
        "red": (3,), "blue": (4,), "orange": (6, 3)
    }  # fmt: skip
    assert found["orange"].raw == ("6", "3") and found["orange"].usage == Usage(20, 0, 2)
    assert [call.user.split("\n\n")[0] for call in endpoint.calls] == ["Tell the length."] * 3 + ["Tell the vowels."]


def test_an_unusable_reply_is_asked_for_once_more_with_what_was_wrong(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with LoopbackEndpoint(reply) as endpoint:
        found = measured(endpoint, "xi", "yo", calls=calls)
        assert found["xi"].verdict == (2,) and found["xi"].raw == ("?", "2")
        assert found["yo"].verdict is None and found["yo"].raw == ("?", "?")
        assert found["yo"].failure == "the judge's reply is unusable, also when asked again: '?' is no number"
        assert [call.user for call in endpoint.calls[2:]] == [
            f"Tell the length.\n\n{word}\n\nAgain: '?' is no number" for word in ("xi", "yo")
        ]
        # The next start asks for the failed one again, from the beginning.
        endpoint.answer, before = (lambda prompt: "2"), len(endpoint.calls)
        assert measured(endpoint, "xi", "yo", calls=calls)["yo"].verdict == (2,)
        assert [call.user for call in endpoint.calls[before:]] == ["Tell the length.\n\nyo"]
    assert len(read_journal(calls)) == 4


def test_a_lost_call_is_a_failure_and_not_repaired():
    with LoopbackEndpoint(reply, script=lambda number, body: BROKEN) as endpoint:
        found = measured(endpoint, "red")["red"]
    assert found.verdict is None and "500" in found.failure and found.raw == () and len(endpoint.calls) == 1


def test_a_plan_counts_all_calls_and_refuses_what_does_not_fit():
    with LoopbackEndpoint(reply) as endpoint:
        judge = Measures(EndpointModel("tiny", base_url=endpoint.url))
        most = judge.plan([Word("red"), Word("blue")])
        assert (most.requests, most.contexts, most.completion) == (4, 2, 36)
        small = Measures(EndpointModel("tiny", base_url=endpoint.url, window=10))
        with pytest.raises(BadInput, match="judge openai:tiny: .* its window has 10; choose shorter words"):
            small.plan([Word("red")])
    assert not endpoint.calls


def test_a_judge_is_told_apart_by_address_and_sampling_and_not_by_how_it_is_asked(monkeypatch):
    url = "http://127.0.0.1:9/v1"
    plain = Measures(EndpointModel("tiny", base_url=url)).setup
    assert plain == f"{url}, max_tokens=9, temperature=0"
    for model in (
        EndpointModel("tiny", base_url=f"{url}/", concurrency=3, timeout_s=7, attempts=2, window=99),
        EndpointModel("tiny", base_url="http://me:word@127.0.0.1:9/v1?api_key=secret"),
    ):
        assert Measures(model).setup == plain
    assert Measures(EndpointModel("tiny", base_url="http://127.0.0.1:8/v1")).setup != plain
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert Measures(EndpointModel("tiny")).setup.startswith("https://api.openai.com/v1,")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert Measures(EndpointModel("tiny")).setup == plain
