"""From outcomes to the scores of a run, and the files that show them (paper: Section 6, Appendix C).

Three numbers side by side: success (every stage passed), the plain accuracy of the answers, and what each stage lost.
Beside them a floor that needs no run: what an empty memory scores, and what a reader scores that says the same each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.judges.journal import JUDGEMENTS
from epbench.memfail.dataset.types import Question, QuestionRecord
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.judging.word_rules import decision_of
from epbench.metric_folders import metric_module
from epbench.runs.folder import read_json, write_json, write_text
from epbench.runs.journal import read_journal
from epbench.runs.outcomes import write_outcomes
from epbench.runs.usage import token_usage
from epbench.statistics.proportions import wilson

ERRORS = ("storage_error", "summary_error", "retrieval_error", "reasoning_error")


def score_outcomes(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The scores at each k, and of each group at it.

    Args:
        outcomes: of one config.

    Returns:
        By k (as text, in ascending order): success_rate; answer_accuracy; the share of each stage's errors; vacuous,
        failed and n (numbers of questions: passed without merit, without an answer or verdict, all); facts (number of
        needed memories by label); memories and words_per_memory (means, of what came back); intervals (95 %, Wilson);
        by_group with the same for each group; of persona questions also direct and misleading. Shares are of the
        questions that did not fail, None without any. A vacuous pass is a success, as published; success_earned leaves
        these questions aside.
    """
    ks = sorted({outcome.k for outcome in outcomes})
    return {str(k): _scores_with_groups([outcome for outcome in outcomes if outcome.k == k]) for k in ks}


def _scores_with_groups(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    scores = _scores(outcomes)
    for kind in ("direct", "misleading"):
        if of_kind := [outcome for outcome in outcomes if outcome.kind == kind]:
            scores[kind] = _scores(of_kind)
    groups = sorted({outcome.group for outcome in outcomes})
    scores["by_group"] = {name: _scores([o for o in outcomes if o.group == name]) for name in groups if name}
    return scores


def _scores(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    found = metric_module("memory_failures").rates([outcome.label for outcome in outcomes])
    answers = [outcome.answer_right for outcome in outcomes if outcome.answer_right is not None]
    counts, n = found["counts"], found["n"]
    vacuous = sum(outcome.vacuous for outcome in outcomes)
    earned, of = counts["correct"] - vacuous, n - vacuous
    returned = sum(outcome.n_memories for outcome in outcomes)
    intervals = {error: wilson(counts[error], n) for error in ERRORS}
    intervals["answer_accuracy"] = wilson(sum(answers), len(answers))
    intervals["success_earned"] = wilson(earned, of)
    intervals["success_rate"] = (found["ci_low"], found["ci_high"]) if n else None
    return {
        "success_rate": found["success_rate"],
        "success_earned": earned / of if of else None,
        "answer_accuracy": sum(answers) / len(answers) if answers else None,
        **{error: found["shares"][error] for error in ERRORS},
        "vacuous": vacuous,
        "failed": found["n_failed"],
        "n": len(outcomes),
        "facts": dict(Counter(label for outcome in outcomes for label in outcome.facts).most_common()),
        "memories": returned / len(outcomes),
        "words_per_memory": sum(outcome.memory_words for outcome in outcomes) / returned if returned else None,
        "intervals": {name: list(interval) for name, interval in intervals.items() if interval},
    }


def floor_of(questions: Sequence[Question]) -> dict[str, float]:
    """What needs no memory: the success of an empty store, and the accuracy of the best answer that is always the same.

    Args:
        questions: of one config, at least one.

    Returns:
        success_rate: the share of misleading questions, all of which an empty store passes vacuously.
        answer_accuracy: of always yes or always no, of always the same letter, of always abstaining; 0 where no answer
            fits two questions.
    """
    misleading = sum(question.kind == "misleading" for question in questions)
    said: Counter[str | None] = Counter()
    for question in questions:
        if question.choices:
            said[str(question.choices.index(question.reference))] += 1
        elif question.config.startswith("conditional_facts"):
            said[decision_of(question.reference)] += 1
    best = max([misleading, *(number for answer, number in said.items() if answer is not None)])
    return {"success_rate": misleading / len(questions), "answer_accuracy": best / len(questions)}


def finish(
    folder: Path,
    outcomes: Sequence[Outcome],
    traces: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    label: str,
    usage: Mapping[str, Any],
) -> dict[str, Any]:
    """Write scores.json, outcomes.jsonl, usage.json, table.md and report.html.

    Args:
        folder: of the run; its run.json says which config and system it is.
        outcomes: of all questions at all k, read from the journals.
        traces: that they are the outcomes of.
        stores: all memories that the system held when the questions were asked.
        label: of the run in tables.
        usage: what storing, retrieving and answering took; its `warnings` are shown with the scores, its
            `memory_tokens` (by k, `per_memory`) become tokens_per_memory.

    Returns:
        The content of scores.json: config, system, by_k (see `score_outcomes`), floor (see `floor_of`), stored (number
        of stores, memories and words), n_questions, n_failed, warnings.
    """
    from epbench.memfail.scores.comparison import record_of
    from epbench.memfail.scores.report import html_report
    from epbench.memfail.scores.tables import markdown_table

    run = read_json(folder / "run.json")
    questions = list({trace.question.id: trace.question for trace in traces}.values())
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
        "warnings": list(usage.get("warnings", [])),
    }
    write_json(folder / "scores.json", scores)
    write_outcomes(folder, map(record_of, outcomes))
    write_json(folder / "usage.json", about)
    write_text(folder / "table.md", markdown_table({label: scores}))
    write_text(folder / "report.html", html_report(label, run, scores, about))
    return scores
