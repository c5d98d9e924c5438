"""The evaluation through real backends: a tiny model in process, and an endpoint on loopback that misbehaves."""

import threading
from collections import Counter

import pytest

from tests.models.loopback_endpoint import BROKEN, CUT, DROP, GARBAGE, SLOW_DOWN, Fault, LoopbackEndpoint, some_calls
from tests.scripts.in_process import ran, script
from tests.scripts.run_files import files_in, killed, lines_of, read, scores_of
from tests.tiny_model import make_tiny_model

EVALUATE = "eval_scripts/tulving.py"


@pytest.fixture(scope="module")
def book_text(short_book):
    from datasets import load_dataset

    return load_dataset(str(short_book), "book", split="test")[0]["text"]


@pytest.fixture(scope="module")
def tiny(book_text, tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), book_text, window=65536, ends=True)


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["in-context", "rag-paragraph"])
def test_a_model_in_process_answers_by_every_memory(short_book, tiny, tmp_path, memory):
    asked = f"--memory {memory} --model hf:{tiny} --limit 6 --max-tokens 8 --out {tmp_path / 'r'}"
    assert "6 requests over" in ran(f"{EVALUATE} --dataset {short_book} {asked}")
    scores, usage = scores_of(tmp_path / "r"), read(tmp_path / "r", "usage.json")
    silent = usage["failed"].pop("the reply says nothing", 0)  # a model of random weights may write a sign alone
    assert (scores["n_questions"], scores["n_failed"], usage["requests"], usage["failed"]) == (6, silent, 6, {})
    assert usage["generated"] > 0 and usage["prefilled"] > 0
    if memory == "in-context":
        assert usage["hit_rate"] > 0.75
    page = (tmp_path / "r/report.html").read_text()
    assert "share of prompt tokens saved" in page and ("No request failed" in page) == (silent == 0)


def test_a_book_that_does_not_fit_is_refused_before_weights_are_loaded(short_book, book_text, tmp_path):
    small = make_tiny_model(tmp_path / "small", book_text, window=4096)
    (small / "model.safetensors").unlink()  # would fail if it were looked for
    base = [EVALUATE, "--dataset", short_book, "--out", tmp_path / "r", "--memory"]
    done = script(*base, "in-context", "--model", f"hf:{small}", "--max-tokens", 8)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert "has 4,096" in done.stderr and "these memories fit" in done.stderr and "none" in done.stderr
    assert not (tmp_path / "r").exists()
    done = script(*base, "none", "--model", "hf:no/such-model")
    assert done.returncode == 2 and "no/such-model" in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.slow
def test_a_killed_run_of_a_model_goes_on(short_book, tiny, tmp_path):
    command = [EVALUATE, "--dataset", short_book, "--memory", "none", "--model", f"hf:{tiny}"]
    command += ["--max-tokens", "24", "--limit", "60", "--out"]
    journal = tmp_path / "r/answers.jsonl"
    killed([*command, tmp_path / "r"], lambda: len(lines_of(journal)) >= 5)
    assert len(lines_of(journal)) >= 5
    for out in (tmp_path / "r", tmp_path / "whole"):
        ran(*command, out)
    keys = Counter(record["key"] for record in lines_of(journal))
    assert len(keys) == 60 and set(keys.values()) == {1}
    assert scores_of(tmp_path / "r") == scores_of(tmp_path / "whole")


