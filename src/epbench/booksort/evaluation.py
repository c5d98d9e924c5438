"""What is run on one dataset of Book-SORT: every choice that a user has, and which of them go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from epbench.booksort.context import retrieval
from epbench.booksort.context.prompts import ALONE, SEARCH_RESULTS, Pack
from epbench.booksort.context.remembered import TOP_K, Remembering
from epbench.booksort.context.requests import MEMORIES, memory_named
from epbench.booksort.prompt_selection import Choice
from epbench.errors import BadInput
from epbench.memories.load import BASELINES, BRING_YOUR_OWN, SYSTEMS
from epbench.models.protocol import Model


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
        """Refuse what does not go together, before anything is loaded.

        Raises:
            BadInput: Two choices contradict one another, a number is out of its range, or there is no such memory.
        """
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
