"""What is run on one dataset: every choice that a user has, and how the prompt that suits a model best is chosen.

A prompt, or a reading of passages, is chosen on held-out pairs, on which all are tried. The choice depends on accuracy and on
the share of A, which should be close to one half. The paper leaves the balance between the two to judgement. Here it follows
a rule, so that it can be repeated:

1. Find the highest accuracy.
2. Prompts within one standard error of it, √(p·(1-p)/n) with the best accuracy p over its n answers, are tied.
3. Of these, choose the one whose share of A is closest to one half; then the more accurate; then the first.

Paper: Section 3.1, Appendix C.3 and, for readings, C.4.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from epbench.booksort.context import retrieval
from epbench.booksort.context.prompts import ALONE, SEARCH_RESULTS, Pack
from epbench.booksort.context.remembered import TOP_K, Remembering
from epbench.booksort.context.requests import MEMORIES, memory_named
from epbench.booksort.dataset.load import Pair
from epbench.booksort.judging import failure_of, predicted
from epbench.errors import BadInput, RunFailed
from epbench.files.json_files import read_json, write_json
from epbench.files.typed import Whole, fields
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.memories.load import BASELINES, BRING_YOUR_OWN, SYSTEMS
from epbench.models.protocol import Model, Request
from epbench.progress import Progress
from epbench.reports.tables import Table, cell

Choice = Literal["prompt", "reading"]
"""What is chosen."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is run on one dataset.

    Attributes:
        dataset: The set, as `load_pairs` takes it.
        model: The model that answers; its weights need not be loaded.
        memory: What the model is shown: a name in `MEMORIES`, or that of a memory system, as `load_memory` takes it.
        pack: The prompt pack.
        configs: Configs of the set, such as `e250_s20`, or only `all`.
        split: `test` or `validation`.
        prompt: Number of the prompt in the pack; None for its usual one.
        choose: Whether the `prompt` or the `reading` is chosen on pairs of the validation split; None for neither.
        reading: Number of the instruction that presents passages, from 0.
        query: Number of what is searched for, from 0.
        retriever: Name of the search, as `load_retriever` takes it.
        retriever_url: Address of an endpoint for embeddings; None for that of the model.
        request_timeout: Longest time in seconds for one request to that endpoint.
        remembering: How a memory system is run.
        top_k: Number of passages or memories to show, at least 1; None for the usual one.
        between: Tokens of unrelated text between what is remembered and the question, at least 0.
        keep_order: Whether passages are shown in the order of the books instead of the most similar first.
        max_tokens: Largest number of tokens in an endpoint's answer, at least 1; of any other model only the first token
            counts.
        base_url: Address of the model's endpoint, if it is behind one.
        books: Numbers of the books that are asked about; None for all.
        both_orders: Whether each pair is asked a second time with its segments swapped.
        limit: Number of pairs, those of an excerpt together, chosen at random; None for all.
        shard: `i/n` for the i-th of n parts of the run; None for the whole.
    """

    dataset: str
    model: Model
    memory: str
    pack: Pack
    configs: Sequence[str] = ("e250_s20",)
    split: str = "test"
    prompt: int | None = None
    choose: Choice | None = None
    reading: int = SEARCH_RESULTS
    query: int = ALONE
    retriever: str = "bm25"
    retriever_url: str | None = None
    request_timeout: float = 300.0
    remembering: Remembering = field(default_factory=Remembering)
    top_k: int | None = None
    between: int = 0
    keep_order: bool = False
    max_tokens: int = 25
    base_url: str | None = None
    books: Sequence[int] | None = None
    both_orders: bool = False
    limit: int | None = None
    shard: str | None = None

    @property
    def k(self) -> int:
        """The number of passages or memories to show."""
        usual = retrieval.TOP_K if self.memory in MEMORIES else TOP_K
        return usual if self.top_k is None else self.top_k

    @property
    def by_book(self) -> bool:
        """Whether a memory system is told whole books."""
        return self.memory not in MEMORIES and self.remembering.stored == "book"

    def check(self) -> None:
        """Refuse what does not go together or is out of its range, before anything is loaded: BadInput."""
        memory, queries = memory_named(self.memory), self.pack.queries
        names = [*MEMORIES, *(name for name in (*BASELINES, *SYSTEMS) if name not in MEMORIES)]
        if self.memory not in names and ":" not in self.memory:
            raise BadInput(f"unknown memory {self.memory!r}; there are: {', '.join(names)}; {BRING_YOUR_OWN}")
        if self.memory not in MEMORIES and (self.keep_order or self.retriever != "bm25"):
            raise BadInput("a retriever and the order of passages go with rag, not with a memory system")
        if self.remembering.tokens is not None and self.memory in MEMORIES:
            raise BadInput(f"--memory-tokens goes with a memory system, got --memory {self.memory}")
        if self.between and not (memory.whole_text or self.memory not in MEMORIES):
            raise BadInput(
                "--between puts text after what is remembered: expected --memory in-context, full-book or a memory system, got "
                f"{self.memory}"
            )
        if self.max_tokens < 1:
            raise BadInput(f"--max-tokens: expected at least 1, got {self.max_tokens}")
        if memory.searched and self.k < 1:
            raise BadInput(f"top_k: expected at least 1, got {self.k}")
        if memory.searched and not 0 <= self.query < len(queries):
            raise BadInput(f"--query: expected a number from 0 to {len(queries) - 1}, got {self.query}")
        if self.choose == "reading" and not memory.searched:
            raise BadInput(
                "--select-reading chooses how passages are presented: expected --memory rag or a memory system, got "
                f"{self.memory}"
            )
        if self.choose and self.split == "validation":
            raise BadInput("a choice is made on the validation split, so another one must be scored: give --split test")
        if self.choose and self.shard:
            raise BadInput(
                "every shard would choose for itself; choose without --shard, then give --prompt or --reading"
            )


# How a prompt, or a reading of passages, is chosen

SWEEP = "prompt_answers.jsonl"
CHOICE = "prompt_selection.json"
CHOSEN = fields(
    {"reason": str, "tied": list[Whole]},
    dict.fromkeys(("prompt", "reading"), Whole | str) | dict.fromkeys(("prompts", "readings"), list[dict[str, Any]]),
    ("prompt", "prompts"),
    ("reading", "readings"),
)
MOST_FAILED = 0.1
"""Share of a prompt's questions that may fail. If more fail, they are asked again before prompts are compared."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The results of one prompt or one reading."""

    number: int  # number of the prompt or reading
    n: int  # number of answered questions
    failed: int  # number of questions without an answer, or with a truncated one, which are neither right nor wrong
    accuracy: float  # accuracy over the answered questions, from 0 to 1; an answer other than A or B is wrong
    share_a: float | None  # share of A among the answers that are A or B; None if there are none


