"""The tables of the paper and of its README as rows of reported numbers, read from their texts where these lie beside us."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"

Row = dict[str, Any]
BINS = ("0", "1", "2", "3-5", "6+")
LONG, SHORT = (150, 150, 90, 98, 60), (150, 150, 48, 18)
_MODELS = {
    "3-haiku": "claude-3-haiku",
    "3.5-son.": "claude-3-5-sonnet",
    "3.1-405b": "llama-3.1-405b",
    "mini": "o1-mini",
    **dict.fromkeys(("4o", "40", "gpt-40"), "gpt-4o"),
    **dict.fromkeys(("4o-mini", "40-mini", "gpt-40-mini"), "gpt-4o-mini"),
}


def paper_tables(path: Path) -> dict[str, list[Row]]:
    """Rows with dataset, model, memory and scores, and with deviations and counts where there are any, by table."""
    lines = path.read_text("utf-8").splitlines()

    def block(first: str, n: int) -> list[list[str]]:
        start = next(number for number, line in enumerate(lines) if line.startswith(first))
        return [_cells(line) for line in lines[start : start + n]]

    default, short = "|             | gpt-4o-mini       | ", ("short", SHORT)
    return {
        "Table 3": _by_memory(block(f"{default}0.51", 11), "long", LONG),
        "Table 4": _order(block("| Family ", 7)),
        "Table 13": _by_memory(block(f"{default}0.53", 11), *short),
        "Table 14": _chunks(block("| In-context       |", 3), block("| RAG<br>(paragraph)", 2)),
        "Table 15": _grid(block("| 1           | 0.95", 4), "long", ("elements", "bin"), BINS),
        "Table 16": _grid(block("| (t, *, *, *)   | 0.80", 15), "long", ("cue", "bin"), BINS),
        "Table 17": _grid(block("| (t, *, *, *)   | 1.00", 15), "short", ("cue", "bin"), BINS),
        "Table 18": _grid(block("| Times ", 6), "long", ("trace", "bin"), ("", *BINS)),
        "Table 19": _grid(block("| (t, *, *, *)   |  ", 14), "long", ("cue", "trace"), list(_TRACES.values())[:4]),
        "Table 21": _tests(block("| Claude | gpt-40 vs", 3), _of_books),
        "Table 23": _tests(
            block("| gpt-4o-mini<br>gpt-4o<br>claude-3-haiku<br>claude-3-5-sonnet | ordered vs", 1), _of_orders
        ),
        "Table 25": _tests(
            block("| gpt-4o-mini<br>gpt-4o<br>claude-3-haiku<br>claude-3-5-sonnet<br>llama", 1), _of_realism
        ),
        "Table 20": _books(block("| GPT    | gpt-4o-mini       |", 8), {"GPT": "short by gpt-4o", "Claude": "short"}),
        "Table 22": _books(block("| Ordered   |", 8), {"Ordered": "short-ordered", "Unordered": "short"}, SHORT),
        "Table 24": _realism(block("| 0   | empty ", 11)),
        "Table 27": _diverse(block("|        | short default |", 6)),
    }


def leaderboard(path: Path) -> list[Row]:
    """The ranking of the README: simple recall and chronological awareness of models that read the long book."""
    found = re.findall(
        r"^([a-z0-9.\-]+)[^|\n]*\|\s*(0\.\d{3})[^|\n]*\|\s*(0\.\d{3})", path.read_text("utf-8"), re.MULTILINE
    )
    names = ("simple_recall_score", "chronological_awareness")
    return [
        _row("long", model, "in-context", dict(zip(names, map(float, values), strict=True))) for model, *values in found
    ]


def _cells(line: str) -> list[str]:
    plain = re.sub(r"\$|\*\*|</?b>", "", line).replace("\\pm", "±")
    return [re.sub(r"\s*±\s*", "±", cell.strip()) for cell in plain.strip().strip("|").split("|")]


def _row(dataset: str, model: str, memory: str, scores: Mapping[str, float], **more: Mapping[str, float]) -> Row:
    row = {"dataset": dataset, "model": _MODELS.get(model, model), "memory": memory, "scores": dict(scores)}
    return row | {name: dict(values) for name, values in more.items() if values}


def _f1_row(
    dataset: str, model: str, memory: str, cells: Sequence[str], counts: Sequence[int] = (), bins: Sequence[str] = BINS
) -> Row:
    """A row from cells such as `0.84±0.37`."""
    pairs = {
        f"f1_by_bin.{bin_}": tuple(map(float, cell.split("±")))
        for bin_, cell in zip(bins, cells, strict=False)
        if "±" in cell
    }
    means, deviations = ({name: pair[place] for name, pair in pairs.items()} for place in (0, 1))
    of = dict(zip(pairs, counts, strict=True)) if counts else {}
    return _row(dataset, model, memory, means, deviations=deviations, counts=of)


def _by_memory(rows: Sequence[Sequence[str]], dataset: str, counts: Sequence[int]) -> list[Row]:
    """Tables 3 and 13: the memory is only named in the middle of its rows, which are six, four and one."""
    memories = ["in-context"] * 6 + ["rag-paragraph"] * 4 + ["fine-tuned"]
    return [_f1_row(dataset, row[1], memory, row[2:], counts) for row, memory in zip(rows, memories, strict=True)]


def _order(rows: Sequence[Sequence[str]]) -> list[Row]:
    """Table 4, whose columns are the models."""
    named = {row[0]: row[1:] for row in rows}
    memories = {"rag": "rag-paragraph", "context": "in-context", "ftuning": "fine-tuned"}
    found = []
    for number, model in enumerate(named["Model"]):
        latest, all_ = (float(named[name][number].rstrip("%")) / 100 for name in ("Latest", "All"))
        tau = named["Kendall \tau"][number]
        scores = {"latest": latest, "all_matched": all_} | ({} if tau == "n.a." else {"kendall_tau": float(tau)})
        found.append(_row("long", model, memories[named["Memory"][number]], scores))
    return found


def _chunks(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> list[Row]:
    """Table 14: gpt-4o on the long book, and all models on the short one, whose cells hold four rows each."""
    memories = {"In-context": "in-context", "RAG (paragraph)": "rag-paragraph", "RAG (chapter)": "rag-chapter"}
    found = [_f1_row("long", "gpt-4o", memories[row[0]], row[1:], LONG) for row in first]
    for row in second:
        columns = [cell.split("<br>") for cell in row[1:6]]
        for model, *cells in zip(*columns, strict=True):
            found.append(_f1_row("short", model, memories[row[0].replace("<br>", " ")], cells, SHORT))
    return found


def _books(rows: Sequence[Sequence[str]], datasets: Mapping[str, str], counts: Sequence[int] = ()) -> list[Row]:
    """Tables 20 and 22: the book is only named in the first of its four rows."""
    found, dataset = [], ""
    for row in rows:
        dataset = datasets.get(row[0], dataset)
        found.append(_f1_row(dataset, row[1], "in-context", row[2:6], counts))
    return found


def _realism(rows: Sequence[Sequence[str]]) -> list[Row]:
    """Table 24, whose columns are the models; a score is named by its bin and by the realism of its chapters."""
    models = ("gpt-4o-mini", "gpt-4o", "claude-3-haiku", "claude-3-5-sonnet")
    bins, counts = [f"{row[0]}.{row[1]}" for row in rows], [int(row[2]) for row in rows]
    return [
        _f1_row("long", model, "in-context", [row[3 + number] for row in rows], counts, bins)
        for number, model in enumerate(models)
    ]


def _grid(rows: Sequence[Sequence[str]], dataset: str, sides: tuple[str, str], values: Sequence[str]) -> list[Row]:
    """Tables 15 to 19, each of gpt-4o with the whole book: cells such as `0.95±0.22 (60)`, by two kinds of questions."""
    found: dict[str, tuple[float, float, int]] = {}
    for first, *cells in rows:
        for value, cell in zip(values, cells, strict=False):
            if match := re.fullmatch(r"([\d.]+)±([\d.]+) ?\((\d+)\)", cell):
                mean, deviation, count = match.groups()
                name = f"f1_by_{'_and_'.join(sides)}.{_value(first)}.{value}"
                found[name] = float(mean), float(deviation), int(count)
    numbers = [dict(zip(found, of, strict=True)) for of in zip(*found.values(), strict=True)]
    return [_row(dataset, "gpt-4o", "in-context", numbers[0], deviations=numbers[1], counts=numbers[2])]


def _value(cell: str) -> str:
    """A cue as its letters, `(t, *, ent, *)` as `te`; a trace as the dataset names it; the number of elements."""
    if cell.startswith("("):
        return "".join(letter for letter in "tsec" if re.search(rf"\b{letter}", cell))
    return next((trace for words, trace in _TRACES.items() if cell.startswith(words)), cell)


_TRACES = {
    "Times": "times",
    "Spaces": "spaces",
    "Entities": "entities",
    "Event contents": "contents",
    "Other entities": "other_entities",
    "Full event detai": "full_details",
}


def _tests(rows: Sequence[Sequence[str]], about: Callable[..., tuple[str, str, str, str]]) -> list[Row]:
    """Tables 21, 23 and 25: a p-value for each line of a row; `<0.01` is an upper bound."""
    found = []
    for row in rows:
        first, second, numbers = (cell.split("<br>") for cell in row[:3])
        for number, one in enumerate(numbers):
            dataset, model, higher, lower = about(*(of[min(number, len(of) - 1)] for of in (first, second)))
            score = f"{'p_below' if one.startswith('<') else 'p'}.{higher}>{lower}"
            found.append(_row(dataset, model, "in-context", {score: float(one.lstrip("<"))}))
    return found


def _of_books(book: str, models: str) -> tuple[str, str, str, str]:
    """`GPT` once stands as `CPT` in the text."""
    first, second = (_MODELS.get(model, model) for model in models.split(" vs "))
    return "short" if book == "Claude" else "short by gpt-4o", first, first, second


def _of_orders(model: str, _: str) -> tuple[str, str, str, str]:
    return "short-ordered", model, "short-ordered", "short"


def _of_realism(model: str, _: str) -> tuple[str, str, str, str]:
    """The text says which is expected to be higher."""
    return "long", model.replace("3-1", "3.1"), "non-realistic", "realistic"


def _diverse(rows: Sequence[Sequence[str]]) -> list[Row]:
    """Table 27, all of gpt-4o."""
    found = []
    for row in rows:
        size, universe = row[1].split(" ")
        dataset = size if universe == "default" else f"{universe.replace('-', '')}-{size}"
        found.append(_f1_row(dataset, "gpt-4o", "in-context", row[2:]))
    return found
