"""Book-SORT in a harness: the requests of our own evaluation, and the answer that log-likelihoods stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import LABELS, requests_for
from epbench.booksort.dataset.load import Pair, load_pairs
from epbench.booksort.judging.answers import predicted
from epbench.models.protocol import Request


@lru_cache(maxsize=16)
def load(name: str, config: str) -> Mapping[str, Pair]:
    """Return the pairs of a config by their ids; they are read once."""
    return {pair.id: pair for pair in load_pairs(name, [config])}


@lru_cache(maxsize=16)
def requests(name: str, config: str, memory: str) -> Mapping[str, Request]:
    """Return what our own evaluation asks with its usual prompt, by the id of the pair; `memory` is `in-context` or `none`.

    Raises:
        BadInput: The dataset or the config does not exist, or a row is wrong.
    """
    pack = load_prompts()
    asked = requests_for(memory, list(load(name, config).values()), pack, pack.usual)
    return {request.id: request for request in asked}


def answer_of(log_likelihoods: Sequence[float], greedy: Sequence[bool] = ()) -> Literal["A", "B", "X"]:
    """Return the answer, as our own evaluation reads it from the log-likelihoods of A and of B, in nats.

    If they are equal, the label that is the most probable next token of all (`greedy`) decides; else it is X, which is
    wrong.
    """
    most_likely = max(log_likelihoods)
    shares = [1.0 if value == most_likely else math.exp(value - most_likely) for value in log_likelihoods]
    greedy_labels = [label for label, most in zip(LABELS, greedy, strict=False) if most]
    return predicted({"answer": "".join(greedy_labels), "probabilities": dict(zip(LABELS, shares, strict=True))})


def is_failed(log_likelihoods: Sequence[float]) -> bool:
    """Return whether a number is missing, as from a model whose arithmetic overflows: then there is no answer."""
    return any(map(math.isnan, log_likelihoods))


def label_mass(log_likelihoods: Sequence[float]) -> float:
    """Return the probability that the next token is A or B at all, 0 to 1."""
    return math.fsum(map(math.exp, log_likelihoods))