def select_prompt(
    folder: Path,
    requests: Mapping[int, Sequence[Request]],
    pairs: Sequence[Pair],
    model: Model,
    progress: Progress,
    what: Choice = "prompt",
) -> dict[str, Any]:
    """Try every prompt, choose one, and write `prompt_selection.json`.

    An earlier choice in the folder is kept, because the answers of the run were given to that prompt. See `choose`; if it
    fails, the next run asks again what has failed.
    """
    if (folder / CHOICE).exists():
        return read_json(folder / CHOICE, CHOSEN)
    trials = [request for asked in requests.values() for request in asked]
    ask(folder / SWEEP, trials, model, progress, "answers to choose a prompt")
    journal = read_journal(folder / SWEEP)
    answers = {pair.id: pair.answer for pair in pairs}
    tried = []
    for number, asked in requests.items():
        records = [journal.get(request.key(model.identity), {"failure": "not asked"}) for request in asked]
        answered = [(predicted(record), answers[record["id"]]) for record in records if failure_of(record) is None]
        right = sum(label == answer for label, answer in answered)
        labels = [label for label, _ in answered if label != "X"]
        share_a = labels.count("A") / len(labels) if labels else None
        n = len(answered)
        tried.append(Tried(number, n, len(records) - n, right / n if n else 0.0, share_a))
    choice = choose(tried, what)
    write_json(folder / CHOICE, choice)
    return choice


def choose(tried: Sequence[Tried], what: Choice = "prompt") -> dict[str, Any]:
    """Choose by the rule above; RunFailed if more than `MOST_FAILED` of the questions of a prompt have no answer.

    Returns prompt (the number chosen), reason, tied (numbers), and prompts (the fields of `Tried` for each); or reading
    and readings.
    """
    for candidate in tried:
        asked = candidate.n + candidate.failed
        if candidate.failed > MOST_FAILED * asked:
            raise RunFailed(
                f"no {what} can be chosen: {candidate.failed} of {asked} questions of {what} {candidate.number} failed, "
                f"see {SWEEP} for the reasons; run again to repeat them (truncated answers need a larger max_tokens), or "
                f"give the number of a {what} yourself"
            )
    best = max(tried, key=lambda candidate: candidate.accuracy)
    error = math.sqrt(best.accuracy * (1 - best.accuracy) / best.n)
    tied = [candidate for candidate in tried if candidate.accuracy >= best.accuracy - error - 1e-12]
    lean = {one.number: 0.5 if one.share_a is None else abs(one.share_a - 0.5) for one in tied}  # to one label
    chosen = min(tied, key=lambda candidate: (lean[candidate.number], -candidate.accuracy, candidate.number))
    reason = f"{what} {best.number} has the highest accuracy, {best.accuracy:.3f} over {best.n} answers"
    if len(tied) > 1:
        reason += (
            f"; {len(tied)} {what}s are within its standard error of {error:.3f}; of these {what} {chosen.number} has its "
            f"share of A, {cell(chosen.share_a)}, nearest to one half"
        )
    return {
        what: chosen.number,
        "reason": reason,
        "tied": [candidate.number for candidate in tied],
        f"{what}s": [asdict(candidate) for candidate in tried],
    }


def screen_table(choice: Mapping[str, Any], what: Choice = "prompt") -> Table:
    """Return a table of all prompts or readings with their results; the chosen one is marked."""
    rows = []
    for row in choice[f"{what}s"]:
        mark = "→ " if row["number"] == choice[what] else ""
        accuracy = f"{row['accuracy']:.3f}" if row["n"] else "–"
        rows.append([f"{mark}{row['number']}", accuracy, cell(row["share_a"]), str(row["n"]), str(row["failed"])])
    return Table([what, "accuracy", "share of A", "answers", "failed"], rows, text_columns=0)
