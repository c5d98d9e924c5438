"""The cards of the questions of a MemFail run: each needed fact from what was told to the answer, stage by stage.

Paper: Sections 3.2 and 5.1 (phase 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.reports.explorer import QuestionCard, Step, Trail, explorer_html

_STAGES = ("storage", "summary", "retrieval")
_ASKED = {
    "storage": "1 storage: is it in the store?",
    "summary": "2 summary: has it kept its details?",
    "retrieval": "3 retrieval: did it come back?",
}
_ANSWER = "4 reasoning: is the answer right?"
_NOT_JUDGED = "not judged"
_ABOUT = (
    "A question is right if every needed fact passed every stage and the answer is right; its label is the first stage that "
    "failed.",
    "The judge looks at all memories together and names none. So the memory that stands beside a stage is the one that has "
    "most words in common with the fact: it illustrates the verdict and does not decide it.",
)


def questions_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Question by question, as HTML for the page of a run.

    Args:
        rows: The rows of questions.parquet; see `epbench.memfail.scores.question_files`.
    """
    return explorer_html(cards_of(rows), notes=_ABOUT)


def cards_of(rows: Sequence[Mapping[str, Any]]) -> list[QuestionCard]:
    """A card for each question at each k.

    Args:
        rows: The rows of questions.parquet.
    """
    several = len({row["k"] for row in rows}) > 1
    kinds, groups = any(row["kind"] for row in rows), any(row["group"] for row in rows)
    return [_card(row, several, kinds, groups) for row in rows]


def _card(row: Mapping[str, Any], several: bool, kinds: bool, groups: bool) -> QuestionCard:
    facets = {"label": _in_words(row["label"])}
    if several:
        facets["memories asked for (k)"] = str(row["k"])
    if kinds:
        facets["kind"] = row["kind"] or "–"
    if groups:
        facets["group"] = row["group"] or "–"
    return QuestionCard(
        id=f"{row['id']}, k = {row['k']}" if several else row["id"],
        facets=facets,
        outcome=row["outcome"],
        question=row["question"],
        reference=[row["reference"]],
        answer=row["answer"],
        verdict=_verdict(row),
        reason=row["failure"] or row["reason"] or "",
        retrieved=row["retrieved"],
        trails=[_trail(number, need, row) for number, need in enumerate(row["needs"], 1)],
    )


def _verdict(row: Mapping[str, Any]) -> str:
    """The label, what is special about it, and the answer by itself."""
    right = {True: "right", False: "wrong", None: _NOT_JUDGED}[row["answer_right"]]
    lines = [f"label: {_in_words(row['label'])}", f"the answer by itself, whatever the stages say: {right}"]
    if row["vacuous"]:
        lines.append("vacuous: passed without merit, as what could mislead was not stored or not retrieved")
    return "\n".join([*lines, f"the store held {row['n_stored']:,} memories"])


def _trail(number: int, need: Mapping[str, Any], row: Mapping[str, Any]) -> Trail:
    """The steps of one needed fact. A stage after the first that failed was not judged."""
    failed = need["stage"].removesuffix("_error")
    last = _STAGES.index(failed) if failed in _STAGES else len(_STAGES) - 1
    steps = [Step("told", "as it was told", need["told"])]
    for place, stage in enumerate(_STAGES):
        if failed == "failed" or place > last:
            steps.append(Step(_ASKED[stage], _NOT_JUDGED))
            continue
        text = need["retrieved" if stage == "retrieval" else "stored"]
        note = f"judge: {need['reason']}" if place == last and need["reason"] else ""
        steps.append(Step(_ASKED[stage], "not passed" if stage == failed else "passed", text, note))
    result = {True: "passed", False: "not passed", None: _NOT_JUDGED}[row["answer_right"]]
    return Trail(f"Needed fact {number}: {need['fact']}", [*steps, Step(_ANSWER, result, row["answer"])])


def _in_words(label: str) -> str:
    return label.replace("_", " ")
