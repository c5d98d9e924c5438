"""The arguments that several scripts share: one thing has one flag, one default and one line of help.

A script includes the groups that it needs in its own `Arguments`; where its help has other words, it declares the argument
again as it includes the group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epbench.arguments.config_file import PAIRS
from epbench.arguments.declaring import argument, count, duration
from epbench.errors import BadInput
from epbench.models import load as models

if TYPE_CHECKING:
    from epbench.memories.guard import Limits
    from epbench.models.estimate import Bounds as Made
    from epbench.models.load import Engine, Options

LEXICAL = "lexical (rules, offline)"
TULVING_JUDGES = f"{LEXICAL}, minilm (sentence embeddings, offline)"
MODELS = f"{', '.join(models.MODELS[:-1])} or {models.MODELS[-1]}"
_INSIDE = "of an installed system such as mem0, or of mcp:COMMAND"


@dataclass(frozen=True, kw_only=True)
class Backend:
    """How the main model of a script is reached."""

    base_url: str | None = argument("address of an OpenAI-compatible endpoint", metavar="URL")
    request_timeout: float = argument(
        "limit for one attempt at one request to an endpoint (300)", default=300.0, metavar="SECONDS"
    )
    window: int | None = argument(
        "context window, if the endpoint does not report it or vLLM should reserve less",
        convert=count,
        metavar="TOKENS",
    )
    batch: bool = argument(
        "ask openai: and inspect: models by their batch API: within a day, usually at half the price"
    )
    tensor_parallel: int = argument("number of GPUs for vLLM (1)", default=1, convert=count, metavar="N")
    dtype: str = argument(
        "numbers in which all hf: and vllm: models compute (auto: float32 on a CPU, else 16 bits)",
        default="auto",
        choices=models.DTYPES,
    )
    engine: Literal["local", "ray"] = argument(
        "where hf: and vllm: models answer: in this process, or as replicas on a Ray cluster (local)", default="local"
    )
    replicas: int | None = argument("replicas on the cluster (as many as it holds)", metavar="N")
    gpus_per_replica: float | None = argument(
        "GPUs of each replica, or a part of one (as the model needs)", metavar="G"
    )
    data_parallel: int | None = argument("N replicas of each model on this machine", metavar="N")
    model_args: str = argument(
        "more about a model: enable_thinking=false, reasoning_effort=low, top_p=0.8, top_k, min_p, repetition_penalty, "
        'stop=["\\n\\n"], system=…, thinking_budget, chat_template_kwargs={…}, extra_body={…}; of an hf: or vllm: model '
        "revision=BRANCH_TAG_OR_COMMIT of the Hub, adapter=PEFT_FOLDER_OR_ID, dtype=…",
        default="",
        metavar=PAIRS,
    )

    @property
    def options(self) -> Options:
        """The same as the factories of models take it."""
        of_model = variant_options(self.model_args, "--model-args", self.dtype)
        if self.batch:
            from epbench.engines.batches import BatchModel

            of_model |= {"batch": True, "endpoint": BatchModel}
        reached = (self.base_url, self.window, self.tensor_parallel, self.request_timeout)
        return models.Options(*reached, engine=self.on_engine, **of_model)

    @property
    def on_engine(self) -> Engine | None:
        """Where models with weights answer, the judge too; None for this process."""
        local = self.data_parallel is not None
        if self.engine == "ray" and local:
            raise BadInput("--data-parallel is for this machine alone; with --engine ray, give --replicas")
        if self.engine == "local" and (self.replicas is not None or (self.gpus_per_replica and not self.data_parallel)):
            raise BadInput("--replicas and --gpus-per-replica need --engine ray")
        if self.engine == "local" and not local:
            return None
        import ray  # noqa: F401  # so that what is missing is said before any work

        from epbench.engines.ray_model import Engine, RayModel

        wanted = Engine(self.data_parallel if local else self.replicas, self.gpus_per_replica, local)
        return lambda model, make, gpus: RayModel(model, make, wanted, gpus)


def variant_options(text: str, flag: str, dtype: str) -> dict[str, Any]:
    """Read --model-args or --judge-args (`flag`): the fields `dtype`, `revision`, `adapter` and `controls` of `Options`.

    BadInput if the text cannot be read, there is no such dtype, or it contradicts --dtype, which holds for all models.
    """
    from epbench.models.controls import parse_model_args

    found, controls = parse_model_args(text, flag)
    own = found.get("dtype", dtype)
    if own not in models.DTYPES:
        raise BadInput(f"{flag}: expected dtype to be one of {', '.join(models.DTYPES)}, got {own!r}")
    if dtype not in ("auto", own):
        raise BadInput(f"{flag}: its dtype={own} contradicts --dtype {dtype}; give one of them")
    return {"dtype": own, "revision": found.get("revision"), "adapter": found.get("adapter"), "controls": controls}


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Who judges the answers."""

    judge: str = argument(f"{LEXICAL}, {MODELS} (lexical)", default="lexical")
    judge_url: str | None = argument("address of the judge's endpoint (that of --base-url)", metavar="URL")
    judge_window: int | None = argument("as --window, for the judge", convert=count, metavar="TOKENS")
    judge_prompts: Path | None = argument("another prompt pack, TOML or JSON", metavar="FILE")
    judge_args: str = argument("as --model-args, for the judge", default="", metavar=PAIRS)

    def options(self, main: Backend) -> Options:
        """How the judge is reached: as the main model where nothing else is said; revision and adapter are its own."""
        of_judge = variant_options(self.judge_args, "--judge-args", main.dtype)
        url = self.judge_url or main.base_url
        return replace(main.options, base_url=url, window=self.judge_window, **of_judge)

    def may_be_reader(self, main: Backend) -> bool:
        """Whether a judge with the main model's name is that model, so that its weights are loaded once."""
        if self.judge_url or self.judge_window:
            return False
        mine, its = self.options(main), main.options
        return all(getattr(mine, part) == getattr(its, part) for part in ("dtype", "revision", "adapter", "controls"))


