"""All tables and figures of the paper in its order, and how systems differ and what runs took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from epbench.errors import BadInput, RunFailed
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import CONFIGS, Loaded
from epbench.memfail.paper import figures
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.scores.comparison import judge_notes
from epbench.memfail.scores.tables import USAGE_COLUMNS, total, usage_rows
from epbench.models.estimate import cl100k_tokens
from epbench.reports.exhibit import Column, Made, Shown, columns_of, exhibit, fixed, interval, marked
from epbench.reports.plots import grouped_by
from epbench.reports.reported import read_reported
from epbench.reports.tables import cell
from epbench.statistics.estimate import Value
from epbench.statistics.paired import compare_outcomes, with_holm
from epbench.statistics.smallest_difference import ALPHA, smallest_difference_of_rates


def exhibits(inputs: Inputs) -> list[Made]:
    """Make what can be made of inputs, which may be empty; of the rest, say what it needs."""
    return [
        table_2(inputs),
        figures.by_k(inputs, "Figure 1"),
        figures.beside_success(inputs),
        figures.by_model(inputs, "Figure 2"),
        *(figures.by_tokens(inputs, name) for name in ("Figure 3", "Figure 3, tokens per question")),
        figures.by_k(inputs, "Figure 4"),
        figures.by_model(inputs, "Figure 5"),
        *figures.by_stage(inputs),
        differences(inputs),
        *(figures.scaling(inputs, name) for name in ("Scaling in N", "Scaling in K")),
        tokens_and_cost(inputs),
    ]


_NAMES = ("config", "label", "source", "generator", "size")
_NUMBERS = ("rows", "questions", "tokens", "facts", "yes", "no", "condition_types", "misleading")

_LETTERS = {"coexisting_facts": "N", "long_hop": "K"}
_ROWS_NOTES = (
    "Tokens are the mean over the rows of all stored texts and questions of a row, options included, in the encoding "
    "cl100k_base.",
    "The rows marked (reported) are those of Garg et al., MemFail (2026), Table 2, with the model that wrote the rows.",
)


def table_2(inputs: Inputs) -> Made:
    """The statistics of the given datasets, beside those of the paper; without a dataset, those of the paper alone."""
    notes, count = [*_ROWS_NOTES], None
    try:
        count = cl100k_tokens() if inputs.datasets else None
    except BadInput as error:
        notes.append(f"Tokens were not counted: {error}.")
    notes += [] if inputs.datasets else ["No dataset was given, so that only the paper's rows are shown."]
    given = [(name, loaded) for name, configs in inputs.datasets.items() for loaded in configs]
    records = [record for name, loaded in given for record in _records_of_rows(name, loaded, count)]
    for row in read_reported(packaged("epbench.memfail", "reported_rows.json"), "memfail"):
        names = row.dataset, "paper", "reported", row.model, row.memory
        records.append(dict(zip(_NAMES, names, strict=True)) | {name: row.scores.get(name) for name in _NUMBERS})
    records.sort(key=lambda record: (CONFIGS.index(str(record["config"])), str(record["size"])))
    shown: Shown = {"config": "config", "rows of": _whose, "size": "size", "rows": "rows"}
    shown["questions"] = "questions"
    shown["tokens per row"] = lambda row: "–" if row["tokens"] is None else f"{row['tokens']:.0f}"
    shown |= {"facts": "facts", "other": _other}
    title = "Statistics of the rows of each config"
    return exhibit("Table 2", title, records, columns_of(shown, 3), notes, needs="", sections="config")


def _records_of_rows(dataset: str, loaded: Loaded, count: Callable[[str], int] | None) -> Iterator[dict[str, Value]]:
    """A record for each size of the rows, or one for all."""
    letter, size = _LETTERS.get(loaded.config), {question.row: question.group for question in loaded.questions}
    groups = grouped_by((row["id"] for row in loaded.rows), lambda id_: f"{letter} = {size[id_]}" if letter else "")
    for name, ids in sorted((name, {*of}) for name, of in groups.items()):
        facts = [fact for fact in loaded.facts if fact.row in ids]
        questions = [question for question in loaded.questions if question.row in ids]
        texts = [*(fact.text for fact in facts), *(question.text for question in questions)]
        tokens = sum(map(count, texts)) / len(ids) if count else None
        kinds = [question.kind for question in questions if question.kind]
        met = [question.about["condition_met"] for question in questions if "condition_met" in question.about]
        types = {question.about["condition_type"] for question in questions if "condition_type" in question.about}
        conditions = (met.count("yes"), met.count("no"), len(types)) if met else (None, None, None)
        misleading = kinds.count("misleading") / len(kinds) if kinds else None
        names = loaded.config, dataset, "own", None, name
        numbers = len(ids), len(questions), tokens, len(facts), *conditions, misleading
        yield dict(zip((*_NAMES, *_NUMBERS), (*names, *numbers), strict=True))


def _whose(row: Mapping[str, Any]) -> str:
    return marked(row["label"] + (f", by {row['generator']}" if row["generator"] else ""), row["source"])


def _other(row: Mapping[str, Any]) -> str:
    said = {"yes": "{yes} yes, {no} no; {condition_types} condition types", "misleading": "{misleading:.1%} misleading"}
    return "; ".join(text.format(**row) for name, text in said.items() if row[name] is not None)


def differences(inputs: Inputs) -> Made:
    """Every two runs of one config with one judge, at every k that both have."""
    pairs = with_holm(list(_pairs(inputs.runs)))
    rows = [_record(pair, len(pairs)) for pair in pairs]
    shown: Shown = {
        "config": "config",
        "systems": lambda row: f"{row['label_first']} / {row['label_second']}",
        "k": "k",
        "n": "n",
        "success": lambda row: f"{row['success_first']:.3f} / {row['success_second']:.3f}",
        "difference (95 %)": lambda row: f"{row['difference']:+.3f} ({interval(digits=2, between=' to ')(row)})",
        "better / equal / worse": lambda row: f"{row['better']} / {row['equal']} / {row['worse']}",
        "p": lambda row: f"{row['p']:.3g}",
        "p (Holm)": lambda row: f"{row['p_holm']:.3g}",
        "different": lambda row: "yes" if row["p_holm"] < ALPHA else "not shown",
        "smallest difference: alone / corrected": lambda row: " / ".join(cell(row[name]) for name in _SMALLEST),
    }
    lost = sum(any(pair["n_failed"]) or pair["n_one_sided"] > 0 for pair in pairs)
    notes = [note.format(n=len(pairs), lost=lost) for note in (*_TESTS, *([_LOST] if lost else []))]
    notes += judge_notes(run.judge for run in inputs.runs)
    title = "Differences in success between any two systems, config by config and k by k"
    needs = "two runs of one config with one judge and one k; reported rates have no answers to compare"
    return exhibit("Differences", title, rows, columns_of(shown, 2), notes, needs=needs, sections="config")


_SMALLEST = ("smallest_difference", "smallest_difference_corrected")
_TESTS = (
    "Test: McNemar's exact test on the questions that both runs answered; correction: Holm over all {n} comparisons of this "
    "table. The intervals draw whole rows with replacement (bootstrap, 95 %). A difference is the first system minus the second.",
    "“Not shown” does not mean equal: the last column is the smallest difference of two rates around their mean that so "
    "many questions show with 80 % power, for one comparison alone (5 %) and at the strictest level of the correction. It "
    "takes the outcomes of both as independent, which is the worst case: where systems pass the same questions, smaller "
    "differences show.",
    "Vacuous passes count as successes, as in the paper.",
)
_LOST = "In {lost} comparisons questions that failed in one of the runs are left out; n says what remains."


def _pairs(runs: Sequence[PaperRun]) -> Iterator[dict[str, Any]]:
    """What `compare_outcomes` returns for each two runs and k, with config, source and k."""
    for one, other in combinations(sorted(runs, key=lambda run: CONFIGS.index(run.config)), 2):
        if one.config == other.config and one.judge == other.judge:
            for k in sorted({*one.questions["k"]} & {*other.questions["k"]}):
                with suppress(RunFailed):  # no question was answered and judged in both
                    compared = compare_outcomes((one.label, other.label), [one.at(k), other.at(k)], cluster="row")
                    yield {"config": one.config, "source": "own", "k": int(k), **compared}


def _record(pair: Mapping[str, Any], comparisons: int) -> dict[str, Value]:
    """A row of the frame; the smallest differences are those of one comparison alone, and of the strictest of so many."""
    low, high = pair["interval"] or (None, None)
    row: dict[str, Value] = {name: pair[name] for name in ("config", "source", "k", "n")}
    sides = zip(("first", "second"), pair["runs"], pair["means"], pair["n_failed"], strict=True)
    for side, label, success, failed in sides:
        row |= {f"label_{side}": label, f"success_{side}": success, f"n_failed_{side}": failed}
    row |= {"difference": pair["difference"], "low": low, "high": high}
    row |= {"better": pair["wins"], "equal": pair["ties"], "worse": pair["losses"]}
    row |= {"p": pair["p"], "p_holm": pair["p_holm"]}
    for name, number in zip(_SMALLEST, (1, comparisons), strict=True):
        row[name] = smallest_difference_of_rates(sum(pair["means"]) / 2, pair["n"], paired=True, alpha=ALPHA / number)
    return row


def tokens_and_cost(inputs: Inputs) -> Made:
    """Calls, tokens, seconds and cost of each run and stage (paper: Q3)."""
    rows = [
        row | {"cost_of_run": total(run.spent)}
        for run in inputs.runs
        for row in usage_rows({**run.about, "judge": str(run.judge) if run.judge else None}, run.spent)
    ]
    columns = [Column("run", lambda row: f"{row['label']} ({row['config']})", text=True), *USAGE_COLUMNS]
    notes = [
        "Storing and retrieving are what the memory system did, answering the reader, judging the judge. A dash stands for what "
        "is unknown. The tokens of papers leave out those inside the memory system and those of the judge.",
    ]
    if inputs.prices is None:
        notes.append("No file of prices was given, so that there is no cost.")
    else:
        cost: Shown = {f"cost in {inputs.prices.currency}": fixed("cost", 4), "of the run": fixed("cost_of_run", 4)}
        columns += columns_of(cost)
    title = "What the runs took, stage by stage: calls, tokens, seconds and cost"
    return exhibit("Tokens and cost", title, rows, columns, notes, needs="a run with its usage.json", sections="label")
