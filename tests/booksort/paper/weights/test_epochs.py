"""Figures 15, 16, 17 and 20 and Appendix F.5: every cell by epoch is what the journals say."""

import json

import pytest

from epbench.booksort.paper.inputs import read_inputs
from epbench.booksort.paper.weights import accuracy, log_ratio, make, perplexity, readout
from epbench.booksort.paper.weights.trainings import read_training
from epbench.errors import BadInput
from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import drawing, svg
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import mostly_right
from tests.booksort.paper.made_trainings import make_training
from tests.booksort.sort_set import write_set

READOUT = {"n": 48, "accuracy": 0.5, "interval": [0.36, 0.64], "by_group": {"101": 0.25, "102": 0.75}}
REPORTED = ReportedRow("Paper", "Appendix F.5", "SORT", "L8", "books, epoch 1", {"accuracy": 0.9}, {}, {}, {})
SURPRISE = ReportedRow("Paper", "Appendix F", "7", "L8", "books, before", {"perplexity": 9.9}, {}, {}, {}, "Once.")


def half_failed(pair):
    return {"answer": "", "failure": "no answer"} if pair.book_idx == 101 else mostly_right(0.8)(pair)


def unlabelled(pair):
    return {"answer": f"Segment {pair.answer} is first"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trainings")
    dataset = write_set(folder / "booksort")
    plans = {0: mostly_right(0.4, "e0"), 1: mostly_right(0.9, "e1"), 2: half_failed}
    books = make_training(folder / "books", dataset, plans, readout={1: READOUT, 2: READOUT | {"accuracy": 0.75}})
    control = make_training(
        folder / "control", dataset, {0: plans[0], 1: mostly_right(0.5, "c1")}, control="instructions", kinds=["sort"]
    )
    return [books, control]


@pytest.fixture(scope="module")
def trainings(folders):
    return [read_training(folder, folder.name) for folder in folders]


def picture(exhibit):
    with drawing():
        return svg(exhibit.draw())


def epochs(folder):
    return [json.loads(line) for line in (folder / "measures.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", ["sort", "sort-in-context"])
def test_accuracies_are_those_of_the_answers(trainings, folders, kind):
    if kind == "sort":
        shown, made, reported = accuracy.figure_17(trainings), [("books", 3), ("control", 2)], []
    else:
        shown, made, reported = accuracy.in_context(trainings[:1], [REPORTED]), [("books", 3)], [REPORTED]
    own = [record for record in shown.records if record["source"] == "own"]
    assert [(record["training"], record["epoch"]) for record in own] == [(n, e) for n, k in made for e in range(k)]
    assert [record["trained"] for record in own] == ["books"] * 3 + ["instructions"] * (len(own) - 3)
    rows = shown.table.rows[len(reported) :]
    for record, row in zip(own, rows, strict=True):
        run = folders[0].parent / record["training"] / f"measures/epoch-{record['epoch']}/{kind}"
        found, pairs = plain.judged(run), plain.pairs_of(run)
        answered = [right for right in found.values() if right is not None]
        assert (record["n"], record["n_failed"]) == (len(answered), len(found) - len(answered))
        assert row[:3] == ["tiny", record["training"], str(record["epoch"])]
        assert row[-2:] == [str(len(answered)), str(len(found) - len(answered))]
        assert record["label_mass"] == pytest.approx(0.95) and row[5].startswith("0.950")
        if record["n_failed"]:
            ends = sum(answered) / len(found), (sum(answered) + record["n_failed"]) / len(found)
            assert (record["if_failed_wrong"], record["if_failed_right"]) == pytest.approx(ends)
            assert record["accuracy"] is record["low"] is record["high"] is record["greedy_accuracy"] is None
            assert row[3] == f"{ends[0]:.2f}–{ends[1]:.2f} (incomplete)"
            continue
        excerpts = [(pairs[id_].book_idx, pairs[id_].excerpt_idx) for id_ in found]
        assert record["accuracy"] == record["greedy_accuracy"] == pytest.approx(plain.mean(answered))
        assert (record["low"], record["high"]) == pytest.approx(plain.interval(answered, excerpts), abs=0.05)
        half = (record["high"] - record["low"]) / 2
        assert row[3:5] == [f"{plain.mean(answered):.3f} ± {half:.3f}", f"{plain.mean(answered):.3f}"]
    if reported:
        assert shown.table.rows[0][:4] == ["L8 (reported)", "books", "1", "0.900"]
        assert shown.records[0]["accuracy"] == 0.9 and shown.records[0]["n"] is None
    assert "books" in picture(shown)


def test_perplexities_are_those_of_the_journal(trainings, folders):
    shown = perplexity.figure_16(trainings, [SURPRISE])
    expected = [
        (folder.name, record["epoch"], name, value)
        for folder in folders
        for record in epochs(folder)
        for name, value in record["perplexity"].items()
    ]
    own = [record for record in shown.records if record["source"] == "own"]
    assert [(r["training"], r["epoch"], r["text"], r["perplexity"]) for r in own] == expected
    values = [value for *_, value in expected]
    cells = [cell for row in shown.table.rows[:-1] for cell in row[3:]]
    assert shown.table.head[3:] == ["segments", "books", "held out"] and cells == [f"{v:.2f}" for v in values]
    assert shown.table.rows[-1] == ["L8 (reported)", "books, before", "–", "–", "9.90", "–"]
    assert any("of book 7 alone. Once." in note for note in shown.table.notes)
    assert "perplexity of books" in picture(shown)


def test_a_text_without_tokens_has_a_dash(tmp_path):
    dataset = write_set(tmp_path / "booksort")
    values = {0: {"segments": 5.0, "books": None}, 1: {"segments": 4.0, "books": None}}
    made = make_training(
        tmp_path / "t", dataset, {0: mostly_right(0.5), 1: mostly_right(0.5)}, perplexity=values, kinds=["sort"]
    )
    shown = perplexity.figure_16([read_training(made, "t")], [])
    assert [row[3:] for row in shown.table.rows] == [["5.00", "–"], ["4.00", "–"]]
    assert [record["perplexity"] for record in shown.records] == [5.0, None, 4.0, None]
    picture(shown)


def test_read_outs_are_those_of_the_journal(trainings, folders):
    assert [readout.has_readout(training) for training in trainings] == [True, False]
    shown = readout.figure_15(trainings[:1])
    expected = []
    for record in epochs(folders[0])[1:]:
        found = record["readout"]
        expected.append((record["epoch"], None, found["accuracy"], *found["interval"], found["n"]))
        expected += [(record["epoch"], book, value, None, None, 24) for book, value in found["by_group"].items()]
    names = ("epoch", "book", "accuracy", "low", "high", "n")
    assert [tuple(record[name] for name in names) for record in shown.records] == expected
    assert [row[2:] for row in shown.table.rows] == [
        ["1", "0.500", "0.36–0.64", "48", "0.250", "0.750"],
        ["2", "0.750", "0.36–0.64", "48", "0.250", "0.750"],
    ]
    assert "book that was held out" in picture(shown)


def test_log_ratios_are_those_of_the_answers(trainings, folders):
    shown = log_ratio.figure_20(trainings)
    for record, row in zip(shown.records, shown.table.rows, strict=True):
        run = folders[0].parent / record["training"] / f"measures/epoch-{record['epoch']}/sort"
        found, pairs = plain.log_ratios(run), plain.pairs_of(run)
        assert (record["n"], record["n_asked"]) == (len(found), len(pairs))
        assert record["log_ratio"] == pytest.approx(plain.mean(list(found.values())))
        excerpts = [(pairs[id_].book_idx, pairs[id_].excerpt_idx) for id_ in found]
        ends = plain.interval(list(found.values()), excerpts)
        assert (record["low"], record["high"]) == pytest.approx(ends, abs=0.08)
        lost = f" (of {len(found)} of {len(pairs)})" if len(found) < len(pairs) else ""
        assert row[3] == f"{plain.mean(list(found.values())):.3f}{lost}"
        assert row[4] == f"{record['low']:.3f} to {record['high']:.3f}"
    assert [record["n"] for record in shown.records] == [48, 48, 24, 48, 48]
    assert len(shown.table.notes) == 2 and "chance" in picture(shown)


def test_all_figures_are_made_in_the_order_of_the_paper(folders):
    made = make.exhibits(read_inputs(folders, reported=()).trainings, [REPORTED, SURPRISE])
    last = ["Appendix F.5", "Appendix F.5, differences"]
    assert [one.name for one in made] == [*(f"Figure {n}" for n in range(15, 21)), *last]
    assert all(isinstance(one, Exhibit) for one in made)
    in_context = made[-1].records  # only the training on the books was asked in-context
    assert [(record["first"], record["second"]) for record in in_context] == [
        ("before training", "books, epoch 1"), ("before training", "books, epoch 2"),
        ("books, epoch 1", "books, epoch 2"),
    ]  # fmt: skip
    runs = [folders[0] / f"measures/epoch-{epoch}/sort-in-context" for epoch in (0, 1)]
    first, second = (plain.judged(run) for run in runs)
    wins = sum(first[id_] > second[id_] for id_ in first)
    losses = sum(first[id_] < second[id_] for id_ in first)
    assert in_context[0]["p"] == pytest.approx(plain.mcnemar(wins, losses))


def test_what_is_missing_is_said(tmp_path):
    made = make.exhibits((), ())
    assert [one.name for one in made] == [*(f"Figure {n}" for n in range(15, 21)), "Appendix F.5"]
    assert all(isinstance(one, Missing) and one.needs.startswith("a training of a model on the books") for one in made)
    dataset = write_set(tmp_path / "booksort")
    alone = make_training(tmp_path / "one", dataset, {0: unlabelled}, kinds=["sort"])
    made = {one.name: one for one in make.exhibits(read_inputs([alone], reported=()).trainings, ())}
    missing = {name: one.needs for name, one in made.items() if isinstance(one, Missing)}
    assert list(missing) == ["Figure 15", "Figure 18", "Figure 19", "Figure 20", "Appendix F.5"]
    assert missing["Figure 18"] == "at least two measured checkpoints of tiny"


def test_answers_without_probabilities_have_no_log_ratio(tmp_path):
    dataset = write_set(tmp_path / "booksort")
    folder = make_training(tmp_path / "t", dataset, {0: unlabelled, 1: unlabelled}, kinds=["sort"])
    made = {one.name: one for one in make.exhibits(read_inputs([folder], reported=()).trainings, ())}
    assert isinstance(made["Figure 18"], Exhibit) and made["Figure 18"].records[0]["p"] == 1.0
    assert made["Figure 19"].needs == "a training of tiny whose answers have probabilities"
    assert "whose answers have probabilities" in made["Figure 20"].needs


def test_a_training_without_measures_is_refused(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"identity": {"benchmark": "finetuning", "method": "sort_lm"}}))
    with pytest.raises(BadInput, match="expected the measures of at least one epoch"):
        read_training(tmp_path, "t")
