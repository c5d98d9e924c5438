"""A Hub on loopback, and processes whose Hub it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.diaries import Python
from tests.hub.hub_double import HubDouble


@pytest.fixture
def hub() -> Iterator[HubDouble]:
    with HubDouble("lab") as double:
        yield double


@pytest.fixture
def python(hub: HubDouble, tmp_path: Path) -> Python:
    """Run Python with the double as its Hub, each time with caches of its own: `python("-c", CODE, HF_TOKEN=…)`."""
    homes = iter(range(100))

    def run(*args: object, **env: str) -> subprocess.CompletedProcess[str]:
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
