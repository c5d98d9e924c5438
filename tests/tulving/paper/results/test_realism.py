"""Tables 24 and 25: groups, cells and tests against the journals."""

from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results.realism import realism_tables
from tests.tulving.paper.given_runs import check_record, line_of, text_of
from tests.tulving.paper.results.test_books_compared import check_test, known

RATINGS = {
    number: ("Realistic", "Somewhat realistic", "Impossible", "Moderately realistic")[number % 4]
    for number in range(1, 20)
}
FINGERPRINT = "f" * 16


def group_of(chapters):
    kinds = {RATINGS[chapter] in ("Realistic", "Moderately realistic") for chapter in chapters if chapter < 20}
    if 20 in chapters and len(kinds) < 2:
        return "not rated"
    return "empty" if not kinds else "mixed" if len(kinds) > 1 else "realistic" if kinds == {True} else "non-realistic"


def values(line, given, group, **where):
    return [
        found and found["f1"]
        for row, found in given.plain(line)
        if group_of(row["chapters"]) == group and all(row[name] == value for name, value in where.items())
    ]


def test_every_cell(lines, given):
    recall, tests = realism_tables(lines, {FINGERPRINT: RATINGS, "another": {1: "Realistic"}})
    own = [line for line in lines if line.source == "own"]
    assert (recall.name, tests.name) == ("Table 24", "Table 25") and list(recall.table.head[2:]) == [
        ln.who for ln in own
    ]
    for record in recall.records:
        line = line_of(record, lines)
        check_record(record, values(line, given, record["realism"], get="all", bin=record["bin"]))
    for row in recall.table.rows:
        assert list(row[2:]) == [text_of(values(line, given, row[1], get="all", bin=row[0]), n=True) for line in own]
    assert {row[1] for row in recall.table.rows} == {"empty", "non-realistic", "mixed", "realistic"}
    assert any("without a rating" in note for note in recall.table.notes)
    for record, row, line in zip(tests.records, tests.table.rows, own, strict=True):
        first, second = (known(values(line, given, group)) for group in ("non-realistic", "realistic"))
        check_test(record, row, first, second)


def test_the_numbers_of_the_paper_stand_beside(given):
    scores = {"f1_by_bin.0.empty": 0.5, "f1_by_bin.1.realistic": 0.25}
    row = ReportedRow("A paper", "Table 24", "short", "gpt", "in-context", scores, {}, {"f1_by_bin.0.empty": 150}, {})
    recall, _ = realism_tables(lines_of(Inputs(given.inputs.runs[:1], [row])), {FINGERPRINT: RATINGS})
    cells = {tuple(cells[:2]): cells[-1] for cells in recall.table.rows}
    assert (
        cells["0", "empty"] == "0.50 (150)" and cells["1", "realistic"] == "0.25" and cells["1", "non-realistic"] == "–"
    )


def test_what_cannot_be_made(lines):
    for ratings in (None, {}, {"another": {1: "Realistic"}}):
        assert [one.name for one in realism_tables(lines, ratings) if isinstance(one, Missing)] == [
            "Table 24",
            "Table 25",
        ]
    _, tests = realism_tables(lines, {FINGERPRINT: dict.fromkeys(range(1, 21), "Realistic")})
    assert isinstance(tests, Missing)
