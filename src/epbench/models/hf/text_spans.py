"""Parts of a text among its tokens, so that what a model makes of these parts can be told from the rest."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.errors import BadInput
from epbench.files.text import shown

Span = tuple[int, int]
"""Index of the first character, and the index after the last one."""


def find_parts(text: str, parts: Sequence[str]) -> list[Span]:
    """Find parts of a text by their words.

    White space around a part does not count, because chat templates remove it at the ends of a message.

    Args:
        text: The whole text, such as a prompt.
        parts: The parts in the order in which they stand in the text. Each is searched for behind the one before.

    Returns:
        Where each part begins and ends in the text, in characters.

    Raises:
        BadInput: A part is empty, or is not in the text behind the one before.
    """
    found: list[Span] = []
    behind = 0
    for number, part in enumerate(parts):
        words = part.strip()
        start = text.find(words, behind) if words else -1
        if start < 0:
            raise BadInput(
                f"part {number} of a text: expected it behind character {behind} of {len(text)}, got {shown(part)}"
            )
        behind = start + len(words)
        found.append((start, behind))
    return found


def tokens_of(text: str, offsets: Sequence[Span], span: Span) -> list[int]:
    """Return the positions of the tokens that make up a span of characters.

    White space at the ends of the span is not part of it; a token belongs to the span if it has a character of the rest.
    So the first word brings the blank before it along if the tokenizer has made one token of both, a token that holds the
    end of the span and what follows belongs to it, and a character that takes several tokens has all of them.

    Args:
        text: The whole text.
        offsets: Where each token begins and ends in the text, as tokenizers give it. A token that stands for no text,
            such as the one that begins it, has an empty span.
        span: The characters.

    Returns:
        The positions in rising order; none if the span is blank.
    """
    inside = text[slice(*span)]
    first = span[0] + len(inside) - len(inside.lstrip())
    end = first + len(inside.strip())
    return [i for i, (start, stop) in enumerate(offsets) if max(start, first) < min(stop, end)]
