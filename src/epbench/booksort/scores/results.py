"""From the journals of a run of Book-SORT to its files: its rows, its scores, and its report with a card for each question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epbench.booksort.context.remembered import MemoryRun, Remembered
from epbench.booksort.context.retrieval import RECALL, RETRIEVED, recall_at
from epbench.booksort.dataset.load import SWAPPED, Pair, group_of
from epbench.booksort.judging import CUT_OFF, Record, ScoredPair, failure_of, scored_pair
from epbench.booksort.scores.report import html_report
from epbench.booksort.scores.run_files import COLUMNS, record_of, table_of
from epbench.booksort.scores.scoring import memory_scores, score_run
from epbench.booksort.scores.tables import markdown_table
from epbench.files.json_files import read_json
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import read_journal
from epbench.memories.recall import memory_usage, price_of, price_table
from epbench.reports.explorer import Evidence, Mark, QuestionCard, explorer_html
from epbench.reports.tables import cell
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import token_usage


def scored_pairs(
    folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str], retrieved: Mapping[str, Record] | None = None
) -> list[ScoredPair]:
    """The rows of all pairs from the journals of a run; one without a key of its request was not asked.

    A record of what was retrieved for a pair, by its id, may be the reason why the pair has failed.
    """
    answers = read_journal(folder / ANSWERS)
    scored = []
    for pair in pairs:
        found = (retrieved or {}).get(pair.id)
        failed = found if found and "failure" in found else None
        record = failed or answers.get(keys.get(pair.id, ""), {"failure": "not asked"})
        scored.append(scored_pair(pair, record, None if failed else found))
    return scored


def finish(
    folder: Path, pairs: Sequence[Pair], keys: Mapping[str, str], label: str, memory: MemoryRun | None = None
) -> dict[str, Any]:
    """Compute the results of a run from its journals, and write them; see `epbench.runs.results`.

    `keys` has the key of the request about each pair; without one it was not asked. The scores also say, with memory
    `rag`, how many segments were found (Table 8); with a memory system, whether both were found and kept in order, and
    what went wrong in storing and retrieving.
    """
    remembered = memory.read(folder, pairs) if memory else None
    asked = {pair.id for pair in pairs}
    retrieved = {id_: one for id_, one in _retrieved(folder, remembered).items() if id_ in asked}
    questions = [record_of(row) for row in scored_pairs(folder, pairs, keys, retrieved)]
    table = table_of(questions)
    scores = score_run(table)
    if remembered:
        scores["warnings"] += remembered.warnings
        if "retrieval" in scores:
            scores["retrieval"] |= memory_scores(table, sum(one.verbatim for one in remembered.found.values()))
    elif retrieved:
        scores.setdefault("retrieval", {})[RECALL] = recall_at(list(retrieved.values()))
    records = read_journal(folder / ANSWERS).values()
    usage = token_usage(records) | memory_usage(folder)
    if price := price_of(folder):
        usage["price"] = price
    if cut_off := sum(failure_of(record) == CUT_OFF for record in records):
        usage["failed"][CUT_OFF] = cut_off
    cards = cards_of(pairs, questions, retrieved, excerpts := Excerpts())
    explorer = explorer_html(cards, excerpts.texts, [ABOUT] if excerpts.texts else [ABOUT, _NO_EXCERPTS])
    report = html_report(label, read_json(folder / "run.json"), scores, table, usage, explorer)
    write_questions(folder, COLUMNS, questions)
    cost = "".join(f"\n{table.markdown()}" for table in price_table({label: price} if price else {}))
    write_results(folder, scores=scores, usage=usage, table=markdown_table({label: scores}) + cost, report=report)
    return scores


def _retrieved(folder: Path, remembered: Remembered | None) -> dict[str, Record]:
    """What was retrieved for each pair, by its id: passages, or memories or why there are none; else nothing."""
    if remembered is None:
        return {record["id"]: record for record in read_journal(folder / RETRIEVED).values()}
    found: dict[str, Record] = {id_: asdict(one) for id_, one in remembered.found.items()}
    return found | {id_: {"failure": reason} for id_, reason in remembered.failures.items()}


# The card of a question

ABOUT = (
    "Of two segments of an excerpt the reader says which comes first; A is the one that is shown first. Distance, lengths and "
    "positions are in words."
)
_NO_EXCERPTS = "The dataset has no texts of excerpts, so the segments are not shown within theirs."


def cards_of(
    pairs: Sequence[Pair], rows: Sequence[Record], retrieved: Mapping[str, Record], excerpts: Excerpts
) -> list[QuestionCard]:
    """A card for each question and its row of questions.parquet; `excerpts` collects the texts that the cards name."""
    swapped = any(pair.id.endswith(SWAPPED) for pair in pairs)
    return [_card(pair, row, retrieved, excerpts, swapped) for pair, row in zip(pairs, rows, strict=True)]


class Excerpts:
    """The texts of excerpts, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        # By excerpt, the number of its text, and where the words of that are.
        self._words: dict[str, tuple[int, list[tuple[int, int]]]] = {}

    def evidence(self, pair: Pair) -> list[Evidence]:
        """The excerpt of a pair, if the set has it, with its segments marked."""
        text, group = pair.excerpt, group_of(pair)
        if not text:
            return []
        if group not in self._words:
            self._words[group] = len(self.texts), [match.span() for match in re.finditer(r"\S+", text)]
            self.texts.append(text)
        (number, words), marks = self._words[group], []
        for label, segment in zip("AB", pair.shown, strict=True):
            earlier = label == pair.answer
            first = pair.positions[0 if earlier else 1]
            span = words[first][0], words[first + len(segment.split()) - 1][1]
            marks.append(Mark(span, f"{label}, {'first' if earlier else 'second'} in the book"))
        return [Evidence(f"Excerpt {pair.excerpt_idx} of {pair.title}", number, marks)]


