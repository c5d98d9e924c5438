"""What went wrong with a call to an endpoint, and whether to try again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.errors import RunFailed
from epbench.models.openai.address import shown
from epbench.models.openai.concurrency import retry_after_s
from epbench.models.openai.wire import NoJson, error_words

if TYPE_CHECKING:
    from openai import APIStatusError

OVERLOADED = frozenset([429, 503, 529])
_TIMED_OUT = frozenset([408, 504])
_NOT_LET_IN = frozenset([401, 403])
MOST_GIVEN_UP = 8  # requests in a row
MOST_NOT_LET_IN = 3  # requests in a row with the same words


@dataclass(eq=False)
class Fault(Exception):
    """A call that brought no answer.

    Attributes:
        reason: beginning with the status where there was one; it quotes the endpoint, as long as that is.
        passing: whether the same request may succeed later.
        overload: whether fewer requests at once would help.
        wait_s: seconds that the endpoint asks all to wait; None if it does not.
        refused: whether the endpoint finds fault with the request itself, so that another wording may help.
        closed: whether the key or the address is wrong, so that every other request would fare the same.
    """

    reason: str
    passing: bool = True
    overload: bool = False
    wait_s: float | None = None
    refused: bool = False
    closed: bool = False


class Outage:
    """Counts requests that failed in a row, to end a run that cannot succeed instead of failing question by question."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._given_up = self._not_let_in = 0
        self._words = ""

    def over(self) -> None:
        """The endpoint has answered, or has found fault with one request only."""
        self._given_up = self._not_let_in = 0

    def failed(self, fault: Fault, words: str) -> None:
        """A request has failed for good.

        Args:
            fault: of its last attempt.
            words: the reason, fit for a message.

        Raises:
            RunFailed: `MOST_GIVEN_UP` requests in a row failed after all their attempts, or `MOST_NOT_LET_IN` were
                not let in with the same words.
        """
        if not (fault.passing or fault.closed):
            return self.over()
        if fault.passing:
            self._given_up, self._not_let_in = self._given_up + 1, 0
        else:
            self._given_up, self._not_let_in = 0, self._not_let_in + 1 if words == self._words else 1
        self._words = words
        if self._not_let_in >= MOST_NOT_LET_IN:
            self.over()
            raise RunFailed(
                f"{self._name}: the endpoint turned away {MOST_NOT_LET_IN} requests in a row: {words}; check "
                "OPENAI_API_KEY and the base URL, then give the same command again: all answers so far are kept"
            )
        if self._given_up >= MOST_GIVEN_UP:
            self.over()
            raise RunFailed(
                f"{self._name}: {MOST_GIVEN_UP} requests in a row got no answer in any of their attempts, the last: "
                f"{words}; all answers so far are kept: give the same command again when the endpoint works, with a "
                "longer --request-timeout if it is slow"
            )


def fault_of(error: Exception, timeout_s: float) -> Fault:
    """The fault behind an exception of the client or of the reading of its answer.

    429 and 5xx, timeouts, cut connections and answers that are no JSON pass; every other status does not, redirects
    included, nor does JSON that is no chat completion.
    """
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Fault(f"no answer within {timeout_s:g} s", overload=True)
    if isinstance(error, openai.APIStatusError):
        return _fault_of_status(error)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        return Fault(f"connection failed: {str(cause) or type(cause).__name__}" if cause else "connection failed")
    return Fault(str(error) or type(error).__name__, passing=isinstance(error, NoJson))


def _fault_of_status(error: APIStatusError) -> Fault:
    status, text = error.status_code, error.response.text
    if 300 <= status < 400:
        where = shown(error.response.headers.get("location", "")) or "an address that it does not name"
        return Fault(f"{status} redirects to {where}; no redirect is followed", passing=False, closed=True)
    # Money that has run out does not come back by itself, though it has the status of a rate limit.
    passing = (status == 429 and "insufficient_quota" not in text) or status >= 500 or status in _TIMED_OUT
    return Fault(
        f"{status} {error_words(text) or error.response.reason_phrase}",
        passing=passing,
        refused=not passing and status != 429,
        closed=status in _NOT_LET_IN,
        overload=status in OVERLOADED | _TIMED_OUT,
        wait_s=retry_after_s(error.response.headers),
    )
