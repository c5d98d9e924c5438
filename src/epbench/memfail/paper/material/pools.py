"""Tables 3 to 5: what rows are drawn from (condition types, preference categories, names), and what a dataset has of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from epbench.exhibits.exhibit import Exhibit, Value
from epbench.memfail.dataset.load import Loaded
from epbench.memfail.generation.specs import pools
from epbench.memfail.paper.inputs import Inputs
from epbench.reports.tables import Table

_TYPE_GROUPS = {
    "Time": 4, "Environment": 5, "Physical": 4, "Emotional": 4, "Social": 3, "Task": 3, "Sensory": 3, "Relational": 3,
    "Habitual": 3,
}  # fmt: skip
"""How many condition types each group has, in the order of the pool (paper: Table 3)."""
_CATEGORY_GROUPS = {
    "Food & drink": 12, "Entertainment & media": 12, "Physical activity": 10, "Lifestyle & personal style": 9,
    "Travel & places": 5, "Hobbies & creativity": 11, "Social & leisure": 7, "Tech & learning": 9, "Wellness & self-care": 6,
    "Career & finance": 4, "Media consumption": 6, "Misc": 9,
}  # fmt: skip
"""How many preference categories each group has, in the order of the pool (paper: Table 4)."""
_GIVEN = "The numbers are those of the rows in {names}."
_NOTHING = "No dataset was given, so that no row is counted."
_TEMPLATES = "Rows made from templates have words of their own, which are not in the pool; the last row counts them."

Counts = Mapping[str, Mapping[str, int]]
"""By name of a dataset, how many rows have each value."""


def table_3(inputs: Inputs) -> Exhibit:
    """The condition types, and how many rules have each."""
    pool = [str(value) for value in pools()["condition_types"]]
    records = _records(pool, _TYPE_GROUPS, "condition_type", _counted(inputs, "conditional_facts", "condition_type"))
    observable = ", ".join(pools()["observable_types"])
    notes = [f"Pets have only what can be observed: {observable}."]
    return _exhibit("Table 3", "Condition types of the conditional facts", records, "condition_type", notes)


def table_4(inputs: Inputs) -> Exhibit:
    """The preference categories, and how many rows have each."""
    pool = [str(value) for value in pools()["preference_categories"]]
    counts = _counted(inputs, "coexisting_facts", "preference_category")
    records = _records(pool, _CATEGORY_GROUPS, "preference_category", counts)
    return _exhibit("Table 4", "Preference categories of the coexisting facts", records, "preference_category", [])


def table_5(inputs: Inputs) -> Exhibit:
    """The names and the flavors of personas; of names, how many essays and misleading questions are about each."""
    names = [str(value) for value in pools()["names"]]
    essays, asked = _counted(inputs, "persona_retrieval", "entity"), _asked(inputs)
    records: list[dict[str, Value]] = []
    for dataset in [*essays] or [""]:
        of_essays, of_asked = essays.get(dataset, {}), asked.get(dataset, {})
        others = [name for name in dict.fromkeys([*of_essays, *of_asked]) if name not in names]
        for name in [*names, *others]:
            kind = "name" if name in names else "name outside the pool"
            numbers = {"essays": of_essays.get(name, 0), "asked": of_asked.get(name, 0)} if dataset else {}
            records.append(_named(kind, name, dataset or None, numbers))
    records += [_named("flavor", str(flavor), None, {}) for flavor in pools()["flavors"]]
    rows = [
        [
            str(one["kind"]),
            str(one["value"]),
            str(one["dataset"] or ""),
            *("–" if one[c] is None else str(one[c]) for c in _TWO),
        ]
        for one in records
        if one["kind"] != "name outside the pool"
    ]
    outside = [one for one in records if one["kind"] == "name outside the pool"]
    for dataset in essays:
        of_dataset = [one for one in outside if one["dataset"] == dataset]
        if not of_dataset:
            continue
        sums = [sum(int(one[column] or 0) for one in of_dataset) for column in _TWO]
        rows.append(["name outside the pool", f"{len(of_dataset)} names", dataset, *map(str, sums)])
    notes = [
        "The names are those of the paper. Its list of flavors is not ours: the package has its own.",
        "Misleading questions ask about somebody whom their own row does not mention; whoever has an essay in another row of "
        "the same store is not unknown.",
        *_about_datasets(inputs),
    ]
    head = ["pool", "value", "dataset", "essays about", "misleading questions about"]
    table = Table(head, rows, notes=notes, text_columns=3)
    return Exhibit("Table 5", "Names and flavors of the personas", records, table)


_TWO = ("essays", "asked")


def _named(kind: str, value: str, dataset: str | None, numbers: Mapping[str, int]) -> dict[str, Value]:
    more = {column: numbers.get(column) for column in _TWO}
    return {"kind": kind, "value": value, "dataset": dataset, "source": "own", **more}


def _counted(inputs: Inputs, config: str, column: str) -> dict[str, dict[str, int]]:
    """By dataset and config, how many rows have each value of a column; configs whose name begins alike are apart."""
    found = {}
    several = len(inputs.datasets) > 1
    for name, configs in inputs.datasets.items():
        for loaded in configs:
            if loaded.config.startswith(config):
                short = loaded.config.removeprefix(f"{config}_") if loaded.config != config else name
                label = f"{name}, {short}" if several and short != name else short
                found[label] = dict(Counter(str(row[column]) for row in loaded.rows))
    return found


def _asked(inputs: Inputs) -> dict[str, dict[str, int]]:
    return {
        name: dict(Counter(_strangers(loaded)))
        for name, configs in inputs.datasets.items()
        for loaded in configs
        if loaded.config == "persona_retrieval"
    }


def _strangers(loaded: Loaded) -> Iterable[str]:
    return (question.about["asked_name"] for question in loaded.questions if question.kind == "misleading")


def _records(pool: Sequence[str], groups: Mapping[str, int], column: str, counts: Counts) -> list[dict[str, Value]]:
    """A record for each value of the pool and dataset, and for the values that are not in it."""
    assert sum(groups.values()) == len(pool)
    group_of = [group for group, size in groups.items() for _ in range(size)]
    found: list[dict[str, Value]] = []
    for dataset in [*counts] or [""]:
        own = counts.get(dataset, {})
        placed = [*zip(group_of, pool, strict=True), *((_OUTSIDE, value) for value in own if value not in pool)]
        for group, value in placed:
            rows = own.get(value, 0) if dataset else None
            found.append({"group": group, column: value, "dataset": dataset or None, "rows": rows, "source": "own"})
    return found


_OUTSIDE = "not in the pool"


def _exhibit(
    name: str, title: str, records: Sequence[Mapping[str, Value]], column: str, notes: Sequence[str]
) -> Exhibit:
    """One row for each group, with the number of rows of each dataset after a value."""
    datasets = [dataset for dataset in dict.fromkeys(record["dataset"] for record in records) if dataset]
    rows = []
    for group in dict.fromkeys(record["group"] for record in records):
        values = dict.fromkeys(record[column] for record in records if record["group"] == group)
        at = {(r[column], r["dataset"]): r["rows"] for r in records if r["group"] == group}
        if group == _OUTSIDE:
            listed = f"{len(values)} others"
            sums = [sum(int(n or 0) for (_, d), n in at.items() if d == dataset) for dataset in datasets]
            rows.append([str(group), listed, *map(str, sums)])
            continue
        counts = [[int(at[value, dataset] or 0) for value in values] for dataset in datasets]
        shown = [f"{sum(own)}: {', '.join(map(str, own))}" if any(own) else "0" for own in counts]
        rows.append([str(group), ", ".join(map(str, values)), *shown])
    about = ["The number of rows of a dataset that have one of the values, and those of each value in the same order."]
    table = Table(
        ["group", title.partition(" of ")[0].lower(), *map(str, datasets)],
        rows,
        notes=[*notes, *(about if datasets else [_NOTHING]), *([_TEMPLATES] if rows[-1][0] == _OUTSIDE else [])],
        text_columns=2 + len(datasets),
    )
    return Exhibit(name, title, records, table)


def _about_datasets(inputs: Inputs) -> list[str]:
    return [_GIVEN.format(names=", ".join(inputs.datasets))] if inputs.datasets else [_NOTHING]
