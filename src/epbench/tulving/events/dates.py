"""Dates as the books write them: `September 22, 2026`, `May 07, 2024`, and in other formats where a level has them.

The names are ours, because `strftime` names the months in the language of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_ONES = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth
""".split()
_ORDINALS = (*_ONES, "twentieth", *(f"twenty-{ordinal}" for ordinal in _ONES[:9]), "thirtieth", "thirty-first")


@cache
def in_words(day: date) -> str:
    """Turn `date(2024, 5, 7)` into `May 07, 2024`: English month, two digits for the day."""
    return f"{MONTHS[day.month - 1]} {day.day:02d}, {day.year}"


def from_words(text: str) -> date:
    """Turn `May 07, 2024` into `date(2024, 5, 7)`; ValueError if the text is not such a date."""
    month, day, year = text.replace(",", " ").split()
    return date(int(year), MONTHS.index(month) + 1, int(day))


def numbered(day: int) -> str:
    """Turn 22 into `22nd`."""
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


FORMATS: tuple[Callable[[date], str], ...] = (
    in_words,
    lambda day: f"{day.day} {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"the {numbered(day.day)} of {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"the {_ORDINALS[day.day - 1]} of {MONTHS[day.month - 1]}, {day.year}",
    lambda day: f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {numbered(day.day)}, {day.year}",
    lambda day: f"{WEEKDAYS[day.weekday()]} the {numbered(day.day)} of {MONTHS[day.month - 1]} {day.year}",
    lambda day: day.isoformat(),
)
"""How a day may be written, after `on`; the first is how questions and answers write it."""

_YEAR = re.compile(r"\d{4}")
_MONTH = "|".join(MONTHS)
_ANY_DATE = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d\d-\d\d\b)"
    rf"|\b(?P<m1>{_MONTH}) (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y1>\d{{4}})\b"
    rf"|\b(?P<d2>\d{{1,2}}|{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})(?:st|nd|rd|th)?(?: of)? "
    rf"(?P<m2>{_MONTH}),? (?P<y2>\d{{4}})\b"
)


def find_dates(text: str) -> Iterator[tuple[int, date, str]]:
    """Yield the dates in a text, in any of the formats: where each begins, the day, and how it is written.

    What only looks like a date (`2025-02-31`) is passed over.
    """
    if not _YEAR.search(text):  # most sentences have no date at all, and this is much faster
        return
    for match in _ANY_DATE.finditer(text):
        try:
            if match["iso"]:
                day = date.fromisoformat(match["iso"])
            else:
                number = match["d1"] or match["d2"]
                day = date(
                    int(match["y1"] or match["y2"]),
                    MONTHS.index(match["m1"] or match["m2"]) + 1,
                    int(number) if number.isdecimal() else _ORDINALS.index(number) + 1,
                )
        except ValueError:
            continue
        yield match.start(), day, match[0]
