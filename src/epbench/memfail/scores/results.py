"""From judged outcomes to the files of a run: table of questions, scores, and a report with a card for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.files.json_files import read_json
from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGEMENTS
from epbench.memfail.dataset.load import QuestionRecord
from epbench.memfail.judging.diagnosis import TOO_MANY, LeftOut, Outcome
from epbench.memfail.scores.report import html_report
from epbench.memfail.scores.run_files import COLUMNS, question_rows
from epbench.memfail.scores.scoring import COMMONEST, commonest_answers, floor_of, score_outcomes
from epbench.memfail.scores.tables import markdown_table, with_baseline
from epbench.memories.recall import price_table
from epbench.reports.explorer import QuestionCard, Step, Trail, explorer_html
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import token_usage


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
    returned, not_judgeable says of how many needed facts the judge had nothing to decide by, and commonest_answer is what
    `commonest_answers` returns.
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
        COMMONEST: commonest_answers(records),
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
