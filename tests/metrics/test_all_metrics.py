"""One walk over all metric folders, also with odd values: a new metric gets these tests for free."""

from __future__ import annotations

import doctest
import inspect
import os
import random
import re
import shutil
import subprocess
import sys
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.metric_folders import formulas, metric_names, metric_path, metrics_root
from tests.metrics.metric_classes import module_of, new_metric
from tests.reference_cases import SCORING, with_published

GOOD: dict[str, dict[str, Any]] = {
    "episodic_f1": {
        "predictions": ["May 7, 2024"], "references": ["May 07, 2024"], "matching_scores": [1.0], "bins": "1",
    },
    "episodic_kendall_tau": {"predictions": ["a", "b"], "references": ["b", "a"]},
    "memory_failures": {"predictions": "correct", "groups": "2"},
    "sort_accuracy": {"predictions": "A", "references": "B", "groups": "near", "clusters": "one", "scores": 0.25},
}  # fmt: skip
"""By metric and column, a value of one row that the metric computes."""


def required_columns(name: str) -> list[str]:
    """The columns without which a metric computes nothing: its features."""
    return list(new_metric(name)._info().features)


def columns_of(name: str) -> list[str]:
    """All columns of a metric: the required ones, then those that may be left out."""
    return [*inspect.signature(new_metric(name)._compute).parameters]


def good_values(name: str) -> dict[str, Any]:
    """A good value for each column of a metric."""
    columns, good = columns_of(name), GOOD.get(name, {})
    assert set(good) == set(columns), f"{name} in {__file__}: a new metric needs good values here, of {columns}"
    return good


# The code of the paper removes repeats among the items of an answer when it reads them, before this function of it.
WITHOUT_REPEATS = {"duplicated predicted items": {"f1_score_lenient": 2 / 3, "precision_lenient": 1.0, "recall": 0.5}}
CARD_SECTIONS = ("Metric description", "How to use", "Inputs", "Output values", "Examples", "Limitations", "Citation")


@pytest.mark.parametrize("name", metric_names())
def test_doctests_pass(name, monkeypatch):
    monkeypatch.chdir(metrics_root())  # where `evaluate.load(name)` finds the folder, as it finds the Space on the Hub
    module = formulas(name)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    own = [f for f in vars(module).values() if getattr(f, "__module__", None) == module.__name__]
    texts = [module_of(name)._KWARGS_DESCRIPTION, *(f.__doc__ or "" for f in own if not inspect.isclass(f))]
    for text in texts:
        runner.run(parser.get_doctest(text, dict(vars(module)), name, None, 0))
    result = runner.summarize()
    assert result.failed == 0 and result.attempted >= 3


@pytest.mark.parametrize("name", metric_names())
def test_folder_is_complete(name):
    folder = metric_path(name)
    assert {"README.md", "index.html", "requirements.txt"} <= {path.name for path in folder.iterdir()}
    card = (folder / "README.md").read_text("utf-8")
    assert card.startswith("---\ntitle: ") and "sdk: static" in card and "app_file: index.html" in card
    assert [section for section in CARD_SECTIONS if not re.search(rf"^##+ {section}", card, re.MULTILINE)] == []


@pytest.mark.parametrize("name", metric_names())
def test_arguments_are_named_and_described(name):
    parameters = inspect.signature(new_metric(name)._compute).parameters.values()
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters)
    described = module_of(name)._KWARGS_DESCRIPTION
    assert all(f"{p.name} (" in described or f"{p.name}, " in described for p in parameters if p.name != "self")


