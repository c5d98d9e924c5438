from pathlib import Path

import pytest

from epbench.files.cache import cache_folder

HOME = Path.home() / ".cache" / "epbench"


@pytest.mark.parametrize("name", ["", "gutenberg", "passports", "vectors"])
def test_without_the_variable_it_lies_in_the_home_folder(name, monkeypatch):
    for value in (None, ""):
        monkeypatch.delenv("EPBENCH_CACHE", raising=False)
        if value is not None:
            monkeypatch.setenv("EPBENCH_CACHE", value)
        assert cache_folder(name) == HOME / name


def test_the_variable_chooses_the_root(monkeypatch, tmp_path):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    assert cache_folder("gutenberg") == tmp_path / "gutenberg"
    assert cache_folder("passports") == tmp_path / "passports"
    assert cache_folder("vectors") == tmp_path
    monkeypatch.setenv("EPBENCH_CACHE", "~/elsewhere")
    assert cache_folder("gutenberg") == Path.home() / "elsewhere" / "gutenberg"
