"""The steps over a real endpoint on loopback: three tries, each told what was wrong; drops, duplicates, audits, options."""

from itertools import pairwise

import pytest

from epbench.errors import BadInput
from epbench.memfail.dataset.findings import validate
from epbench.memfail.dataset.schema import CHOICES, LETTERS, chain_of, config_of, facts_of
from epbench.memfail.dataset.word_rules import connectives
from epbench.memfail.generation.asking import OWN, Asker, Log, Planner, Spec, load_generation_prompts, shingles
from epbench.memfail.generation.essays import DATAPOINTS, conditional_specs
from epbench.memfail.generation.generate import about, generate, plan, validation_failures
from epbench.memfail.generation.long_hop import BATCH, option_orders
from epbench.models.load import Options, load_model
from epbench.progress import no_progress
from tests.memfail.generation.scripted_rows import WRITERS, ScriptedRows, specs_in, step_of
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint

PROMPTS = load_generation_prompts()
EASY, HARD = "conditional_facts_easy", "conditional_facts_hard"


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint(ScriptedRows()) as endpoint:
        yield endpoint


@pytest.fixture
def asking(endpoint, tmp_path):
    """Asks the endpoint, with these faults and replies; `sent()` are the requests that it got."""

    def asking(*faults_and_replies, folder=tmp_path):
        endpoint.reply, endpoint.requests = ScriptedRows(*faults_and_replies), []
        model = load_model("openai:scripted", Options(base_url=endpoint.base_url, window=100_000))
        asker = Asker(model, folder, PROMPTS, seed=42, max_tokens=4096, progress=no_progress)
        asker.sent = lambda: [body for path, body in endpoint.requests if path.endswith("/chat/completions")]
        return asker

    return asking


def found(asker):
    """(check, step, row, try, dropped) of every rejection."""
    found = [(check, rejection) for check, of_check in asker.log.rejections.items() for rejection in of_check]
    return [(check, r["step"], r["row"], r["try"], r["dropped"]) for check, r in found]


def shorter(row):
    return row | {"essay": "This is short. It ends here."}


def test_a_row_that_fails_is_asked_for_again_alone_and_told_what_was_wrong(asking):
    faults = {("coexisting", 3): [lambda row: row | {"question": "What do you say?", "preference_facts": []}]}
    asker = asking(faults)
    rows = generate(asker, ["coexisting_facts"], 12, 42)["coexisting_facts"]
    prompts = [body["messages"][-1]["content"] for body in asker.sent()]
    assert len(rows) == 12 and len(prompts) == 3
    again = next(prompt for prompt in prompts if "could not be used" in prompt)
    assert [spec["row_id"] for spec in specs_in(again)] == [3]
    size = specs_in(again)[0]["number"]
    assert f"- row_id 3: expected {size} preference_facts, found 0" in again
    assert found(asker) == [("facts_have_their_number", "coexisting facts", "coexisting-003", 1, False)]


@pytest.mark.parametrize(
    ("reply", "check"),
    [
        ("I would rather not.", "reply_is_json"),
        ('{"rows": {}}', "reply_is_json"),
        ('{"rows": [], "rows": []}', "reply_is_json"),
        ('{"rows": []}', "row_present"),
        ('{"rows": [{"row_id": 0}, 5, {"row_id": "1"}]}', "fields"),
        ({"content": None, "refusal": "I cannot do that."}, "reply_ended"),
    ],
)
def test_a_reply_without_rows_counts_as_a_try(asking, reply, check):
    asker = asking({}, {("persona", 0): reply})
    rows = generate(asker, ["persona_retrieval"], 2, 42)["persona_retrieval"]
    sent = len(asker.sent())
    assert len(rows) == 2 and sent == 2 and found(asker)[0][0] == check
    asker = asking()  # not even the failed try is made again
    generate(asker, ["persona_retrieval"], 2, 42)
    assert not asker.sent()


def test_what_never_passes_is_dropped_and_easy_and_hard_stay_on_the_same_rules(asking):
    asker = asking({("hard", 1): [shorter] * 3})
    tables = generate(asker, [EASY, HARD], 12, 42)
    assert len(asker.sent()) == 3 * 2 + 2  # two batches of each step, and two more tries
    assert [len(tables[config]) for config in (EASY, HARD)] == [11, 11]
    assert [row["id"] for row in tables[HARD]] == [f"hard-{i:03}" for i in range(11)]
    lengths = [(*rest,) for check, *rest in found(asker) if check == "hard_has_its_length"]
    assert lengths == [("Hard essays", "conditional-001", n, n == 3) for n in (1, 2, 3)]
    assert asker.log.counts["Hard essays"] == {"step": "Hard essays", "before": 12, "after": 11}
    for easy, hard in zip(*tables.values(), strict=True):
        assert {name for name in easy if easy[name] != hard[name]} == {"id", "entity_facts"}
    assert ("same_rules", "pairs of Easy and Hard", "conditional-001", 0, True) in found(asker)


