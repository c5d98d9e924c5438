"""A language model as judge: one statement a request, a verdict under a JSON schema (paper: Appendix D.3).

The memories stand first in the prompt and the fact last, so that a store is read once for all facts that are looked for
in it, whether stored or faithful. A reply that is no verdict is asked for once more, with what was wrong; if the second
one is no verdict either, the judgement has failed.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing

from epbench.errors import BadInput
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.prompts import JudgingPrompts
from epbench.memfail.judging.protocol import Check, Judge, Judgement
from epbench.models.estimate import Estimate, estimate
from epbench.models.json_replies import WITHOUT_TEXT, Unusable, boolean_of, last_object_with
from epbench.models.protocol import Model, Reply, Request, Usage


class ModelJudge:
    """Judges by a model, all checks in one batch, those of one store after one another.

    Args:
        model: is asked greedily, under a JSON schema where its backend can hold it to one.
        prompts: the pack.
    """

    def __init__(self, model: Model, prompts: JudgingPrompts) -> None:
        self.model, self._prompts = model, prompts
        self.prompt_hash = prompts.hash

    @property
    def name(self) -> str:
        """The model's identity: another checkpoint in the same place is another judge."""
        return self.model.identity

    def plan(self, checks: Sequence[Check]) -> Estimate:
        """Most requests and tokens of judging these checks, each reply usable at once.

        Raises:
            BadInput: a prompt with its reply exceeds the model's window; nothing is ever cut off.
        """
        # The rules' keys tell checks apart as well as its own, for which the weights would have to be read.
        plan, window = estimate(self._requests(checks, LexicalJudge()), self.model), self.model.window()
        if window is not None and plan.longest > window:
            raise BadInput(
                f"judge {self.model.name}: a prompt and its reply take up to {plan.longest:,} tokens, its window has "
                f"{window:,}; choose another judge, or --isolate, which gives every row a small store of its own"
            )
        return plan

    def judge(self, checks: Sequence[Check]) -> Generator[Judgement]:
        """See `Judge.judge`.

        Raises:
            BadInput: as `plan`.
        """
        self.plan(checks)
        asked = {request.key(self.name): request for request in self._requests(checks, self)}
        unusable: list[tuple[Request, Reply]] = []
        replies = self.model.answer(list(asked.values()))
        with closing(replies):  # or what is open at an endpoint would go on when this stops
            for reply in replies:
                try:
                    _check_usable(reply)
                except Unusable as problem:
                    unusable.append((self._prompts.repair_request(asked[reply.key], str(problem)), reply))
                else:
                    yield _judgement(reply)
        if not unusable:
            return
        first = {request.key(self.name): reply for request, reply in unusable}
        replies = self.model.answer([request for request, _ in unusable])
        with closing(replies):
            for reply in replies:
                yield _judgement(first[reply.key], reply)

    def _requests(self, checks: Sequence[Check], judge: Judge) -> list[Request]:
        """One for each different check, by the keys of any judge, those of one context after one another."""
        requests = [self._prompts.request(c, key) for key, c in {c.key(judge): c for c in checks}.items()]
        place = {context: i for i, context in enumerate(dict.fromkeys(request.context for request in requests))}
        return sorted(requests, key=lambda request: place[request.context])


def read_verdict(text: str) -> tuple[bool, str]:
    """Verdict and reason by the last object that has a verdict: what comes before it is thinking aloud.

    Raises:
        Unusable: there is no such object, it names a field twice, or its verdict is neither true nor false.
    """
    found = last_object_with(text, "verdict")
    verdict = boolean_of(found["verdict"])
    if verdict is None:
        raise Unusable(f"the verdict is {json.dumps(found['verdict'])[:60]}, true or false is expected")
    return verdict, str(found.get("reason", ""))


def _check_usable(reply: Reply) -> None:
    """Raise Unusable where a repair is worth it; a call that failed otherwise has failed for good."""
    if reply.failure is None:
        read_verdict(reply.text)
    elif reply.ended in WITHOUT_TEXT:
        raise Unusable(reply.failure)


def _judgement(*replies: Reply) -> Judgement:
    """From the reply that counts, the last one, and the one before it that was unusable."""
    last = replies[-1]
    usage = Usage(
        prompt=sum(reply.usage.prompt for reply in replies),
        cached=sum(reply.usage.cached for reply in replies),
        completion=sum(reply.usage.completion for reply in replies),
    )
    raw = tuple(reply.text for reply in replies if reply.failure is None)
    if last.failure is not None:
        return Judgement(last.id, None, failure=last.failure, raw=raw, usage=usage)
    try:
        return Judgement(last.id, *read_verdict(last.text), raw=raw, usage=usage)
    except Unusable as problem:
        failure = f"the judge's reply is unusable, also when asked again: {problem}"
        return Judgement(last.id, None, failure=failure, raw=raw, usage=usage)
