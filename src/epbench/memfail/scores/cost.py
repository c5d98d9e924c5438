"""What a run took: tokens, calls and seconds of storing beside those of reading, and their cost by a file of prices.

Paper: Sections 1 and 6 (Q3) name cost as one of the aims that trade off; the tokens that a system spends inside itself are
counted here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epbench.files.json_files import read_json
from epbench.files.typed import Number, fields
from epbench.models.load import is_model_name
from epbench.models.prices import Prices
from epbench.reports.exhibit import Column, Exhibit, fixed
from epbench.reports.tables import Table
from epbench.statistics.estimate import Value, framed

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
    seconds = usage.get("seconds")
    return Spent(calls, sent if known else None, received if known else None, 0, seconds, None, cost)


def _of_system(usage: Mapping[str, Any], model: str, embedder: str, baseline: bool, prices: Prices | None) -> Spent:
    """Of storing or retrieving. A baseline asks no model; what another system asks is known only if it was counted."""
    nothing = 0 if baseline else None
    sent, received = usage.get("tokens_in", nothing), usage.get("tokens_out", nothing)
    if usage.get("calls") and not sent and not received:  # the endpoint reports no usage
        sent = received = None
    embedding = usage.get("embedding_tokens") or 0
    cost = _cost(sent, received, model, prices)
    if cost is not None and embedding:
        of_embedding = _cost(embedding, 0, embedder, prices)
        cost = None if of_embedding is None else cost + of_embedding
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
    known = [stage.cost for stage in stages.values() if stage.cost is not None]
    return sum(known) if len(known) == len(stages) else None


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
    """The content of usage.json of a run.

    Raises:
        BadInput: There is none, or it holds something else.
    """
    return read_json(folder / "usage.json", _USAGE)