def test_one_level_alone_asks_for_no_essays_of_the_other(asking):
    asker = asking()
    assert set(generate(asker, [HARD], 3, 42)) == {HARD}
    assert [step_of(body) for body in asker.sent()] == ["datapoint", "hard"]


def test_near_duplicates_are_dropped(asking):
    def copied(row):
        return row | {"question": "I am at a loss and in need of some advice for the weekend: what would suit me best?"}

    asker = asking({("coexisting", n): [copied] for n in (1, 4)})
    rows = generate(asker, ["coexisting_facts"], 6, 42)["coexisting_facts"]
    assert len(rows) == 5
    assert found(asker) == [("duplicate", "coexisting questions without near duplicates", "coexisting-004", 0, True)]


def test_rules_with_nearly_the_same_essay_lose_the_later_one_in_both_levels(asking):
    shown = [{"row_id": spec.number, **DATAPOINTS.shown(spec)} for spec in conditional_specs(10)]
    rules = [spec | WRITERS["datapoint"](spec) for spec in shown]
    first, second = [rule for rule in rules if not connectives(rule["statement"])][:2]
    both = {"essay": f"{WRITERS['easy'](first)['essay']} {second['statement']}"}  # it states either rule
    same = {("easy", rule["row_id"]): [lambda row: both] for rule in (first, second)}
    asker = asking(same)
    tables = generate(asker, [EASY, HARD], 10, 42)
    label = f"conditional-{second['row_id']:03}"
    assert found(asker) == [("duplicate", "essays without near duplicates", label, 0, True)]
    assert [len(tables[config]) for config in (EASY, HARD)] == [9, 9]


def chains(asker, n=12):
    return generate(asker, ["long_hop"], n, 42)["long_hop"]


