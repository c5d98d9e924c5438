"""What is said of a model that was tried: a good endpoint, one that cuts prompts off, one that is not there."""

import math

import pytest

from epbench.models.hf.model import TransformersModel
from epbench.models.openai.model import EndpointModel
from epbench.models.probe import probe
from tests.models.endpoint_asks import key  # noqa: F401
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts.in_process import script
from tests.tiny_model import make_tiny_model


def answer(prompt):
    if "2 + 3" in prompt:
        return '{"sum": 5}'
    return "In the green kettle." if "brass key" in prompt else "A"


def more(body):
    """As vLLM would: token counts, cached ones for a text that came before, log-probabilities."""
    n = len(body["messages"][-1]["content"]) // 4
    again = "Which line" in body["messages"][-1]["content"]
    top = [{"token": token, "logprob": math.log(p)} for token, p in (("A", 0.7), ("B", 0.2))]
    logprobs = {"content": [top[0] | {"top_logprobs": top}]} if body.get("logprobs") else None
    cached = {"cached_tokens": n - 20 if again else 0}
    usage = {"prompt_tokens": n, "completion_tokens": 3, "prompt_tokens_details": cached}
    return {"usage": usage, "choice": {"logprobs": logprobs}}


def findings(endpoint, **options):
    model = EndpointModel("tiny", base_url=endpoint.url, attempts=1, **options)
    return {finding.what: finding for finding in probe(model)}


def test_a_good_endpoint_does_all():
    with LoopbackEndpoint(answer, more=more) as endpoint:
        found = findings(endpoint, window=32768)
    results = {what: finding.result for what, finding in found.items()}
    assert results == dict.fromkeys(results, "yes") | {"thinks first": "no"} and len(results) == 7
    assert found["log-probabilities"].found == "A 0.700, B 0.200"
    assert found["reads a long text"].found.endswith("tokens; finds a fact in it")


def test_an_endpoint_that_cuts_prompts_off_is_found_out():
    with LoopbackEndpoint(answer, more=lambda body: {"usage": {"prompt_tokens": 2050}}) as endpoint:
        found = findings(endpoint)
    assert found["reads a long text"].result == "failed"
    assert found["reads a long text"].found.startswith("it read 2,050 of about 6,")
    assert (found["window"].result, found["window"].found) == ("no", "not told")


@pytest.mark.slow
def test_weights_are_probed_in_the_same_way(tmp_path):
    model = TransformersModel(str(make_tiny_model(tmp_path / "m", "The brass key is here. " * 200, window=1024)))
    found = {finding.what: finding for finding in probe(model)}
    assert found["window"].found == "1,024 tokens" and found["log-probabilities"].result == "yes"
    assert found["reads a shared text once"].result == "yes" and found["reads a long text"].result == "yes"


def test_the_doctor_says_what_is_here_and_that_a_model_cannot_be_used():
    with LoopbackEndpoint(script=lambda number, body: Fault("status", 401, words="no such key")) as endpoint:
        done = script("eval_scripts/doctor.py", "--model", "openai:tiny", "--base-url", endpoint.url)
    assert done.returncode == 1 and "no such key" in done.stdout and "extra models" in done.stdout
    assert "a run could not use openai:tiny as it is" in done.stdout and "Traceback" not in done.stderr
