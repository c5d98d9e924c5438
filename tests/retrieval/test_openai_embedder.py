import numpy as np
import pytest

from epbench.errors import BadInput, RunFailed
from epbench.retrieval import embedders as endpoint_module
from epbench.retrieval.dense import Dense, VectorCache
from epbench.retrieval.embedders import EndpointEmbedder
from tests.retrieval.counting_embedder import vector


def test_the_endpoint_answers_after_errors_of_every_kind(endpoint):
    endpoint.failures = [429, 500, 503, 429, 502, 500]
    model = EndpointEmbedder("m", endpoint.url)
    found = model.embed(["a", "b"], query=False)
    assert found.dtype == np.float32 and endpoint.embedded == [["a", "b"]] and not endpoint.failures
    np.testing.assert_array_equal(found, [vector("a"), vector("b")])


def test_an_endpoint_that_never_answers_or_is_not_there_fails_the_run(endpoint, monkeypatch):
    monkeypatch.setattr(endpoint_module, "_RETRIES", 1)
    endpoint.failures = [429] * 2
    with pytest.raises(RunFailed, match="HTTP 429: .*on purpose"):
        EndpointEmbedder("m", endpoint.url).embed(["a"], query=False)
    assert not endpoint.failures
    with pytest.raises(RunFailed, match="openai:m@http://127.0.0.1:9/v1: Connection error"):
        EndpointEmbedder("m", "http://127.0.0.1:9/v1").embed(["a"], query=False)


def test_vectors_are_put_in_the_order_of_the_texts(endpoint):
    endpoint.reverse = True
    texts = [str(i) for i in range(5000)]
    found = EndpointEmbedder("m", endpoint.url).embed(texts, query=False)
    np.testing.assert_array_equal(found, [vector(text) for text in texts])
    assert [len(texts) for texts in endpoint.embedded] == [2048, 2048, 904]


def test_requests_keep_to_the_budget_and_are_halved_where_the_endpoint_takes_less(endpoint):
    model = EndpointEmbedder("m", endpoint.url)
    texts = [str(i) * 900 for i in range(10)] * 100
    model.embed(texts, query=False)
    assert [len(texts) for texts in endpoint.embedded] == [666, 334]
    endpoint.most_texts = 32
    found = model.embed(texts[:100], query=False)
    assert [len(texts) for texts in endpoint.embedded[2:]] == [25, 25, 25, 25]
    np.testing.assert_array_equal(found, [vector(text) for text in texts[:100]])


def test_what_the_endpoint_refuses_is_the_users_to_mend(endpoint):
    with pytest.raises(BadInput, match="HTTP 400: .*maximum context length.* 10001 characters and begins 'xxx"):
        EndpointEmbedder("m", endpoint.url).embed(["a", "x" * 10_001, "b"], query=False)
    with pytest.raises(BadInput, match="HTTP 404: .*no other"):
        EndpointEmbedder("other", endpoint.url).embed(["a"], query=False)
    endpoint.failures, before = [307], len(endpoint.calls)
    with pytest.raises(BadInput, match=f"HTTP 307: .*redirects to {endpoint.url}/elsewhere, which is not followed"):
        EndpointEmbedder("m", endpoint.url).embed(["a"], query=False)
    assert len(endpoint.calls) == before + 1


def test_a_wrong_number_of_vectors_is_refused(endpoint, monkeypatch):
    whole = endpoint.completion
    monkeypatch.setattr(endpoint, "completion", lambda body: whole(body) | {"data": whole(body)["data"][1:]})
    with pytest.raises(RunFailed, match="expected 3 vectors, numbered from 0, got 2"):
        EndpointEmbedder("m", endpoint.url).embed(["a", "b", "c"], query=False)


def test_an_endpoint_of_a_bge_model_gets_the_instruction_with_queries(endpoint):
    model = EndpointEmbedder("BAAI/bge-small-en-v1.5", endpoint.url)
    model.embed(["a"], query=True)
    model.embed(["a"], query=False)
    EndpointEmbedder("m", endpoint.url).embed(["a"], query=True)
    assert endpoint.embedded == [["Represent this sentence for searching relevant passages: a"], ["a"], ["a"]]


def test_the_key_is_the_environments(endpoint, monkeypatch):
    with pytest.raises(BadInput, match="set OPENAI_API_KEY"):
        EndpointEmbedder("m")
    EndpointEmbedder("m", endpoint.url).embed(["a"], query=False)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    model = EndpointEmbedder("m")
    model.embed(["a"], query=False)
    assert [call.headers["authorization"] for call in endpoint.calls] == ["Bearer none", "Bearer secret"]
    assert model.name == f"openai:m@{endpoint.url}"


def test_a_query_is_sent_and_neither_it_nor_a_login_is_in_the_name_or_an_error(endpoint):
    url = endpoint.url.replace("//", "//me:aSecretWord@") + "?api_key=anotherSecret"
    model = EndpointEmbedder("m", url)
    model.embed(["a"], query=False)
    assert endpoint.calls[0].query == "api_key=anotherSecret" and model.name == f"openai:m@{endpoint.url}"
    with pytest.raises(BadInput, match=r"no \*\*\* at") as error:
        EndpointEmbedder("anotherSecret", url).embed(["a"], query=False)
    assert "aSecretWord" not in str(error.value)


def test_half_a_surrogate_pair_is_replaced(endpoint, tmp_path):
    model = EndpointEmbedder("m", endpoint.url)
    index = Dense(["a\ud83d", "b"], model, VectorCache(tmp_path, model.name))
    assert list(index.search(["a\ufffd"], 1)) == [[0]]
    assert endpoint.embedded[0] == ["a\ufffd", "b"]
