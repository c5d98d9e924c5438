"""What the shared packages need to know of MemFail; see `epbench.runs.benchmark`."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.prompt_packs import read_pack
from epbench.files.typed import Whole, fields
from epbench.journals.answers import ANSWERS, fingerprint_of
from epbench.judges.protocol import JUDGE, JUDGEMENTS
from epbench.memfail.answers import score
from epbench.memfail.context.requests import REPLIES, ConfigRun, LexicalReader, Prompts, Setting, asked_of, load_prompts
from epbench.memfail.dataset.load import load_memfail
from epbench.memfail.evaluate import judge_and_score, read_output
from epbench.memfail.judging.diagnosis import diagnose, leave_one_out
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.paper.claims import claims_of
from epbench.memfail.scores.comparison import compare, write_side_by_side
from epbench.memfail.scores.report import headlines
from epbench.memfail.scores.tables import COMMONEST, screen_tables, with_baseline
from epbench.memfail.wording import read_wording
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import SHOWN
from epbench.memories.relay import CALLS
from epbench.memories.session import MEMORIES, MEMORIES_TYPE, RETRIEVED, STORED
from epbench.models.protocol import Reply, Request, Sampling
from epbench.progress import no_progress
from epbench.runs.benchmark import Benchmark, Check, Described, PastRun, check_fingerprint


@dataclass(frozen=True)
class _PastModel:
    """A reader of which only the journaled answers are left."""

    name: str
    identity: str
    costs_nothing: bool = True
    continues_prompts: bool = False

    def window(self) -> int | None:
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        return 0, 0

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        for request in requests:
            yield Reply(request.key(self.identity), request.id, failure="the journal has no answer")


def _past(about: Described) -> PastRun:
    identity = about.run["identity"]
    data, given = load_memfail(about.dataset, identity["config"]), about.prompts
    worded = given is not None and (str(given).startswith("published:") or "reader" in read_pack(given))
    pack: Prompts = read_wording(str(given))["reader"] if worded else load_prompts(given)
    checks = [check_fingerprint("dataset", data.fingerprint, identity["fingerprint"])]
    if checks[0].held and fingerprint_of(pack) != identity["prompts"]:
        raise BadInput(f"{about.folder / 'run.json'}: the run had other prompts for the reader; give its prompt pack")
    counted: dict[str, Any] = {}  # what only the reader's own tokenizer can count
    if identity["model"] != LexicalReader.name:
        checks.append(Check("tokens of memories", None, f"{identity['model']} is not loaded to count them again"))
        usage = {"memory_tokens": {}} if about.merged else read_json(about.folder / "usage.json")
        counted = {name: usage[name] for name in ("memory_tokens",) if name in usage}
    name, weights = identity["system"], identity.get("weights")
    past = _PastModel(identity["model"], f"{identity['model']}@{weights}" if weights else identity["model"])
    config = ConfigRun(
        facts=data.facts,
        questions=asked_of(data.questions, about.limit, about.shard),
        system=SystemSpec(
            name,
            baseline=bool(identity.get("control")),
            may_be_empty=name == "none",
            beyond_k=name in ("full-context", "oracle"),
        ),
        model=LexicalReader() if identity["model"] == LexicalReader.name else past,
        prompts=pack,
        setting=Setting(
            ks=tuple(identity["k"]),
            replies=identity["with_replies"],
            sampling=Sampling(identity["max_tokens"]),
            **{name: identity[name] for name in ("isolate", "published_query", "units_per_conversation", "seed")},
        ),
        whole=asked_of(data.questions, about.limit),
    )

    def judged(folder: Path, judge: Any) -> None:
        output = read_output(folder, config)
        diagnose(folder, output.records, output.stores, judge, no_progress)
        leave_one_out(folder, output.records, output.told, judge, no_progress)

    def finished(folder: Path, judge: Any, label: str) -> dict[str, Any]:
        output = read_output(folder, config)
        output = replace(output, usage={**output.usage, **counted})
        return judge_and_score(folder, output, judge, label, no_progress)[1]

    def shown(label: str, scores: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        return f"{label} ({identity['config']})", with_baseline(scores, {"identity": identity})

    return PastRun(checks=checks, judge=judged, finish=finished, shown=shown)


BENCHMARK = Benchmark(
    name="memfail",
    title="MemFail",
    described=fields(
        {
            "dataset": str,
            "label": str,
            "judge": JUDGE,
            "identity": fields(
                {
                    **dict.fromkeys(("config", "fingerprint", "system", "model", "prompts"), str),
                    "k": list[Whole],
                    **dict.fromkeys(("isolate", "published_query", "with_replies"), bool),
                    **dict.fromkeys(("units_per_conversation", "seed", "max_tokens"), Whole),
                },
                {"weights": str},
            ),
        },
        {"limit": Whole | None, "shard": str | None},
    ),
    past=_past,
    journals=(STORED, RETRIEVED, SHOWN, REPLIES, ANSWERS, JUDGEMENTS, CALLS),
    objects={MEMORIES: MEMORIES_TYPE},
    compare=compare,
    side_by_side=partial(write_side_by_side, claims=claims_of),
    headlines=headlines,
    screen_tables=screen_tables,
    columns=("entity_facts", "preference_facts", "hop_count"),
    score=score,
    rules=LexicalJudge,
    part="config",
    later=((COMMONEST,),),
)
