"""The endpoint model against a server that is not ours: `transformers serve` with a tiny model."""

import os
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

from epbench.models.openai.model import EndpointModel
from epbench.models.protocol import Request, Sampling
from tests.loopback import wait_until
from tests.tiny_model import make_tiny_model

BOOK = "Zoe Brown sang at High Line on May 07, 2024. " * 50


def answers(url: str) -> bool:
    try:
        urlopen(url, timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def served_model(tmp_path_factory):
    """Address and name of a tiny model behind `transformers serve`."""
    home = tmp_path_factory.mktemp("served")
    (home / "hub").mkdir()
    model = make_tiny_model(home / "tiny", BOOK, chat=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = f"-m transformers.cli.transformers serve {model} --port {port} --host 127.0.0.1 --device cpu".split()
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, *command],
            env=os.environ | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/health") or server.poll() is not None, 180)
        assert server.poll() is None, (home / "log").read_text()
        yield f"http://127.0.0.1:{port}/v1", str(model)
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.slow
def test_a_real_server_answers(served_model):
    url, name = served_model
    model = EndpointModel(name, base_url=url, timeout_s=60)
    few = Sampling(max_tokens=5)
    requests = [Request(str(i), "You read.", BOOK, f"Question {i}?", few, keep_cut=True) for i in range(3)]
    requests.append(Request("labels", "", "book", "A or B?", labels=("A", "B"), sampling=Sampling(max_tokens=1)))
    got = {reply.id: reply for reply in model.answer(requests)}
    assert [reply.failure for reply in got.values()] == [None] * 4
    assert all(reply.usage.prompt > 0 and reply.usage.completion > 0 for reply in got.values())
    assert got["labels"].probabilities is None  # it gives no logprobs
    (again,) = model.answer(requests[:1])
    assert again.text == got[again.id].text  # greedy
