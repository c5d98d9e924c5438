"""The files of a run of MemFail: what it writes at its end, with a card for each question, and how they are read again.

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

A judge looks at all memories together and names none. So the memory that is shown beside a needed fact is the one that has
most in common with it, by words, and only where the verdicts say that there is one: it illustrates a label and never decides
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import log
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGEMENTS
from epbench.memfail.dataset.load import GoldMemory, QuestionRecord
from epbench.memfail.dataset.word_rules import content_of
from epbench.memfail.judging.diagnosis import TOO_MANY, LeftOut, Outcome
from epbench.memfail.judging.memories import Memories, memories_of
from epbench.memfail.scores.report import html_report
from epbench.memfail.scores.scoring import ERRORS, REVISED, floor_of, score_outcomes
from epbench.memfail.scores.tables import markdown_table, with_baseline
from epbench.memories.recall import price_table
from epbench.reports.explorer import QuestionCard, Step, Trail, explorer_html
from epbench.runs import folder as runs
from epbench.runs.results import Columns, write_questions, write_results
from epbench.runs.several import runs_in
from epbench.runs.usage import token_usage

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
    pairs, held = zip(outcomes, records, strict=True), {name: Memories(store) for name, store in stores.items()}
    return [_row(outcome, record, held, system or "") for outcome, record in pairs]


def _row(outcome: Outcome, record: QuestionRecord, stores: Mapping[str, Memories], system: str) -> dict[str, Any]:
    result, question = {"correct": "right", "failed": "failed"}.get(outcome.label, "wrong"), record.question
    same = ("k", "row", "kind", "group", "label", "vacuous", "answer_right", "reason", "failure")
    return {
        **{name: getattr(outcome, name) for name in same},
        "id": outcome.question,
        "success": None if result == "failed" else result == "right",
        "config": question.config,
        "system": system,
        "outcome": result,
        "needs": _needs(outcome, record, stores),
        "question": question.text,
        "reference": question.reference,
        "answer": None if record.failure is not None else record.answer,
        "retrieved": list(record.memories),
        "n_stored": len(stores.get(record.store, ())),
    }


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


def finish(
    folder: Path,
    outcomes: Sequence[Outcome],
    records: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    label: str,
    usage: Mapping[str, Any],
    left_out: LeftOut,
) -> dict[str, Any]:
    """Compute the results of a run, and write them; see `epbench.runs.results`.

    Outcomes and records are those of all questions at all k, in the same order. The `warnings` of the usage are shown with the
    scores, and its `memory_tokens` (by k, `per_memory`) become tokens_per_memory. Of the content of scores.json, which is
    returned, not_judgeable says of how many needed facts the judge had nothing to decide by.
    """
    run = read_json(folder / "run.json")
    questions = list({record.question.id: record.question for record in records}.values())
    held = [memory for store in stores.values() for memory in store]
    needed = {fact for outcome in outcomes if outcome.label != "failed" for fact in outcome.needs}
    about = {name: value for name, value in usage.items() if name != "warnings"}
    about["judging"] = token_usage(read_journal(folder / JUDGEMENTS).values())
    by_k = score_outcomes(outcomes)
    for k, scores_at_k in by_k.items():  # as the reader counts tokens; words are the same for all readers
        scores_at_k["tokens_per_memory"] = usage.get("memory_tokens", {}).get(k, {}).get("per_memory")
    n, of = len({fact for outcome in outcomes for fact in outcome.unsure}), len(needed)
    unsure = (
        f"of {n} of {of} needed facts the judge could not tell whether their detail was kept, as rules found nothing to "
        f"compare; it counts as kept"
    )
    warnings = [left_out.warning(), unsure if n > TOO_MANY * of else None]
    scores = {
        "config": questions[0].config,
        "system": run["identity"].get("system"),
        "by_k": by_k,
        "floor": floor_of(questions),
        "stored": {"stores": len(stores), "memories": len(held), "words": len(" ".join(held).split())},
        "n_questions": len(questions),
        "n_failed": sum(outcome.label == "failed" for outcome in outcomes),
        "unnoticed": left_out.as_dict(),
        "not_judgeable": {"n": n, "of": of},
        "warnings": [*usage.get("warnings", []), *filter(None, warnings)],
    }
    shown = with_baseline(scores, run)
    rows = question_rows(outcomes, records, stores, scores["system"])
    report = html_report(label, run, shown, about, explorer_html(cards_of(rows), notes=ABOUT))
    prices = price_table({label: about["price"]} if "price" in about else {})
    table = "\n".join([markdown_table({label: shown}), *(each.markdown() for each in prices)])
    write_questions(folder, COLUMNS, rows)
    write_results(folder, scores=scores, usage=about, table=table, report=report)
    return scores


_ASKED = {
    "storage": "1 storage: is it in the store?",
    "summary": "2 summary: has it kept its details?",
    "retrieval": "3 retrieval: did it come back?",
}
_ANSWER = "4 reasoning: is the answer right?"
_NOT_JUDGED = "not judged"
ABOUT = (
    "A question is right if every needed fact passed every stage and the answer is right; its label is the first stage that "
    "failed.",
    "The judge looks at all memories together and names none. So the memory that stands beside a stage is the one that has "
    "most words in common with the fact: it illustrates the verdict and does not decide it.",
)


def cards_of(rows: Sequence[Mapping[str, Any]]) -> list[QuestionCard]:
    """A card for each question at each k, from the rows of questions.parquet."""
    several, configs = (len({row[name] for row in rows}) > 1 for name in ("k", "config"))
    told = [name for name in ("kind", "group") if any(row[name] for row in rows)]
    cards = []
    for row in rows:
        facets = {"label": _in_words(row["label"])}
        facets |= {"config": _in_words(row["config"])} if configs else {}
        facets |= {"memories asked for (k)": str(row["k"])} if several else {}
        card = QuestionCard(
            id=f"{row['id']}, k = {row['k']}" if several else row["id"],
            facets=facets | {name: row[name] or "–" for name in told},
            outcome=row["outcome"],
            question=row["question"],
            reference=[row["reference"]],
            answer=row["answer"],
            verdict=_verdict(row),
            reason=row["failure"] or row["reason"] or "",
            retrieved=row["retrieved"],
            trails=[_trail(number, need, row) for number, need in enumerate(row["needs"], 1)],
        )
        cards.append(card)
    return cards


def _verdict(row: Mapping[str, Any]) -> str:
    """The label, what is special about it, and the answer by itself."""
    right = {True: "right", False: "wrong", None: _NOT_JUDGED}[row["answer_right"]]
    lines = [f"label: {_in_words(row['label'])}", f"the answer by itself, whatever the stages say: {right}"]
    if row["vacuous"]:
        misled = "what could mislead was not stored or not retrieved"
        why = "its neighbour is not known either" if row["kind"] == "forgotten" else misled
        lines.append(f"vacuous: passed without merit, as {why}")
    return "\n".join([*lines, f"the store held {row['n_stored']:,} memories"])


def _trail(number: int, need: Mapping[str, Any], row: Mapping[str, Any]) -> Trail:
    """The steps of one needed fact. A stage after the first that failed was not judged."""
    failed, needed = need["stage"].removesuffix("_error"), [*_ASKED][: 2 if row["kind"] == "forgotten" else 3]
    last = [*_ASKED].index(failed) if failed in _ASKED else len(needed) - 1
    steps = [Step("told", "as it was told", need["told"])]
    for place, (stage, asked) in enumerate(_ASKED.items()):
        if stage not in needed:
            steps.append(Step(asked, "not needed: a neighbour of what was withdrawn has only to be there still"))
        elif failed == "failed" or place > last:
            steps.append(Step(asked, _NOT_JUDGED))
        else:
            text = need["retrieved" if stage == "retrieval" else "stored"]
            note = f"judge: {need['reason']}" if place == last and need["reason"] else ""
            steps.append(Step(asked, "not passed" if stage == failed else "passed", text, note))
    result = {True: "passed", False: "not passed", None: _NOT_JUDGED}[row["answer_right"]]
    return Trail(f"Needed fact {number}: {need['fact']}", [*steps, Step(_ANSWER, result, row["answer"])])


def _in_words(label: str) -> str:
    return label.replace("_", " ")