@pytest.mark.slow
@pytest.mark.parametrize("name", metric_names())
def test_a_copy_of_the_folder_runs_without_this_package(name, tmp_path, hf_home):
    folder = shutil.copytree(metric_path(name), tmp_path / name)
    columns = {column: [value] for column, value in good_values(name).items()}
    code = (
        f"import sys; sys.modules['epbench'] = None; import evaluate; folder, columns = {str(folder)!r}, {columns!r}\n"
    )
    code += "print(evaluate.load(folder).compute(**columns))"
    env = os.environ | {"HF_HOME": str(hf_home)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(new_metric(name).compute(**columns))


def test_cases_of_the_reference_are_reproduced_and_clipped():
    metric, checked = new_metric("episodic_f1"), 0
    assert formulas("episodic_f1").lenient_f1(1, 3, 3.0) == (3.0, 1.0, 1.5)  # before clipping
    for case in with_published(SCORING, "scoring_cases.json"):
        if case["function"] != "generate_metric(policy=remove_duplicates)" or "error" in case:
            continue
        given, expected = case["input"], case["output"]
        pairs = [pair for entry in given["evaluation"]["matching_score"] for pair in entry.items()]
        scores = [score for _, score in pairs]
        if any(isinstance(score, (str, bool)) or not 0 <= score <= 1 for score in scores):
            with pytest.raises(ValueError):
                metric.compute(predictions=[["x"]], references=[["a"] * len(scores)], matching_scores=[scores])
            continue
        if len(scores) != len(given["correct_answer"]):
            continue
        items, truth = given["evaluation"]["identified_items_in_AI_answer"], given["correct_answer"]
        result = metric.compute(predictions=[items], references=[truth], matching_scores=[scores])["per_question"][0]
        for ours, theirs in (("f1", "f1_score_lenient"), ("precision", "precision_lenient"), ("recall", "recall")):
            value = WITHOUT_REPEATS.get(case["case"], expected)[theirs]
            assert result[ours] == (None if value is None else pytest.approx(min(1.0, value), abs=1e-12)), case["case"]
        checked += 1
    assert checked >= 13


@pytest.mark.parametrize(
    "written",
    [
        "Tuesday, May 7, 2024", "Tue, 7 May 2024", "TUES. MAY 7TH 2024", "Tuesday the 7th of May, 2024", "Tuesday 2024-05-07",
        "May 7, 2024", "7 May 2024", "the 7th of May, 2024", "May 7th, 2024", "2024-05-07", "07-May-2024", "May 07,2024", "**May 7, 2024**",
    ],
)  # fmt: skip
def test_a_date_is_the_same_item_in_every_usual_form(written):
    metric = new_metric("episodic_f1")
    assert metric.compute(predictions=[[written]], references=[["May 07, 2024"]])["f1"] == 1
    assert metric.compute(predictions=[[written]], references=[["May 08, 2024"]])["f1"] == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [("Sept. 3, 2026", "September 03, 2026"), ("CAFÉ  Zoë", "café zoë"), ("“Post-It!”", "post it"), ("ﬁre", "fire")],
)
def test_other_items_are_equal_after_normalisation_too(one, other):
    assert formulas("episodic_f1").normalise(one) == formulas("episodic_f1").normalise(other)


@pytest.mark.parametrize("item", ["Tuesday", "Taco Tuesday", "Sunday Market", "Friday 13", "Monday Club 2024"])
def test_a_day_of_the_week_that_is_no_part_of_a_date_is_kept(item):
    normalise = formulas("episodic_f1").normalise
    assert normalise(item) == item.casefold()


def test_kendall_of_the_reference_is_reproduced():
    tau = formulas("episodic_kendall_tau").tau_if_all_found
    metric = new_metric("episodic_kendall_tau")
    for case in with_published(SCORING, "scoring_cases.json"):
        if case["function"].startswith("kendall"):
            given, expected = case["input"], case["output"]
            if not expected["included_gt_len_ge_2"]:
                continue
            found = tau([str(i) for i in given["predicted_indexes"]], [str(i) for i in given["groundtruth_indexes"]])
            assert found == (pytest.approx(expected["tau"]) if expected["counts_as_total_match"] else None), case
        elif case["function"] == "compute_kendall_summarise" and "output" in case:
            said, true = (
                [list(map(str, row)) for row in column] for column in zip(*case["input"]["rows"], strict=True)
            )
            result = metric.compute(predictions=said, references=true)
            assert result["n_questions"] == case["output"]["#gt_with_len_2+"]
            n = case["output"]["#exact_match_set_gt_with_pred"]
            assert result["all_matched"] * result["n_questions"] == pytest.approx(n)


ITEMS = st.lists(st.sampled_from(["May 7, 2024", "May 07, 2024", "a", "b", "Book Fair", "“Book Fair”"]), max_size=4)


