"""The tables of the paper and of its README as rows of reported numbers, read from their texts where these lie beside us."""

import re
from pathlib import Path

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"
BINS = ("0", "1", "2", "3-5", "6+")
F1 = [f"f1_by_bin.{bin_}" for bin_ in BINS]
LONG, SHORT = (150, 150, 90, 98, 60), (150, 150, 48, 18)
_FOUR = ("gpt-4o-mini", "gpt-4o", "claude-3-haiku", "claude-3-5-sonnet")
_MODELS = {
    "3-haiku": "claude-3-haiku",
    "3.5-son.": "claude-3-5-sonnet",
    "3.1-405b": "llama-3.1-405b",
    "llama-3-1-405b": "llama-3.1-405b",
    "mini": "o1-mini",
    **dict.fromkeys(("4o", "40", "gpt-40"), "gpt-4o"),
    **dict.fromkeys(("4o-mini", "40-mini", "gpt-40-mini"), "gpt-4o-mini"),
}
_MEMORIES = {
    "In-context": "in-context",
    "RAG (paragraph)": "rag-paragraph",
    "RAG (chapter)": "rag-chapter",
    "rag": "rag-paragraph",
    "context": "in-context",
    "ftuning": "fine-tuned",
}
_TRACES = {
    "Times": "times",
    "Spaces": "spaces",
    "Entities": "entities",
    "Event contents": "contents",
    "Other entities": "other_entities",
    "Full event detai": "full_details",
}


def _cells(line):
    plain = re.sub(r"\$|\*\*|</?b>", "", line).replace("\\pm", "±")
    return [re.sub(r"\s*±\s*", "±", cell.strip()) for cell in plain.strip().strip("|").split("|")]


def _row(dataset, model, memory, names, cells, counts=()):
    """A row from cells such as `0.84±0.37`, `0.95±0.22 (60)`, `23%` or `<0.01`; others hold no number."""
    numbers = {"scores": {}, "deviations": {}, "counts": {}}
    for at, (name, cell) in enumerate(zip(names, cells, strict=False)):
        if found := re.fullmatch(r"<?([\d.]+)(%?)(?:±([\d.]+))?(?: ?\((\d+)\))?", cell):
            mean, percent, deviation, count = found.groups()
            numbers["scores"][name] = float(mean) / (100 if percent else 1)
            numbers["deviations"] |= {name: float(deviation)} if deviation else {}
            numbers["counts"] |= {name: int(count or counts[at])} if count or counts else {}
    about = {"dataset": dataset, "model": _MODELS.get(model, model), "memory": memory}
    return about | {name: of for name, of in numbers.items() if of}


