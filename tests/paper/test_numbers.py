"""Every number of every table and figure of the three papers, against the journals and files by plain loops."""

import csv
import io
import math
from collections import Counter
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import friedmanchisquare

from epbench.booksort.paper.effects import regression
from epbench.booksort.paper.inputs import Inputs, read_inputs
from epbench.draws import RandomStream
from epbench.reports.exhibit import Missing, as_csv
from tests.booksort.sort_set import pair_rows, write_tables
from tests.paper import plain_answers, plain_memfail, plain_sort
from tests.paper.plain import about, holm
from tests.paper.sort_runs import make_run, mostly_right

pytestmark = pytest.mark.slow
EXPECTED = {
    "tulving": plain_answers.EXPECTED,
    "booksort": tuple(plain_sort.EXPECTED),
    "memfail_paper": plain_memfail.EXPECTED,
}
ALONE = {
    "tulving": {"Figure 6, short by openai:tiny", "Figure 6, short (released)"},  # paths like that of the first book
    "booksort": {"Figure 11, regression"},  # below
    "memfail_paper": plain_memfail.OF_PAPERS,
}
MISSING = {
    "tulving": {"Figure 6, scifi-short", "Invented items"},  # the latter are in test_tulving.py
    "booksort": set(),
    "memfail_paper": {"Figure 3, tokens per question"},
}


@pytest.mark.parametrize(
    ("paper", "name"), [(paper, name) for paper, names in EXPECTED.items() for name in names], indirect=["paper"]
)
def test_every_number_is_that_of_the_journals_and_files(paper, name):
    assert paper.named(name)
    for exhibit in paper.named(name):
        checked, counted, asked = [], Counter(), {}
        for record, expected in paper.expected(name, exhibit):
            assert expected.keys() & record.keys(), record  # or nothing is tested
            for key in expected.keys() & record.keys():
                assert record[key] == about(expected[key]), (exhibit.name, key, record)
            rest = record.keys() - expected.keys() - paper.NAMING if paper.NAMING else ()
            assert all(key.endswith("_holm") for key in rest), rest
            checked.append(record)
            if (n := paper.asked_in(name, record)) is not None:
                counted[record["label"]] += record["n"] + record["n_failed"]
                asked[record["label"]] = n
        assert checked and counted == asked
        for family in paper.families(name, checked):
            assert [corrected for _, corrected in family] == pytest.approx(holm([p for p, _ in family]), rel=1e-6)


@pytest.mark.parametrize("paper", EXPECTED, indirect=True)
def test_no_exhibit_is_left_out_and_all_are_whole(paper, request):
    which = request.node.callspec.params["paper"]
    checked = {one.name for name in EXPECTED[which] for one in paper.named(name)}
    assert paper.made.keys() == checked | ALONE[which]
    assert paper.exhibits.keys() - paper.made.keys() == MISSING[which]
    assert all(one.needs for one in paper.exhibits.values() if isinstance(one, Missing))
    for one in paper.made.values():
        assert {len(row) for row in one.table.rows} == {len(one.table.head)}, one.name
        assert one.records and {"source", "alternative"} & one.records[0].keys(), one.name
        rows = list(csv.DictReader(io.StringIO(as_csv(one))))
        values = {value for row in rows for value in row.values()}
        assert len(rows) == len(one.records) and not {"nan", "NaN"} & values, one.name
        assert one.title[-1] != "." and " nan" not in one.table.markdown(), one.name
        assert (
            not {"accuracy", "ci_low", "lower", "if_failed_wrong", "success"} & one.records[0].keys()
        )  # one word for one


def test_the_table_of_questions_of_memfail_is_that_of_the_journals(memfail_paper):
    failed = Counter()
    for name in plain_memfail.SYSTEMS:
        for config in plain_memfail.SIZES:
            folder = memfail_paper.folder / name / config
            found = {question["id"]: question["label"] for question in plain_memfail.questions_of(folder)}
            assert found == plain_memfail.labels(folder, memfail_paper.rows[config])
            failed[name] += list(found.values()).count("failed")
    assert failed["flaky"] and not failed["bm25"]  # or nothing is tested


def test_friedman_is_named_with_its_numbers(tulving):
    rows = tulving.exhibits["Figure 7, short (ffffffff)"].records
    statistic, p = friedmanchisquare(*tulving.matched(rows[0]).values())
    notes = tulving.exhibits["Figure 7, short (ffffffff)"].table.notes
    assert f"χ² = {statistic:.1f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}" in notes[0]
    assert any("questions that not all runs have answered are left out" in note for note in notes)
    pairs = tulving.exhibits["Figure 7, tests, short (ffffffff)"].records
    same = {frozenset((pair["label"], pair["second"])) for pair in pairs if pair["different"] == "no"}
    for one, other in combinations(rows, 2):
        assert (frozenset((one["label"], other["label"])) in same) == (other["label"] in str(one["not_different_from"]))


# The regression of Book-SORT, whose pairs lie anywhere in the excerpt


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


def fitted(rows):
    """The regression of right answers on the middle, the length and both, and the distance, clustered by excerpt."""
    length = [math.log(row.pair.excerpt_length) for row in rows]
    length = [one - fmean(length) for one in length]
    inside, far = [float(row.third == "middle") for row in rows], [math.log(row.pair.distance) for row in rows]
    columns = np.array([[1.0, i, i * n, n, d] for i, n, d in zip(inside, length, far, strict=True)])
    clusters = np.unique([str(row.excerpt) for row in rows], return_inverse=True)[1]
    right = np.array([float(row.right) for row in rows])
    return sm.Logit(right, columns).fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters})


def test_odds_are_those_of_the_answers_and_corrected_over_runs(tmp_path):
    dataset = write_tables(tmp_path / "booksort", {(f"e{n}_s20", "test"): pairs_anywhere(n) for n in (120, 240)})
    plans = {"lost": lost_in_the_middle, "even": mostly_right(0.7, "even"), "always": lambda p: {"answer": p.answer}}
    runs = {name: make_run(tmp_path / name, dataset, plan, memory="in-context") for name, plan in plans.items()}
    made = regression(read_inputs([runs["lost"], runs["even"]], reported=()))
    rows = {name: plain_sort.rows_of(runs[name]) for name in ("lost", "even")}
    fits = {name: fitted(of) for name, of in rows.items()}
    for number, term in enumerate(("middle", "middle x length"), 1):
        records = [record for record in made.records if record["term"] == term]
        p_values = [fits[record["label"]].pvalues[number] for record in records]
        assert [record["p"] for record in records] == pytest.approx(p_values, rel=1e-3)
        assert [record["p_holm"] for record in records] == pytest.approx(holm(p_values), rel=1e-3)
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
    always = regression(read_inputs([runs["always"]], reported=()))
    assert always.table.rows[0][5:] == ["–"] * 4 and always.records[0]["p"] is None
    assert any(note.startswith("always: only 0 wrong answers") for note in always.notes)
    assert isinstance(regression(Inputs(())), Missing)
