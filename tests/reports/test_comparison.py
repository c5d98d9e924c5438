"""The tables and the page of runs that are compared question by question."""

import re

from epbench.reports.comparison import comparison_page, comparison_tables
from epbench.statistics.comparison import Comparison, compare_two, with_holm
from tests.reports.test_matrices import cells_by_place

A, B, C = ({q: float(n >> q & 1) for q in range(12)} for n in (0xFFF, 0x0F0, 0x0FF))
RATIO = {"n": 12, "difference": 0.5, "interval": (0.25, 0.75), "p": 0.01, "p_less": 0.99}
NAMES = ["a", "b", "c"]


def pair(one, other, values, outcomes=True, **more):
    return compare_two((one, other), values, cluster_of=lambda q: q // 2, outcomes=outcomes) | more


def compared(**more):
    found = [pair("a", "b", [A, B], **more), pair("a", "c", [A, C], **more), pair("b", "c", [B, C], **more)]
    return Comparison("accuracy", with_holm(found))


def figures(html):
    return re.findall(r"<figure>.*?</figure>", html, re.S)


def test_a_row_for_each_comparison():
    (table,) = comparison_tables(compared())
    assert list(table.head) == [
        "runs", "n", "accuracy", "difference, 95 % interval", "better / equal / worse", "p", "p (Holm)", "p (chi-square)",
    ]  # fmt: skip
    assert table.rows[0][:3] == ("a / b", "12", "1.000 / 0.333") and table.rows[0][5:] == ("0.0078", "0.023", "0.013")
    assert table.rows[2][4:6] == ("0 / 8 / 4", "0.12")
    (f1,) = comparison_tables(Comparison("F1", with_holm([pair("a", "b", [A, B], outcomes=False)])))
    assert "p (chi-square)" not in f1.head and "p (Holm)" not in f1.head and f1.head[2] == "F1"


def test_log_ratios_have_a_table_of_their_own():
    same = RATIO | {"difference": 0.0, "interval": (0.0, 0.0), "p": None, "p_less": None}
    ratios = [RATIO | {"p_holm": 0.02, "p_less_holm": 1.0}, same | {"p_holm": None, "p_less_holm": None}, None]
    found = [one | {"log_ratio": ratio} for one, ratio in zip(compared().pairs, ratios, strict=True)]
    _, table = comparison_tables(Comparison("accuracy", found))
    assert table.head[3] == "p (log ratio), higher / lower" and "in nats" in table.title
    assert table.rows == [
        ["a / b", "12", "+0.500 (+0.250 to +0.750)", "0.01 / 0.99", "0.02 / 1"],
        ["a / c", "12", "+0.000 (+0.000 to +0.000)", "– / –", "– / –"],
        ["b / c", "–", "–", "–", "–"],
    ]
    *_, plain, corrected = figures(comparison_page("x", Comparison("accuracy", found)))
    assert cells_by_place(plain, NAMES) == [["0.010*", "–"], ["0.99", "–"], ["–", "–"]]
    assert cells_by_place(corrected, NAMES) == [["0.020*", "–"], ["1.0", "–"], ["–", "–"]]
    assert "row has a higher log ratio" in plain


def test_the_page_shows_any_two_runs_symmetrically():
    comparison = compared()
    html = comparison_page("<title>", comparison)
    exact, chi_square, holm = figures(html)
    assert cells_by_place(exact, NAMES) == [["0.0078*", "0.12"], ["0.0078*", "0.12"], ["0.12", "0.12"]]
    assert cells_by_place(chi_square, NAMES)[0] == ["0.013*", "0.13"]
    assert cells_by_place(holm, NAMES)[0] == ["0.023*", "0.25"]
    assert "McNemar&#x27;s exact test" in exact and "continuity correction" in chi_square and "by Holm" in holm
    assert html.count("<details>") == 2 and "&lt;title&gt;" in html and "<td>a / b</td>" in html
    assert "log ratio" not in html and "trust the interval" in html


def test_runs_without_right_and_wrong_answers_have_their_own_test():
    found = with_holm([pair("a", "b", [A, B], outcomes=False)])
    shown = figures(comparison_page("x", Comparison("F1", found)))
    assert len(shown) == 2 and "Wilcoxon" in shown[0] and "chi-square" not in "".join(shown)


def test_several_settings_have_no_figures_and_what_is_left_out_is_told():
    found = [one | {"config": "easy", "k": k} for k in (2, 5) for one in compared().pairs[:1]]
    html = comparison_page("x", Comparison("success", found, left_out=["only a has <k>"]))
    assert not figures(html) and "only a has &lt;k&gt;" in html and "easy, 5" in html
    assert len(figures(comparison_page("x", Comparison("success", found[:1])))) == 3
