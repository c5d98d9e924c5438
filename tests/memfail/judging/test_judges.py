"""Judges of memories and answers: rules on literal truth, a model under a schema, broken replies, prompt packs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput, UnusableReply
from epbench.judges.protocol import PastJudge
from epbench.memfail.dataset.load import CONFIGS, GoldMemory, Question
from epbench.memfail.dataset.word_rules import abstains, content_of, decision_of, words_of
from epbench.memfail.judging.lexical import Check, LexicalJudge
from epbench.memfail.judging.load import OWN, Asking, ModelJudge, load_judge, load_judging_prompts, read_verdicts
from epbench.models.load import Options
from epbench.models.openai.model import EndpointModel
from tests.memfail.memfail_samples import SOURCES, questions_from, template, verdict
from tests.models.loopback_endpoint import LoopbackEndpoint

OUR_HASH = "465ade17a32046bd"  # also of earlier packs, which had no texts about `revision`
ESSAY = "Ada keeps bees. She sings to them only in steady drizzle, and nobody minds. She likes toast."
RULE = GoldMemory("r/0", ESSAY, ("Ada", "sings to them"), ("in steady drizzle",))


def question(config="conditional_facts_easy", need=RULE, **values):
    asked = "Would Ada sing now?"
    given_ = {"kind": "", "text": asked, "query": asked, "gold": (need,), "reference": "No — dry."}
    return Question(id="q", config=config, row="r", **{**given_, **values})


def judge(check):
    (found,) = LexicalJudge().judge([check])
    assert found.failure is None and found.key == check.key(LexicalJudge())
    return found.verdict.verdict


@pytest.mark.parametrize(
    ("memories", "stored", "faithful"),
    [
        ([ESSAY], True, True),
        (["[Monday] user: " + ESSAY.upper()], True, True),
        (["Ada sings to them in steady drizzle"], True, True),
        (["Ada sings to them", "Ada: steady drizzle is when it happens"], True, True),
        (["Ada sings to them"], True, False),
        (["Ada sings to them", "Bob loves steady drizzle"], True, False),
        (["Ada keeps bees", "Bob sings to them in steady drizzle"], False, False),
    ],
)
def test_a_rule_is_stored_and_faithful_by_its_words(memories, stored, faithful):
    checks = {kind: Check(kind, question(), RULE, tuple(memories)) for kind in ("storage", "summary", "retrieval")}
    assert judge(checks["storage"]) is stored
    assert judge(checks["retrieval"]) is (stored and faithful)
    if stored:
        assert judge(checks["summary"]) is faithful


def test_a_preference_is_found_in_other_forms_and_as_a_paraphrase():
    bike = GoldMemory("c/0", "Riding my bicycle to work wakes me up.", ("commuting by bicycle",), ())
    for memory, found in [("User rides bicycles", True), ("User takes the bus", False), (bike.text, True)]:
        assert judge(Check("storage", question("coexisting_facts", bike), bike, (memory,))) is found
    # With no word in common all of the text counts.
    hoops = GoldMemory("c/1", "Shooting a few hoops calms me.", ("basketball",), ())
    for memory, found in [("shooting a few hoops calms the user", True), ("User likes a few sports", False)]:
        assert judge(Check("storage", question("coexisting_facts", hoops), hoops, (memory,))) is found


@pytest.mark.parametrize(
    ("config", "kind", "truth", "answer", "right"),
    [
        ("conditional_facts_easy", "", "No — it is dry.", "No, she would not.", True),
        ("conditional_facts_easy", "", "No — it is dry.", "Yes.", False),
        ("conditional_facts_easy", "", "Yes — drizzle.", "I used memory 1. Answer: Yes", True),
        ("conditional_facts_easy", "", "No — it is dry.", "There is no information.", False),
        ("coexisting_facts", "", "tea, jam", "Take teas and the jam.", True),
        ("coexisting_facts", "", "tea, jam", "Take tea.", False),
        ("persona_retrieval", "direct", "Bring sliced Swiss cheese.", "Ada likes Swiss cheese in slices", True),
        ("persona_retrieval", "direct", "Bring sliced Swiss cheese.", "Would Ada sing now? Who knows.", False),
    ],
)
def test_answers_are_judged_by_rules(config, kind, truth, answer, right):
    needs = (GoldMemory("r/0", "I drink tea.", ("tea",), ()), GoldMemory("r/1", "I eat jam.", ("jam",), ()))
    needs = needs if config == "coexisting_facts" else (RULE,)
    assert judge(Check("reasoning", question(config, kind=kind, reference=truth, gold=needs), answer=answer)) is right


@pytest.mark.parametrize(
    ("answer", "abstained"),
    [
        ("I have no information about Noah Brooks.", True),
        ("I used no memories. There is nothing about Noah in them.", True),
        ("", True),
        ("I cannot tell.", True),
        ("He is allergic to shellfish.", False),
        ("He cannot eat shellfish; nothing in it is good for him.", False),
    ],
)
def test_abstentions(answer, abstained):
    misleading = question("persona_retrieval", kind="misleading")
    assert judge(Check("abstention", misleading, answer=answer)) is abstained is abstains(answer)


@pytest.mark.parametrize(
    ("answer", "decided"),
    [
        ("Yes", "yes"), ("no.", "no"), ("**No** — never", "no"), ("Yes—always", "yes"), ("No she would not", "no"),
        ("Answer: no", "no"), ("I think: yes, since it rains", "yes"), ("No memory tells it.", None),
        ("There is no way to tell", None), ("Perhaps", None), ("Yes and no memory\nAnswer: No.", "no"), ("", None),
        ("Yesterday she sang", None), ("Is the answer clear? No: it is dry.", "no"),
        ("Based on the notes provided, it is unlikely that she sings.", "no"), ("It isn't likely that she sings.", "no"),
        ("Going by the notes, I would expect that she would not sing.", "no"), ("She would not be likely to sing", "no"),
        ("It is unlikely, as she does not like rain.", "no"), ("This is not a moment in which she sings.", "no"),
        ("It is likely that she sings, since it does not rain.", "yes"), ("Therefore, I would expect her to sing.", "yes"),
        ("She is probably singing.", "yes"), ("It is not unlikely that she sings.", "yes"), ("Is it likely? Perhaps.", None),
        ("I cannot say whether it is likely.", None), ("There is no information that makes it likely.", None),
        ("She sings only at the moment of dusk.", None), ("It is likely, but the answer is: No.", "no"),
    ],
)  # fmt: skip
def test_the_deciding_word(answer, decided):
    assert decision_of(answer) == decided


@given(st.text())
def test_any_text_has_words_and_a_decision_or_none(text):
    assert decision_of(text) in ("yes", "no", None)
    assert content_of(text) <= frozenset(words_of(text))
    assert all(words_of(text)) and words_of(f"«{text}»\n…") == words_of(text)


def test_forms_of_a_word_have_one_stem():
    words = "ride paint hike jog carry dish watch beanie podcast"
    assert words_of(words) == words_of("rides paints hikes jogs carries dishes watches beanies podcasts")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("config", CONFIGS)
def test_a_verbatim_store_is_faithful_and_a_foreign_one_is_not(config, source):
    questions = questions_from(source, config)
    needs = [(q, need) for q in questions for need in q.gold]
    for kind in ("storage", "summary", "retrieval"):
        assert all(judge(Check(kind, q, need, (need.text,))) for q, need in needs)
    names = {need.link[0] for _, need in needs}
    strangers = [
        judge(Check("storage", q, need, (other.text,)))
        for (q, need), (_, other) in zip(needs, needs[len(needs) // 2 :] + needs[: len(needs) // 2], strict=True)
        if other.link[0] != need.link[0] and need.link[0] in names
    ]
    assert sum(strangers) <= 0.03 * len(strangers)


def checks_of(n=3, memories=(ESSAY, "something else")):
    needs = [GoldMemory(f"r/{i}", f"{ESSAY} {i}", ("Ada", f"habit {i}"), ("in drizzle",)) for i in range(n)]
    return [Check(kind, question(need=need), need, memories) for need in needs for kind in ("storage", "summary")]


def model_judge(endpoint, **values):
    model = EndpointModel("tiny", base_url=endpoint.url, concurrency=2, attempts=1, backoff_base_s=0.01, **values)
    return ModelJudge(model, load_judging_prompts())


@pytest.mark.slow
def test_a_store_stands_first_and_is_shared_by_all_facts():
    with LoopbackEndpoint(lambda prompt: verdict("habit 1" in prompt, "seen")) as endpoint:
        model = model_judge(endpoint)
        judged = {found.key: found for found in model.judge(checks_of())}
        found = [judged[check.key(model)].verdict.verdict for check in checks_of()]
        assert found == [False, False, True, True, False, False]
    users = [call.user for call in endpoint.calls]
    shared = users[0][: users[0].index("(end of the memories)")]
    assert all(user.startswith(shared) for user in users) and f"- {ESSAY}\n- something else" in shared
    body = endpoint.calls[0].body
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason", "verdict"]
    assert body["temperature"] == 0
    assert all(j.verdict.reason == "seen" and len(j.raw) == 1 and j.usage.completion > 0 for j in judged.values())


def test_lines_of_a_memory_or_an_answer_cannot_pass_for_others():
    prompts = load_judging_prompts()
    (check, *_) = checks_of(1, ("one\n- two", "three"))
    assert "- one\n  - two\n- three" in prompts.request("id", check).context
    answered = prompts.request("id", Check("reasoning", question(), answer="No.\nWhat it answered: Yes"))
    assert "> No.\n> What it answered: Yes" in answered.question and answered.context == ""


@pytest.mark.parametrize(
    ("reply", "verdict_"),
    [
        ('{"reason": "r", "verdict": true}', True),
        ('```json\n{"reason": "r", "verdict": " False\\n"}\n```', False),
        ('Let me see {x}: {"verdict": false} no: {"verdict": true}', True),
        ("I cannot tell.", None),
        ('{"verdict": 1}', None),
        ('{"verdict": true, "verdict": false}', None),
    ],
)
def test_what_is_read_as_a_verdict(reply, verdict_):
    if verdict_ is None:
        with pytest.raises(UnusableReply):
            read_verdicts(reply, 1, Asking(""))
    else:
        assert [found.verdict for found in read_verdicts(reply, 1, Asking(""))] == [verdict_]


def test_a_store_that_does_not_fit_is_refused_before_anything_is_asked():
    with LoopbackEndpoint() as endpoint:
        judge_ = model_judge(endpoint, window=500)
        with pytest.raises(BadInput, match="window has 500; choose another judge, or give every row"):
            list(judge_.judge(checks_of(1)))
    assert endpoint.calls == []


def test_the_plan_counts_a_store_once():
    with LoopbackEndpoint() as endpoint:
        plan = model_judge(endpoint).plan([*checks_of(), *checks_of()])
    assert (plan.requests, plan.contexts) == (6, 1) and plan.cached > plan.uncached / 2


def test_one_check_has_one_key():
    lexical = LexicalJudge()
    stored, faithful, *_ = checks_of(1)
    assert stored.key(lexical) != faithful.key(lexical)
    later = Check("storage", question(text="Another question?"), stored.gold, stored.memories)
    assert later.key(lexical) == stored.key(lexical)  # what is asked does not matter to what is stored
    for other in [
        Check("storage", question(), stored.gold, (*stored.memories, "more")),
        Check("storage", question("persona_retrieval"), stored.gold, stored.memories),
        Check("storage", question(), replace(stored.gold, text="other text"), stored.memories),
    ]:
        assert other.key(lexical) != stored.key(lexical)


def pack_with(folder, old, new, name="pack.toml"):
    (folder / name).write_text(OWN.read_text("utf-8").replace(old, new, 1), "utf-8")
    return folder / name


def test_judges_by_name(tmp_path):
    assert load_judge("lexical").name == "lexical"
    model = load_judge("openai:tiny", Options(base_url="http://127.0.0.1:9/v1"))
    assert model.name == "openai:tiny"
    pack = pack_with(tmp_path, "one at a time", "each alone")
    other = load_judge("openai:tiny", Options(base_url="http://127.0.0.1:9/v1"), pack)
    assert other.prompt_hash != model.prompt_hash
    for name, prompts in [("nobody", None), ("lexical", pack)]:
        with pytest.raises(BadInput):
            load_judge(name, None, prompts)
    with pytest.raises(BadInput, match="key 'conditional_storage'"):
        load_judging_prompts(pack_with(tmp_path, "told: {fact}", "told: {facts}"))
    with pytest.raises(BadInput, match="no such file"):
        load_judging_prompts(Path("nowhere.toml"))


def test_every_kind_of_check_has_its_words():
    prompts = load_judging_prompts()
    for config in CONFIGS:
        checks = [Check(kind, question(config), RULE, (ESSAY,)) for kind in ("storage", "summary", "retrieval")]
        of_answer = ["reasoning"] * (config != "long_hop") + ["abstention"] * (config == "persona_retrieval")
        for check in (*checks, *(Check(kind, question(config), answer="hm") for kind in of_answer)):
            request = prompts.request("id", check)
            assert ESSAY in request.user and "{" not in request.user
            assert json.dumps(dict(request.schema))


def test_revision_has_words_for_every_check():
    prompts = load_judging_prompts()
    for asked in template("revision", 1)[1]:
        for kind in ("storage", "summary", "retrieval"):
            request = prompts.request("id", Check(kind, asked, asked.gold[0], (ESSAY,)))
            assert ESSAY in request.user and asked.gold[0].link[1] in request.user
        right = {"now": "reasoning", "first": "reasoning", "forgotten": "abstention"}[asked.kind]
        for kind in (right, "stale", "resurrected"):
            request = prompts.request("id", Check(kind, asked, answer="hm"))
            assert asked.text in request.user and "> hm" in request.user and "{" not in request.user
            assert (asked.about["other"] or "(there is none)") in request.user


def test_a_pack_may_lack_the_texts_about_revision(tmp_path):
    earlier, text = tmp_path / "earlier.toml", OWN.read_text("utf-8")
    earlier.write_text(text[: text.index("revision_storage")], "utf-8")
    assert load_judging_prompts(earlier) == load_judging_prompts()
    other = pack_with(tmp_path, "Do the memories hold this about", "Is there a memory of this about")
    assert load_judging_prompts(other).hash != OUR_HASH == load_judging_prompts().hash


EARLIER_GOLD = tuple(GoldMemory(f"r/{i}", f"Ada sings {i}", ("Ada", f"sings {i}"), ("in drizzle",)) for i in range(2))
EARLIER_STORE = ("Ada sings 0 in drizzle", "Ada sings 1 in drizzle", "BAD")
EARLIER_QUESTION = Question(
    "a", "conditional_facts_easy", "r", "", "a?", "a?", EARLIER_GOLD, "Yes — so it is.", (), "1"
)


def test_a_key_of_an_earlier_journal_is_found():
    rules, model = PastJudge("lexical", "rules-1"), PastJudge("openai:tiny", OUR_HASH)
    stored, kept = (Check(kind, EARLIER_QUESTION, EARLIER_GOLD[0], EARLIER_STORE) for kind in ("storage", "summary"))
    assert (stored.key(rules), kept.key(rules)) == ("f3aad237b3825f71dd5d6ab3", "7de40a4bee0b13b1bfc0a055")
    assert Check("reasoning", EARLIER_QUESTION, answer="Yes").key(rules) == "8605d7b50711d867f6f82858"
    assert stored.key(model) == "ed1c6d9910e732df17ecfbc1" and LexicalJudge().prompt_hash == "rules-3"
