"""Reports of MemFail: one HTML file that needs nothing else, of one run or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.files.safe_text import html_text
from epbench.memfail.scores.figures import figures
from epbench.memfail.scores.tables import by_config, tables
from epbench.memories.price import price_html
from epbench.models.protocol import name_of
from epbench.reports.opening import Headline, headline, opening, settings
from epbench.reports.page import failures, page, pairs, warning_paragraphs
from epbench.reports.tables import Runs, Scores, Table, warnings_of


def html_report(title: str, run: Mapping[str, Any], scores: Scores, usage: Mapping[str, Any], more: str = "") -> str:
    """The page of one run, from the contents of run.json and scores.json (see `with_baseline`) and the usage of each stage."""
    identity, config = run["identity"], scores["config"].replace("_", " ")
    reader = name_of(str(identity.get("model", ""))) or "no reader"
    sentence = f"The memory system {scores['system']} was told the facts of {config}; {reader} answered"
    sentence += f" {scores['n_questions']:,} questions with the memories that it retrieved."
    spent = price_html(title, usage) + _usage({stage: values for stage, values in usage.items() if stage != "price"})
    return page(
        f"MemFail, {config}: {title}",
        f"""{warning_paragraphs(warnings_of({title: scores}))}
{opening(sentence, headlines(scores), scores["n_questions"], _reasons(usage))}
{section_of({title: scores})}
<details><summary>Needed memories</summary>
<p>Each needed memory by itself; a question takes the earliest failing stage of all the memories that it needs.</p>
{_facts(scores)}
{_trust(scores)}
</details>
{more}
{settings(run, spent)}""",
    )


def headlines(scores: Scores) -> list[Headline | None]:
    """The scores at the top of a page."""
    several, least = len(scores["by_k"]) > 1, scores.get("floor", {}).get("success_rate")
    floor = None if least is None else (float(least), "floor, an empty memory")
    about = "Share of questions that pass every stage: stored, summarised, retrieved, and answered"
    return [
        headline(at, "success_rate", f"success at k = {k}" if several else "success", about, floor)
        for k, at in scores["by_k"].items()
    ]


def _reasons(usage: Mapping[str, Any]) -> dict[str, int]:
    """How many requests failed, by reason, over all stages."""
    total: Counter[str] = Counter()
    for stage in usage.values():
        if isinstance(stage, Mapping) and isinstance(stage.get("failed"), Mapping):
            total.update(stage["failed"])
    return dict(total)


def comparison_report(
    runs: Runs, notes: Sequence[str] = (), sections: Mapping[str, Sequence[Table]] | None = None, more: str = ""
) -> str:
    """The page of several runs, by label, with reported rates (see `reported_rates.beside`) and what is known of the judges.

    The tables that follow those of the configs come by their heading.
    """
    listed = "".join(f"<li>{html_text(note)}</li>" for note in notes)
    parts = [
        warning_paragraphs(warnings_of(runs)),
        *(f"<h2>{html_text(config)}</h2>\n{section_of(of_config)}" for config, of_config in by_config(runs).items()),
        *([f"<h2>Judges</h2>\n<ul>{listed}</ul>"] if notes else []),
    ]
    for heading, shown in (sections or {}).items():
        parts += [f"<h2>{html_text(heading)}</h2>", *(table.html() for table in shown)]
    n_own = sum(not scores.get("reported") for scores in runs.values())
    return page(f"MemFail: {n_own} runs", "\n".join(parts) + more)


def section_of(runs: Runs) -> str:
    """Figures and tables of the runs of one config, as HTML."""
    revised = any("rows_right" in at_k for run in runs.values() for at_k in run["by_k"].values())
    drawn = f'<div class="figures">{"".join(figures(runs))}</div>'
    how_to_read = [_HOW_TO_READ, *([_REVISION] if revised else [])]
    return "\n".join([drawn, *(table.html() for table in tables(runs)), *how_to_read])


_HOW_TO_READ = """<p>Success means that every stage passed, which is stricter than a right answer. The floor needs no memory; a
baseline shows what is possible. A pass is vacuous if a question about somebody unknown is passed because what could mislead
was not stored or not retrieved; “earned” leaves all these questions aside. “Vacuous, wrong” counts those of them whose
answer is wrong all the same.</p>"""


_REVISION = """<p>Stale: the answer gives what was corrected as if it still held. Resurrected: it gives away what was withdrawn.
Lost with it: the needed fact is gone from the store, though nobody withdrew it. How many untouched facts have a storage error
says how many are lost anyway. Rows right: rows whose questions all succeed. A pass on a withdrawn fact is vacuous if the question
about its neighbour got no right answer.</p>"""


def _facts(scores: Scores) -> str:
    labels = list(dict.fromkeys(label for at_k in scores["by_k"].values() for label in at_k["facts"]))
    body = [[k, *(str(at_k["facts"].get(label, 0)) for label in labels)] for k, at_k in scores["by_k"].items()]
    return Table(["k", *(label.replace("_", " ") for label in labels)], body).html()


def _trust(scores: Scores) -> str:
    """What the judge can and cannot see on these rows."""
    shown = {"unnoticed": "the judge would not miss, if they were absent"}
    shown |= {"not_judgeable": "the judge had nothing to decide by"}
    counts = {words: scores[name] for name, words in shown.items() if scores.get(name)}
    told = (f"<p>Needed facts that {words}: {n['n']} of {n['of']}.</p>" for words, n in counts.items())
    return "\n".join(told)


def _usage(usage: Mapping[str, Any]) -> str:
    """The usage of each stage, and why requests failed."""
    parts = []
    for stage, values in usage.items():
        if not isinstance(values, Mapping):
            parts.append(pairs({stage: values}))
            continue
        reasons = {name: of for name, of in values.items() if name == "failed" and isinstance(of, Mapping)}
        shown = {name: value for name, value in values.items() if name not in reasons}
        parts.append(f"<h3>{html_text(stage.replace('_', ' '))}</h3>{pairs(shown)}")
        parts += map(failures, reasons.values())
    return "\n".join(parts)
