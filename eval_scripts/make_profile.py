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
--budget ends the runs before it is exceeded: a time (90m, 2h), tokens (500k, 2M), or a price (5usd, with --prices). Each part is
first asked a few questions, fewer where they take long, and from their cost and spread follows how many more of each buy the
narrowest intervals, up to the numbers of the preset. What is missing is named, and a larger budget goes on. Before models are
asked, the number of requests is printed, and it asks whether to go on, unless --yes is given.
"""

from __future__ import annotations

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
from epbench.files.json_files import read_json, write_json

if TYPE_CHECKING:
    from epbench.models.estimate import Prices
    from epbench.profile.page import Profile
    from epbench.profile.plan import Budget, Part, Preset

OF_MEMFAIL = {"in-context": "full-context", "none": "none", "oracle": "oracle"}
"""The system of MemFail that is to its facts what a memory is to a book; for others it is BM25 over the conversations."""
ROUNDS = 4
"""How often questions are chosen within a budget: a few, then what it buys, and what is left after that."""
OF_SORT = {"rag-chapter": "rag", "rag-paragraph": "rag"}


@dataclass(frozen=True, kw_only=True)
class Arguments:
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

    from epbench.models.estimate import read_prices
    from epbench.profile.page import write_profile
    from epbench.profile.plan import read_budget, read_preset

    preset = read_preset(args.preset)
    prices = read_prices(args.prices) if args.prices else None
    budget = read_budget(args.budget, prices) if args.budget else None
    _build(preset, args.out / "data")
    runs = {part.name: _words(part, args) for part in preset.part}
    if not args.yes and args.model != "lexical":
        _confirm({part.name: _limited(runs[part.name], part.limit) for part in preset.part})
    parts = [part for part in preset.part if args.model != "lexical" or part.benchmark != "booksort"]
    limits = {part.name: part.limit for part in parts}
    missing = {part.name: "rules give no probabilities of A and B" for part in preset.part if part.name not in limits}
    if budget is None:
        missing |= {name: why for name in limits if (why := _run(_limited(runs[name], limits[name])))}
    else:
        missing |= _within(budget, runs, limits, args)
    profile = _profile(args, preset, missing, prices)
    write_profile(args.out, profile)
    _show(profile)
    command.console().say(f"profile: {args.out / 'profile.html'}")


def _within(budget: Budget, runs: dict[str, list[str]], most: dict[str, int | None], args: Arguments) -> dict[str, str]:
    """Ask each part a few questions, then as many more as the budget buys; return why what is missing is."""
    from epbench.profile.dimensions import measured, scored_runs
    from epbench.profile.plan import MOST, Asked, allocate, pilot, spent_in, variance_of

    noted, begin = args.out / "limits.json", time.monotonic()

    def spent(folder: Path) -> float:
        if budget.kind == "time":
            return time.monotonic() - begin
        return spent_in(folder, args.model, args.judge, budget.prices)[budget.kind == "cost"]

    known = read_json(noted) if noted.is_file() else {}
    asked = dict.fromkeys(most, 0)
    limits = {name: min(int(known.get("limits", {}).get(name, 0)), most[name] or MOST) for name in most}
    # What is answered already costs nothing now: what it cost then says what more of it will.
    known_costs = known.get("costs", {}) if known.get("of") == budget.kind else {}
    cost, missing = {name: float(known_costs.get(name, 0.0)) for name in most}, dict[str, str]()
    for _ in range(ROUNDS):
        for at, name in enumerate(most):
            if not limits[name]:
                left = budget.total - spent(args.out / "runs")
                limits[name] = min(pilot(left, len(most) - at, max(cost.values())), most[name] or MOST)
            if (limit := limits[name]) == asked[name]:
                continue
            before, bounds = spent(args.out / "runs"), _bounds(budget, spent(args.out / "runs"), args.prices)
            some = "in part: " if scored_runs(args.out / "runs" / name) else ""
            if bounds is None:
                missing[name] = f"{some}the budget was spent"
                continue
            missing[name] = _run([*_limited(runs[name], limit), *bounds])
            now = (spent(args.out / "runs") - before) / (limit - asked[name])
            cost[name] = now if asked[name] else max(now, cost[name])
            asked[name] = limit
            write_json(noted, {"of": budget.kind, "limits": limits, "costs": cost})
        if any(missing.values()):
            break
        found = list(measured({name: args.out / "runs" / name for name in most}, args.out))
        parts = {
            name: Asked(
                limits[name],
                most[name] or MOST,
                cost[name],
                variance_of((one.estimate for one in found if one.dimension.part == name), limits[name]),
            )
            for name in most
        }
        limits = allocate(parts, budget.total - spent(args.out / "runs"))
        if limits == asked:
            break
    return {name: why for name, why in missing.items() if why}


def _bounds(budget: Budget, spent: float, prices: Path | None) -> list[str] | None:
    """What ends a run before the budget is exceeded; None if nothing is left."""
    left = budget.total - spent
    if left < (0.001 if budget.kind == "cost" else 1):
        return None
    if budget.kind == "cost":
        return ["--max-cost", f"{left:.4f}", "--prices", str(prices)]
    return ["--max-time", f"{left:.0f}s"] if budget.kind == "time" else ["--max-tokens-total", f"{left:.0f}"]


def _limited(words: list[str], limit: int | None) -> list[str]:
    return words if limit is None else [*words, "--limit", str(limit)]


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


def _run(words: list[str]) -> str:
    """Make a run; return why it is missing or in part, or nothing."""
    return {0: "", 3: "in part: the budget was spent"}.get(_epbench(words), "it was refused or failed; see above")


def _profile(args: Arguments, preset: Preset, missing: dict[str, str], prices: Prices | None) -> Profile:
    from epbench.profile.dimensions import measured, scored_runs
    from epbench.profile.page import Profile, scores_of
    from epbench.profile.plan import spent_in

    runs = args.out / "runs"
    for folder in (runs / part.name for part in preset.part if part.benchmark == "memfail"):
        if not (folder / "run.json").is_file() and (scored := scored_runs(folder)):
            # The page of all its configs, to which points lead.
            _epbench(["report", *map(str, scored), "--out", str(folder)])
    parts = {part.name: runs / part.name for part in preset.part if any((runs / part.name).rglob("scores.json"))}
    found = scores_of(list(measured(parts, args.out)))
    name = f"{args.model}, {args.memory}"
    tokens, price = spent_in(runs, args.model, args.judge, prices)
    cost: dict[str, int | float] = {"tokens": tokens, **({"cost": price} if prices else {})}
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

    from epbench.profile.page import differences, read_profile, write_overlaid

    if len(args.compare) < 2:
        raise BadInput("--compare: expected the folders of at least two profiles")
    profiles = {str(folder): read_profile(folder) for folder in args.compare}
    first, *others = profiles.values()
    tables = [differences(first, other) for other in others]
    places = {profile.name: os.path.relpath(folder, args.out) for folder, profile in profiles.items()}
    if len(places) < len(profiles):
        raise BadInput("--compare: two profiles have the same model and memory")
    write_overlaid(args.out, list(profiles.values()), places, tables[0] if len(tables) == 1 else None)
    for table in tables:
        command.console().print(table)
    command.console().say(f"profiles: {args.out / 'profile.html'}")


if __name__ == "__main__":
    command.run(main)
