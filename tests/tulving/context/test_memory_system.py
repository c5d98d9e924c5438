import pytest

from epbench.memories.load import load_memory
from epbench.progress import no_progress
from epbench.tulving.context.requests import Reading
from epbench.tulving.context.retrieved import chunks_of, gold_texts, remember, stand_in
from epbench.tulving.dataset.load import Book, Loaded
from tests.tulving.context.rows import asked

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
