"""The grammar of the chapters, by a library that knows it."""

import re

import pytest

from tests.tulving.levels.books import EVERY_BOOK, UNIVERSE, book

harper = pytest.importorskip("harper", reason="harper-py is not installed; `make test` installs it")

ALWAYS_RIGHT = ("Did you mean to repeat this word?", "Incorrect indefinite article.")
"""What the library says where it does not err; of style, spelling of names and much else it knows less than our writers."""
AGREEMENT = "The form of the verb must agree"
WORDS = re.compile(r"\w+")
PAST = {
    "hid", "let", "swore", "bit", "put", "set", "shut", "hurt", "read", "cut", "spread", "slid", "bent", "lost", "came",
    "forgave", "shone", "froze", "tore", "last", "leapt", "woke", "hung", "split", "lent", "slit", "struck",
    "flexed", "dug", "matched", "misread", "misheard", "spat",
}  # fmt: skip
"""Past forms that it takes for present ones."""


# The library takes seconds for a book, so that the beginning of one is among the fast tests.
BOOKS = [
    pytest.param(3, UNIVERSE, 5),
    *(pytest.param(*one.values, None, marks=one.marks) for one in EVERY_BOOK),
]


def faults(text):
    linter = harper.Linter()
    for lint in linter.lint(text):
        around = text[max(0, lint.span.start - 30) : lint.span.end + 30]
        if lint.message.startswith(ALWAYS_RIGHT):
            yield lint.message, around
        if lint.message.startswith(AGREEMENT) and not PAST & set(
            WORDS.findall(text[lint.span.start : lint.span.end + 9])
        ):
            yield lint.message, around


@pytest.mark.slow
@pytest.mark.parametrize(("level", "universe", "chapters"), BOOKS)
def test_no_grammatical_fault_is_found(level, universe, chapters):
    text = "\n\n".join(chapter.text for chapter in book(level, "short", universe).chapters[:chapters])
    assert list(faults(text)) == []


@pytest.mark.parametrize(
    "text", ["It was an hat.", "It was a odd hat.", "The the hat fell.", "Nobody saw he bow his head."]
)
def test_the_library_finds_what_it_should(text):
    assert list(faults(text))
