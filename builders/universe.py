"""Let a model propose a universe for Tulving books, as a folder of files.

    python builders/universe.py --source openai:gpt-4o --theme "a harbour town in winter" --name harbour --out worlds
    python builders/universe.py --source openai:gpt-4o --theme "a circus" --name circus --size 40 --plan --out worlds
    python builders/universe.py --source hf:Qwen/Qwen3-32B --theme "a circus" --name circus --without-scenes --out worlds

Writes OUT/<name> in the form of a universe of your own (docs/tulving.md), and prints the command that makes a book of it.

The model is asked for dates, tone and styles; kinds of location and what they are like; twice as many locations and kinds of
event as are wanted, and which of them to keep (paper: Appendix B.1.1, Listing 2); for each kind of event 30 details or more and
its scene; and names. Each text is checked as in a universe of your own. What is refused is asked for again, with the reason, in
at most four times the usual requests. A kind of event without enough details or a scene gives way to a spare one. If scenes fail
altogether, the universe is for books of level 1.

All replies, and what became of each text, are kept in OUT/<name>-by-<model>: replies.jsonl and proposals.jsonl. If you repeat
the command, nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, count, included, parse


@dataclass(frozen=True, kw_only=True)
class Arguments:
    source: str = argument(f"model that proposes the universe: {options.MODELS}", metavar="MODEL")
    theme: str = argument("what it is about, in one line")
    name: str = argument("name of its folder, and of the datasets that are made of it")
    size: int = argument(
        "locations, kinds of event, first and last names (100)", default=100, convert=count, metavar="N"
    )
    without_scenes: bool = argument("ask for nothing that only books of level 2 and higher need")
    seed: int = argument("seed of the model's sampling, if it respects one (0)", default=0)
    out: Path = argument("folder in which to make the universe's folder")

    backend: options.Backend = included("how the model is reached")
    prompts: Path | None = argument("another prompt pack, like src/epbench/tulving/data/proposing.toml", metavar="FILE")
    max_tokens: int = argument("longest reply, in tokens (8192)", default=8192, convert=count, metavar="N")
    plan: bool = argument("print the number of requests and tokens, and stop")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.files.secrets import without_login
    from epbench.models.estimate import check_window, estimate
    from epbench.models.load import load_model
    from epbench.models.protocol import Sampling, variant_of, weights_of
    from epbench.runs.folder import open_run
    from epbench.runs.usage import folder_by
    from epbench.tulving.proposing import ROUNDS, Planner, Proposer, check_wanted, load_pack, propose, write_universe

    # 1. What it will cost, if every text passes.
    command.show_log()
    console, folder, with_scenes = command.console(), args.out / args.name, not args.without_scenes
    kept = folder_by(args.out, args.name, args.source)
    check_wanted(folder, kept, args.theme, args.size)
    model, pack, sampling = (
        load_model(args.source, args.backend.options),
        load_pack(args.prompts),
        Sampling(args.max_tokens, 1.0, args.seed),
    )
    planner = Planner(model, kept, pack, sampling)
    propose(planner, args.theme, args.size, with_scenes)
    if warning := check_window(planner.requests, model, {}):
        command.warn(warning)
    console.say(f"if every text passes, and at most {ROUNDS} times as much for each list:")
    for line in estimate(planner.requests, model).lines():
        console.say(f"  {line}")
    console.say(f"replies that are already in {kept} are not asked for again")
    if args.plan:
        return

    # 2. The lists, one after the other: asked for, checked, and asked for again where texts are missing.
    identity = {"benchmark": "tulving", "writer": model.name, "base_url": without_login(args.backend.base_url or "")}
    with open_run(kept, identity | {"theme": args.theme} | weights_of(model), variant_of(model)):
        proposer = Proposer(model, kept, pack, sampling, command.bar)
        files = propose(proposer, args.theme, args.size, with_scenes)

    # 3. The files, put to the checks of a user's own universe, and how to make a book of them.
    write_universe(folder, files, args.size)
    levels = "any level" if "scenes.json" in files else "level 1"
    console.say(f"{folder}: a universe of {args.size} for books of {levels}, after {len(proposer.requests)} requests")
    book = f"python builders/tulving.py --book short --universe {folder} --universe-size {args.size} --out out"
    console.say(command.translated(book))


if __name__ == "__main__":
    command.run(main)
