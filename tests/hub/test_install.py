"""Publishing to the local cache: no name changes its rows by accident."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hub.diaries import PUBLISH, Python, diary

Publish = Callable[..., "subprocess.CompletedProcess[str]"]

LOAD = "from datasets import load_dataset; print(load_dataset('lab/diary', split='test')['id'][:])"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def publish(script: Publish, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Publish folders to a cache of this test's own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return lambda *args: script("builders/publish.py", *args, "--to", "cache", "--namespace", "lab")


@pytest.mark.slow
def test_other_rows_are_refused_without_force(publish: Publish, python: Python, cache: Path, tmp_path: Path):
    folder, _ = diary(tmp_path / "one", [["a"]])
    other, _ = diary(tmp_path / "two", [["b"], ["c"]])
    assert publish(folder).stdout == 'installed: load_dataset("lab/diary")\n'
    cached = sorted(cache.rglob("*"))
    assert publish(folder).stdout == 'already installed: load_dataset("lab/diary")\n'

    refused = publish(other)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert refused.stderr.startswith("error: lab/diary is already installed with 2 rows (")
    assert f"), and {other} holds something else, 3 rows (" in refused.stderr and "--force" in refused.stderr
    shown = [line.split()[0] for line in publish(other, "--dry-run").stdout.splitlines() if line.startswith("  ")]
    assert [word for word in shown if not word.startswith("/")][:3] == ["changed", "unchanged", "needs"]
    assert sorted(cache.rglob("*")) == cached

    assert publish(other, "--force").returncode == 0
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(cache)}
    assert python("-c", LOAD, **offline).stdout == "['q0', 'q1']\n"


def test_one_refusal_comes_before_any_change(publish: Publish, cache: Path, tmp_path: Path):
    assert publish(diary(tmp_path / "one", [["b"]])[0]).returncode == 0
    new = diary(tmp_path / "two", [["a"]])[0].rename(tmp_path / "two" / "journal")
    changed, _ = diary(tmp_path / "three", [["c"]])
    done = publish(new, changed)
    assert (done.returncode, done.stdout) == (2, "")
    assert [path.name for path in cache.iterdir()] == ["lab___diary"]


@pytest.mark.slow
def test_metrics_are_installed_once(python: Python, tmp_path: Path):
    offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    to_cache = (PUBLISH, "--metrics", "--to", "cache")
    assert 'would install: evaluate.load("episodic_f1")' in python(*to_cache, "--dry-run", **offline).stdout
    assert 'installed: evaluate.load("episodic_f1")' in python(*to_cache, **offline).stdout
    assert python(*to_cache, **offline).stdout.count("already installed") == 4
