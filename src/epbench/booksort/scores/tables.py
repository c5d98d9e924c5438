"""Scores as tables for the screen, a file and a page (paper: Tables 1, 2, 11, 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.context.retrieval import RECALL
from epbench.reports.tables import Runs, Scores, Table, cell, in_markdown, on_screen, warnings_of

if TYPE_CHECKING:
    from rich.console import Group


ANSWERS = ("greedy accuracy", "label mass", "share of A", "p", "answers", "invalid", "failed")
"""The titles of the columns about a run's answers; see `answers`."""


def screen_tables(runs: Runs) -> Group:
    """A row for each run: accuracy on all pairs and by lengths, then by the distance of the segments; then warnings."""
    return on_screen(_by_run(runs), warnings_of(runs))


def markdown_table(runs: Runs) -> str:
    """The same in Markdown, and the accuracy of each run by book."""
    return in_markdown([*_by_run(runs), by_book(runs)], warnings_of(runs))


def accuracy(found: Mapping[str, Any] | None, name: str = "accuracy") -> str:
    """An accuracy and how far its interval reaches, such as `0.930 ± 0.007`; a dash without a question.

    If questions failed, it is a range, `0.48–0.61 (incomplete)`, from all of them wrong to all of them right.
    """
    if found is None:
        return "–"
    if "incomplete" in found:
        low, high = found["incomplete"][name]
        return f"{low:.2f}–{high:.2f} (incomplete)"
    if name != "accuracy":
        return cell(found.get(name))
    if found["ci_low"] is None:
        return cell(found["accuracy"])
    reach = max(found["ci_high"] - found["accuracy"], found["accuracy"] - found["ci_low"])
    return f"{found['accuracy']:.3f} ± {reach:.3f}"


def by_book(runs: Runs) -> Table:
    """A row for each run and book: SORT and SORT-extend, by the length of segments (Tables 11 and 12)."""
    name = "book x part x segment_length"
    columns = list(dict.fromkeys(g.split(" x ", 1)[1] for scores in runs.values() for g in scores["by_group"][name]))
    columns.sort(key=lambda column: (column.split(" x ")[0], int(column.split(" x ")[1])))
    rows = [
        [label, book, *(accuracy(scores["by_group"][name].get(f"{book} x {column}")) for column in columns)]
        for label, scores in runs.items()
        for book in scores["by_group"]["book"]
    ]
    return Table(["run", "book", *columns], rows, text_columns=2)


def _by_run(runs: Runs) -> Iterator[Table]:
    segments = groups(runs, "segment_length")
    parts = [part for part in ("SORT", "SORT-extend") if any(part in s["by_group"]["part"] for s in runs.values())]
    shown = [*(("part", part) for part in parts), *(("segment_length", length) for length in segments)]
    lines = [
        [label, accuracy(whole(scores)), *(accuracy(scores["by_group"][name].get(group)) for name, group in shown)]
        for label, scores in runs.items()
    ]
    yield Table(["accuracy", "all", *parts, *(f"{length} words" for length in segments)], lines)
    yield Table(["answers", *ANSWERS], [[label, *answers(scores)] for label, scores in runs.items()])
    yield from areas(runs)
    if of_both := {label: scores for label, scores in runs.items() if "both_orders" in scores}:
        yield both_orders_table(of_both)
    for name, title in (("excerpt_length", "by words of the excerpt"), ("distance", "by bin of distance, near to far")):
        names = groups(runs, name)
        lines = [[label, *(accuracy(s["by_group"][name].get(group)) for group in names)] for label, s in runs.items()]
        yield Table([title, *names], lines)
    if of_systems := {label: scores for label, scores in runs.items() if "order_kept" in scores.get("retrieval", {})}:
        yield memory_table(of_systems)
    retrievals = {label: s["retrieval"] for label, s in runs.items() if "retrieval" in s and label not in of_systems}
    if retrievals:
        rows = [
            [label, *(cell(r.get(key)) for key in (RECALL, "both_found", "in_order")), accuracy(r["where_in_order"])]
            for label, r in retrievals.items()
        ]
        yield Table(["retrieval", "recall@10", "both shown", "in the book's order", "accuracy on these"], rows)


