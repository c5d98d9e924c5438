"""What the tests of the endpoint's reader share: a key that must not be printed, a model on loopback, a few questions."""

import pytest

from epbench.models.openai.model import EndpointModel
from epbench.models.protocol import Reply, Request
from tests.models.loopback_endpoint import LoopbackEndpoint

KEY = "sk-notARealKeyButOneThatMustNotBePrinted"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def model_of(endpoint: LoopbackEndpoint, **options) -> EndpointModel:
    options = {"timeout_s": 30, "backoff_base_s": 0.005} | options
    return EndpointModel("tiny", base_url=endpoint.url, **options)


def book(n: int, context: str = "the book", **options) -> list[Request]:
    return [Request(f"{context}-{i}", "You read.", context, f"question {context} {i}", **options) for i in range(n)]


def replies(endpoint: LoopbackEndpoint, requests: list[Request], **options) -> dict[str, Reply]:
    return {reply.id: reply for reply in model_of(endpoint, **options).answer(requests)}
