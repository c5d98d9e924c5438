"""Ask a model which of two segments of a book came first (Book-SORT), and score its answers.

    python eval_scripts/booksort.py --dataset epbench/booksort --memory in-context --model oracle --out runs/oracle
    python eval_scripts/booksort.py --dataset epbench/booksort --config e250_s20 e1000_s20 e2500_s20 --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --select-prompt --out runs/llama
    python eval_scripts/booksort.py --dataset epbench/booksort --memory rag --retriever st --model vllm:Qwen/Qwen3-8B --out runs/rag
    python eval_scripts/booksort.py --dataset epbench/booksort --config all --memory none --model openai:gpt-4o-mini --limit 400 --plan --out runs/mini
    python eval_scripts/booksort.py --dataset epbench/booksort --memory in-context --both-orders --model hf:Qwen/Qwen3-0.6B --out runs/both
    python eval_scripts/booksort.py --dataset epbench/booksort my-texts/booksort-2 --memory in-context --model hf:Qwen/Qwen3-0.6B --out runs/two
    python eval_scripts/booksort.py --dataset memari/booksort --memory in-context --prompts SORT/sort/evaluation/conf/prompts --prompt 3 --model hf:meta-llama/Meta-Llama-3-8B-Instruct --out runs/published

Memories. none shows the model no text (the baseline), in-context shows the excerpt, rag shows passages of all books found
by a search for the segments, and full-book shows the whole book.

Models. oracle looks the segments up in its context: it must be right in-context, and at chance without. hf:PATH_OR_ID runs
with transformers, vllm:PATH_OR_ID with vLLM, and openai:NAME asks an OpenAI-compatible endpoint, which --base-url names
(the key comes from OPENAI_API_KEY). The answer begins with "Answer: Segment", and the probabilities of A and B as the next
token decide; an endpoint writes its answer, which is then parsed. The four pairs of an excerpt share one reading of it. A
prompt that exceeds the model's window is refused before any weights are loaded; nothing is ever cut off. --plan prints
what a run will cost, and stops.

Beside the accuracy stand the greedy accuracy, judged by what the model would have written, and the label mass, the
probability that its answer begins with A or B at all. --both-orders asks each pair twice, the second time with its
segments swapped, which cancels a preference for one label; consistency is the share of pairs whose two answers name the
same segment. A question whose request failed, or whose answer was cut off before it named a segment, is neither right nor
wrong: as long as there is one, the accuracy is given as a range.

Prompts are numbered 1 to 12, and queries and readings of passages 0 to 9, as in the paper's Tables 6, 8 and 9.
--select-prompt tries all prompts on the validation split. Of those within one standard error of the highest accuracy it
takes the one whose share of A is nearest to one half. --select-reading does the same for the readings of passages.
--prompts takes a pack in TOML (with the keys of src/epbench/booksort/data/sort_prompts.toml), or the YAML files of the
reference implementation: one file, or a folder of files, which are numbered from 1.

With several datasets the weights are loaded once, and OUT holds a run for each, named after it, and table.md.

OUT becomes the run's folder: run.json, answers.jsonl, retrieved.jsonl (rag), prompt_selection.json (--select-…),
scores.json, questions.parquet (a row for each question, for pandas), outcomes.jsonl (for
eval_scripts/compare.py), usage.json, table.md and report.html. To resume a run that was stopped, even by kill -9, give the same command again: nothing is paid for twice, and failed requests are sent again.
eval_scripts/merge.py joins the folders of --shard 1/n … n/n into one run.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epbench import command, options

if TYPE_CHECKING:
    from epbench.booksort.context.passages import Passage
    from epbench.booksort.context.prompts import Pack
    from epbench.booksort.context.retrieved import Retrieved
    from epbench.booksort.dataset.load import BookText, Pair
    from epbench.models.protocol import Model, Request
    from epbench.retrieval.protocol import MakeSearcher

Choice = Literal["prompt", "reading"]


@dataclass(frozen=True, kw_only=True)
class Arguments(options.BackendOptions, options.RetrieverOptions, options.SubsetOptions):
    """What the command line says."""

    datasets: list[str]
    dataset: str
    config: list[str]
    split: str
    out: Path
    memory: str
    prompts: Path | None
    prompt: int | None
    select_prompt: bool
    select_reading: bool
    query: int
    reading: int
    top_k: int
    model: str
    max_tokens: int
    books: list[int] | None
    both_orders: bool

    @property
    def chosen(self) -> Choice | None:
        """What is chosen on the validation split, if anything."""
        return "prompt" if self.select_prompt else "reading" if self.select_reading else None


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a run is about.

    Attributes:
        everything: all pairs of the configs and the split.
        pairs: those that this run asks; with --both-orders each of them twice.
        held_out: pairs of the validation split on which a prompt or a reading is chosen.
        books: the texts that the memory draws from, if it needs any.
        passages: the passages of these books, if the memory searches them.
        found: for each pair, the passages that the search has found.
    """

    everything: Sequence[Pair]
    pairs: Sequence[Pair]
    held_out: Sequence[Pair]
    books: Sequence[BookText]
    passages: Sequence[Passage]
    found: Sequence[Retrieved]


