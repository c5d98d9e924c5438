"""Differences between systems: McNemar's test and Holm's correction, computed again by hand from the journals."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy.stats import binomtest, t

from epbench.memfail.paper.differences import differences
from epbench.memfail.paper.inputs import Inputs
from epbench.reports.exhibit import Missing
from tests.memfail.paper.plain import labels

NAMES = {"none (baseline)": "floor", "verbatim-bm25 (baseline)": "bm25", "oracle (baseline)": "all"}


def test_every_pair_is_that_of_the_journals(made):
    exhibit = differences(made.inputs)
    assert len(exhibit.records) == 6 * 3  # four systems, three configs, one k
    p_values = sorted((r["p"], i) for i, r in enumerate(exhibit.records))
    corrected, highest = {}, 0.0
    for rank, (p, i) in enumerate(p_values):
        highest = max(highest, min(1.0, p * (len(p_values) - rank)))
        corrected[i] = highest
    for i, record in enumerate(exhibit.records):
        assert record["p_holm"] == pytest.approx(corrected[i])
        shown = dict(zip(exhibit.table.head, exhibit.table.rows[i], strict=True))
        assert record["source"] == "own"
        assert shown["p (Holm)"] == f"{corrected[i]:.3g}"
        assert shown["different"] == ("yes" if corrected[i] < 0.05 else "not shown")
        if record["config"] == "persona_retrieval":
            continue
        config = record["config"]
        folders = [made.folder / NAMES.get(record[f"label_{side}"], "flaky") / config for side in ("first", "second")]
        one, other = (labels(folder, made.rows[config]) for folder in folders)
        both = [id_ for id_ in one if "failed" not in (one[id_], other[id_])]
        right = [[found[id_] == "correct" for id_ in both] for found in (one, other)]
        wins = sum(a and not b for a, b in zip(*right, strict=True))
        losses = sum(b and not a for a, b in zip(*right, strict=True))
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        assert (record["n"], record["better"], record["worse"]) == (len(both), wins, losses)
        assert record["equal"] == len(both) - wins - losses
        assert record["p"] == pytest.approx(p)
        rates = [sum(of_run) / len(both) for of_run in right]
        assert (record["success_first"], record["success_second"]) == pytest.approx(rates)
        assert shown["success"] == f"{rates[0]:.3f} / {rates[1]:.3f}"
        assert shown["better / equal / worse"] == f"{wins} / {len(both) - wins - losses} / {losses}"
        rate = min(max(sum(rates) / 2, 0.5 / len(both)), 1 - 0.5 / len(both))
        for alpha, column in [(0.05, "smallest_difference"), (0.05 / 18, "smallest_difference_corrected")]:
            reach = t.ppf(1 - alpha / 2, len(both) - 1) + t.ppf(0.8, len(both) - 1)
            assert record[column] == pytest.approx(min(1.0, reach * math.sqrt(2 * rate * (1 - rate) / len(both))))
        smallest = f"{record['smallest_difference']:.3f} / {record['smallest_difference_corrected']:.3f}"
        assert shown["smallest difference: alone / corrected"] == smallest
        failed = [sum(label == "failed" for label in found.values()) for found in (one, other)]
        assert [record["n_failed_first"], record["n_failed_second"]] == failed
    notes = " ".join(exhibit.table.notes)
    assert "McNemar" in notes and "Holm over all 18 comparisons" in notes and "80 % power" in notes
    assert "failed in one of the runs are left out" in notes


def test_runs_with_other_judges_are_not_compared(made):
    one, other = [run for run in made.inputs.runs if run.config == "long_hop"][:2]
    assert isinstance(differences(Inputs([one, replace(other, judge="another (1)")])), Missing)
    assert isinstance(differences(Inputs([one])), Missing)
