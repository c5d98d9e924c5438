import math
from dataclasses import replace

import pytest

from epbench.models.estimate import check_window, estimate
from epbench.models.load import load_model
from epbench.models.protocol import Request, Sampling
from epbench.runs.usage import token_usage
from tests.refusals import refusal


class Sized:
    """Counts words; its window is given."""

    def __init__(self, window, name="hf:sized"):
        self._window, self.name, self.costs_nothing = window, name, name == "lexical"

    def window(self):
        return self._window

    def count_tokens(self, request):
        shared = len(request.context.split())
        return shared + len(request.question.split()), shared


def requests(context_words, n=4, max_tokens=10):
    return [Request(str(i), "", "w " * context_words, "why is it", Sampling(max_tokens)) for i in range(n)]


def test_a_shared_context_is_counted_once():
    found = estimate([*requests(100, 4), *requests(50, 2)], Sized(None))
    assert (found.requests, found.contexts, found.uncached, found.cached) == (6, 2, 100 + 50 + 18, 300 + 50)
    assert (found.completion, found.longest) == (60, 113)
    assert "6 requests over 2 contexts" in found.lines()[0]


def test_repeats_multiply_and_text_to_come_is_added():
    once = [*requests(100, 4), *requests(50, 2)]
    written = [replace(request, question="why is it not so", repeat=n) for request in once for n in range(3)]
    assert estimate(once, Sized(None), repeats=3, more=2) == estimate(written, Sized(None))


def test_what_does_not_fit_is_refused_with_both_numbers_and_what_would():
    others = {"rag-chapter": lambda: requests(30), "rag-paragraph": lambda: requests(90), "none": lambda: requests(0)}
    said = "up to 113 tokens, the window of hf:sized has 80; these memories fit: rag-chapter, none"
    assert said in refusal(check_window, requests(100), Sized(80), others)
    assert "no memory fits" in refusal(check_window, requests(100), Sized(5), others)
    assert check_window(requests(100), Sized(113), others) is None


def test_an_unknown_window_is_a_warning_unless_rules_read_any_length():
    assert "the window of openai:x is unknown" in check_window(requests(100), Sized(None, "openai:x"), {})
    assert "about 113 tokens" in check_window(requests(100), Sized(None, "hf:x"), {})
    assert check_window(requests(100), Sized(None, "lexical"), {}) is None


def test_the_usage_adds_up():
    answers = [
        {"usage": {"prompt": 100, "cached": 0, "completion": 5}, "seconds": 1.0, "served": "m-1"},
        {"usage": {"prompt": 100, "cached": 90, "completion": 5}, "seconds": 0.5, "served": "m-1"},
        {"failure": "429", "seconds": 0.5, "served": "m-2"},
    ]
    assert token_usage(answers) == {
        "requests": 3, "failed": {"429": 1}, "looped": 0, "served": {"m-1": 2}, "prefilled": 110, "saved": 90, "generated": 10, "hit_rate": 0.45,
        "seconds": 2.0, "tokens_per_second": 105.0,
    }  # fmt: skip
    assert token_usage([])["tokens_per_second"] is None


@pytest.mark.parametrize("name", ["gpt-4", "hf:", "lexical", "lexical:x", "foo:bar"])
def test_an_unknown_model_is_refused_with_the_kinds(name):
    assert "vllm:PATH_OR_ID" in refusal(load_model, name)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0,), "max_tokens: expected at least 1, got 0"),
        ((10**30,), "max_tokens: expected at most 10,000,000, got 1,000,000,000"),
        ((5, -1.0), "temperature: expected a finite number of at least 0, got -1.0"),
        ((5, math.nan), "temperature: expected a finite number of at least 0, got nan"),
        ((5, math.inf), "temperature: expected a finite number of at least 0, got inf"),
    ],
)
def test_sampling_out_of_range_is_refused(values, message):
    assert refusal(Sampling, *values).startswith(message)
