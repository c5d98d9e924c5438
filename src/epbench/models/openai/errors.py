"""What went wrong with a call to an endpoint, and whether to try again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.errors import RunFailed
from epbench.models.openai.address import shown
from epbench.models.openai.concurrency import retry_after_s
from epbench.models.openai.wire import NoJson, ReplyTooLarge, error_words

if TYPE_CHECKING:
    from openai import APIStatusError

OVERLOADED = frozenset([429, 503, 529])
_TIMED_OUT = frozenset([408, 504])
_TURNED_AWAY = frozenset([401, 403])
MAX_GIVEN_UP = 8  # requests in a row
MAX_TURNED_AWAY = 3  # requests in a row with the same words


@dataclass(eq=False)
class Fault(Exception):
    """A call without an answer.

    Attributes:
        reason: begins with the HTTP status if there is one, and quotes the endpoint in full.
        passing: whether the same request may succeed later.
        overload: whether fewer open requests would help.
        wait_s: seconds that the endpoint asks all requests to wait; None if it does not.
        refused: whether the endpoint rejects the request itself, so that another wording may help.
        closed: whether the key or the address is wrong, so that every other request would fail as well.
    """

    reason: str
    passing: bool = True
    overload: bool = False
    wait_s: float | None = None
    refused: bool = False
    closed: bool = False


class Outage:
    """Counts requests that failed in a row, so that a run that cannot succeed ends instead of failing at every question."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._given_up = self._turned_away = 0
        self._words = ""

    def over(self) -> None:
        """Note that the endpoint answered, or rejected one request only."""
        self._given_up = self._turned_away = 0

    def failed(self, fault: Fault, words: str) -> None:
        """Note that a request has failed for good.

        Args:
            fault: what was wrong in its last attempt.
            words: the reason, in a form that a message can quote.

        Raises:
            RunFailed: `MAX_GIVEN_UP` requests in a row failed in all their attempts, or `MAX_TURNED_AWAY` in a row were
                turned away with the same words.
        """
        if not (fault.passing or fault.closed):
            return self.over()
        if fault.passing:
            self._given_up, self._turned_away = self._given_up + 1, 0
        else:
            self._given_up, self._turned_away = 0, self._turned_away + 1 if words == self._words else 1
        self._words = words
        if self._turned_away >= MAX_TURNED_AWAY:
            self.over()
            raise RunFailed(
                f"{self._name}: the endpoint turned away {MAX_TURNED_AWAY} requests in a row: {words}; check "
                "OPENAI_API_KEY and the base URL, then start the run again: all answers so far are kept"
            )
        if self._given_up >= MAX_GIVEN_UP:
            self.over()
            raise RunFailed(
                f"{self._name}: {MAX_GIVEN_UP} requests in a row got no answer in any of their attempts, the last: "
                f"{words}; all answers so far are kept: start the run again when the endpoint works, with a longer "
                "timeout of requests if it is slow"
            )


def fault_of(error: Exception, timeout_s: float) -> Fault:
    """Find the fault behind an exception of the client, or of reading its answer.

    The statuses 429 and 5xx, timeouts, broken connections and answers that are not JSON may pass. Any other status, even
    a redirect, does not, and neither does JSON that is not a chat completion or a reply that is too large.
    """
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Fault(f"no answer within {timeout_s:g} s", overload=True)
    if isinstance(error, openai.APIStatusError):
        return _fault_of_status(error)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        if isinstance(cause, ReplyTooLarge):
            return Fault(str(cause), passing=False)
        return Fault(f"connection failed: {str(cause) or type(cause).__name__}" if cause else "connection failed")
    return Fault(str(error) or type(error).__name__, passing=isinstance(error, NoJson))


def _fault_of_status(error: APIStatusError) -> Fault:
    status, text = error.status_code, error.response.text
    if 300 <= status < 400:
        where = shown(error.response.headers.get("location", "")) or "an address that it does not name"
        return Fault(f"{status} redirects to {where}; no redirect is followed", passing=False, closed=True)
    # A used-up quota has the status of a rate limit, but it does not come back by itself.
    passing = (status == 429 and "insufficient_quota" not in text) or status >= 500 or status in _TIMED_OUT
    return Fault(
        f"{status} {error_words(text) or error.response.reason_phrase}",
        passing=passing,
        refused=not passing and status != 429,
        closed=status in _TURNED_AWAY,
        overload=status in OVERLOADED | _TIMED_OUT,
        wait_s=retry_after_s(error.response.headers),
    )
