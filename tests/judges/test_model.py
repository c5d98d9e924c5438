"""How a model is asked for verdicts: what the tests of the benchmarks' judges do not check."""

from epbench.models.openai.model import EndpointModel
from epbench.tulving.judging.load import ModelJudge
from epbench.tulving.judging.verdicts import JudgeInput
from tests.models.loopback_endpoint import BROKEN, LoopbackEndpoint

URL = "http://127.0.0.1:9/v1"


def setup_of(**options):
    return ModelJudge(EndpointModel("tiny", **options), max_tokens=9).setup


def test_a_lost_call_is_a_failure_and_not_repaired():
    with LoopbackEndpoint(script=lambda number, body: BROKEN) as endpoint:
        judge = ModelJudge(EndpointModel("tiny", base_url=endpoint.url, attempts=1))
        (found,) = judge.judge([JudgeInput("q", "When?", "times", "all", ("May 07, 2024",), "In May.")])
    assert found.verdict is None and "500" in found.failure and found.raw == () and len(endpoint.calls) == 1


def test_a_judge_is_told_apart_by_address_and_sampling_and_not_by_how_it_is_asked(monkeypatch):
    plain = setup_of(base_url=URL)
    assert plain == f"{URL}, max_tokens=9, temperature=0"
    assert setup_of(base_url=f"{URL}/", concurrency=3, timeout_s=7, attempts=2, window=99) == plain
    assert setup_of(base_url="http://me:word@127.0.0.1:9/v1?api_key=secret") == plain
    assert setup_of(base_url="http://127.0.0.1:8/v1") != plain
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert setup_of().startswith("https://api.openai.com/v1,")
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    assert setup_of() == plain
