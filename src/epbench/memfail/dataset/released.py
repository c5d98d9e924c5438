"""The published rows of MemFail: find the CSV files, on the Hub or in a folder, and check every cell of them.

Lists are JSON, and quoted cells may span several lines. Paper: Section 4 and Appendix B.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, RunFailed
from epbench.files.text import parse_json, read_csv, shown
from epbench.memfail.dataset.schema import CATEGORIES, CHAIN, CHOICES, FACTS, LETTERS, PUBLISHED_COLUMNS, Row, listed

QUESTIONS_PER_PERSONA = 3
_FIELDS: dict[str, Any] = {"text": str, "is_misleading": bool, "distractor": str | None, "ground_truth_answer": str}


def read_config(path: Path, config: str) -> list[Row]:
    """Return the rows of a config, a CSV file in UTF-8, with the published columns: lists as lists, absent cells as None.

    BadInput if a cell is wrong: it names file, row (0 is the first below the header), field, what was expected and what
    was found.
    """
    rows: list[Row] = []
    first_at: dict[tuple[str, ...], int] = {}
    for number, found_cells in enumerate(read_csv(path, PUBLISHED_COLUMNS[config])):
        cells = {column: found_cells[column] for column in PUBLISHED_COLUMNS[config]}
        wrong = partial(_wrong, path, number)
        rows.append(_TYPED.get(config, _conditional)(cells, wrong))
        same = first_at.setdefault((cells["id"],) if "id" in cells else tuple(cells.values()), number)
        if same != number:
            field, content = ("id", shown(cells["id"])) if "id" in cells else ("all", "the cells")
            raise wrong(field, f"{content} of row {same} again", "distinct rows")
    if not rows:
        raise BadInput(f"{path}: expected rows below the header, got none")
    return rows


def _wrong(path: Path, number: int, field: str, found: str, expected: str) -> BadInput:
    return BadInput(f"{path}, row {number}, field {field!r}: expected {expected}, got {found}")


Wrong = Callable[[str, str, str], BadInput]  # takes a field, what was found and what was expected


def _filled(cells: dict[str, str], wrong: Wrong, *columns: str) -> Row:
    for column in columns:
        if not cells[column].strip():
            raise wrong(column, "an empty cell", "text")
    return {column: cells[column] for column in columns}


def _list(cells: dict[str, str], wrong: Wrong, column: str, item: str) -> list[Any]:
    try:
        value = parse_json(cells[column])
    except ValueError as error:
        raise wrong(column, f"{_short(cells[column])} ({error})", "a JSON list") from None
    if not isinstance(value, list):
        raise wrong(column, _short(cells[column]), f"a JSON list of {item}")
    return value


def _texts(cells: dict[str, str], wrong: Wrong, column: str, low: int, high: int) -> list[str]:
    value = _list(cells, wrong, column, "strings")
    for text in value:
        if not isinstance(text, str) or not text.strip():
            raise wrong(column, f"the item {shown(text)}", "non-empty strings")
    if not low <= len(value) <= high:
        expected = f"{low} item{'s' * (low > 1)}" if low == high else f"{low} to {high} items"
        raise wrong(column, f"{len(value)}", expected)
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "…")


def _one_of(row: Row, wrong: Wrong, column: str, allowed: tuple[str, ...]) -> None:
    if row[column] not in allowed:
        raise wrong(column, shown(row[column]), f"one of {', '.join(allowed)}")


def _conditional(cells: dict[str, str], wrong: Wrong) -> Row:
    essay = _texts(cells, wrong, "entity_facts", 1, 1)
    row = _filled(cells, wrong, *PUBLISHED_COLUMNS["conditional_facts_easy"]) | {"entity_facts": essay}
    _one_of(row, wrong, "condition_met", ("yes", "no"))
    _one_of(row, wrong, "entity_category", CATEGORIES)
    return row


def _coexisting(cells: dict[str, str], wrong: Wrong) -> Row:
    names = _texts(cells, wrong, "preferences", 2, 5)
    facts = _texts(cells, wrong, "preference_facts", len(names), len(names))
    row = _filled(cells, wrong, *PUBLISHED_COLUMNS["coexisting_facts"])
    if len(set(names)) < len(names):
        raise wrong("preferences", "a repeated name", "distinct names")
    return row | {"preferences": names, "preference_facts": facts}


def _persona(cells: dict[str, str], wrong: Wrong) -> Row:
    essay = _texts(cells, wrong, "entity_facts", 1, 1)
    row = _filled(cells, wrong, "entity") | {"entity_facts": essay}
    questions = _list(cells, wrong, "questions", "questions")
    if len(questions) != QUESTIONS_PER_PERSONA:
        raise wrong("questions", f"{len(questions)}", f"{QUESTIONS_PER_PERSONA} items")
    return row | {"questions": [_question(question, wrong) for question in questions]}


def _question(question: object, wrong: Wrong) -> Row:
    if not isinstance(question, dict):
        raise wrong("questions", f"the item {shown(question)}", "objects")
    for name, kind in _FIELDS.items():
        field = f"questions.{name}"
        if name not in question:
            raise wrong(field, "nothing", "a value")
        if not isinstance(question[name], kind):
            expected = {"is_misleading": "true or false", "distractor": "a name or null"}.get(name, "a string")
            raise wrong(field, shown(question[name]), expected)
        if isinstance(question[name], str) and not question[name].strip():
            raise wrong(field, "an empty string", "text")
    if question["is_misleading"] != (question["distractor"] is not None):
        raise wrong("questions.distractor", shown(question["distractor"]), "a name in misleading questions only")
    return {name: question[name] for name in _FIELDS}


def _long_hop(cells: dict[str, str], wrong: Wrong) -> Row:
    fixed = ("id", "graded_question", "ground_truth_answer", *CHOICES, "correct_choice")
    row: Row = {column: cells[column] or None for column in PUBLISHED_COLUMNS["long_hop"]}
    row |= _filled(cells, wrong, *fixed)
    if cells["hop_count"] not in ("1", "2", "3"):
        raise wrong("hop_count", shown(cells["hop_count"]), "1, 2 or 3")
    hops = row["hop_count"] = int(cells["hop_count"])
    for columns, n in ((FACTS, hops + 1), (CHAIN, hops + 2)):
        for i, column in enumerate(columns):
            if (row[column] is not None) != (i < n):
                content, listed_columns = "text" if row[column] else "an empty cell", ", ".join(columns)
                expected = f"text in only the first {n} of {listed_columns} with {hops} hops"
                raise wrong(column, content, expected)
    _one_of(row, wrong, "correct_choice", LETTERS)
    right = row[f"choice_{row['correct_choice'].lower()}"]
    if right != row["ground_truth_answer"]:
        raise wrong("correct_choice", shown(right), f"the true answer {shown(row['ground_truth_answer'])}")
    if not row["graded_question"].endswith(listed([row[choice] for choice in CHOICES])):
        content = _short(row["graded_question"][-40:])
        raise wrong("graded_question", content, "the stem, an empty line, 'Options:' and the choices by letter")
    return row


_TYPED: dict[str, Callable[[dict[str, str], Wrong], Row]] = {
    "coexisting_facts": _coexisting,
    "persona_retrieval": _persona,
    "long_hop": _long_hop,
}


HUB_DATASET = "ishirgarg/MemFail"

_FILES = {
    "conditional_facts_easy": "conditional_facts_dataset_easy.csv",
    "conditional_facts_hard": "conditional_facts_dataset_hard.csv",
    "coexisting_facts": "coexisting_facts_dataset.csv",
    "persona_retrieval": "persona_dataset.csv",
    "long_hop": "long_hop_chains.csv",
}


def open_source(source: str) -> tuple[str, Path]:
    """Find the published files on the Hub (`hub`), or in a folder such as a checkout of the reference repository.

    Returned are how a dataset card calls the source, and a folder that holds the files at any depth. RunFailed if the Hub cannot
    be reached or refuses the download.
    """
    if source != "hub":
        return f"the folder `{Path(source).resolve().name}`", Path(source)
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(HUB_DATASET, repo_type="dataset", allow_patterns="*.csv"))
    except Exception as error:  # the Hub's client raises its own, the HTTP library's and the system's errors
        told = f"{HUB_DATASET} could not be downloaded from the Hub: {error}"
        raise RunFailed(f"{told}; without a network, use a local folder of it") from None
    return f"`{HUB_DATASET}` on the Hub, revision `{folder.name}`", folder


def file_of(folder: Path, config: str) -> Path:
    """Return the CSV file of a config: it has the published name, or is the only one in a folder named as the config."""
    name = _FILES[config]
    named, others = (sorted(filter(Path.is_file, folder.rglob(p))) for p in (name, f"{config}/*.csv"))
    files = named or others
    if len(files) != 1:
        got = ", ".join(map(str, files)) or "nothing"
        raise BadInput(f"{folder}, config {config!r}: expected one file {name}, got {got}")
    return files[0]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, as the card shows it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
