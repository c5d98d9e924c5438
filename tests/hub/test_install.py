"""Publishing to the local cache: no name changes its rows by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.diaries import PUBLISH, Python, diary

LOAD = "from datasets import load_dataset; print(load_dataset('lab/diary', split='test')['id'][:])"


@pytest.fixture
def offline(python: Python, tmp_path: Path) -> Python:
    """As `python`, without a network, and with one cache for all calls."""
    env = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    return lambda *args: python(*args, **env)


def test_other_rows_are_refused_without_force(offline: Python, tmp_path: Path):
    folder, _ = diary(tmp_path / "one", [["a"]])
    other, _ = diary(tmp_path / "two", [["b"], ["c"]])
    to_cache = ("--to", "cache", "--namespace", "lab")
    assert offline(PUBLISH, folder, *to_cache).stdout == 'installed: load_dataset("lab/diary")\n'
    cached = sorted(path for path in (tmp_path / "home").rglob("*") if "lab___diary" in str(path))
    assert offline(PUBLISH, folder, *to_cache).stdout == 'already installed: load_dataset("lab/diary")\n'

    refused = offline(PUBLISH, other, *to_cache)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert refused.stderr.startswith("error: lab/diary is already installed with 2 rows (")
    assert f"), and {other} holds something else, 3 rows (" in refused.stderr and "--force" in refused.stderr
    dry = offline(PUBLISH, other, *to_cache, "--dry-run")
    assert [line.split()[0] for line in dry.stdout.splitlines()] == ["lab/diary", "changed", "unchanged", "needs"]
    assert sorted(path for path in (tmp_path / "home").rglob("*") if "lab___diary" in str(path)) == cached

    assert offline(PUBLISH, other, *to_cache, "--force").returncode == 0
    assert offline("-c", LOAD).stdout == "['q0', 'q1']\n"


def test_one_refusal_comes_before_any_change(offline: Python, tmp_path: Path):
    folder, _ = diary(tmp_path / "one", [["a"]])
    other, _ = diary(tmp_path / "two", [["b"]])
    new = folder.rename(tmp_path / "one" / "journal")
    assert offline(PUBLISH, other, "--to", "cache", "--namespace", "lab").returncode == 0
    changed, _ = diary(tmp_path / "three", [["c"]])
    done = offline(PUBLISH, new, changed, "--to", "cache", "--namespace", "lab")
    assert (done.returncode, done.stdout) == (2, "")
    assert not list((tmp_path / "home").rglob("lab___journal"))


@pytest.mark.slow
def test_metrics_are_installed_once(offline: Python):
    dry = offline(PUBLISH, "--metrics", "--to", "cache", "--dry-run")
    assert 'would install: evaluate.load("episodic_f1")' in dry.stdout
    assert 'installed: evaluate.load("episodic_f1")' in offline(PUBLISH, "--metrics", "--to", "cache").stdout
    assert offline(PUBLISH, "--metrics", "--to", "cache").stdout.count("already installed") == 4
