"""All tables and figures of the paper in its order: Table 2, and what it leaves out, how systems differ and what runs took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from epbench.errors import BadInput, RunFailed
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import CONFIGS, Loaded
from epbench.memfail.paper import figures
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.paper.rows import ABOUT
from epbench.memfail.scores.comparison import judge_notes
from epbench.memfail.scores.cost import USAGE_COLUMNS, fixed, total, usage_rows
from epbench.models.estimate import cl100k_tokens
from epbench.reports.exhibit import Column, Exhibit, Missing, interval, marked
from epbench.reports.reported import ReportedRow, read_reported
from epbench.reports.tables import cell
from epbench.statistics.estimate import Value, framed
from epbench.statistics.paired import compare_outcomes, with_holm
from epbench.statistics.smallest_difference import ALPHA, smallest_difference_of_rates

_TITLE = "Differences in success between any two systems, config by config and k by k"
_ABOUT_PAIR = ("config", "source", "k", "n")
_OUTCOMES = {"better": "wins", "equal": "ties", "worse": "losses"}
_SMALLEST = ("smallest_difference", "smallest_difference_corrected")
_NUMBERS = ("rows", "questions", "tokens", "facts", "yes", "no", "condition_types", "misleading")
_SHARES = ("tokens", "misleading")  # the others are counts
_LETTERS = {"coexisting_facts": "N", "long_hop": "K"}
_ROWS_NOTES = (
    "Tokens are the mean over the rows of all stored texts and questions of a row, options included, in the encoding "
    "cl100k_base.",
    "The rows marked (reported) are those of Garg et al., MemFail (2026), Table 2, with the model that wrote the rows.",
)


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Make what can be made; of the rest, say what it needs.

    Args:
        inputs: What is given; everything in it may be empty.

    Returns:
        Table 2 and Figures 1 to 9; then what the paper leaves out: the differences between systems, success by the number
        of facts and of hops, and tokens and cost.
    """
    return [
        table_2(inputs),
        figures.figure_1(inputs),
        figures.beside_success(inputs),
        figures.figure_2(inputs),
        *figures.figure_3(inputs),
        figures.figure_4(inputs),
        figures.figure_5(inputs),
        *figures.figures_6_to_9(inputs),
        differences(inputs),
        *figures.scaling(inputs),
        tokens_and_cost(inputs),
    ]


def table_2(inputs: Inputs) -> Exhibit:
    """The statistics of the given datasets, beside those of the paper; without a dataset, those of the paper alone."""
    count, problem = _tokenizer() if inputs.datasets else (None, "")
    given = [(name, loaded) for name, configs in inputs.datasets.items() for loaded in configs]
    records = [record for name, loaded in given for record in _records_of_rows(name, loaded, count)]
    records += map(_reported_rows, read_reported(packaged("epbench.memfail", "reported_rows.json"), "memfail"))
    records.sort(key=lambda record: (CONFIGS.index(str(record["config"])), str(record["size"])))
    notes = [*_ROWS_NOTES, *([problem] if problem else [])]
    notes += [] if inputs.datasets else ["No dataset was given, so that only the paper's rows are shown."]
    columns = [
        Column("config", "config", text=True),
        Column("rows of", _whose, text=True),
        Column("size", "size", text=True),
        Column("rows", "rows"),
        Column("questions", "questions"),
        Column("tokens per row", lambda row: "–" if row["tokens"] is None else f"{row['tokens']:.0f}"),
        Column("facts", "facts"),
        Column("other", _other),
    ]
    title = "Statistics of the rows of each config"
    return Exhibit("Table 2", title, framed(records), columns, notes, sections="config")


def _tokenizer() -> tuple[Callable[[str], int] | None, str]:
    try:
        return cl100k_tokens(), ""
    except BadInput as error:
        return None, f"Tokens were not counted: {error}."


