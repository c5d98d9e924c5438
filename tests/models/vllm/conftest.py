"""A real engine on the CPU with a tiny model; the folder is not called vllm, or `import vllm` would find it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from epbench.models.vllm import VllmModel
from epbench.tulving.dataset.build import Recipe, make_book
from tests.tiny_model import make_tiny_model

WINDOW = 32768
ENGINE_ENV = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GB
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine in this process starts in half the time
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
}
SERVER_READY_S = 300  # 20 s on an idle machine with two cores


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # vLLM and what it imports warn of their own affairs.
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def book() -> str:
    return make_book(Recipe("short")).book()


@pytest.fixture(scope="session")
def tiny(book: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", book, window=WINDOW)


@pytest.fixture(scope="session")
def ending(book: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that ends its answers, as scripts expect: what runs out of tokens is a failure to them."""
    return make_tiny_model(tmp_path_factory.mktemp("ending") / "model", book, window=WINDOW, ends=True)


@pytest.fixture(scope="session")
def model(tiny: Path) -> Iterator[VllmModel]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENGINE_ENV.items():
            patch.setenv(name, value)
        yield VllmModel(str(tiny), dtype="float32", engine_args={"enforce_eager": True, "max_num_seqs": 32})


@pytest.fixture(scope="session")
def server(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of vLLM's own server, which knows the model as `tiny`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", port]
    command += ["--model", str(tiny), "--served-model-name", "tiny", "--dtype", "float32", "--enforce-eager"]
    command += ["--max-num-seqs", "8", "--enable-prompt-tokens-details"]
    command += ["--structured-outputs-config", '{"backend": "guidance", "disable_any_whitespace": true}']
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, env=os.environ | ENGINE_ENV, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(60)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + SERVER_READY_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"no server after {SERVER_READY_S} s: {log.read_text()[-2000:]}")