Ask = Callable[..., "list[Request]"]  # (pairs, *, prompt, reading, memory): all but the pairs have a default


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    command.show_log()
    _evaluate_all(args)


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    parser.add_argument(
        "--dataset", dest="datasets", nargs="+", required=True, metavar="DATASET",
        help="epbench/booksort, memari/booksort, or a folder of either; may be several",
    )  # fmt: skip
    parser.add_argument("--config", nargs="+", default=["e250_s20"], help="e<excerpt>_s<segment> in words, or all")
    parser.add_argument("--split", default="test", help="test, or validation (held out for choosing a prompt)")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")

    memory = parser.add_argument_group("what the model sees")
    memory.add_argument("--memory", required=True, help="none, in-context, rag or full-book")
    memory.add_argument(
        "--prompts", type=Path, metavar="FILE", help="another pack: TOML, a YAML file, or a folder of YAML files"
    )
    memory.add_argument("--prompt", type=int, metavar="N", help="number of the prompt (3)")
    memory.add_argument("--select-prompt", action="store_true", help="choose the prompt on the validation split")
    memory.add_argument("--select-reading", action="store_true", help="choose the reading of passages likewise (rag)")
    options.add_retriever(memory, default_k=2)
    memory.add_argument("--query", type=int, default=8, metavar="N", help="what to search for (8: the segments alone)")
    memory.add_argument("--reading", type=int, default=7, metavar="N", help="how to present the passages (7)")

    reader = parser.add_argument_group("who answers")
    reader.add_argument("--model", required=True, help=f"oracle (baseline), {options.MODELS}")
    options.add_backend(reader)
    reader.add_argument(
        "--max-tokens", type=int, default=25, metavar="N",
        help="longest answer of an endpoint in tokens (25; more for a model that reasons)",
    )  # fmt: skip

    part = parser.add_argument_group("how much")
    part.add_argument("--books", type=int, nargs="+", metavar="BOOK_IDX", help="only the pairs of these books")
    part.add_argument("--both-orders", action="store_true", help="ask each pair twice, the second time swapped")
    options.add_subset(part, "pairs, those of an excerpt together,")
    parsed = vars(parser.parse_args(argv))
    return Arguments(**parsed, dataset=parsed["datasets"][0])