@pytest.fixture
def asked(short_book, tmp_path, monkeypatch):
    """The words of a command that asks a model at an endpoint about the book."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-mine")

    def words(endpoint, *more):
        model = f"--model openai:tiny --base-url {endpoint.url} --max-tokens 8"
        return f"{EVALUATE} --dataset {short_book} {model} --out {tmp_path / 'r'} --memory", *more

    return words


@pytest.mark.parametrize("memory", ["in-context", "rag-paragraph"])
def test_an_endpoint_answers_by_every_memory(asked, tmp_path, memory):
    usage = {"usage": {"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 60}}}
    with LoopbackEndpoint(lambda prompt: "I do not know.", more=lambda body: usage) as endpoint:
        said = ran(*asked(endpoint, memory, "--limit", 12))
    assert "the window of openai:tiny is unknown" in said and "not checked that prompts fit" in said
    assert len(endpoint.calls) == 12
    usage = read(tmp_path / "r", "usage.json")
    assert (usage["requests"], usage["saved"], usage["generated"]) == (12, 720, 36)
    assert not any(b"secret-of-mine" in content for content in files_in(tmp_path / "r").values())


@pytest.mark.slow
def test_a_bad_line_ends_with_every_question_answered_or_failed(asked, tmp_path):
    def faults(number, body):
        if "Karaoke" in str(body["messages"]):
            return Fault("status", 400, words="content policy")
        return some_calls(0.3, 5, (SLOW_DOWN, BROKEN, CUT, DROP, GARBAGE))(number, body)

    with LoopbackEndpoint(lambda prompt: "I do not know.", script=faults) as endpoint:
        ran(*asked(endpoint, "none", "--limit", 120))
        first = scores_of(tmp_path / "r")
        answered = Counter(call.user for call in endpoint.calls if call.answered)
        assert set(answered.values()) == {1} and first["n_questions"] == 120
        assert first["n_failed"] == 120 - len(answered)
        before = len(endpoint.calls)
        endpoint.script = lambda number, body: None
        ran(*asked(endpoint, "none", "--limit", 120))
    assert len(endpoint.calls) - before == first["n_failed"]
    assert scores_of(tmp_path / "r")["n_failed"] == 0
    if first["n_failed"]:
        assert any(record.get("failure") for record in lines_of(tmp_path / "r/answers.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"message": {"content": ""}}, "the reply is empty"),
        ({"choice": {"finish_reason": "content_filter"}}, "the endpoint's content filter stopped the answer"),
        (
            {"message": {"content": None, "reasoning": "Hm"}, "choice": {"finish_reason": "length"}},
            "the model used all 2 tokens for thinking and gave no answer",
        ),
    ],
)
def test_answers_that_are_lost_are_no_abstentions(asked, tmp_path, parts, reason):
    """To say nothing is right where nothing is true; to lose the answer is neither right nor wrong."""
    lost_of = [40]  # all are lost at first, and some of them in the next start

    def lost(body):
        lose = lost_of[0] == 40 or len(str(body["messages"])) % 2
        return {name: dict(part) for name, part in parts.items()} if lose else {}

    with LoopbackEndpoint(lambda prompt: "I don't know.", more=lost) as endpoint:
        command = asked(endpoint, "none", "--limit", 40, "--max-tokens", 2)
        done = script(*command)
        assert done.returncode == 1 and "nothing to score: all 40 questions failed" in done.stderr, done.stderr
        records = lines_of(tmp_path / "r/answers.jsonl")
        assert [record["failure"] for record in records] == [reason] * 40 and len(endpoint.calls) == 40
        lost_of[0] = 20
        said = ran(*command)
    n = sum(len(str(call.body["messages"])) % 2 for call in endpoint.calls[40:])
    assert len(endpoint.calls) == 80 and 0 < n < 40 and scores_of(tmp_path / "r")["n_failed"] == n
    assert f"failed {n} times: {reason}" in " ".join(said.split())


def test_a_window_that_is_given_is_checked(asked):
    with LoopbackEndpoint() as endpoint:
        done = script(*asked(endpoint, "in-context", "--window", "2000"))
    assert done.returncode == 2 and "the window of openai:tiny has 2,000" in done.stderr and not endpoint.calls


@pytest.mark.slow
def test_a_killed_run_at_an_endpoint_pays_no_journaled_answer_twice(asked, tmp_path):
    ended = threading.Event()
    with LoopbackEndpoint(
        lambda prompt: "I do not know.", may_answer=lambda call: endpoint.answered < 40 or ended.is_set()
    ) as endpoint:
        line, memory = asked(endpoint, "none")
        journal = tmp_path / "r/answers.jsonl"
        killed([*line.split(), memory], lambda: len(lines_of(journal)) >= 20)
        kept = {record["id"] for record in lines_of(journal)}
        paid_before = Counter(call.user for call in endpoint.calls if call.answered)
        ended.set()
        endpoint.recheck()
        ran(line, memory)
        paid = Counter(call.user for call in endpoint.calls if call.answered)
    assert 20 <= len(kept) <= 40 and not endpoint.stuck
    assert len(paid) == 450 and scores_of(tmp_path / "r")["n_failed"] == 0
    assert sum(paid.values()) - 450 == sum(paid_before.values()) - len(kept) <= 64  # those in flight when it was killed
