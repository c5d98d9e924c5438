"""Search the passages of all books for each pair, record what was found, and say how much was found (recall).

Paper: Appendix C.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.booksort.context.passages import Passage, SegmentPositions
from epbench.booksort.dataset.load import BookText, Pair
from epbench.errors import BadInput
from epbench.retrieval.protocol import MakeSearcher
from epbench.runs.answers import fingerprint_of
from epbench.runs.journal import Journal

RETRIEVED = "retrieved.jsonl"
TOP_K = 2
DEPTH = 10
"""Number of passages that recall takes into account (Table 8)."""
RECALL = f"recall_at_{DEPTH}"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search found for one pair.

    Attributes:
        id: Id of the pair.
        query: What was searched for.
        passages: Indices of the passages that are shown, in the order of the prompt.
        ranks: Ranks, from 0, of the best passages that contain the earlier and the later segment. None if no passage
            among the first `DEPTH` (or among those shown, if there are more) contains the segment.
        both: Whether the passages that are shown contain both segments.
        in_order: Whether they do so in the order of the book. One passage may contain both segments.
    """

    id: str
    query: str
    passages: tuple[int, ...]
    ranks: tuple[int | None, int | None]
    both: bool
    in_order: bool


def retrieve(
    pairs: Sequence[Pair],
    books: Sequence[BookText],
    passages: Sequence[Passage],
    search: MakeSearcher,
    *,
    query: str,
    top_k: int = TOP_K,
    keep_order: bool = False,
) -> list[Retrieved]:
    """Search the passages of all books for each pair.

    Args:
        pairs: The questions.
        books: The whole books, in which the segments are located.
        passages: The passages of all books.
        search: Makes the index over the texts of the passages.
        query: What is searched for. `{segments}` stands for the texts of both segments in the order shown.
        top_k: Number of passages to show, at least 1.
        keep_order: Whether to show them in the order of the books instead of the most similar first.

    Raises:
        BadInput: `top_k` is below 1, a pair's excerpt is not in its book, or the index cannot be made.
    """
    if top_k < 1:
        raise BadInput(f"top_k: expected at least 1, got {top_k}")
    queries = [query.format(title=pair.title, segments=" ".join(pair.shown)) for pair in pairs]
    positions = SegmentPositions(books)
    index = search([passage.text for passage in passages])
    found = []
    for pair, asked, best in zip(pairs, queries, index.search(queries, max(top_k, DEPTH)), strict=True):
        ranks = _ranks(pair, [passages[i] for i in best], positions)
        shown = sorted(best[:top_k]) if keep_order else best[:top_k]
        both = all(rank is not None and rank < top_k for rank in ranks)
        order = [shown.index(best[rank]) for rank in ranks if rank is not None] if both else []
        found.append(Retrieved(pair.id, asked, tuple(shown), ranks, both, both and order[0] <= order[1]))
    return found


def _ranks(pair: Pair, best: Sequence[Passage], positions: SegmentPositions) -> tuple[int | None, int | None]:
    earlier, later = (
        next((rank for rank, passage in enumerate(best) if passage.holds(pair.book_idx, *span)), None)
        for span in positions.of(pair)
    )
    return earlier, later


def recall_at(found: Sequence[Mapping[str, Any]], depth: int = DEPTH) -> float | None:
    """Return the share of segments, from 0 to 1, that are found within the first `depth` passages (Table 8).

    A segment is found if a passage contains at least half of its characters.

    Args:
        found: Records of `retrieved.jsonl`.
        depth: Number of passages, from 1 to `DEPTH`.

    Returns:
        The share; None if there are no segments.
    """
    ranks = [rank for record in found for rank in record["ranks"]]
    return sum(rank is not None and rank < depth for rank in ranks) / len(ranks) if ranks else None


def record(folder: Path, found: Sequence[Retrieved], passages: Sequence[Passage]) -> None:
    """Write what was found to `retrieved.jsonl`, with each passage as (book, first character)."""
    journal = Journal(folder / RETRIEVED)
    for one in found:
        shown = [(passages[i].book_idx, passages[i].start) for i in one.passages]
        key = fingerprint_of([one.id, one.query, shown])
        if not journal.done(key):
            journal.add(
                key, id=one.id, query=one.query, passages=shown, ranks=one.ranks, both=one.both, in_order=one.in_order
            )
    journal.close()
