"""Every number of every table and figure of the three papers, against the journals and files; and what stands beside them."""

import csv
import io
import re
from itertools import combinations
from xml.sax.saxutils import escape

import pytest
from scipy.stats import friedmanchisquare
from statsmodels.stats.multitest import multipletests

from epbench.reports.exhibit import Missing, as_csv, write_exhibits
from tests.paper import plain_memfail
from tests.paper.conftest import PAPERS
from tests.paper.plain import MARKUP, about, group

pytestmark = pytest.mark.slow

SAID = """
tulving | Table 2 | is not at hand | ICLR 2025, Table 2.
tulving | Table 6 | ICLR 2025, Table 6.
tulving | Table 7 | ICLR 2025, Table 7.
tulving | Figure 6, scifi-short | spaces of scifi-short: the universe scifi has none that are known here
booksort | Table 1 | shows an accuracy of | All configs count: e120_s20
booksort | Figure 4a | searched: similarity
booksort | Figure 4b | searched: 0.5
booksort | Figure 5 | Wilcoxon
booksort | Table 11 | no targets
booksort | Figure 11, regression | wrong answers on pairs in the middle
booksort | Figure 14 | A state-space model; the accuracy is that of the search for a prompt.
booksort | Figure 18 | 24 failed questions
memfail_paper | Figure 1 | Garg et al. | other rows than the published ones | from all of them wrong | judge lexical
memfail_paper | Figure 1 | none (baseline) at k = 4: | best success at any k: coexisting_facts oracle (baseline) 1.000
memfail_paper | Differences | McNemar | Holm over all 18 comparisons | 80 % power | in one of the runs are left out
memfail_paper | Tokens and cost | No file of prices
"""
"""What must stand below tables, and what missing ones need."""

EXPECTED = [(paper, name) for paper, of in PAPERS.items() for name in of.EXPECTED]


@pytest.mark.parametrize(("paper", "name"), EXPECTED, indirect=["paper"])
def test_every_number_is_that_of_the_journals_and_files(paper, name):
    assert paper.named(name)
    for exhibit in paper.named(name):
        checked = []
        for record, expected in paper.expected(name, exhibit):
            assert expected.keys() & record.keys(), record  # or nothing is tested
            for key in expected.keys() & record.keys():
                assert record[key] == about(expected[key]), (exhibit.name, key, record)
            rest = record.keys() - expected.keys() - {*paper.ABOUT} if paper.ABOUT else ()
            assert all(key.endswith("_holm") or isinstance(record[key], str | None) for key in rest), rest
            checked.append(record)
        assert checked
        if name in paper.WHOLE:
            for of in group(checked, lambda record: (record["label"], record.get("config"))).values():
                assert sum(record["n"] + record["n_failed"] for record in of) == paper.asked_in(name, of[0])
        for p, corrected in paper.families(name, checked):
            assert corrected == pytest.approx(multipletests(p, method="holm")[1], rel=1e-6)


@pytest.mark.parametrize("which", PAPERS)
def test_what_must_be_said_stands_below_tables_in_the_order_of_the_paper(which, request):
    exhibits = request.getfixturevalue(which).exhibits
    for kind in ("Table", "Figure"):
        found = [re.fullmatch(rf"{kind} (\d+)[a-z]?", name.partition(",")[0]) for name in exhibits]
        numbers = [int(number[1]) for number in found if number]
        assert numbers == sorted(numbers) and numbers
    for name, *texts in (line.split(" | ")[1:] for line in SAID.splitlines() if line.startswith(f"{which} | ")):
        said = exhibits[name].needs if isinstance(exhibits[name], Missing) else "\n".join(exhibits[name].table.notes)
        assert [text for text in texts if text not in said] == [], name


@pytest.mark.parametrize("paper", PAPERS, indirect=True)
def test_no_exhibit_is_left_out_and_all_are_whole(paper, tmp_path, drawn_pictures):
    checked = {one.name for name in paper.EXPECTED for one in paper.named(name)}
    assert paper.made.keys() == checked | {*paper.ALONE} and not checked & {*paper.ALONE}
    assert paper.exhibits.keys() - paper.made.keys() == {*paper.MISSING}
    assert all(one.needs for one in paper.exhibits.values() if isinstance(one, Missing))
    for one in paper.made.values():
        assert {len(row) for row in one.table.rows} == {len(one.table.head)}, one.name
        assert one.records and {"source", "alternative"} & one.records[0].keys(), one.name
        rows = list(csv.DictReader(io.StringIO(as_csv(one))))
        values = {value for row in rows for value in row.values()}
        assert len(rows) == len(one.records) and not {"nan", "NaN"} & values, one.name
        assert one.title[-1] != "." and " nan" not in one.table.markdown(), one.name
        others = {"accuracy", "ci_low", "lower", "if_failed_wrong", "success"}  # one word for one thing
        assert not others & one.records[0].keys()
        is_judged = {"judge", "alternative"} & one.records[0].keys()
        assert not is_judged or any("udge" in note for note in one.table.notes), one.name
    kinds = {one.name.partition(",")[0]: one for one in reversed(paper.made.values())}
    write_exhibits(tmp_path, "A paper", [*kinds.values()])
    shown = {path: path.read_text("utf-8") for path in tmp_path.iterdir() if path.suffix in (".svg", ".md", ".html")}
    for path, text in shown.items():
        assert "<b>" not in text and "nan" not in re.findall(r"[a-z]+", text), path.name
    assert any(escape(MARKUP) in text for path, text in shown.items() if path.suffix == ".svg")


def test_the_table_of_questions_of_memfail_is_that_of_the_journals(memfail_paper):
    failed = set()
    for (label, config), run in memfail_paper.runs.items():
        if config != "persona_retrieval":
            expected = plain_memfail.labels(run, memfail_paper.rows[config])
            assert {question["id"]: question["label"] for question in memfail_paper.asked[label, config]} == expected
            failed |= {label} if "failed" in expected.values() else set()
    assert failed == {plain_memfail.LABELS["flaky"]}


def test_friedman_is_named_with_its_numbers(tulving):
    rows, notes = (getattr(tulving.exhibits["Figure 7, short (ffffffff)"], of) for of in ("records", "notes"))
    statistic, p = friedmanchisquare(*tulving.matched(rows[0]).values())
    assert f"χ² = {statistic:.1f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}" in notes[0]
    assert any("questions that not all runs have answered are left out" in note for note in notes)
    pairs = tulving.exhibits["Figure 7, tests, short (ffffffff)"].records
    same = {frozenset((pair["label"], pair["second"])) for pair in pairs if pair["different"] == "no"}
    for one, other in combinations(rows, 2):
        assert (frozenset((one["label"], other["label"])) in same) == (other["label"] in str(one["not_different_from"]))
