import pytest

from epbench.memories.load import load_memory
from epbench.progress import no_progress
from epbench.tulving.context.requests import Reading, requests_for
from epbench.tulving.context.retrieved import (
    PASSAGES,
    chunks_of,
    gold_texts,
    note_passages,
    read_passages,
    remember,
    stand_in,
)
from epbench.tulving.dataset.load import Book, Loaded
from tests.tulving.question_rows import asked

CHAPTERS = [
    (1, "Rain fell on the quay.\n\nAda Moss met Bo Lind."),
    (2, "Nothing at all happened.\n\nCy Dunn came by.\n\nHe left."),
    (13, "A quiet day. Chapter 2 was on the desk."),
]
SHOWN = Book("\n\n\n".join(f"Chapter {n}\n\n{text}" for n, text in CHAPTERS), CHAPTERS, "A book")
VIEWS = [asked("a", "Who met Bo Lind?", 1), asked("b", "Where did Cy Dunn come by?", 2)]


@pytest.mark.parametrize("memory", ["rag-paragraph", "rag-chapter"])
@pytest.mark.parametrize("keep_order", [True, False])
def test_the_passages_are_those_in_the_prompt_in_their_order(tmp_path, memory, keep_order):
    requests = list(requests_for(memory, SHOWN, VIEWS, top_k=3, keep_order=keep_order, repeats=2))
    note_passages(tmp_path, requests)
    found = read_passages(tmp_path, CHAPTERS)
    assert found.keys() == {"a", "b"}
    for request in requests:
        places = [request.context.index(text) for text in found[request.id]]
        assert len(places) == 3 and places == sorted(places)
        assert all(text in chunks_of(SHOWN, memory) for text in found[request.id])


def test_passages_are_noted_once_and_read_without_the_book_as_nothing(tmp_path):
    requests = list(requests_for("rag-paragraph", SHOWN, VIEWS, top_k=2))
    note_passages(tmp_path, requests)
    content = (tmp_path / PASSAGES).read_bytes()
    note_passages(tmp_path, requests)
    assert (tmp_path / PASSAGES).read_bytes() == content and content.count(b"\n") == 2
    assert read_passages(tmp_path, []) == {}
    assert read_passages(tmp_path / "other", CHAPTERS) == {}


BOOK = Book("", ((1, "Zoe sang at High Line."), (2, "Noa danced."), (4, "Zoe spoke at the Met.")), "Zoe")
QUESTIONS = [
    asked("a", "What did Zoe do?", 2, [4, 1]),
    asked("b", "What did Bo do?", 0),
    asked("c", "What did Zoe do?", 1, [4]),
]
DATA = Loaded("zoe", QUESTIONS, BOOK, "rows", "chapters")


def test_the_gold_texts_are_the_matching_chapters_as_they_are_stored():
    chapters = chunks_of(BOOK, "rag-chapter")
    gold = gold_texts(BOOK, QUESTIONS)
    assert gold == {"What did Zoe do?": [chapters[0], chapters[2]], "What did Bo do?": []}
    assert chapters[2] == "Chapter 4\n\nZoe spoke at the Met."


@pytest.mark.parametrize("name", ["oracle", "verbatim-bm25", "verbatim-dense", "full-context"])
def test_a_built_in_system_remembers_a_book(tmp_path, name):
    system = load_memory(name, gold_texts(BOOK, QUESTIONS))
    remembered = remember(tmp_path, system, BOOK, QUESTIONS, 1, no_progress)
    chapters = chunks_of(BOOK, "rag-chapter")
    assert not remembered.failures and not remembered.warnings
    expected = {"oracle": [chapters[0], chapters[2]], "full-context": chapters}
    assert remembered.found["a"] == expected.get(name, remembered.found["a"][:1])
    assert all("Zoe" in memory for memory in remembered.found["a"]) or name == "full-context"
    reading = Reading(memory=name, top_k=1, repeats=2)
    requests, _ = reading.requests_of_system(tmp_path, system, DATA, QUESTIONS, no_progress)
    assert [request.id for request in requests] == ["a", "a", "b", "b", "c", "c"]
    assert stand_in(system) == ("in-context" if name == "full-context" else "rag-chapter")
