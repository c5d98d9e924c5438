import pytest

from epbench import BadInput
from epbench.memories.load import load_memory
from epbench.retrieval.load import Bm25, load_retriever
from tests.scripts.in_process import ran
from tests.scripts.run_files import scores_of

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


@pytest.mark.slow
def test_a_run_searches_by_embeddings_and_finds_them_again(short_book, tiny_model, tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "vectors"))
    how, found = f"--memory rag-paragraph --retriever st:{tiny_model} --limit 30", []
    for out in (tmp_path / "a", tmp_path / "b"):
        ran(f"eval_scripts/tulving.py --dataset {short_book} {how} --out", out)
        sizes = {path.name: path.stat().st_size for path in (tmp_path / "vectors").rglob("*.vectors")}
        found.append((sizes, scores_of(out)))
    assert found[0] == found[1] and found[0][0] and found[0][1]["n_questions"] == 30


def test_a_store_is_searched_by_the_given_model(tiny_model, tmp_path):
    system = load_memory(f"verbatim-dense:{tiny_model}", {})
    stores = [system.open(tmp_path) for _ in range(2)]
    texts = ("where was the race", "who sings", "the race")
    for store in stores:
        for text in texts:
            store.store_conversation([{"role": "user", "content": text, "timestamp": "2025-01-06T09:00:00"}])
    for text in texts:
        assert [store.retrieve_memories(text, [], 1) for store in stores] == [[text]] * 2
    assert len(stores[0].retrieve_memories("who", [], 5)) == 3 and system.baseline
