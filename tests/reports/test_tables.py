"""One table in three formats: the same cells, aligned alike, and no text taken for markup."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from epbench.reports.tables import Table, cell, in_markdown, interval_cell, on_screen, warnings_of

TABLE = Table(["run", "judge", "F1"], [["a|b", "<x>", "0.5"], ["[red]c", "y", "0.25"]], "title *", ["a note"], 2, [0])
anything = st.text(st.characters(codec=None), max_size=40)


def printed(*renderables, width=60):
    console = Console(width=width, file=io.StringIO())
    console.print(*renderables)
    return console.file.getvalue()


def test_a_table_on_the_screen():
    title, _, head, ruler, first, section, second, *_, note = printed(TABLE).rstrip("\n").splitlines()
    assert title.strip() == "title *" and note.strip() == "a note"
    assert head.split() == ["run", "judge", "F1"] and second.split() == ["[red]c", "y", "0.25"]
    assert head.index("judge") == first.index("<x>") == second.index("y")  # texts begin together
    assert head.index("F1") + 2 == first.index("0.5") + 3 == second.index("0.25") + 4  # numbers end together
    assert set(ruler.strip()) == {"─"} and not section.strip()


def test_long_cells_are_folded_and_not_cut_off():
    shown = printed(Table(["run", "n"], [["x" * 100, "1"]]), width=30)
    assert shown.count("x") == 100 and max(map(len, shown.splitlines())) <= 30


def test_a_table_in_markdown():
    assert TABLE.markdown() == (
        "title *\n\n| run | judge | F1 |\n| --- | --- | ---: |\n| a\\|b | &lt;x&gt; | 0.5 |\n| \\[red\\]c | y | 0.25 |\n"
        "\n- a note\n"
    )


def test_a_table_in_html():
    html = TABLE.html()
    assert html.startswith("<table><caption>title *</caption><tr><th>run</th>") and html.endswith("<p>a note</p>")
    assert '<td>a|b</td><td class="text">&lt;x&gt;</td><td>0.5</td>' in html
    untitled = Table([], [["x", "1"]])
    assert untitled.html() == "<table><tr><td>x</td><td>1</td></tr></table>" and printed(untitled).split() == ["x", "1"]


def test_tables_and_warnings_follow_one_another():
    warnings = warnings_of({"one": {"warnings": ["<too> few"]}, "two": {}})
    assert warnings == ["one: <too> few"]
    table = Table(["x"], [["1"]])
    assert in_markdown([table, table]) == f"{table.markdown()}\n{table.markdown()}"
    assert in_markdown([table], warnings).endswith("\nWarnings:\n\n- one: &lt;too&gt; few\n")
    assert printed(on_screen([table, table], warnings)).rstrip().endswith("warning: one: <too> few")


def test_cells():
    assert [cell(value) for value in (None, 0.12345, 3, "x")] == ["–", "0.123", "3", "x"]
    assert interval_cell((0.1, 0.25)) == "0.100–0.250" and interval_cell(None) == "–"
    assert interval_cell([0.1, 0.25], " to ", 2) == "0.10 to 0.25"


@settings(max_examples=200, deadline=None)
@given(st.lists(anything, min_size=2, max_size=2), st.lists(anything, min_size=2, max_size=2))
def test_a_cell_stays_one_cell_without_html(head, row):
    table = Table(head, [row])
    lines = table.markdown().splitlines()
    assert len(lines) == 3 and lines[1] == "| --- | ---: |"
    for line in (lines[0], lines[2]):
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 3
        assert "<" not in line and ">" not in line
    assert "<script" not in table.html() and "\x1b" not in table.html() and "\x1b" not in printed(table)
