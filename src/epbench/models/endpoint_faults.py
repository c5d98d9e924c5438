"""What went wrong with a call to an endpoint, and whether to try again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.models.concurrency import retry_after_s
from epbench.models.endpoint_wire import error_words

if TYPE_CHECKING:
    from openai import APIStatusError

OVERLOADED = frozenset([429, 503, 529])
_TIMED_OUT = frozenset([408, 504])


@dataclass(eq=False)
class Fault(Exception):
    """A call that brought no answer.

    Attributes:
        reason: beginning with the status where there was one; it quotes the endpoint, as long as that is.
        passing: whether the same request may succeed later.
        overload: whether fewer requests at once would help.
        wait_s: seconds that the endpoint asks all to wait; None if it does not.
        refused: whether the endpoint finds fault with the request itself, so that another wording may help.
    """

    reason: str
    passing: bool = True
    overload: bool = False
    wait_s: float | None = None
    refused: bool = False


def fault_of(error: Exception, timeout_s: float) -> Fault:
    """The fault behind an exception of the client or of the reading of its answer.

    429 and 5xx, timeouts, cut connections and answers that are no JSON pass; every other status does not, nor does JSON
    that is no chat completion.
    """
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Fault(f"no answer within {timeout_s:g} s", overload=True)
    if isinstance(error, openai.APIStatusError):
        return _fault_of_status(error)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        return Fault(f"connection failed: {str(cause) or type(cause).__name__}" if cause else "connection failed")
    return Fault(str(error), passing=isinstance(error, ValueError))


def _fault_of_status(error: APIStatusError) -> Fault:
    status, text = error.status_code, error.response.text
    # Money that has run out does not come back by itself, though it has the status of a rate limit.
    passing = (status == 429 and "insufficient_quota" not in text) or status >= 500 or status in _TIMED_OUT
    return Fault(
        f"{status} {error_words(text) or error.response.reason_phrase}",
        passing=passing,
        refused=not passing and status != 429,
        overload=status in OVERLOADED | _TIMED_OUT,
        wait_s=retry_after_s(error.response.headers),
    )
