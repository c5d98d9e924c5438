"""What the names of runs and books in a published archive say: who answered, with which memory, and who wrote the book."""

from __future__ import annotations

import re

_RUN = re.compile(
    r"answered_by_kind_(?:prompting_model_(?P<prompted>.+)|rag_model_(?P<read>.+)_chunk_(?P<chunk>paragraph|chapter)_top\d+"
    r"|ftuning_model_(?P<tuned>.+?)(?:_fpolicy_.+)?)"
)
_BOOK = re.compile(r"model_(?P<writer>.+)_itermax_")


def reader_of(run: str) -> tuple[str, str]:
    """The memory and the model in the name of a run's folder.

    Args:
        run: The name, such as `answered_by_kind_rag_model_gpt-4o_chunk_chapter_top17`, or its path in the archive.

    Returns:
        The memory in our words, such as `rag-chapter`, and the model; for a trained one, the model that was trained. The
        memory is empty and the model the name itself if it is none that the published code gives.
    """
    name = run.rsplit("/", 1)[-1]
    found = _RUN.fullmatch(name)
    if not found:
        return "", name
    if found["read"]:
        return f"rag-{found['chunk']}", found["read"]
    if found["prompted"]:
        return "in-context", found["prompted"]
    # A trained model of OpenAI is called ft:<model>:<owner>:…
    return "fine-tuned", found["tuned"].split(":")[1 if found["tuned"].startswith("ft:") else 0]


def writer_of(book: str) -> str | None:
    """The model that wrote a book, from the name of its folder in the archive; None if that names none."""
    found = _BOOK.match(book)
    return found["writer"] if found else None
