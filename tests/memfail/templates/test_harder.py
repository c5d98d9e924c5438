"""Properties of the harder rows, for any number and seed, and the grammar of all template rows."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.memfail.dataset.findings import validate
from epbench.memfail.dataset.load import CONFIGS, facts_to_store, questions_of
from epbench.memfail.dataset.schema import chain_of, facts_of
from epbench.memfail.dataset.shortcuts import shortcuts
from epbench.memfail.dataset.word_rules import content_of, stands_literally_in
from epbench.memfail.generation.generate import validation_failures
from epbench.memfail.templates.bank import bank
from epbench.memfail.templates.rows import make_rows
from tests.memfail.memfail_samples import made_rows

seeds = st.integers(0, 10_000)
sizes = st.integers(5, 130)
some = settings(max_examples=settings.default.max_examples // 10, deadline=None)
CONDITIONAL = CONFIGS[:2]


def harder(config, n, seed):
    return made_rows(config, n, seed, harder=True)


@given(config=st.sampled_from(CONFIGS), n=sizes, seed=seeds)
@some
def test_same_seed_same_rows_and_the_harder_ones_are_others(config, n, seed):
    plain, rows = (make_rows(config, n, seed, harder=is_harder) for is_harder in (False, True))
    for made, is_harder in ((plain, False), (rows, True)):
        assert len(made) == n and make_rows(config, n, seed, is_harder) == made
        assert made != make_rows(config, n, seed + 1, is_harder)
    assert rows != plain and [set(row) for row in rows] == [set(row) for row in plain]


@pytest.mark.parametrize(
    ("n", "seed"), [(100, 0), *(pytest.param(200, seed, marks=pytest.mark.slow) for seed in (0, 1, 77))]
)
def test_shortcuts_fail(n, seed):
    scores = {config: shortcuts(config, harder(config, n, seed)) for config in CONFIGS}
    for config in (*CONDITIONAL, "long_hop"):
        assert scores[config]["word_overlap"] < 0.65
    assert scores["long_hop"]["word_overlap"] < 0.3
    assert scores["long_hop"]["option_in_a_fact"] == 0.2
    assert scores["long_hop"]["bm25_at_5"] < 0.2
    assert scores["coexisting_facts"] == {"word_overlap": 0, "bm25_at_5": 0}
    assert scores["persona_retrieval"]["word_overlap"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("is_harder", [False, True])
@given(n=st.integers(5, 60), seed=seeds)
@some
def test_the_report_finds_no_limits(is_harder, n, seed):
    report = validate({config: made_rows(config, n, seed, is_harder) for config in CONFIGS})
    assert all(is_harder and "near_duplicate_pairs" in failure for failure in validation_failures(report))
    for config in CONDITIONAL:
        found = report[config]
        assert found["always_the_same_answer"] == pytest.approx(0.5, abs=0.5 / n + 1e-4)
        assert found["behavior_word_for_word"] == found["condition_word_for_word"] == found["entities"] == n
    coexisting, persona, long_hop = (report[config] for config in CONFIGS[2:])
    assert coexisting["preference_word_for_word"] == coexisting["units"]
    assert coexisting["names_in_several_rows"] == {} and coexisting["categories"] == n
    assert abs(persona["direct"] - persona["misleading"]) <= 1
    assert persona["true_answer_word_for_word"] == persona["direct"]
    assert max(long_hop["letters"].values()) - min(long_hop["letters"].values()) <= 1
    assert long_hop["anchors_of_several_chains"] == {} and long_hop["head_not_in_stem"] == []


@given(n=sizes, seed=seeds)
@some
def test_a_situation_says_by_its_sense_alone_whether_the_condition_holds(n, seed):
    content = bank("conditional_harder")
    rows = harder("conditional_facts_easy", n, seed)
    assert abs(2 * sum(row["condition_met"] == "yes" for row in rows) - n) <= 1
    for row in rows:
        condition, scene = row["condition"], row["question_context"]
        assert not content_of(condition) & (content_of(scene) - content_of(row["entity"])), (condition, scene)
        if row["condition_type"] in content["bounds"]:
            bound, (value,) = int(re.findall(r"\d+", condition)[0]), map(int, re.findall(r"\d+", scene))
            above = bool(re.search(r"\b(above|more than)\b", condition))
            assert above != bool(re.search(r"\b(below|fewer than|less than)\b", condition)) and value > 0
            assert "of 10" not in condition or value < 10
            assert value != bound and ("yes" if (value > bound) == above else "no") == row["condition_met"]
        else:
            scenes = content["inferred"][row["condition_type"]]
            she = "(she|he)"
            frames = {
                c: [re.escape(s).replace(r"\{name\}", re.escape(row["entity"])).replace(r"\{she\}", she) for s in of]
                for c, of in scenes.items()
            }
            shown = [c for c, of in frames.items() if any(re.fullmatch(frame, scene) for frame in of)]
            assert len(shown) == 1 and (shown[0] == condition) == (row["condition_met"] == "yes")


@given(n=st.integers(5, 200), seed=seeds)
@some
def test_a_question_about_preferences_shares_no_word_of_meaning_with_the_facts(n, seed):
    for row in harder("coexisting_facts", n, seed):
        for fact in row["preference_facts"]:
            assert not content_of(fact) & content_of(row["question"]), (fact, row["question"])


@given(n=sizes, seed=seeds)
@some
def test_essays_in_a_row_are_about_a_family_which_misleading_questions_share(n, seed):
    rows = harder("persona_retrieval", n, seed)
    names = [[row["entity"], *filter(None, (asked["distractor"] for asked in row["questions"]))] for row in rows]
    assert len({name for of_row in names for name in of_row}) == sum(map(len, names))
    for start in range(0, n, 5):
        assert len({name.split()[-1] for of_row in names[start : start + 5] for name in of_row}) == 1


@given(n=sizes, seed=seeds)
@some
def test_chains_share_persons_and_options_are_the_ends_of_chains_about_the_same_person(n, seed):
    rows = harder("long_hop", n, seed)
    chains = [chain_of(row) for row in rows]
    anchors = [anchor for chain in chains for anchor in chain]
    assert len(set(anchors)) == len(anchors)
    for chain, row in zip(chains[:5], rows, strict=False):  # no anchor is part of another chain's fact
        others = [fact for other in rows if other is not row for fact in facts_of(other)]
        assert not any(stands_literally_in(anchor, fact) for fact in others for anchor in chain)
    ends, shown = {chain[-1]: person(row) for chain, row in zip(chains, rows, strict=True)}, Counter()
    for row, chain in zip(rows, chains, strict=True):
        options = [row[f"choice_{letter}"] for letter in "abcde"]
        shown.update(options)
        assert len(set(options)) == 5 and options["ABCDE".index(row["correct_choice"])] == chain[-1]
        assert {ends[option] for option in options} == {person(row)} and row["n_options_in_facts"] == 5
        for (head, end), fact in zip(pairwise(chain), facts_of(row), strict=True):
            assert head in fact and end in fact and re.search(rf"\b({person(row) or 'I|me'})\b", fact)
    assert set(shown.values()) == {5}
    of_person = Counter(map(person, rows))
    assert min(of_person.values()) >= 5


def person(row):
    """Return the full name in a question, or None if it is about the user."""
    found = re.findall(r"(?=\b([A-Z][^\W\d]+ [A-Z][^\W\d]+))", row["stem"])
    names = [name for name in found if name.split()[0] != "That" and all(name in fact for fact in facts_of(row))]
    return names[0] if names else None


# Words after "she" or "he" that are no verbs in the third person with an s: past tenses, modal verbs, adverbs.
_NO_FINAL_S = "sorts bargained lost came will would may can cannot never once refused must should decided divorced taught also soon"
# Pairs of the same word that are correct.
_TWICE = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
_WRONG_ARTICLE = re.compile(
    r"\b(?:a (?=[aeiou]|\b8\b|8\d|11\b|18\b)(?!u[ns]i|use|euro|one\b|ewe)|an (?![aeiou8]|1[18]\b|hour|heir|honest))",
    re.IGNORECASE,
)
_LOWER_START = re.compile(r"(?:^|[.?!] )[a-z]")


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("is_harder", [False, True])
def test_grammar_of_a_thousand_rows(config, is_harder):
    rows = [row for seed in range(3) for row in made_rows(config, 350, seed, is_harder)]
    questions = questions_of(config, rows)
    answers = {question.reference for question in questions if config in CONDITIONAL}
    for flat in {*(fact.text for fact in facts_to_store(config, rows)), *(one.query for one in questions), *answers}:
        assert not _TWICE.search(flat), flat
        assert not _WRONG_ARTICLE.search(flat), flat
        assert not _LOWER_START.search(flat), flat
        assert not re.search(r"  | [,.?!;:]|[,;:][.?!]|[.?!]{2}|[{}]", flat), flat
        assert re.search(r"[.?!]$", flat), flat
        for verb in re.findall(r"(?<!\bdoes )\b(?:[Ss]he|[Hh]e) ([a-z-]+)", flat):
            assert verb.endswith("s") or verb in _NO_FINAL_S.split(), (verb, flat)
