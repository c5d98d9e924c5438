"""What kind of memory has a model or a memory system? One command over all three benchmarks, and one page.

    python eval_scripts/make_profile.py lexical --out profiles/lexical
    python eval_scripts/make_profile.py hf:smollm2 --memory in-context --dtype bfloat16 --yes --out profiles/smollm2
    python eval_scripts/make_profile.py hf:smollm2 --memory rag-chapter --budget 20m --yes --out profiles/rag
    python eval_scripts/make_profile.py --compare profiles/lexical profiles/smollm2 --out profiles/compared

Builds the datasets of the preset, makes its runs one after the other, each by `epbench eval`, and reads the dimensions from
them: recall of single events and of several, what never happened, the latest state, order, cues, distraction, inference,
updating, and the stages of MemFail. Each has a score between a floor and a ceiling, with an interval; what was not measured is
absent. profile.html shows them as points with intervals, each with its run; profile.json, profile.csv and profile.svg hold the
same. The same command goes on where it was stopped.

--memory is what the books are read with, --system the memory system of MemFail; a memory system as --memory is that of all.
--budget ends the runs before it is exceeded: a time (90m, 2h), tokens (500k, 2M), or a price (5usd, with --prices); what is
missing is named, and a larger budget goes on. Before models are asked, the number of requests is printed, and it asks whether to
go on, unless --yes is given.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command
from epbench.arguments.declaring import argument, parse
from epbench.arguments.options import MODELS, TULVING_JUDGES
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.profile.page import Profile
    from epbench.profile.presets import Part, Preset

OF_MEMFAIL = {"in-context": "full-context", "none": "none", "oracle": "oracle"}
"""The system of MemFail that is to its facts what a memory is to a book; for others it is BM25 over the conversations."""
OF_SORT = {"rag-chapter": "rag", "rag-paragraph": "rag"}


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The command line."""

    model: str = argument("who answers, as for epbench eval", positional=True, default="", metavar="MODEL")
    memory: str = argument(
        "with which memory books and excerpts are read (in-context)", default="in-context", metavar="M"
    )
    system: str | None = argument("MemFail's memory system, if it does not follow from --memory", metavar="S")
    judge: str = argument(f"who judges: {TULVING_JUDGES} or {MODELS} (lexical)", default="lexical")
    preset: str = argument("quick, standard, full or a TOML file (quick)", default="quick")
    budget: str | None = argument("when to stop: 90m, 2h, 500k or 2M tokens, 5usd (with --prices)", metavar="B")
    prices: Path | None = argument("TOML or JSON of what models cost per million tokens", metavar="FILE")
    dtype: str | None = argument("float32, bfloat16 or float16")
    base_url: str | None = argument("address of an OpenAI-compatible endpoint", metavar="URL")
    compare: list[Path] = argument("folders of two profiles or more, to overlay", default=[], metavar="DIR")
    yes: bool = argument("do not ask before models are asked")
    out: Path = argument("folder of the profile")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    if args.compare:
        _compare(args)
        return
    if not args.model:
        raise BadInput("expected a model, or --compare with the folders of profiles")

    from epbench.profile.page import write_profile
    from epbench.profile.presets import read_preset

    preset, left = read_preset(args.preset), _budget(args)
    _build(preset, args.out / "data")
    runs = {part.name: _words(part, args) for part in preset.part}
    if not args.yes and args.model != "lexical":
        _confirm(runs)
    begin, missing = time.monotonic(), {}
    for part in preset.part:
        if args.model == "lexical" and part.benchmark == "booksort":
            missing[part.name] = "rules give no probabilities of A and B"
        elif reason := _run(runs[part.name], _bounds(left, begin, args)):
            missing[part.name] = reason
    profile = _profile(args, preset, missing)
    write_profile(args.out, profile)
    _show(profile)
    command.console().say(f"profile: {args.out / 'profile.html'}")


def _words(part: Part, args: Arguments) -> list[str]:
    """The arguments of a part's run."""
    known = args.memory in ("in-context", "none", "oracle", "rag-chapter", "rag-paragraph")
    words = ["eval", part.benchmark, "--dataset", str(args.out / "data" / part.dataset), *part.ask]
    if part.benchmark == "memfail":
        words += ["--system", args.system or (OF_MEMFAIL.get(args.memory, "verbatim-bm25") if known else args.memory)]
    else:
        words += ["--memory", OF_SORT.get(args.memory, args.memory) if part.benchmark == "booksort" else args.memory]
    words += ["--model", args.model, *(["--dtype", args.dtype] if args.dtype else [])]
    words += ["--base-url", args.base_url] if args.base_url else []
    judge = "lexical" if args.judge == "minilm" and part.benchmark == "memfail" else args.judge  # it reads books alone
    words += ["--judge", judge] if part.benchmark != "booksort" else []
    return [*words, "--out", str(args.out / "runs" / part.name)]


def _build(preset: Preset, data: Path) -> None:
    for part in command.bar(preset.part, "datasets", len(preset.part)):
        if not (data / part.dataset).is_dir() and _epbench(["build", part.benchmark, *part.build, "--out", str(data)]):
            raise BadInput(f"preset, part {part.name}: its dataset could not be built")


def _epbench(words: Sequence[str]) -> int:
    done = subprocess.run([sys.executable, "-m", "epbench", *words], stdout=subprocess.DEVNULL, check=False)
    if done.returncode < 0 or done.returncode > 128:  # killed or interrupted
        sys.exit(done.returncode)
    return done.returncode