def _evaluate_all(args: Arguments) -> None:
    """Every dataset: all of them are checked before the weights are loaded, which then serve all of them."""
    from epbench.booksort.context.prompts import load_prompts
    from epbench.booksort.scores.tables import markdown_table, screen_tables
    from epbench.files.writing import write_text
    from epbench.runs.several import folders_of_datasets

    _check(args)
    folders = folders_of_datasets(args.out, args.datasets)
    pack = load_prompts(args.prompts)
    model = _model(args, pack)
    runs = {name: _evaluate(replace(args, dataset=name, out=folder), pack, model) for name, folder in folders.items()}
    found, unscored = command.run_all(runs, plan=args.plan)
    scores = {f"{name}, {args.memory}, {model.name}": of_run for name, of_run in found.items()}
    if len(runs) > 1 and scores:
        command.console().print(screen_tables(scores))
        write_text(args.out / "table.md", markdown_table(scores))
    if unscored:
        raise unscored


def _evaluate(args: Arguments, pack: Pack, model: Model) -> Iterator[dict[str, Any]]:
    """One dataset.

    Yields:
        Nothing of use when the prompts have been checked, before any weights are loaded; then the scores.
    """
    from epbench.booksort.context import prompt_selection, retrieved
    from epbench.booksort.scores.results import finish
    from epbench.models.protocol import engine_of, variant_of
    from epbench.runs.answers import ANSWERS, ask
    from epbench.runs.finished import is_finished
    from epbench.runs.folder import open_run, read_scores

    # 1. The pairs, and what the model is shown of their books.
    material = _load(args, pack)

    # 2. What is asked, and whether it fits. Before a prompt is chosen, the longest one stands for it.
    prompt = pack.usual if args.prompt is None else args.prompt
    if args.chosen == "prompt":
        prompt = max(pack.prompts, key=lambda n: len(pack.prompts[n].reading + pack.prompts[n].task))
    ask_about: Ask = partial(_requests, args, pack, model, material, prompt=prompt)
    sweep = _sweep(args, pack, material, ask_about)
    requests = ask_about(material.pairs)
    _check_window(args, model, [*_by_context(sweep), *requests], _alternatives(args, material.pairs, ask_about))
    yield {}

    label = f"{args.memory}, {model.name}"
    about = _about(args, label, material) | engine_of(model) | variant_of(model)
    identity = _identity(args, pack, model, material, prompt)
    if not args.chosen and is_finished(args.out, identity, limit=args.limit, shard=args.shard):
        scores = read_scores(args.out)
        _show(args.out, label, scores)
        yield scores
        return
    with open_run(args.out, identity, about) as folder:
        retrieved.record(folder, material.found, material.passages)

        # 3. The prompt, chosen on pairs that are held out.
        if args.chosen:
            choice = prompt_selection.select_prompt(folder, sweep, material.held_out, model, command.bar, args.chosen)
            command.console().print(prompt_selection.screen_table(choice, args.chosen))
            command.console().say(choice["reason"])
            requests = ask_about(material.pairs, **{args.chosen: choice[args.chosen]})

        # 4. The answers, journaled as they come; 5. the scores, from the journals alone.
        ask(folder / ANSWERS, requests, model, command.bar)
        keys = {request.id: request.key(model.identity) for request in requests}
        scores = finish(folder, material.pairs, keys, label)
    _show(args.out, label, scores)
    yield scores


def _check(args: Arguments) -> None:
    """Refuse what does not go together, before anything is loaded."""
    from epbench.booksort.context.requests import MEMORIES
    from epbench.errors import BadInput

    if args.memory not in MEMORIES:
        raise BadInput(f"unknown memory {args.memory!r}; there are: {', '.join(MEMORIES)}")
    if args.max_tokens < 1:
        raise BadInput(f"--max-tokens: expected at least 1, got {args.max_tokens}")
    if args.select_prompt and (args.prompt is not None or args.select_reading):
        raise BadInput(
            "--select-prompt goes neither with --prompt nor with --select-reading; choose one after the other"
        )
    if args.select_reading and not MEMORIES[args.memory].passages:
        with_passages = " or ".join(name for name, memory in MEMORIES.items() if memory.passages)
        raise BadInput(
            f"--select-reading chooses how passages are presented: expected --memory {with_passages}, got {args.memory}"
        )
    if args.chosen and args.split == "validation":
        raise BadInput("a choice is made on the validation split, so another one must be scored: give --split test")
    if args.chosen and args.shard:
        raise BadInput("every shard would choose for itself; choose without --shard, then give --prompt or --reading")