def _records_of_rows(dataset: str, loaded: Loaded, count: Callable[[str], int] | None) -> Iterator[dict[str, Value]]:
    """A record for each size of the rows, or one for all."""
    letter, groups = _LETTERS.get(loaded.config), defaultdict(set)
    size = {question.row: question.group for question in loaded.questions}
    for row in loaded.rows:
        groups[f"{letter} = {size[row['id']]}" if letter else ""].add(row["id"])
    for name, ids in sorted(groups.items()):
        about = {"config": loaded.config, "label": dataset, "source": "own", "generator": None, "size": name}
        yield {**about, **_numbers_of_rows(loaded, ids, count)}


def _numbers_of_rows(loaded: Loaded, ids: set[str], count: Callable[[str], int] | None) -> dict[str, Value]:
    facts = [fact for fact in loaded.facts if fact.row in ids]
    questions = [question for question in loaded.questions if question.row in ids]
    texts = [fact.text for fact in facts] + [question.text for question in questions]
    met = [question.about["condition_met"] for question in questions if "condition_met" in question.about]
    types = {question.about["condition_type"] for question in questions if "condition_type" in question.about}
    kinds = [question.kind for question in questions if question.kind]
    tokens = sum(map(count, texts)) / len(ids) if count else None
    conditions = (met.count("yes"), met.count("no"), len(types)) if met else (None, None, None)
    misleading = kinds.count("misleading") / len(kinds) if kinds else None
    return dict(zip(_NUMBERS, (len(ids), len(questions), tokens, len(facts), *conditions, misleading), strict=True))


def _reported_rows(row: ReportedRow) -> dict[str, Value]:
    about = {"config": row.dataset, "label": "paper", "source": "reported", "generator": row.model, "size": row.memory}
    known = {name: value if name in _SHARES else int(value) for name, value in row.scores.items()}
    return {**about, **{name: known.get(name) for name in _NUMBERS}}


def _whose(row: Mapping[str, Any]) -> str:
    return marked(row["label"] + (f", by {row['generator']}" if row["generator"] else ""), row["source"])


def _other(row: Mapping[str, Any]) -> str:
    other = []
    if row["yes"] is not None:
        other += [f"{row['yes']} yes, {row['no']} no", f"{row['condition_types']} condition types"]
    if row["misleading"] is not None:
        other.append(f"{row['misleading']:.1%} misleading")
    return "; ".join(other)


def differences(inputs: Inputs) -> Exhibit | Missing:
    """Every two runs of one config with one judge, at every k that both have."""
    pairs = with_holm(_pairs(inputs.runs))
    if not pairs:
        needs = "two runs of one config with one judge and one k; reported rates have no answers to compare"
        return Missing("Differences", _TITLE, needs)
    columns = [
        Column("config", "config", text=True),
        Column("systems", lambda row: f"{row['label_first']} / {row['label_second']}", text=True),
        Column("k", "k"),
        Column("n", "n"),
        Column("success", lambda row: f"{row['success_first']:.3f} / {row['success_second']:.3f}"),
        Column("difference (95 %)", _difference),
        Column("better / equal / worse", lambda row: f"{row['better']} / {row['equal']} / {row['worse']}"),
        Column("p", lambda row: f"{row['p']:.3g}"),
        Column("p (Holm)", lambda row: f"{row['p_holm']:.3g}"),
        Column("different", lambda row: "yes" if row["p_holm"] < ALPHA else "not shown"),
        Column("smallest difference: alone / corrected", lambda row: " / ".join(map(cell, map(row.get, _SMALLEST)))),
    ]
    frame = framed(_record(pair, len(pairs)) for pair in pairs)
    notes = [*_notes(pairs), *judge_notes(run.judge for run in inputs.runs)]
    return Exhibit("Differences", _TITLE, frame, columns, notes, sections="config")


def _difference(row: Mapping[str, Any]) -> str:
    return f"{row['difference']:+.3f} ({interval('low', 'high', 2)(row).replace('–', ' to ')})"


