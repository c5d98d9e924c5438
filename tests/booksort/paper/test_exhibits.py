"""Every number of every exhibit is what the journals say, counted anew by plain loops."""

import math
from statistics import fmean

import numpy as np
import pytest
import statsmodels.api as sm

from epbench.booksort.paper.effects import regression
from epbench.booksort.paper.inputs import Inputs, read_inputs
from epbench.draws import RandomStream
from epbench.reports.exhibit import Missing
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import pair_rows, write_tables

NAMING = {
    *"source label group over up_to model memory pairs training trained epoch book text".split(),
    *("first", "second", "search", *plain.GROUPS, "tried"),
}
"""The columns that say what a row is about."""
KEYS = (("first", "second"), ("training", "epoch", "text"), ("training", "epoch", "book"), ("training", "epoch"))
TOGETHER = ("Figure 10", "Figure 12", "Figure 14", "Share of A", "Figure 18", "Appendix F.5, differences")
"""Those whose correction is for all rows, and not for those of a run."""


def families(name, records):
    """The p-values of each family of tests, with those that are corrected."""
    found = {}
    for p in ("p", "gain_p", "p_higher", "p_lower"):
        of_gain = (name, p) == ("Segment lengths", "gain_p")
        for record in records[::2] if of_gain else records:
            if f"{p}_holm" in record and record[p] is not None:
                family = (p, record.get("label")) if name not in TOGETHER and not of_gain else p
                family = "ratios" if p in ("p_higher", "p_lower") else family
                found.setdefault(family, []).append((record[p], record[f"{p}_holm"]))
    return list(found.values())


@pytest.mark.parametrize("name", plain.EXPECTED)
def test_every_number_is_what_the_journals_say(found, journals, name):
    records = [record for record in found[name].records if record["source"] == "own"]
    assert records
    for record in records:
        expected = plain.EXPECTED[name](name, record, journals)
        for key in expected.keys() & record.keys():
            value = pytest.approx(expected[key], rel=1e-6) if isinstance(expected[key], float) else expected[key]
            assert record[key] == value, (key, record)
        rest = set(record) - set(expected) - NAMING
        assert all(key.endswith("_holm") for key in rest), rest
    if (keys := plain.keys(name, journals)) is not None:
        names = next(of for of in KEYS if set(of) <= set(records[0]))
        assert [tuple(record[key] for key in names) for record in records] == keys
    for of in families(name, records):
        assert [holm for _, holm in of] == pytest.approx(plain.holm([p for p, _ in of]), rel=1e-6)


@pytest.mark.parametrize(
    "name", [name for name, of in plain.EXPECTED.items() if of in (plain.rate, plain.gain_of_memory)]
)
def test_every_question_is_counted_once(found, journals, name):
    """In Table 2 twice: in all, and by the length of segments."""
    counted = {}
    for record in found[name].records:
        if record["source"] == "own" and record["label"] in journals.rows:
            counted[record["label"]] = counted.get(record["label"], 0) + record["n"] + record["n_failed"]
    for label, n in counted.items():
        words = {"Figure 8": 20, "Figure 9": 50}.get(name)
        rows = [row for row in plain.inside(name, {}, journals.rows[label]) if words in (None, row.pair.segment_length)]
        assert n == len(rows) * (2 if name == "Table 2" else 1)


def test_nothing_is_left_out(found):
    """Every exhibit that these runs suffice for is made, and recomputed here."""
    assert set(found) == {*plain.EXPECTED, "Figure 11, regression"}
    assert not any(isinstance(one, Missing) for one in found.values())


# The regression, whose pairs lie anywhere in the excerpt


def pairs_anywhere(length):
    """Pairs without the texts of excerpts, which their positions would contradict."""
    made, stream = [], RandomStream("pairs anywhere", length)
    for row in pair_rows(length, 20):
        for copy in range(8):
            first = stream.index(length - 50)
            second = first + 20 + stream.index(length - 40 - first)
            id_ = f"{row['id']}-{copy}"
            made.append(row | {"id": id_, "seg1_pos": first, "seg2_pos": second, "excerpt_text": None})
    return made


def lost_in_the_middle(pair):
    in_middle = all(pair.excerpt_length <= 3 * at < 2 * pair.excerpt_length for at in pair.positions)
    return mostly_right(0.45 if in_middle else 0.85, "lost")(pair)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    dataset = write_tables(folder / "booksort", {(f"e{n}_s20", "test"): pairs_anywhere(n) for n in (120, 240)})
    plans = {"lost": lost_in_the_middle, "even": mostly_right(0.7, "even"), "always": lambda p: {"answer": p.answer}}
    return {name: make_run(folder / name, dataset, plan, memory="in-context") for name, plan in plans.items()}


def fitted(rows):
    """The regression of right answers on the middle, the length and both, and the distance, clustered by excerpt."""
    length = [math.log(row.pair.excerpt_length) for row in rows]
    length = [one - fmean(length) for one in length]
    inside, far = [float(row.third == "middle") for row in rows], [math.log(row.pair.distance) for row in rows]
    columns = np.array([[1.0, i, i * n, n, d] for i, n, d in zip(inside, length, far, strict=True)])
    clusters = np.unique([str(row.excerpt) for row in rows], return_inverse=True)[1]
    right = np.array([float(row.right) for row in rows])
    return sm.Logit(right, columns).fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters})


def test_odds_are_those_of_the_answers_and_corrected_over_runs(shown):
    made = regression(read_inputs([shown["lost"], shown["even"]], reported=()))
    rows = {name: plain.rows_of(shown[name]) for name in ("lost", "even")}
    fits = {name: fitted(of) for name, of in rows.items()}
    for number, term in enumerate(("middle", "middle x length"), 1):
        records = [record for record in made.records if record["term"] == term]
        p_values = [fits[record["label"]].pvalues[number] for record in records]
        assert [record["p"] for record in records] == pytest.approx(p_values, rel=1e-3)
        assert [record["p_holm"] for record in records] == pytest.approx(plain.holm(p_values), rel=1e-3)
        for record in records:
            fit = fits[record["label"]]
            expected = (fit.params[number], *fit.conf_int()[number])
            assert (record["coefficient"], record["low"], record["high"]) == pytest.approx(expected, abs=1e-3)
            assert record["odds_ratio"] == pytest.approx(math.exp(record["coefficient"]))
    first = made.records[0]
    assert first["p_holm"] < 0.01 and first["odds_ratio"] < 0.5
    middle, rest = ([row.right for row in rows["lost"] if (row.third == "middle") is of] for of in (True, False))
    assert (first["n"], first["n_failed"], first["n_in_middle"]) == (len(rows["lost"]), 0, len(middle))
    shares = fmean(middle), fmean(rest)
    assert (first["accuracy_in_middle"], first["accuracy_elsewhere"]) == pytest.approx(shares)
    odds = f"{first['odds_ratio']:.2f} ({math.exp(first['low']):.2f}–{math.exp(first['high']):.2f})"
    assert made.table.rows[0][:6] == ["lost", "m", str(len(rows["lost"])), str(len(middle)), "0", odds]


def test_what_cannot_be_estimated_is_said(shown):
    made = regression(read_inputs([shown["always"]], reported=()))
    assert made.table.rows[0][5:] == ["–"] * 4 and made.records[0]["p"] is None
    assert any(note.startswith("always: only 0 wrong answers") for note in made.notes)
    assert isinstance(regression(Inputs(())), Missing)
