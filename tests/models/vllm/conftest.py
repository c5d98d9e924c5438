"""A real engine on the CPU with a tiny model; the folder is not called vllm, or `import vllm` would find it."""

from __future__ import annotations

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
