"""From the journals of a run to its rows, its scores and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.booksort.context.retrieval import RECALL, RETRIEVED, recall_at
from epbench.booksort.dataset.load import Pair
from epbench.booksort.judging.answers import CUT_OFF, Record, ScoredPair, failure_of, scored_pair
from epbench.booksort.scores.cards import questions_html
from epbench.booksort.scores.question_files import COLUMNS, record_of, table_of
from epbench.booksort.scores.report import html_report
from epbench.booksort.scores.scoring import score_run
from epbench.booksort.scores.tables import markdown_table
from epbench.files.json_files import read_json
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import token_usage


def scored_pairs(folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str]) -> list[ScoredPair]:
    """The rows of all pairs, in their order, from the journals of a run.

    Args:
        folder: The run's folder.
        pairs: The pairs that were asked.
        keys: The key of the request about each pair, by the pair's id. A pair without a key was not asked.
    """
    answers, found = read_journal(folder / ANSWERS), _retrieved(folder)
    return [
        scored_pair(pair, answers.get(keys.get(pair.id, ""), {"failure": "not asked"}), found.get(pair.id))
        for pair in pairs
    ]


def finish(folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str], label: str) -> dict[str, Any]:
    """Compute the results of a run from its journals, and write them; see `epbench.runs.results`.

    Args:
        folder: The run's folder.
        pairs: The pairs that were asked, or with both orders each of them twice; see `both_orders`.
        keys: The key of the request about each pair, by the pair's id. A pair without a key was not asked.
        label: The name of the run in tables.

    Returns:
        The content of scores.json; with memory `rag` also how many segments were found (Table 8).
    """
    questions = [record_of(row) for row in scored_pairs(folder, pairs, keys)]
    table = table_of(questions)
    scores = score_run(table)
    asked = {pair.id for pair in pairs}
    found = {id_: record for id_, record in _retrieved(folder).items() if id_ in asked}
    if found:
        scores.setdefault("retrieval", {})[RECALL] = recall_at(list(found.values()))
    records = read_journal(folder / ANSWERS).values()
    usage = token_usage(records)
    cut_off = sum(failure_of(record) == CUT_OFF for record in records)
    if cut_off:
        usage["failed"][CUT_OFF] = cut_off
    explorer = questions_html(pairs, questions, found)
    report = html_report(label, read_json(folder / "run.json"), scores, table, usage, explorer)
    write_questions(folder, COLUMNS, questions)
    write_results(folder, scores=scores, usage=usage, table=markdown_table({label: scores}), report=report)
    return scores


def _retrieved(folder: Path) -> dict[str, Record]:
    """What was retrieved for each pair; nothing with other memories than `rag`."""
    return {record["id"]: record for record in read_journal(folder / RETRIEVED).values()}
