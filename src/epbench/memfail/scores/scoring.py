"""From judged outcomes to the scores of a run (paper: Section 6, Appendix C), and to its files.

There are three numbers side by side: success (every stage passed), the plain accuracy of the answers, and what each stage
lost. Beside them stands a floor that needs no run: the scores of an empty memory, and of a reader that always says the
same. The files of a run are its scores, its table of questions, and a report with a card for each question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from epbench.files.json_files import read_json
from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGEMENTS
from epbench.memfail.dataset.load import Question, QuestionRecord
from epbench.memfail.dataset.revision import KINDS as REVISION_KINDS
from epbench.memfail.dataset.revision import N_QUESTIONS
from epbench.memfail.dataset.word_rules import decision_of, letter_of
from epbench.memfail.judging.diagnosis import ERRORS, REVISED, TOO_MANY, LeftOut, Outcome
from epbench.memfail.scores.report import html_report
from epbench.memfail.scores.run_files import COLUMNS, question_rows
from epbench.memfail.scores.tables import COMMONEST, markdown_table, with_baseline
from epbench.memories.recall import price_table
from epbench.metric_folders import formulas
from epbench.reports.explorer import QuestionCard, Step, Trail, explorer_html
from epbench.reports.plots import grouped_by
from epbench.runs.results import write_questions, write_results
from epbench.runs.usage import token_usage
from epbench.statistics.intervals import wilson


def score_outcomes(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The scores at each k, and of each group of questions, from the outcomes of one config at all k.

    Returns:
        By k (as text, in ascending order):
        success_rate, answer_accuracy and the share of each stage's errors, 0 to 1: over the questions that did not fail,
        None if all failed;
        vacuous, failed and n: the numbers of questions that passed without merit, that have no answer or verdict, and of
        all questions;
        vacuous_wrong: the number of vacuous passes whose answer is wrong: the reader made something up about somebody
        unknown, and only the label as published calls that correct;
        success_earned: the success rate of the questions that are no vacuous passes. A vacuous pass, whether its answer is
        right or wrong, is neither among its successes nor among its questions; success_rate counts them all as
        successes, as in the paper;
        facts: the number of needed memories by label;
        memories and words_per_memory: means over what was retrieved;
        of `revision` also stale, resurrected and lost_with_it, shares like those of the stages, and rows_right: the share
        of rows all of whose questions succeed, over the rows of which all were asked and none failed;
        intervals: 95 %, by Wilson;
        by_group: the same for each group, and for persona questions direct and misleading.
    """
    by_k = {}
    for k in sorted({outcome.k for outcome in outcomes}):
        at_k = [outcome for outcome in outcomes if outcome.k == k]
        scores = by_k[str(k)] = _scores(at_k)
        if any(outcome.kind in REVISION_KINDS for outcome in at_k):
            rows = grouped_by(at_k, attrgetter("row")).values()
            whole = [{outcome.label for outcome in row} for row in rows if len(row) == N_QUESTIONS]
            judged = [labels == {"correct"} for labels in whole if "failed" not in labels]
            scores["rows_right"] = sum(judged) / len(judged) if judged else None
            interval = wilson(sum(judged), len(judged))
            scores["intervals"] |= {"rows_right": list(interval)} if interval else {}
        for kind in ("direct", "misleading"):
            if of_kind := [outcome for outcome in at_k if outcome.kind == kind]:
                scores[kind] = _scores(of_kind)
        groups = sorted({outcome.group for outcome in at_k})
        scores["by_group"] = {name: _scores([o for o in at_k if o.group == name]) for name in groups if name}
    return by_k


def _scores(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    rates = formulas("memory_failures").rates([outcome.label for outcome in outcomes])
    answers = [outcome.answer_right for outcome in outcomes if outcome.answer_right is not None]
    counts, n = rates["counts"], rates["n"]
    revised = any(outcome.kind in REVISION_KINDS for outcome in outcomes)
    errors = (*ERRORS, *(REVISED if revised else ()))
    vacuous = sum(outcome.vacuous for outcome in outcomes)
    earned, n_earnable = counts["correct"] - vacuous, n - vacuous
    returned = sum(outcome.n_memories for outcome in outcomes)
    intervals = {error: wilson(counts.get(error, 0), n) for error in errors}
    intervals["answer_accuracy"] = wilson(sum(answers), len(answers))
    intervals["success_earned"] = wilson(earned, n_earnable)
    intervals["success_rate"] = (rates["ci_low"], rates["ci_high"]) if n else None
    return {
        "success_rate": rates["success_rate"],
        "success_earned": earned / n_earnable if n_earnable else None,
        "answer_accuracy": sum(answers) / len(answers) if answers else None,
        **{error: counts.get(error, 0) / n if n else None for error in errors},
        "vacuous": vacuous,
        "vacuous_wrong": sum(outcome.vacuous and outcome.answer_right is False for outcome in outcomes),
        "failed": rates["n_failed"],
        "n": len(outcomes),
        "facts": dict(Counter(label for outcome in outcomes for label in outcome.facts).most_common()),
        "memories": returned / len(outcomes),
        "words_per_memory": sum(outcome.memory_words for outcome in outcomes) / returned if returned else None,
        "intervals": {name: list(interval) for name, interval in intervals.items() if interval},
    }


def commonest_answers(records: Sequence[QuestionRecord]) -> dict[str, dict[str, Any]]:
    """The letter, or the yes or no, that a reader answers most often: with it, a preference shows that success hides.

    By k, as text: answer; share, that of all answers which say so, 0 to 1; and n, the number of all answers. Nothing if the
    questions have neither options nor yes or no, or if no answer chooses.
    """
    commonest = {}
    for k in sorted({record.k for record in records}):
        chosen = [_chosen(record) for record in records if record.k == k and record.failure is None]
        for answer, number in Counter(filter(None, chosen)).most_common(1):
            commonest[str(k)] = {"answer": answer, "share": number / len(chosen), "n": len(chosen)}
    return commonest


def _chosen(record: QuestionRecord) -> str | None:
    if record.question.choices:
        return letter_of(record.answer, record.question.choices)
    return decision_of(record.answer) if record.question.config.startswith("conditional_facts") else None


def floor_of(questions: Sequence[Question]) -> dict[str, float]:
    """What can be scored on the questions of a config without memory, by an empty store and by the best constant answer.

    Returns:
        success_rate: the share of misleading questions; an empty store passes them all, vacuously. It passes none of
            `revision`, since a question about what was withdrawn needs a neighbour of it.
        answer_accuracy: the accuracy of always yes or always no, of always the same letter, or of always abstaining; 0 if
            no answer fits two questions.
    """
    misleading = sum(question.kind == "misleading" for question in questions)
    unknown = misleading + sum(question.kind == "forgotten" for question in questions)
    references: Counter[str | None] = Counter()
    for question in questions:
        if question.choices:
            references[str(question.choices.index(question.reference))] += 1
        elif question.config.startswith("conditional_facts"):
            references[decision_of(question.reference)] += 1
    best = max([unknown, *(number for answer, number in references.items() if answer is not None)])
    return {"success_rate": misleading / len(questions), "answer_accuracy": best / len(questions)}


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
