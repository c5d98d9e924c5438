"""The distance bins of an excerpt length, by how far apart two segments are (Appendix B.2, Table 4)."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from epbench.errors import BadInput

EXCERPT_WORDS = (250, 1000, 2500, 10_000, 20_000)
SEGMENT_WORDS = (20, 50)
_LONG = 5000  # words; the first bin of excerpts of this length or longer ends at 1000 words


class DistanceBin(NamedTuple):
    """A range of distances, in words from the first word of the earlier segment to the first word of the later one.

    Attributes:
        least: Smallest distance in the bin.
        most: Largest distance in the bin; the column `distance_bin`.
    """

    least: int
    most: int


def distance_bins(excerpt_words: int, segment_words: int) -> list[DistanceBin]:
    """Return the four bins in ascending order.

    The right edges are those of Table 4, which prints the last one as L_E/0.8 but means 0.8·L_E. A distance on an edge belongs
    to the bin that ends there. The first bin begins at the length of a segment, so segments may be adjacent.

    Args:
        excerpt_words: Length of the excerpt in words, L_E.
        segment_words: Length of a segment in words, L_S.

    Raises:
        BadInput: The excerpt is so short that a bin would be empty.
    """
    quarter, half, last = excerpt_words // 4, excerpt_words // 2, int(excerpt_words // 1.25)
    edges = [quarter, excerpt_words // 3, half, last] if excerpt_words < _LONG else [1000, quarter, half, last]
    if segment_words < 1 or not all(a < b for a, b in itertools.pairwise([segment_words, *edges, excerpt_words])):
        raise BadInput(
            f"excerpts of {excerpt_words} words and segments of {segment_words}: the distance bins would end at "
            f"{', '.join(map(str, edges))}, which must ascend from the length of a segment; use longer excerpts, such as "
            f"{', '.join(map(str, EXCERPT_WORDS))}, or shorter segments"
        )
    return [DistanceBin(segment_words, edges[0]), *(DistanceBin(a + 1, b) for a, b in itertools.pairwise(edges))]
