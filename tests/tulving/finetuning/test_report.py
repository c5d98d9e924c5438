"""What a training shows: which bins were trained, and numbers that are those of the epochs' runs."""

from types import SimpleNamespace

import pytest

from epbench.tulving.finetuning.material import TrainingQuestion
from epbench.tulving.finetuning.measures import GROUPS, figure, html_report, scores_of, tables, what_was_trained

STEP = {"step": 1, "epoch": 1, "seconds": 1.0, "tokens": 10, "learned": 5, "loss": 2.0}
IDENTITY = {"method": "tulving_qa", "model": "hf:<b>"}
RUN = {"identity": IDENTITY, "command": "x", "python": "3", "platform": "p", "versions": {}}
BINS = ("0", "1", "2")


def record(epoch, value):
    """An epoch with this F1 in every bin; None for one without any answer."""
    complete = value is not None
    group = {"n": 4, "n_failed": 0 if complete else 4, "f1": value, "bounds": None if complete else [0.0, 1.0]}
    run = {
        "f1_by_bin": dict.fromkeys(BINS, value) if complete else {},
        "n_by_bin": dict.fromkeys(BINS, 4), "n_questions": 12, "n_failed": 0 if complete else 12,
        "simple_recall_score": value, "latest": value, "failed_by_bin": {} if complete else dict.fromkeys(BINS, 4),
        "incomplete": {} if complete else {f"f1_by_bin.{bin_}": [0.0, 1.0] for bin_ in BINS},
        "intervals": {f"f1_by_bin.{bin_}": [value, 1.0] for bin_ in BINS} if complete else {},
        "failures": {} if complete else {"too <i>long</i>": 12},
        "groups": dict.fromkeys(GROUPS, group | {"interval": [value, 1.0] if complete else None}),
        "judge": {"name": "lexical", "prompt_hash": "r", "passport": None}, "corrected": None,
    }  # fmt: skip
    return {"epoch": epoch, "tulving": run, "perplexity": {"trained_answers": 9.5, "held_out": None}, "seconds": {}}


def scores(trained=("b", "c")):
    rows = [{"id": id_, "bin": bin_, "question": f"{id_}?"} for id_, bin_ in zip("abcd", "0112", strict=True)]
    questions = [TrainingQuestion(id_, f"{id_}?", "x") for id_ in (*trained, "e")]
    plan = SimpleNamespace(rows=rows, trained=questions, trained_ids=frozenset(trained))
    return scores_of([record(0, None), record(1, 0.25), record(30, 0.75)], [STEP], plan, "all weights")


def test_it_is_said_which_bins_were_trained():
    found = scores()
    assert found["asked_by_bin"] == {"0": 1, "1": 2, "2": 1} and found["trained_by_bin"] == {"1": 2}
    assert found["n_trained"] == 3 and found["warnings"] == []
    told = " ".join(what_was_trained(found))
    assert "All questions of bin 1 are among them, so this bin shows what was memorised word for word" in told
    assert "No question of bins 2 was trained" in told and "Bin 0 asks for what never happened" in told
    partly = scores(trained=("b",))
    assert "All questions of bin 1" not in " ".join(what_was_trained(partly))
    assert partly["warnings"][0].startswith("of 2 questions of bin 1, 1 are trained word for word")


def test_tables_have_a_row_for_each_epoch():
    bins, groups, perplexities = tables(scores())
    assert bins.head == ["epoch", "0 (4)", "1 (4)", "2 (4)", "simple recall", "latest"]
    assert [row[:3] for row in bins.rows] == [
        ["0", "0.000– 1.000*", "0.000– 1.000*"], ["1", "0.250", "0.250"], ["30", "0.750", "0.750"],
    ]  # fmt: skip
    assert "Epoch 0: 12 of 12 questions have no answer or verdict (12 times too <i>long</i>)." in bins.notes
    assert sum("judge lexical" in note for note in bins.notes) == 1  # of all epochs
    assert groups.head == ["epoch", "trained (4)", "not trained (4)", "never happened (4)", "failed"]
    assert groups.rows[2] == ["30", *["0.750 (0.75–1.00)"] * 3, "0"] and groups.rows[0][-1] == "12"
    assert perplexities.rows[1] == ["1", "9.50", "–"]


def test_the_page_has_the_figure_and_takes_no_text_for_markup():
    found = html_report("run <1>", RUN, scores(trained=("b",)))
    assert "<svg" in found and "Warning: of 2 questions" in found and "all weights" in found
    assert "<i>long" not in found and "hf:<b>" not in found and "run &lt;1&gt;" in found


@pytest.mark.parametrize("trained", [("b", "c"), ()])
def test_the_figure_marks_trained_bins_and_no_epoch(trained):
    drawn = figure(scores(trained))
    assert ("bin 1, trained" in drawn) == bool(trained) and "bin 0" in drawn
    assert "episodic" not in drawn and "trained answers" in drawn
