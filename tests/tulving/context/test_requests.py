"""A reading: the requests, the memory system, what it retrieved, and the identity of a run, without a script."""

import json

import pytest

from epbench import BadInput, load_book
from epbench.models.protocol import Sampling
from epbench.progress import no_progress
from epbench.tulving.context.requests import (
    MEMORIES,
    PASSAGES,
    Reading,
    load_prompts,
    note_passages,
    passages_of,
    read_passages,
    stand_in,
)
from epbench.tulving.dataset.load import Book, Loaded
from epbench.tulving.reader import NOTHING, LexicalReader
from tests.tulving.question_rows import asked

TEXT = "Chapter 1\n\nred cat\n\nblue dog\n\n\nChapter 2\n\nred fox"
BOOK = Book(TEXT, [(1, "red cat\n\nblue dog"), (2, "red fox")], "Animals")
ASKED = [asked("a", "Where is the red fox?", 2), asked("b", "A blue dog?", 1), asked("c", "Zebra?", 0)]


def made(rows, book=BOOK):
    return Loaded("made", rows, book, "", "")


def requests_for(memory, book, rows, **options):
    return Reading(memory=memory, **options).requests(made(rows, book), rows)


def context(memory, **options):
    return {request.id: request.context for request in requests_for(memory, BOOK, ASKED, **options)}


def test_chunks_tell_their_place():
    assert passages_of(BOOK.chapters, "rag-chapter")[2, 0] == "Chapter 2\n\nred fox"
    assert [*passages_of(BOOK.chapters, "rag-paragraph").values()] == [
        "Chapter 1, Paragraph 1\n\nred cat", "Chapter 1, Paragraph 2\n\nblue dog", "Chapter 2, Paragraph 1\n\nred fox",
    ]  # fmt: skip


def test_the_whole_book_is_one_context_for_all_questions():
    assert len(set(context("in-context").values())) == 1
    assert BOOK.text in context("in-context")["a"]
    assert "cat" not in context("none")["a"] and BOOK.title in context("none")["a"]


def test_the_best_chunks_come_first_or_in_the_order_of_the_book():
    best = context("rag-paragraph", top_k=2)["a"]
    assert best.index("red fox") < best.index("red cat") and "blue dog" not in best
    kept = context("rag-paragraph", top_k=2, keep_order=True)["a"]
    assert kept.index("red cat") < kept.index("red fox")


def test_top_k_is_as_published():
    found = [Reading(memory=memory).identity(made(ASKED))["top_k"] for memory in MEMORIES]
    assert found == [None, 8, 2, None] and Reading(memory="none").identity(made([]))["top_k"] is None
    with pytest.raises(BadInput, match=f"unknown memory 'human'; expected one of: {', '.join(MEMORIES)}$"):
        context("human")


@pytest.fixture(scope="module")
def data(short_book):
    return load_book(str(short_book))


def test_a_part_of_the_questions_gets_as_many_passages_as_the_whole(data):
    reading = Reading(memory="rag-chapter", repeats=2, sampling=Sampling(9, 0.5, 3))
    some = [row for row in data.rows if row["n_chapters"] <= 1][:3]
    requests = reading.requests(data, some)
    assert [(request.id, request.repeat) for request in requests] == [(row["id"], n) for row in some for n in (0, 1)]
    k = reading.identity(data)["top_k"]
    assert k == max(row["n_chapters"] for row in data.rows) > 1
    assert {request.context.count("Chapter ") for request in requests} == {k}


def test_identities_tell_readings_apart(data):
    plain = Reading(memory="rag-chapter")
    others = [
        Reading(memory="none"), Reading(memory="rag-chapter", top_k=2), Reading(memory="rag-chapter", keep_order=True),
        Reading(memory="rag-chapter", repeats=2), Reading(memory="rag-chapter", sampling=Sampling(9)),
    ]  # fmt: skip
    identities = [reading.identity(data) for reading in (plain, *others)]
    assert all(identity not in identities[:place] for place, identity in enumerate(identities))
    assert plain.identity(data) == Reading(memory="rag-chapter", request_timeout=1.0).identity(data)


