import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from epbench.reports.estimation import paired_estimation_plot
from epbench.reports.figures import drawing, svg
from epbench.reports.ranking import critical_difference_diagram
from epbench.statistics.estimation import paired_estimate
from epbench.statistics.ranks import rank_methods

NASTY = "<b>x</b> $y$"


def texts_of(picture):
    root = ElementTree.fromstring(picture.encode())
    return ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]


@pytest.mark.parametrize("k", [2, 3, 11])
def test_every_method_stands_on_the_diagram_with_its_rank(k):
    random = np.random.default_rng(0)
    values = {f"{NASTY} {i}": (random.random(50) + 0.1 * i).tolist() for i in range(k)}
    ranking = rank_methods(values)
    with drawing():
        texts = " | ".join(texts_of(svg(critical_difference_diagram(ranking))))
    for name, rank in ranking.ranks.items():
        assert name in texts and f"({rank:.2f})" in texts
    assert re.search(r"average rank", texts)


def test_methods_of_one_rank_can_be_drawn():
    ranking = rank_methods({name: [0.5, 0.5, 1.0] for name in "abc"})
    with drawing():
        assert "(2.00)" in " ".join(texts_of(svg(critical_difference_diagram(ranking))))


def test_an_estimation_plot_names_both_runs_and_the_number_of_questions():
    first, second = [0.0, 0.5, 1.0, 0.0], [0.5, 0.5, 1.0, 1.0]
    group = (NASTY, first, "second", second, paired_estimate(first, second, resamples=200))
    with drawing():
        texts = texts_of(svg(paired_estimation_plot({"bin 0": group, "bin 1": group}, "F1")))
    assert texts.count(NASTY) == 2 and "bin 1" in texts and texts.count("n = 4") == 2
