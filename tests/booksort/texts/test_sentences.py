import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.booksort.texts.cleaning import sentence_starts


def sentences(*paragraphs):
    words = " ".join(paragraphs).split()
    starts = sentence_starts(paragraphs)
    return [" ".join(words[a:b]) for a, b in zip(starts, [*starts[1:], len(words)], strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "He came. | She went! | Why? | Nobody knew… | And so on.",
        "Mr. Carmody and Mrs. Ackroyd met Dr. Sheppard, Prof. Bergson and M. Poirot in St. Florian’s. | Then they left.",
        "“Mr. Bywater is out,” said Chas. Bywater. | (Mr. Twist was in.) | ‘Mrs. Antrim too.’ | He left.",
        "He read i.e. Latin, e.g. Virgil, viz. the poet, on p. 25 and in vol. II. | He slept.",
        "At 9 a.m. Saturday J. B. S. Haldane and J.R. Smith paid 3.14 pounds for No. 7. | All was well.",
        "“No. | I want to think.” | He thought.",
        "He said: “No. | Never.” | It was 1926. | The year ended.",
        "“Is that you, James?” she called. | “It is I.” | He came in.",
        "“What?” Miss Russell asked. | “Why?” I asked again. | “Really?” | Poirot turned pale.",
        "“Go!” he said. | “Stop!” cried Frank. | “Oh!” Frank Hardy exclaimed.",
        "It rained; it snowed; she stayed. | It stopped.",
        "He had gone. . . . | She waited . . . for him. | So.",
        "2. The law is this. | It holds.",
        "He lived. | (She did.) | [“So did they.”] | They left.",
        "It was 16. | Then (it ended). | Good.",
        "—Yes. | —No. | “—Perhaps.”",
    ],
)
def test_sentences(text):
    expected = text.split(" | ")
    assert sentences(" ".join(expected)) == expected


def test_a_paragraph_begins_a_sentence_unless_it_goes_on_in_lower_case():
    assert sentence_starts(["It ran as follows—", "Dear Sir,", "With pain", "and grief. I go."]) == [0, 4, 6, 10]
    assert sentence_starts(["* * *", "Yes"]) == [3]
    assert sentence_starts([]) == []


@given(st.lists(st.text(alphabet="abIVX.?!…;,’“”1 ", max_size=80), max_size=5))
def test_starts_ascend_and_each_follows_an_end_or_a_paragraph(paragraphs):
    words = [word for paragraph in paragraphs for word in paragraph.split()]
    edges = {sum(len(p.split()) for p in paragraphs[:i]) for i in range(len(paragraphs))}
    starts = sentence_starts(paragraphs)
    assert starts == sorted(set(starts))
    for start in starts:
        assert any(map(str.isalnum, words[start]))
        assert not words[start].lstrip("“.?!…")[:1].islower()
        before = start - 1
        while (
            before >= 0
            and before + 1 not in edges
            and not any(map(str.isalnum, words[before]))
            and not set(words[before]) & set(".?!…")
        ):
            before -= 1
        assert before + 1 in edges or set(words[before]) & set(".?!…")
