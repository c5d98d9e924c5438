import json

import pytest

from epbench import BadInput
from epbench.tulving.context.requests import load_prompts, requests_for
from epbench.tulving.dataset.load import Book
from epbench.tulving.reader.lexical import NOTHING, LexicalReader
from tests.tulving.context.rows import asked

PACK = {
    "system": "", "book": "<\n{book}\n>", "passages": "[{passages}]", "passage": "'{passage}'", "nothing": "",
    "question": "## Question:\n\n{question}\n\nPlease answer, {{and}} do not invent anything that is not stated.",
}  # fmt: skip
TEXT = "On May 07, 2024 it rained at High Line."
BOOK = Book(f"Chapter 1\n\n{TEXT}", [(1, TEXT)], "Rain")


def write(tmp_path, pack, name="pack.json"):
    (tmp_path / name).write_text(json.dumps(pack))
    return tmp_path / name


def test_our_pack_is_valid():
    prompts = load_prompts()
    assert prompts.book.count("{book}") == 1 and not prompts.question.startswith("\n")


def test_another_pack_shapes_the_requests_and_the_reader_understands_it(tmp_path):
    prompts = load_prompts(write(tmp_path, PACK))
    request = next(
        iter(
            requests_for(
                "rag-chapter", BOOK, [asked("1", "On which dates did it rain at High Line?", 1)], prompts=prompts
            )
        )
    )
    assert request.context == "['Chapter 1\n\nOn May 07, 2024 it rained at High Line.']"
    assert "{and}" in request.question and request.system == ""
    whole = next(
        iter(
            requests_for(
                "in-context", BOOK, [asked("1", "On which dates did it rain at High Line?", 1)], prompts=prompts
            )
        )
    )
    assert "May 07, 2024" in next(iter(LexicalReader().answer([whole]))).text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"book": "no place"}, "key 'book': expected the placeholders {book}, each once, found none"),
        ({"book": "{book}{book}"}, "{book}, each once, found {book}, {book}"),
        ({"system": "{book}"}, "key 'system': expected no placeholders, found {book}"),
        ({"system": "{title}"}, "key 'system': expected no placeholders, found {title}"),
        ({"nothing": "{book}, {title}"}, "key 'nothing': expected no placeholders but {title}, found {book}, {title}"),
        ({"nothing": "{title:9}"}, "expected {title} without a format, found {title:9}"),
        ({"question": "{question} {"}, "key 'question'"),
        ({"question": "{question:>99999999}"}, "expected {question} without a format, found {question:>99999999}"),
        ({"question": "{question!r}"}, "expected {question} without a format, found {question!r}"),
        ({"question": "{question.__class__}"}, "found {question.__class__}"),
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
    (own,) = requests_for("none", BOOK, [asked("1", "Who?", 1)])
    assert '"Rain"' in own.context and TEXT not in own.user


@pytest.mark.parametrize("title", [f"Chapter 1\n\n{TEXT}", f"Chapter 1, Paragraph 1\r\n{TEXT}", TEXT, "Chapter 1"])
def test_a_title_that_tells_the_answer_does_not_help_the_rules(tmp_path, title):
    rows = [asked("1", "On which dates did it rain at High Line?", 1)]
    for prompts in (load_prompts(), load_prompts(write(tmp_path, PACK | {"nothing": "{title}"}))):
        (request,) = requests_for("none", Book("", [], title), rows, prompts=prompts)
        assert next(iter(LexicalReader().answer([request]))).text == NOTHING


def test_a_missing_key_or_file_is_named(tmp_path):
    with pytest.raises(BadInput, match="the key 'nothing' is missing"):
        load_prompts(write(tmp_path, {k: v for k, v in PACK.items() if k != "nothing"}))
    with pytest.raises(BadInput, match="no such file"):
        load_prompts(tmp_path / "absent.toml")
    with pytest.raises(BadInput, match="not TOML"):
        load_prompts(write(tmp_path, PACK, "pack.toml"))
    with pytest.raises(BadInput, match="expected an object with the prompts, found a list"):
        load_prompts(write(tmp_path, []))


def test_repeats_are_requests_of_their_own():
    requests = list(requests_for("none", BOOK, [asked("1", "Who?", 1)], repeats=3))
    assert [r.repeat for r in requests] == [0, 1, 2]
    assert len({r.key("m") for r in requests}) == 3