def _confirm(runs: dict[str, list[str]]) -> None:
    """Show what every run would ask, and go on only if somebody says so."""
    console = command.console()
    for name, words in runs.items():
        done = subprocess.run(
            [sys.executable, "-m", "epbench", *words, "--plan"], capture_output=True, text=True, check=False
        )
        said = done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]
        console.say_all([f"{name}:", said])
    if not sys.stdin.isatty():
        raise BadInput("expected --yes, as nobody can be asked here")
    if input("Make these runs? [y/N] ").strip().lower() not in ("y", "yes"):
        sys.exit(130)


def _run(words: list[str], bounds: list[str] | None) -> str:
    """Make a run; return why it is missing or in part, or nothing."""
    if bounds is None:
        return "the budget was spent"
    done = _epbench([*words, *bounds])
    return {0: "", 3: "in part: the budget was spent"}.get(done, "it was refused or failed; see above")


_BUDGET = re.compile(r"(?P<n>[\d.]+)(?:(?P<time>[mh])|(?P<tokens>[kM])(?:-tokens)?|(?P<cost>usd|eur))")
_UNITS = {"m": 60.0, "h": 3600.0, "k": 1e3, "M": 1e6}


def _budget(args: Arguments) -> tuple[str, float] | None:
    """The kind of a budget (`time` in seconds, `tokens`, or `cost` in the currency of the prices), and how much."""
    if args.budget is None:
        return None
    match = _BUDGET.fullmatch(args.budget)
    if match is None:
        raise BadInput(
            f"--budget: expected a time such as 90m, tokens such as 500k, or a price such as 5usd, got {args.budget!r}"
        )
    kind = next(name for name in ("time", "tokens", "cost") if match[name])
    if kind == "cost":
        if args.prices is None:
            raise BadInput("--budget: expected a file of prices beside it; give --prices FILE")
        from epbench.models.prices import read_prices

        if (currency := read_prices(args.prices).currency).lower() != match["cost"]:
            raise BadInput(f"--budget {args.budget}: the prices in {args.prices} are in {currency}")
    return kind, float(match["n"]) * _UNITS.get(match[kind], 1.0)


def _bounds(budget: tuple[str, float] | None, begin: float, args: Arguments) -> list[str] | None:
    """The bounds of the next run; None if nothing is left."""
    if budget is None:
        return []
    kind, total = budget
    spent = {"time": time.monotonic() - begin} if kind == "time" else _spent(args)
    left = total - spent[kind]
    if left < (0.001 if kind == "cost" else 1):
        return None
    if kind == "cost":
        return ["--max-cost", f"{left:.4f}", "--prices", str(args.prices)]
    return ["--max-time", f"{left:.0f}s"] if kind == "time" else ["--max-tokens-total", f"{left:.0f}"]


def _spent(args: Arguments) -> dict[str, float]:
    """What reader and judge have taken so far, by the journals: tokens, and with prices the cost."""
    from epbench.journals.journal import read_journal
    from epbench.models.prices import Price, read_prices

    prices = read_prices(args.prices) if args.prices else None
    spent = {"tokens": 0.0, "cost": 0.0}
    for name, model in (("answers.jsonl", args.model), ("judgements.jsonl", args.judge)):
        price = (prices.of(model) if prices else None) or Price(0.0)
        for path in sorted((args.out / "runs").rglob(name)):
            for record in read_journal(path).values():
                usage = record.get("usage") or {}
                sent, received = usage.get("prompt") or 0, usage.get("completion") or 0
                spent["tokens"] += sent + received
                spent["cost"] += price.cost_of(sent, received)
    return spent


def _profile(args: Arguments, preset: Preset, missing: dict[str, str]) -> Profile:
    from epbench.profile.dimensions import measured
    from epbench.profile.page import Profile, scores_of

    runs = args.out / "runs"
    for folder in (runs / part.name for part in preset.part if part.benchmark == "memfail"):
        if not (folder / "run.json").is_file() and any(folder.glob("*/scores.json")):
            _epbench(["report", str(folder), "--out", str(folder)])  # the page of all its configs, to which points lead
    parts = {part.name: runs / part.name for part in preset.part if any((runs / part.name).rglob("scores.json"))}
    found = scores_of(list(measured(parts, args.out)))
    name = f"{args.model}, {args.memory}"
    spent = _spent(args)
    cost: dict[str, int | float] = {"tokens": int(spent["tokens"]), **({"cost": spent["cost"]} if args.prices else {})}
    about = (name, args.preset, preset.version, args.model, args.memory, args.system or "", args.judge)
    return Profile(*about, found, missing, cost)


def _show(profile: Profile) -> None:
    from epbench.profile.page import text_of
    from epbench.reports.tables import Table

    rows = [[score.name, text_of(score), f"{score.floor:.2f}", f"{score.n:,}"] for score in profile.dimensions]
    notes = [f"not measured: {part}: {why}" for part, why in profile.missing.items()]
    command.console().print(Table(["dimension", "score", "floor", "questions"], rows, profile.name, notes))


def _compare(args: Arguments) -> None:
    import os

    from epbench.files.writing import write_text
    from epbench.profile.page import differences, profile_page, read_profile

    if len(args.compare) < 2:
        raise BadInput("--compare: expected the folders of at least two profiles")
    profiles = {str(folder): read_profile(folder) for folder in args.compare}
    first, *others = profiles.values()
    tables = [differences(first, other) for other in others]
    places = {profile.name: os.path.relpath(folder, args.out) for folder, profile in profiles.items()}
    if len(places) < len(profiles):
        raise BadInput("--compare: two profiles have the same model and memory")
    page = profile_page(list(profiles.values()), places, tables[0] if len(tables) == 1 else None)
    write_text(args.out / "profile.html", page)
    for table in tables:
        command.console().print(table)
    command.console().say(f"profiles: {args.out / 'profile.html'}")


if __name__ == "__main__":
    command.run(main)
