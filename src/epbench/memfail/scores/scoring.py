"""From outcomes to the scores of a run (paper: Section 6, Appendix C).

There are three numbers side by side: success (every stage passed), the plain accuracy of the answers, and what each stage
lost. Beside them stands a floor that needs no run: the scores of an empty memory, and of a reader that always says the
same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from epbench.memfail.dataset.load import Question, QuestionRecord
from epbench.memfail.dataset.revision import KINDS as REVISION_KINDS
from epbench.memfail.dataset.revision import N_QUESTIONS
from epbench.memfail.dataset.word_rules import decision_of, letter_of
from epbench.memfail.judging.diagnosis import Outcome
from epbench.metric_folders import formulas
from epbench.statistics.intervals import wilson

ERRORS = ("storage_error", "summary_error", "retrieval_error", "reasoning_error")
REVISED = ("stale", "resurrected", "lost_with_it")
"""The errors that only questions of `revision` can have."""
COMMONEST = "commonest_answer"
"""The field of scores.json with what a reader answers most often."""


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
    ks = sorted({outcome.k for outcome in outcomes})
    return {str(k): _scores_with_groups([outcome for outcome in outcomes if outcome.k == k]) for k in ks}


def _scores_with_groups(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    scores = _scores(outcomes)
    if any(outcome.kind in REVISION_KINDS for outcome in outcomes):
        rows = defaultdict(list)
        for outcome in outcomes:
            rows[outcome.row].append(outcome.label)
        whole = [set(labels) for labels in rows.values() if len(labels) == N_QUESTIONS]
        judged = [labels == {"correct"} for labels in whole if "failed" not in labels]
        scores["rows_right"] = sum(judged) / len(judged) if judged else None
        scores["intervals"] |= {"rows_right": list(interval)} if (interval := wilson(sum(judged), len(judged))) else {}
    for kind in ("direct", "misleading"):
        if of_kind := [outcome for outcome in outcomes if outcome.kind == kind]:
            scores[kind] = _scores(of_kind)
    groups = sorted({outcome.group for outcome in outcomes})
    scores["by_group"] = {name: _scores([o for o in outcomes if o.group == name]) for name in groups if name}
    return scores


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

    Returns:
        By k, as text: answer; share, that of all answers which say so, 0 to 1; and n, the number of all answers. Nothing if
        the questions have neither options nor yes or no, or if no answer chooses.
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
