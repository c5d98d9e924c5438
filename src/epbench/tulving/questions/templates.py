"""The question templates: which cue is given, which trace is asked for, and what to get.

The first 36 are those of the paper (Table 10): their numbers, cues, traces and what to get are the paper's, the wording is
ours. A new template goes to the end, since ids and stored answers depend on the numbers.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

ChapterTrace = Literal["times", "spaces", "entities", "contents", "other_entities", "full_details"]
"""What one chapter tells by itself."""
Trace = Literal[ChapterTrace, "causes", "states"]
Get = Literal["all", "latest", "chronological"]

CUE_LETTERS = "tsec"  # time, space, entity, content: in this order everywhere


class Template(NamedTuple):
    """One question template.

    Attributes:
        id: Its number, from 0.
        cue: The letters of the given elements.
        trace: What is asked for.
        get: `all` matches, the `latest` one, or all in `chronological` order.
        text: The wording, with `{t}`, `{s}`, `{e}`, `{c}` for the given elements and no others.
    """

    id: int
    cue: str
    trace: Trace
    get: Get
    text: str


_ROWS: tuple[tuple[str, Trace, Get, str], ...] = (
    ("t", "spaces", "all", "At which locations did anything happen on {t}? Name every location once and nothing else."),
    ("t", "entities", "all", "Who were the main characters of the events on {t}? Name each protagonist once."),
    ("t", "contents", "all", "What took place on {t}? Name every kind of event, leaving aside who came and where."),
    ("s", "times", "all", "On which dates did something happen at {s}? List every date once."),
    ("s", "entities", "all", "Who were the main characters of the events at {s}? Name each protagonist once."),
    ("s", "contents", "all", "What took place at {s}? Name every kind of event, leaving aside when and with whom."),
    ("e", "times", "all", "On which dates does {e} take part in an event? List every date once."),
    ("e", "spaces", "all", "At which locations does {e} take part in an event? Name every location once."),
    ("e", "contents", "all", "What does {e} take part in? Name every kind of event, leaving aside when and where."),
    ("c", "times", "all", "On which dates is there an event of the kind {c}? List every date once."),
    ("c", "spaces", "all", "At which locations is there an event of the kind {c}? Name every location once."),
    ("c", "entities", "all", "Who are the main characters of the events of the kind {c}? Name each protagonist once."),
    ("ts", "entities", "all", "Who was the main character of what happened at {s} on {t}? Name each protagonist once."),
    ("ts", "contents", "all", "What took place at {s} on {t}? Name every kind of event, leaving aside who came."),
    ("te", "spaces", "all", "At which locations was {e} on {t}? Name every location once."),
    ("te", "contents", "all", "What did {e} take part in on {t}? Name every kind of event, leaving aside where."),
    ("tc", "spaces", "all", "At which locations was there an event of the kind {c} on {t}? Name every location once."),
    ("tc", "entities", "all", "Who were the main characters of the {c} on {t}? Name each protagonist once."),
    ("se", "times", "all", "On which dates was {e} at {s}? List every date once."),
    ("se", "contents", "all", "What did {e} take part in at {s}? Name every kind of event, leaving aside when."),
    ("sc", "times", "all", "On which dates was there an event of the kind {c} at {s}? List every date once."),
    ("sc", "entities", "all", "Who were the main characters of the {c} at {s}? Name each protagonist once."),
    ("ec", "times", "all", "On which dates did {e} take part in the {c}? List every date once."),
    ("ec", "spaces", "all", "At which locations did {e} take part in the {c}? Name every location once."),
    ("tse", "contents", "all", "What did {e} take part in at {s} on {t}? Name every kind of event."),
    ("tsc", "entities", "all", "Who was the main character of the {c} at {s} on {t}? Name each protagonist once."),
    ("tec", "spaces", "all", "At which locations did {e} take part in the {c} on {t}? Name every location once."),
    ("sec", "times", "all", "On which dates did {e} take part in the {c} at {s}? List every date once."),
    (
        "tsec",
        "other_entities",
        "all",
        "Who else, besides {e}, appears at the {c} at {s} on {t}? Give their names only.",
    ),
    ("tsec", "full_details", "all", "Tell in full detail what happened to {e} at the {c} at {s} on {t}."),
    ("e", "times", "latest", "In the time of the story, on which date does {e} appear for the last time?"),
    ("e", "spaces", "latest", "In the time of the story, at which location does {e} appear for the last time?"),
    ("e", "contents", "latest", "In the time of the story, what is the last kind of event that {e} takes part in?"),
    ("e", "times", "chronological", "List the dates on which {e} appears, in chronological order."),
    ("e", "spaces", "chronological", "List the locations at which {e} appears, in chronological order of the visits."),
    ("e", "contents", "chronological", "List the kinds of event that {e} takes part in, in chronological order."),
)

TEMPLATES: tuple[Template, ...] = tuple(Template(i, *row) for i, row in enumerate(_ROWS))
PUBLISHED_TEMPLATES: tuple[Template, ...] = TEMPLATES[:36]
"""Those of the paper. Published questions and the calibration set are made of these alone, whatever is added later."""
CUES: tuple[str, ...] = tuple(dict.fromkeys(template.cue for template in TEMPLATES))
TEMPLATES_BY_CUE: dict[str, tuple[Template, ...]] = {
    cue: tuple(template for template in TEMPLATES if template.cue == cue) for cue in CUES
}

OUTCOME_TEMPLATES: tuple[Template, ...] = (
    Template(36, "se", "causes", "all", "What kind of event led to {e} no longer being let into {s}? Name the kind of event."),
    Template(37, "te", "states", "all",
             "Which belongings had {e} lost and not found again once the event on {t} was over? Name each of them."),
    Template(38, "e", "states", "all", "Which belongings has {e} still not found again at the end of all events? Name each."),
)  # fmt: skip
"""Those of books of level 5, which ask for causes and for the state of things."""
