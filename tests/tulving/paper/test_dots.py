"""Points with intervals, by run."""

from epbench.reports.figures import drawing, svg
from epbench.tulving.paper.dots import Series, dots


def drawn(rows, series):
    with drawing():
        return svg(dots(rows, series, "F1"))


def test_rows_and_runs_are_named_as_text_and_the_bytes_are_the_same():
    series = [Series("$a$ <b>", [(0.5, (0.4, 0.6)), None]), Series("_hidden", [(None, None), (0.9, None)])]
    picture = drawn(["one", "two"], series)
    for text in ("$a$ &lt;b&gt;", "_hidden", "one", "two", "F1"):
        assert text in picture
    assert drawn(["one", "two"], series) == picture


def points(series):
    """The marks of the points and their values, without the ends of the error bars."""
    lines = dots(["r", "s", "t"], series, "F1").axes[0].lines
    return [(line.get_marker(), list(line.get_xdata())) for line in lines if line.get_marker() in list("osD^")]


def test_runs_differ_in_their_marks():
    found = points([Series(str(i), [(0.5, None), None, None]) for i in range(4)])
    assert found == [("o", [0.5]), ("s", [0.5]), ("D", [0.5]), ("^", [0.5])]


def test_what_is_not_there_is_not_drawn():
    assert points([Series("a", [None, (None, None), (0.25, (0.2, 0.3))])]) == [("o", [0.25])]