def recalled(reading, folder, data, rows):
    """The requests with what a memory system remembers, and its warnings."""
    return reading.requests_of_system(folder, reading.system(data), data, rows, no_progress, LexicalReader())


def test_a_budget_of_tokens_keeps_whole_chapters(data, tmp_path):
    row = next(row for row in data.rows if row["n_chapters"] == 2)
    plain, reading = Reading(memory="oracle"), Reading(memory="oracle", memory_tokens=500)
    assert {**plain.identity(data), "memory_tokens": 500} == reading.identity(data)
    shown = []
    for budget in (plain, reading):
        (where := tmp_path / str(budget.memory_tokens)).mkdir()
        ((request,), _) = recalled(budget, where, data, [row])
        shown.append([number for number, text in data.book.chapters if text in request.context])
    assert shown[0] == row["chapters"] and shown[1] == row["chapters"][: len(shown[1])] and len(shown[1]) < 2


@pytest.mark.parametrize(
    ("memory", "options", "message"),
    [
        ("human", {}, "unknown memory 'human'; there are: in-context, rag-paragraph"),
        ("oracle", {"keep_order": True}, "not with a memory system"),
        ("none", {"memory_tokens": 9}, "goes with a memory system"),
        ("oracle", {"memory_tokens": 0}, "at least 1"),
        ("none", {"repeats": 0}, "repeats: expected at least 1, got 0"),
        ("none", {"repeats": 10**12}, "repeats: expected at most 10,000, got 1,000,000"),
        ("rag-chapter", {"top_k": 0}, "top-k: expected at least 1, got 0"),
    ],
)
def test_what_cannot_be_or_does_not_go_together_is_refused(memory, options, message):
    with pytest.raises(BadInput, match=message):
        Reading(memory=memory, **options).system(made(ASKED))
        context(memory, **options)


PACK = {
    "system": "", "book": "<\n{book}\n>", "passages": "[{passages}]", "passage": "'{passage}'", "nothing": "",
    "question": "## Question:\n\n{question}\n\nPlease answer, {{and}} do not invent anything that is not stated.",
}  # fmt: skip
RAIN = "On May 07, 2024 it rained at High Line."
RAINY = Book(f"Chapter 1\n\n{RAIN}", [(1, RAIN)], "Rain")


def write(tmp_path, pack, name="pack.json"):
    (tmp_path / name).write_text(json.dumps(pack))
    return tmp_path / name


def test_another_pack_shapes_the_requests_and_the_reader_understands_it(tmp_path):
    prompts = load_prompts(write(tmp_path, PACK))
    rows = [asked("1", "On which dates did it rain at High Line?", 1)]
    (request,) = requests_for("rag-chapter", RAINY, rows, prompts=prompts)
    assert request.context == "['Chapter 1\n\nOn May 07, 2024 it rained at High Line.']"
    assert "{and}" in request.question and request.system == ""
    (whole,) = requests_for("in-context", RAINY, rows, prompts=prompts)
    assert "May 07, 2024" in next(iter(LexicalReader().answer([whole]))).text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"book": "no place"}, "key 'book': expected the placeholders {book}, each once, found none"),
        ({"system": "{title}"}, "key 'system': expected no placeholders, found {title}"),
        ({"nothing": "{book}, {title}"}, "key 'nothing': expected no placeholders but {title}, found {book}, {title}"),
        ({"question": "{question} {"}, "key 'question'"),
        ({"question": "{question:>99999999}"}, "expected {question} without a format, found {question:>99999999}"),
        ({"question": 3}, "key 'question': expected a text, found a whole number"),
        ({"extra": "x"}, "found the unknown key 'extra', expected only"),
    ],
)
def test_a_bad_pack_is_refused(tmp_path, change, message):
    with pytest.raises(BadInput) as error:
        load_prompts(write(tmp_path, PACK | change))
    assert message in str(error.value)


