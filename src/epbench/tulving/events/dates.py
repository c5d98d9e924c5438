"""Dates as the books write them: `September 22, 2026`, `May 07, 2024`.

Written by hand because `strftime` names the months in the language of the machine.
"""

from datetime import date
from functools import cache

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@cache
def in_words(day: date) -> str:
    """`date(2024, 5, 7)` → `May 07, 2024` (English month, two digits for the day)."""
    return f"{MONTHS[day.month - 1]} {day.day:02d}, {day.year}"


def from_words(text: str) -> date:
    """`May 07, 2024` → `date(2024, 5, 7)`.

    Raises:
        ValueError: the text is no such date.
    """
    month, day, year = text.replace(",", " ").split()
    return date(int(year), MONTHS.index(month) + 1, int(day))
