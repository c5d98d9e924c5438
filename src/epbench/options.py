"""The arguments that several scripts share: one thing has one flag, one default and one line of help.

A group is a frozen dataclass with a field for each of its flags, and a function that adds these flags to a parser. A
script inherits the groups that it needs into its own `Arguments`, and fills it with `vars(parser.parse_args(argv))`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.models import load as models
from epbench.starting.parser import count

if TYPE_CHECKING:
    from epbench.memories.guard import Limits
    from epbench.memories.protocol import Isolation
    from epbench.models.load import Engine, Options

LEXICAL = "lexical (rules, offline)"
TULVING_JUDGES = f"{LEXICAL}, minilm (sentence embeddings, offline)"
MODELS = f"{', '.join(models.MODELS[:-1])} or {models.MODELS[-1]}"


@dataclass(frozen=True, kw_only=True)
class BackendOptions:
    """How the main model of a script is reached.

    Attributes:
        base_url: the address of an OpenAI-compatible endpoint, or None for that of OpenAI.
        request_timeout: how many seconds one attempt at one request to an endpoint may take.
        window: the context window in tokens, where an endpoint does not report it or vLLM should reserve less.
        tensor_parallel: the number of GPUs that vLLM uses.
        dtype: in what models on this machine compute; that of the judge or checker, too.
        engine: `local` for this process, `ray` for replicas on a Ray cluster.
        replicas: the number of replicas, or None for as many as the cluster holds.
        gpus_per_replica: the GPUs of each, or None for as many as the model needs.
        data_parallel: the number of replicas on this machine, or None.
        model_args: more about the main model, as `KEY=VALUE,…` with the keys of `epbench.models.hf.variant.KEYS`.
    """

    base_url: str | None
    request_timeout: float
    window: int | None
    tensor_parallel: int
    dtype: str
    engine: str
    replicas: int | None
    gpus_per_replica: float | None
    data_parallel: int | None
    model_args: str

    @property
    def backend(self) -> Options:
        """The same as the factories of models take it.

        Raises:
            BadInput: flags contradict one another, the arguments of the model cannot be read, or Ray is not installed.
        """
        from epbench.models.load import Options

        of_model = variant_options(self.model_args, "--model-args", self.dtype)
        return Options(
            self.base_url, self.window, self.tensor_parallel, self.request_timeout, engine=self.on_engine, **of_model
        )

    @property
    def on_engine(self) -> Engine | None:
        """Where models with weights answer, the judge too; None for this process.

        Raises:
            BadInput: flags contradict one another.
        """
        from epbench.errors import BadInput

        if self.engine == "ray" and self.data_parallel is not None:
            raise BadInput("--data-parallel is for this machine alone; with --engine ray, give --replicas")
        if self.engine == "local" and (self.replicas is not None or (self.gpus_per_replica and not self.data_parallel)):
            raise BadInput("--replicas and --gpus-per-replica need --engine ray")
        if self.engine == "local" and self.data_parallel is None:
            return None
        import ray  # noqa: F401  # so that what is missing is said before any work

        from epbench.engines.cluster import Engine
        from epbench.engines.ray_model import RayModel

        wanted = Engine(
            self.replicas if self.data_parallel is None else self.data_parallel,
            self.gpus_per_replica,
            local=self.data_parallel is not None,
        )
        return lambda model, make, gpus: RayModel(model, make, wanted, gpus)


def variant_options(text: str, flag: str, dtype: str) -> dict[str, Any]:
    """Read --model-args or --judge-args: the fields `dtype`, `revision` and `adapter` of `Options`.

    Args:
        text: what was given.
        flag: by which it was given.
        dtype: that of --dtype, which holds for all models.

    Raises:
        BadInput: the text cannot be read, there is no such dtype, or it contradicts --dtype.
    """
    from epbench.errors import BadInput
    from epbench.models.hf.variant import parse_model_args

    found = parse_model_args(text, flag)
    own = found.get("dtype", dtype)
    if own not in models.DTYPES:
        raise BadInput(f"{flag}: expected dtype to be one of {', '.join(models.DTYPES)}, got {own!r}")
    if dtype not in ("auto", own):
        raise BadInput(f"{flag}: its dtype={own} contradicts --dtype {dtype}; give one of them")
    return {"dtype": own, "revision": found.get("revision"), "adapter": found.get("adapter")}


def add_backend(group: argparse._ArgumentGroup) -> None:
    """Add the flags of `BackendOptions`."""
    group.add_argument("--base-url", metavar="URL", help="address of an OpenAI-compatible endpoint")
    group.add_argument(
        "--request-timeout", type=float, default=300.0, metavar="SECONDS",
        help="limit for one attempt at one request to an endpoint (300)",
    )  # fmt: skip
    group.add_argument(
        "--window", type=count, metavar="TOKENS",
        help="context window, if the endpoint does not report it or vLLM should reserve less",
    )  # fmt: skip
    group.add_argument("--tensor-parallel", type=count, default=1, metavar="N", help="number of GPUs for vLLM (1)")
    group.add_argument(
        "--dtype", choices=models.DTYPES, default="auto",
        help="numbers in which all hf: and vllm: models compute (auto: float32 on a CPU, else 16 bits)",
    )  # fmt: skip
    group.add_argument(
        "--engine", choices=("local", "ray"), default="local",
        help="where hf: and vllm: models answer: in this process, or as replicas on a Ray cluster (local)",
    )  # fmt: skip
    group.add_argument("--replicas", type=int, metavar="N", help="replicas on the cluster (as many as it holds)")
    group.add_argument(
        "--gpus-per-replica",
        type=float,
        metavar="G",
        help="GPUs of each replica, or a part of one (as the model needs)",
    )
    group.add_argument("--data-parallel", type=int, metavar="N", help="N replicas of each model on this machine")
    group.add_argument(
        "--model-args", default="", metavar="KEY=VALUE,…",
        help="more about an hf: or vllm: model: revision=BRANCH_TAG_OR_COMMIT of the Hub, adapter=PEFT_FOLDER_OR_ID, dtype=…",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Who judges the answers.

    Attributes:
        judge: a judge that follows rules, such as `lexical`, or the name of a model.
        judge_url: the address of the judge's endpoint, or None for that of the main model.
        judge_window: the judge's context window in tokens, or None.
        judge_prompts: a file with another prompt pack, or None for ours.
        judge_args: more about the judge, as `model_args` of `BackendOptions`.
    """

    judge: str
    judge_url: str | None
    judge_window: int | None
    judge_prompts: Path | None
    judge_args: str

    def judge_backend(self, main: BackendOptions) -> Options:
        """How the judge is reached: as the main model where nothing else is said; revision and adapter are its own.

        Raises:
            BadInput: as for `BackendOptions.backend`.
        """
        from epbench.models.load import Options

        of_judge = variant_options(self.judge_args, "--judge-args", main.dtype)
        url = self.judge_url or main.base_url
        return Options(
            url, self.judge_window, main.tensor_parallel, main.request_timeout, engine=main.on_engine, **of_judge
        )

    def may_be_reader(self, main: BackendOptions) -> bool:
        """Whether a judge with the main model's name is that model, so that its weights are loaded once."""
        if self.judge_url or self.judge_window:
            return False
        mine, its = self.judge_backend(main), main.backend
        return (mine.dtype, mine.revision, mine.adapter) == (its.dtype, its.revision, its.adapter)


