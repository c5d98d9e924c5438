"""How a MemFail run is carried out: which k, how many stores, what is told and how the answers are sampled."""

from __future__ import annotations

from dataclasses import dataclass, field

from epbench.errors import BadInput
from epbench.memories.guard import CALL_LIMIT, MEMORY_LIMIT, Limits
from epbench.models.protocol import Sampling


@dataclass(frozen=True)
class Setting:
    """How a config is run.

    Attributes:
        ks: How many memories to ask for. Each number is at least 1 and gives a set of results of its own.
        isolate: Whether every row has a store of its own. By default all rows share one store.
        published_query: Whether the memory is asked the whole question, options included, as in the published runs. By
            default it is asked the stem alone.
        replies: Whether the reader replies to every turn of the user and its reply is stored too, as in the published
            runs.
        units_per_conversation: The largest number of facts that are told in one conversation, at least 1.
        timeout: Time limit of one call into the memory system, in seconds.
        seed: Seed of the order in which facts are stored.
        sampling: How the reader's answers are sampled.
        memory_limit: Memory limit of the memory system's process, in gigabytes.
    """

    ks: tuple[int, ...] = (5,)
    isolate: bool = False
    published_query: bool = False
    replies: bool = False
    units_per_conversation: int = 1
    timeout: float = CALL_LIMIT
    seed: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    memory_limit: float = MEMORY_LIMIT

    @property
    def limits(self) -> Limits:
        """The time and memory that the memory system may use."""
        return Limits(self.timeout, self.memory_limit)

    def check(self) -> None:
        """Check that every number is in its range.

        Raises:
            BadInput: A number is out of its range, or a k is given twice.
        """
        ks = " ".join(map(str, self.ks)) or "nothing"
        if not self.ks or min(self.ks) < 1:
            raise BadInput(f"k: expected numbers of at least 1, got {ks}")
        if len(set(self.ks)) < len(self.ks):
            raise BadInput(f"k: expected each number once, got {ks}")
        if self.units_per_conversation < 1:
            raise BadInput(f"units_per_conversation: expected at least 1, got {self.units_per_conversation}")
        self.limits.check()
