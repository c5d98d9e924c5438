"""From the outcomes of a run to its files: scores, questions, usage, a table, and a page with a card for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.files.json_files import read_json
from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGEMENTS
from epbench.memfail.dataset.load import QuestionRecord
from epbench.memfail.judging.diagnosis import TOO_MANY, LeftOut, Outcome
from epbench.memfail.scores.figures import figures
from epbench.memfail.scores.question_files import COLUMNS, question_rows, questions_html
from epbench.memfail.scores.scoring import floor_of, score_outcomes
from epbench.memfail.scores.tables import markdown_table, tables, with_baseline
from epbench.reports.page import failures, how_it_was_run, page, pairs, warning_paragraphs
from epbench.reports.tables import Runs, Scores, Table, warnings_of
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import token_usage
from epbench.safe_text import html_text


def finish(
    folder: Path,
    outcomes: Sequence[Outcome],
    records: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    label: str,
    usage: Mapping[str, Any],
    left_out: LeftOut | None = None,
) -> dict[str, Any]:
    """Compute the results of a run, and write them; see `epbench.runs.results`.

    Args:
        folder: The run's folder; its run.json says which config and system the run is about.
        outcomes: The outcomes of all questions at all k, read from the journals.
        records: The records that the outcomes are about, in the same order.
        stores: All memories that the system held when the questions were asked, by store.
        label: The name of the run in tables.
        usage: The usage of storing, retrieving and answering. Its `warnings` are shown with the scores, and its
            `memory_tokens` (by k, `per_memory`) become tokens_per_memory.
        left_out: How many needed facts the judge would not miss; see `leave_one_out`.

    Returns:
        The content of scores.json: config, system, by_k (see `score_outcomes`), floor (see `floor_of`), stored (the
        numbers of stores, memories and words), n_questions, n_failed, unnoticed (see `LeftOut`; absent if nobody
        looked), not_judgeable (of how many needed facts the judge had nothing to decide by), and warnings, those of the
        run before those of the judge.
    """
    run = read_json(folder / "run.json")
    questions = list({record.question.id: record.question for record in records}.values())
    held = [memory for store in stores.values() for memory in store]
    about = {name: value for name, value in usage.items() if name != "warnings"}
    about["judging"] = token_usage(read_journal(folder / JUDGEMENTS).values())
    by_k = score_outcomes(outcomes)
    for k, scores_at_k in by_k.items():  # as the reader counts tokens; words are the same for all readers
        scores_at_k["tokens_per_memory"] = usage.get("memory_tokens", {}).get(k, {}).get("per_memory")
    scores = {
        "config": questions[0].config,
        "system": run["identity"].get("system"),
        "by_k": by_k,
        "floor": floor_of(questions),
        "stored": {
            "stores": len(stores),
            "memories": len(held),
            "words": sum(len(memory.split()) for memory in held),
        },
        "n_questions": len(questions),
        "n_failed": sum(outcome.label == "failed" for outcome in outcomes),
        **({"unnoticed": left_out.as_dict()} if left_out else {}),
        "not_judgeable": _not_judgeable(outcomes),
    }
    scores["warnings"] = [*usage.get("warnings", []), *_judge_warnings(scores["not_judgeable"], left_out)]
    shown = with_baseline(scores, run)
    rows = question_rows(outcomes, records, stores, scores["system"])
    report = html_report(label, run, shown, about, questions_html(rows))
    table = markdown_table({label: shown})
    write_questions(folder, COLUMNS, rows)
    write_results(folder, scores=scores, usage=about, table=table, report=report)
    return scores


def _not_judgeable(outcomes: Sequence[Outcome]) -> dict[str, int]:
    needed = {fact for outcome in outcomes if outcome.label != "failed" for fact in outcome.needs}
    return {"n": len({fact for outcome in outcomes for fact in outcome.unsure}), "of": len(needed)}


def _judge_warnings(not_judgeable: Mapping[str, int], left_out: LeftOut | None) -> list[str]:
    warnings = [warning] if left_out and (warning := left_out.warning()) else []
    if not_judgeable["n"] > TOO_MANY * not_judgeable["of"]:
        warnings.append(
            f"of {not_judgeable['n']} of {not_judgeable['of']} needed facts the judge could not tell whether their detail "
            f"was kept, as rules found nothing to compare; it counts as kept"
        )
    return warnings


def html_report(title: str, run: Mapping[str, Any], scores: Scores, usage: Mapping[str, Any], more: str = "") -> str:
    """The page of one run.

    Args:
        title: The name of the run.
        run: The content of run.json.
        scores: The content of scores.json, see `with_baseline`.
        usage: The usage of each stage.
        more: What follows on the page, as HTML.
    """
    return page(
        f"MemFail, {scores['config']}: {title}",
        f"""{warning_paragraphs(warnings_of({title: scores}))}
{pairs(run["identity"])}
{section_of({title: scores})}
<h2>Needed memories</h2>
<p>Each needed memory by itself; a question takes the earliest failing stage of all the memories that it needs.</p>
{_facts(scores)}
{_trust(scores)}
<h2>Tokens and failures</h2>
{_usage(usage)}
{how_it_was_run(run)}
{more}""",
    )


def section_of(runs: Runs) -> str:
    """Figures and tables of the runs of one config, as HTML."""
    return "\n".join([*figures(runs), *(table.html() for table in tables(runs)), _HOW_TO_READ])


_HOW_TO_READ = """<p>Success means that every stage passed, which is stricter than a right answer. The floor needs no memory; a
baseline shows what is possible. A pass is vacuous if a question about somebody unknown is passed because what could mislead
was not stored or not retrieved; “earned” leaves all these questions aside. “Vacuous, wrong” counts those of them whose
answer is wrong all the same.</p>"""


def _facts(scores: Scores) -> str:
    labels = list(dict.fromkeys(label for at_k in scores["by_k"].values() for label in at_k["facts"]))
    body = [[k, *(str(at_k["facts"].get(label, 0)) for label in labels)] for k, at_k in scores["by_k"].items()]
    return Table(["k", *(label.replace("_", " ") for label in labels)], body).html()


def _trust(scores: Scores) -> str:
    """What the judge can and cannot see on these rows."""
    shown = {
        "unnoticed": "the judge would not miss, if they were absent",
        "not_judgeable": "the judge had nothing to decide by",
    }
    lines = [
        f"<p>Needed facts that {words}: {count['n']} of {count['of']}.</p>"
        for words, count in ((words, scores.get(name)) for name, words in shown.items())
        if count
    ]
    return "\n".join(lines)


def _usage(usage: Mapping[str, Any]) -> str:
    """The usage of each stage, and why requests failed."""
    parts = []
    for stage, values in usage.items():
        if not isinstance(values, Mapping):
            parts.append(pairs({stage: values}))
            continue
        failed = values.get("failed")
        shown = {name: value for name, value in values.items() if name != "failed" or not isinstance(failed, Mapping)}
        parts.append(f"<h3>{html_text(stage.replace('_', ' '))}</h3>{pairs(shown)}")
        if isinstance(failed, Mapping):
            parts.append(failures(failed))
    return "\n".join(parts)
