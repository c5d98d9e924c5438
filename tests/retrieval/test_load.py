import pytest

from epbench import BadInput
from epbench.retrieval.load import Bm25, load_retriever

CHUNKS = ["the red cat sat at the park", "the blue dog ran on the hill", "the green bird sang in the park"]


@pytest.mark.parametrize("name", ["", "bm26", "st:", "openai:", "bm25:x"])
def test_an_unknown_retriever_is_refused_with_the_names(name, tmp_path):
    with pytest.raises(BadInput, match="bm25, st, st:PATH_OR_ID, openai:NAME"):
        load_retriever(name, cache=tmp_path)


def test_bm25_is_as_before(tmp_path):
    searcher = load_retriever("bm25", cache=tmp_path)(CHUNKS)
    assert isinstance(searcher, Bm25) and list(searcher.search(["blue dog"], 1)) == [[1]]
    assert not list(tmp_path.iterdir())


def test_st_alone_is_the_published_model(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadInput, match="hf download BAAI/bge-large-en-v1.5"):
        load_retriever("st", cache=tmp_path)


def test_a_chunk_finds_itself_first_with_a_real_model(tiny_model, tmp_path):
    for _ in range(2):  # embedded, then from the cache
        searcher = load_retriever(f"st:{tiny_model}", cache=tmp_path)(CHUNKS)
        found = list(searcher.search(CHUNKS, 3))
        assert [places[0] for places in found] == [0, 1, 2] and all(sorted(places) == [0, 1, 2] for places in found)


def test_an_endpoint_is_asked_once_for_each_text(endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path))
    endpoint.failures = [429, 500]
    found = list(load_retriever("openai:m", base_url=endpoint.url)(CHUNKS).search([CHUNKS[2], "who?"], 2))
    assert found[0][0] == 2 and endpoint.embedded == [CHUNKS, [CHUNKS[2], "who?"]]
    again = load_retriever("openai:m", base_url=endpoint.url)([*CHUNKS, "new"])
    list(again.search([CHUNKS[2], "who?"], 2))
    assert endpoint.embedded[2:] == [["new"]]
    assert len(list(tmp_path.glob("*.vectors"))) == 1
