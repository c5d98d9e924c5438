"""SimpleMem's adapter around the real package, with scripted replies."""

import pytest

from tests.memories.systems.conftest import FACTS, turn

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("system", ["simplemem"])]


def test_the_published_settings_are_the_defaults(open_store, endpoint):
    store = open_store()
    store.store_conversation([turn("user", f"Fact number {minute}.", minute) for minute in range(25)])
    asked = [body["messages"][1]["content"] for path, body in endpoint.requests if path.endswith("completions")]
    assert [prompt.count("] User: Fact number") for prompt in asked] == [20, 5]
    assert "[2024-03-01T10:03:00] User: Fact number 3." in asked[0]
    assert "stream" not in endpoint.requests[0][1]
    endpoint.requests.clear()
    store.retrieve_memories("Which facts?", [], 2)
    tasks = [body["messages"][0]["content"] for path, body in endpoint.requests if path.endswith("completions")]
    assert sum("completeness evaluator" in task for task in tasks) == 2  # rounds of reflection
    assert len(tasks) == 6  # and two for the plan, two for what is missing


def test_settings_reach_the_system(open_store, endpoint):
    store = open_store(window_size=2, enable_planning=False)
    store.store_conversation([turn("user", text, minute) for minute, text in enumerate(FACTS)])
    assert len([path for path, _ in endpoint.requests if path.endswith("completions")]) == 2
    endpoint.requests.clear()
    assert store.retrieve_memories("Who keeps bees behind the barn?", [], 1) == [FACTS[1]]
    assert [path for path, _ in endpoint.requests] == ["/v1/embeddings"]
