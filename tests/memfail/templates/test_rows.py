"""Properties of template rows, for any number and seed."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.draws import RandomStream
from epbench.memfail.dataset.findings import condition_types
from epbench.memfail.dataset.load import CONFIGS, KNOWN
from epbench.memfail.dataset.schema import chain_of, facts_of
from epbench.memfail.dataset.word_rules import connectives, sentences, stands_literally_in
from epbench.memfail.templates.bank import bank, pairs, spread
from epbench.memfail.templates.rows import MOST_ROWS, check_rows, make_rows
from tests.memfail.memfail_samples import made_rows

seeds = st.integers(0, 10_000)
sizes = st.integers(5, 130)
some = settings(max_examples=settings.default.max_examples // 10, deadline=None)


def none_within_another(texts):
    """Return whether no text is part of another one, by windows of words, since comparing all pairs takes a minute."""
    counts = Counter(texts)
    assert max(counts.values()) == 1, counts.most_common(1)
    lengths = {len(text.split()) for text in texts}
    for text in texts:
        words = text.split()
        windows = {" ".join(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1)} - {text}
        assert not windows & counts.keys(), text
    return True


def test_rows_do_not_depend_on_the_process():
    code = "import json; from epbench.memfail.templates.rows import make_rows; from epbench.memfail.dataset.load import CONFIGS; print(json.dumps([make_rows(c, 9, 4, h) for c in CONFIGS for h in (False, True)]))"
    made = [make_rows(config, 9, 4, harder) for config in CONFIGS for harder in (False, True)]
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
        assert json.loads(done.stdout) == made


@pytest.mark.slow
@given(n=sizes, seed=seeds)
@example(n=1000, seed=0)
@some
def test_a_rule_is_the_same_in_easy_and_hard_word_for_word(n, seed):
    easy, hard = make_rows("conditional_facts_easy", n, seed), make_rows("conditional_facts_hard", n, seed)
    assert none_within_another([row["entity"] for row in easy])
    assert len({row["behavior"] for row in easy}) == n
    linking = [re.escape(frame).replace(r"\{her_obj\}", r"\w+") for frame in bank("conditional")["hard"]["link"]]
    for a, b in zip(easy, hard, strict=True):
        assert {**a, "entity_facts": 0} == {**b, "entity_facts": 0}
        told, spread_out = sentences(a["entity_facts"][0]), sentences(b["entity_facts"][0])
        assert 5 <= len(told) <= 8 and 8 <= len(spread_out) <= 12
        rule = [s for s in told if a["behavior"] in s]
        assert len(rule) == 1 and a["condition"] in rule[0] and a["entity"] in rule[0]
        behavior = [i for i, s in enumerate(spread_out) if b["behavior"] in s]
        condition = [i for i, s in enumerate(spread_out) if b["condition"] in s]
        link = [i for i, s in enumerate(spread_out) if re.fullmatch("|".join(linking), s)]
        assert len(behavior) == len(condition) == 1 and behavior[0] + 1 < condition[0] < link[0] - 1
        assert b["entity"] in spread_out[behavior[0]]
        assert connectives(b["entity_facts"][0]) == []
        common = set(told) & set(spread_out)  # the unrelated facts of one are part of those of the other
        assert len(common) == min(len(told) - 1, len(spread_out) - 3)


@given(n=sizes, seed=seeds)
@some
def test_answers_are_balanced_and_the_scene_decides(n, seed):
    rows = make_rows("conditional_facts_easy", n, seed)
    assert abs(2 * sum(row["condition_met"] == "yes" for row in rows) - n) <= 1
    states = bank("conditional")["states"]
    for row in rows:
        assert row["ground_truth_answer"].lower().startswith(row["condition_met"])
        assert row["question_context"] in row["question"] and row["entity"] in row["question"]
        asked = row["question"].replace(row["question_context"], "")
        assert row["behavior"] in row["question"] and row["condition"] not in asked
        of_type = states[row["condition_type"]]
        shown = [c for c, scene in of_type.items() if scene.replace("{name}", row["entity"]) == row["question_context"]]
        assert len(shown) == 1 and (shown[0] == row["condition"]) == (row["condition_met"] == "yes")


def test_all_condition_types_occur_in_a_hundred_rows_and_pets_have_observable_ones():
    rows = make_rows("conditional_facts_easy", 100)
    assert {row["condition_type"] for row in rows} == set(condition_types()) and len(condition_types()) == 32
    assert Counter(row["entity_category"] for row in rows).most_common()[-1][1] == 33
    observable = {row["condition_type"] for row in rows if row["entity_category"] == "pet"}
    assert observable == set(bank("conditional")["observable"])


@given(n=sizes, seed=seeds)
@example(n=1000, seed=0)
@some
def test_all_names_in_a_persona_store_are_distinct(n, seed):
    rows = made_rows("persona_retrieval", n, seed)
    asked = [question for row in rows for question in row["questions"]]
    distractors = [question["distractor"] for question in asked if question["is_misleading"]]
    assert none_within_another([row["entity"] for row in rows] + distractors)
    assert abs(2 * len(distractors) - 3 * n) <= 1
    assert all(len({question["text"] for question in row["questions"]}) == 3 for row in rows)


@given(n=sizes, seed=seeds)
@example(n=1000, seed=0)
@some
def test_a_preference_appears_in_its_own_fact_and_in_no_other(n, seed):
    rows = make_rows("coexisting_facts", n, seed)
    names = [name for row in rows for name in row["preferences"]]
    facts = [fact for row in rows for fact in row["preference_facts"]]
    assert none_within_another(names) and all(map(stands_literally_in, names, facts))
    assert len(set(facts)) == len(facts)
    assert len({row["preference_category"] for row in rows}) == len({row["question"] for row in rows}) == n
    sizes_found = Counter(len(row["preferences"]) for row in rows)
    assert max(sizes_found.values()) - min(sizes_found[k] for k in (2, 3, 4, 5)) <= 1
    for i, fact in enumerate(facts[:10]):
        assert [name for name in names if stands_literally_in(name, fact)] == [names[i]]


@given(n=sizes, seed=seeds)
@example(n=1000, seed=0)
@some
def test_chains_are_disjoint_and_no_option_gives_itself_away(n, seed):
    rows = made_rows("long_hop", n, seed)
    chains = [chain_of(row) for row in rows]
    assert none_within_another([anchor for chain in chains for anchor in chain])
    shown = Counter(row[f"choice_{letter}"] for row in rows for letter in "abcde")
    assert set(shown.values()) == {5}  # once as the answer, four times as a wrong option
    for row, chain in zip(rows, chains, strict=True):
        for (head, end), fact in zip(pairwise(chain), facts_of(row), strict=True):
            assert head in fact and end in fact and not any(a in fact for a in chain if a not in (head, end))
    own = [all(re.search(r"\bI\b", fact) for fact in facts_of(row)) for row in rows]
    assert abs(2 * sum(own) - n) <= 1
    for row, in_first_person in zip(rows, own, strict=True):
        if not in_first_person:
            names = re.findall(r"(?=\b([A-Z]\w+ [A-Z]\w+))", row["stem"])
            assert any(all(name in fact for fact in facts_of(row)) for name in names), row["stem"]


@given(a=st.integers(1, 12), b=st.integers(1, 12), share=st.floats(0, 1), seed=seeds)
def test_pairs_differ_and_use_their_members_evenly(a, b, share, seed):
    n = int(share * a * b)
    drawn = pairs(range(a), range(b), n, RandomStream("test", seed), "pairs")
    assert len(set(drawn)) == len(drawn) == n
    used = Counter(first for first, _ in drawn)
    assert n == 0 or max(used.values()) - min(used[i] for i in range(a)) <= 1
    with pytest.raises(BadInput, match="pairs are needed"):
        pairs(range(a), range(b), a * b + 1, RandomStream("test", seed), "pairs")


@given(k=st.integers(1, 6), n=st.integers(0, 50), seed=seeds)
def test_spread_values_are_equally_frequent(k, n, seed):
    counts = Counter(spread(range(k), n, RandomStream("test", seed)))
    assert counts.total() == n and max(counts.values(), default=0) - min(counts[i] for i in range(k)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("harder", [False, True])
@pytest.mark.parametrize("config", KNOWN)
def test_as_many_rows_as_promised_can_be_made_and_no_more(config, harder):
    most = MOST_ROWS[config][harder]
    assert len(make_rows(config, 5 if config == "long_hop" else 1, harder=harder)) in (1, 5)
    assert len(make_rows(config, most, seed=3, harder=harder)) == most
    kind = "harder rows" if harder else "rows"
    message = f"templates give at most {most:,} {kind} of {config}, got {most + 1:,}; ask for fewer"
    with pytest.raises(BadInput, match=message):
        make_rows(config, most + 1, harder=harder)
    with pytest.raises(BadInput, match="got 1,000,000,000,000"):  # before any list is made
        check_rows(CONFIGS, 10**12, harder)
