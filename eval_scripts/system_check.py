"""Check a memory system before you spend money on it: does it keep what a benchmark relies on?

    python eval_scripts/system_check.py epbench.memories.example:KeywordMemory
    python eval_scripts/system_check.py my_memory.py:MyMemory --n 100 --timeout 60 --out runs/check
    python eval_scripts/system_check.py http://127.0.0.1:8400
    python eval_scripts/system_check.py "mcp:npx -y @modelcontextprotocol/server-memory" --n 50
    python eval_scripts/system_check.py mem0 --n 20 --system-model qwen3 --system-url http://127.0.0.1:8000/v1 --embedder minilm

The class is told made-up facts and asked for them, in a process of its own as in a run: does each call return in time, are
two stores apart, are at most k memories returned, does the listing hold everything that can be retrieved (after --n
conversations, too), does a retrieval change anything, do names in any script come back, what is left after kill -9. With
--isolation bwrap it runs without a network, so that a call that needs another address than its model's fails. Prints a
table with what was found and what was expected, and the write-to-recall lag: --lag facts are stored one by one, and each is
asked for until it is found, for at most 30 s; p50 and p95 of the seconds from storing to finding are told. The exit status is 0
if every promise was kept and 1 if one was broken.

Last it is told to forget --forget facts, and as many are corrected, in words as a user says them. Background work may take
--wait seconds, then other facts are told, similar and unrelated ones, and all are asked for again, of a durable system by a new
instance. Whether they stay forgotten and whether their neighbours survive is told, but no promise: a store that only adds
keeps them.

A system with a model behind it makes its calls here as well: about --n conversations and 150 more are stored. --out DIR
keeps contract.json, the stores and system.log, what the system printed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse
from epbench.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class System(options.System):
    """How the memory system is run; never in this process, in which nothing could stop it."""

    isolation: Literal["process", "bwrap"] = argument(
        "where a system runs: in a process of its own (process), within bubblewrap, without network and files (bwrap)",
        default="process",
    )


@dataclass(frozen=True, kw_only=True)
class Arguments:
    system: str = argument(
        "mem0, a-mem, …, module:Class, path/to/file.py:Class, http://HOST:PORT, mcp:COMMAND or mcp:URL", positional=True
    )
    lag: int = argument("facts by which the time from storing to finding is measured (5)", default=5)
    forget: int = argument("facts that it is told to forget, and as many that are corrected (3)", default=3)
    wait: float = argument("seconds that its background work may take before it is asked again (5)", default=5.0)
    n: int = argument("conversations of the large store (1000)", default=1000)
    out: Path | None = argument("an empty folder for contract.json, stores and log", metavar="DIR")
    systems: System = included("how it is run")

    def __post_init__(self) -> None:
        if self.n < 1 or self.lag < 0:
            raise BadInput(f"--n and --lag: expected at least 1 and 0, got {self.n} and {self.lag}; see --help")
        if self.forget < 0 or not 0 <= self.wait < float("inf"):
            raise BadInput(f"--forget and --wait: expected at least 0, got {self.forget} and {self.wait:g}; see --help")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    from epbench.files.json_files import write_json
    from epbench.memories.contract import try_system
    from epbench.memories.load import load_memory
    from epbench.memories.measuring import forgetting_of, lag_of
    from epbench.reports.tables import Table

    limits = args.systems.limits
    system = load_memory(args.system, limits=limits, **args.systems.installed(args.system, None, args.systems.timeout))
    if system.baseline:
        raise BadInput(f"memory system {args.system!r}: expected a system, not a baseline, such as module:Class")
    console = command.console()
    with ExitStack() as stack:
        folder = (args.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))).resolve()
        _require_empty(folder)
        outcomes = {}
        for name, outcome in try_system(system, folder, limits, args.n):
            outcomes[name] = outcome
            print(f"{name}: {outcome.result}", file=sys.stderr)
        (folder / "lag").mkdir()
        lag = lag_of(system, folder / "lag", limits, args.lag) if args.lag else None
        (folder / "forgetting").mkdir()
        wait = args.wait
        forgetting = forgetting_of(system, folder / "forgetting", limits, args.forget, wait) if args.forget else None
        if args.out:
            content = {"system": args.system, "durable": system.durable, "n": args.n}
            content |= {"lag": lag.summary} if lag else {}
            content |= {"forgetting": forgetting.summary} if forgetting else {}
            checks = {n: {"result": o.result, **asdict(o)} for n, o in outcomes.items()}
            write_json(folder / "contract.json", content | {"checks": checks})
    rows = [(name, outcome.result, outcome.found, outcome.expected) for name, outcome in outcomes.items()]
    console.print(Table(("check", "result", "found", "expected"), rows, title=args.system, text_columns=4))
    for measured in filter(None, (lag, forgetting)):
        console.say(str(measured))
    if broken := sum(outcome.result == "failed" for outcome in outcomes.values()):
        console.say(f"{broken} of {len(outcomes)} promises are broken")
        sys.exit(1)


def _require_empty(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise BadInput(f"{folder}: expected an empty folder for a new check")


if __name__ == "__main__":
    command.run(main)
