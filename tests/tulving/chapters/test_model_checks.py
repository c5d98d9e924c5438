import json

from hypothesis import given
from hypothesis import strategies as st

from epbench.tulving.chapters.model_writer import QUESTIONS, failed_checks, read_verdict
from tests.reference_cases import VERDICTS, with_published

RIGHT = '{"1": true, "2": true, "3": true, "4": true}'


def test_the_published_replies_are_read_as_the_reference_reads_them():
    """Where it crashes there is no verdict."""
    for case in with_published(VERDICTS, "verification_llm_cases.json"):
        expected = case["result"] if isinstance(case["result"], dict) else None
        assert read_verdict(case["text"]) == expected, case["text"]


def test_prose_fences_and_other_braces_do_not_matter():
    for reply in (
        RIGHT,
        f"Here it is:\n```json\n{RIGHT}\n```\nI hope this {{helps}}.",
        f'{{"1": …, "2": …, "3": …, "4": …}} asks for {RIGHT}',
        f'{{"answers": {RIGHT}}}',
        RIGHT.replace(", ", ",\n  "),
        '{"4": true, "3": true, "2": true, "1": true}',
    ):
        assert read_verdict(reply) == dict.fromkeys(QUESTIONS.values(), True), reply


def test_what_is_no_verdict():
    for reply in (
        "",
        "true, true, true, true",
        RIGHT.replace("true", '"true"'),
        RIGHT.replace("true", "1"),
        RIGHT.replace("true", "null"),
        RIGHT.replace("true", "True"),
        RIGHT.replace("}", ', "5": true}'),
        RIGHT.replace("}", ', "4": false}'),
        RIGHT.replace('"4"', '"four"'),
        RIGHT[:-1],
        '{"1": true, "2": true, "3": true}',
        '{"1": ' + "[" * 100_000 + "}",
    ):
        assert read_verdict(reply) is None, reply[:80]


def test_the_first_verdict_counts():
    first = RIGHT.replace('"2": true', '"2": false')
    assert failed_checks(read_verdict(f"{first} or rather {RIGHT}")) == ["llm_date"]


booleans = st.tuples(*[st.booleans()] * 4)


@given(booleans, st.text().filter(lambda text: not set("{}") & set(text)), st.text(), st.permutations(list(QUESTIONS)))
def test_any_verdict_is_read_from_any_prose(answers, before, after, order):
    told = dict(zip(QUESTIONS, answers, strict=True))
    verdict = read_verdict(before + json.dumps({number: told[number] for number in order}) + after)
    assert verdict == {fact: told[number] for number, fact in QUESTIONS.items()}
    assert failed_checks(verdict) == [f"llm_{fact}" for number, fact in QUESTIONS.items() if not told[number]]


@given(st.text(alphabet='{}[]":,1234 truefalsn\n'))
def test_no_reply_is_an_error(reply):
    verdict = read_verdict(reply)
    assert verdict is None or set(verdict) == set(QUESTIONS.values())
