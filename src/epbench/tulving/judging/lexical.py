"""The embedded judge: compares words, not meanings; it gives the same verdict on every machine, without a model.

A true item scores 1 if it is in the answer (after case, punctuation and dates are normalised), 0.5 if a part of it is
(month and year of a date, a first or last name, half of the words), and 0 otherwise, as in the published judge's examples
(paper: Appendix B.4). A part that belongs to another true item counts only for that item. What the question itself names
is not an item of the answer. An abstention followed by a guess is not an abstention.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from epbench.judges.protocol import Judgement
from epbench.models.estimate import Estimate
from epbench.tulving.judging.protocol import JudgeInput, Verdict
from epbench.tulving.judging.rules import (
    entries_of,
    guesses,
    is_abstention,
    is_half_in,
    is_in,
    judge_account,
    normal,
    position,
)


class LexicalJudge:
    """Rule-based judge."""

    name = "lexical"
    setup = ""
    prompt_hash = "rules-3"  # a change of a rule needs a new version: the verdicts are then those of another judge

    def plan(self, inputs: Sequence[JudgeInput]) -> Estimate | None:
        """None: rules cost nothing."""
        return None

    def judge(self, inputs: Sequence[JudgeInput], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`."""
        for judge_input in inputs:
            yield Judgement(judge_input.key(self), self.verdict(judge_input))

    def verdict(self, judge_input: JudgeInput) -> Verdict:
        """The verdict on one answer; there always is one."""
        if judge_input.trace == "full_details":
            return judge_account(judge_input)
        reference, answer = judge_input.distinct_reference, judge_input.answer
        words = normal(answer)
        found = sorted((item for item in reference if is_in(item, words)), key=lambda item: position(item, words))
        if not found and is_abstention(answer) and not guesses(judge_input):
            return Verdict([], [0.0] * len(judge_input.reference), [], "the answer says that it does not know")
        missing = [item for item in reference if item not in found]
        entries = [entry for entry in entries_of(judge_input, missing) if not any(is_in(item, entry) for item in found)]
        halves: dict[str, str] = {}
        for item in missing:
            half = next((entry for entry in entries if is_half_in(item, entry, judge_input.trace)), None)
            if half is not None and half not in halves.values():
                halves[item] = half
        scores = [1.0 if item in found else 0.5 if item in halves else 0.0 for item in judge_input.reference]
        reason = f"{len(found)} of {len(reference)} true items stand in the answer, {len(halves)} in part"
        positions = {item: position(item, words) for item in found}
        positions |= {item: position(half, words) for item, half in halves.items()}
        order = sorted(positions, key=lambda item: positions[item])
        return Verdict([*found, *entries], scores, order, reason)
