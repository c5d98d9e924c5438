"""Other words for MemFail: the published ones give requests equal to those of the code, and what is wrong is named."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from epbench import BadInput
from epbench.errors import UnusableReply
from epbench.files.prompt_packs import own_wording
from epbench.memfail.context.requests import load_prompts
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.generation.asking import load_generation_prompts
from epbench.memfail.judging.lexical import Check
from epbench.memfail.judging.load import ModelJudge, load_judging_prompts, read_verdicts
from epbench.memfail.wording import WORDS, read_wording
from epbench.models.protocol import RuleBasedReader, Sampling
from tests.memfail.memfail_samples import template
from tests.reference_wording import COPIES, constants, copy_of, functions

MEMORIES = ("one {fact}", "two\nlines", "three")
LISTED = "\n".join(f"- {memory}" for memory in MEMORIES)
FOLDERS = ("conditional_facts", "conditional_facts", "coexisting_facts", "custom_persona_retrieval", "long_hop")
FILES = dict(zip(CONFIGS, FOLDERS, strict=True))
STAGES = ("storage", "summary", "retrieval")
ANSWER = "My {answer}\nis long."


@pytest.fixture(scope="module", params=COPIES)
def copy(request, tmp_path_factory):
    return copy_of(request.param, "memfail", tmp_path_factory.mktemp("memfail"))


@pytest.fixture(scope="module")
def words(copy):
    return read_wording(f"published:{copy}")


def questions(config):
    return template(config, 10)[1]


def wrapped(copy, question):
    wrap = functions(copy / "playground/long_hop/evaluate_long_hop.py", "_wrap_mcq_for_eval")["_wrap_mcq_for_eval"]
    return wrap(question.text) if question.choices else question.text


@pytest.mark.parametrize("config", CONFIGS)
def test_readers_are_asked_in_the_words_of_the_code(copy, words, config):
    file = copy / "src/prompt_templates.py"
    known = functions(file, "ConversationHistoryPromptTemplate", "format_history")
    form, reader = known["ConversationHistoryPromptTemplate"]().format, words["reader"]
    nothing = SimpleNamespace(messages=[])
    for question in questions(config):
        request = reader.ask("id", question, MEMORIES, Sampling())
        assert request.user == form(wrapped(copy, question), LISTED, nothing, True)
        assert reader.ask("id", question, (), Sampling()).user == form(wrapped(copy, question), "", nothing, True)
    turns = [("user", "Hi {you}"), ("assistant", "Yes."), ("user", "So?")]
    before = SimpleNamespace(messages=[SimpleNamespace(raw_query="Hi {you}", response="Yes.")])
    told = [{"role": role, "content": text} for role, text in turns]
    assert reader.reply_to("id", told, Sampling()).user == form("So?", "", before, False)
    assert reader.reply_to("id", told[:1], Sampling()).user == form("Hi {you}", "", nothing, False)


@pytest.mark.parametrize("config", [config for config in CONFIGS if config != "persona_retrieval"])
def test_judges_are_asked_in_the_words_of_the_code(copy, words, config):
    file = copy / "playground" / FILES[config] / "analyze_errors.py"
    texts, judge = constants(file), words["judge"]
    hard = "_HARD" * config.endswith("hard")
    for question in questions(config):
        for gold in question.gold:
            for stage in STAGES:
                name = stage.upper() if config.startswith("conditional") else f"FACT_{stage.upper()}"
                request = judge.request("id", Check(stage, question, gold, MEMORIES))
                assert request.user == texts[f"{name}_USER{hard}"].format(
                    original_fact=gold.text,
                    target_message=gold.text,
                    preference=gold.link[0],
                    entity=gold.link[0],
                    behavior=gold.link[-1],
                    condition="; ".join(gold.detail),
                    query=wrapped(copy, question),
                    all_memories_formatted=LISTED,
                    retrieved_memories=LISTED,
                )
                assert request.system == texts.get(f"{name}_SYSTEM{hard}", texts[f"{name}_SYSTEM"])
                assert_schema(request.schema, file, f"{name}_SCHEMA")
        if not question.choices:
            request = judge.request("id", Check("reasoning", question, answer=ANSWER))
            assert request.user == texts["INVOCATION_USER"].format(
                original_fact=question.gold[0].text,
                expected_preferences="\n".join(f"- {gold.link[0]}" for gold in question.gold),
                ground_truth_answer=question.reference,
                llm_response=ANSWER,
            )


def assert_schema(schema, file, name):
    expected = functions(file, "_array_schema", name)[name]["json_schema"]["schema"]
    assert json.dumps(schema, sort_keys=False) == json.dumps(expected, sort_keys=False)


NAMES = {kind: kind for kind in (*STAGES, "abstention")} | {"reasoning": "invocation"}


def persona_checks(kind):
    wanted = {"reasoning": "direct", "abstention": "misleading"}.get(kind)
    asked = [question for question in questions("persona_retrieval") if wanted in (None, question.kind)]
    return [
        Check(kind, question, question.gold[0], MEMORIES) if kind in STAGES else Check(kind, question, answer=ANSWER)
        for question in asked
    ]


@pytest.mark.parametrize("kind", NAMES)
def test_persona_is_judged_in_the_batches_of_the_code(copy, words, kind):
    file = copy / "playground/custom_persona_retrieval/analyze_errors.py"
    name = NAMES[kind]
    form = f"_fmt_{'storage' if kind == 'summary' else name}_entries"
    texts, formed = constants(file), functions(file, form, "_essay")[form]
    checks, size = persona_checks(kind), texts["DEFAULT_BATCH_SIZE"]
    requests = ModelJudge(ScriptedModel(), words["judge"]).requests(checks)
    assert len(requests) == -(-len(checks) // size) and len(checks) >= 10
    for start, request in zip(range(0, len(checks), size), requests, strict=True):
        batch = checks[start : start + size]
        traces = [
            {
                "entity": check.question.gold[0].link[0],
                "entity_facts": [check.question.gold[0].text],
                "question": check.question.text,
                "retrieved_memories": LISTED,
                "ground_truth_answer": check.question.reference,
                "distractor": check.question.about["distractor"],
                "llm_response": ANSWER,
            }
            for check in batch
        ]
        known = {"entries": formed(traces), "n": len(batch), "all_memories_formatted": LISTED}
        assert request.user == texts[f"{name.upper()}_USER_FMT"].format(**known)
        assert request.system == texts[f"{name.upper()}_SYSTEM"]
        assert_schema(request.schema, file, f"{name.upper()}_SCHEMA")


class ScriptedModel(RuleBasedReader):
    """Says of each entry whether its number is odd; every batch lacks an entry at first."""

    name = "scripted"

    def answer_to(self, request):
        fields = request.schema["properties"]["results"]["items"]["properties"]
        flag = next(name for name, kind in fields.items() if kind["type"] == "boolean")
        n = int(request.user.rpartition("1..")[2].split("\n")[0].rstrip(")."))
        results = [{"id": number, flag: number % 2 == 1} for number in range(n, request.repeat == 0, -1)]
        return json.dumps({"results": results})


def test_each_check_of_a_batch_has_its_own_verdict(tmp_path):
    words = read_wording(f"published:{copy_of('made', 'memfail', tmp_path)}")
    judge, checks = ModelJudge(ScriptedModel(), words["judge"]), persona_checks("storage")
    judgements = {judgement.key: judgement for judgement in judge.judge([*checks, checks[0]])}
    verdicts = [judgements[check.key(judge)].verdict.verdict for check in checks]
    assert verdicts == [place % 4 % 2 == 0 for place in range(len(checks))]
    assert {len(judgement.raw) for judgement in judgements.values()} == {2}  # as the first reply lacked id 1


def test_a_check_that_says_the_question_is_keyed_by_it(words):
    first, second = questions("persona_retrieval")[:2]
    judge = ModelJudge(ScriptedModel(), words["judge"])
    ours = ModelJudge(ScriptedModel(), load_judging_prompts())
    keys = [[Check("storage", q, q.gold[0], MEMORIES).key(each) for q in (first, second)] for each in (judge, ours)]
    assert keys[0][0] != keys[0][1] and keys[1][0] == keys[1][1]


def test_a_reply_lacks_no_check(tmp_path):
    text = 'reply = {ok = "boolean"}\nbatch = 2\ntext = "{entries}"\nentry = "{number} {fact}"'
    asking = read_checks(text, tmp_path)
    found = read_verdicts('{"results": [{"id": 2, "ok": false}, {"id": 1, "ok": true}]}', 2, asking)
    assert [each.verdict for each in found] == [True, False]
    for reply, message in (
        ('{"results": [{"id": 1, "ok": true}]}', "lack id 2"),
        ('{"results": [{"id": 1, "ok": true}, {"id": 2, "ok": 7}]}', "the ok is 7"),
        ('{"ok": true}', "results"),
    ):
        with pytest.raises(UnusableReply, match=message):
            read_verdicts(reply, 2, asking)


def read_checks(text, folder):
    (folder / "mine.toml").write_text(f"[judge.checks.persona_storage]\n{text}\n")
    return read_wording(str(folder / "mine.toml"))["judge"].checks["persona_storage"]


def test_our_own_words_change_nothing(tmp_path):
    (tmp_path / "own.toml").write_text(own_wording(WORDS), "utf-8")
    words = read_wording(str(tmp_path / "own.toml"))
    assert words["reader"] == load_prompts() and words["generation"] == load_generation_prompts()
    assert words["judge"] == load_judging_prompts() and words["judge"].hash == load_judging_prompts().hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('text = "is it?"', "key 'text': expected {fact} or {first} or {last} or {detail}, and perhaps"),
        ('text = "{entries}"\nbatch = 5', "key 'batch': expected 1 or more with an entry, 0 without, got 5"),
        ('text = "{entries}"\nbatch = 5\nentry = "{fact}"', "key 'entry': expected {number}"),
        ('text = "{fact}"\nreply = {a = "string"}', "key 'reply': expected one 'boolean' and at most one 'string'"),
        ('text = "{fact}"\nsystem = "{fact}"', "key 'system': expected no placeholders, found {fact}"),
        ('text = "{fact}"\nbatches = 3', "found the unknown key 'batches'"),
        ('[judge.checks.persona_storing]\ntext = "{fact}"\n', "key 'checks.persona_storing': unknown"),
        ('[reader]\nmemories = ""\n', "section 'reader', key 'question': expected {memories} here or in 'memories'"),
        ('[generation]\npersona = ""\n', "section 'generation', key 'persona': expected the placeholders {specs}"),
        ("[writer]\n", "expected sections [reader], [judge], [generation], found 'writer'"),
    ],
)
def test_what_is_wrong_is_named_with_file_section_and_key(tmp_path, text, message):
    whole = text if text.startswith("[") else f"[judge.checks.persona_storage]\n{text}\n"
    (tmp_path / "mine.toml").write_text(whole)
    with pytest.raises(BadInput) as error:
        read_wording(str(tmp_path / "mine.toml"))
    where = "mine.toml" if text == whole else "mine.toml, section 'judge', key 'checks"
    assert message in str(error.value) and where in str(error.value)
