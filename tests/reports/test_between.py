import pytest

from epbench.reports.comparison import between_parts, memory_of, point


def run(between, system="mem0", **more):
    return {"system": system, "model": "m", **({"between": between} if between else {}), **more}


def test_runs_that_differ_in_tokens_give_a_curve_for_each_memory():
    points = [point(run(n), 0.9 - n / 10_000, [0.5, 0.95]) for n in (5000, 0)]
    points.append(point(run(0, "none"), None, None, [0.25, 0.5]))
    page, numbers = between_parts(points, "success")
    assert page.count("<svg") == 1 and "tokens of unrelated text" in page and "<td>mem0, m</td>" in page
    assert "| mem0, m | 0.900 | 0.400 |" in numbers and "| none, m | 0.250–0.500 (incomplete) | – |" in numbers
    assert between_parts(points[1:], "success") == ("", "")


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ({"memory": "in-context"}, "in-context"),
        ({"memory": "in-context", "between": 5000}, "in-context, after 5,000 tokens"),
        ({"memory": "mem0", "stored": "book", "between": 9}, "mem0 (whole books), after 9 tokens"),
        (run(0), "mem0"),
        ({}, ""),
    ],
)
def test_a_run_after_unrelated_text_has_a_memory_of_its_own(identity, name):
    assert memory_of(identity) == name