@dataclass(frozen=True, kw_only=True)
class Retriever:
    """How passages are found."""

    retriever: str = argument("bm25 (offline), st:minilm, st (BGE-large), st:PATH_OR_ID or openai:NAME", default="bm25")
    retriever_url: str | None = argument("address of the embeddings endpoint (that of --base-url)", metavar="URL")
    top_k: int | None = argument("passages or memories for each question (the published number)", metavar="K")
    keep_order: bool = argument("show passages in the book's order, not best first")


@dataclass(frozen=True, kw_only=True)
class System:
    """How a memory system that somebody else wrote is run."""

    timeout: float = argument("limit for one call to a memory system (300)", default=300.0, metavar="SECONDS")
    memory_limit: float = argument(
        "memory that the system's process may allocate, not counting GPU memory (8); enforced on Linux only",
        default=8.0,
        metavar="GB",
    )
    isolation: Literal["none", "process", "bwrap"] = argument(
        "where a system runs: in a process of its own (process), within bubblewrap, without network and files (bwrap)"
        ", or in this process (none); see above",
        default="process",
        shortcuts={"--in-process": "none"},
    )
    system_env: list[str] = argument(
        "an environment variable, such as that of a key, that module:Class gets in its process, and the first of which "
        "goes to a server as its key; may be repeated",
        default=[],
        repeated=True,
        metavar="NAME",
    )
    system_model: str | None = argument(f"model inside {_INSIDE} (gpt-4.1-mini)", metavar="NAME")
    system_url: str | None = argument(f"address of the endpoint {_INSIDE} (that of --base-url)", metavar="URL")
    embedder: str | None = argument(
        f"embedder {_INSIDE}: openai:NAME, minilm, or a sentence-transformers folder or Hub name (as published)",
        metavar="NAME",
    )
    system_set: list[str] = argument(
        f"a setting {_INSIDE}, or a tool of an MCP server; may be repeated",
        default=[],
        repeated=True,
        metavar="KEY=VALUE",
    )
    system_source: Path | None = argument("source code of structmem, a LightMem checkout", metavar="DIR")

    @property
    def limits(self) -> Limits:
        """The same as memory systems are guarded with."""
        from epbench.memories.guard import Limits

        return Limits(self.timeout, self.memory_limit)

    def installed(self, name: str, base_url: str | None, request_timeout: float) -> dict[str, Any]:
        """What `load_memory` takes beside the name of the system and the limits; the endpoint is the main model's by default.

        BadInput if a setting is not KEY=VALUE, or is given twice.
        """
        from epbench.memories.load import SYSTEMS
        from epbench.memories.protocol import PUBLISHED_MODEL, Endpoint

        settings: dict[str, str] = {}
        for text in self.system_set:
            key, mark, value = text.partition("=")
            if not (key and mark) or key in settings:
                raise BadInput(f"--system-set: expected KEY=VALUE, each key once, got {text!r}")
            settings[key] = value
        chosen: dict[str, Any] = {"settings": settings, "source": self.system_source}
        chosen |= {"isolation": self.isolation, "variables": self.system_env}
        if self.system_model or self.system_url or self.embedder or name in SYSTEMS:
            url = self.system_url or base_url
            model = self.system_model or PUBLISHED_MODEL
            chosen["endpoint"] = Endpoint(model, url, self.embedder or "", None, request_timeout)
        return chosen


