"""What a model is given to remember by: nothing, the excerpt, retrieved passages, or the whole book.

Paper: Section 3.2, Appendix C.4 (retrieval) and D.5 (whole books).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.booksort.context.passages import Passage, Places
from epbench.booksort.dataset.load import BookText, Pair
from epbench.errors import BadInput
from epbench.retrieval.protocol import MakeSearcher
from epbench.runs.answers import fingerprint_of
from epbench.runs.journal import Journal

MEMORIES = ("none", "in-context", "rag", "full-book")
RETRIEVED = "retrieved.jsonl"
TOP_K = 2
DEPTH = 10
"""Passages that recall looks at (Table 8)."""
RECALL = f"recall_at_{DEPTH}"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search found for one pair.

    Attributes:
        id: of the pair.
        query: what was searched for.
        passages: places of the passages that are shown, in the order of the prompt.
        ranks: of the best passage that holds the earlier, and the later, segment, from 0; None where none of the first
            `DEPTH` does, or none of those shown where these are more.
        both: whether passages of both segments are shown.
        in_order: whether they are, and in the order of the book; one passage may hold both.
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
        pairs: the questions.
        books: whole, to tell which passages hold the segments.
        passages: of all of these.
        search: makes the index over the texts of the passages.
        query: what is searched for; `{segments}` are the texts of both, in the order in which they are shown.
        top_k: number of passages to show, at least 1.
        keep_order: show them in the order of the books instead of most similar first.

    Raises:
        BadInput: top_k is below 1, a pair's excerpt is not in its book, or the search cannot be made.
    """
    if top_k < 1:
        raise BadInput(f"--top-k {top_k}: at least 1 expected")
    queries = [query.format(title=pair.title, segments=" ".join(pair.shown)) for pair in pairs]
    places = Places(books)
    index = search([passage.text for passage in passages])
    found = []
    for pair, asked, best in zip(pairs, queries, index.search(queries, max(top_k, DEPTH)), strict=True):
        ranks = _ranks(pair, [passages[place] for place in best], places)
        shown = sorted(best[:top_k]) if keep_order else best[:top_k]
        both = all(rank is not None and rank < top_k for rank in ranks)
        order = [shown.index(best[rank]) for rank in ranks if rank is not None] if both else []
        found.append(Retrieved(pair.id, asked, tuple(shown), ranks, both, both and order[0] <= order[1]))
    return found


def _ranks(pair: Pair, best: Sequence[Passage], places: Places) -> tuple[int | None, int | None]:
    earlier, later = (
        next((rank for rank, passage in enumerate(best) if passage.holds(pair.book_idx, *span)), None)
        for span in places.of(pair)
    )
    return earlier, later


def recall_at(found: Sequence[Mapping[str, Any]], depth: int = DEPTH) -> float | None:
    """Share of segments of which a passage is among the first `depth`, 0 to 1 (Table 8); None without any.

    A passage counts that has at least half of the segment's characters.

    Args:
        found: records of `retrieved.jsonl`.
        depth: number of passages, 1 to `DEPTH`.
    """
    ranks = [rank for record in found for rank in record["ranks"]]
    return sum(rank is not None and rank < depth for rank in ranks) / len(ranks) if ranks else None


def record(folder: Path, found: Sequence[Retrieved], passages: Sequence[Passage]) -> None:
    """Put what was found into `retrieved.jsonl`, each passage as (book, first character)."""
    journal = Journal(folder / RETRIEVED)
    for one in found:
        shown = [(passages[place].book_idx, passages[place].start) for place in one.passages]
        key = fingerprint_of([one.id, one.query, shown])
        if not journal.done(key):
            journal.add(
                key, id=one.id, query=one.query, passages=shown, ranks=one.ranks, both=one.both, in_order=one.in_order
            )
    journal.close()
