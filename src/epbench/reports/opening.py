"""How the page of a run begins and ends: what was measured and what came out, and at the end, folded, its settings.

Each headline score is a bar from 0 to 1 with its interval, and with marks for its floor and ceiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epbench.files.safe_text import html_text
from epbench.reports.page import failures, how_it_was_run, pairs
from epbench.reports.tables import Scores


@dataclass(frozen=True, slots=True)
class Headline:
    """A score at the top of a page."""

    name: str  # what people call it, such as `simple recall`
    about: str  # what it is, in a few words
    value: float | None  # the score, 0 to 1; None where questions failed, or where there is none
    interval: Sequence[float] | None = None  # its 95 % interval
    bounds: Sequence[float] | None = None  # the score if all failed questions were wrong, and if all were right
    floor: tuple[float, str] | None = None  # what an answer without memory scores, and what that is called
    ceiling: tuple[float, str] | None = None  # the highest that can be expected, and what that is called; None for 1

    @property
    def text(self) -> str:
        """The score in figures, such as `0.851`, or a range where questions failed."""
        if self.bounds:
            return f"{self.bounds[0]:.3f} to {self.bounds[1]:.3f}"
        return "–" if self.value is None else f"{self.value:.3f}"

    @property
    def beside(self) -> str:
        """What is said beside the score: its interval, its floor and its ceiling."""
        parts = ["95 % interval {:.3f}–{:.3f}".format(*self.interval)] if self.interval else []
        parts += ["from all failed questions wrong to all of them right"] if self.bounds else []
        parts += [f"{name}: {at:.3f}" for at, name in filter(None, (self.floor, self.ceiling))]
        return "; ".join(parts)


def headline(
    scores: Scores, name: str, title: str, about: str, floor: tuple[float, str] | None = None
) -> Headline | None:
    """A score of scores.json, or of a part of it with `intervals`, as a headline; None for one that was not measured."""
    bounds = scores.get("incomplete", {}).get(name)
    if scores.get(name) is None and not bounds:
        return None
    return Headline(title, about, scores.get(name), scores.get("intervals", {}).get(name), bounds, floor)


def opening(sentence: str, headlines: Iterable[Headline | None], n_questions: int, reasons: Mapping[str, int]) -> str:
    """The top of a page, as HTML: what was measured, the headlines but for None, and why requests failed."""
    bars = "".join(_bar(one) for one in headlines if one)
    what_failed = failures(reasons, n_questions) if reasons else ""
    return f'<p class="lead">{html_text(sentence)}</p>\n<div class="headlines">{bars}</div>\n{what_failed}'


def _bar(one: Headline) -> str:
    parts = []
    low, high = one.bounds or (0.0, one.value or 0.0)
    parts.append(_part("range" if one.bounds else "value", low, high))
    if one.interval and not one.bounds:
        parts.append(_part("interval", *one.interval))
    parts += [_part(kind, at[0], at[0]) for kind, at in (("floor", one.floor), ("ceiling", one.ceiling)) if at]
    said = html_text(f"{one.name}: {one.text}; {one.beside}")
    return f"""<section class="headline"><h2>{html_text(one.name)}</h2><p class="number">{html_text(one.text)}</p>
<div class="track" role="img" aria-label="{said}">{"".join(parts)}</div>
<p>{html_text(one.beside)}</p><p>{html_text(one.about)}</p></section>"""


def _part(kind: str, low: float, high: float) -> str:
    left, right = (100 * min(max(end, 0.0), 1.0) for end in (low, high))
    width = "" if low == high and kind in ("floor", "ceiling") else f";width:{right - left:.2f}%"
    return f'<i class="{kind}" style="left:{left:.2f}%{width}"></i>'


def settings(run: Mapping[str, Any], usage: str) -> str:
    """The end of a page: what identifies the run, its usage as HTML, and how it was run; folded, as few people look for it."""
    about = {**run["identity"], **{name: run[name] for name in ("limit", "shard") if run.get(name)}}
    return f"""<details class="settings"><summary>Settings, tokens and provenance</summary>
<h2>Settings</h2>
{pairs(about)}
<h2>Tokens and failures</h2>
{usage}
{how_it_was_run(run)}
</details>"""


def shown_memory(identity: Mapping[str, Any]) -> str:
    """What a reader had before it, in words that follow a comma: `with the whole book in its context`."""
    memory, k = str(identity.get("memory") or identity.get("system") or ""), identity.get("top_k") or identity.get("k")
    found = f"the {k} {{}} that {identity.get('retriever')} found for each"
    words = {
        "none": "without anything to look it up in",
        "in-context": "with the whole text in its context",
        "full-book": "with the whole book in its context",
        "oracle": "with the evidence of each question and nothing else",
        "rag": f"with {found.format('passages')}",
        "rag-paragraph": f"with {found.format('paragraphs')}",
        "rag-chapter": f"with {found.format('chapters')}",
        "everything": "by naming all that is asked for anywhere",
        "": "with answers that were given to us",
    }
    return words.get(memory, f"with what the memory system {memory} retrieves")
