"""Several datasets in one process: a run for each, the weights loaded once, and everything checked before that."""

import shutil

import pytest

from epbench.models.hf.model import TransformersModel
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import scores_of
from tests.tiny_model import make_tiny_model

TEXT = "Segment A: the ferry. Segment B: the lamp. Answer: Segment A. On May 07, 2024 Zoe Brown sang. " * 60

COMMANDS = {
    "tulving": ["eval_scripts/tulving.py", "--memory", "rag-paragraph", "--limit", 6],
    "booksort": ["eval_scripts/booksort.py", "--memory", "rag", "--limit", 4],
    "memfail": ["eval_scripts/memfail.py", "--config", "long_hop", "--system", "verbatim-bm25", "--limit", 3],
}
SETS = {"tulving": "short", "booksort": "booksort", "memfail": "memfail"}


@pytest.fixture
def two(small_sets, tmp_path):
    """By benchmark, two datasets of different names and the same rows."""
    for name in SETS.values():
        shutil.copytree(small_sets / name, tmp_path / f"{name}-too")
    return {benchmark: (small_sets / name, tmp_path / f"{name}-too") for benchmark, name in SETS.items()}


@pytest.fixture
def loaded(monkeypatch):
    """The names of models whose weights were loaded."""
    names, whole = [], TransformersModel._with_weights
    monkeypatch.setattr(TransformersModel, "_with_weights", lambda model: names.append(model.name) or whole(model))
    return names


def asking(two, tmp_path, benchmark, **of_model):
    """A command that asks a tiny model about both datasets, without the folder for it."""
    tiny = make_tiny_model(tmp_path / "tiny", TEXT, ends=True, **of_model)
    return [*COMMANDS[benchmark], "--model", f"hf:{tiny}", "--dataset", *two[benchmark], "--out"]


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", COMMANDS)
def test_weights_are_loaded_once_for_all(two, tmp_path, loaded, benchmark):
    command = asking(two, tmp_path, benchmark)
    ran(*command, tmp_path / "r")
    assert loaded == [f"hf:{tmp_path / 'tiny'}"]
    scores = [scores_of(tmp_path / "r" / path.name) for path in two[benchmark]]
    assert scores[0] == scores[1]  # the rows are the same
    assert all(str(path) in (tmp_path / "r/table.md").read_text() for path in two[benchmark])
    ran(*command[:-2], "--out", tmp_path / "one")
    assert scores_of(tmp_path / "one") == scores[0]
    journals = {path: path.read_bytes() for path in (tmp_path / "r").glob("*/*.jsonl")}
    ran(*command, tmp_path / "r")  # resumed: nothing is asked again
    assert {path: path.read_bytes() for path in (tmp_path / "r").glob("*/*.jsonl")} == journals
    assert len(loaded) == 2


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", COMMANDS)
def test_what_cannot_be_is_refused(two, small_sets, tmp_path, benchmark):
    model = ["--model", "oracle"] if benchmark == "booksort" else []
    command = [*COMMANDS[benchmark], *model, "--out", tmp_path / "r"]
    first = two[benchmark][0]
    namesake = shutil.copytree(first, tmp_path / "elsewhere" / first.name)
    refused(script(*command, "--dataset", first, namesake), f"two datasets are called '{first.name}'")
    refused(script(*command, "--dataset", first, tmp_path / "missing"), "missing")
    assert not (tmp_path / "r").exists()  # the first was not run before the second was looked at
    ran(*command, "--dataset", first)
    refused(script(*command, "--dataset", *two[benchmark]), "holds the run on one dataset")


@pytest.mark.parametrize("benchmark", ["tulving", "booksort"])
def test_windows_are_checked_for_all_before_weights_are_loaded(two, tmp_path, loaded, benchmark):
    refused(script(*asking(two, tmp_path, benchmark, window=300), tmp_path / "r"), "the window of")
    assert not loaded and not (tmp_path / "r").exists()


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", COMMANDS)
def test_a_plan_covers_all(two, tmp_path, benchmark):
    said = ran(*asking(two, tmp_path, benchmark), tmp_path / "r", "--plan")
    assert all(f"{path}:" in "".join(said.split("\n")) for path in two[benchmark])
    assert said.count("prompt tokens") >= 2 and not (tmp_path / "r").exists()
