"""The baselines: what they return, and that BM25 over the stored texts is that of its formula and of other code."""

import json
import math
import re
from collections import Counter

import pytest

from epbench.memfail.dataset.load import facts_to_store, questions_of
from epbench.memories.load import BASELINES, load_memory
from tests.memfail.memfail_samples import template

TEXTS = ("I drink green tea in the morning.", "Ada plays chess on Sundays.", "My cat sleeps late.", "Ada fears moths.")


def filled(name, folder, texts=TEXTS, gold=None):
    system = load_memory(name, gold or {})
    instance = system.open(folder)
    for text in texts:
        instance.store_conversation([{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}])
    return system, instance


def test_baselines_keep_what_the_user_said_word_for_word(tmp_path):
    for name in BASELINES:
        system, instance = filled(name, tmp_path)
        assert system.baseline and system.may_be_empty == (name == "none")
        assert instance.get_all_memories() == ([] if name == "none" else list(TEXTS))


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


def test_the_oracle_returns_stored_gold_memories_in_order(tmp_path):
    gold = {"who?": [TEXTS[3], "never told", TEXTS[1]], "what?": [TEXTS[0]]}
    system, instance = filled("oracle", tmp_path, gold=gold)
    assert instance.retrieve_memories("who?", [], 1) == [TEXTS[3], TEXTS[1]] and system.beyond_k
    assert instance.retrieve_memories("another question", [], 1) == []


def plain_bm25(texts, queries):
    """Yield for each query the indices of all texts, best first, by the BM25 formula (k1 = 1.5, b = 0.75) in full."""
    documents = [Counter(re.findall("[a-z0-9]+", text.lower())) for text in texts]
    mean = sum(document.total() for document in documents) / len(documents)
    holding = Counter(term for document in documents for term in document)
    for query in queries:
        scores = [0.0] * len(documents)
        for term in dict.fromkeys(re.findall("[a-z0-9]+", query.lower())):  # ties are broken by rounding
            rarity = math.log(1 + (len(documents) - holding[term] + 0.5) / (holding[term] + 0.5))
            for place, document in enumerate(documents):
                if n := document[term]:
                    scores[place] += rarity * n / (n + 1.5 * (0.25 + 0.75 * document.total() / mean))
        yield sorted(range(len(texts)), key=lambda place: -scores[place])


def test_bm25_is_that_of_its_formula(tmp_path):
    facts, questions = template("long_hop", 40)
    texts, queries = [fact.text for fact in facts], [question.text for question in questions]
    _, instance = filled("verbatim-bm25", tmp_path, texts)
    for query, places in zip(queries, plain_bm25(texts, queries), strict=True):
        assert instance.retrieve_memories(query, [], 20) == [texts[place] for place in places[:20]]


def _tasks(rows):
    """Yield each measured task, its stored texts, and for each question the query and the indices of its gold memories."""
    for config, of_config in rows.items():
        facts, questions = facts_to_store(config, of_config), questions_of(config, of_config)
        places = {fact.id: place for place, fact in enumerate(facts)}
        gold = {question.id: [places[memory.fact] for memory in question.gold] for question in questions}
        for name, kind, query in TASKS[config]:
            asked = [(getattr(one, query), gold[one.id]) for one in questions if one.kind == kind]
            yield name, [fact.text for fact in facts], asked


TASKS = {
    "conditional_facts_easy": [("conditional_easy", "", "query")],
    "conditional_facts_hard": [("conditional_hard", "", "query")],
    "coexisting_facts": [("coexisting", "", "query")],
    "persona_retrieval": [
        ("persona_direct", "direct", "query"), ("persona_misleading_entity_essay_retrieved", "misleading", "query"),
    ],
    "long_hop": [("long_hop_stem_query", "", "query"), ("long_hop_full_mcq_query", "", "text")],
}  # fmt: skip
"""By config the name of each measured task, the kind of its questions, and by which of their texts memories are sought."""


def _reached(texts, asked, found, k):
    """Return the share of questions that get all gold memories among k, and the share of gold memories returned."""
    hits = [[texts[place] in back[:k] for place in of] for back, (_, of) in zip(found, asked, strict=True)]
    return [round(sum(map(all, hits)) / len(hits), 3), round(sum(map(sum, hits)) / sum(map(len, hits)), 3)]


def test_bm25_matches_measurements_on_the_published_tables(published, published_rows, tmp_path):
    """The measurements are results of other code."""
    measured = published / "bm25_verbatim_retrieval.json"
    if not measured.is_file():
        pytest.skip("the measurements are not beside the published rows")
    results = {}
    for task, texts, asked in _tasks(published_rows):
        _, instance = filled("verbatim-bm25", tmp_path, texts)
        found = [instance.retrieve_memories(query, [], 20) for query, _ in asked]
        results[task] = {str(k): _reached(texts, asked, found, k) for k in (3, 5, 10, 15, 20)}
    assert results == json.loads(measured.read_text("utf-8"))["results"] and len(results) == 7