def _model(args: Arguments, pack: Pack) -> Model:
    from epbench.booksort.context.load import load_reader

    return load_reader(args.model, pack, args.backend)


# The pairs, and what the model is shown


def _load(args: Arguments, pack: Pack) -> Material:
    from epbench.booksort.context.orders import both_orders, found_for_both
    from epbench.booksort.context.passages import split_books
    from epbench.booksort.context.requests import MEMORIES
    from epbench.booksort.dataset.load import group_of, load_books, load_pairs, of_books
    from epbench.runs.subset import subset

    everything = load_pairs(args.dataset, args.config, args.split)
    pairs = subset(of_books(everything, args.books), group_of, args.limit, args.shard)
    held_out: list[Pair] = []
    if args.chosen:
        validation = load_pairs(args.dataset, args.config, "validation")
        held_out = subset(of_books(validation, args.books), group_of, args.limit)
    needs = MEMORIES[args.memory]
    books = load_books(args.dataset) if needs.books else []
    passages = split_books(books) if needs.passages else []
    found = _search(args, pack, [*pairs, *held_out], books, passages) if needs.passages else []
    if args.both_orders:  # a prompt is still chosen on pairs that are asked once, as they stand in the dataset
        pairs, found = both_orders(pairs), found_for_both(found)
    return Material(everything=everything, pairs=pairs, held_out=held_out, books=books, passages=passages, found=found)


def _search(
    args: Arguments, pack: Pack, pairs: Sequence[Pair], books: Sequence[BookText], passages: Sequence[Passage]
) -> list[Retrieved]:
    """The passages for each pair."""
    from epbench.booksort.context.retrieved import retrieve
    from epbench.errors import BadInput

    if not 0 <= args.query < len(pack.queries):
        raise BadInput(f"--query: expected a number from 0 to {len(pack.queries) - 1}, got {args.query}")
    url = args.retriever_url or args.base_url
    return retrieve(
        pairs, books, passages, _retriever(args.retriever, url, args.request_timeout),
        query=pack.queries[args.query], top_k=args.top_k, keep_order=args.keep_order,
    )  # fmt: skip


@cache  # a model that embeds texts is loaded once for all datasets
def _retriever(name: str, url: str | None, request_timeout: float) -> MakeSearcher:
    from epbench.retrieval.load import load_retriever

    return load_retriever(name, base_url=url, request_timeout=request_timeout)


# What is asked


def _requests(
    args: Arguments,
    pack: Pack,
    model: Model,
    material: Material,
    pairs: Sequence[Pair],
    *,
    prompt: int,
    reading: int | None = None,
    memory: str | None = None,
) -> list[Request]:
    """The requests about these pairs, with the memory and the reading of the command line unless given."""
    from epbench.booksort.context.requests import Store, requests_for

    store = Store(material.books, material.passages, material.found, args.reading if reading is None else reading)
    return requests_for(memory or args.memory, pairs, pack, prompt, store=store, max_tokens=_max_tokens(args, model))


def _max_tokens(args: Arguments, model: Model) -> int:
    """An endpoint writes its answer; of any other model only the first token counts."""
    return 1 if model.continues_prompts else args.max_tokens


def _sweep(args: Arguments, pack: Pack, material: Material, ask_about: Ask) -> dict[int, list[Request]]:
    """By number of the prompt or the reading, the requests on the pairs that are held out for choosing it."""
    if args.chosen == "prompt":
        return {number: ask_about(material.held_out, prompt=number) for number in pack.prompts}
    if args.chosen == "reading":
        return {number: ask_about(material.held_out, reading=number) for number in range(len(pack.passage_readings))}
    return {}


def _by_context(sweep: Mapping[int, Sequence[Request]]) -> Iterable[Request]:
    """The requests of a sweep in the order in which prompts with one reading share it."""
    from epbench.models.scheduling import by_context

    for group in by_context(request for requests in sweep.values() for request in requests):
        yield from group


