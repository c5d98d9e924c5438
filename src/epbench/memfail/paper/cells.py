"""The scores of one system on one config at one k, own and reported alike: what every figure is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epbench.exhibits.exhibit import Source, Value, marked
from epbench.memfail.dataset.types import CONFIGS
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import CEILINGS, FLOOR
from epbench.reports.tables import interval_cell
from epbench.statistics.intervals import wilson

TITLES: Mapping[str, str] = {
    "conditional_facts_easy": "Conditional facts, easy",
    "conditional_facts_hard": "Conditional facts, hard",
    "coexisting_facts": "Coexisting facts",
    "persona_retrieval": "Persona retrieval",
    "long_hop": "Long hop",
}
"""What a config is called above a panel."""

LOST = (
    "A range is shown where questions failed: from all of them wrong to all of them right; they are neither. Figures draw the "
    "rate of the others, with an interval that is as much wider."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A system on a config at one k.

    Attributes:
        config: One of `CONFIGS`.
        label: The name of the system's runs, with a mark where they are not one's own.
        source: Where the numbers come from.
        system: The memory system.
        system_model: The model inside it; empty for none.
        model: Who answered; empty where it is not known.
        baseline: Whether it is a baseline.
        k: Number of memories that were asked for.
        scores: As in by_k of scores.json.
    """

    config: str
    label: str
    source: Source
    system: str
    system_model: str
    model: str
    baseline: bool
    k: int
    scores: Mapping[str, Any]

    @property
    def failed(self) -> int:
        """The number of questions that failed."""
        return int(self.scores.get("failed") or 0)

    @property
    def judged(self) -> int:
        """The number of questions that did not fail."""
        return int(self.scores["n"]) - self.failed

    @property
    def success(self) -> float | None:
        """The success rate over the questions that did not fail; None if all failed."""
        rate = self.scores.get("success_rate")
        return None if rate is None else float(rate)

    @property
    def right(self) -> int:
        """The number of successes."""
        return round((self.success or 0.0) * self.judged)

    @property
    def drawn_interval(self) -> tuple[float, float] | None:
        """The interval that figures draw: it is wide enough for failed questions to be all wrong or all right."""
        n = int(self.scores["n"])
        low, high = wilson(self.right, n), wilson(self.right + self.failed, n)
        return (low[0], high[1]) if low and high and self.success is not None else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the success rate, by Wilson."""
        return wilson(self.right, self.judged)

    def about(self) -> dict[str, Value]:
        """The first columns of every record."""
        return {
            "config": self.config, "label": self.label, "source": self.source, "system": self.system,
            "system_model": self.system_model or None, "model": self.model or None, "k": self.k,
        }  # fmt: skip

    def record(self) -> dict[str, Value]:
        """The numbers as data; a rate over a part of the questions has n_failed beside it."""
        low, high = self.interval or (None, None)
        more: dict[str, Value] = {name: self.scores.get(name) for name in (*ERRORS, *_MORE)}
        return {
            **self.about(), "n": int(self.scores["n"]), "n_failed": self.failed, "n_right": self.right,
            "success": self.success, "low": low, "high": high, **more,
        }  # fmt: skip

    def text(self, *, interval: bool = True) -> str:
        """The success rate for people; a range where questions failed, a dash if all did."""
        share = share_text(self.right, self.judged, self.failed)
        plain = interval and self.judged and not self.failed
        return f"{share} ({interval_cell(self.interval, digits=2)})" if plain else share


def share_text(right: int, n: int, failed: int) -> str:
    """A share for people; a range where questions failed, a dash if there is none that did not.

    Args:
        right: The number of questions that count.
        n: The number of questions that did not fail.
        failed: The number of those that did.
    """
    if not n:
        return "–"
    if failed:
        return f"{right / (n + failed):.3f} to {(right + failed) / (n + failed):.3f}"
    return f"{right / n:.3f}"


_MORE = (
    "success_earned", "vacuous", "vacuous_wrong", "answer_accuracy", "memories", "words_per_memory", "tokens_per_memory",
    "tokens_per_question",
)  # fmt: skip


def cells_of(inputs: Inputs) -> list[Cell]:
    """All cells: config by config, the run without memory first, then own systems, reported ones, and baselines."""
    found = [
        Cell(run.config, marked(run.label, run.source), run.source, run.system, run.system_model, run.model, run.baseline,
             int(k), scores)
        for run in inputs.runs
        for k, scores in run.scores["by_k"].items()
    ]  # fmt: skip
    for rates in inputs.reported.values():
        label = marked(f"{rates['system']}, {rates['system_model']}", "reported")
        found += [
            Cell(rates["config"], label, "reported", rates["system"], rates["system_model"], "", False, int(k), scores)
            for k, scores in rates["by_k"].items()
        ]
    return sorted(found, key=_place)


def _place(cell: Cell) -> tuple[int, int, int]:
    order = 0 if cell.system == FLOOR else 2 if cell.source != "own" else 3 if cell.baseline else 1
    order = 4 if cell.system in CEILINGS else order
    return CONFIGS.index(cell.config), order, 0


def labels_in(cells: Iterable[Cell]) -> list[str]:
    """The labels of some cells, each once, in their order."""
    return list(dict.fromkeys(cell.label for cell in cells))


def configs_in(cells: Iterable[Cell]) -> list[str]:
    """The configs of some cells, in the order of the paper's datasets."""
    there_are = {cell.config for cell in cells}
    return [config for config in CONFIGS if config in there_are]


def ks_in(cells: Iterable[Cell]) -> list[int]:
    """The numbers of memories of some cells, in ascending order."""
    return sorted({cell.k for cell in cells})


def by_k_rows(cells: Sequence[Cell], interval: bool = True) -> tuple[list[str], list[list[str]]]:
    """The success rates with a row for each config and system and a column for each k: the titles and the rows."""
    ks = ks_in(cells)
    at = {(cell.config, cell.label, cell.k): cell for cell in cells}
    places = dict.fromkeys((cell.config, cell.label) for cell in cells)
    rows = [
        [config, label, *(at[config, label, k].text(interval=interval) if (config, label, k) in at else "" for k in ks)]
        for config, label in places
    ]
    return ["config", "system", *(f"k = {k}" for k in ks)], rows