class TestEpisodicF1:
    metric = new_metric("episodic_f1")

    def test_repeats_are_judged_after_normalisation_without_scores_only(self):
        spelled = {"predictions": [["May 7, 2024", "May 07, 2024", "x"]], "references": [["May 07, 2024", "y", "z"]]}
        assert self.metric.compute(**spelled)["precision"] == 0.5
        assert self.metric.compute(**spelled, matching_scores=[[1, 0, 0]])["precision"] == pytest.approx(1 / 3)

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(ITEMS, ITEMS, st.integers(0, 2**32)), min_size=1, max_size=8), st.booleans())
    def test_columns_in_memory_and_rows_from_a_file_get_the_same_numbers_as_the_formula_one_by_one(self, rows, scored):
        predictions, references = [list(row[0]) for row in rows], [list(row[1]) for row in rows]
        scores = [[(seed >> i) % 5 / 4 for i in range(len(true))] for _, true, seed in rows] if scored else None
        columns = {"predictions": predictions, "references": references}
        added = {"matching_scores": scores} if scored else {}
        direct = self.metric.compute(**columns, **added)
        filed = new_metric("episodic_f1")
        filed.add_batch(**columns)
        assert filed.compute(**added) == direct
        normal, formula = formulas("episodic_f1").normalise, formulas("episodic_f1").lenient_f1
        for i, row in enumerate(direct["per_question"]):
            if scores is None:
                said, true = set(map(normal, predictions[i])), set(map(normal, references[i]))
                expected = formula(len(said), len(true), float(len(said & true)))
            else:
                first = dict(reversed(list(zip(references[i], scores[i], strict=True))))
                expected = formula(len(set(predictions[i])), len(first), sum(first.values()))
            for name, value in zip(("precision", "recall", "f1"), expected, strict=True):
                assert row[name] == (None if value is None else pytest.approx(min(1.0, value), abs=1e-12))

    def test_the_first_score_of_a_repeated_true_item_counts(self):
        columns = {"predictions": [["a", "b"]], "references": [["a", "b", "a"]]}
        assert self.metric.compute(**columns, matching_scores=[[1, 0.5, 0]])["recall"] == 0.75

    def test_by_bin_and_simple_recall(self):
        columns = {"predictions": [[], ["x"], ["a"], ["b"]], "references": [[], [], ["a"], ["a"]]}
        result = self.metric.compute(**columns, bins=["0", "0", "1", "2"])
        assert result["f1_by_bin"] == {"0": 0.5, "1": 1.0, "2": 0.0}
        assert result["simple_recall_score"] == 0.5

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"matching_scores": [[1], [1]]}, "matching_scores: expected 1 rows, as many as predictions, found 2"),
            ({"matching_scores": [[1, 1]]}, "row 0: expected 1 scores, one per true item, found 2"),
            ({"matching_scores": [[float("nan")]]}, "expected numbers from 0 to 1, found nan"),
            ({"matching_scores": [None]}, "expected a list of numbers, found None"),
            ({"bins": ["0", "1"]}, "bins: expected 1 rows, as many as predictions, found 2"),
        ],
    )
    def test_messages_name_the_row(self, more, message):
        with pytest.raises(ValueError, match=message):
            self.metric.compute(predictions=[["a"]], references=[["a"]], **more)


@given(st.text(max_size=80))
def test_words_are_what_letters_and_digits_make(text):
    words_of = formulas("episodic_f1").words_of
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert words_of(text) == " ".join("".join(c if c.isalnum() else " " for c in folded).split())
    assert words_of(text + " " * 1_000) == words_of(text)


VALUES = [
    None, True, 0, 1, -1, 0.5, 1e400, float("nan"), 10**400, 1j, "", "A", "B", "correct", "May 7, 2024", "\ud83d", "0", b"A",
    [], [None], ["A"], ["A", "B"], ["A", 7], [["A"]], [0.5], [1, 0], [float("nan")], ["0.5"], (), ("A",), {}, {"A": 1}, {0: 1},
    set(), {"A"}, range(2), object(), np.array(["A"]), np.array([0.5, 1.0]), np.array(3), np.array([]), np.float64(0.5),
]  # fmt: skip


def odd_columns(name: str, chance: random.Random) -> dict[str, object]:
    """Columns for a metric, some of them odd."""
    n, columns = chance.choice([0, 1, 1, 2, 3]), dict[str, object]()
    good, required = good_values(name), required_columns(name)
    for column in columns_of(name):
        if column not in required and chance.random() < 0.5:
            continue
        columns[column] = [chance.choice(VALUES) if chance.random() < 0.3 else good[column] for _ in range(n)]
        if chance.random() < 0.15:
            columns[column] = chance.choice(VALUES)
    return columns


@pytest.mark.parametrize("n", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_odd_values_are_computed_or_value_errors(n):
    chance, computed = random.Random(0), 0
    metrics = {name: new_metric(name) for name in metric_names()}
    for _ in range(n):
        name = chance.choice(metric_names())
        columns = odd_columns(name, chance)
        try:
            metrics[name].compute(**columns)
            computed += 1
        except ValueError:
            metrics[name] = new_metric(name)
        except Exception as error:
            raise AssertionError(f"{name}: {columns}") from error
    assert n / 8 <= computed <= n / 2


@pytest.mark.parametrize("name", metric_names())
def test_good_values_are_computed(name):
    good = {column: [value] for column, value in good_values(name).items()}
    assert new_metric(name).compute(**good)
    assert new_metric(name).compute(**{column: good[column] for column in required_columns(name)})


@pytest.mark.parametrize("name", metric_names())
@pytest.mark.parametrize("column", ["A", 7, {"a": 1}])
def test_a_column_that_is_no_list_is_named(name, column):
    with pytest.raises(ValueError, match="predictions: expected a list with one entry per question, found"):
        new_metric(name).compute(**dict.fromkeys(required_columns(name), column))
