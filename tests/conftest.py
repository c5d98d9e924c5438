"""What the tests share: an archive in the published layout, a book of ours, scripts run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from published_data import OURS

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"

# No test may reach the internet, and none may touch the user's own caches.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session", autouse=True)
def hf_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("hf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(home))
        patch.setenv("EPBENCH_CACHE", str(home / "vectors"))
        yield home


@pytest.fixture(scope="session")
def script(hf_home: Path) -> Script:
    """Run one of our scripts: `script("builders/tulving.py", "--book", "short", …)`."""

    def run(name: str, *args: object, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / name), *map(str, args)],
            cwd=cwd,
            env=os.environ
            | {"HF_HOME": str(hf_home), "EPBENCH_CACHE": str(hf_home / "vectors"), "COLUMNS": "100"}
            | env,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture(scope="session")
def short_book(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset `short`, built by the builder."""
    out = tmp_path_factory.mktemp("books")
    done = script("builders/tulving.py", "--book", "short", "--out", out)
    assert done.returncode == 0, done.stderr
    return out / "short"


@pytest.fixture(scope="session")
def released() -> Path:
    """An archive in the published layout that is in the repository: one short book with three runs."""
    return OURS
