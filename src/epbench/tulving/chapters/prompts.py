"""The prompts of the models that write and check chapters (paper: Listings 7 and 8; `data/writing.toml` is ours)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Section, check_text, load_pack, placeholders, read_pack
from epbench.tulving.chapters.checks import facts_in_words, fault_of_form, paragraphs_with, split_paragraphs
from epbench.tulving.events.universe import Event, Layout, Universe
from epbench.tulving.levels.plan import ChapterPlan, paragraphs_by_fact
from epbench.tulving.scenes.patterns import pronouns_of

OWN = packaged("epbench.tulving", "writing.toml")


@dataclass(frozen=True)
class WritingPrompts:
    """The texts of writing.toml, where comments say which placeholders each must have; a kind of universe may have its own."""

    system: str
    chapter: str
    planned_chapter: str
    naming: str
    naming_once: str
    not_naming: str
    named_in_fixed: str
    told_date: str
    told_location: str
    told_entity: str
    told_content: str
    fixed_sentence: str
    side_deed: str
    none: str
    several_paragraphs: str
    one_paragraph: str
    in_one_of_several: str
    in_the_only_one: str
    retry: str
    check_system: str
    check: str
    planned_check: str
    genres: Mapping[str, str]
    faults: Mapping[str, str]
    facts: Mapping[str, str]
    chapter_news: str | None = None
    chapter_scifi: str | None = None

    def chapter_system(self, universe: Universe) -> str:
        """Return the system prompt of the writer."""
        return self.system.format(genre=self.genres[universe.kind])

    def chapter_prompt(self, event: Event, layout: Layout, universe: Universe, plan: ChapterPlan | None = None) -> str:
        """Return the prompt for one chapter, paragraph by paragraph; from level 2 on with its plan."""
        paragraphs = {part: getattr(layout, part) for part in ("time", "space", "entity", "content")}
        n = layout.n_paragraphs
        known = {
            "genre": self.genres[universe.kind],
            "deed": event.detail_in_sentence,
            "layout": self.one_paragraph if n == 1 else self.several_paragraphs.format(n_paragraphs=n),
            **{f"in_{part}": self._where(paragraph, layout) for part, paragraph in paragraphs.items()},
            "style": layout.style,
            "adjectives": ", ".join(universe.styles[layout.style]),
        }
        if plan is None:
            text: str = getattr(self, f"chapter_{universe.kind}", None) or self.chapter
            places = {f"n_{part}": paragraph for part, paragraph in paragraphs.items()}
            more = {"first_name": event.first_name, "event_lower": event.content.lower()}
            return text.format(**known, **_facts(event), **places, **more)
        planned = self._planned(event, layout, plan)
        told = "\n".join(
            getattr(self, f"told_{fact}").format(**known, **planned)
            for fact in ("date", "location", "entity", "content")
            if fact == "content" or fact not in plan.contrasted  # a fixed sentence tells the others
        )
        return self.planned_chapter.format(**known, **planned, told=told)

    def _planned(self, event: Event, layout: Layout, plan: ChapterPlan) -> dict[str, str]:
        words = pronouns_of(event.first_name)
        rule = self.not_naming if not plan.named else self.naming_once if plan.level >= 3 else self.naming
        if "content" in plan.contrasted:
            rule = self.named_in_fixed
        fixed = [self.fixed_sentence.format(paragraph=one.paragraph, text=one.text) for one in plan.fixed]
        deeds = [self.side_deed.format(number=number, deed=deed) for number, deed in enumerate(plan.deeds, 1)]
        naming = rule.format(event=event.content, what=plan.what, paragraph=layout.content)
        planned = {"hero": plan.hero, "she": words.subject, "her": words.object, "event": event.content}
        planned |= {"naming": naming, "fixed": "\n".join(fixed) or self.none, "deeds": "\n".join(deeds) or self.none}
        return planned | _plan_phrases(plan)

    def retry_prompt(
        self, failed: Sequence[str], text: str, event: Event, layout: Layout, plan: ChapterPlan | None = None
    ) -> str:
        """Return what is added to the prompt of a chapter after an attempt with this text that failed one or more checks."""
        faults = "\n".join(f"- {self.fault(check, text, event, layout, plan)}" for check in failed)
        return self.retry.format(faults=faults)

    def fault(self, check: str, text: str, event: Event, layout: Layout, plan: ChapterPlan | None = None) -> str:
        """Return a sentence on one failed check of an attempt: what was expected, and what was found."""
        kind, _, fact = check.partition("_")
        paragraphs = split_paragraphs(text)
        words = plan.words(event) if plan else facts_in_words(event)
        values = {"place": words["location"], "date": words["date"], "name": words["entity"], "event": event.content}
        values["what"] = plan.what if plan else ""
        if kind not in ("has", "single", "correct"):
            form = fault_of_form(text, layout.n_paragraphs)
            counts = {"n_found": len(paragraphs), "n_paragraphs": layout.n_paragraphs}
            return self.faults[check].format(**values, **counts, excerpt=form[1] if form else "")
        return self.faults[kind].format(
            fact=self.facts[fact].format(**values, deed=event.detail_in_sentence),
            found=" and ".join(f"({number})" for number in paragraphs_with(paragraphs, words)[fact]),
            where=self._where(paragraphs_by_fact(layout)[fact], layout),
        )

    def _where(self, paragraph: int, layout: Layout) -> str:
        if layout.n_paragraphs == 1:
            return self.in_the_only_one
        return self.in_one_of_several.format(paragraph=paragraph)

    def check_prompt(self, event: Event, chapter: str, plan: ChapterPlan | None = None) -> str:
        """Return the prompt for a check: four questions on a candidate."""
        if plan is not None:
            return self.planned_check.format(**_plan_phrases(plan), event=event.content, chapter=chapter)
        return self.check.format(**_facts(event), chapter=chapter)


def _facts(event: Event) -> dict[str, str]:
    return {"date": event.day, "place": event.space, "name": event.entity, "event": event.content}


def _plan_phrases(plan: ChapterPlan) -> dict[str, str]:
    return {"when": plan.when, "where": plan.where, "name": plan.name}


_EVENT = ["date", "place", "name", "event"]
_CHAPTER = [*_EVENT, "event_lower", "first_name", "deed", "genre", "style", "adjectives", "layout"]
_CHAPTER += [f"{in_}_{part}" for in_ in ("in", "n") for part in ("time", "space", "entity", "content")]
_CHAPTERS = ("chapter", "chapter_news", "chapter_scifi")
_NEEDS = {"check": ["chapter|"], "system": [], "retry": []}
_NEEDS |= {key: ["date|", "place|", "name|", "deed|"] for key in _CHAPTERS}
_MAY_HOLD = {"check": _EVENT, "system": ["genre"], "retry": ["faults"], **dict.fromkeys(_CHAPTERS, _CHAPTER)}
_TABLES = ("genres", "faults", "facts")


@cache
def load_writing_prompts(section: Section | None = None) -> WritingPrompts:
    """Return our prompts, or those of a file of wording, which have the placeholders and keys of ours, or those of `_NEEDS`."""
    own = read_pack(OWN)
    holds = {key: [f"{name}|" for name in placeholders(key, text)] for key, text in own.items() if key not in _TABLES}
    kinds = dict.fromkeys(_TABLES, dict[str, str])
    pack = load_pack(section or OWN, WritingPrompts, holds | _NEEDS, _MAY_HOLD, kinds=kinds)
    for name in _TABLES:
        may = [slot for text in own[name].values() for slot in placeholders(name, text)]
        for key, text in getattr(pack, name).items():
            if key not in own[name]:
                raise BadInput(f"{section}, key '{name}.{key}': unknown, expected one of {', '.join(own[name])}")
            check_text(f"{section}, key '{name}.{key}'", text, [], may)
    return pack