@pytest.mark.slow
def test_audited_chains_become_rows_whose_options_all_stand_in_facts(asking):
    asker = asking()
    rows = chains(asker)
    steps = [step_of(body) for body in asker.sent()]
    assert [row["hop_count"] for row in rows] == [1] * 4 + [2] * 4 + [3] * 4
    stored = "\n".join(fact for row in rows for fact in facts_of(row))
    for row, order in zip(rows, option_orders(12), strict=True):
        assert row["correct_choice"] == LETTERS[order.index(4)]
        assert chain_of(row)[-1] == row["ground_truth_answer"] == row[f"choice_{row['correct_choice'].lower()}"]
        assert all(row[choice] in stored for choice in CHOICES) and row["n_options_in_facts"] == 5
    # 18 chains: a batch of each number of hops at a time, one audit of all, windows of 8 that overlap by half.
    assert steps.count("chain") == 3 and steps.count("audit") == 1 + 4 and steps.count("options") == 12
    shown = [specs_in(body["messages"][-1]["content"])[0] for body in asker.sent() if step_of(body) == "audit"]
    whole, *windows = sorted(([chain["id"] for chain in spec["chains"]] for spec in shown), key=len, reverse=True)
    windows.sort(key=lambda ids: whole.index(ids[0]))
    assert {label for ids in windows for label in ids} == set(whole) and max(map(len, windows)) == BATCH
    for one, other in pairwise(windows):
        assert one[BATCH // 2 :] == other[: BATCH // 2]


@pytest.mark.slow
def test_an_audit_without_a_verdict_drops_nothing_and_is_listed(asking):
    unknown = [lambda row: {"to_drop": [{"id": "chain-9", "reason": "?"}]}] * 3
    asker = asking({("audit", 2): unknown})
    assert len(chains(asker)) == 12
    assert {entry[:3] for entry in found(asker)} == {("audit_names_its_chains", "audits", "audit 2")}
    assert about(asker, {}, 12, 42, {})["audits_without_verdict"] == ["audit 2"]
    assert about(asker, {}, 12, 42, {})["dropped"] == []


@pytest.mark.slow
def test_a_chain_like_an_earlier_one_or_about_the_same_person_is_dropped(asking, tmp_path):
    kept = {}

    def keep(row):
        kept.update(row)
        return row

    def repeat(row):  # the same facts; the person is told apart by nothing else
        return dict(kept)

    # Chains 0 and 2 have one hop and are told in the first person, 1 and 3 are about a person.
    for first, second, why in (
        (0, 2, ("duplicate", "chains without near duplicates", "chain-1hop-002")),
        (1, 3, ("people_are_disjoint", "chains without conflicts", "chain-1hop-003")),
    ):
        (folder := tmp_path / f"{first}").mkdir()
        asker = asking({("chain", first): [keep], ("chain", second): [repeat]}, folder=folder)
        chains(asker)
        assert found(asker) == [(*why, 0, True)]


@pytest.mark.slow
def test_a_chain_without_options_gives_way_to_a_spare_one(asking):
    three = [lambda row: {"options": row["options"][:3]}] * 3
    asker = asking({("options", 0): three})
    rows = chains(asker)
    asked = [specs_in(body["messages"][-1]["content"])[0] for body in asker.sent() if step_of(body) == "options"]
    assert len(rows) == 12 and {row["n_options_in_facts"] for row in rows} == {5}
    assert {entry[:3] for entry in found(asker)} == {("options_have_their_number", "options", "chain-1hop-000")}
    lost = next(spec["answer"] for spec in asked if spec["row_id"] == 0)
    assert all(lost not in row["graded_question"] for row in rows)
    assert len(asked) > 12 + 2 + 1  # chains that had its end as an option were asked about again


def test_chains_whose_ends_are_alike_leave_too_few_candidates(asking):
    def same_end(row):
        last = row["anchors"][-1]
        return {
            "anchors": [*row["anchors"][:-1], "feel at ease"],
            "facts": [fact.replace(last, "feel at ease") for fact in row["facts"]],
            "question": row["question"],
        }

    faults = {("chain", number): [same_end] for number in range(40)}
    with pytest.raises(BadInput, match="enough_candidates"):
        chains(asking(faults))


def test_a_prompt_that_exceeds_the_window_is_refused(endpoint):
    model = load_model("openai:scripted", Options(base_url=endpoint.base_url, window=5000))
    with pytest.raises(BadInput, match="the window of openai:scripted has 5,000; allow fewer tokens"):
        plan(Planner(model, PROMPTS, seed=42, max_tokens=4096), ["long_hop"], 20, 42)


def test_faults_in_the_validation_report_are_named():
    clean = {"rows": 3, "repeated_units": 0, "name_not_in_question": [], "rows_equal_to_easy_in": {"entity": 3}}
    assert validation_failures({HARD: clean}) == []
    faulty = clean | {"explicit_connectives": {"hard-001": ["if"]}, "rows_equal_to_easy_in": {"entity": 2}}
    assert validation_failures({HARD: faulty}) == [
        f"{HARD}: explicit_connectives is {{'hard-001': ['if']}}",
        f"{HARD}: entity differs from Easy",
    ]


def test_duplicates_are_found_by_trigrams():
    class Row(Spec):
        task = "row"

    text = "the quick brown fox jumps over the lazy dog and runs home to its den before the rain begins to fall"
    other = "something else altogether, told in quite other words by quite other people"
    # Those of row 3 are alike among themselves, so that neither is kept.
    texts = [[text], [text.upper() + " hard"], [other], ["a b c d", "a b c d"], ["a b c d"]]
    log = Log()
    kept = log.without_alike("step", [*map(Row, range(5))], dict(enumerate(texts)), "it is like")
    assert [row.number for row in kept] == [0, 2, 4]
    assert [one["reason"] for one in log.rejections["duplicate"]] == ["it is like row-000", "it is like row-003"]
    assert shingles("One two") == {"one two"} and shingles("") == {""}


@pytest.mark.slow
def test_revision_rows_are_complete_and_without_faults(asking):
    asker = asking()
    planner = Planner(asker.model, PROMPTS, seed=42, max_tokens=4096)
    estimated, _ = plan(planner, ["revision"], 5, 42)
    tables = generate(asker, ["revision"], 5, 42)
    assert estimated.requests == len(asker.sent()) == 3
    assert len(tables["revision"]) == 5 and not asker.log.rejections
    assert [failure for failure in validation_failures(validate(tables)) if "near_duplicate" not in failure] == []
    assert config_of("revision", tables["revision"]).columns["id"][4] == "revision-004"


def test_another_pack_needs_the_same_placeholders_and_may_lack_the_text_about_revision(tmp_path):
    text, pack = OWN.read_text("utf-8"), tmp_path / "mine.toml"
    pack.write_text(text[: text.index("revision = ")], "utf-8")
    assert load_generation_prompts(pack) == PROMPTS
    pack.write_text(text.replace("{known}", "none"), "utf-8")
    with pytest.raises(
        BadInput, match=r"mine.toml, key 'long_hop_chain': expected the placeholders \{specs\}, \{known\}"
    ):
        load_generation_prompts(pack)
