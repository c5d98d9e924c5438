"""Tables about a training that do not depend on what was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.finetuning.curves import EPISODIC, title_of
from epbench.reports.tables import Table, cell

Record = Mapping[str, Any]


def epoch_name(epoch: int) -> str:
    """Return the number of an epoch, and for the first that the memory of a text is episodic then."""
    return f"{epoch}{' (episodic)' if epoch == EPISODIC else ''}"


def perplexity_table(epochs: Sequence[Record], notes: Sequence[str] = (), *, episodic: bool = True) -> Table:
    """What remembering costs: a row for each measured epoch, with the perplexity of trained and of other texts.

    Args:
        epochs: By epoch, its number `epoch` and the `perplexity` of each text by name; None where there is none.
        notes: Sentences below the table.
        episodic: Whether the memory is episodic after the first epoch, as in `epbench.finetuning.curves.curves`.
    """
    shown = epoch_name if episodic else str
    names = list(dict.fromkeys(name for record in epochs for name in record["perplexity"]))
    rows = [
        [shown(record["epoch"]), *(_perplexity(record["perplexity"].get(name)) for name in names)] for record in epochs
    ]
    return Table(["epoch", *map(title_of, names)], rows, "Perplexity", notes)


def training_table(method: str, training: Record) -> Table:
    """What training took.

    Args:
        method: How the weights were trained, such as `all weights`.
        training: What `training_summary` has added up.
    """
    told = {"method": method}
    told |= {name: f"{training[name]:,}" for name in ("steps", "tokens", "learned")}
    told["tokens a second"] = "–" if training["tokens_per_second"] is None else f"{training['tokens_per_second']:,.0f}"
    told["MFU"] = "not measured" if training["mfu"] is None else f"{training['mfu']:.1%}"
    if training["mfu_causal"] is not None:
        told["MFU, causal attention"] = f"{training['mfu_causal']:.1%}"
    told["loss, first and last epoch"] = f"{cell(training['first_loss'])}, {cell(training['last_loss'])}"
    return Table([], list(told.items()), "Training", text_columns=2)


def _perplexity(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
