"""A run's report: one HTML file that needs nothing else, with F1 by bin as a picture."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.tulving.questions import BINS
from epbench.tulving.scoring import Judged, question_f1
from epbench.tulving.templates import CUES

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .25rem .7rem; border-bottom: 1px solid #ddd; }
td + td, th + th { text-align: right; } figure { margin: 1rem 0; } figcaption { color: #555; font-size: .9rem; }
svg { max-width: 100%; height: auto; } code { background: #f4f4f4; padding: 0 .2rem; }
"""


def html_report(
    title: str, run: Mapping[str, Any], scores: Mapping[str, Any], rows: Sequence[Judged], account: Mapping[str, Any]
) -> str:
    """The page of one run.

    Args:
        title: name of the run.
        run: content of run.json.
        scores: content of scores.json.
        rows: the judged answers, for the table by cue.
        account: content of account.json.
    """
    return _page(
        f"{run['book']}: {title}",
        f"""{_pairs(run["identity"])}
{_picture({title: scores})}
<h2>Scores</h2>
{_scores(scores)}
<h2>By cue</h2>
<p>Mean F1 of all questions, by the given elements (t time, s space, e entity, c content) and the number of matching
chapters; in brackets the number of questions.</p>
{_by_cue(rows)}
<h2>Tokens and failures</h2>
{_pairs({name: value for name, value in account.items() if name != "failed"})}
{_failures(account["failed"])}
<h2>How it was run</h2>
<p><code>{html.escape(run["command"])}</code></p>
{_pairs({"python": run["python"], "platform": run["platform"], **run["versions"]})}""",
    )


def comparison_report(book: str, runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of several runs on one book: scores by the run's name."""
    body = [[name, *(_cell(scores[key]) for key in _NAMES)] for name, scores in runs.items()]
    return _page(f"{book}: {len(runs)} runs", f"{_picture(runs)}\n<h2>Scores</h2>\n{_table(['run', *_NAMES], body)}")


def _page(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
{body}
</body></html>
"""


def _picture(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """Bars of F1 by bin, the runs side by side, with their intervals."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    first = next(iter(runs.values()))
    bins = [bin_ for bin_ in BINS if bin_ in first["f1_by_bin"]]
    width = 0.8 / len(runs)
    with rc_context({"svg.hashsalt": "epbench", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 3.5), layout="constrained")
        axes = figure.add_subplot()
        for i, (name, scores) in enumerate(runs.items()):
            means = [scores["f1_by_bin"].get(bin_, 0.0) for bin_ in bins]
            bounds = [scores["intervals"].get(f"f1_by_bin.{bin_}", [m, m]) for bin_, m in zip(bins, means, strict=True)]
            errors = [
                [max(0.0, mean - low) for mean, (low, _) in zip(means, bounds, strict=True)],
                [max(0.0, high - mean) for mean, (_, high) in zip(means, bounds, strict=True)],
            ]
            places = [place + (i - (len(runs) - 1) / 2) * width for place in range(len(bins))]
            axes.bar(
                places, means, width * 0.92, yerr=errors, capsize=3, color=_COLOURS[i % 8], ecolor="#222", label=name
            )
        axes.set_xticks(range(len(bins)), [f"{bin_}\n({first['n_by_bin'][bin_]})" for bin_ in bins])
        axes.set(ylim=(0, 1.05), xlabel="matching chapters (questions)", ylabel="mean F1")
        axes.spines[["top", "right"]].set_visible(False)
        if len(runs) > 1:
            figure.legend(loc="outside upper center", ncols=4, frameon=False)
        text = io.StringIO()
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    return f"<figure>{text.getvalue()[text.getvalue().index('<svg') :]}{_CAPTION}</figure>"


_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d")
_CAPTION = """<figcaption>Mean F1 by the number of chapters that match the cue (questions that ask for all matches),
with 95 % intervals that draw cues with replacement. Bin 0 asks for what never happened: an abstention is right.
</figcaption>"""
_NAMES = (
    "simple_recall_score", "latest", "all_matched", "kendall_tau", "chronological_awareness", "n_questions", "n_failed",
)  # fmt: skip


def _scores(scores: Mapping[str, Any]) -> str:
    rows = [[name, _cell(scores[name]), *map(_cell, scores["intervals"].get(name, ["", ""]))] for name in _NAMES]
    return _table(["score", "value", "from", "to"], rows)


def _by_cue(rows: Sequence[Judged]) -> str:
    cells: dict[tuple[str, str], list[float]] = {}
    for row, f1 in zip(rows, question_f1(rows), strict=True):
        cue = "".join(letter for letter, value in zip("tsec", row.cue, strict=True) if value is not None)
        cells.setdefault((cue, row.bin), []).append(f1)
    body = [
        [cue, *(f"{sum(v) / len(v):.2f} ({len(v)})" if (v := cells.get((cue, bin_))) else "" for bin_ in BINS)]
        for cue in CUES
        if any((cue, bin_) in cells for bin_ in BINS)
    ]
    return _table(["cue", *BINS], body)


def _failures(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return "<p>No request failed.</p>"
    rows = [[reason, str(n)] for reason, n in reasons.items()]
    return f"<p>Failed requests count neither as right nor as wrong:</p>{_table(['reason', 'requests'], rows)}"


def _pairs(pairs: Mapping[str, Any]) -> str:
    return _table(None, [[name, _cell(value)] for name, value in pairs.items()])


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _table(head: Sequence[str] | None, body: Sequence[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    if head:
        lines.insert(0, "<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>")
    return f"<table>{''.join(lines)}</table>"
