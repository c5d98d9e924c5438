"""Figure 11, regression: the odds, and their tests, are those of a regression on the answers in the journals."""

import math
import random

import numpy as np
import pytest
import statsmodels.api as sm

from epbench.booksort.paper.effects import regression
from epbench.booksort.paper.inputs import Inputs, read_inputs
from epbench.reports.exhibit import Missing
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import pair_rows, write_tables

LENGTHS = (120, 240)
TERMS = ("middle", "middle x length")


def rows(length):
    """Pairs whose positions lie anywhere, without the texts of excerpts, which they would contradict."""
    made, draws = [], random.Random(length)
    for row in pair_rows(length, 20):
        for copy in range(8):
            first = draws.randrange(length - 50)
            second = first + 20 + draws.randrange(length - 40 - first)
            id_ = f"{row['id']}-{copy}"
            made.append(row | {"id": id_, "seg1_pos": first, "seg2_pos": second, "excerpt_text": None})
    return made


def lost(pair):
    in_middle = all(pair.excerpt_length <= 3 * at < 2 * pair.excerpt_length for at in pair.positions)
    return mostly_right(0.45 if in_middle else 0.85, "lost")(pair)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    dataset = write_tables(folder / "booksort", {(f"e{n}_s20", "test"): rows(n) for n in LENGTHS})
    plans = {"lost": lost, "even": mostly_right(0.7, "even"), "always": lambda pair: {"answer": pair.answer}}
    return {name: make_run(folder / name, dataset, plan, memory="in-context") for name, plan in plans.items()}


def expected(run):
    """Coefficients and p-values by term, with errors clustered by excerpt."""
    asked = plain.rows_of(run)
    length = [math.log(row.pair.excerpt_length) for row in asked]
    length = [one - plain.mean(length) for one in length]
    inside = [float(row.third == "middle") for row in asked]
    far = [math.log(row.pair.distance) for row in asked]
    columns = [[1.0, i, i * n, n, d] for i, n, d in zip(inside, length, far, strict=True)]
    clusters = np.unique([str(row.excerpt) for row in asked], return_inverse=True)[1]
    right = np.array([float(row.right) for row in asked])
    fit = sm.Logit(right, np.array(columns)).fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters})
    return {term: (fit.params[i], fit.pvalues[i]) for i, term in enumerate(TERMS, 1)}


def test_odds_are_those_of_the_answers_and_corrected_over_runs(folders):
    made = regression(Inputs(read_inputs([folders["lost"], folders["even"]], reported=()).runs))
    of_run = {name: expected(folders[name]) for name in ("lost", "even")}
    for term in TERMS:
        records = [record for record in made.records if record["term"] == term]
        p_values = [of_run[record["label"]][term][1] for record in records]
        assert [record["p"] for record in records] == pytest.approx(p_values, rel=1e-3)
        assert [record["p_holm"] for record in records] == pytest.approx(plain.holm(p_values), rel=1e-3)
        for record in records:
            assert record["coefficient"] == pytest.approx(of_run[record["label"]][term][0], abs=1e-3)
            assert record["odds_ratio"] == pytest.approx(math.exp(record["coefficient"]))
    first, asked = made.records[0], plain.rows_of(folders["lost"])
    assert first["p_holm"] < 0.01 and first["odds_ratio"] < 0.5
    middle = [row.right for row in asked if row.third == "middle"]
    assert (first["n"], first["n_in_middle"]) == (len(asked), len(middle))
    assert first["accuracy_in_middle"] == pytest.approx(plain.mean(middle))
    elsewhere = plain.mean([row.right for row in asked if row.third != "middle"])
    assert first["accuracy_elsewhere"] == pytest.approx(elsewhere)
    odds = f"{first['odds_ratio']:.2f} ({math.exp(first['low']):.2f}–{math.exp(first['high']):.2f})"
    assert made.table.rows[0][:6] == ["lost", "m", str(len(asked)), str(len(middle)), "0", odds]


def test_what_cannot_be_estimated_is_said(folders):
    made = regression(Inputs(read_inputs([folders["always"]], reported=()).runs))
    assert made.table.rows[0][5:] == ["–"] * 4 and made.records[0]["p"] is None
    assert any(note.startswith("always: only 0 wrong answers") for note in made.notes)
    assert isinstance(regression(Inputs(())), Missing)
