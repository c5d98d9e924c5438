"""The baseline `verbatim-dense:PATH` with a real sentence-transformers model."""

from epbench.memories.load import load_memory


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