def _card(pair: Pair, row: Record, retrieved: Mapping[str, Record], excerpts: Excerpts, swapped: bool) -> QuestionCard:
    facets = {
        "distance, bin up to": f"{pair.distance_bin}",
        "excerpt": f"{pair.excerpt_length} words",
        "segment": f"{pair.segment_length} words",
        "book": pair.title,
        "answered": row["predicted"] or "–",
    }
    if retrieved:
        facets["both segments retrieved"] = {True: "yes", False: "no", None: "–"}[row["retrieved_both"]]
    if swapped:
        facets["order"] = "swapped" if pair.id.endswith(SWAPPED) else "as it is"
    first, second = pair.shown
    return QuestionCard(
        id=pair.id,
        facets=facets,
        outcome=row["outcome"],
        question=f"Which comes first?\n\nA: {first}\n\nB: {second}",
        reference=[pair.answer],
        answer=None if row["outcome"] == "failed" else row["greedy"] or row["predicted"],
        verdict=_verdict(pair, row),
        reason=row["failure"] or "",
        evidence=excerpts.evidence(pair),
        retrieved=_passages(retrieved.get(pair.id)) if retrieved else None,
    )


def _verdict(pair: Pair, row: Record) -> str:
    """What the answer counts as, the probabilities, and where the segments are."""
    lines = [f"distance {pair.distance:,} words: from {pair.positions[0]:,} to {pair.positions[1]:,}"]
    if row["outcome"] != "failed":
        named = "neither segment" if row["predicted"] == "X" else row["predicted"]
        lines.insert(0, f"counts as {named}; right is {pair.answer}")
    if row["p_a"] is not None:
        a, b, either = (cell(row[name]) for name in ("p_a", "p_b", "label_mass"))
        lines.append(f"probability of A {a}, of B {b}, of either {either}")
    return "\n".join(lines)


def _passages(record: Record | None) -> list[str]:
    """The memories, or the passages as numbers, in the order in which they were shown: the run keeps no texts of passages."""
    if record is None or "failure" in record:
        return []
    if "memories" in record:
        return list(record["memories"])
    shown = [f"book {book}, from character {start:,}" for book, start in record.get("passages", [])]
    ranks = ["not found" if rank is None else f"rank {rank + 1}" for rank in record["ranks"]]
    return [*shown, f"best passage with the earlier segment: {ranks[0]}; with the later one: {ranks[1]}"]