def paper_tables(path):
    """Rows with dataset, model, memory and scores, and with deviations and counts where there are any, by table."""
    lines = path.read_text("utf-8").splitlines()

    def block(first, n):
        start = next(number for number, line in enumerate(lines) if line.startswith(first))
        return list(map(_cells, lines[start : start + n]))

    def by_memory(first, dataset, counts):
        """The memory is only named in the middle of its rows."""
        memories = ["in-context"] * 6 + ["rag-paragraph"] * 4 + ["fine-tuned"]
        rows = zip(block(f"|             | gpt-4o-mini       | {first}", 11), memories, strict=True)
        return [_row(dataset, row[1], memory, F1, row[2:], counts) for row, memory in rows]

    def books(first, datasets, counts=()):
        """The book is only named in the first of its four rows."""
        rows = enumerate(block(first, 8))
        return [_row(datasets[n // 4], row[1], "in-context", F1, row[2:6], counts) for n, row in rows]

    def grid(first, n, dataset, sides, values):
        """Two kinds of questions, all of gpt-4o with the whole book."""
        rows = block(first, n)
        names = [f"f1_by_{sides}.{_value(row[0])}.{value}" for row in rows for value in values]
        cells = [(row[1:] + [""] * len(values))[at] for row in rows for at in range(len(values))]
        return [_row(dataset, "gpt-4o", "in-context", names, cells)]

    def tests(first, n, about):
        """A p-value for each line of a row; `<0.01` is an upper bound."""
        found = []
        for row in block(first, n):
            firsts, seconds, numbers = (cell.split("<br>") for cell in row[:3])
            for at, p in enumerate(numbers):
                of = (names[min(at, len(names) - 1)] for names in (firsts, seconds))
                dataset, model, pair = about(*of)
                found.append(_row(dataset, model, "in-context", [f"{'p_below' if p[0] == '<' else 'p'}.{pair}"], [p]))
        return found

    def of_writers(book, models):
        """`GPT` once stands as `CPT` in the text."""
        first, second = (_MODELS.get(model, model) for model in models.split(" vs "))
        return "short" if book == "Claude" else "short by gpt-4o", first, f"{first}>{second}"

    order = {row[0]: row[1:] for row in block("| Family ", 7)}
    scores = zip(order["Latest"], order["All"], order["Kendall \tau"], strict=True)
    who = zip(order["Model"], order["Memory"], scores, strict=True)
    one = [_row("long", "gpt-4o", _MEMORIES[row[0]], F1, row[1:], LONG) for row in block("| In-context       |", 3)]
    chunks = [
        _row("short", model, _MEMORIES[row[0].replace("<br>", " ")], F1, cells, SHORT)
        for row in block("| RAG<br>(paragraph)", 2)
        for model, *cells in zip(*(cell.split("<br>") for cell in row[1:6]), strict=True)
    ]
    bin_, kind, n, *columns = zip(*block("| 0   | empty ", 11), strict=True)
    names = [f"f1_by_bin.{b}.{k}" for b, k in zip(bin_, kind, strict=True)]
    diverse = [
        (row[1].replace("-", "").replace("default", "").split(), row[2:])
        for row in block("|        | short default |", 6)
    ]
    several, cues = "| gpt-4o-mini<br>gpt-4o<br>claude-3-haiku<br>claude-3-5-sonnet", "| (t, *, *, *)   | "
    return {
        "Table 3": by_memory("0.51", "long", LONG),
        "Table 4": [
            _row("long", model, _MEMORIES[memory], ("latest", "all_matched", "kendall_tau"), of)
            for model, memory, of in who
        ],
        "Table 13": by_memory("0.53", "short", SHORT),
        "Table 14": [*one, *chunks],
        "Table 15": grid("| 1           | 0.95", 4, "long", "elements_and_bin", BINS),
        "Table 16": grid(f"{cues}0.80", 15, "long", "cue_and_bin", BINS),
        "Table 17": grid(f"{cues}1.00", 15, "short", "cue_and_bin", BINS),
        "Table 18": grid("| Times ", 6, "long", "trace_and_bin", ("", *BINS)),
        "Table 19": grid(f"{cues} ", 14, "long", "cue_and_trace", list(_TRACES.values())[:4]),
        "Table 20": books("| GPT    | gpt-4o-mini       |", ("short by gpt-4o", "short")),
        "Table 21": tests("| Claude | gpt-40 vs", 3, of_writers),
        "Table 22": books("| Ordered   |", ("short-ordered", "short"), SHORT),
        "Table 23": tests(
            f"{several} | ordered vs", 1, lambda model, _: ("short-ordered", model, "short-ordered>short")
        ),
        "Table 24": [
            _row("long", model, "in-context", names, cells, list(map(int, n)))
            for model, cells in zip(_FOUR, columns, strict=False)
        ],
        "Table 25": tests(f"{several}<br>llama", 1, lambda model, _: ("long", model, "non-realistic>realistic")),
        "Table 27": [_row("-".join(of[::-1]), "gpt-4o", "in-context", F1, cells) for of, cells in diverse],
    }


def _value(cell):
    """A cue as its letters, `(t, *, ent, *)` as `te`; a trace as the dataset names it; the number of elements."""
    if cell.startswith("("):
        return "".join(letter for letter in "tsec" if re.search(rf"\b{letter}", cell))
    return next((trace for words, trace in _TRACES.items() if cell.startswith(words)), cell)


def leaderboard(path):
    """The ranking of the README: simple recall and chronological awareness of models that read the long book."""
    found = re.findall(r"^([a-z0-9.\-]+)[^|\n]*\|\s*(0\.\d{3})[^|\n]*\|\s*(0\.\d{3})", path.read_text("utf-8"), re.M)
    names = ("simple_recall_score", "chronological_awareness")
    return [_row("long", model, "in-context", names, values) for model, *values in found]
