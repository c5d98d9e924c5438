"""The files of a run of MemFail: the table of questions, and how files are read again.

Files of other tools and damaged ones are refused. A row of questions.parquet is one question at one k:

- id, k, row, kind, group: which question, at how many memories; see `Question`.
- config, system: of the run.
- outcome: `right` (every stage passed), `wrong` or `failed`; success: the same as a truth value, null if it failed.
- label: `correct`, the first stage that failed, or `failed`, and in `revision` also `stale`, `resurrected` or `lost_with_it`;
  vacuous: passed without merit.
- answer_right: whether the answer is right, whatever the stages say; null without an answer or a verdict.
- needs: for each needed fact its id (fact), its text (told), stage (`correct`, the first that it did not pass, or `failed`), the
  nearest memory of the store and of those that came back (stored, retrieved; null where it was not stored or did not come back,
  or no verdict says so) and the judge's words at the last stage that was judged (reason).
- question, reference, answer: what the reader was asked, the true answer, and what the reader wrote (null without one).
- retrieved: the memories that the reader was shown, best first; n_stored: how many memories the store held.
- reason: the judge's words on the check that decided the label; failure: why the question failed.

A judge names no memory. The one that is shown beside a needed fact illustrates a label and never decides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import log
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.memfail.dataset.load import GoldMemory, QuestionRecord
from epbench.memfail.dataset.word_rules import content_of
from epbench.memfail.judging.diagnosis import ERRORS, REVISED, Outcome
from epbench.memfail.judging.memories import Memories, memories_of
from epbench.runs import folder as runs
from epbench.runs.results import Columns
from epbench.runs.several import runs_in

IDENTITY = fields(
    {},
    {
        **dict.fromkeys(("system", "model", "system_model", "embedder"), str | None), "fingerprint": str, "config": str,
        "control": bool,
    },
)  # fmt: skip
"""The field `identity` of run.json."""

_RATED = {
    **dict.fromkeys(("success_rate", "answer_accuracy", *ERRORS), Number | None),
    **dict.fromkeys(("vacuous", "failed", "n"), Whole), "facts": dict[str, Whole],
    "intervals": dict[str, Interval],
}  # fmt: skip
_MORE = {
    **dict.fromkeys(("success_earned", "words_per_memory", "tokens_per_memory"), Number | None), "memories": Number,
    "vacuous_wrong": Whole, **dict.fromkeys((*REVISED, "rows_right"), Number | None),
}  # fmt: skip
_GROUP: Any = fields(_RATED, _MORE)
_AT_K: Any = fields(_RATED, {**_MORE, "by_group": dict[str, _GROUP]})

SCORES = fields(
    {"config": str, "by_k": dict[str, _AT_K]},
    {
        "system": str | None, "floor": fields({"success_rate": Number, "answer_accuracy": Number}),
        "unnoticed": fields({"n": Whole, "misplaced": Whole, "of": Whole, "share": Number | None}),
        "not_judgeable": fields({"n": Whole, "of": Whole}), "warnings": list[str],
    },
)  # fmt: skip
"""The content of scores.json."""

read_run = partial(runs.read_run, identity=IDENTITY)
read_scores = partial(runs.read_scores_to_show, kind=SCORES)


def run_folders(folders: Iterable[Path]) -> list[tuple[Path, Path]]:
    """The runs in some folders, each a run, or one with a run for each config, as pairs of this folder and that of a run.

    A folder without a run of MemFail, a run that did not end, and runs of one config on different rows are refused.
    """
    pairs: list[tuple[Path, Path]] = []
    rows: dict[str, tuple[Path, Any]] = {}
    for folder in folders:
        memfail_runs = [run for run in runs_in(folder) if runs.read_run(run)["identity"].get("benchmark") == "memfail"]
        if not memfail_runs:
            raise BadInput(f"{folder}: expected a run of MemFail, or a folder of such runs")
        for run in memfail_runs:
            config, fingerprint = runs.read_scores(run, SCORES)["config"], read_run(run)["identity"].get("fingerprint")
            first, expected = rows.setdefault(config, (run, fingerprint))
            if fingerprint != expected:
                raise BadInput(f"{first} and {run} are on different rows of {config}")
            pairs.append((folder, run))
    return pairs


_NEED = dict.fromkeys(("fact", "told", "stage", "stored", "retrieved", "reason"), "string")

COLUMNS: Columns = {
    "id": "string", "k": "int32",
    **dict.fromkeys(("row", "kind", "group", "config", "system", "outcome"), "string"),
    "success": "bool", "label": "string", "vacuous": "bool", "answer_right": "bool", "needs": [_NEED],
    **dict.fromkeys(("question", "reference", "answer"), "string"),
    "retrieved": ["string"], "n_stored": "int32", "reason": "string", "failure": "string",
}  # fmt: skip
"""The columns of questions.parquet, in their order."""


def question_rows(
    outcomes: Sequence[Outcome],
    records: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    system: str | None,
) -> list[dict[str, Any]]:
    """The rows of questions.parquet; outcomes and records are in the same order, and the columns are described above."""
    held, rows = {name: Memories(store) for name, store in stores.items()}, []
    same = ("k", "row", "kind", "group", "label", "vacuous", "answer_right", "reason", "failure")
    for outcome, record in zip(outcomes, records, strict=True):
        result, question = {"correct": "right", "failed": "failed"}.get(outcome.label, "wrong"), record.question
        row = {
            **{name: getattr(outcome, name) for name in same},
            "id": outcome.question,
            "success": None if result == "failed" else result == "right",
            "config": question.config,
            "system": system or "",
            "outcome": result,
            "needs": _needs(outcome, record, held),
            "question": question.text,
            "reference": question.reference,
            "answer": None if record.failure is not None else record.answer,
            "retrieved": list(record.memories),
            "n_stored": len(held.get(record.store, ())),
        }
        rows.append(row)
    return rows


def _needs(outcome: Outcome, record: QuestionRecord, stores: Mapping[str, Memories]) -> list[dict[str, str | None]]:
    """The way of each fact that a question needs."""
    question, gold = record.question, record.question.gold
    labels = outcome.facts or ("failed",) * len(gold)
    reasons = outcome.reasons or (None,) * len(gold)
    store, back = memories_of(stores.get(record.store, ())), memories_of(record.memories)
    return [
        {
            "fact": memory.fact,
            "told": memory.text,
            "stage": label,
            "stored": nearest(memory, store) if label in ("summary_error", "retrieval_error", "correct") else None,
            "retrieved": nearest(memory, back) if label == "correct" and question.kind != "forgotten" else None,
            "reason": reason,
        }
        for memory, label, reason in zip(gold, labels, reasons, strict=True)
    ]


def nearest(gold: GoldMemory, texts: tuple[str, ...]) -> str | None:
    """The memory that shares most with a fact: first the words that matter for it, then those of its text.

    A word counts the more the fewer memories have it. Of memories that share the same, it is the shortest. None without
    memories, or if none shares a word.
    """
    memories = memories_of(texts)
    needed = frozenset(word for text in (*gold.link, *gold.detail) for word in content_of(text))
    text = content_of(gold.text)

    def weight(words: Iterable[str]) -> float:
        known = [n for word in sorted(words) if (n := memories.number_with(word))]
        return round(sum(log(1 + len(memories) / n) for n in known), 9)

    def common(memory: str, words: frozenset[str]) -> float:
        return weight(content_of(memory) & words)

    for words in (needed, text):  # memories without a needed word matter only if none has one
        rest = sorted(words, key=lambda word: (-memories.number_with(word), word))
        shared: dict[str, float] = {}
        while rest:
            shared |= {m: common(m, words) for m in memories.with_any([rest.pop()]) if m not in shared}
            # A memory that has only the other, commoner words cannot share more than these weigh.
            if shared and max(shared.values()) > weight(rest):
                break
        if shared:
            most = max(shared.values())
            best = [memory for memory, of_memory in shared.items() if of_memory == most]
            return max(best, key=lambda memory: (common(memory, text), -len(memory), memory))
    return None
