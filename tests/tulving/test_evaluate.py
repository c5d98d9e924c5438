"""The evaluation as a library: what is prepared, what a run gives, and what another judge changes."""

import json
import re

import pytest

from epbench import BadInput
from epbench.memories.between import HEAD
from epbench.models.protocol import Sampling
from epbench.tulving.context.requests import Reading
from epbench.tulving.evaluate import Evaluation, prepare, run
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.reader import LexicalReader
from epbench.tulving.scores.comparison import write_side_by_side

LIMIT = 12


class Other(LexicalJudge):
    """Another judge that finds the same."""

    name = "other"


def evaluation(book, memory="rag-chapter", judge=None, **more):
    reading = Reading(memory=memory, sampling=Sampling(64))
    more = {"reading": reading, "model": LexicalReader(), "limit": LIMIT} | more
    return Evaluation(dataset=str(book), judge=judge or LexicalJudge(), **more)


@pytest.fixture
def done(short_book, tmp_path):
    """The folder of a run, and what it gave."""
    return tmp_path / "run", run(prepare(evaluation(short_book)), tmp_path / "run")


def test_what_is_prepared_is_checked_and_has_its_cost_and_no_folder(short_book, monkeypatch):
    ready = prepare(evaluation(short_book))
    assert len(ready.rows) == len(ready.requests) == LIMIT and ready.label == "rag-chapter, lexical"
    assert ready.is_free and ready.warnings == []
    assert ready.plan[0].startswith(f"{LIMIT} requests over") and ready.plan[-1].endswith("verdicts, no tokens")
    monkeypatch.setattr(LexicalReader, "window", lambda reader: 300)
    with pytest.raises(BadInput, match="a prompt and its answer take up to .* these memories fit: none"):
        prepare(evaluation(short_book, "in-context"))


def test_a_run_gives_its_scores_and_is_shown_again(short_book, done):
    out, first = done
    assert first.scores == json.loads((out / "scores.json").read_text()) and first.scores["n_questions"] == LIMIT
    assert first.notes[-1] == f"report: {out / 'report.html'}"
    again = run(prepare(evaluation(short_book)), out)
    assert (again.scores, again.label, [*again.notes]) == (first.scores, first.label, [*first.notes])
    with pytest.raises(BadInput, match="this run was judged by lexical"):
        run(prepare(evaluation(short_book, judge=Other())), out)


def test_the_warnings_of_a_memory_system_are_told(short_book, tmp_path):
    (tmp_path / "forgets.py").write_text(
        "class Forgets:\n"
        "    def store_conversation(self, conversation): pass\n"
        "    def retrieve_memories(self, query, conversation, k): return ['something']\n"
        "    def get_all_memories(self): return []\n"
    )
    told = []
    reading = Reading(memory=f"{tmp_path / 'forgets.py'}:Forgets", installed={"isolation": "none"})
    run(prepare(evaluation(short_book, reading=reading)), tmp_path / "run", warn=told.append)
    assert any("are not in the list of all memories" in warning for warning in told)


@pytest.mark.slow
def test_unrelated_text_stands_between_the_book_and_the_question(short_book, tmp_path):
    def ready(memory, n):
        return prepare(evaluation(short_book, reading=Reading(memory=memory, between=n, sampling=Sampling(64))))

    plain, later = (ready("in-context", n) for n in (0, 400))
    context, after = later.requests[0].context.split(f"\n\n{HEAD}\n\n")
    assert context == plain.requests[0].context and 380 < len(after.split()) <= 400
    answers = {item for row in later.data.rows for item in row["answer"] if len(item) < 200}
    assert answers and not any(re.search(rf"\b{re.escape(item)}\b", after, re.IGNORECASE) for item in answers)
    assert len({request.context for request in later.requests}) == 1 and later.label.endswith(", after 400 tokens")
    folders = [tmp_path / name for name in ("plain", "later", "full", "bm25")]
    systems = ready("full-context", 400), ready("verbatim-bm25", 400)
    for folder, one in zip(folders, (plain, later, *systems), strict=True):
        run(one, folder)
    identities = [json.loads((folder / "run.json").read_text())["identity"] for folder in folders]
    assert [identity.get("between") for identity in identities] == [None, 400, 400, 400]
    kept = json.loads((folders[2] / "memories.json").read_text())[""]
    assert " ".join(kept[len(later.data.book.chapters) :]) == after
    write_side_by_side(folders, tmp_path / "beside")
    assert "simple recall, tokens between" in (tmp_path / "beside/table.md").read_text()
    with pytest.raises(BadInput, match="expected --memory in-context or a memory system, got rag-chapter"):
        Reading(memory="rag-chapter", between=400)
