import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput
from epbench.booksort.texts.cleaning import Rules, clean, gutenberg_title

RAW = """The Project Gutenberg eBook of A Tale
Title: A Tale of Sheep
Author: Nobody

*** START OF THE PROJECT GUTENBERG EBOOK A TALE ***

CONTENTS

CHAPTER I
HOW IT BEGAN

He said it was a _very_ old _sheep_.[1] Very old,
said every one; the _Vulgaris_ of the Vale.

[Illustration: A sheep,
with a _[large]_ bell]

* * * * *

II

[1] Of two years.

So _please _wait in the field, where the sheep, which

[Illustration]

were white, stood. I.

[Illustration:

  +---+
  | x ]
  +---+
]

SHE LEFT.

snake_case and ____ stay. 1926

THE END

*** END OF THE PROJECT GUTENBERG EBOOK A TALE ***

Full licence of Project Gutenberg.
"""


def test_general_rules_keep_the_narrative_and_record_what_they_removed():
    kept, removed = clean(RAW, Rules(), "tale.txt")
    assert kept == [
        "He said it was a very old sheep. Very old, said every one; the Vulgaris of the Vale.",
        "So please wait in the field, where the sheep, which were white, stood. I.",
        "snake_case and ____ stay. 1926",
    ]
    assert [item.kind for item in removed] == [
        "licence", "licence", "illustration", "illustration", "illustration", "heading", "heading", "footnote marker",
        "scene break", "heading", "footnote", "heading", "heading",
    ]  # fmt: skip
    assert [item.text for item in removed if item.kind == "heading"] == [
        "CONTENTS", "CHAPTER I HOW IT BEGAN", "II", "SHE LEFT.", "THE END",
    ]  # fmt: skip
    assert "licence" not in " ".join(kept).lower()
    assert gutenberg_title(RAW) == "A Tale of Sheep"


@pytest.mark.parametrize(
    "heading",
    ["CHAPTER I", "Chapter 12", "Chapter One", "Chapter Twenty-one: The Sheep", "Chapter 2\nOf Sheep and the Field", "Chapter II.—The Pen", "Book the First", "PART II", "IV", "IV.", "12",
     "THE GOOSE QUILL", "Epilogue", "WHO’S WHO IN KING’S ABBOT", "The End", "FINIS"],
)  # fmt: skip
def test_headings_are_known_by_general_rules(heading):
    kept, removed = clean(f"One day.\n\n{heading}\n\nAnother day.", Rules(), "x")
    assert kept == ["One day.", "Another day."] and [item.kind for item in removed] == ["heading"]


@pytest.mark.parametrize(
    "text",
    ["Chapter I of his life was over, and he knew it well enough.", "I went.", "“No!”", "Part of it was true.", "Very well.",
     "Act one was over.", "Act now.", "Act one. He came in.", "Chapter two of it bored him.", "Book the tickets.", "“NO!”", "STOP!", "他看见了A。", "Letter follows.", "Contents were burnt.", "Book in hand, he left.", "“IV”, he read, and then he went away."],
)  # fmt: skip
def test_prose_is_not_taken_for_a_heading(text):
    assert clean(f"One day.\n\n{text}\n\nAnother day.", Rules(), "x")[0][1] == text


def test_the_rules_of_a_book_find_its_narrative_headings_and_sub_headings():
    rules = Rules(
        start="BEGIN",
        end="INDEX",
        headings=["BEGIN"],
        sub_headings=["On Sheep."],
        labels=[r"Fig\. \d"],
        page_breaks=True,
    )
    raw = "Preface\n\n  BEGIN\n\nOn Sheep. They graze. It is of\n\nEinstein they think.\n\nFig. 1\n\nTHE SHEEP STAY.\n\nINDEX\n\nSheep, 1"
    kept, removed = clean(raw, rules, "x")
    assert kept == ["They graze. It is of Einstein they think.", "THE SHEEP STAY."]
    assert [item.kind for item in removed] == ["front matter", "back matter", "sub-heading", "heading", "illustration"]


@pytest.mark.parametrize("rules", [Rules(start="BEGIN"), Rules(end="INDEX"), Rules(sub_headings=["On Sheep."])])
def test_a_rule_that_does_not_fit_the_text_is_refused(rules):
    with pytest.raises(BadInput, match=r"x\.txt: expected the (line|sub-heading) '(BEGIN|INDEX|On Sheep\.)'"):
        clean("One day.", rules, "x.txt")


def test_a_text_that_was_never_broken_into_lines_has_a_paragraph_per_line():
    long = "One day she went to the field. " * 10
    assert clean(f"Chapter 1\n{long}\nHe came too.", Rules(), "x")[0] == [long.strip(), "He came too."]


@given(st.lists(st.text(alphabet="abc DEF\n.,;’_[]1*“", max_size=60), max_size=8))
def test_nothing_is_lost_nothing_is_added(blocks):
    """Every word is kept or recorded as removed, except for underscores."""
    raw = "\n\n".join(blocks)
    kept, removed = clean(raw, Rules(), "x")
    out = sorted("".join("".join([*kept, *(item.text for item in removed)]).replace("_", "").split()))
    assert out == sorted("".join(raw.replace("_", "").split()))
