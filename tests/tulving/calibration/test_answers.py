"""What calibration answers name is found again from their texts alone, by other means than those that made them."""

import re
from calendar import month_name
from collections import Counter
from datetime import datetime
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.tulving.calibration.answers import KINDS, TRAPS, fingerprint_of_set, make_calibration_set, paraphrases
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.universe import load_universe, secondary_names
from epbench.tulving.events.universe_files import read_universe_files
from epbench.tulving.questions.generate import bin_of
from epbench.tulving.questions.templates import TEMPLATES
from tests.tulving.biased_judges import n_false

UNIVERSES = ("default", "news", "scifi")
WORLDS = [load_universe(name) for name in UNIVERSES]
DATE = re.compile(rf"(?:{'|'.join(month_name[1:])}) \d\d, \d{{4}}")
LISTED = {sort: {name for of in WORLDS for name in getattr(of, sort)} for sort in ("spaces", "entities", "contents")}
LISTED["other_entities"] = set(islice(secondary_names(), 400))
ITEMS = {"times": DATE} | {
    sort: re.compile(rf"\b(?:{'|'.join(sorted(names, key=len, reverse=True))})\b") for sort, names in LISTED.items()
}
NOTHING_TRUE = {"abstention", "invented"}
SPELT_AS_IN_THE_BOOK = [
    "exact", "one missing", "one wrong", "superset", "reversed", "repeated", "nonsense", "invented", "guess",
    "instruction", "missed", "abstention",
]  # fmt: skip


class Nobody:
    name, prompt_hash, setup = "nobody", "0", ""


def named(made):
    """Items of the asked sort in the answer's text, in its order; what the question gives does not count."""
    found = ITEMS[made.judge_input.trace].findall(made.judge_input.answer)
    return [item for item in found if item not in made.judge_input.question]


@pytest.fixture(scope="module")
def many():
    return make_calibration_set(40, seed=3)


def test_there_are_as_many_of_each_kind_as_asked_for_and_a_greater_number_keeps_them(many):
    assert Counter(made.kind for made in many) == dict.fromkeys(KINDS, 40)
    few = make_calibration_set(20, seed=3)
    assert {m.judge_input.id: m for m in few}.items() <= {m.judge_input.id: m for m in many}.items()
    assert len({made.judge_input.key(Nobody) for made in many}) > 0.99 * len(many)


def test_the_fingerprint_is_that_of_stored_passports():
    assert fingerprint_of_set(make_calibration_set()) == "57127fedf4471e4c"
    assert fingerprint_of_set(make_calibration_set(20, 1)) == "95a6f1ec4370011c"


def test_a_rate_over_few_answers_is_refused():
    with pytest.raises(BadInput, match="calibration set: expected at least 20 answers per kind, got 19"):
        make_calibration_set(19)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_an_answer_names_what_its_scores_say(seed):
    for made in make_calibration_set(20, seed):
        if made.kind not in SPELT_AS_IN_THE_BOOK or "in another connection" in made.judge_input.answer:
            continue
        items = named(made)
        assert made.n_items == len(set(items)), made
        assert made.decisions == {item: float(item in items) for item in made.judge_input.reference}, made
        assert n_false(made) == len(set(items) - set(made.judge_input.reference)), made
        if made.order is not None:
            true = [item for item in items if item in made.judge_input.reference]
            assert made.order == tuple(dict.fromkeys(true)), made


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_every_calibration_question_is_one_that_the_benchmark_could_ask(seed):
    shapes = {(template.trace, template.get) for template in TEMPLATES}
    for made in make_calibration_set(20, seed):
        given_ = made.judge_input
        assert (given_.trace, given_.get) in shapes and set(made.scores) <= {0.0, 0.5, 1.0}
        assert len(made.scores) == len(given_.reference) and bin_of(len(made.decisions)) is not None
        assert given_.get != "latest" or len(given_.reference) <= 1
        assert (made.kind in NOTHING_TRUE) <= (given_.reference == ()) and n_false(made) >= 0
        assert not re.search(r"\{(?!\")|\}\}", given_.answer) and given_.answer.strip() == given_.answer
        assert (made.order is not None) <= (given_.get == "chronological" and set(made.scores) == {1.0})
        if given_.trace == "times" and given_.get == "chronological":
            days = [from_words(item) for item in given_.reference]
            assert days == sorted(days)


