"""The results of a run of MemFail, computed again from its journals, to be compared with those in its folder."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.shapes import Items, Shape, check
from epbench.judges.journal import JUDGEMENTS
from epbench.judges.protocol import identity_of, noted_judge
from epbench.memfail.context.prompts import load_prompts
from epbench.memfail.context.reader import LexicalReader
from epbench.memfail.context.requests import ConfigRun, Setting, asked_of
from epbench.memfail.dataset.load import Loaded, load_memfail
from epbench.memfail.evaluate import RunOutput, judge_and_score, read_output
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.leave_one_out import leave_one_out
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.protocol import Judge
from epbench.memfail.scores.run_files import read_run
from epbench.memories.spec import SystemSpec
from epbench.models.protocol import Model, Reply, Request, Sampling
from epbench.runs.answers import fingerprint_of, no_progress
from epbench.runs.folder import dataset_of
from epbench.runs.verification import Check, check_fingerprint, check_records, copy_journals

_LEXICAL = "lexical"
PAST_RUN = Shape(
    {
        "dataset": (str,), "label": (str,), "judge": Shape({"name": (str,), "prompt_hash": (str,)}, {"setup": (str,)}),
        "identity": Shape(
            {
                **dict.fromkeys(("config", "fingerprint", "system", "model", "prompts"), (str,)), "k": Items((int,)),
                **dict.fromkeys(("isolate", "published_query", "with_replies"), (bool,)),
                **dict.fromkeys(("units_per_conversation", "seed", "max_tokens"), (int,)),
            },
            {"weights": (str,)},
        ),
    },
    {"limit": (int, NoneType), "shard": (str, NoneType)},
)  # fmt: skip
"""What run.json must say, so that the results can be computed again."""


@dataclass(frozen=True)
class _PastModel:
    """A reader of which only the journaled answers are left."""

    name: str
    identity: str
    costs_nothing: bool = True
    continues_prompts: bool = False

    def window(self) -> int | None:
        """Nothing is known of it."""
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Nothing is counted."""
        return 0, 0

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """A failure for each request: the journal has no answer to it."""
        for request in requests:
            yield Reply(request.key(self.identity), request.id, failure="the journal has no answer")


def recompute(folder: Path, scratch: Path, dataset: str | None = None, prompts: Path | None = None) -> list[Check]:
    """Compute the results of a run again, into an empty folder; on another dataset than the run's, nothing is computed.

    Args:
        folder: The run's folder, of one config.
        scratch: The folder for the results.
        dataset: Where the dataset is now; None for where the run found it.
        prompts: The reader's prompt pack, if the run had another one than ours.

    Returns:
        What was checked on the way: the dataset, and, where the judge goes by rules, that it still gives the verdicts in
        the journal.

    Raises:
        BadInput: The run, the dataset or the prompts cannot be read, or the prompts are not those of the run.
    """
    run = read_run(folder)
    check(str(folder / "run.json"), run, PAST_RUN)
    identity = run["identity"]
    data = load_memfail(dataset or dataset_of(run) or "", identity["config"])
    checks = [check_fingerprint("dataset", data.fingerprint, identity["fingerprint"])]
    if not checks[0].held:
        return checks  # other questions: nothing would follow from these journals
    config = past_config(folder, identity, data, prompts, run.get("limit"), run.get("shard"))
    copy_journals(folder, scratch)
    output = read_output(scratch, config)
    judge: Judge = noted_judge(run["judge"])
    rules = LexicalJudge()
    if judge == identity_of(rules):
        judge = rules
        checks.append(_judge_again(folder, scratch / "judged", output, rules))
    else:
        checks.append(Check(JUDGEMENTS, None, f"{judge.name} is not asked again; the results follow from its verdicts"))
    if config.model.name != _LEXICAL:
        output = replace(output, usage=output.usage | _counted_by_the_reader(folder))
        checks.append(Check("tokens of memories", None, f"{config.model.name} is not loaded to count them again"))
    judge_and_score(scratch, output, judge, run["label"], no_progress)
    return checks


def past_config(
    folder: Path,
    identity: Mapping[str, Any],
    data: Loaded,
    prompts: Path | None,
    limit: int | None,
    shard: str | None = None,
) -> ConfigRun:
    """Return a config as it was run, as far as reading its journals needs it.

    Args:
        folder: The run's folder, for messages.
        identity: The field `identity` of run.json; see `PAST_RUN`.
        data: The config.
        prompts: The reader's prompt pack, if the run had another one than ours.
        limit: The limit of the run.
        shard: The shard of rows that it was.

    Raises:
        BadInput: The prompts cannot be read, or are not those of the run.
    """
    pack = load_prompts(prompts)
    if fingerprint_of(pack) != identity["prompts"]:
        raise BadInput(f"{folder / 'run.json'}: the run had other prompts for the reader; give its prompt pack")
    name = identity["system"]
    return ConfigRun(
        facts=data.facts,
        questions=asked_of(data.questions, limit, shard),
        system=SystemSpec(
            name,
            baseline=bool(identity.get("control")),
            may_be_empty=name == "none",
            beyond_k=name in ("full-context", "oracle"),
        ),
        model=_past_model(identity),
        prompts=pack,
        setting=Setting(
            ks=tuple(identity["k"]),
            isolate=identity["isolate"],
            published_query=identity["published_query"],
            replies=identity["with_replies"],
            units_per_conversation=identity["units_per_conversation"],
            seed=identity["seed"],
            sampling=Sampling(identity["max_tokens"]),
        ),
        whole=asked_of(data.questions, limit),
    )


def _past_model(identity: Mapping[str, Any]) -> Model:
    if identity["model"] == _LEXICAL:
        return LexicalReader()
    weights = identity.get("weights")
    return _PastModel(identity["model"], f"{identity['model']}@{weights}" if weights else identity["model"])


def _counted_by_the_reader(folder: Path) -> dict[str, Any]:
    """What only the reader's own tokenizer can count, as the run has noted it."""
    usage = read_json(folder / "usage.json")
    return {"memory_tokens": usage["memory_tokens"]} if "memory_tokens" in usage else {}


def _judge_again(folder: Path, scratch: Path, output: RunOutput, judge: LexicalJudge) -> Check:
    """Have a judge that goes by rules judge everything anew, in a scratch folder."""
    scratch.mkdir(parents=True)
    diagnose(scratch, output.records, output.stores, judge, no_progress)
    leave_one_out(scratch, output.records, output.told, judge, no_progress)
    return check_records(folder, scratch, JUDGEMENTS, judge.name)
