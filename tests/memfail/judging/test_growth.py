"""Work grows with the rows of a store, not with their square: texts that are read are counted, not seconds."""

import pytest

from epbench.memfail.context.requests import ConfigRun, LexicalReader, Setting, load_prompts
from epbench.memfail.dataset.load import QuestionRecord
from epbench.memfail.evaluate import in_advance
from epbench.memfail.judging import lexical, memories
from epbench.memfail.judging.diagnosis import diagnose, leave_one_out
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.load import load_judge
from epbench.memfail.judging.memories import Memories
from epbench.memfail.scores import run_files
from epbench.memfail.scores.run_files import question_rows
from epbench.memories.load import load_memory
from epbench.models.load import Options
from epbench.progress import no_progress
from tests.memfail.memfail_samples import template


def judged(folder, config, n):
    """Every stage, every fact left out, and the way of every fact, where all facts are stored and the needed ones found."""
    facts, questions = template(config, n)
    found = [QuestionRecord(one, 5, "", tuple(gold.text for gold in one.gold), "Answer: A") for one in questions]
    stores = {"": [fact.text for fact in facts]}
    folder.mkdir()
    outcomes = diagnose(folder, found, stores, LexicalJudge(), no_progress)
    left_out = leave_one_out(folder, found, {"": facts}, LexicalJudge(), no_progress)
    return outcomes, left_out, question_rows(outcomes, found, stores, "made")


@pytest.mark.slow
@pytest.mark.parametrize("config", ["long_hop", "coexisting_facts"])
def test_four_times_the_rows_read_about_four_times_the_texts(tmp_path, monkeypatch, config):
    n_read = 0

    def counting(text, read=lexical.content_of):
        nonlocal n_read
        n_read += 1
        return read(text)

    for module in (lexical, memories, run_files):
        monkeypatch.setattr(module, "content_of", counting)
    counts = []
    for n in (30, 120):
        n_read = 0
        judged(tmp_path / f"{n}", config, n)
        counts.append(n_read)
    assert counts[1] < 6 * counts[0]


@pytest.mark.parametrize("config", ["conditional_facts_hard", "coexisting_facts", "persona_retrieval", "long_hop"])
def test_an_index_changes_no_verdict_and_no_nearest_memory(tmp_path, monkeypatch, config):
    indexed = judged(tmp_path / "indexed", config, 20)
    monkeypatch.setattr(Memories, "candidates", lambda self, groups, share: self)
    assert judged(tmp_path / "scanned", config, 20) == indexed


def test_all_checks_of_a_store_share_one_text_of_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    facts, questions = template("long_hop", 20)
    system, reader = load_memory("verbatim-bm25"), LexicalReader()
    _, checks = in_advance(ConfigRun(facts, questions, system, reader, load_prompts(), Setting(ks=(5,))))
    requests = load_judge("openai:x", Options()).requests(checks)
    of_store = [request.context for request in requests if all(fact.text in request.context for fact in facts)]
    assert len(of_store) == 2 * len(facts) and len(set(map(id, of_store))) == 1
