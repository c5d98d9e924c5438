"""CSV files in UTF-8 with a header that names the columns; quoted cells may span several lines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.text import shown

MAX_CELL = 16 * 2**20  # characters; the longest published cell, an excerpt of 20,000 words, has about 120,000


def read_csv(path: Path, columns: Collection[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a file, each with its cells by column; further columns are included, empty lines skipped.

    The file is in UTF-8, with or without a byte order mark.

    Raises:
        BadInput: The file cannot be read, is not in UTF-8 or not CSV, a column is missing or occurs twice, a row has
            more or fewer cells than the header, or a cell has a zero byte or more than `MAX_CELL` characters. Rows are
            counted from 0, below the header.
    """
    csv.field_size_limit(MAX_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            for column in columns:
                if column not in header:
                    names = ", ".join(name[:40] for name in header[:40])
                    raise BadInput(f"{path}: column {column!r} is missing; found: {names or 'nothing'}")
            for column, n in Counter(header).items():
                if n > 1:
                    raise BadInput(f"{path}: column {shown(column)} found {n} times in the header, expected once")
            for number, cells in enumerate(filter(None, reader)):
                if len(cells) != len(header):
                    raise BadInput(f"{path}, row {number}: found {len(cells)} cells, expected {len(header)}")
                row = dict(zip(header, cells, strict=True))
                for column, cell in row.items():
                    if "\0" in cell:
                        raise BadInput(f"{path}, row {number}, field {column!r}: found a zero byte, expected text")
                yield row
    except csv.Error as error:
        raise BadInput(f"{path}: not CSV, or truncated within a quoted cell ({error}); get the file again") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not CSV in UTF-8 ({error}); get the file again") from None
    except OSError as error:
        raise BadInput(f"{path}: expected a CSV file that can be read ({error.strerror})") from None
