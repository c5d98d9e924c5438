"""The page of a report: one HTML file that needs nothing else, and the paragraphs that all reports share.

The page of a run begins with what was measured and what came out, and ends, folded, with its settings. Each headline score is a
bar from 0 to 1 with its interval, and with marks for its floor and ceiling.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.files.text import html_text
from epbench.reports.tables import Scores, Table, cell

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

_TEMPLATES = Path(__file__).parent / "templates"
_SCRIPTED = ("explorer", "overview", "people")  # a page with a section of such a class carries its script
_STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)


def page(title: str, body: str) -> str:
    """A whole page, with its title as text and its body as HTML.

    A policy in the page forbids everything that it does not bring along: nothing is loaded from anywhere, and no other
    script than ours runs, whatever a text may hold. Attributes of style are allowed, as the figures have them.
    """
    # Tables scroll by themselves on a narrow screen, and their titles say that they head a column.
    body = body.replace("<th>", '<th scope="col">').replace("<th class=", '<th scope="col" class=')
    body = body.replace("<table>", '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>')
    return _page(title, body.replace("</table>", "</table></div>"))


def _page(title: str, body: str) -> str:
    from markupsafe import Markup

    # Texts cannot hold this, as they are escaped.
    style, scripted = _packaged("style.css"), [name for name in _SCRIPTED if f'<section class="{name}"' in body]
    script = _packaged(f"{scripted[0]}.js") if scripted else ""
    return render(
        "page",
        policy=Markup(_policy([style, *_STYLE.findall(body)], script, "overview" in scripted)),
        title=Markup(html_text(title)),
        style=Markup(style),
        body=Markup(body),
        script=Markup(script),
    )


def render(part: str, **values: Any) -> str:
    """Fill in a macro of `page.html.j2`; strings are escaped, and `Markup` is not."""
    return str(getattr(_parts(), part)(**values))


@cache
def _parts() -> TemplateModule:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("page.html.j2").module


@cache
def _packaged(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _policy(styles: Iterable[str], script: str, asks: bool) -> str:
    """What a browser may load and run: what these texts are, and pictures within the page; and whether it may ask its server."""
    hashes = " ".join(dict.fromkeys(map(_hash, styles)))
    scripts = _hash(script) if script else "'none'"
    return (
        f"default-src 'none'; style-src {hashes}; style-src-attr 'unsafe-inline'; script-src {scripts}; img-src data:; "
        f"{'connect-src ' + repr('self') + '; ' if asks else ''}base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def joined(title: str, pages: Iterable[str]) -> str:
    """Several pages that `page` made as one, each with its title as a heading."""
    bodies = (one.partition("<h1>")[2].rpartition("</main>")[0].replace("</h1>", "</h2>", 1) for one in pages)
    return _page(title, "".join(f"<h2>{body}" for body in bodies))


_NAMES = {
    "n_questions": "questions", "n_failed": "failed questions", "top_k": "passages shown (k)", "k": "memories shown (k)",
    "fingerprint": "fingerprint of the questions", "chapters": "fingerprint of the chapters", "prompts": "hash of the prompts",
    "base_url": "address of the endpoint", "max_tokens": "most tokens of an answer", "weights": "fingerprint of the weights",
    "keep_order": "passages in the order of the book", "control": "baseline", "isolate": "a store for each question",
    "units_per_conversation": "facts for each conversation", "prefilled": "prompt tokens computed",
    "saved": "prompt tokens saved by sharing", "hit_rate": "share of prompt tokens saved", "generated": "tokens generated",
    "looped": "answers that went in circles", "both_orders": "both orders of each pair", "prompt": "number of the prompt",
    "with_replies": "the user's partner replies", "published_query": "the query of the published code",
    "between": "tokens of unrelated text between", "p_value": "p", "share_a": "share of A",
    "greedy_invalid": "greedy: neither letter",
}  # fmt: skip
"""What people call a field of a file; others are called by their names, without underscores."""


def named(field: str) -> str:
    """What people call a field of run.json, usage.json or scores.json."""
    return _NAMES.get(field, field.replace("_", " "))


def pairs(values: Mapping[str, Any]) -> str:
    """A table of names and values, one pair per row, without values that are empty."""
    shown = {name: _plain(value) for name, value in values.items()}
    return Table([], [[named(name), text] for name, text in shown.items() if text]).html()


def _plain(value: Any) -> str:
    """A value in words; empty for none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{named(str(name))} {_plain(of)}" for name, of in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return "" if value is None else cell(value)


def warning_paragraphs(warnings: Iterable[str]) -> str:
    """Warnings at the top of a page; the texts do not begin with the word "warning"."""
    return "".join(f"<p><strong>Warning: {html_text(text)}</strong></p>" for text in warnings)


def how_it_was_run(run: Mapping[str, Any]) -> str:
    """Command, machine and versions, from the content of run.json."""
    about = {name: run[name] for name in ("python", "platform") if name in run} | dict(run.get("versions", {}))
    command = html_text(run.get("command", "unknown"))
    return f"<h2>How it was run</h2>\n<p><code>{command}</code></p>\n{pairs(about)}"


def failures(reasons: Mapping[str, int], n_questions: int | None = None) -> str:
    """How many requests failed, by reason; they are among `n_questions` questions, if that is said."""
    if not reasons:
        return "<p>No request failed.</p>"
    among = "" if n_questions is None else f", of a run on {n_questions:,} questions,"
    table = Table(["reason", "requests"], [[reason, f"{n:,}"] for reason, n in reasons.items()])
    return f"<p>Failed requests{among} count neither as right nor as wrong:</p>{table.html()}"


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
