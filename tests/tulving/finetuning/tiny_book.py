"""A dataset with a handful of questions, of which some are trained, and a tiny model that knows its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from epbench.hub.dataset_folder import write_dataset
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.dataset.schema import configs_of
from epbench.tulving.questions.generate import Question
from tests.tiny_model import make_tiny_model

N_TRAINED, N_EMPTY, N_OTHERS = 12, 3, 2
TITLE = "The days of short, seed 0"


def write_tiny_book(folder: Path, reword: Callable[[Question], Question] = lambda question: question) -> Path:
    """Write a book of four chapters that asks 8 of its 12 trained questions and 5 that are not trained.

    Args:
        folder: Of the dataset.
        reword: Changes the questions that are asked.
    """
    book = make_book(Recipe("short", events=4, universe_size=20))
    short = [question for question in book.questions if question.trace != "full_details" and question.get == "all"]
    about_one = [one for one in short if one.n_chapters == 1]
    trained = about_one[:: len(about_one) // N_TRAINED][:N_TRAINED]  # of all kinds
    empty = list(islice((one for one in short if one.n_chapters == 0), N_EMPTY))
    others = list(islice((one for one in short if one.n_chapters >= 2), N_OTHERS))
    assert (len(trained), len(empty), len(others)) == (N_TRAINED, N_EMPTY, N_OTHERS)
    asked = [reword(question) for question in [*trained[:8], *empty, *others]]
    write_dataset(
        folder, configs_of(replace(book, questions=[*trained, *empty, *others], selected=asked)), "# A tiny book\n"
    )
    return folder


def write_tiny_model(folder: Path, *, ends: bool = True) -> Path:
    """Write a model that ends each answer after one token, or none of them."""
    book = make_book(Recipe("short", events=4, universe_size=20))
    return make_tiny_model(folder, book.book() + " ".join(one.question for one in book.selected), ends=ends)
