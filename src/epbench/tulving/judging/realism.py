"""A model that rates how realistic an event is, for the comparison of realistic with other events (paper: Appendix E.7).

The texts of ours are in `data/realism.toml`. The judge rates the event, not the chapter that tells it. Without a model there
are no ratings, since no rule knows what is usual at a location.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from epbench.errors import UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import load_pack
from epbench.journals.answers import fingerprint_of
from epbench.judges.model import Ask, BaseModelJudge, Calls
from epbench.judges.protocol import JudgeIdentity, key_parts
from epbench.models.json_replies import last_object_with
from epbench.models.protocol import Model, Request, Sampling
from epbench.tulving.events.events import Event

Rating = Literal["Realistic", "Moderately realistic", "Somewhat realistic", "Non-realistic", "Impossible"]

RATINGS: tuple[Rating, ...] = ("Realistic", "Moderately realistic", "Somewhat realistic", "Non-realistic", "Impossible")
MAX_TOKENS = 512

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"rating": {"type": "string", "enum": list(RATINGS)}, "reason": {"type": "string"}},
    "required": ["rating", "reason"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class RealismPrompts:
    """The texts of the judge."""

    system: str  # the system message
    rules: str  # the grades and the form of the reply; a blank line follows
    case: str  # text around one event: `{date}`, `{space}`, `{entity}`, `{content}`, `{detail}`
    repair: str  # follows the event if a reply could not be used: `{problem}`

    @property
    def hash(self) -> str:
        """Hash of everything the replies depend on: another hash is another judge."""
        return fingerprint_of([asdict(self), _SCHEMA])


def load_realism_prompts(path: Path | None = None) -> RealismPrompts:
    """Load our texts, or those of a TOML or JSON file with the same keys and placeholders; BadInput if it is not one."""
    holds = {"case": ["date", "space", "entity", "content", "detail"], "repair": ["problem"]}
    return load_pack(path or packaged("epbench.tulving", "realism.toml"), RealismPrompts, holds)


@dataclass(frozen=True, slots=True)
class RatedEvent:
    """An event to be rated."""

    chapter: int  # the number of the chapter that tells it; the rating does not depend on it
    event: Event

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the rating depends on."""
        event = self.event
        parts = (*key_parts(judge), event.day, event.space, event.entity, event.content, event.detail)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class RealismVerdict:
    """What the judge said of an event; the names of the fields are those in the journal."""

    rating: Rating
    reason: str


class RealismJudge(BaseModelJudge[RatedEvent, RealismVerdict]):
    """Rates events by a model, one call for each."""

    advice = "allow fewer tokens per reply, or choose another judge"

    def __init__(self, model: Model, prompts: RealismPrompts | None = None, *, max_tokens: int = MAX_TOKENS) -> None:
        self.prompts = prompts or load_realism_prompts()
        super().__init__(model, prompt_hash=self.prompts.hash, repair=self.prompts.repair, max_tokens=max_tokens)

    def requests(self, inputs: Sequence[RatedEvent]) -> list[Request]:
        """See `BaseModelJudge.requests`."""
        return [self._request(rated, f"chapter {rated.chapter}") for rated in inputs]

    def verdict_on(self, judge_input: RatedEvent, id_: str, ask: Ask) -> Calls[RealismVerdict]:
        """See `BaseModelJudge.verdict_on`."""
        return (yield from ask(self._request(judge_input, id_), read_rating))

    def _request(self, rated: RatedEvent, id_: str) -> Request:
        event, prompts = rated.event, self.prompts
        case = prompts.case.format(
            date=event.day, space=event.space, entity=event.entity, content=event.content, detail=event.detail
        )
        return Request(id_, prompts.system, prompts.rules.format(), case, Sampling(self.max_tokens), schema=_SCHEMA)


def read_rating(reply: str) -> RealismVerdict:
    """Read a reply, or raise UnusableReply; what surrounds the JSON, case, and blanks for hyphens do not matter."""
    reply_object = last_object_with(reply, "rating")
    value, reason = reply_object["rating"], reply_object.get("reason", "")
    grade = " ".join(value.replace("-", " ").split()).lower() if isinstance(value, str) else None
    rating = next((known for known in RATINGS if known.replace("-", " ").lower() == grade), None)
    if rating is None:
        shown = json.dumps(value, ensure_ascii=False)[:60]
        raise UnusableReply(f"the rating is {shown}, one of these is expected: {', '.join(RATINGS)}")
    return RealismVerdict(rating, reason if isinstance(reason, str) else "")
