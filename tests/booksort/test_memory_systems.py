"""Book-SORT with a memory system: found both, kept their order, answered right; and what fails."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from epbench.booksort.benchmark import BENCHMARK
from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.reader import Oracle
from epbench.booksort.context.remembered import Remembering
from epbench.booksort.evaluate import prepare, run
from epbench.booksort.evaluation import Evaluation
from epbench.booksort.scores.comparison import compare, write_side_by_side
from epbench.booksort.scores.run_files import read_questions
from epbench.booksort.scores.tables import markdown_table
from epbench.errors import BadInput, NothingToScore
from epbench.files.json_files import read_json
from epbench.memories.between import HEAD
from epbench.runs.benchmark import recompute
from epbench.runs.merge import merge

PACK = load_prompts()
HERE = Remembering(words=30, options={"isolation": "none"})


@pytest.fixture(scope="module")
def evaluation(dataset):
    return Evaluation(
        dataset=dataset, model=Oracle(PACK), memory="full-context", pack=PACK, limit=16, remembering=HERE, configs=["e120_s20"]
    )  # fmt: skip


def planted(evaluation, name, **more):
    return replace(evaluation, memory=f"tests.booksort.planted_memories:{name}", **more)


@pytest.mark.parametrize(("name", "stored"), [("full-context", "excerpt"), ("oracle", "book")])
def test_baselines_that_lose_nothing_are_always_right(evaluation, tmp_path, name, stored):
    prepared = prepare(replace(evaluation, memory=name, remembering=replace(HERE, stored=stored)))
    if stored == "excerpt":
        assert prepared.plan[0] == "20 conversations to tell full-context in 4 stores, 16 retrievals"
    else:
        assert " in 2 stores, 16 retrievals" in prepared.plan[0] and prepared.label == "oracle (whole books), oracle"
    done = run(prepared, tmp_path / "r")
    about = done.scores["retrieval"]
    assert (done.scores["accuracy"], about["both_found"], about["both_verbatim"], about["order_kept"]) == (1, 1, 1, 1)
    assert about["where_not_found"] is None and about["where_both_found"]["accuracy"] == 1


def test_what_a_reader_is_shown_can_be_bounded_and_has_its_price(evaluation, tmp_path):
    free = run(prepare(evaluation), tmp_path / "free").scores
    few = replace(evaluation, remembering=replace(HERE, tokens=70))
    bounded = run(prepare(few), tmp_path / "bounded").scores
    assert bounded["retrieval"]["both_found"] < free["retrieval"]["both_found"] == 1
    price = read_json(tmp_path / "bounded/usage.json")["price"]
    (at_k,) = price["by_k"].values()
    assert 0 < at_k["tokens"] <= 70 and at_k["left_out"] > 0
    assert "memory_tokens" not in read_json(tmp_path / "free/run.json")["identity"]
    assert "memory tokens" in (tmp_path / "bounded/table.md").read_text().lower() or price["store"]
    with pytest.raises(BadInput, match="another run"):
        run(prepare(evaluation), tmp_path / "bounded")


@pytest.mark.parametrize(
    ("name", "found", "verbatim", "in_order"),
    [("Keeps", 1, 1, True), ("Reverses", 1, 1, False), ("OwnWords", 0.9, 0, None), ("Forgets", 0, 0, False)],
)
def test_what_a_system_lost_is_told_apart(evaluation, tmp_path, name, found, verbatim, in_order):
    done = run(prepare(planted(evaluation, name)), tmp_path / "r")
    about, rows = done.scores["retrieval"], read_questions(tmp_path / "r")
    assert found <= about["both_found"] <= round(found) and about["both_verbatim"] == verbatim
    assert about["both_found"] == rows["retrieved_both"].mean() and done.scores["n_failed"] == 0
    apart = rows[rows["distance"] > 40]  # nearer ones may lie in one conversation, which keeps its order
    assert len(apart) >= 8 and (in_order is None or (apart["retrieved_order"] == in_order).all())
    assert (about["order_kept"] is None) == (name == "Forgets")
    if name == "Reverses":  # the reader trusts what it is shown
        assert apart["right"].mean() < 0.5
    assert "found both" in markdown_table({done.label: done.scores})
    assert "word for word" in (tmp_path / "r/report.html").read_text()
    assert any("holds nothing after storing" in warning for warning in done.scores["warnings"]) == (name == "Forgets")


def test_an_error_of_the_system_makes_questions_fail_and_nothing_wrong(evaluation, tmp_path):
    with pytest.raises(NothingToScore, match="the index is gone"):
        run(prepare(planted(evaluation, "Raises")), tmp_path / "all")
    done = run(prepare(planted(evaluation, "RaisesInStoring")), tmp_path / "some")
    rows, told = read_questions(tmp_path / "some"), prepare(planted(evaluation, "RaisesInStoring"))
    lost = {pair.id for pair in told.pairs if 1 in {n for part in told.memory_run.told.parts(pair) for n in part}}
    assert 0 < len(lost) < 16 and set(rows[rows["outcome"] == "failed"]["id"]) == lost
    assert rows[rows["outcome"] == "failed"]["failure"].str.contains("could not store a segment: .*no room").all()
    assert done.scores["n_failed"] == len(lost) and "incomplete" in done.scores
    assert done.scores["retrieval"]["n"] == 16 - len(lost) and done.scores["retrieval"]["both_found"] == 1


def test_nothing_is_stored_asked_or_paid_twice(evaluation, tmp_path):
    wanted = planted(evaluation, "CountsItsCalls", limit=4)
    run(prepare(wanted), tmp_path / "r")
    first = Counter((tmp_path / "r/.calls").read_text().split())
    run(prepare(replace(wanted, limit=8)), tmp_path / "r")  # two excerpts: the first is not told again
    second = Counter((tmp_path / "r/.calls").read_text().split())
    assert first == {"store": 5, "retrieve": 4} and second == {"store": 10, "retrieve": 8}
    usage = read_json(tmp_path / "r/usage.json")
    assert (usage["storing"]["conversations"], usage["storing"]["stores"], usage["retrieving"]["queries"]) == (10, 2, 8)


def test_both_orders_share_one_retrieval_and_the_prompt_can_be_chosen(evaluation, tmp_path):
    wanted = planted(evaluation, "CountsItsCalls", limit=4, both_orders=True, choose="reading", pack=PACK)
    done = run(prepare(wanted), tmp_path / "r")
    calls = Counter((tmp_path / "r/.calls").read_text().split())
    assert calls["retrieve"] == 4 + 4 and done.scores["n_questions"] == 8  # of the validation split, too
    assert done.choice["reading"] in range(10) and done.scores["retrieval"]["n"] == 8


@pytest.mark.slow
def test_a_run_can_be_verified_compared_and_shown(evaluation, tmp_path):
    for name, memory in (("bm25", "verbatim-bm25"), ("full", "full-context")):
        run(prepare(replace(evaluation, memory=memory, top_k=2)), tmp_path / name)
        checks = recompute(BENCHMARK, tmp_path / name, tmp_path / f"again {name}")
        assert all(check.held for check in checks), checks
        for file in ("scores.json", "table.md", "questions.parquet"):
            assert (tmp_path / name / file).read_bytes() == (tmp_path / f"again {name}" / file).read_bytes()
    runs = {name: tmp_path / name for name in ("bm25", "full")}
    pair = compare(runs).pairs[0]
    assert pair["n"] == 16 and pair["means"][1] == 1
    scores, _ = write_side_by_side(list(runs.values()), tmp_path / "beside")
    assert "found both" in (tmp_path / "beside/table.md").read_text() and scores["full"]["accuracy"] == 1


@pytest.mark.slow
def test_shards_are_the_whole_run(evaluation, tmp_path):
    wanted = replace(evaluation, memory="verbatim-bm25", remembering=replace(HERE, stored="book"))
    whole = run(prepare(wanted), tmp_path / "whole").scores
    for part in ("1", "2"):
        run(prepare(replace(wanted, shard=f"{part}/2")), tmp_path / part)
    merged = merge(BENCHMARK, [tmp_path / "1", tmp_path / "2"], tmp_path / "merged")
    assert merged[0].scores == whole and (tmp_path / "merged/memories.json").exists()
    rows, expected = (read_questions(tmp_path / name) for name in ("merged", "whole"))
    assert rows.equals(expected)


def test_unrelated_text_is_read_after_the_excerpt_or_stored_last(evaluation):
    read, told = (replace(evaluation, memory=name, between=300) for name in ("in-context", "full-context"))
    ready = prepare(read)
    contexts = {request.context for request in ready.requests}
    assert len(contexts) == 4 and all(280 < len(context.split(HEAD)[1].split()) <= 300 for context in contexts)
    assert ready.label == "in-context, oracle, after 300 tokens" and ready.identity["between"] == 300
    assert "between" not in prepare(replace(read, between=0)).identity
    assert prepare(told).plan[0].startswith("32 conversations to tell full-context in 4 stores")


@pytest.mark.slow
def test_runs_with_unrelated_text_hold_and_are_shown_by_its_length(evaluation, tmp_path):
    read, told = (replace(evaluation, memory=name, between=300) for name in ("in-context", "full-context"))
    folders = [tmp_path / name for name in ("read", "told", "before")]
    for folder, wanted in zip(folders, (read, told, replace(read, between=0)), strict=True):
        assert run(prepare(wanted), folder).scores["accuracy"] == 1
        assert all(check.held for check in recompute(BENCHMARK, folder, tmp_path / f"again {folder.name}"))
    kept = read_json(tmp_path / "told/memories.json")
    assert all(len(" ".join(texts).split()) > 120 + 280 for texts in kept.values())
    write_side_by_side(folders, tmp_path / "beside")
    table = (tmp_path / "beside/table.md").read_text()
    for line in (r"accuracy, tokens between *\| *0 *\| *300", r"in-context, oracle *\| *1.000 *\| *1.000"):
        assert re.search(line, table)
    assert "tokens of unrelated text between" in (tmp_path / "beside/report.html").read_text()


def test_unrelated_text_that_does_not_fit_is_refused_with_the_numbers(evaluation, monkeypatch):
    monkeypatch.setattr(Oracle, "window", lambda reader: 400)
    read = replace(evaluation, memory="in-context")
    prepare(read)
    with pytest.raises(BadInput, match=r"take up to [45]\d\d tokens, the window of oracle has 400"):
        prepare(replace(read, between=300))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"memory": "none", "between": 9}, "expected --memory in-context, full-book or a memory system, got none"),
        ({"memory": "none", "choose": "reading"}, "chooses how passages are presented"),
        ({"choose": "prompt", "split": "validation"}, "so another one must be scored"),
        ({"memory": "hologram"}, "unknown memory 'hologram'; there are: none, .* mem0, .*any other as module:Class"),
        ({"keep_order": True}, "go with rag, not with a memory system"),
        ({"memory": "rag", "remembering": Remembering(tokens=9)}, "--memory-tokens goes with a memory system, got "),
        ({"remembering": Remembering(words=0)}, "--conversation-words: expected at least 1, got 0"),
    ],
)
def test_what_does_not_go_together_is_refused(evaluation, more, message):
    with pytest.raises(BadInput, match=message):
        prepare(replace(evaluation, **more))
