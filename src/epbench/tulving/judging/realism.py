"""How realistic the events of a book are, as a model judges them, for the comparison with other events (paper: Appendix E.7).

The texts of ours are in `data/realism.toml`. The judge rates the event, not the chapter that tells it. Without a model there
are no ratings, since no rule knows what is usual at a location. A folder keeps the ratings of a book.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast, get_args

from epbench.errors import BadInput, UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import read_pack
from epbench.files.typed import Whole, fields
from epbench.journals.answers import fingerprint_of
from epbench.journals.journal import Journal, Record
from epbench.judges.model import Ask, BaseModelJudge, Calls, object_schema
from epbench.judges.protocol import JudgeIdentity, about_judge, judge_open, key_of
from epbench.models.protocol import Model, Request, Sampling
from epbench.models.replies import last_object_with
from epbench.progress import Progress, no_progress
from epbench.runs.folder import open_run
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.universe import Event

Rating = Literal["Realistic", "Moderately realistic", "Somewhat realistic", "Non-realistic", "Impossible"]

RATINGS: tuple[Rating, ...] = get_args(Rating)
MAX_TOKENS = 512

_SCHEMA = object_schema({"rating": {"type": "string", "enum": list(RATINGS)}, "reason": {"type": "string"}})


def load_realism_prompts() -> dict[str, str]:
    """Load the texts of the judge: `system`, `rules`, `case` (around one event) and `repair`, if a reply could not be used."""
    return {name: text.strip("\n") for name, text in read_pack(packaged("epbench.tulving", "realism.toml")).items()}


@dataclass(frozen=True, slots=True)
class RatedEvent:
    """An event to be rated."""

    chapter: int  # the number of the chapter that tells it; the rating does not depend on it
    event: Event

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the rating depends on."""
        event = self.event
        return key_of(judge, event.day, event.space, event.entity, event.content, event.detail)


@dataclass(frozen=True, slots=True)
class RealismVerdict:
    """What the judge said of an event; the names of the fields are those in the journal."""

    rating: Rating
    reason: str


class RealismJudge(BaseModelJudge[RatedEvent, RealismVerdict]):
    """Rates events by a model, one call for each."""

    def __init__(self, model: Model) -> None:
        self.prompts = load_realism_prompts()
        prompt_hash = fingerprint_of([self.prompts, _SCHEMA])
        super().__init__(model, prompt_hash=prompt_hash, repair=self.prompts["repair"], max_tokens=MAX_TOKENS)

    def requests(self, inputs: Sequence[RatedEvent]) -> list[Request]:
        return [self._request(rated, f"chapter {rated.chapter}") for rated in inputs]

    def verdict_on(self, judge_input: RatedEvent, id_: str, ask: Ask) -> Calls[RealismVerdict]:
        return (yield from ask(self._request(judge_input, id_), read_rating))

    def _request(self, rated: RatedEvent, id_: str) -> Request:
        told = {name: getattr(rated.event, name) for name in ("space", "entity", "content", "detail")}
        case, rules = self.prompts["case"].format(date=rated.event.day, **told), self.prompts["rules"].format()
        return Request(id_, self.prompts["system"], rules, case, Sampling(self.max_tokens), schema=_SCHEMA)


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


# The ratings of a book

REALISTIC = RATINGS[:2]
"""The ratings of class R in the paper; the others are class N."""

JOURNAL, CALLS = "realism.jsonl", "judge_calls.jsonl"

_RECORD = fields(
    {"key": str, "chapter": Whole, "judge": str, "prompt_hash": str | None},
    {"setup": str, "rating": str, "reason": str, "failure": str | None},
    ("rating",),
    ("failure",),
)


class RatedBook(Protocol):
    """What must be known of a book whose events are rated: its dataset, its fingerprint in runs, and its chapters."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def chapters(self) -> Sequence[Chapter]: ...


def ratings_of(
    book: RatedBook, model: Model, folder: Path, progress: Progress = no_progress
) -> dict[int, Rating | None]:
    """Have a model rate the events of a book; what the folder holds already is not asked again.

    Every reply and every rating is in the folder before the next is awaited, so that a killed process loses none. A chapter
    has None where the judge failed, which the next start asks again. BadInput if the folder holds something else or another
    judge's ratings, or a prompt exceeds the model's window; RunFailed if its endpoint broke down or turned all requests away.
    """

    def describe(one: RatedEvent, seconds: float) -> Record:
        return {"chapter": one.chapter, "seconds": round(seconds, 4)}

    judge = RealismJudge(model)
    inputs = [RatedEvent(chapter.number, chapter.event) for chapter in book.chapters]
    judge.plan(inputs)
    identity = {"benchmark": "tulving", "realism_of": book.fingerprint, **about_judge(judge, "judge")}
    with open_run(folder, identity, {"book": book.name}):
        with closing(Journal(folder / JOURNAL, _RECORD)) as journal:
            judge_open(journal, inputs, judge, progress, "ratings", describe, folder / CALLS)
        found = {one.chapter: journal.records.get(one.key(judge), {}).get("rating") for one in inputs}
    if unknown := next((rating for rating in found.values() if rating not in (*RATINGS, None)), None):
        raise BadInput(f"{JOURNAL}, field 'rating': expected one of {', '.join(RATINGS)}, found {unknown!r}")
    return {chapter: cast("Rating | None", rating) for chapter, rating in found.items()}


def realism_of(chapters: Collection[int], ratings: Mapping[int, Rating | None]) -> str | None:
    """The group of a question in Table 24, by the ratings of the chapters that match its cue.

    `empty` without chapters, `mixed` with both classes; None if a missing rating leaves it open.
    """
    found = [ratings.get(chapter) for chapter in chapters]
    classes = {rating in REALISTIC for rating in found if rating is not None}
    if not found or len(classes) == 2:
        return "mixed" if found else "empty"
    return None if None in found else "realistic" if True in classes else "non-realistic"
