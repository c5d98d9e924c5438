"""Reports of MemFail: one HTML file that needs nothing else, for one run or for several side by side."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from epbench.memfail.scores.figures import figures
from epbench.memfail.scores.tables import Runs, Scores, by_config, group_table, main_table
from epbench.reports.page import failures, how_it_was_run, page, pairs, table


def html_report(title: str, run: Mapping[str, Any], scores: Scores, usage: Mapping[str, Any]) -> str:
    """The page of one run.

    Args:
        title: name of the run.
        run: content of run.json.
        scores: content of scores.json.
        usage: what each stage took.
    """
    return page(
        f"MemFail, {scores['config']}: {title}",
        f"""{_warnings({title: scores})}
{pairs(run["identity"])}
{_section({title: scores})}
<h2>Needed memories</h2>
<p>Each needed memory for itself; a question takes the earliest failing stage of all that it needs.</p>
{_facts(scores)}
<h2>Tokens and failures</h2>
{_usage(usage)}
{how_it_was_run(run)}""",
    )


def comparison_report(runs: Runs) -> str:
    """The page of several runs: scores.json by the run's label; published rates (`published.beside`) among them."""
    own = [scores for scores in runs.values() if not scores.get("published")]
    sections = [f"<h2>{html.escape(config)}</h2>\n{_section(found)}" for config, found in by_config(runs).items()]
    return page(f"MemFail: {len(own)} runs", "\n".join([_warnings(runs), *sections]))


def _section(runs: Runs) -> str:
    """Pictures and tables of the runs of one config."""
    config = next(iter(runs.values()))["config"]
    groups = group_table(config, runs)
    tables = [table(*main_table(config, runs)), *([table(*groups)] if groups else [])]
    return "\n".join([*figures(runs), *tables, _HOW_TO_READ])


_HOW_TO_READ = """<p>Success: every stage passed, which is stricter than a right answer. The floor is what needs no
memory; a baseline shows what is possible. A vacuous pass is a question about somebody unknown that is passed because
what could mislead was not stored or not retrieved; “earned” leaves these questions aside.</p>"""


def _warnings(runs: Runs) -> str:
    found = [f"{label}: {text}" for label, scores in runs.items() for text in scores.get("warnings", [])]
    return "".join(f"<p><strong>Warning: {html.escape(text)}</strong></p>" for text in found)


def _facts(scores: Scores) -> str:
    labels = list(dict.fromkeys(label for at_k in scores["by_k"].values() for label in at_k["facts"]))
    body = [[k, *(str(at_k["facts"].get(label, 0)) for label in labels)] for k, at_k in scores["by_k"].items()]
    return table(["k", *(label.replace("_", " ") for label in labels)], body)


def _usage(usage: Mapping[str, Any]) -> str:
    """What each stage took, and why requests failed."""
    parts = []
    for stage, values in usage.items():
        if not isinstance(values, Mapping):
            parts.append(pairs({stage: values}))
            continue
        failed = values.get("failed")
        shown = {name: value for name, value in values.items() if name != "failed" or not isinstance(failed, Mapping)}
        parts.append(f"<h3>{html.escape(stage.replace('_', ' '))}</h3>{pairs(shown)}")
        if isinstance(failed, Mapping):
            parts.append(failures(failed))
    return "\n".join(parts)