@dataclass(frozen=True, kw_only=True)
class Words:
    """Other words than ours for what models are told."""

    prompts: Path | None = argument(
        "other prompts of the reader: a pack in TOML or JSON, like the one in the benchmark's data/", metavar="FILE"
    )
    wording: str | None = argument(
        "other words for reader and judge: a file like that of eval_scripts/wording.py, or published:FOLDER",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """What of the memories is shown, and what comes between what is remembered and the question."""

    memory_tokens: int | None = argument(
        "most tokens of memories of a system, whole memories, best first (any number)", metavar="N"
    )
    between: int = argument(
        "tokens of unrelated text between what is remembered and the question: in the context, or stored last (0)",
        default=0,
        convert=count,
        metavar="N",
    )


@dataclass(frozen=True, kw_only=True)
class Subset:
    """How much of a dataset is run."""

    limit: int | None = argument("run only N questions, chosen at random", metavar="N")
    shard: str | None = argument("run only the i-th of n parts, for runs on several machines", metavar="I/N")
    plan: bool = argument("print the number of requests and tokens, and stop")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a run may spend, and what becomes of prompts that do not fit."""

    max_tokens_total: int | None = argument(
        "stop before prompts and answers, those of earlier starts included, have more tokens",
        convert=count,
        metavar="N",
    )
    max_time: float | None = argument("stop asking after so long: 90s, 30m, 2h", convert=duration, metavar="TIME")
    max_cost: float | None = argument(
        "stop before the run, earlier starts included, costs more; needs --prices", metavar="SUM"
    )
    prices: Path | None = argument("TOML or JSON of what models cost per million tokens", metavar="FILE")
    overlong: Literal["refuse", "skip"] = argument(
        "a prompt that does not fit in the window stops the run before it starts (refuse), or fails by itself (skip)",
        default="refuse",
    )

    def made(self, *asked: str) -> Made:
        """The same as models keep to it; BadInput if a cost lacks prices of the models that will be asked."""
        from epbench.models.estimate import Bounds as Made
        from epbench.models.estimate import read_prices

        prices = read_prices(self.prices) if self.prices else None
        if self.max_cost is not None:
            if prices is None:
                raise BadInput("--max-cost: expected prices beside it, got none; give --prices FILE")
            for name in filter(models.is_model_name, asked):
                if not name.startswith(("hf:", "vllm:")) and prices.of(name) is None:
                    raise BadInput(
                        f"{self.prices}: expected a price of {name}, found {', '.join(prices.models) or 'none'}"
                    )
        return Made(
            tokens=self.max_tokens_total,
            seconds=self.max_time,
            cost=self.max_cost,
            prices=prices,
            skips=self.overlong == "skip",
        )
