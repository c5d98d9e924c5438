"""What adapters share: the stand-in for sentence_transformers, against an endpoint on loopback, and the counts."""

import contextlib
import logging
import subprocess
import sys

import numpy as np
import pytest

from epbench.memories.systems import adapter
from epbench.memories.systems.adapter import Embedder, EmbeddingsFailed, SentenceTransformer, Watch
from tests.memories.systems.scripted_endpoint import DIMENSIONS, ScriptedEndpoint, settings_at, vector_of


@pytest.fixture
def endpoint():
    with ScriptedEndpoint(lambda body: 500) as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(adapter.time, "sleep", lambda seconds: None)


@pytest.fixture
def model(endpoint, monkeypatch):
    monkeypatch.setattr(SentenceTransformer, "embedder", Embedder(settings_at(endpoint.base_url)), raising=False)
    return SentenceTransformer("all-MiniLM-L6-v2", device="cpu", trust_remote_code=True)


def test_texts_become_rows_in_their_order(model, endpoint):
    texts, answer = [f"text {n} ☕" for n in range(250)], endpoint.answer

    def shuffled(path, body):  # rows may come in another order
        status, reply = answer(path, body)
        return status, reply | {"data": reply["data"][::-1]}

    endpoint.answer = shuffled
    vectors = model.encode(texts, show_progress_bar=False, convert_to_numpy=True)
    assert vectors.dtype == np.float32 and np.allclose(vectors, [vector_of(text, DIMENSIONS) for text in texts])
    assert [len(body["input"]) for _, body in endpoint.requests] == [100, 100, 50]
    assert {body["model"] for _, body in endpoint.requests} == {"text-embedding-3-small"}


def test_one_text_becomes_one_vector(model, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # which is not used
    assert model.encode("one text").shape == (DIMENSIONS,)
    assert model.encode(["one text"]).shape == (1, DIMENSIONS)
    assert model.encode([]).shape == (0, DIMENSIONS)
    assert model.get_sentence_embedding_dimension() == DIMENSIONS


def test_vectors_are_normalised_when_asked(model, endpoint):
    rows = [[3.0, 4.0] + [0.0] * (DIMENSIONS - 2), [0.0] * DIMENSIONS]
    data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
    endpoint.answer = lambda path, body: (200, {"data": data})
    assert np.linalg.norm(model.encode(["a", "b"])[0]) == pytest.approx(5)
    normalised = model.encode(["a", "b"], normalize_embeddings=True)
    assert np.linalg.norm(normalised[0]) == pytest.approx(1) and not normalised[1].any()


@pytest.mark.parametrize(("status", "tries"), [(500, 3), (429, 3), (400, 1), (404, 1)])
def test_an_error_of_the_endpoint_is_raised_and_counted(model, endpoint, status, tries):
    endpoint.answer = lambda path, body: (status, {"error": {"message": "no"}})
    before = Embedder.failures
    with pytest.raises(EmbeddingsFailed, match=f"text-embedding-3-small.*{status}"):
        model.encode(["a"])
    assert len(endpoint.requests) == tries and Embedder.failures == before + 1


def test_a_passing_error_is_none(model, endpoint):
    answer = endpoint.answer
    endpoint.answer = lambda path, body: answer(path, body) if len(endpoint.requests) == 3 else (503, {})
    assert model.encode(["a"]).shape == (1, DIMENSIONS)


def test_an_endpoint_that_is_not_there_is_one_line():
    with pytest.raises(EmbeddingsFailed, match="text-embedding-3-small.*refused"):
        Embedder(settings_at("http://127.0.0.1:9/v1")).embed(["a"])


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"data": []}, "expected 1 vectors, got 0"),
        ({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}, f"expected vectors of {DIMENSIONS} numbers, got 2"),
        ({"data": [{"index": 0}]}, "holds no embeddings"),
        ({"error": "?"}, "holds no embeddings"),
        (["?"], "holds no embeddings"),
    ],
)
def test_a_reply_that_is_none_is_one_line(model, endpoint, reply, words):
    endpoint.answer = lambda path, body: (200, reply)
    with pytest.raises(EmbeddingsFailed, match=words):
        model.encode(["a"])


def test_the_import_finds_the_stand_in_without_numpy_or_torch():
    code = (
        "import sys; from epbench.memories.systems.adapter import stand_in;"
        "stand_in(dict(base_url='', api_key='', embedding_model='', dimensions=7));"
        "from sentence_transformers import SentenceTransformer as Model;"
        "assert Model('any').get_sentence_embedding_dimension() == 7;"
        "assert not {'numpy', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_defaults_can_be_read_without_the_systems():
    names = ("a_mem", "cognee", "graphiti", "langmem", "mem0", "simplemem", "structmem")
    code = (
        f"import importlib, sys; before = set(sys.modules);"
        f"assert all(importlib.import_module(f'epbench.memories.systems.{{name}}').DEFAULTS for name in {names});"
        "new = {module.partition('.')[0] for module in set(sys.modules) - before};"
        "assert new <= {'epbench'} | sys.stdlib_module_names, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_error_counts_as_swallowed_unless_it_is_raised():
    watch = Watch("some.system", no_json=["Expecting value"], about="reply")
    logger = logging.getLogger("some.system")

    def ask(fails):
        if fails:
            raise ValueError("no answer")
        return "an answer"

    asked = watch.counting_errors_of(ask)
    with watch.watching():
        assert asked(False) == "an answer"
        with contextlib.suppress(ValueError):
            asked(True)
        logger.warning("went on")
        logger.warning("reply: Expecting value")
    assert watch.usage() == {"swallowed": 2, "unparsable": 1}
    with pytest.raises(ValueError, match="no answer"), watch.watching():
        logger.warning("giving up")
        asked(True)
    assert watch.usage() == {"swallowed": 2, "unparsable": 1}
    logger.removeHandler(watch)
