"""Publishing to the local cache: no name changes its rows by accident."""

import errno
import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from epbench.hub.install import install_dataset, planned_install
from tests.full_disk import full_disk
from tests.hub.conftest import diary

LOAD = "from datasets import load_dataset; print(load_dataset('lab/diary', split='test')['id'][:])"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def publish(script, cache, monkeypatch):
    """Publish folders to a cache of this test's own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return lambda *args: script("builders/publish.py", *args, "--to", "cache", "--namespace", "lab")


@pytest.mark.slow
def test_other_rows_are_refused_without_force(publish, python, cache, tmp_path):
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


def test_one_refusal_comes_before_any_change(publish, cache, tmp_path):
    assert publish(diary(tmp_path / "one", [["b"]])[0]).returncode == 0
    new = diary(tmp_path / "two", [["a"]])[0].rename(tmp_path / "two" / "journal")
    changed, _ = diary(tmp_path / "three", [["c"]])
    done = publish(new, changed)
    assert (done.returncode, done.stdout) == (2, "")
    assert [path.name for path in cache.iterdir()] == ["lab___diary"]


def test_metrics_are_installed_once(script, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_MODULES_CACHE", str(tmp_path))
    to_cache = "builders/publish.py --metrics --to cache"
    assert 'would install: evaluate.load("episodic_f1")' in script(to_cache, "--dry-run").stdout
    assert 'installed: evaluate.load("episodic_f1")' in script(to_cache).stdout
    assert script(to_cache).stdout.count("already installed") == 4


def _found(config=None):
    """What `load_dataset("lab/diary", config)` finds in the cache without a network, before it reads any rows."""
    from datasets.packaged_modules.cache.cache import Cache

    return Cache(repo_id="lab/diary", dataset_name="diary", config_name=config, version="auto", hash="auto")


@pytest.mark.parametrize("config", [None, "first"])
def test_rows_that_were_found_before_a_replacement_can_be_read_after_it(publish, cache, tmp_path, config):
    one, two = (diary(tmp_path / rows, [[rows]])[0] for rows in ("one", "two"))
    publish(one)
    for before, folder in (("one", two), ("two", one), ("one", two)):
        found = _found(config)
        assert publish(folder, "--force").returncode == 0
        assert found.as_dataset("test")["answers"][:] == [[before]]
        assert _found(config).as_dataset("test")["answers"][:] == [[folder.parent.name]]
        assert len(list(cache.glob("*/first/*/*"))) == 2  # what is there, and what was there before
    assert len(list(cache.glob("*/second/*/*"))) == 1  # it has not changed
    assert planned_install(two, "lab").changes is False


def test_a_config_that_a_replacement_lacks_is_gone(publish, cache, tmp_path):
    one, two = (diary(tmp_path / rows, [[rows]])[0] for rows in ("one", "two"))
    publish(one)
    shutil.rmtree(two / "second")
    card = (two / "README.md").read_text().partition("- config_name: second")[0]
    (two / "README.md").write_text(f"{card}---\n")
    assert publish(two, "--force").returncode == 0
    assert not list(cache.glob("*/second"))


def test_no_reader_fails_while_rows_are_replaced(publish, tmp_path):
    one, two = (diary(tmp_path / rows, [[rows]])[0] for rows in ("one", "two"))
    publish(one)
    ended = Event()

    def read_on():
        read = set()
        while not ended.is_set():
            read.update(_found().as_dataset("test")["answers"][0])
        return read

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read_on)
        try:
            for folder in (two, one) * 4:
                install_dataset(folder, "lab")
        finally:
            ended.set()
    assert reading.result() == {"one", "two"}


def test_a_full_cache_is_named_and_keeps_what_it_had(publish, cache, tmp_path):
    one, two = (diary(tmp_path / rows, [[rows * 99]])[0] for rows in ("one", "two"))
    publish(one)
    with full_disk(1_000), pytest.raises(OSError) as error:
        install_dataset(two, "lab")
    assert error.value.filename == str(cache / "lab___diary") and error.value.errno == errno.EFBIG
    assert _found().as_dataset("test")["answers"][:] == [["one" * 99]]
    assert [path.name for path in cache.iterdir() if path.is_dir()] == ["lab___diary"]


def test_rows_that_cannot_be_read_are_refused_in_one_line(cache, publish, tmp_path):
    folder, _ = diary(tmp_path, [["a"] * 999])
    (file,) = (folder / "first").iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:4] + bytes(60) + content[64:])  # the beginning of the data
    done = publish(folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"error: {file}: its rows cannot be read (")
