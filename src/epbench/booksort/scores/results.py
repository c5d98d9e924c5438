"""From the journal of a run to its rows, scores and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from epbench.booksort.answers.answer import ScoredPair
from epbench.booksort.answers.parsing import parse_answer
from epbench.booksort.context.retrieved import RECALL, RETRIEVED, recall_at
from epbench.booksort.dataset.load import Pair
from epbench.runs.answers import ANSWERS
from epbench.runs.folder import read_json, write_json, write_text
from epbench.runs.journal import read_journal
from epbench.runs.usage import token_usage

Record = Mapping[str, Any]

CUT_OFF = "the answer was cut off before it named a segment"


def predicted(record: Record) -> Literal["A", "B", "X"]:
    """The answer in a record of answers.jsonl.

    The label with the higher probability, over all its spellings, counts (Section 3.1). An answer of several words, as
    endpoints give, is read as a text instead: its first token may be the article of "A closer look says B". So is one
    without probabilities. X where it says neither.
    """
    said = parse_answer(record["answer"])
    a, b = _probabilities(record)
    if a is None or b is None or a == b or (said and len(record["answer"].split()) > 1):
        return said or "X"
    return "A" if a > b else "B"


def failure_of(record: Record) -> str | None:
    """Why a record of answers.jsonl is neither right nor wrong: its request failed, or its text was cut off too early.

    An answer that ended by itself and names no segment is invalid, and wrong; None for that, as for all that can be read.
    """
    if record.get("failure") is not None:
        return str(record["failure"])
    # A model in this process is asked for one token, and its probabilities decide: nothing is missing there.
    by_text = record.get("probabilities") is None or len(record["answer"].split()) > 1
    cut_off = record.get("ended") == "length" and by_text and parse_answer(record["answer"]) is None
    return CUT_OFF if cut_off else None


def sorted_rows(folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str]) -> list[ScoredPair]:
    """The rows of all pairs, in their order, from the journals of a run.

    Args:
        folder: of the run.
        pairs: that were asked.
        keys: of the request about each, by the pair's id; a pair without one was not asked.
    """
    answers, found = read_journal(folder / ANSWERS), _retrieved(folder)
    return [
        _row(pair, answers.get(keys.get(pair.id, ""), {"failure": "not asked"}), found.get(pair.id)) for pair in pairs
    ]


def finish(folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str], label: str) -> dict[str, Any]:
    """Write scores.json, outcomes.jsonl, usage.json, table.md and report.html from the journals.

    Args:
        folder: of the run.
        pairs: that were asked, with `--both-orders` each of them twice; see `epbench.booksort.context.orders`.
        keys: of the request about each, by the pair's id; a pair without one was not asked.
        label: of the run in tables.

    Returns:
        The scores; with memory `rag` also how many segments were found (Table 8).
    """
    from epbench.booksort.scores.comparison import write_outcomes
    from epbench.booksort.scores.report import html_report
    from epbench.booksort.scores.scoring import score_run
    from epbench.booksort.scores.tables import markdown_table

    rows = sorted_rows(folder, pairs, keys)
    scores = score_run(rows)
    asked = {pair.id for pair in pairs}
    if found := [record for id_, record in _retrieved(folder).items() if id_ in asked]:
        scores.setdefault("retrieval", {})[RECALL] = recall_at(found)
    records = read_journal(folder / ANSWERS).values()
    usage = token_usage(records)
    cut_off = sum(failure_of(record) == CUT_OFF for record in records)
    if cut_off:
        usage["failed"][CUT_OFF] = cut_off
    write_outcomes(folder, rows)
    write_json(folder / "scores.json", scores)
    write_json(folder / "usage.json", usage)
    write_text(folder / "table.md", markdown_table({label: scores}))
    write_text(folder / "report.html", html_report(label, read_json(folder / "run.json"), scores, rows, usage))
    return scores


def _row(pair: Pair, record: Record, found: Record | None) -> ScoredPair:
    failed = failure_of(record) is not None
    answer: Literal["A", "B", "X"] = "X" if failed else predicted(record)
    p_a, p_b = _probabilities(record)
    return ScoredPair(
        id=pair.id,
        book_idx=pair.book_idx,
        excerpt_idx=pair.excerpt_idx,
        distance=pair.distance,
        distance_bin=pair.distance_bin,
        excerpt_length=pair.excerpt_length,
        segment_length=pair.segment_length,
        seg1_pos=pair.positions[0],
        seg2_pos=pair.positions[1],
        answer=pair.answer,
        predicted=answer,
        p_a=p_a,
        p_b=p_b,
        greedy=record.get("answer", ""),
        written="X" if failed else parse_answer(record["answer"]) or "X",
        correct=answer == pair.answer,
        failed=failed,
        retrieved_both=found["both"] if found else None,
        retrieved_order=found["in_order"] if found else None,
    )


def _probabilities(record: Record) -> tuple[float | None, float | None]:
    told = record.get("probabilities") or {}
    return told.get("A"), told.get("B")


def _retrieved(folder: Path) -> dict[str, Record]:
    """What was found for each pair; nothing with other memories than `rag`."""
    return {record["id"]: record for record in read_journal(folder / RETRIEVED).values()}