def add_judge(group: argparse._ArgumentGroup, prompts: str, rules: str = LEXICAL) -> None:
    """Add the flags of `JudgeOptions`.

    Args:
        group: where they are added.
        prompts: the path of our prompt pack inside `src/epbench`.
        rules: the judges that need no language model, as the help names them.
    """
    group.add_argument("--judge", default="lexical", help=f"{rules}, {MODELS} (lexical)")
    group.add_argument("--judge-url", metavar="URL", help="address of the judge's endpoint (that of --base-url)")
    group.add_argument("--judge-window", type=count, metavar="TOKENS", help="as --window, for the judge")
    group.add_argument(
        "--judge-prompts", type=Path, metavar="FILE", help=f"another prompt pack, TOML or JSON, like {prompts}"
    )
    group.add_argument("--judge-args", default="", metavar="KEY=VALUE,…", help="as --model-args, for the judge")


@dataclass(frozen=True, kw_only=True)
class RetrieverOptions:
    """How passages are found.

    Attributes:
        retriever: `bm25`, `st`, `st:PATH_OR_ID` or `openai:NAME`.
        retriever_url: the address of an embeddings endpoint, or None for that of the main model.
        top_k: the number of passages for each question, or None for the published number.
        keep_order: whether passages appear in the order of the book instead of best first.
    """

    retriever: str
    retriever_url: str | None
    top_k: int | None
    keep_order: bool


