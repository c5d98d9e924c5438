"""Ask a model which of two segments of a book came first (Book-SORT), and score its answers.

    python eval_scripts/booksort.py --dataset epbench/booksort --memory in-context --model oracle --out runs/oracle
    python eval_scripts/booksort.py --dataset epbench/booksort --config e250_s20 e1000_s20 e2500_s20 --memory in-context --model hf:meta-llama/Llama-3.1-8B-Instruct --select-prompt --out runs/llama
    python eval_scripts/booksort.py --dataset epbench/booksort --memory rag --retriever st --model vllm:Qwen/Qwen3-8B --out runs/rag
    python eval_scripts/booksort.py --dataset epbench/booksort --config all --memory none --model openai:gpt-4o-mini --limit 400 --plan --out runs/mini
    python eval_scripts/booksort.py --dataset epbench/booksort --memory in-context --both-orders --model hf:Qwen/Qwen3-0.6B --out runs/both
    python eval_scripts/booksort.py --dataset epbench/booksort my-texts/booksort-2 --memory in-context --model hf:Qwen/Qwen3-0.6B --out runs/two
    python eval_scripts/booksort.py --dataset epbench/booksort --answers study/answers.jsonl --out runs/people
    python eval_scripts/booksort.py --dataset memari/booksort --memory in-context --prompts SORT/sort/evaluation/conf/prompts --prompt 3 --model hf:meta-llama/Meta-Llama-3-8B-Instruct --out runs/published

Memories. none shows the model no text (the baseline), in-context shows the excerpt, rag shows passages of all books found by
a search for the segments, and full-book shows the whole book. A memory system is told the excerpt (--stored book: the whole
book) in conversations of whole sentences, about --conversation-words long, and then searched for both segments; the model is
shown what it returns, in that order. There are mem0, a-mem, simplemem and the others that are installed when they are first
used, the built-in baselines full-context, verbatim-bm25, verbatim-dense, verbatim-dense:PATH_OR_ID and oracle, or a class of
your own, as module:Class (such as epbench.memories.example:KeywordMemory) or path/to/file.py:Class. Each excerpt (or book)
has an instance to itself, in a process of its own; eval_scripts/memfail.py --help tells of --timeout, --isolation,
--system-model and the like. Scores tell apart whether both segments were found, kept in order, and answered right. What a
system failed to store or retrieve makes its questions fail. --between N puts N tokens of unrelated text after the excerpt or
the book, or stores them last.

Models. oracle looks the segments up in its context: it must be right in-context, and at chance without. hf:PATH_OR_ID runs
with transformers, vllm:PATH_OR_ID with vLLM, and openai:NAME asks an endpoint, which --base-url names (the key comes from
OPENAI_API_KEY). The answer begins with "Answer: Segment", and the probabilities of A and B as the next token decide; an
endpoint writes its answer, which is then parsed. The four pairs of an excerpt share one reading of it. A prompt that exceeds
the model's window is refused before any weights are loaded; nothing is ever cut off. --plan prints what a run will cost, and
stops.

Beside the accuracy stand the greedy accuracy, judged by what the model would have written, and the label mass, the
probability that its answer begins with A or B at all. --both-orders asks each pair twice, the second time with its segments
swapped, which cancels a preference for one label; consistency is the share of pairs whose two answers name the same segment.
A question whose request failed, or whose answer was cut off before it named a segment, is neither right nor wrong: as long as
there is one, the accuracy is given as a range. Prompts are numbered 1 to 12, and queries and readings of passages 0 to 9, as
in the paper's Tables 6, 8 and 9. --select-prompt tries all prompts on the validation split. Of those within one standard
error of the highest accuracy it takes the one whose share of A is nearest to one half. --select-reading does the same for the
readings of passages. --prompts takes a pack in TOML (with the keys of src/epbench/booksort/data/sort_prompts.toml), or the
YAML files of the reference implementation: one file, or a folder of files, which are numbered from 1.

OUT becomes the run's folder: run.json, answers.jsonl, retrieved.jsonl (rag and memory systems), stored.jsonl and
memories.json (memory systems), prompt_selection.json (--select-…), scores.json, questions.parquet (a row for each question),
usage.json, table.md and report.html. With several datasets the weights are loaded once, and OUT holds a run for each, named
after it, and table.md. To resume a run that was stopped, even by kill -9, give the same command again: nothing is paid for
twice, and failed requests are sent again. eval_scripts/merge.py joins the folders of --shard 1/n … n/n into one run.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from epbench import command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.booksort.context.prompts import Pack
    from epbench.booksort.evaluate import Evaluated, Prepared
    from epbench.booksort.evaluation import Evaluation
    from epbench.models.protocol import Model


@dataclass(frozen=True, kw_only=True)
class Arguments:
    datasets: list[str] = argument(
        "epbench/booksort, memari/booksort, or a folder of either; may be several",
        flags=["--dataset"],
        metavar="DATASET",
    )
    config: list[str] = argument(
        "e<excerpt>_s<segment> in words, book_s<segment> for whole books, or all", default=["e250_s20"]
    )
    split: str = argument("test, or validation (held out for choosing a prompt)", default="test")
    out: Path = argument("the run's folder")

    memory: str | None = argument(
        "none, in-context, rag, full-book or a memory system; see above", group="what the model sees"
    )
    words: options.Words = included(
        prompts=argument("another pack: TOML, a YAML file, or a folder of YAML files", metavar="FILE")
    )
    prompt: int | None = argument("number of the prompt (3)", metavar="N")
    select_prompt: bool = argument("choose the prompt on the validation split")
    select_reading: bool = argument("choose the reading of passages or memories likewise")
    passages: options.Retriever = included(
        top_k=argument("passages (2) or memories of a system (4) for each question", metavar="K")
    )
    query: int = argument("what to search for (8: the segments alone)", default=8, metavar="N")
    reading: int = argument("how to present the passages (7)", default=7, metavar="N")
    stored: Literal["excerpt", "book"] = argument(
        "what a memory system stores: the excerpt of a pair, or its whole book (excerpt)", default="excerpt"
    )
    conversation_words: int = argument("length of the conversations that are stored (100)", default=100, metavar="N")
    systems: options.System = included()
    recalled: options.Recalled = included()

    model: str | None = argument(f"oracle (baseline), {options.MODELS}", group="who answers", either=True)
    answers: Path | None = argument(
        'score these answers instead of asking a model: JSONL of {"id", "answer"}', metavar="FILE", either=True
    )
    backend: options.Backend = included()
    max_tokens: int = argument(
        "longest answer of an endpoint in tokens (25; more for a model that reasons)", default=25, metavar="N"
    )

    books: list[int] | None = argument("only the pairs of these books", metavar="BOOK_IDX", group="how much")
    both_orders: bool = argument("ask each pair twice, the second time swapped")
    part: options.Subset = included(
        limit=argument("run only N pairs, those of an excerpt together, chosen at random", metavar="N")
    )
    bounds: options.Bounds = included()

    def __post_init__(self) -> None:
        if (self.memory is None) == (self.answers is None):
            raise BadInput("give either --memory to ask a model, or --answers to score a file; see --help")
        whole = not (self.books or self.both_orders or self.select_prompt or self.select_reading or self.datasets[1:])
        if self.answers and not (whole and self.part.limit is None and self.part.shard is None):
            raise BadInput(
                "--answers scores all answers of a file, to one dataset as it is: give no part, choice or order"
            )


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    command.show_log()
    from epbench.booksort.context.prompts import load_prompts, read_wording
    from epbench.booksort.context.reader import OwnAnswers, load_reader
    from epbench.booksort.evaluate import prepare, run
    from epbench.booksort.evaluation import screen_table
    from epbench.booksort.scores.tables import markdown_table, screen_tables
    from epbench.runs.several import folders_of_datasets

    if args.select_prompt and (args.prompt is not None or args.select_reading):
        raise BadInput(
            "--select-prompt goes neither with --prompt nor with --select-reading; choose one after the other"
        )
    folders = folders_of_datasets(args.out, args.datasets)
    words = read_wording(args.words.wording)
    pack = load_prompts(args.words.prompts) if args.words.prompts or not words else words["reader"]
    model: Model = (
        OwnAnswers(args.answers) if args.answers else load_reader(str(args.model), pack, args.backend.options)
    )

    def ran(ready: Prepared, out: Path) -> Evaluated:
        done = run(ready, out, progress=command.bar)
        if done.choice:
            command.console().print(screen_table(done.choice, "prompt" if args.select_prompt else "reading"))
            command.console().say(done.choice["reason"])
        return done

    def prepared(dataset: str) -> Prepared:
        return prepare(_evaluation(args, dataset, pack, model))

    with command.within(args.bounds.made(*filter(None, [args.model]))):
        # All datasets are checked before the weights are loaded, which then serve all of them.
        command.run_all(folders, prepared, ran, (screen_tables, markdown_table), plan=args.part.plan)


def _evaluation(args: Arguments, dataset: str, pack: Pack, model: Model) -> Evaluation:
    from epbench.booksort.context.remembered import Remembering
    from epbench.booksort.evaluation import Evaluation

    systems, backend = args.systems, args.backend
    return Evaluation(
        **vars(args.passages),
        dataset=dataset,
        model=model,
        memory=args.memory or "none",
        pack=pack,
        configs=args.config,
        split=args.split,
        prompt=args.prompt,
        choose="prompt" if args.select_prompt else "reading" if args.select_reading else None,
        reading=args.reading,
        query=args.query,
        request_timeout=backend.request_timeout,
        remembering=Remembering(
            stored=args.stored,
            words=args.conversation_words,
            limits=systems.limits,
            options=systems.installed(args.memory or "none", backend.base_url, backend.request_timeout),
            tokens=args.recalled.memory_tokens,
        ),
        max_tokens=args.max_tokens,
        base_url=backend.base_url,
        books=args.books,
        both_orders=args.both_orders,
        between=args.recalled.between,
        limit=args.part.limit,
        shard=args.part.shard,
    )


if __name__ == "__main__":
    command.run(main)
