"""What of an endpoint's replies is in the journal, and when: at once, by any name, in any letters."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.journals.answers import ANSWERS, answered, ask
from epbench.journals.journal import Journal, read_journal
from epbench.models.protocol import Request
from epbench.runs.usage import token_usage
from tests.models.endpoint_asks import book, key, model_of  # noqa: F401
from tests.models.loopback_endpoint import LoopbackEndpoint


def test_replies_are_in_the_journal_though_the_reader_is_elsewhere(tmp_path):
    """The reader takes one reply; the answers to what else was open are kept without it."""
    with LoopbackEndpoint(may_answer=lambda call: endpoint.open >= 4 - endpoint.answered) as endpoint:
        kept = threading.Semaphore(0)

        class Noting(Journal):
            def add(self, *about, **values):
                super().add(*about, **values)
                kept.release()

        requests = [Request(str(i), "s", "", f"question {i}") for i in range(40)]
        records = answered(Noting(tmp_path / ANSWERS), requests, model_of(endpoint, concurrency=4, timeout_s=300))
        next(records)
        assert all(kept.acquire(timeout=60) for _ in range(4))
        assert len(read_journal(tmp_path / ANSWERS)) == 4
        records.close()
        assert not endpoint.stuck
    sent = sum(endpoint.paid().values())
    assert sent - len(read_journal(tmp_path / ANSWERS)) <= 4


def test_what_the_journal_raises_ends_the_run(tmp_path):
    class Full(Journal):
        def add(self, *about, **values):
            raise OSError(28, "No space left on device", str(self.path))

    with LoopbackEndpoint() as endpoint, pytest.raises(OSError, match="No space left"):
        list(answered(Full(tmp_path / ANSWERS), book(20), model_of(endpoint)))


def test_threads_may_write_to_one_journal(tmp_path):
    journal = Journal(tmp_path / "a.jsonl")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda i: journal.add(str(i), text="x" * 999), range(400)))
    assert len(read_journal(tmp_path / "a.jsonl")) == 400 == len(Journal(tmp_path / "a.jsonl").records)


def test_the_name_of_another_model_is_recorded_and_its_change_said_once(tmp_path, caplog):
    def more(body):
        number = int(body["messages"][-1]["content"].rpartition(" ")[2])
        return {"model": "tiny-0613" if number < 3 else "tiny-0806" if number < 6 else ["odd"]}

    with caplog.at_level(logging.WARNING), LoopbackEndpoint(more=more) as endpoint:
        ask(tmp_path / ANSWERS, book(3), model_of(endpoint, concurrency=1))
        assert not caplog.records
        ask(tmp_path / ANSWERS, book(6), model_of(endpoint, concurrency=1))
    assert token_usage(read_journal(tmp_path / ANSWERS).values())["served"] == {"tiny-0613": 3, "tiny-0806": 3}
    (said,) = [record.getMessage() for record in caplog.records if "several models" in record.getMessage()]
    assert "tiny-0613" in said and "tiny-0806" in said


def test_half_a_surrogate_pair_goes_and_comes_as_the_replacement_character(tmp_path):
    odd = Request("1", "s\ud83d", "c\udc00", "q\ud83d?")
    with LoopbackEndpoint(more=lambda body: {"message": {"content": "a\ud83db", "reasoning": "\udc00"}}) as endpoint:
        (reply,) = model_of(endpoint).answer([odd])
        ask(tmp_path / ANSWERS, [odd], model_of(endpoint))
    assert [m["content"] for m in endpoint.calls[0].body["messages"]] == ["s\ufffd", "c\ufffd\n\nq\ufffd?"]
    assert (reply.text, reply.reasoning, reply.failure) == ("a\ufffdb", "\ufffd", None)
    assert json.loads((tmp_path / ANSWERS).read_text())["answer"] == "a\ufffdb"


@settings(deadline=None)
@given(*[st.text(st.characters())] * 4)
def test_every_text_has_a_key(system, context, question, start):
    assert len(Request("1", system, context, question, answer_start=start).key("m")) == 24


def test_the_keys_of_clean_texts_stay_as_they_are():
    plain = Request("1", "You read.", "the bök", "who?")
    keys = [replace(plain, **more).key("openai:tiny") for more in ({}, {"answer_start": "A"}, {"answer_start": "B"})]
    assert keys[0] == "770a27461ca3c915e4ec3c95" and len(set(keys)) == 3
    assert replace(plain, keep_cut=True).key("openai:tiny") == keys[0]
