import pytest

from epbench.tulving.context.requests import requests_for
from epbench.tulving.context.retrieved import PASSAGES, chunks_of, note_passages, read_passages
from epbench.tulving.dataset.load import Book
from tests.tulving.context.rows import asked

CHAPTERS = [
    (1, "Rain fell on the quay.\n\nAda Moss met Bo Lind."),
    (2, "Nothing at all happened.\n\nCy Dunn came by.\n\nHe left."),
    (13, "A quiet day. Chapter 2 was on the desk."),
]
BOOK = Book("\n\n\n".join(f"Chapter {n}\n\n{text}" for n, text in CHAPTERS), CHAPTERS, "A book")
VIEWS = [asked("a", "Who met Bo Lind?", 1), asked("b", "Where did Cy Dunn come by?", 2)]


@pytest.mark.parametrize("memory", ["rag-paragraph", "rag-chapter"])
@pytest.mark.parametrize("keep_order", [True, False])
def test_the_passages_are_those_in_the_prompt_in_their_order(tmp_path, memory, keep_order):
    requests = list(requests_for(memory, BOOK, VIEWS, top_k=3, keep_order=keep_order, repeats=2))
    note_passages(tmp_path, requests)
    found = read_passages(tmp_path, CHAPTERS)
    assert found.keys() == {"a", "b"}
    for request in requests:
        places = [request.context.index(text) for text in found[request.id]]
        assert len(places) == 3 and places == sorted(places)
        assert all(text in chunks_of(BOOK, memory) for text in found[request.id])


def test_passages_are_noted_once_and_read_without_the_book_as_nothing(tmp_path):
    requests = list(requests_for("rag-paragraph", BOOK, VIEWS, top_k=2))
    note_passages(tmp_path, requests)
    content = (tmp_path / PASSAGES).read_bytes()
    note_passages(tmp_path, requests)
    assert (tmp_path / PASSAGES).read_bytes() == content and content.count(b"\n") == 2
    assert read_passages(tmp_path, []) == {}
    assert read_passages(tmp_path / "other", CHAPTERS) == {}
