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
scores.json, questions.parquet (a row for each question, for pandas and eval_scripts/compare.py), usage.json, table.md and
report.html. To resume a run that was stopped, even by kill -9, give the same command again: nothing is paid for twice, and
failed requests are sent again.
eval_scripts/merge.py joins the folders of --shard 1/n … n/n into one run.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epbench import command, options

if TYPE_CHECKING:
    from epbench.booksort.context.prompts import Pack
    from epbench.booksort.evaluate import Evaluated, Evaluation, Prepared
    from epbench.models.protocol import Model


@dataclass(frozen=True, kw_only=True)
class Arguments(options.BackendOptions, options.RetrieverOptions, options.SubsetOptions):
    """What the command line says."""

    datasets: list[str]
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
    return Arguments(**vars(parser.parse_args(argv)))


def _evaluate_all(args: Arguments) -> None:
    """Every dataset: all of them are checked before the weights are loaded, which then serve all of them."""
    from epbench.booksort.context.prompts import load_prompts
    from epbench.booksort.context.reader import load_reader
    from epbench.booksort.evaluate import prepare, run
    from epbench.booksort.prompt_selection import screen_table
    from epbench.booksort.scores.tables import markdown_table, screen_tables
    from epbench.errors import BadInput
    from epbench.runs.several import folders_of_datasets

    if args.select_prompt and (args.prompt is not None or args.select_reading):
        raise BadInput(
            "--select-prompt goes neither with --prompt nor with --select-reading; choose one after the other"
        )
    folders = folders_of_datasets(args.out, args.datasets)
    pack = load_prompts(args.prompts)
    model = load_reader(args.model, pack, args.backend)

    def ran(ready: Prepared, out: Path) -> Evaluated:
        done = run(ready, out, progress=command.bar)
        if done.choice:
            command.console().print(screen_table(done.choice, "prompt" if args.select_prompt else "reading"))
            command.console().say(done.choice["reason"])
        return done

    command.run_all(
        folders, lambda dataset: prepare(_evaluation(args, dataset, pack, model)), ran, (screen_tables, markdown_table),
        plan=args.plan,
    )  # fmt: skip


def _evaluation(args: Arguments, dataset: str, pack: Pack, model: Model) -> Evaluation:
    from epbench.booksort.evaluate import Evaluation

    return Evaluation(
        dataset=dataset, model=model, memory=args.memory, pack=pack, configs=args.config, split=args.split,
        prompt=args.prompt, choose="prompt" if args.select_prompt else "reading" if args.select_reading else None,
        reading=args.reading, query=args.query, retriever=args.retriever, retriever_url=args.retriever_url,
        request_timeout=args.request_timeout, top_k=args.top_k, keep_order=args.keep_order, max_tokens=args.max_tokens,
        base_url=args.base_url, books=args.books, both_orders=args.both_orders, limit=args.limit, shard=args.shard,
    )  # fmt: skip


if __name__ == "__main__":
    command.run(main)
