"""Dates as the books write them: `September 22, 2026`, `May 07, 2024`.

The names are ours, because `strftime` names the months in the language of the machine.
"""

from datetime import date
from functools import cache

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@cache
def in_words(day: date) -> str:
    """Turn `date(2024, 5, 7)` into `May 07, 2024`: English month, two digits for the day."""
    return f"{MONTHS[day.month - 1]} {day.day:02d}, {day.year}"


def from_words(text: str) -> date:
    """Turn `May 07, 2024` into `date(2024, 5, 7)`.

    Raises:
        ValueError: The text is not such a date.
    """
    month, day, year = text.replace(",", " ").split()
    return date(int(year), MONTHS.index(month) + 1, int(day))