def nothing_of(tmp_path, nothing, title="Rain"):
    """What stands before a question about a book that is not shown."""
    prompts = load_prompts(write(tmp_path, PACK | {"nothing": nothing}))
    (request,) = requests_for("none", Book("", [], title), [asked("1", "Who?", 1)], prompts=prompts)
    return request.context


def test_a_pack_names_the_book_that_is_not_shown_or_leaves_it_out(tmp_path):
    assert nothing_of(tmp_path, "About {title}: {{sic}}, {title}.") == "About Rain: {sic}, Rain."
    assert nothing_of(tmp_path, "From memory.") == "From memory."
    assert nothing_of(tmp_path, "{title}", "Rain {book} {0}") == "Rain {book} {0}"
    (own,) = requests_for("none", RAINY, [asked("1", "Who?", 1)])
    assert '"Rain"' in own.context and RAIN not in own.user


@pytest.mark.parametrize("title", [f"Chapter 1\n\n{RAIN}", f"Chapter 1, Paragraph 1\r\n{RAIN}"])
def test_a_title_that_tells_the_answer_does_not_help_the_rules(tmp_path, title):
    rows = [asked("1", "On which dates did it rain at High Line?", 1)]
    for prompts in (load_prompts(), load_prompts(write(tmp_path, PACK | {"nothing": "{title}"}))):
        (request,) = requests_for("none", Book("", [], title), rows, prompts=prompts)
        assert next(iter(LexicalReader().answer([request]))).text == NOTHING


def test_a_missing_key_or_file_is_named(tmp_path):
    for file, message in (
        (write(tmp_path, {"system": ""}), "the key 'book' is missing"),
        (tmp_path / "absent.toml", "no such file"),
        (write(tmp_path, PACK, "pack.toml"), "not TOML"),
        (write(tmp_path, [], "list.json"), "expected an object with the prompts, found a list"),
    ):
        with pytest.raises(BadInput, match=message):
            load_prompts(file)


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
    requests = requests_for(memory, SHOWN, VIEWS, top_k=3, keep_order=keep_order, repeats=2)
    note_passages(tmp_path, requests)
    found = read_passages(tmp_path, CHAPTERS)
    assert found.keys() == {"a", "b"}
    for request in requests:
        places = [request.context.index(text) for text in found[request.id]]
        assert len(places) == 3 and places == sorted(places)
        assert set(found[request.id]) <= set(passages_of(CHAPTERS, memory).values())


def test_passages_are_noted_once_and_read_without_the_book_as_nothing(tmp_path):
    requests = requests_for("rag-paragraph", SHOWN, VIEWS, top_k=2)
    note_passages(tmp_path, requests)
    content = (tmp_path / PASSAGES).read_bytes()
    note_passages(tmp_path, requests)
    assert (tmp_path / PASSAGES).read_bytes() == content and content.count(b"\n") == 2
    assert read_passages(tmp_path, []) == {}
    assert read_passages(tmp_path / "other", CHAPTERS) == {}


ZOE = Book("", ((1, "Zoe sang at High Line."), (2, "Noa danced."), (4, "Zoe spoke at the Met.")), "Zoe")
QUESTIONS = [
    asked("a", "What did Zoe do?", 2, [4, 1]),
    asked("b", "What did Bo do?", 0),
    asked("c", "What did Zoe do?", 1, [4]),
]


@pytest.mark.parametrize("name", ["oracle", "verbatim-bm25", "verbatim-dense", "full-context"])
def test_a_built_in_system_remembers_a_book(tmp_path, name):
    reading = Reading(memory=name, top_k=1, repeats=2)
    requests, warnings = recalled(reading, tmp_path, made(QUESTIONS, ZOE), QUESTIONS)
    assert [request.id for request in requests] == ["a", "a", "b", "b", "c", "c"] and not warnings
    shown = [number for number, text in ZOE.chapters if f"Chapter {number}\n\n{text}" in requests[0].context]
    assert shown in {"oracle": [[1, 4]], "full-context": [[1, 2, 4]]}.get(name, [[1], [4]])
    stood_in = "in-context" if name == "full-context" else "rag-chapter"
    assert stand_in(reading.system(made(QUESTIONS, ZOE))) == stood_in