def _pairs(runs: Sequence[PaperRun]) -> list[dict[str, Any]]:
    """What `compare_outcomes` returns for each two runs and k, with config, k and source."""
    found = []
    for config in CONFIGS:
        for one, other in combinations([run for run in runs if run.config == config], 2):
            about = {"config": config, "source": " / ".join(dict.fromkeys((one.source, other.source)))}
            for k in sorted({*one.questions["k"]} & {*other.questions["k"]}) if one.judge == other.judge else ():
                with suppress(RunFailed):  # no question was answered and judged in both
                    compared = compare_outcomes((one.name, other.name), [one.at(k), other.at(k)], cluster="row")
                    found.append({**about, "k": int(k), **compared})
    return found


def _record(pair: Mapping[str, Any], comparisons: int) -> dict[str, Value]:
    """A row of the frame; the smallest differences are those of one comparison alone, and of the strictest of so many."""
    low, high = pair["interval"] or (None, None)
    rate = sum(pair["means"]) / 2
    sides = {
        f"{name}_{side}": pair[key][number]
        for number, side in enumerate(("first", "second"))
        for name, key in (("label", "runs"), ("success", "means"), ("n_failed", "n_failed"))
    }
    smallest = {
        name: smallest_difference_of_rates(rate, pair["n"], paired=True, alpha=ALPHA / number)
        for name, number in zip(_SMALLEST, (1, comparisons), strict=True)
    }
    about, outcomes = {name: pair[name] for name in _ABOUT_PAIR}, {title: pair[key] for title, key in _OUTCOMES.items()}
    ends = {"difference": pair["difference"], "low": low, "high": high}
    return {**about, **sides, **ends, **outcomes, "p": pair["p"], "p_holm": pair["p_holm"], **smallest}


def _notes(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    lost = sum(any(pair["n_failed"]) or pair["n_one_sided"] > 0 for pair in pairs)
    notes = [
        f"Test: McNemar's exact test on the questions that both runs answered; correction: Holm over all {len(pairs)} "
        f"comparisons of this table. The intervals draw whole rows with replacement (bootstrap, 95 %). A difference is the "
        f"first system minus the second.",
        "“Not shown” does not mean equal: the last column is the smallest difference of two rates around their mean that so "
        "many questions show with 80 % power, for one comparison alone (5 %) and at the strictest level of the correction. It "
        "takes the outcomes of both as independent, which is the worst case: where systems pass the same questions, smaller "
        "differences show.",
        "Vacuous passes count as successes, as in the paper.",
    ]
    if lost:
        notes.append(
            f"In {lost} comparisons questions that failed in one of the runs are left out; n says what remains."
        )
    return notes


def tokens_and_cost(inputs: Inputs) -> Exhibit | Missing:
    """Calls, tokens, seconds and cost of each run and stage (paper: Q3)."""
    title = "What the runs took, stage by stage: calls, tokens, seconds and cost"
    runs = [run for run in inputs.runs if run.spent]
    if not runs:
        return Missing("Tokens and cost", title, "a run with its usage.json")
    rows = []
    for run in runs:
        of = (run.config, run.name, run.source, run.system, run.system_model or None, run.model or None)
        about = dict(zip(ABOUT, of, strict=False)) | {"judge": None if run.judge is None else str(run.judge)}
        rows += [row | {"cost_of_run": total(run.spent)} for row in usage_rows(about, run.spent)]
    columns = [Column("run", lambda row: f"{row['label']} ({row['config']})", text=True), *USAGE_COLUMNS]
    notes = [
        "Storing and retrieving are what the memory system did, answering the reader, judging the judge. A dash stands for what "
        "is unknown. The tokens of papers leave out those inside the memory system and those of the judge.",
    ]
    if inputs.prices is None:
        notes.append("No file of prices was given, so that there is no cost.")
    else:
        columns += [Column(f"cost in {inputs.prices.currency}", fixed("cost", 4))]
        columns += [Column("of the run", fixed("cost_of_run", 4))]
    return Exhibit("Tokens and cost", title, framed(rows), columns, notes, sections="label")
