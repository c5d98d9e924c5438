"""Tells whether what a model generated is an answer. A lost answer is a failure, never an abstention."""

from __future__ import annotations

from dataclasses import replace

from epbench.models.json_replies import is_whole_json
from epbench.models.loops import text_of_first_round
from epbench.models.protocol import Reply, Request


def as_answered(request: Request, reply: Reply, *, cut: bool, thought: bool = False) -> Reply:
    """Return the reply unchanged if it has an answer, else as a failure with the reason.

    A text that was cut off is an answer only if it is complete JSON, if the request keeps cut texts, if a label is
    wanted, which comes at the beginning, or if it goes in circles although free text was wanted: with greedy decoding,
    neither more tokens nor another try would make it say anything new. It then loses its repetitions.
    An empty text is no answer, unless the probabilities of the labels are known.

    Args:
        request: the request that was answered.
        reply: what came, with text, reasoning and the token counts as far as they are known.
        cut: whether generation ended because the tokens ran out.
        thought: whether the model is known to have reasoned although the reply does not show it.
    """
    if not reply.text and reply.probabilities is None:
        reason = _why_empty(request, reply, cut, thought or bool(reply.reasoning))
        return replace(reply, failure=reason, ended="length" if cut else "empty")
    if not cut or reply.probabilities is not None:
        return reply
    if request.keep_cut or request.labels or is_whole_json(reply.text):
        return replace(reply, ended="length")
    if may_loop(request) and (said := text_of_first_round(reply.text)):
        return replace(reply, text=said, ended="loop")
    return replace(reply, failure=f"the answer was cut off: {_spent(request, reply)}", ended="length")


def may_loop(request: Request) -> bool:
    """Whether an answer that goes in circles is one: free text, decoded greedily."""
    free = not (request.labels or request.keep_cut) and request.schema is None
    return free and request.sampling.temperature == 0


def _why_empty(request: Request, reply: Reply, cut: bool, thought: bool) -> str:
    if not cut:
        return "the model gave no answer after its thinking" if thought else "the reply is empty"
    if not thought:
        return f"the reply is empty: {_spent(request, reply)}"
    if _stopped_early(request, reply):
        return f"the model was cut off while it was thinking: {_spent(request, reply)}"
    return f"the model used all {_most(request)} for thinking and gave no answer"


def _spent(request: Request, reply: Reply) -> str:
    if _stopped_early(request, reply):  # without its number of tokens, so that equal reasons are counted together
        return f"the model's window or another limit ended it before the {_most(request)} it may have"
    return f"it used all {_most(request)} it may have"


def _stopped_early(request: Request, reply: Reply) -> bool:
    return 0 < reply.usage.completion < request.sampling.max_tokens


def _most(request: Request) -> str:
    n = request.sampling.max_tokens
    return f"{n:,} token{'' if n == 1 else 's'}"
