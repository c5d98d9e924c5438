"""Write a book of ours and runs on it in the published layout, so that a test can plant faults."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from epbench.tulving.dataset.schema import BookData
from epbench.tulving.questions.generate import Question, completed_cue

TRACES = {
    "times": "Times", "spaces": "Spaces", "entities": "Entities", "contents": "Event contents",
    "other_entities": "Other entities", "full_details": "Full event details",
}  # fmt: skip
_CHANGED = {"book": None, "inner": True, "outer": False}


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), "utf-8")


def write_book(archive: Path, data: BookData, *, seed: int = 0, generator: str = "made") -> Path:
    """The book with its selected questions; returns the folder in which its runs belong."""
    root = archive / f"Udefault_Sdefault_seed{seed}"
    name = f"model_{generator}_itermax_10_Idefault_nbchapters_{len(data.chapters)}_nbtokens_1"
    events = [[c.event.day, c.event.space, c.event.entity, c.event.content, c.event.detail] for c in data.chapters]
    write_json(root / "events.json", events)
    plans = [{"nb_paragraphs": c.n_paragraphs, "idx_paragraph": {}, "style": c.style} for c in data.chapters]
    write_json(root / "meta_events.json", plans)
    write_json(root / "books" / name / "book.json", data.book())
    chapters = [
        dict(zip(("date", "location", "entity", "content"), event[:4], strict=True))
        | {"chapter": c.number, "post_entities": list(c.secondary), "raw_generated_paragraph_idx": c.number - 1}
        for c, event in zip(data.chapters, events, strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(chapters), root / "books" / name / "df_book_groundtruth.parquet")
    write_questions(root / "books" / name / "df_qa.parquet", data.selected)
    return root / "answers" / name


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    rows = [
        {
            "q_idx": q.template, "question": q.question, "cue_completed": completed_cue(q), "get": q.get,
            "retrieval_type": TRACES[q.trace], "correct_answer": published_truth(q),
            "correct_answer_chapters": q.chapters, "n_chapters_correct_answer": q.n_chapters,
            "debug_existing_change": _CHANGED[q.origin],
        }
        for q in questions
    ]  # fmt: skip
    schema = pa.Table.from_pylist(rows).schema
    for column, kind in (("correct_answer", pa.string()), ("correct_answer_chapters", pa.int64())):
        schema = schema.set(schema.get_field_index(column), pa.field(column, pa.list_(kind)))
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


def published_truth(question: Question) -> list[str]:
    """The true items as the published tables and judge name them."""
    if question.trace == "full_details":
        return [f"Full chapter {chapter}" for chapter in question.chapters]
    return list(question.answer)


def write_run(run: Path, questions: Sequence[Question], seed: int = 0) -> None:
    """Answers and verdicts, drawn by seed, numbered from 0 in the order of the questions."""
    for number, question in enumerate(questions):
        truth, draw = published_truth(question), Random(f"{seed} {number}")
        write_json(run / "raw_answers" / f"{number}.json", f"Answer {number}: {', '.join(truth)}.")
        pairs = [(item, draw.choice([0, 0.5, 1])) for item in dict.fromkeys(truth)]
        items = [item for item, score in pairs if score] or draw.choice([[], ["something else"]])
        write_verdict(run, number, items, pairs)
        if question.get == "chronological":
            order = draw.sample(range(len(pairs)), len(pairs))
            write_order(run, number, list(range(len(pairs))), order)


def write_verdict(run: Path, number: int, items: Sequence[Any], pairs: Sequence[tuple[str, Any]]) -> None:
    content: Mapping[str, Any] = {
        "predicted_items": list(items),
        "groundtruth_items": [name for name, _ in pairs],
        "matching_groundtruth_items_score": [{name: score} for name, score in pairs],
        "explanation": "Made for a test.",
    }
    write_json(run / "evaluated_answers" / f"{number}.json", content)


def write_order(run: Path, number: int, true: Sequence[int], found: Sequence[int]) -> None:
    content = {"groundtruth_indexes": list(true), "predicted_indexes": list(found), "explanation": "Made for a test."}
    write_json(run / "chronological_answers" / f"{number}.json", content)
