"""The dataset card of a Tulving book: the values of `data/card.md.jinja`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from epbench.hub.card import filled_card
from epbench.hub.dataset_folder import Card, Config
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.loop import MOST_ATTEMPTS, Writing, failed_checks_of
from epbench.tulving.dataset.build import Recipe
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.universe_files import universe_name
from epbench.tulving.levels.plan import LEVELS
from epbench.tulving.questions.generate import BINS

_PARTS = ("time", "space", "entity", "content")


def made_card(made_by: str, recipe: Recipe, data: BookData, configs: Sequence[Config]) -> Card:
    """Return the card of a book that we made from a recipe, with the command that makes the same dataset again."""
    assert data.writing is not None, "the card of a released book is `released_card`"
    values = {"name": recipe.name, "made_by": made_by, "folder": "", "level": recipe.level}
    values |= {"universe": universe_name(recipe.universe), "universe_size": recipe.universe_size}
    return filled_card("epbench.tulving", configs, values | _of_book(data, configs) | _of_writing(data.writing))


def released_card(made_by: str, name: str, folder: str, data: BookData, configs: Sequence[Config]) -> Card:
    """Return the card of a published book, with the command that converts it and the name of its folder in the archive."""
    values = {"name": name, "made_by": made_by, "folder": folder, "level": 1, "checker": None}
    return filled_card("epbench.tulving", configs, values | _of_book(data, configs))


def _of_book(data: BookData, configs: Sequence[Config]) -> dict[str, Any]:
    events = [chapter.event for chapter in data.chapters]
    counts = [question.n_chapters for question in data.questions]
    selected = Counter(question.bin for question in data.selected)
    facts = (item for chapter in data.chapters for item in chapter.evidence.items())
    elsewhere = Counter(fact for fact, evidence in facts if evidence.links)
    return {
        "universe_hash": data.universe_hash,
        "n_chapters": len(data.chapters),
        "n_words": data.n_words,
        "first_day": min(event.time for event in events).isoformat(),
        "last_day": max(event.time for event in events).isoformat(),
        "n_distinct": [len({getattr(event, part) for event in events}) for part in _PARTS],
        "n_answerable": sum(n > 0 for n in counts),
        "n_empty": counts.count(0),
        "n_single": counts.count(1),
        "n_selected": len(data.selected),
        "bins": {bin_: selected[bin_] for bin_ in BINS},
        "levels": LEVELS,
        "n_parts": next(len(config.columns["title"]) for config in configs if config.name == "book"),
        # How many of the dates, locations, people and kinds of event another chapter tells.
        "elsewhere": {fact: elsewhere[fact] / len(data.chapters) for fact in ("date", "location", "entity", "content")},
        "example": max(data.chapters, key=_links),
    }


def _links(chapter: Chapter) -> tuple[int, int]:
    """By how many links the facts of a chapter follow at most; and its length, which decides between equals."""
    return max((evidence.links for evidence in chapter.evidence.values()), default=0), len(chapter.text)


def _of_writing(writing: Writing) -> dict[str, Any]:
    rounds = writing.iterations
    counts = ("candidates", "failed_exact", "failed_llm")
    summed: dict[str, Any] = {name: sum(getattr(iteration, name) for iteration in rounds) for name in counts}
    summed |= {"n": len(rounds), "failed_checks": failed_checks_of(rounds)}
    about = {name: getattr(writing, name) for name in ("writer", "checker", "description", "dropped", "ended_early")}
    return about | {"most_attempts": MOST_ATTEMPTS, "rounds": summed}
