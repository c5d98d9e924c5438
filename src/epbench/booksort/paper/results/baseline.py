"""Without memory: Table 1, and Figures 5 and 13, which show by distance what can be guessed (Section 5.1, Appendix D)."""

from __future__ import annotations

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results.by_distance import LINES_BY_WORDS, by_words_table, draw_by_words
from epbench.booksort.paper.results.cells import (
    MEAN,
    Cell,
    averaged,
    by_columns,
    by_words,
    cells,
    mean_cells,
    power_note,
    reported_in,
    reported_notes,
    reported_record,
    reported_text,
    shown,
    width_note,
    with_memory,
)
from epbench.booksort.paper.results.rates import p_text, smallest_above_chance
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.reports.tables import Table

NEEDS = "at least one run with memory none"
TEST = (
    "p: exact binomial test against 0.5, two-sided (with both orders over pairs, right both times against wrong both times), "
    "corrected by Holm for all groups of a run that are shown here. * p < .05, ** p < .01."
)
INTERVAL = "±: half of the 95 % interval, by drawing excerpts, whose questions share one reading."


def table_1(inputs: Inputs) -> Exhibit | Missing:
    """Accuracy without memory by the length of segments, with its test against chance."""
    name, title = "Table 1", "Baseline: accuracy before a model has seen the books"
    found = cells(with_memory(inputs, "none"), by_columns("segment_length"))
    if not found:
        return Missing(name, title, NEEDS)
    reported = reported_in(inputs, name)
    lengths = sorted({_length(one) for one in found})
    of_run: dict[str, dict[int, Cell]] = {}
    for one in found:
        of_run.setdefault(one.label, {})[_length(one)] = one
    head = ["run", "model", *(f"{words} words{what}" for words in lengths for what in ("", ": p", ": n"))]
    rows = [
        [*shown(next(iter(row.values()))), *(text for words in lengths for text in _texts(row.get(words)))]
        for row in of_run.values()
    ]
    for theirs in reported:
        texts = [[reported_text(theirs, f"accuracy_s{words}"), "–", "–"] for words in lengths]
        rows.append([marked(theirs.model, "reported"), theirs.model, *(text for three in texts for text in three)])
    records: list[dict[str, Value]] = [
        {**one.record(), "smallest_above_chance": smallest_above_chance(one.rate.units)} for one in found
    ]
    for theirs in reported:
        for words in (20, 50):
            record = reported_record(theirs, f"accuracy_s{words}", {"segment_length": words})
            records.append({**record, "smallest_above_chance": None})
    notes = [INTERVAL, TEST, power_note(found), *width_note(found), _configs(inputs), *reported_notes(reported)]
    return Exhibit(name, title, records, Table(head, rows, notes=notes, text_columns=2, sections=[len(of_run) - 1]))


def figure_5(inputs: Inputs) -> Exhibit | Missing:
    """Accuracy without memory by distance, as the mean over all runs."""
    name, title = "Figure 5", "Baseline: accuracy without memory by the distance of the segments, mean over the runs"
    runs, left_out = averaged(with_memory(inputs, "none"))
    found = mean_cells(runs, by_words)
    if not found:
        return Missing(name, title, NEEDS)
    test = TEST
    if found[0].label == MEAN:
        test = (
            f"Mean over {found[0].run['model']}, over the questions that all were asked. p: Wilcoxon's signed-rank test of "
            "the means of excerpts against 0.5 (ties are ranked, after Pratt; normal approximation), two-sided, by Holm for "
            "all bins. * p < .05, ** p < .01."
        )
    notes = [INTERVAL, test, LINES_BY_WORDS, *left_out, power_note(found), *width_note(found)]
    return Exhibit(
        name, title, [one.record() for one in found], by_words_table(found, notes), lambda: draw_by_words(found)
    )


def figure_13(inputs: Inputs) -> Exhibit | Missing:
    """Accuracy without memory by distance, for each run."""
    name, title = "Figure 13", "Baseline: accuracy of each run without memory by the distance of the segments"
    found = cells(with_memory(inputs, "none"), by_words)
    if not found:
        return Missing(name, title, NEEDS)
    notes = [INTERVAL, TEST, LINES_BY_WORDS, power_note(found), *width_note(found)]
    return Exhibit(
        name, title, [one.record() for one in found], by_words_table(found, notes), lambda: draw_by_words(found)
    )


def _length(one: Cell) -> int:
    return int(str(one.group["segment_length"]))


def _texts(one: Cell | None) -> list[str]:
    if one is None:
        return ["–", "–", "–"]
    return [one.rate.text(), p_text(one.p_holm), f"{one.rate.n:,}"]


def _configs(inputs: Inputs) -> str:
    asked: dict[str, list[str]] = {}
    for run in with_memory(inputs, "none"):
        asked.setdefault(", ".join(run.configs), []).append(run.label)
    named = [f"{configs} ({', '.join(labels)})" for configs, labels in asked.items()]
    return f"All configs count: {'; '.join(named)}."
