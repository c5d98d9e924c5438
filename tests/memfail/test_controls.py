"""The controls: what comes back, and that plain BM25 over what was told reaches what was measured independently."""

import csv
import json

import pytest

from epbench import BadInput
from epbench.memories.controls import CONTROLS, choose_system

TEXTS = ("I drink green tea in the morning.", "Ada plays chess on Sundays.", "My cat sleeps late.", "Ada fears moths.")


def filled(name, folder, texts=TEXTS, gold=None):
    system = choose_system(name, gold or {})
    instance = system.open(folder)
    for text in texts:
        instance.store_conversation([{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}])
    return system, instance


def test_controls_keep_what_the_user_said_word_for_word(tmp_path):
    for name in CONTROLS:
        system, instance = filled(name, tmp_path)
        assert system.control
        assert instance.get_all_memories() == ([] if name == "none" else list(TEXTS))
        assert system.may_be_empty == (name == "none")


def test_none_finds_nothing_and_full_context_everything(tmp_path):
    assert filled("none", tmp_path)[1].retrieve_memories("tea", [], 3) == []
    system, instance = filled("full-context", tmp_path)
    assert instance.retrieve_memories("tea", [], 1) == list(TEXTS) and system.beyond_k


@pytest.mark.parametrize("name", ["verbatim-bm25", "verbatim-dense"])
def test_search_finds_the_k_best_and_ties_keep_the_order_of_storing(tmp_path, name):
    system, instance = filled(name, tmp_path)
    assert not system.beyond_k
    assert instance.retrieve_memories("Does Ada play chess?", [], 1) == [TEXTS[1]]
    assert len(instance.retrieve_memories("Does Ada play chess?", [], 9)) == 4
    assert filled(name, tmp_path, ())[1].retrieve_memories("tea", [], 2) == []
    assert filled(name, tmp_path, ("one two",) * 3)[1].retrieve_memories("three", [], 2) == ["one two"] * 2
    assert filled(name, tmp_path, ("one",))[1].retrieve_memories("one", [], 2) == ["one"]
    instance.store_conversation([{"role": "user", "content": "Bo plays chess, and Ada does, and they play chess."}])
    assert len(instance.get_all_memories()) == len(instance.retrieve_memories("chess", [], 9)) == 5


def test_the_oracle_gives_what_is_needed_in_order_and_only_what_was_told(tmp_path):
    gold = {"who?": [TEXTS[3], "never told", TEXTS[1]], "what?": [TEXTS[0]]}
    system, instance = filled("oracle", tmp_path, gold=gold)
    assert instance.retrieve_memories("who?", [], 1) == [TEXTS[3], TEXTS[1]] and system.beyond_k
    assert instance.retrieve_memories("another question", [], 1) == []


def test_a_model_that_is_not_there_is_named(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(BadInput, match="no model here"):
        choose_system(f"verbatim-dense:{tmp_path / 'nothing'}", {})


@pytest.fixture(scope="module")
def published():
    """The folder of the published tables, or a skip with the reason."""
    from tests.conftest import SHARED

    folder = SHARED / "memfail"
    if not folder.exists():
        pytest.skip("the published MemFail tables do not lie beside this checkout")
    return folder


def _rows(folder, config):
    (path,) = (folder / config).glob("*.csv")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _tasks(folder):
    """For each measured task the stored texts, and for each question its query and the places of what it needs."""
    for level in ("easy", "hard"):
        rows = _rows(folder, f"conditional_facts_{level}")
        texts = [json.loads(row["entity_facts"])[0] for row in rows]
        yield f"conditional_{level}", texts, [(row["question"], [i]) for i, row in enumerate(rows)]
    rows = _rows(folder, "persona_retrieval")
    texts = [json.loads(row["entity_facts"])[0] for row in rows]
    asked = [(q, i) for i, row in enumerate(rows) for q in json.loads(row["questions"])]
    yield "persona_direct", texts, [(q["text"], [i]) for q, i in asked if not q["is_misleading"]]
    misleading = [(q["text"], [i]) for q, i in asked if q["is_misleading"]]
    yield "persona_misleading_entity_essay_retrieved", texts, misleading
    texts, asked = [], []
    for row in _rows(folder, "coexisting_facts"):
        facts = json.loads(row["preference_facts"])
        asked.append((row["question"], list(range(len(texts), len(texts) + len(facts)))))
        texts += facts
    yield "coexisting", texts, asked
    texts, stems, whole = [], [], []
    for row in _rows(folder, "long_hop"):
        facts = [row[f"fact_{i}"] for i in range(1, 5) if row[f"fact_{i}"]]
        places = list(range(len(texts), len(texts) + len(facts)))
        stems.append((row["graded_question"].split("\n\nOptions:")[0], places))
        whole.append((row["graded_question"], places))
        texts += facts
    yield "long_hop_stem_query", texts, stems
    yield "long_hop_full_mcq_query", texts, whole


def test_bm25_reaches_what_was_measured_on_the_published_tables(published, tmp_path):
    measured = json.loads((published / "bm25_verbatim_retrieval.json").read_text())["results"]
    seen = []
    for task, texts, asked in _tasks(published):
        _, instance = filled("verbatim-bm25", tmp_path, texts)
        found = [instance.retrieve_memories(query, [], 20) for query, _ in asked]
        for k, expected in measured[task].items():
            hits = [
                [texts[place] in back[: int(k)] for place in places]
                for back, (_, places) in zip(found, asked, strict=True)
            ]
            whole, units = sum(map(all, hits)) / len(hits), sum(map(sum, hits)) / sum(map(len, hits))
            assert [round(whole, 3), round(units, 3)] == expected, (task, k)
        seen.append(task)
    assert sorted(seen) == sorted(measured)
