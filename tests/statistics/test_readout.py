"""A read-out finds what has the same form in every book, and nothing that only one book has."""

import numpy as np
import pytest

from epbench.errors import BadInput
from epbench.statistics.readout import cross_validated_readout

BOOKS, PER_BOOK, WIDTH = 6, 80, 40


def made(seed):
    """Features that say nothing, random right answers as 1 (A) or -1 (B), and the book of each question."""
    random = np.random.default_rng(seed)
    books = np.repeat(np.arange(BOOKS), PER_BOOK)
    features = random.normal(size=(BOOKS * PER_BOOK, WIDTH)) + random.normal(size=(BOOKS, WIDTH))[books]
    return features, random.choice([1, -1], len(books)), books


def read_out(features, answers, books):
    return cross_validated_readout(features, ["A" if answer > 0 else "B" for answer in answers], books.tolist())


def test_a_direction_that_all_books_share_is_found():
    features, answers, books = made(0)
    found = read_out(features + 3.0 * np.outer(answers, np.full(WIDTH, WIDTH**-0.5)), answers, books)
    assert found.accuracy > 0.9 and found.interval[0] > 0.85 and min(found.by_group.values()) > 0.85
    assert found.n == BOOKS * PER_BOOK and list(found.by_group) == list(range(BOOKS))
    assert found.accuracy == pytest.approx(np.mean(list(found.by_group.values())))  # the books have the same size


@pytest.mark.slow
def test_features_that_say_nothing_are_read_out_by_chance():
    found = [read_out(*made(seed)) for seed in range(20)]
    assert abs(np.mean([one.accuracy for one in found]) - 0.5) < 0.03
    assert sum(one.interval[0] <= 0.5 <= one.interval[1] for one in found) >= 15  # 18 are expected


def test_a_direction_of_one_book_does_not_transfer():
    """Questions of the same book would give it away: a layer that saw some of them finds it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_score

    features, answers, books = made(0)
    features = np.hstack([features, np.zeros((len(books), BOOKS))]) * 0.1
    features[np.arange(len(books)), WIDTH + books] = answers  # each book says its answers in a dimension of its own
    found = read_out(features, answers, books)
    assert abs(found.accuracy - 0.5) < 0.1
    shuffled = KFold(6, shuffle=True, random_state=0)
    assert cross_val_score(LogisticRegression(), features, answers, cv=shuffled).mean() > 0.9


def test_what_cannot_be_trained_is_named():
    features, answers, books = made(0)
    with pytest.raises(BadInput, match="trained on some books and tested on another: found 1, expected two"):
        read_out(features, answers, np.zeros_like(books))
    answers[books != 2] = 1
    with pytest.raises(BadInput, match="without group 2 all right answers are A; expected A and B"):
        read_out(features, answers, books)
