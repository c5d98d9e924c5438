"""Any model as judge: a call for items and scores, and one for the order where that counts (paper: Appendix B.3).

A reply that is no verdict is asked for once more, with what was wrong. If that is none either, the judge has failed on
this answer, which is neither right nor wrong, and the next start asks anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from epbench.errors import BadInput
from epbench.models.estimate import Estimate, estimate
from epbench.models.json_replies import WITHOUT_TEXT, Unusable
from epbench.models.protocol import Model, Request, Usage
from epbench.runs.answers import answered
from epbench.runs.journal import Journal, Record
from epbench.tulving.judging.prompts import JudgePrompts, load_judge_prompts
from epbench.tulving.judging.protocol import JudgeInput, Judgement, Verdict
from epbench.tulving.judging.replies import read_order, read_verdict

MAX_TOKENS = 2048
T = TypeVar("T")


class ModelJudge:
    """Judges by a model, all answers in one batch; second calls follow in batches of their own.

    Args:
        model: is asked greedily, under a JSON schema where its backend can hold it to one.
        prompts: the pack; ours unless given.
        calls: journal of its calls, so that a judge that was stopped asks nothing twice; without it the calls are
            forgotten when judging ends.
        max_tokens: of one reply, at least 1; a model that thinks aloud needs more.
    """

    def __init__(
        self,
        model: Model,
        prompts: JudgePrompts | None = None,
        *,
        calls: Path | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.model, self.calls, self.max_tokens = model, calls, max_tokens
        self.prompts = prompts or load_judge_prompts()
        self.prompt_hash = self.prompts.hash

    @property
    def name(self) -> str:
        """The model's identity: another checkpoint in the same place is another judge."""
        return self.model.identity

    def plan(self, cases: Sequence[JudgeInput]) -> Estimate:
        """Most requests and tokens of judging them, each reply usable at once.

        Raises:
            BadInput: a prompt with its reply exceeds the model's window.
        """
        requests = [self.prompts.verdict_request(case, case.id, self.max_tokens) for case in cases]
        ordered = [case for case in cases if may_need_order(case)]
        requests += [self.prompts.order_request(case, case.id, self.max_tokens) for case in ordered]
        plan, window = estimate(requests, self.model), self.model.window()
        if window is not None and plan.longest > window:
            raise BadInput(
                f"judge {self.model.name}: a prompt and its reply take up to {plan.longest:,} tokens, its window has "
                f"{window:,}; lower --judge-max-tokens or choose another judge"
            )
        return plan

    def judge(self, cases: Sequence[JudgeInput]) -> Generator[Judgement]:
        """See `Judge.judge`; equal cases are judged once."""
        with self._journal() as journal:
            courses = [_Course(self, case, key) for key, case in {case.key(self): case for case in cases}.items()]
            waiting: dict[str, _Course] = {}  # by the key of the request whose reply is awaited
            for course in courses:
                if judgement := course.go_on(None, journal, waiting):
                    yield judgement
            while waiting:
                asked, waiting = waiting, {}
                # Requests of one context follow one another: the rules are read once, and so are those of the order.
                requests = sorted((course.request for course in asked.values()), key=lambda request: request.context)
                records = answered(journal, requests, self.model)
                with closing(records):
                    for record in records:
                        if judgement := asked[record["key"]].go_on(record, journal, waiting):
                            yield judgement

    @contextmanager
    def _journal(self) -> Iterator[Journal]:
        with tempfile.TemporaryDirectory(prefix="epbench-judge-") as scratch:
            journal = Journal(self.calls or Path(scratch) / "calls.jsonl")
            try:
                yield journal
            finally:
                journal.close()


def may_need_order(case: JudgeInput) -> bool:
    """Whether the order of the answer counts, if all true items are in it."""
    return case.get == "chronological" and len(case.distinct_truth) >= 2


class _Lost(Exception):
    """A call without a reply, with the reason."""


class _Course:
    """The judging of one case, call by call: `request` is the one whose reply it waits for."""

    def __init__(self, judge: ModelJudge, case: JudgeInput, key: str) -> None:
        self.judge, self.case, self.key = judge, case, key
        self.request: Request
        self._raw: list[str] = []
        self._usage = Usage()
        self._void: list[str] = []  # keys of calls that are to be made anew by the next start
        self._calls = self._all_calls()

    def go_on(self, record: Record | None, journal: Journal, waiting: dict[str, _Course]) -> Judgement | None:
        """Take a reply (None at the start) and those after it that the journal has; then wait for the next, or judge."""
        try:
            while True:
                self.request = next(self._calls) if record is None else self._calls.send(record)
                key = self.request.key(self.judge.name)
                if not journal.done(key):
                    waiting[key] = self
                    return None
                record = journal.records[key]
        except StopIteration as end:
            judgement: Judgement = end.value
        for key in self._void:
            journal.add(**(journal.records[key] | {"failure": judgement.failure}))
        return judgement

    def _all_calls(self) -> Generator[Request, Record, Judgement]:
        """Yields what is to be asked, is sent the records of the replies, and returns the judgement."""
        case, prompts, max_tokens = self.case, self.judge.prompts, self.judge.max_tokens
        truth = case.distinct_truth
        try:
            items, scores, reason = yield from self._ask(
                prompts.verdict_request(case, self.key, max_tokens), lambda reply: read_verdict(reply, len(truth))
            )
            found = [item for item, score in zip(truth, scores, strict=True) if score > 0]
            order = found if len(found) == 1 else []
            if may_need_order(case) and len(found) == len(truth):
                places = yield from self._ask(
                    prompts.order_request(case, self.key, max_tokens), lambda reply: read_order(reply, len(truth))
                )
                order = [truth[place] for place in places]
        except (Unusable, _Lost) as problem:
            return Judgement(self.key, None, str(problem), tuple(self._raw), self._usage)
        if case.trace == "full_details":
            items = items and ["account"]  # one answer is one account, whatever it was taken apart into
        score_of = dict(zip(truth, scores, strict=True))
        verdict = Verdict(items, [score_of[item] for item in case.truth], order, reason)
        return Judgement(self.key, verdict, None, tuple(self._raw), self._usage)

    def _ask(self, request: Request, read: Callable[[str], T]) -> Generator[Request, Record, T]:
        """What `read` makes of the reply, or of the one to the repaired request.

        Raises:
            _Lost: a call got no reply, or the model refused to give one.
            Unusable: both replies are unusable.
        """
        try:
            return read((yield from self._reply(request)))
        except Unusable as error:
            problem = str(error)
        repair = self.judge.prompts.repair_request(request, problem)
        try:
            return read((yield from self._reply(repair)))
        except Unusable as error:
            self._void = [call.key(self.judge.name) for call in (request, repair)]
            raise Unusable(f"the judge's reply is unusable, also when asked again: {error}") from None

    def _reply(self, request: Request) -> Generator[Request, Record, str]:
        record = yield request
        used, total = Usage(**record.get("usage", {})), self._usage
        self._usage = Usage(total.prompt + used.prompt, total.cached + used.cached, total.completion + used.completion)
        if (failure := record.get("failure")) is not None:
            raise (Unusable if record.get("ended") in WITHOUT_TEXT else _Lost)(failure)
        self._raw.append(record["answer"])
        return str(record["answer"])