def add_retriever(group: argparse._ArgumentGroup, default_k: int | None = None) -> None:
    """Add the flags of `RetrieverOptions`."""
    group.add_argument(
        "--retriever", default="bm25", help="bm25 (offline), st:minilm, st (BGE-large), st:PATH_OR_ID or openai:NAME"
    )
    group.add_argument("--retriever-url", metavar="URL", help="address of the embeddings endpoint (that of --base-url)")
    group.add_argument(
        "--top-k", type=int, default=default_k, metavar="K",
        help=f"passages or memories for each question ({default_k or 'the published number'})",
    )  # fmt: skip
    group.add_argument("--keep-order", action="store_true", help="show passages in the book's order, not best first")


@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """How a memory system that somebody else wrote is run.

    Attributes:
        timeout: how many seconds one call may take.
        memory_limit: how many gigabytes the system's process may allocate.
        isolation: how the system's code is kept apart: none, process or bwrap.
        system_env: the names of the environment variables that it gets in a process of its own.
        system_model: the name of the model inside an installed system, or None for that of the published evaluation.
        system_url: the address of its endpoint, or None for that of the main model.
        embedder: what turns its texts into vectors, or None for that of the published evaluation.
        system_set: settings of an installed system, as `KEY=VALUE`.
        system_source: the folder of its source code, or None.
    """

    timeout: float
    memory_limit: float
    isolation: Isolation
    system_env: list[str]
    system_model: str | None
    system_url: str | None
    embedder: str | None
    system_set: list[str]
    system_source: Path | None

    @property
    def limits(self) -> Limits:
        """The same as memory systems are guarded with."""
        from epbench.memories.guard import Limits

        return Limits(self.timeout, self.memory_limit)

    def installed(self, name: str, base_url: str | None, request_timeout: float) -> dict[str, Any]:
        """What `load_memory` takes beside the name and the limits.

        Args:
            name: of the memory system.
            base_url: the address of the main model's endpoint.
            request_timeout: how many seconds one request may take.

        Raises:
            BadInput: a setting is not KEY=VALUE, or is given twice.
        """
        from epbench.errors import BadInput
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


def add_system(group: argparse._ArgumentGroup, *, in_process: bool = True) -> None:
    """Add the flags of `SystemOptions`; `in_process` says whether a system may run in this process."""
    group.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="limit for one call to a memory system (300)"
    )
    group.add_argument(
        "--memory-limit", type=float, default=8.0, metavar="GB",
        help="memory that the system's process may allocate, not counting GPU memory (8); enforced on Linux only",
    )  # fmt: skip
    group.add_argument(
        "--isolation", choices=("none", "process", "bwrap") if in_process else ("process", "bwrap"), default="process",
        help="where a system runs: in a process of its own (process), within bubblewrap, without network and files (bwrap)"
        + (", or in this process (none); see above" if in_process else ""),
    )  # fmt: skip
    if in_process:
        group.add_argument(
            "--in-process", dest="isolation", action="store_const", const="none", help="the same as --isolation none"
        )
    group.add_argument(
        "--system-env", action="append", default=[], metavar="NAME",
        help="an environment variable, such as that of a key, that module:Class gets in its process; may be repeated",
    )  # fmt: skip
    inside = "of an installed system such as mem0"
    group.add_argument("--system-model", metavar="NAME", help=f"model inside {inside} (gpt-4.1-mini)")
    group.add_argument("--system-url", metavar="URL", help=f"address of the endpoint {inside} (that of --base-url)")
    group.add_argument(
        "--embedder", metavar="NAME",
        help=f"embedder {inside}: openai:NAME, minilm, or a sentence-transformers folder or Hub name (as published)",
    )  # fmt: skip
    group.add_argument(
        "--system-set", action="append", default=[], metavar="KEY=VALUE", help=f"a setting {inside}; may be repeated"
    )
    group.add_argument(
        "--system-source", type=Path, metavar="DIR", help="source code of structmem, a LightMem checkout"
    )


@dataclass(frozen=True, kw_only=True)
class SubsetOptions:
    """How much of a dataset is run.

    Attributes:
        limit: the number of questions, or None for all of them.
        shard: `i/n` for the i-th of n parts, or None for the whole.
        plan: whether to print what a run costs, and stop.
    """

    limit: int | None
    shard: str | None
    plan: bool


def add_subset(group: argparse._ArgumentGroup, limit: str = "questions") -> None:
    """Add the flags of `SubsetOptions`; `limit` says what --limit counts."""
    group.add_argument("--limit", type=int, metavar="N", help=f"run only N {limit}, chosen at random")
    group.add_argument("--shard", metavar="I/N", help="run only the i-th of n parts, for runs on several machines")
    add_plan(group)


def add_plan(group: argparse._ArgumentGroup) -> None:
    """Add --plan."""
    group.add_argument("--plan", action="store_true", help="print the number of requests and tokens, and stop")