def memory_table(runs: Runs) -> Table:
    """What memory systems found of the segments, whether in order, and how often the answer was right then."""
    rows = []
    for label, scores in runs.items():
        retrieval = scores["retrieval"]
        shares = (cell(retrieval[key]) for key in ("both_found", "both_verbatim", "order_kept"))
        parts = (accuracy(retrieval[key]) for key in ("where_in_order", "where_both_found", "where_not_found"))
        rows.append([label, *shares, accuracy(whole(scores)), *parts])
    shares_of = ["found both", "word for word", "of these in order"]
    return Table(["memory system", *shares_of, "accuracy", "where in order", "where both found", "where not"], rows)


def whole(scores: Scores) -> dict[str, Any]:
    """The scores of a run in the form of a summary, with the interval of the accuracy."""
    (low, high), (auc_low, auc_high) = (scores["intervals"].get(name, (None, None)) for name in ("accuracy", "auc"))
    return {**scores, "ci_low": low, "ci_high": high, "auc_low": auc_low, "auc_high": auc_high}


def apart(found: Mapping[str, Any]) -> list[str]:
    """The AUC of a summary with its interval, such as `0.780 (0.700–0.840)`, and the calibrated accuracy; a dash if unknown."""
    auc, low, high = (found.get(name) for name in ("auc", "auc_low", "auc_high"))
    return [cell(auc) + (f" ({low:.3f}–{high:.3f})" if low is not None else ""), cell(found.get("calibrated_accuracy"))]


def answers(scores: Scores) -> list[str]:
    """What the answers of a run are like; the columns are `ANSWERS`."""
    numbers = (cell(scores[key]) for key in ("share_a", "p_value", "n_questions", "n_invalid", "n_failed"))
    return [accuracy(scores, "greedy_accuracy"), mass(scores), *numbers]


def areas(runs: Runs) -> list[Table]:
    """How well the log odds of A tell the questions of each run apart; no table if no run has the probabilities."""
    known = {label: whole(scores) for label, scores in runs.items() if scores.get("auc") is not None}
    p_of = {label: scores["auc_p_value"] for label, scores in known.items()}  # none with a single excerpt
    rows = [[label, *apart(known[label]), cell(p) if p is None else f"{p:.1g}"] for label, p in p_of.items()]
    return [Table(["log odds of A", "AUC (95 %)", "calibrated accuracy", "p (AUC)"], rows)] if rows else []


def mass(scores: Mapping[str, Any]) -> str:
    """The label mass, such as `0.950`, or `0.950 (of 12)` if the probabilities of only 12 answers are known."""
    value, n = scores.get("label_mass"), scores.get("n_label_mass", 0)
    if value is None:
        return "–"
    shown = f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"
    return shown if n == scores.get("n_questions", scores.get("n")) else f"{shown} (of {n})"


def both_orders_table(runs: Runs) -> Table:
    """How consistent the answers are of runs that asked every pair in both orders."""
    rows = []
    for label, scores in runs.items():
        both_orders, (low, high) = scores["both_orders"], scores["intervals"].get("consistency", (None, None))
        consistency = {"accuracy": scores["consistency"], "ci_low": low, "ci_high": high}
        keys = ("always_a", "always_b", "pair_accuracy", "n_pairs", "n_incomplete")
        rows.append([label, accuracy(consistency), *(cell(both_orders[key]) for key in keys)])
    head = ["both orders", "consistency", "always A", "always B", "accuracy by pair", "pairs", "incomplete pairs"]
    return Table(head, rows)


def groups(runs: Runs, name: str) -> Sequence[str]:
    """The names of all groups of these runs, in rising order of their numbers."""
    return sorted({group for scores in runs.values() for group in scores["by_group"][name]}, key=int)
