"""The method as a library: what is prepared, asked and scored, without a script."""

from dataclasses import replace

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.reader import Oracle
from epbench.booksort.evaluate import prepare, run
from epbench.booksort.evaluation import Evaluation
from epbench.errors import BadInput
from epbench.runs.folder import read_run

PACK = load_prompts()


@pytest.fixture(scope="module")
def evaluation(dataset):
    return Evaluation(dataset=dataset, model=Oracle(PACK), memory="in-context", pack=PACK, limit=8)


def test_a_run_is_prepared_asked_scored_and_shown_again(evaluation, tmp_path):
    prepared = prepare(evaluation)
    assert not list(tmp_path.iterdir()) and prepared.plan[0] == "8 requests over 2 contexts" and not prepared.warnings
    done = run(prepared, tmp_path / "r")
    assert (done.label, done.scores["accuracy"], done.choice) == ("in-context, oracle", 1.0, None)
    assert done.notes[-1] == f"report: {tmp_path / 'r/report.html'}"
    again = run(prepare(evaluation), tmp_path / "r")
    assert (again.scores, again.notes) == (done.scores, done.notes)


def test_a_later_start_asks_more_and_the_run_says_so(evaluation, tmp_path):
    for limit in (8, 16):
        done = run(prepare(replace(evaluation, limit=limit)), tmp_path / "r")
        assert done.scores["n_questions"] == limit and read_run(tmp_path / "r")["limit"] == limit


def test_a_prompt_is_chosen_on_pairs_that_are_not_asked(evaluation, tmp_path):
    prepared = prepare(replace(evaluation, choose="prompt"))
    assert prepared.sweep.keys() == PACK.prompts.keys() and len(prepared.requests) == 8
    assert not {pair.id for pair in prepared.held_out} & {pair.id for pair in prepared.pairs}
    done = run(prepared, tmp_path / "r")
    assert done.choice["prompt"] in PACK.prompts and prepared.identity["prompt"] == "selected"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"choose": "reading"}, "chooses how passages are presented"),
        ({"choose": "prompt", "split": "validation"}, "so another one must be scored"),
    ],
)
def test_what_does_not_go_together_is_refused(evaluation, more, message):
    with pytest.raises(BadInput, match=message):
        prepare(replace(evaluation, **more))
