"""From a judge's name to a judge of MemFail: rules, or a language model (paper: Appendix D.3).

A model gets one request per statement, and gives a verdict under a JSON schema. The memories come first in the prompt and
the fact last, so that a store is read once for all facts that are looked up in it, whether the check is about storing or
about keeping the detail.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path

from epbench.errors import BadInput, UnusableReply
from epbench.judges.model import Ask, BaseModelJudge, Calls
from epbench.judges.protocol import Judgement, PastJudge
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.prompts import SAMPLING, JudgingPrompts, load_judging_prompts
from epbench.memfail.judging.protocol import Check, Judge, Verdict
from epbench.models.json_replies import boolean_of, last_object_with
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request


def load_judge(name: str, options: Options | None = None, prompts: Path | None = None) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (rule-based, offline), or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: Another prompt pack, in TOML or JSON; ours by default (`data/memfail_judging.toml`).

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name == "lexical":
        if prompts is not None:
            raise BadInput(f"judge lexical: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return LexicalJudge()
    pack = load_judging_prompts(prompts)
    try:
        return ModelJudge(load_model(name, options, also=["lexical (rule-based, offline)"]), pack)
    except BadInput as error:
        raise BadInput(f"judge: {error}") from None


class ModelJudge(BaseModelJudge[Check, Verdict]):
    """Judges checks by a model.

    Args:
        model: See `BaseModelJudge`.
        prompts: The prompt pack.
    """

    advice = "choose another judge, or give every row a small store of its own"

    def __init__(self, model: Model, prompts: JudgingPrompts) -> None:
        self._prompts = prompts
        super().__init__(model, prompt_hash=prompts.hash, repair=prompts.repair, max_tokens=SAMPLING.max_tokens)

    def requests(self, inputs: Sequence[Check]) -> list[Request]:
        """See `BaseModelJudge.requests`; a check that occurs several times takes one request."""
        without_weights = PastJudge("", self.prompt_hash)
        checks = {check.key(without_weights): check for check in inputs}
        return [self._prompts.request(check, key) for key, check in checks.items()]

    def judge(self, inputs: Sequence[Check], calls: Path | None = None) -> Generator[Judgement[Verdict]]:
        """See `Judge.judge`.

        Raises:
            BadInput: As `plan`. How large a store is shows only after everything was stored.
        """
        self.plan(inputs)
        yield from super().judge(inputs, calls)

    def verdict_on(self, judge_input: Check, id_: str, ask: Ask) -> Calls[Verdict]:
        """See `BaseModelJudge.verdict_on`."""
        return ask(self._prompts.request(judge_input, id_), read_verdict)


def read_verdict(reply: str) -> Verdict:
    """Read the last object with a verdict; what comes before it is thinking aloud.

    Raises:
        UnusableReply: There is no such object, a field is repeated, or the verdict is neither true nor false.
    """
    found = last_object_with(reply, "verdict")
    verdict = boolean_of(found["verdict"])
    if verdict is None:
        raise UnusableReply(f"the verdict is {json.dumps(found['verdict'])[:60]}, true or false is expected")
    return Verdict(verdict, str(found.get("reason", "")))
