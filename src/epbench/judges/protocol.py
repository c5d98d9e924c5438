"""What a judge is, how its verdicts are kept, and how far people agree with it (MemFail's paper: Section 5.1).

A judge gives a verdict on each input, or the reason why there is none. Every verdict is written into a journal as it arrives, and
nothing that was judged is judged again. One journal may hold the verdicts of several judges, since a verdict's key depends on its
judge. A judge's passport holds under `people` what people said of it, by what was decided: the items of Tulving answers, or
answers and stages of MemFail.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, TypeVar

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.typed import fields
from epbench.journals.journal import Journal, Record
from epbench.models.estimate import Estimate
from epbench.models.protocol import Usage
from epbench.progress import Progress
from epbench.statistics.intervals import cluster_bootstrap, wilson

if TYPE_CHECKING:
    import numpy as np
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray

JUDGE = fields({"name": str, "prompt_hash": str | None}, {"setup": str})
"""What files say of a judge; see `about_judge`."""

PUBLISHED = "published"
"""Takes the place of the prompt hash of a judge whose verdicts were published: they are stored under the answers' keys."""


class JudgeIdentity(Protocol):
    """What tells one judge from another."""

    @property
    def name(self) -> str:
        """`lexical` or `minilm`, or the model's `identity`: `openai:NAME`, or `hf:PATH@1f0c3a…` with its fingerprint."""

    @property
    def prompt_hash(self) -> str:
        """Hash of the prompts and the schema, or the version of the rules: when it changes, it is another judge."""

    @property
    def setup(self) -> str:
        """The address of a model's endpoint and its sampling, such as `http://host/v1, max_tokens=2048, temperature=0`.

        It is empty for rules, and for a model of which an earlier version noted only name and prompts: that is a judge of
        its own, since nobody knows which server it was. Weights on this machine are told apart by the name. Timeouts,
        attempts, windows, engines and replicas are no part of it, because a verdict does not depend on them.
        """


class Judgeable(Protocol):
    """Something to be judged."""

    def key(self, judge: JudgeIdentity) -> str:
        """Hash of everything the judge's verdict depends on: inputs with the same key get the same verdict."""