def _check_window(
    args: Arguments, model: Model, requests: Sequence[Request], others: Mapping[str, Callable[[], list[Request]]]
) -> None:
    """Refuse what does not fit the model's window, and print what the run costs."""
    from epbench.models.estimate import check_window, estimate

    if warning := check_window(requests, model, others):
        command.console().print(f"warning: {warning}", style="yellow", soft_wrap=True)
    if args.plan or not model.costs_nothing:
        for line in estimate(requests, model).lines():
            command.console().say(line)


def _alternatives(args: Arguments, pairs: Sequence[Pair], ask_about: Ask) -> dict[str, Callable[[], list[Request]]]:
    """What else could be asked if this does not fit: less text, or none."""
    from epbench.booksort.context.requests import MEMORIES
    from epbench.booksort.dataset.load import config_names, load_pairs, of_books

    def excerpts(config: str) -> list[Request]:
        return ask_about(load_pairs(args.dataset, [config], args.split), memory="in-context")

    others: dict[str, Callable[[], list[Request]]] = {}
    memory = MEMORIES[args.memory]
    if memory.whole_books:
        for book in sorted({pair.book_idx for pair in pairs}):
            others[f"{args.memory} with --books {book}"] = partial(ask_about, of_books(pairs, [book]))
    if memory.excerpts or memory.whole_books:
        longest = max(pair.excerpt_length for pair in pairs)
        for config in config_names(args.dataset):
            if memory.whole_books or int(config[1:].split("_")[0]) < longest:
                others[f"in-context with --config {config}"] = partial(excerpts, config)
    if args.memory != "none":
        others["none"] = partial(ask_about, pairs, memory="none")
    return others


# What the run is, and what it gave


def _identity(args: Arguments, pack: Pack, model: Model, material: Material, prompt: int) -> dict[str, Any]:
    from epbench.booksort.context.identity import run_identity
    from epbench.booksort.context.requests import MEMORIES

    search: dict[str, Any] = {}
    if MEMORIES[args.memory].passages:
        search |= {"retriever": args.retriever, "query": args.query}
        search |= {"reading": "selected" if args.chosen == "reading" else args.reading}
        search |= {"top_k": args.top_k, "keep_order": args.keep_order}
    return run_identity(
        args.memory, material.everything, model, pack, "selected" if args.chosen == "prompt" else prompt,
        configs=args.config, split=args.split, books=args.books, both_orders=args.both_orders,
        max_tokens=_max_tokens(args, model), base_url=args.base_url, search=search, texts=material.books,
        held_out=material.held_out,
    )  # fmt: skip


def _about(args: Arguments, label: str, material: Material) -> dict[str, Any]:
    from epbench.booksort.dataset.released import is_published
    from epbench.hub.revision import dataset_revision

    revision = None if is_published(args.dataset) else dataset_revision(args.dataset, material.pairs[0].config)
    of_run = {"label": label, "limit": args.limit, "shard": args.shard}
    return {"dataset": args.dataset, "dataset_revision": revision, **of_run}


def _show(out: Path, label: str, scores: Mapping[str, Any]) -> None:
    from epbench.booksort.scores.tables import screen_tables
    from epbench.files.json_files import read_json
    from epbench.runs.usage import usage_line

    console = command.console()
    console.print(screen_tables({label: scores}))
    usage = read_json(out / "usage.json")
    if line := usage_line(usage):
        console.say(line)
    for reason, n in usage["failed"].items():
        console.say(f"failed {n} times: {reason}")
    if scores["n_failed"]:
        console.say(
            f"{scores['n_failed']} questions have no answer. They count neither as right nor as wrong, so the accuracy is a "
            "range; give the same command again to send the failed requests again"
        )
    console.say(f"report: {out / 'report.html'}")


if __name__ == "__main__":
    command.run(main)
