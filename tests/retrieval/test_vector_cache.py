import subprocess
import sys

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.errors import BadInput, RunFailed
from epbench.retrieval.dense import Dense, VectorCache, text_key
from tests.loopback import wait_until
from tests.retrieval.counting_embedder import CountingEmbedder, vector
from tests.scripts.in_process import ROOT

TEXTS = [f"text {i}" for i in range(12)]


def keyed(texts, name="counting"):
    return {text_key(name, text, query=False): vector(text) for text in texts}


def filled(folder, texts=TEXTS):
    cache = VectorCache(folder, "counting")
    for start in range(0, len(texts), 4):
        cache.add(keyed(texts[start : start + 4]))
    return cache


def right(found):
    """Whether every vector is the one of its key."""
    expected = keyed([*TEXTS, "new"])
    return all(np.array_equal(found[key], expected[key]) for key in found)


def test_a_second_index_embeds_only_what_is_new(tmp_path):
    first, second = CountingEmbedder(), CountingEmbedder()
    cache = VectorCache(tmp_path, "counting")
    before = list(Dense(["a", "b"], first, cache).search(["q", "a"], 2))
    again = VectorCache(tmp_path, "counting")
    assert list(Dense(["a", "b"], second, again).search(["q", "a"], 2)) == before
    assert first.embedded == [("a", False), ("b", False), ("q", True), ("a", True)] and second.embedded == []
    Dense(["b", "c"], second, again)
    assert second.embedded == [("c", False)]


def test_each_embedder_has_its_own_file_and_keys_tell_text_and_query_apart(tmp_path):
    other = CountingEmbedder("st:org/other@1")
    Dense(["a"], CountingEmbedder(), VectorCache(tmp_path, "counting"))
    Dense(["a"], other, VectorCache(tmp_path, other.name))
    assert other.embedded == [("a", False)] and len(list(tmp_path.glob("*.vectors"))) == 2
    keys = {text_key(e, t, query=q) for e in ("a", "ab") for t in ("b", "") for q in (True, False)}
    assert len(keys) == 8 and all(len(key) == 32 for key in keys)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000))
def test_a_file_cut_at_any_byte_keeps_every_whole_vector(tmp_path_factory, cut):
    cache = filled(tmp_path_factory.mktemp("cache"))
    whole = cache.path.read_bytes()
    cut = min(cut, len(whole))
    cache.path.write_bytes(whole[:cut])
    found = cache.read(keyed(TEXTS))
    assert len(found) == max(0, cut - 48) // (32 + 8 * 4 + 4) and right(found)
    cache.add(keyed(["new"]))
    assert right(cache.read(keyed([*TEXTS, "new"]))) and len(cache.read(keyed([*TEXTS, "new"]))) == len(found) + 1


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 863), st.integers(1, 255))
def test_a_damaged_byte_never_gives_a_wrong_vector(tmp_path_factory, place, flip):
    cache = filled(tmp_path_factory.mktemp("cache"))
    content = bytearray(cache.path.read_bytes())
    assert len(content) == 864
    content[place] ^= flip
    cache.path.write_bytes(content)
    found = cache.read(keyed(TEXTS))
    assert right(found) and len(found) == (0 if place < 48 else 11)
    cache.add(keyed(TEXTS))
    healed = cache.read(keyed(TEXTS))
    assert right(healed) and len(healed) == 12


@pytest.mark.parametrize("place", [3, 46, 60])
def test_damage_is_reported_once_and_repaired(tmp_path, place, caplog):
    cache = filled(tmp_path)
    content = bytearray(cache.path.read_bytes())
    content[place] ^= 255
    cache.path.write_bytes(content)
    embedder = CountingEmbedder()
    caplog.set_level("WARNING", "epbench")
    Dense(TEXTS, embedder, cache)
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "damaged" in caplog.text
    assert len(embedder.embedded) == (12 if place < 48 else 1)
    Dense(TEXTS, embedder, VectorCache(tmp_path, "counting"))
    assert len(caplog.records) == 1 and len(embedder.embedded) in (1, 12)


def test_a_foreign_file_of_that_name_is_no_cache(tmp_path):
    cache = VectorCache(tmp_path, "counting")
    cache.path.write_bytes(b"something else" * 100)
    assert cache.read(keyed(TEXTS)) == {}
    other = filled(tmp_path / "other")
    stranger = VectorCache(tmp_path, "stranger")
    stranger.path.write_bytes(other.path.read_bytes())
    assert stranger.read(keyed(TEXTS)) == {}


def test_vectors_of_another_size_begin_the_file_anew(tmp_path, caplog):
    filled(tmp_path)
    changed = CountingEmbedder(size=5)
    with pytest.raises(
        RunFailed, match="5 and 8 numbers, expected one size: the model behind this name has changed; start again"
    ):
        Dense([*TEXTS, "new"], changed, VectorCache(tmp_path, "counting"))
    assert "dropped vectors of 8 numbers" in caplog.text
    index = Dense([*TEXTS, "new"], changed, VectorCache(tmp_path, "counting"))
    assert [len(places) for places in index.search(["q"], 3)] == [3] and len(changed.embedded) == 1 + 12 + 1


WORK = """
import sys
from pathlib import Path
from epbench.retrieval.dense import Dense, VectorCache
from tests.retrieval.counting_embedder import CountingEmbedder
folder, start, end, seconds = sys.argv[1:]
texts = [f"text {i}" for i in range(int(start), int(end))]
Dense(texts, CountingEmbedder(batch_bytes=40, seconds=float(seconds)), VectorCache(Path(folder), "counting"))
"""


def work(*given):
    return subprocess.Popen([sys.executable, "-c", WORK, *map(str, given)], cwd=ROOT)


def test_what_a_killed_process_embedded_is_kept(tmp_path):
    process = work(tmp_path, 0, 400, 0.1)
    cache = VectorCache(tmp_path, "counting")
    wait_until(lambda: cache.path.exists() and cache.path.stat().st_size > 48 + 68 * 20)
    process.kill()
    process.wait()
    kept = (cache.path.stat().st_size - 48) // 68
    assert 20 <= kept < 400
    embedder = CountingEmbedder()
    texts = [f"text {i}" for i in range(400)]
    Dense(texts, embedder, cache)
    assert [text for text, _ in embedder.embedded] == texts[kept:]


def test_two_processes_share_a_file(tmp_path):
    together = [work(tmp_path, 0, 300, 0.001), work(tmp_path, 200, 500, 0.001)]
    assert [process.wait(60) for process in together] == [0, 0]
    texts = [f"text {i}" for i in range(500)]
    found = VectorCache(tmp_path, "counting").read(keyed(texts))
    assert len(found) == 500 and all(np.array_equal(found[key], v) for key, v in keyed(texts).items())


def test_an_unusable_folder_and_a_file_that_another_process_holds_are_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="EPBENCH_CACHE"):
        VectorCache(tmp_path / "file" / "below", "counting").read([b"x"])
    cache = filled(tmp_path)
    monkeypatch.setattr("epbench.retrieval.dense._LOCK_TIMEOUT_S", 0.1)
    with FileLock(f"{cache.path}.lock"), pytest.raises(RunFailed, match="another process"):
        cache.read([])
