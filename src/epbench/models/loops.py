"""Tells whether a text goes in circles: greedy decoding then says nothing new, however many tokens it may have."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ROUNDS = 4
_LONG_ENOUGH = 128  # words and other characters in all rounds together: about as many tokens
_UNIT = re.compile(r"\w+|\W")
_ENDS = frozenset("\n.!?。！？")
_LIST_NUMBER = "number of a line"


def text_of_first_round(text: str) -> str | None:
    """Return a text without its repetitions; None if it does not end in a loop.

    It does if its end is one passage at least four times, which together are at least 128 words, spaces and other
    characters. The last word does not count, as it may be a part of one, and neither do the numbers of a list, so that
    `8. Oslo`, `9. Oslo`, `10. Oslo` is a loop too. What is left ends between words, and with a line or a sentence if the
    passage has such an end, so that no name or date is cut.
    """
    units: list[str] = _UNIT.findall(text)
    end = _end_of_first_round(_without_list_numbers(units)[:-1])
    return None if end is None else "".join(units[:end]).rstrip()


def _without_list_numbers(units: Sequence[str]) -> list[str]:
    """Replace every number that begins a line and is followed by a full stop or a bracket."""
    before, after = ["\n", *units], [*units[1:], ""]  # one longer than it need be, so that there may be no units
    return [
        _LIST_NUMBER if unit.isdigit() and start == "\n" and end in (".", ")") else unit
        for start, unit, end in zip(before, units, after, strict=False)
    ]


def _end_of_first_round(sequence: Sequence[str]) -> int | None:
    """Return where a sequence has said all that it goes on to repeat until its end; None if it ends in no loop."""
    n = len(sequence)
    for length in range(1, n // _ROUNDS + 1):
        repeated = max(_ROUNDS, -(-_LONG_ENOUGH // length)) * length
        if repeated <= n and sequence[n - repeated : n - length] == sequence[n - repeated + length :]:
            start = n - repeated
            while start and sequence[start - 1] == sequence[start - 1 + length]:
                start -= 1
            end = start + length
            return next((i + 1 for i in range(end - 1, end - 1 + length) if sequence[i] in _ENDS), end)
    return None
