from pathlib import Path

import pytest

from epbench.files.cache import cache_folder

HOME = Path.home()


@pytest.mark.parametrize(
    ("chosen", "name", "folder"),
    [
        ("", "", HOME / ".cache/epbench"),
        ("", "vectors", HOME / ".cache/epbench/vectors"),
        ("/a", "", Path("/a")),
        ("/a", "passports", Path("/a/passports")),
        ("/a", "vectors", Path("/a")),
        ("~/elsewhere", "gutenberg", HOME / "elsewhere/gutenberg"),
    ],
)
def test_the_variable_chooses_the_root(monkeypatch, chosen, name, folder):
    monkeypatch.setenv("EPBENCH_CACHE", chosen)
    assert cache_folder(name) == folder
