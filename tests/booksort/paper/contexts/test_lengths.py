"""Figures 12 and 14: the accuracy at each length of excerpts and segments is what the answers say."""

import pytest

from epbench.booksort.paper.contexts.lengths import figure_12, figure_14, is_base
from epbench.booksort.paper.inputs import read_runs
from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.reports.figures import drawing, svg
from tests.booksort.paper import plain
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import pair_rows, write_tables

CONFIGS = ((120, 20), (250, 20), (250, 50), (5200, 20))
BASE, TUNED = "hf:meta-llama/Llama-3.2-1B", "vllm:meta-llama/Llama-3.2-1B-Instruct"
RWKV = ReportedRow("Paper", "Appendix E.2", "v", "rwkv", "in-context", {"accuracy": 0.51}, {}, {}, {}, "Other kind.")


def rows(excerpt, segment):
    return [row | {"book_title": "B"} for row in pair_rows(min(excerpt, 2500), segment)]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    tables = {}
    for excerpt, segment in CONFIGS:
        made = [
            row | {"excerpt_length": excerpt, "id": f"{row['id']}-{excerpt}", "excerpt_text": None}
            for row in rows(excerpt, segment)
        ]
        tables[f"e{excerpt}_s{segment}", "test"] = made
    return write_tables(tmp_path_factory.mktemp("set") / "booksort", tables)


def runs(folder, dataset, plan=None):
    plan = plan or mostly_right(0.8, "lengths")
    made = [
        make_run(folder / "base", dataset, plan, memory="in-context", model=BASE),
        make_run(folder / "tuned", dataset, plan, memory="in-context", model=TUNED, configs=["e250_s20"]),
        make_run(folder / "none", dataset, plan, memory="none", model=BASE),
    ]
    return read_runs(made)


def check(shown, run, reported=0):
    own = [record for record in shown.records if record["source"] == "own"]
    pairs, found = plain.pairs_of(run), plain.judged(run)
    assert [(record["excerpt_length"], record["segment_length"]) for record in own] == list(CONFIGS)
    p_values = []
    for record in own:
        lengths = record["excerpt_length"], record["segment_length"]
        inside = [id_ for id_, pair in pairs.items() if (pair.excerpt_length, pair.segment_length) == lengths]
        right = [found[id_] for id_ in inside]
        excerpts = [(pairs[id_].book_idx, pairs[id_].excerpt_idx) for id_ in inside]
        assert record["accuracy"] == record["greedy_accuracy"] == pytest.approx(plain.mean(right))
        assert (record["n"], record["n_failed"]) == (len(right), 0) and record["label_mass"] == pytest.approx(0.95)
        assert (record["low"], record["high"]) == pytest.approx(plain.interval(right, excerpts), abs=0.06)
        p_values.append(plain.binomial(sum(right), len(right)))
        assert record["p"] == pytest.approx(p_values[-1])
    corrected = plain.holm(p_values)
    assert [record["p_holm"] for record in own] == pytest.approx(corrected)
    for record, row, p in zip(own, shown.table.rows, corrected, strict=False):
        stars = "**" if p < 0.01 else "*" if p < 0.05 else ""
        half = (record["high"] - record["low"]) / 2
        assert row[:4] == ["base", BASE, f"{record['excerpt_length']:,}", str(record["segment_length"])]
        assert row[4] == f"{record['accuracy']:.3f} ± {half:.3f}{stars}"
        assert row[5:] == [f"{record['accuracy']:.3f}", "0.950", str(record["n"]), "0", f"{record['needed']:.3f}"]
    assert len(shown.table.rows) == len(own) + reported == len(shown.records)
    with drawing():
        picture = svg(shown.draw())
    assert "5,200" in picture and "base, 50 words" in picture


@pytest.mark.slow
def test_figure_12_shows_runs_with_long_excerpts(tmp_path, dataset):
    check(figure_12(runs(tmp_path, dataset)), tmp_path / "base")


@pytest.mark.slow
def test_figure_14_shows_base_models_and_reported_ones(tmp_path, dataset):
    shown = figure_14(runs(tmp_path, dataset), [RWKV])
    check(shown, tmp_path / "base", reported=1)
    assert shown.table.rows[-1] == ["Paper", "rwkv (reported)", "–", "–", "0.51", "–", "–", "–", "–", "–"]
    assert shown.records[-1].keys() == shown.records[0].keys() and shown.records[-1]["n"] is None
    assert shown.table.notes[-1] == "Reported: Paper, Appendix E.2. Other kind."


@pytest.mark.slow
def test_what_is_missing_is_said(tmp_path, dataset):
    tuned = runs(tmp_path, dataset)[1:]
    for found in (figure_12(tuned), figure_14(tuned, [RWKV])):
        assert isinstance(found, Missing) and found.needs.startswith("in-context runs")


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("hf:mistralai/Mistral-7B-v0.1", True), ("vllm:google/gemma-3-1b-pt", True), ("hf:google/gemma-3-1b-it", False),
        ("hf:/models/SmolLM2-135M", True), ("hf:HuggingFaceTB/SmolLM2-135M-Instruct", False), ("oracle", False),
        ("hf:meta-llama/Llama-2-7b-chat-hf", False), ("openai:base", False), ("hf:RWKV/rwkv-raven-7b", False),
    ],
)  # fmt: skip
def test_base_models_are_known_by_their_names(model, base):
    assert is_base(model) is base
