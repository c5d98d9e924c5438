"""Replies that are larger than a reply may be: read in part, and a failure of one question."""

import gzip
import tracemalloc
import zlib

import pytest

from epbench.errors import RunFailed
from epbench.journals.answers import ANSWERS, ask
from epbench.journals.journal import read_journal
from epbench.retrieval import embedders
from epbench.retrieval.embedders import EndpointEmbedder
from tests.models.endpoint_asks import book, key, model_of, replies  # noqa: F401
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint, first_calls

BOMB_MB = 100


def bomb() -> bytes:
    """A gzip file of 100 kB that holds a JSON text of 100 MB."""
    packer = zlib.compressobj(wbits=31)
    parts = [packer.compress(b'{"choices": [{"message": {"content": "')]
    parts += [packer.compress(b"a" * 1_000_000) for _ in range(BOMB_MB)]
    return b"".join([*parts, packer.compress(b'"}}]}'), packer.flush()])


@pytest.mark.parametrize("status", [200, 400])
def test_a_compressed_bomb_is_a_failure_and_takes_little_memory(tmp_path, status):
    fault = Fault("status", status, {"Content-Encoding": "gzip"}, raw=bomb())
    with LoopbackEndpoint(script=first_calls(fault)) as endpoint:
        ask(tmp_path / "warm.jsonl", book(2), model_of(endpoint))  # imports what a client needs
        endpoint.script = lambda number, body: fault if number == 2 else None
        tracemalloc.start()
        ask(tmp_path / ANSWERS, book(2), model_of(endpoint))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    records = read_journal(tmp_path / ANSWERS).values()
    assert [record.get("failure") for record in records] == ["the reply has more than 16 MB", None]
    assert len(endpoint.calls) == 4  # a reply that is too large is not paid for twice
    assert peak < 60e6


def test_a_large_plain_reply_is_a_failure():
    with LoopbackEndpoint(script=first_calls(Fault("status", 200, raw=b"x" * 17_000_000))) as endpoint:
        (reply,) = replies(endpoint, book(1)).values()
    assert reply.failure == "the reply has more than 16 MB"


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_reply_is_read(encoding, pack):
    body = b'{"choices": [{"message": {"content": "nobody"}}]}'
    fault = Fault("status", 200, {"Content-Encoding": encoding}, raw=pack(body) + b"\0" * 9)
    with LoopbackEndpoint(script=first_calls(fault)) as endpoint:
        (reply,) = replies(endpoint, book(1)).values()
        assert endpoint.calls[0].headers["accept-encoding"] == "gzip, deflate"
    assert reply.text == "nobody"


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [("zstd", "the reply is compressed as 'zstd', expected gzip or deflate"), ("gzip", "incorrect")],
)
def test_a_reply_that_cannot_be_unpacked_is_a_failure(encoding, reason):
    fault = Fault("status", 200, {"Content-Encoding": encoding}, raw=b"{}")
    with LoopbackEndpoint(script=lambda number, body: fault) as endpoint:
        (reply,) = replies(endpoint, book(1), attempts=1).values()
    assert reason in reply.failure


def test_embeddings_have_a_limit_that_grows_with_the_number_of_texts(monkeypatch):
    monkeypatch.setattr(embedders, "_RETRIES", 0)
    monkeypatch.setattr(embedders, "_VECTOR_BYTES", 1_000)
    model = EndpointEmbedder("m", "http://127.0.0.1:9/v1")
    with pytest.raises(RunFailed):
        model.embed(["a"] * 3, query=False)
    assert model._limit.most_bytes == 16_003_000