def test_kinds_differ_in_what_they_do(many):
    by_kind = {kind: [made for made in many if made.kind == kind] for kind in KINDS}
    assert all(made.order == made.judge_input.reference[::-1] for made in by_kind["reversed"])
    assert all(made.n_items == 0 and made.judge_input.reference for made in by_kind["missed"])
    assert all(n_false(made) > 0 and set(made.scores) == {1.0} for made in by_kind["superset"])
    assert all(made.scores.count(0.0) == 1 and n_false(made) == 0 for made in by_kind["one missing"])
    assert all(made.scores.count(0.0) == 1 and n_false(made) == 1 for made in by_kind["one wrong"])
    for kind in ("wrong day", "month only", "first name only"):
        assert all(made.scores.count(0.5) == 1 and 0.0 not in made.scores for made in by_kind[kind])
    assert {len(made.judge_input.reference) > 0 for made in by_kind["guess"]} == {True, False}
    assert {len(made.judge_input.reference) > 0 for made in by_kind["instruction"]} == {True, False}
    assert {made.judge_input.get for made in by_kind["exact"]} == {"all", "latest", "chronological"}
    assert {made.judge_input.trace for made in by_kind["exact"]} == set(ITEMS)
    for made in by_kind["denied"]:
        assert sum(item in made.judge_input.answer for item in made.judge_input.reference) == 1
        assert set(made.scores) == {0.0} and made.n_items == n_false(made) == 1
    assert set(TRAPS) < set(KINDS)


def test_a_part_of_a_date_or_a_name_is_there_and_the_whole_is_not(many):
    for made in many:
        for item, score in made.decisions.items():
            if score == 0.5 and made.judge_input.trace == "times":
                day = from_words(item)
                months = [(d.year, d.month) for d in map(from_words, DATE.findall(made.judge_input.answer))]
                alone = f"{item.split()[0]} {day.year}" in made.judge_input.answer
                assert ((day.year, day.month) in months or alone) and item not in made.judge_input.answer
            elif score == 0.5:
                assert item.split()[0] in made.judge_input.answer and item.split()[1] not in made.judge_input.answer


def test_other_date_formats_mean_the_true_days(many):
    formats = ("%Y-%m-%d", "%m/%d/%Y", "%d %B %Y", "%B %d %Y", "%b %d %Y")
    spelt = re.compile(r"\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}|\d+ [A-Z]\w+ \d{4}|[A-Z]\w+ \d+ \d{4}")

    def days(answer):
        plain = re.sub(r"(\d)(?:st|nd|rd|th)\b|[.,*]", r"\1", answer).replace(" of ", " ")
        for text in spelt.findall(plain):
            for form in formats:
                try:
                    yield datetime.strptime(text, form).date()
                except ValueError:
                    continue

    seen = 0
    for made in many:
        if made.kind == "other date format":
            given_by_cue = {from_words(text) for text in DATE.findall(made.judge_input.question)}
            found = set(days(made.judge_input.answer)) - given_by_cue
            assert found == set(map(from_words, made.judge_input.reference)), made
            seen += 1
    assert seen == 40


def test_false_items_share_nothing_with_the_true_ones(many):
    small = {"of", "the", "de", "del"}
    for made in (made for made in many if made.kind in ("one wrong", "superset", "nonsense")):
        for false in set(named(made)) - set(made.judge_input.reference):
            for item in made.judge_input.reference:
                if made.judge_input.trace == "times":
                    assert from_words(false).replace(day=1) != from_words(item).replace(day=1)
                else:
                    assert not (set(false.lower().split()) & set(item.lower().split())) - small


def test_paraphrases_are_of_our_universes_and_give_no_name_away(many):
    listed = paraphrases()
    files = [read_universe_files(world) for world in UNIVERSES]
    assert len(listed) > 80 and len(set(listed.values())) == len(listed)
    assert set(listed) <= {name for each in files for name in (*each.locations, *each.details)}
    for name, other in listed.items():
        assert name.lower() not in other.lower(), name
    for given_ in (made.judge_input for made in many if made.kind == "paraphrase"):
        assert all(listed[item] in given_.answer and item not in given_.answer for item in given_.reference)
