"""Runs of MemFail in tables: success, plain accuracy, and what each stage lost; baselines beside systems; and what runs took.

Every table of scores has a floor, which is computed from the questions: what an empty store scores by itself. A run without
memory stands beside it. What is below the floor is marked, and for that the run without memory counts, if there is one.

Paper: Sections 1 and 6 (Q3) name cost as one of the aims that trade off. Beside tokens, calls and seconds of reading stand
those of storing, which a system spends inside itself; a file of prices says what all of it cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.files.json_files import read_json
from epbench.files.typed import Number, fields
from epbench.memfail.judging.diagnosis import ERRORS, REVISED
from epbench.models.estimate import Prices
from epbench.models.load import is_model_name
from epbench.reports.exhibit import Column, Exhibit, fixed
from epbench.reports.tables import Runs, Scores, Table, cell, in_markdown, interval_cell, on_screen, warnings_of
from epbench.statistics.estimate import Value, framed

if TYPE_CHECKING:
    from rich.console import Group

COMMONEST = "commonest_answer"  # the field of scores.json with what a reader answers most often
FLOOR = "none"
CEILINGS = ("full-context", "oracle")
_PREFERRED, _FEWEST = 0.8, 10  # the share of one answer, and the number of answers, from which a reader prefers it


def with_baseline(scores: Scores, run: Mapping[str, Any]) -> dict[str, Any]:
    """Add `baseline`, which is `control` of the identity in run.json, to the content of scores.json, for tables and reports."""
    baseline = run["identity"].get("control")
    return dict(scores) if baseline is None else {**scores, "baseline": baseline}


def is_baseline(scores: Scores) -> bool:
    """Whether a run shows what is possible, rather than what a memory system does.

    Where no run.json says so, as for reported rates, the name of the system decides.
    """
    system = scores.get("system") or ""
    return bool(scores.get("baseline", system in (FLOOR, *CEILINGS) or system.startswith("verbatim-")))


def by_config(runs: Runs) -> dict[str, dict[str, Scores]]:
    """The runs of each config: the floor first, then the systems, then reported rates, and the ceilings last."""
    configs: dict[str, dict[str, Scores]] = {}
    for label, scores in sorted(runs.items(), key=lambda run: place(run[1])):
        of_config = configs.setdefault(scores["config"], {})
        short = label.removesuffix(f" ({scores['config']})")
        of_config[label if short in of_config else short] = scores
    return configs


def place(scores: Scores) -> int:
    """The place of a run among those of its config."""
    if scores.get("system") == FLOOR:
        return 0
    if scores.get("reported"):
        return 2
    return 3 if is_baseline(scores) else 1


def floor_of_runs(runs: Runs, k: str, score: str) -> float | None:
    """A score of a run of one config without memory: measured at this k, else at any k, else computed from the questions."""
    without = [scores["by_k"] for scores in runs.values() if scores.get("system") == FLOOR]
    floors = [(by_k.get(k) or next(iter(by_k.values()))) for by_k in without]
    floors += [scores["floor"] for scores in runs.values() if "floor" in scores and not without]
    value: float | None = floors[0][score] if floors else None
    return value


def note(runs: Runs, scores: Scores, k: str) -> str:
    """What is special about a row: `baseline`, `reported`, whether it is below the floor, and if most answers are the same."""
    words = [word for word, yes in (("baseline", is_baseline(scores)), ("reported", scores.get("reported"))) if yes]
    for score, word in (("success_rate", "below floor"), ("answer_accuracy", "answers below floor")):
        value, floor = scores["by_k"][k].get(score), floor_of_runs(runs, k, score)
        if scores.get("system") != FLOOR and value is not None and floor is not None and value < floor:
            words.append(word)
    commonest = scores.get(COMMONEST, {}).get(k)
    if commonest and commonest["share"] >= _PREFERRED and commonest["n"] >= _FEWEST:
        words.append(f"{commonest['share']:.0%} say {commonest['answer']}")
    return ", ".join(words)


COUNTED = ("success_rate", *ERRORS)  # the rates that add up to all questions that did not fail
_VACUOUS = {"success_earned": "earned", "vacuous": "vacuous", "vacuous_wrong": "vacuous, wrong"}
_REVISED = {name: name.replace("_", " ") for name in (*REVISED, "rows_right")}
_TITLES = {"success_rate": "success", "success_earned": "earned", "answer_accuracy": "answers right"}
_TITLES |= {error: error.removesuffix("_error") for error in ERRORS} | _VACUOUS | {"failed": "failed"}


def _main_table(config: str, runs: Runs) -> Table:
    """A row for each run and k, after that of the computed floor; the runs are those of one config."""
    with_vacuous = any(scores.get("vacuous") for _, _, scores in _lines(runs))
    shown = {name: title for name, title in _TITLES.items() if with_vacuous or name not in _VACUOUS}
    head = [config, "k", *shown.values(), "words/memory", "note"]
    lines = []
    if floor := next((scores["floor"] for scores in runs.values() if "floor" in scores), None):
        rates = {"success": cell(float(floor["success_rate"])), "answers right": cell(floor["answer_accuracy"])}
        lines.append({config: "floor", "note": "computed", **rates})
    for label, k, scores in _lines(runs):
        line = {title: cell(scores.get(name)) for name, title in shown.items()}
        line["success"] = _with_interval(scores, "success_rate")
        words = scores.get("words_per_memory")
        about = {config: label, "k": k, "note": note(runs, runs[label], k)}
        lines.append({**line, **about, "words/memory": "–" if words is None else f"{words:.1f}"})
    return Table(head, [[line.get(title, "–") for title in head] for line in lines])


def _with_interval(scores: Scores, name: str) -> str:
    interval = scores.get("intervals", {}).get(name)
    return cell(scores.get(name)) + (f" ({interval_cell(interval, digits=2)})" if interval else "")


def judged(scores: Scores) -> int:
    """The number of questions that a cell of by_k is about, without those that failed."""
    return int(scores["n"] - scores.get("failed", 0))


def count_of(scores: Scores, name: str) -> int | None:
    """How many questions a rate stands for, such as `storage_error`; None where the cell does not have it."""
    rate = scores.get(name)
    return None if rate is None else round(rate * judged(scores))


def breakdown_tables(runs: Runs) -> list[Table]:
    """For each config what became of the questions in numbers (paper: Figures 6 to 9), and the tokens that a question took."""
    breakdowns = []
    for config, of_config in by_config(runs).items():
        rows = []
        revised = [name for name in REVISED if any(name in scores for _, _, scores in _lines(of_config))]
        counted = (*COUNTED, *revised)
        for label, k, scores in _lines(of_config):
            counts, tokens = [count_of(scores, name) for name in counted], scores.get("tokens_per_question")
            if tokens is not None or any(count is not None for count in counts[1:]):
                shown = [cell(count) for count in (judged(scores), *counts)]
                rows.append([label, k, *shown, "–" if tokens is None else f"{tokens:,.0f}"])
        titles = [{**_TITLES, **_REVISED}[error] for error in counted[1:]]
        head = [f"{config}: questions by stage", "k", "n", "correct", *titles, "tokens/question"]
        breakdowns += [Table(head, rows)] if rows else []
    return breakdowns


def _revised_table(config: str, runs: Runs) -> Table | None:
    """What a system did with facts that were corrected or withdrawn; None for configs without such facts."""
    rows = [
        [label, k, *(_with_interval(scores, name) for name in _REVISED)]
        for label, k, scores in _lines(runs)
        if any(name in scores for name in _REVISED)
    ]
    return Table([f"{config}: corrected or withdrawn", "k", *_REVISED.values()], rows) if rows else None


def _group_table(config: str, runs: Runs) -> Table | None:
    """Success by group (number of preferences, of hops, or kind of question); None if there are no groups."""
    lines = [(label, k, scores["by_group"]) for label, k, scores in _lines(runs) if scores.get("by_group")]
    sizes = {group: scores["n"] for _, _, by_group in lines for group, scores in by_group.items()}
    head = [f"{config}: success by group", "k", *(f"{group} ({sizes[group]})" for group in sorted(sizes))]
    rates = [[by_group.get(group, {}).get("success_rate") for group in sorted(sizes)] for *_, by_group in lines]
    rows = [[label, k, *map(cell, of_line)] for (label, k, _), of_line in zip(lines, rates, strict=True)]
    return Table(head, rows) if sizes else None


def _lines(runs: Runs) -> Iterator[tuple[str, str, Scores]]:
    return ((label, k, scores) for label, run in runs.items() for k, scores in run["by_k"].items())


def tables(runs: Runs) -> list[Table]:
    """All tables, config by config."""
    makers: list[Callable[[str, Runs], Table | None]] = [_main_table, _revised_table, _group_table]
    return [table for about in by_config(runs).items() for make in makers if (table := make(*about))]


def screen_tables(runs: Runs) -> Group:
    """The same for the screen: short titles, two digits, notes below the labels; some columns are only in the files."""
    return on_screen(_narrow(table) for table in tables(runs))


def _narrow(table: Table) -> Table:
    first, *others = table.head
    kept = [column for column, title in enumerate(table.head) if title in others and title not in _IN_FILES_ONLY]
    rows = []
    for row in table.rows:
        note_below = f"\n[{row[-1]}]" if table.head[-1] == "note" and row[-1] else ""
        numbers = (re.sub(r"^\d\.\d{3}", lambda rate: f"{float(rate[0]):.2f}", row[column]) for column in kept)
        rows.append([row[0] + note_below, *numbers])
    return Table(["run", *(_SHORT.get(table.head[column], table.head[column]) for column in kept)], rows, title=first)


_IN_FILES_ONLY = ("note", "words/memory", "earned", "failed", "vacuous, wrong")
_SHORT = {"answers right": "right", "vacuous": "vac."}
_SHORT |= {stage: f"{stage[:4]}." for stage in ("storage", "summary", "retrieval", "reasoning")}


def markdown_table(runs: Runs) -> str:
    """The same in Markdown, with the warnings of the runs."""
    return in_markdown(tables(runs), warnings_of(runs))


_STAGES = ("storing", "retrieving", "replying", "answering", "judging")
_COUNTED = "requests prefilled saved generated seconds calls retries tokens_in tokens_out embedding_tokens"
_USAGE = fields({}, dict.fromkeys(_STAGES, fields({}, dict.fromkeys(_COUNTED.split(), Number | None))))


@dataclass(frozen=True, slots=True)
class Spent:
    """What one stage of a run took; what is unknown is None."""

    calls: int | None  # requests to models
    tokens_in: int | None  # of their prompts
    tokens_out: int | None  # of their replies
    embedding: int  # tokens that were embedded
    seconds: float | None
    retries: int | None  # requests that repeat another
    cost: float | None  # in the currency of the prices


def spent(run: Mapping[str, Any], usage: Mapping[str, Any], prices: Prices | None = None) -> dict[str, Spent]:
    """What each stage of a run took, by the content of run.json and usage.json; without prices no cost is computed.

    The stages are storing, retrieving, replying (where the reader replied to what is stored), answering and judging.
    """
    identity = run["identity"]
    system, embedder, reader = (identity.get(name) or "" for name in ("system_model", "embedder", "model"))
    embedder = embedder.removeprefix("openai:")
    models = {"replying": reader, "answering": reader, "judging": run.get("judge", {}).get("name", "")}
    baseline = bool(identity.get("control"))
    return {
        stage: _of_model(usage.get(stage, {}), models[stage], prices)
        if stage in models
        else _of_system(usage.get(stage, {}), system, embedder, baseline, prices)
        for stage in _STAGES
        if stage in usage or stage != "replying"
    }


def _of_model(usage: Mapping[str, Any], model: str, prices: Prices | None) -> Spent:
    """Of answering or judging. An endpoint that reports no usage leaves the tokens unknown; rules take none."""
    calls = usage.get("requests")
    sent, received = usage.get("prefilled", 0) + usage.get("saved", 0), usage.get("generated", 0)
    by_rules = not is_model_name(model)
    known = bool(sent or received or by_rules or calls == 0)
    cost = 0.0 if by_rules and prices else _cost(sent, received, model, prices) if known else None
    return Spent(calls, sent if known else None, received if known else None, 0, usage.get("seconds"), None, cost)


def _of_system(usage: Mapping[str, Any], model: str, embedder: str, baseline: bool, prices: Prices | None) -> Spent:
    """Of storing or retrieving. A baseline asks no model; what another system asks is known only if it was counted."""
    nothing = 0 if baseline else None
    sent, received = usage.get("tokens_in", nothing), usage.get("tokens_out", nothing)
    if usage.get("calls") and not sent and not received:  # the endpoint reports no usage
        sent = received = None
    embedding = usage.get("embedding_tokens") or 0
    cost = _sum([_cost(sent, received, model, prices), _cost(embedding, 0, embedder, prices)])
    calls, retries = (usage.get(name, nothing) for name in ("calls", "retries"))
    return Spent(calls, sent, received, embedding, usage.get("seconds"), retries, cost)


def _cost(sent: int | None, received: int | None, model: str, prices: Prices | None) -> float | None:
    if prices is None or sent is None or received is None:
        return None
    if not sent and not received:
        return 0.0
    price = prices.of(model)
    return None if price is None else price.cost_of(sent, received)


def total(stages: Mapping[str, Spent]) -> float | None:
    """The cost of all stages; None if that of one is unknown."""
    return _sum([stage.cost for stage in stages.values()])


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def cost_tables(runs: Mapping[str, Mapping[str, Spent]], prices: Prices | None) -> list[Table]:
    """Tokens, calls and seconds of each run (see `spent`), and with prices what each run cost, stage by stage."""
    rows = [row for label, run in runs.items() for row in usage_rows({"label": label}, run)]
    tables = [Exhibit("", "", framed(rows), [Column("usage", "label", text=True), *USAGE_COLUMNS]).table]
    if prices:
        stages = [stage for stage in _STAGES if any(stage in run for run in runs.values())]
        body = [
            [label, *(_money(run[stage].cost) if stage in run else "" for stage in stages), _money(total(run))]
            for label, run in runs.items()
        ]
        note = "A dash stands for what is unknown: a model has no price in the file, or its tokens were not counted."
        tables.append(Table([f"cost in {prices.currency}", *stages, "in all"], body, notes=[note]))
    return tables


def usage_rows(about: Mapping[str, Value], run: Mapping[str, Spent]) -> list[dict[str, Value]]:
    """A row for each stage of a run, after the columns that say which run it is."""
    return [{**about, "stage": stage, **asdict(of_stage)} for stage, of_stage in run.items()]


USAGE_COLUMNS = (
    Column("stage", "stage", text=True),
    Column("calls", "calls"),
    Column("retries", "retries"),
    Column("tokens in", "tokens_in"),
    Column("tokens out", "tokens_out"),
    Column("embedded", "embedding"),
    Column("seconds", fixed("seconds", 1)),
)
"""How people see what a stage took."""


def _money(cost: float | None) -> str:
    return "–" if cost is None else f"{cost:,.4f}"


def usage_of(folder: Path) -> dict[str, Any]:
    """The content of usage.json of a run."""
    return read_json(folder / "usage.json", _USAGE)
