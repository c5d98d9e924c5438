"""A Hub on loopback, processes whose Hub it is, and a small dataset to publish there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from epbench.hub.card import card
from epbench.hub.dataset_folder import Config, write_dataset
from tests.hub.hub_double import HubDouble
from tests.scripts.in_process import script

PUBLISH = Path(__file__).parents[2] / "builders" / "publish.py"


def diary(parent, answers):
    """A dataset of two configs, written as the folder `diary`, and what is in it."""
    from datasets import Features, List, Value

    ids = [f"q{i}" for i in range(len(answers))]
    first = Features({"id": Value("string"), "answers": List(Value("string")), "score": Value("float64")})
    second = Features({"id": Value("string"), "who": {"name": Value("string"), "age": Value("int64")}})
    configs = [
        Config("first", "test", first, {"id": ids, "answers": answers, "score": [i / 7 for i in range(len(ids))]}),
        Config("second", "train", second, {"id": ["e0"], "who": [{"name": "Zoë 🦊", "age": None}]}),
    ]
    made = card(configs, "# Diary", pretty_name="Diary", license="mit", tags=["test"])
    write_dataset(parent / "diary", configs, made)
    return parent / "diary", configs


@pytest.fixture
def hub():
    with HubDouble("lab") as double:
        yield double


@pytest.fixture
def python(hub, tmp_path):
    """Run Python with the double as its Hub, each time with caches of its own: `python("-c", CODE, HF_TOKEN=…)`."""
    homes = iter(range(100))

    def run(*args, **env):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        return subprocess.run(
            [sys.executable, *map(str, args)],
            env=clean | {"COLUMNS": "500"} | hub.environment(tmp_path / f"home-{next(homes)}") | env,
            cwd=tmp_path,  # a folder `lab/diary` in the working folder would go before the Hub
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def upload(hub, tmp_path, monkeypatch):
    """Publish folders of datasets on the double, in this process: `upload(FOLDER, "--force")`."""
    from huggingface_hub import close_session, constants
    from huggingface_hub.utils import disable_progress_bars

    for name, value in hub.environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    for name, of in {"ENDPOINT": hub.url, "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True}.items():
        monkeypatch.setattr(constants, name, of)
    close_session()  # which knows other proxies
    disable_progress_bars()
    return lambda *args: script("builders/publish.py --to hub --namespace lab", *args)
