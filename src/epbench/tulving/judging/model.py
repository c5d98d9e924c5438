"""Any model as judge: a call for items and scores, and one for the order where that counts (paper: Appendix B.3)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from epbench.judges.model import Ask, BaseModelJudge, Calls
from epbench.judges.protocol import Judgement
from epbench.models.protocol import Model, Request
from epbench.tulving.judging.prompts import JudgePrompts, load_judge_prompts
from epbench.tulving.judging.protocol import JudgeInput, Verdict
from epbench.tulving.judging.replies import read_order, read_verdict

MAX_TOKENS = 2048


class ModelJudge(BaseModelJudge[JudgeInput, Verdict]):
    """Judges answers by a model.

    Args:
        model: See `BaseModelJudge`.
        prompts: The prompt pack; ours by default.
        calls: The journal of its calls where `judge` is given none, for who has no folder of a run.
        max_tokens: Most tokens of one reply, at least 1; a model that thinks aloud needs more.
    """

    advice = "allow fewer tokens per reply, or choose another judge"

    def __init__(
        self,
        model: Model,
        prompts: JudgePrompts | None = None,
        *,
        calls: Path | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.prompts, self.calls = prompts or load_judge_prompts(), calls
        super().__init__(model, prompt_hash=self.prompts.hash, repair=self.prompts.repair, max_tokens=max_tokens)

    def judge(self, inputs: Sequence[JudgeInput], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`."""
        return super().judge(inputs, calls or self.calls)

    def requests(self, inputs: Sequence[JudgeInput]) -> list[Request]:
        """See `BaseModelJudge.requests`."""
        verdicts = [self.prompts.verdict_request(one, one.id, self.max_tokens) for one in inputs]
        orders = [self.prompts.order_request(one, one.id, self.max_tokens) for one in inputs if may_need_order(one)]
        return [*verdicts, *orders]

    def verdict_on(self, judge_input: JudgeInput, id_: str, ask: Ask) -> Calls[Verdict]:
        """See `BaseModelJudge.verdict_on`."""
        reference = judge_input.distinct_reference
        n = len(reference)
        request = self.prompts.verdict_request(judge_input, id_, self.max_tokens)
        items, scores, reason = yield from ask(request, lambda reply: read_verdict(reply, n))
        found = [item for item, score in zip(reference, scores, strict=True) if score > 0]
        order = found if len(found) == 1 else []
        if may_need_order(judge_input) and len(found) == n:
            request = self.prompts.order_request(judge_input, id_, self.max_tokens)
            positions = yield from ask(request, lambda reply: read_order(reply, n))
            order = [reference[position] for position in positions]
        if judge_input.trace == "full_details":
            items = items and ["account"]  # an answer is one account, however many parts the judge has split it into
        score_of = dict(zip(reference, scores, strict=True))
        return Verdict(items, [score_of[item] for item in judge_input.reference], order, reason)


def may_need_order(judge_input: JudgeInput) -> bool:
    """Whether the order of the answer counts, provided that it contains all true items."""
    return judge_input.get == "chronological" and len(judge_input.distinct_reference) >= 2
