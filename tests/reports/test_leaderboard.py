import pytest

from epbench.reports.leaderboard import BELOW, Standing, bounded, by_board, leaderboard, score_of


def standing(label, score, second=0.5, source="own", floor=0.2, interval=None, bounds=None, **more):
    scores = {"s": score_of(score, interval, bounds), "t": score_of(second)}
    more = {"ceilings": {"s": 1.0, "t": 1.0}} | more
    return Standing(label, source, f"runs/{label}", label, "rag", "j", scores, {"s": floor, "t": 0.0}, **more)


COLUMNS = {"first": "s", "second": "t"}


def board(*standings):
    return leaderboard("Leaderboard", "All", standings, COLUMNS)


def test_rows_are_ranked_by_the_first_score_and_share_ranks():
    own = [standing(name, score) for name, score in (("c", 0.4), ("b", 0.4), ("d", 0.3))]
    rows = board(*own, standing("a", 0.9, source="reported")).table.rows
    assert [(row[0], row[1]) for row in rows] == [("1", "a (reported)"), ("2", "b"), ("2", "c"), ("4", "d")]


def test_an_incomplete_score_is_a_range_without_a_rank_at_the_end():
    found = board(standing("lost", None, bounds=[0.1, 0.95]), standing("a", 0.3))
    assert [row[0] for row in found.table.rows] == ["1", "–"]
    assert found.table.rows[1][3] == "0.100 to 0.950"
    assert found.records[1]["s_mean"] is None and found.records[1]["s_highest"] == 0.95


def test_a_cell_below_its_floor_is_marked():
    found = board(standing("low", 0.1), standing("at", 0.2), standing("range", None, bounds=[0.0, 0.19]))
    cells = {row[1]: row[3] for row in found.table.rows}
    assert BELOW in cells["low"] and BELOW not in cells["at"] and BELOW in cells["range"]
    assert [record["s_below_floor"] for record in found.records] == [0, 1, 1]


def test_every_row_has_a_floor_a_ceiling_a_judge_and_where_it_comes_from():
    (row,) = board(standing("a", 0.5, second=None, interval=[0.4, 0.6])).table.rows
    assert list(row[3:]) == ["0.500 (0.400–0.600)", "–", "0.200", "1.000", "j", "runs/a"]


BOUNDS = """
0.2 1.0
0.2 1.0 none=0.1
0.3 1.0 none=0.3 other=0.6
0.2 0.8 first=0.8
0.2 0.7 first=0.7 second=0.9
0.2 0.9 second=0.9
0.2 1.0 none=failed first=failed
"""
"""A floor and a ceiling, and the scores of the baselines that set them."""


@pytest.mark.parametrize("line", BOUNDS.strip().splitlines())
def test_baselines_that_share_the_model_bound_a_row(line):
    floor, ceiling, *of = line.split()
    floor, ceiling = float(floor), float(ceiling)
    baselines = {name: None if mean == "failed" else float(mean) for name, mean in (one.split("=") for one in of)}
    rows = [standing("a", 0.5, alike={"s": "m"})]
    rows += [standing(name, mean, baseline=name, alike={"s": "m"}) for name, mean in baselines.items()]
    rows += [standing(name, 0.99, baseline=name, alike={"s": "another model"}) for name in ("none", "first")]
    found = bounded([*rows, standing("reported", 0.5, alike={})], ["first", "second"])
    assert (found[0].floors, found[0].ceilings) == ({"s": floor, "t": 0.0}, {"s": ceiling, "t": 1.0})
    assert all(row.ceilings["s"] == 1 for row in found if row.baseline in ("first", "second"))
    assert (found[-1].floors["s"], found[-1].ceilings["s"]) == (0.2, 1.0)


def test_datasets_of_one_name_have_a_leaderboard_each():
    runs = [("long", "a" * 9), ("short", "c"), ("long", "b" * 9), ("long", "a" * 9)]
    first, short, second, again = runs
    named = {"Leaderboard, long, aaaaaa": [first, again], "Leaderboard, short": [short]}
    assert by_board(runs, lambda run: run) == named | {"Leaderboard, long, bbbbbb": [second]}


def test_rows_about_other_questions_are_ranked_apart():
    rows = board(standing("a", 0.9), standing("b", 0.5), standing("c", 0.7, about="others")).table
    assert [(row[0], row[1], row[3]) for row in rows.rows] == [("1", "a", ""), ("2", "b", ""), ("1", "c", "others")]
    assert "about" in rows.head and any("ranked apart" in note for note in rows.notes)


def test_a_row_that_was_asked_fewer_questions_has_no_rank_however_high_its_score():
    asked = [standing(name, mean, n_asked=450) for name, mean in (("low", 0.3), ("high", 0.6))]
    lost, paper = standing("lost", None, n_asked=450, bounds=[0.1, 0.9]), standing("paper", 0.4, source="reported")
    found = board(standing("trial", 1.0, n_asked=3), *asked, lost, paper)
    ranked = [("1", "high", "450"), ("2", "paper (reported)", "–"), ("3", "low", "450")]
    ranked += [("–", "lost", "450"), ("–", "trial", "3")]
    assert [(row[0], row[1], row[3]) for row in found.table.rows] == ranked
    assert found.table.head[3] == "questions" and any("asked fewer" in note for note in found.table.notes)
    alike = board(standing("a", 0.5, n_asked=450), standing("b", 0.3, n_asked=450)).table
    assert "questions" not in alike.head and not any("asked fewer" in note for note in alike.notes)
    apart = board(standing("a", 0.5, n_asked=450), standing("b", 0.3, n_asked=9, about="others")).table
    assert [row[0] for row in apart.rows] == ["1", "1"]  # about other questions, there are fewer of them
