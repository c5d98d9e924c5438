"""What a model is told that writes chapters and checks them (paper: Listings 7 and 8; `data/writing.toml` is ours)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from epbench.tulving.events import Event
from epbench.tulving.plans import Plan
from epbench.tulving.universe import Universe

OWN = Path(__file__).parent / "data" / "writing.toml"


@dataclass(frozen=True)
class WritingPrompts:
    """The texts of writing.toml, which says what each must hold."""

    system: str
    chapter: str
    several_paragraphs: str
    one_paragraph: str
    in_one_of_several: str
    in_the_only_one: str
    check_system: str
    check: str
    genres: Mapping[str, str]

    def chapter_system(self, universe: Universe) -> str:
        """What the writer is told to be."""
        return self.system.format(genre=self.genres[universe.kind])

    def chapter_prompt(self, event: Event, plan: Plan, universe: Universe) -> str:
        """What the writer is asked for: one chapter, paragraph by paragraph."""
        single = plan.n_paragraphs == 1

        def inside(paragraph: int) -> str:
            return self.in_the_only_one if single else self.in_one_of_several.format(paragraph=paragraph)

        return self.chapter.format(
            **_facts(event),
            genre=self.genres[universe.kind],
            first_name=event.first_name,
            deed=event.deed,
            layout=self.one_paragraph if single else self.several_paragraphs.format(n_paragraphs=plan.n_paragraphs),
            in_time=inside(plan.time),
            in_space=inside(plan.space),
            in_entity=inside(plan.entity),
            in_content=inside(plan.content),
            style=plan.style,
            adjectives=", ".join(universe.styles[plan.style]),
        )

    def check_prompt(self, event: Event, chapter: str) -> str:
        """What the checker is asked: four questions on a candidate."""
        return self.check.format(**_facts(event), chapter=chapter)


def _facts(event: Event) -> dict[str, str]:
    return {"date": event.day, "place": event.space, "name": event.entity, "event": event.content}


@cache
def load_writing_prompts() -> WritingPrompts:
    """Our prompts."""
    content = tomllib.loads(OWN.read_text("utf-8"))
    genres = content.pop("genres")
    return WritingPrompts(**{key: text.strip("\n") for key, text in content.items()}, genres=genres)
