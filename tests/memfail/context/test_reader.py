"""What the reader of MemFail is told, and the rule-based reader, which sees only the prompt."""

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.context.requests import NOTHING, LexicalReader, Setting, conversations_of, load_prompts, read_notes
from epbench.memfail.dataset.load import CONFIGS, Fact
from epbench.memfail.dataset.word_rules import letter_of
from epbench.memfail.judging.lexical import Check, LexicalJudge
from epbench.models.protocol import Sampling
from tests.memfail.memfail_samples import question, template

MULTIPLE = "When I sip tea, what do I end up doing?\n\nOptions:\nA. fold laundry\nB. hum loudly\nC. bake bread"


@pytest.mark.parametrize(
    ("notes", "question", "begins"),
    [
        (["Mira sings only when it rains."], "It rains hard today. Would Mira sing now?", "Yes — Mira sings"),
        (["Mira sings only when it rains."], "It does not rain. Would Mira sing now?", "No — Mira sings"),
        (["Mira sings only when it is below 10°C."], "It is 8°C outside. Would Mira sing?", "Yes"),
        (["Mira sings only when it is below 10°C."], "It is 12°C outside. Would Mira sing?", "No"),
        (["Mira sings when she has fewer than two tasks."], "Mira has three tasks. Would she sing?", "No"),
        (["Tom fishes on Mondays."], "It rains. Would Mira sing now?", NOTHING),
        (
            ["Ada Berg bakes rye bread. Ada Berg fears moths."],
            "What bread does Ada Berg bake?",
            "Ada Berg bakes rye bread.",
        ),
        (["Ada Berg bakes rye bread."], "What does Noah Brooks bake?", "I have no information about Noah Brooks."),
        (["I like fedoras.", "I wear caps."], "Which hats should I pack?", "- I like fedoras.\n- I wear caps."),
    ],
)
def test_the_form_of_a_question_decides_how_it_is_answered(notes, question, begins):
    assert read_notes(notes, question).startswith(begins)


@pytest.mark.parametrize(
    ("notes", "letter"),
    [
        (["Tea makes me calm.", "When calm I hum loudly."], "B"),
        (["When calm I hum loudly.", "Tea makes me calm.", "Coffee makes me bake bread."], "B"),
        (["When calm I hum loudly."], "B"),  # the chain is broken, and no other option appears anywhere
        ([], None),
    ],
)
def test_a_multiple_choice_follows_the_links(notes, letter):
    assert json.loads(read_notes(notes, MULTIPLE)) == {"choice": letter}


def test_notes_are_read_from_the_prompt_and_a_message_is_only_acknowledged():
    prompts, sampling, reader = load_prompts(), Sampling(), LexicalReader()
    hats = question(text="Which hats?")
    asked = prompts.ask("q@2", hats, ["I like fedoras.\n\nIn summer too.", "I wear [2] caps."], sampling)
    said = prompts.reply_to("c", [{"role": "user", "content": "Question: is it raining?"}], sampling)
    empty = prompts.ask("q@2", hats, [], sampling)
    texts = [reply.text for reply in reader.answer([asked, said, empty])]
    assert texts == [
        "- I like fedoras.\n\nIn summer too.\n- I wear [2] caps.",
        "Thank you, I will keep that in mind.",
        NOTHING,
    ]


@pytest.mark.parametrize("config", CONFIGS)
def test_with_the_gold_memories_it_is_mostly_right_on_template_rows(config):
    prompts, reader, judge = load_prompts(), LexicalReader(), LexicalJudge()
    right = []
    for one in template(config, 40, 3)[1]:
        asked = prompts.ask(one.id, one, [memory.text for memory in one.gold], Sampling())
        answer = next(reader.answer([asked])).text
        if one.choices:
            right.append(letter_of(answer, one.choices) == one.about["correct_choice"])
        else:
            kind = "abstention" if one.kind == "misleading" else "reasoning"
            right.append(next(judge.judge([Check(kind, one, answer=answer)])).verdict.verdict)
    share = sum(right) / len(right)
    assert share > (0.6 if config == "conditional_facts_hard" else 0.9), share


def facts_of_rows(sizes):
    return [
        Fact(f"r{row}/{i}", f"r{row}", f"fact {i} of row {row}") for row, size in enumerate(sizes) for i in range(size)
    ]


sizes = st.lists(st.integers(1, 5), min_size=1, max_size=30)


@given(sizes, st.integers(1, 12), st.integers(0, 5), st.booleans())
def test_every_fact_is_told_once_and_never_with_another_of_its_row(sizes, capacity, seed, isolate):
    facts = facts_of_rows(sizes)
    told = conversations_of(facts, Setting(seed=seed, units_per_conversation=capacity, isolate=isolate))
    assert sorted(fact for c in told for fact in c.units) == sorted(fact.id for fact in facts)
    rows = {fact.id: fact.row for fact in facts}
    for conversation in told:
        assert 1 <= len(conversation.units) <= capacity
        assert len({rows[fact] for fact in conversation.units}) == len(conversation.units)
        if isolate:
            assert {rows[fact] for fact in conversation.units} == {conversation.store}
    assert len({(c.store, c.id) for c in told}) == len(told)
    assert told == conversations_of(facts, Setting(seed=seed, units_per_conversation=capacity, isolate=isolate))


@given(sizes, st.integers(1, 12))
def test_first_fit_leaves_no_conversation_that_could_have_taken_a_later_fact(sizes, capacity):
    facts = facts_of_rows(sizes)
    rows = {fact.id: fact.row for fact in facts}
    told = conversations_of(facts, Setting(seed=0, units_per_conversation=capacity))
    for place, conversation in enumerate(told):
        for earlier in told[:place]:
            if len(earlier.units) < capacity:
                taken = {rows[fact] for fact in earlier.units}
                assert all(rows[fact] in taken for fact in conversation.units)


def test_published_sizes_pack_into_the_published_numbers_of_conversations():
    """340 facts of 100 rows, as Coexisting-Facts has them."""
    facts = facts_of_rows([2] * 26 + [3] * 31 + [4] * 20 + [5] * 23)
    counts = [len(conversations_of(facts, Setting(seed=42, units_per_conversation=n))) for n in (1, 2, 5, 10)]
    assert counts[:3] == [340, 170, 68] and counts[3] in (34, 35)  # the last one depends on the order


def test_time_goes_on_and_the_order_depends_on_the_seed_alone():
    facts = facts_of_rows([2, 3, 4])
    told = conversations_of(facts, Setting(seed=1, units_per_conversation=2))
    times = [datetime.fromisoformat(turn["timestamp"]) for c in told for turn in c.turns]
    assert times == sorted(set(times))
    assert {turn["role"] for c in told for turn in c.turns} == {"user"}
    orders = {tuple(fact for c in conversations_of(facts, Setting(seed=seed)) for fact in c.units) for seed in range(5)}
    assert len(orders) > 1 and tuple(fact.id for fact in facts) not in orders
