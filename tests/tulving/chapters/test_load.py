"""From a name to a writer: models pay and are checked, writers that follow rules do neither, whatever their names."""

import json

import pytest

from epbench.tulving.chapters import load
from epbench.tulving.chapters.chapter import Description
from epbench.tulving.chapters.load import Checker, check_writer, load_writer
from epbench.tulving.chapters.model_writer import ModelWriter
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.events.universe import load_universe
from tests.refusals import refusal

UNIVERSE = load_universe()
BUILD = "builders/tulving.py"


class OwnWriter(TemplateWriter):
    """Other rules: it adds a sentence, and never finds words for the second event."""

    name = "own"
    description: Description | None = None

    def write(self, task):
        text = super().write(task)
        return "no" if task.number == 1 else f"{text} So it went."


@pytest.fixture(autouse=True)
def own_writer(monkeypatch):
    rules = {**load.RULE_WRITERS, "own": lambda universe, seed, level: OwnWriter(universe, seed=seed)}
    monkeypatch.setattr(load, "RULE_WRITERS", rules)


def test_writers_are_chosen_by_name(tmp_path):
    assert type(load_writer("template", UNIVERSE)) is TemplateWriter
    assert type(load_writer("own", UNIVERSE)) is OwnWriter
    assert isinstance(load_writer("hf:x", UNIVERSE, folder=tmp_path), ModelWriter)
    unknown = refusal(load_writer, "me", UNIVERSE)
    assert unknown.startswith("unknown writer 'me': expected template, own, hf:PATH_OR_ID, ")
    assert unknown.endswith(" or inspect:PROVIDER/NAME")
    assert refusal(load_writer, "hf:x", UNIVERSE).startswith("writer hf:x: expected a folder")
    assert refusal(load_writer, "hf:x", UNIVERSE, folder=tmp_path, max_tokens=0) == "max_tokens 0: expected at least 1"


@pytest.mark.parametrize("name", ["template", "own"])
def test_rules_have_no_checker(name):
    refused = refusal(check_writer, name, Checker("openai:x"))
    assert f"no model checks the chapters of the writer {name}; choose a model" in refused


def test_a_book_is_by_the_writer_that_its_recipe_names():
    own = make_book(Recipe("short", writer="own"))
    assert all(chapter.text.endswith("So it went.") for chapter in own.chapters) and own.title.endswith("by own")
    assert "writer openai:x: expected a folder" in refusal(make_book, Recipe("short", writer="openai:x"))


@pytest.mark.parametrize(
    ("description", "told"),
    [
        (None, "each chapter was composed by the rule-based writer `own`, without a language model."),
        (Description("sewn together", "It has seams."), "each chapter was sewn together."),
    ],
)
def test_a_card_calls_no_rules_a_model(script, tmp_path, monkeypatch, description, told):
    monkeypatch.setattr(OwnWriter, "description", description)
    done = script(BUILD, "--book", "short", "--writer", "own", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dropped: event 1 (" in done.stdout and [path.name for path in tmp_path.iterdir()] == ["short"]
    card = (tmp_path / "short/README.md").read_text()
    assert told in card and "The language model" not in card and "that model" not in card
    assert "`python builders/tulving.py --book short --writer own`" in card
    assert "Events without a chapter" in card and "The prose is composed from templates" not in card
    assert description is None or "It has seams. Compare scores" in card
    assert json.loads((tmp_path / "short/writing.json").read_text())["writer"] == "own"