InputT_contra = TypeVar("InputT_contra", bound=Judgeable, contravariant=True)
VerdictT_co = TypeVar("VerdictT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Judgement(Generic[VerdictT_co]):
    """The verdict on one input, or the reason why there is none. A failure is neither right nor wrong."""

    key: str
    verdict: VerdictT_co | None  # None if the judge failed
    failure: str | None = None  # why the judge failed; None if it did not
    raw: tuple[str, ...] = ()  # the judge's replies as they came, the last one last; empty for rules
    usage: Usage = field(default_factory=Usage)  # tokens of all calls that the verdict took


class Judge(JudgeIdentity, Protocol[InputT_contra, VerdictT_co]):
    """Judges inputs. It raises nothing because of an odd answer, since any text is an answer."""

    def plan(self, inputs: Sequence[InputT_contra]) -> Estimate | None:
        """Requests and tokens that judging these inputs takes at most; None where it costs nothing."""

    def judge(self, inputs: Sequence[InputT_contra], calls: Path | None = None) -> Generator[Judgement[VerdictT_co]]:
        """Yield one judgement for each input as soon as it is there, in any order. Closing it ends open requests.

        Inputs with the same key may share a judgement. `calls` is the journal of a model's calls, so that a judge that was
        stopped asks nothing twice; without it the calls are forgotten when judging ends. Rules make none.
        """


def is_free(judge: Judge[InputT_contra, VerdictT_co]) -> bool:
    """Return whether judging costs nothing, because no model is asked."""
    return judge.plan([]) is None


@dataclass(frozen=True, slots=True)
class PastJudge:
    """A judge that judges nothing more: only its verdicts are left. Two judges are the same if these are equal."""

    name: str
    prompt_hash: str
    setup: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({'; '.join(filter(None, (self.prompt_hash, self.setup)))})"

    def plan(self, inputs: Sequence[Judgeable]) -> Estimate | None:
        """None: it costs nothing."""
        return None

    def judge(self, inputs: Sequence[Judgeable], calls: Path | None = None) -> Generator[Judgement[Never]]:
        """A failure for each input, because there is no verdict on it."""
        for judge_input in inputs:
            yield Judgement(judge_input.key(self), None, f"{self.name} has not judged this answer")


def identity_of(judge: JudgeIdentity) -> PastJudge:
    """Return what tells this judge from others."""
    return PastJudge(judge.name, judge.prompt_hash, judge.setup)


def noted_judge(about: Mapping[str, Any], name: str = "name") -> PastJudge:
    """Return the judge that run.json, scores.json, a record or a passport names; see `about_judge`."""
    return PastJudge(about[name], about.get("prompt_hash") or PUBLISHED, about.get("setup", ""))


def about_judge(judge: JudgeIdentity, name: str = "name") -> dict[str, str]:
    """Return what files say of a judge: its name, prompt_hash, and setup if it has one."""
    return {name: judge.name, "prompt_hash": judge.prompt_hash} | ({"setup": judge.setup} if judge.setup else {})


def key_parts(judge: JudgeIdentity) -> tuple[str, ...]:
    """Return what the keys of a judge's verdicts depend on. A judge without a setup keeps the keys of earlier versions."""
    return tuple(about_judge(judge).values())


def key_of(judge: JudgeIdentity, *parts: object) -> str:
    """Hash of everything that a verdict of this judge depends on, which JSON can express."""
    return sha256(json.dumps((*key_parts(judge), *parts)).encode()).hexdigest()[:24]


def file_name_of(judge: JudgeIdentity) -> str:
    """Return a file name for what is kept of a judge; judges of similar names may share it, so the file must name its own."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", judge.name)[-60:].strip("-.")  # the end of a long path tells most
    setup = sha256(judge.setup.encode()).hexdigest()[:12] if judge.setup else ""
    return "-".join(filter(None, (readable, judge.prompt_hash, setup)))


JUDGEMENTS = "judgements.jsonl"

InputT = TypeVar("InputT", bound=Judgeable)
VerdictT = TypeVar("VerdictT", bound="DataclassInstance")


def open_inputs(records: Mapping[str, Record], inputs: Iterable[InputT], judge: JudgeIdentity) -> dict[str, InputT]:
    """The inputs on which this judge has yet to give a verdict, each once, by their keys."""
    by_key = {judge_input.key(judge): judge_input for judge_input in inputs}
    return {key: i for key, i in by_key.items() if key not in records or records[key].get("failure") is not None}


def judge_open(
    journal: Journal,
    inputs: Iterable[InputT],
    judge: Judge[InputT, VerdictT],
    progress: Progress,
    what: str,
    describe: Callable[[InputT, float], Record],
    calls: Path | None = None,
) -> None:
    """Have all inputs judged on which the journal has no verdict by this judge.

    The judge is not asked at all where nothing is open, so that no model is loaded in vain. Progress counts the verdicts of
    earlier starts as well, under the name `what`. `describe` says what else a record holds of an input, given the seconds since
    the judgement before. For `calls` see `Judge.judge`.
    """
    by_key = {judge_input.key(judge): judge_input for judge_input in inputs}
    todo = {key: judge_input for key, judge_input in by_key.items() if not journal.done(key)}
    if not todo:
        return

    def judged() -> Generator[Record]:
        last = time.monotonic()
        with closing(judge.judge(list(todo.values()), calls)) as judgements:
            for judgement in judgements:
                now = time.monotonic()
                about = describe(todo[judgement.key], now - last)
                journal.add(judgement.key, **about, **_record_of(judgement, judge))
                last = now
                yield journal.records[judgement.key]

    with closing(judged()) as records:  # or requests that are open at an endpoint would go on when this stops
        for _ in progress(records, what, len(by_key), len(by_key) - len(todo)):
            pass


def _record_of(judgement: Judgement[VerdictT], judge: JudgeIdentity) -> Record:
    """What a record says of a judgement: the fields of the verdict, or the failure."""
    record: dict[str, Any] = about_judge(judge, "judge")
    if judgement.raw:
        record["raw"] = list(judgement.raw)
    if judgement.usage != Usage():
        record["usage"] = judgement.usage.record
    verdict = judgement.verdict
    if verdict is None:
        return record | {"failure": judgement.failure}
    return record | {name: getattr(verdict, name) for name in verdict.__dataclass_fields__}


def failures_of(records: Mapping[str, Record], judge: JudgeIdentity) -> dict[str, int]:
    """How many inputs the judge has failed on and is to be asked again about, by reason, the commonest first."""
    judge_records = [record for record in records.values() if noted_judge(record, "judge") == identity_of(judge)]
    return dict(Counter(r["failure"] for r in judge_records if r.get("failure") is not None).most_common())


PEOPLE = "people"
"""The field of a passport, and who answered where people did."""


def agreement(decisions: Sequence[tuple[str, str]], clusters: Sequence[object]) -> dict[str, Any]:
    """Compare what a judge and people decided, for each thing that a person decided, of which there is at least one.

    The clusters say what each is about, such as the id of an answer: decisions on one answer are not independent. Returns n;
    agreement, the share of equal decisions, and agreement_interval (95 %, Wilson); kappa (Cohen), the same beyond chance, and
    kappa_interval (95 %, drawing clusters). kappa is None if all decisions are one and the same, and the interval also where
    most draws have no kappa.
    """
    import numpy as np

    judge, person = (np.array(side) for side in zip(*decisions, strict=True))
    equal = judge == person

    def kappa(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = weights / weights.sum(axis=1, keepdims=True)
        chance = sum((shares @ (judge == name)) * (shares @ (person == name)) for name in {*judge, *person})
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(chance < 1 - 1e-9, (shares @ equal - chance) / (1 - chance), np.nan))

    value, n = float(kappa(np.ones((1, len(equal))))[0]), int(equal.sum())
    return {
        "n": len(equal),
        "agreement": n / len(equal),
        "agreement_interval": wilson(n, len(equal)),
        "kappa": None if np.isnan(value) else value,
        "kappa_interval": cluster_bootstrap(kappa, clusters),
    }


def with_people(path: Path, passport: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new passport, with what people said of the judge in the one at this path, which it replaces."""
    try:
        before = read_json(path).get(PEOPLE) if path.is_file() else None
    except BadInput:  # a damaged file is about to be replaced
        before = None
    return dict(passport) | ({PEOPLE: before} if before else {})


def people_line(passport: Mapping[str, Any]) -> str:
    """Return what people said, such as `people agree on 98.0% of 100 items, kappa 0.95`; empty if they said nothing."""
    named = []
    for what, of in (passport.get(PEOPLE) or {}).items():
        kappa = "" if of["kappa"] is None else f", kappa {of['kappa']:.2f}"
        named.append(f"{of['agreement']:.1%} of {of['n']:,} {what}{kappa}")
    return f"people agree on {'; '.join(named)}" if named else ""
