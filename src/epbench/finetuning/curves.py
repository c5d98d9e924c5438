"""What all trainings show: what was remembered and forgotten epoch by epoch in one figure, tables, and the page around both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from epbench.reports.figures import colour_of, drawing, error_bars, figure_html, plain_numbers
from epbench.reports.page import how_it_was_run, page, pairs, warning_paragraphs
from epbench.reports.tables import Table, cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes


EPISODIC = 1  # the only epoch after which a memory is episodic: every text has been seen once (Appendix F)
_ONCE = " Only after epoch 1 (dashed line) is the memory episodic: every text has been seen once."


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a figure: one value for each measured epoch."""

    label: str  # what it is, for the legend
    values: Sequence[float | None]  # the values; None where there is none
    # A 95 % interval, or None, for each value; empty for a line without error bars.
    intervals: Sequence[Sequence[float] | None] = ()


def curves(
    epochs: Sequence[int],
    remembered: Sequence[Series],
    perplexities: Sequence[Mapping[str, float | None]],
    *,
    chance: float | None = None,
    episodic: bool = True,
) -> str:
    """Draw two panels, as an HTML figure: scores (0 to 1) by epoch on the left, perplexities by epoch on the right.

    Epoch 0 is the model before training. The perplexity of texts that were never trained shows what remembering costs. A
    line marks the first epoch if the memory is `episodic` after it, as that of a text is which was read once.
    """
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        costs = [
            Series(name.replace("_", " "), [perplexity.get(name) for perplexity in perplexities])
            for name in perplexities[0]
        ]
        for axes, lines in ((left, remembered), (right, costs)):
            _draw(axes, epochs, lines)
            if episodic and EPISODIC in epochs:
                axes.axvline(EPISODIC, color="#999", linewidth=1, linestyle="--")
        left.set(title="what is remembered", ylabel="score", ylim=(0, 1.02))
        if chance is not None:
            left.axhline(chance, color="#999", linewidth=1, linestyle=":")
        right.set(title="what it costs", ylabel="perplexity (logarithmic)", yscale="log")
        plain_numbers(right.yaxis)
        return figure_html(
            figure,
            f"Epochs to remember, cost to forget. Epoch 0 is the model before training.{_ONCE if episodic else ''} Bars: "
            "95 % intervals.",
        )


def _draw(axes: Axes, epochs: Sequence[int], lines: Sequence[Series]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("epoch")
    if len(epochs) < 16:
        axes.set_xticks(list(epochs))
    for number, line in enumerate(lines):
        values = [float("nan") if value is None else value for value in line.values]
        axes.plot(list(epochs), values, marker="o", markersize=4, color=colour_of(number), label=line.label)
        if line.intervals:
            error_bars(axes, list(epochs), values, line.intervals, colour_of(number))
    if lines:
        axes.legend(frameon=False, fontsize=8)


def training_summary(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the records of training.jsonl.

    Returns:
        steps; tokens (all of them, in all epochs) and learned (those that were learned); seconds in steps, without
        measuring and writing; tokens_per_second; mfu and mfu_causal, weighted by time, or None where they are unknown;
        first_loss and last_loss, the means of the first and the last epoch in nats a token.
    """
    seconds = sum(step["seconds"] for step in steps)
    tokens = sum(step["tokens"] for step in steps)
    epochs = sorted({step["epoch"] for step in steps})

    def loss(epoch: int) -> float:
        of_epoch = [step for step in steps if step["epoch"] == epoch]
        return float(sum(s["loss"] * s["learned"] for s in of_epoch) / sum(s["learned"] for s in of_epoch))

    def weighted(name: str) -> float | None:
        values = [(step[name], step["seconds"]) for step in steps if step.get(name) is not None]
        return sum(value * weight for value, weight in values) / sum(w for _, w in values) if values else None

    return {
        "steps": len(steps),
        "tokens": tokens,
        "learned": sum(step["learned"] for step in steps),
        "seconds": round(seconds, 3),
        "tokens_per_second": round(tokens / seconds, 1) if seconds else None,
        "mfu": weighted("mfu"),
        "mfu_causal": weighted("mfu_causal"),
        "first_loss": loss(epochs[0]) if epochs else None,
        "last_loss": loss(epochs[-1]) if epochs else None,
    }


Record = Mapping[str, Any]


def epoch_name(epoch: int) -> str:
    """Return the number of an epoch, and for the first that the memory of a text is episodic then."""
    return f"{epoch}{' (episodic)' if epoch == EPISODIC else ''}"


def perplexity_table(epochs: Sequence[Record], notes: Sequence[str] = (), *, episodic: bool = True) -> Table:
    """What remembering costs: a row for each measured epoch, with the perplexity of trained and of other texts."""
    shown = epoch_name if episodic else str
    names = list(dict.fromkeys(name for record in epochs for name in record["perplexity"]))
    rows = []
    for one in epochs:
        values = map(one["perplexity"].get, names)
        rows.append([shown(one["epoch"]), *("–" if value is None else f"{value:,.2f}" for value in values)])
    return Table(["epoch", *(name.replace("_", " ") for name in names)], rows, "Perplexity", notes)


def training_table(method: str, training: Record) -> Table:
    """What training took, as `training_summary` has added it up."""
    facts = {"method": method}
    facts |= {name: f"{training[name]:,}" for name in ("steps", "tokens", "learned")}
    facts["tokens a second"] = "–" if training["tokens_per_second"] is None else f"{training['tokens_per_second']:,.0f}"
    facts["MFU"] = "not measured" if training["mfu"] is None else f"{training['mfu']:.1%}"
    if training["mfu_causal"] is not None:
        facts["MFU, causal attention"] = f"{training['mfu_causal']:.1%}"
    facts["loss, first and last epoch"] = f"{cell(training['first_loss'])}, {cell(training['last_loss'])}"
    return Table([], list(facts.items()), "Training", text_columns=2)


def training_page(title: str, run: Mapping[str, Any], scores: Mapping[str, Any], shown: str) -> str:
    """Return the page of a training, with what was measured, `shown`, as HTML."""
    return page(
        f"Fine-tuning as memory: {title}",
        f"""{warning_paragraphs(scores["warnings"])}
{shown}
<h2>Training</h2>
{training_table(scores["method"], scores["training"]).html()}
{pairs({name: str(value) for name, value in run["identity"].items()})}
{how_it_was_run(run)}""",
    )
