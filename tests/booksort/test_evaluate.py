"""The method as a library: what is prepared, asked and scored, without a script."""

from dataclasses import replace

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.reader import Oracle
from epbench.booksort.evaluate import prepare, run
from epbench.booksort.evaluation import Evaluation
from epbench.runs.folder import read_run


def test_a_run_is_prepared_asked_scored_and_shown_again(dataset, tmp_path):
    pack = load_prompts()
    evaluation = Evaluation(dataset=dataset, model=Oracle(pack), memory="in-context", pack=pack, limit=8)
    prepared = prepare(evaluation)
    assert not list(tmp_path.iterdir()) and prepared.plan[0] == "8 requests over 2 contexts" and not prepared.warnings
    done = run(prepared, tmp_path / "r")
    assert (done.label, done.scores["accuracy"], done.choice) == ("in-context, oracle", 1.0, None)
    assert done.notes[-1] == f"report: {tmp_path / 'r/report.html'}"
    again = run(prepare(evaluation), tmp_path / "r")
    assert (again.scores, again.notes) == (done.scores, done.notes)

    more = run(prepare(replace(evaluation, limit=16)), tmp_path / "r")  # a later start asks more, and the run says so
    assert more.scores["n_questions"] == 16 and read_run(tmp_path / "r")["limit"] == 16
