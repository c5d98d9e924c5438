"""Runs on several machines: their parts, joined, have the scores of the whole run."""

import pyarrow.parquet as pq
import pytest

from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import read, scores_of

EVALUATE, MERGE = "eval_scripts/memfail.py", "eval_scripts/merge.py"


@pytest.fixture(scope="module")
def dataset(small_sets):
    return small_sets / "memfail"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "memory", "score"),
    [
        ("tulving.py --dataset {}/short", "rag-paragraph", "simple_recall_score"),
        ("booksort.py --dataset {}/booksort --model oracle --both-orders", "rag", "accuracy"),
    ],
)
def test_shards_merge_into_the_whole_run(small_sets, tmp_path, command, memory, score):
    command = f"eval_scripts/{command.format(small_sets)} --memory"
    ran(command, memory, "--out", tmp_path / "whole")
    parts = [tmp_path / f"part{i}" for i in (1, 2, 3)]
    for i, part in enumerate(parts, 1):
        ran(command, memory, "--shard", f"{i}/3", "--out", part)
    ran(MERGE, *parts, "--out", tmp_path / "merged")
    whole, n = scores_of(tmp_path / "whole"), sum(scores_of(part)["n_questions"] for part in parts[:2])
    assert scores_of(tmp_path / "merged") == whole
    said = ran(MERGE, *parts[:2], "--out", tmp_path / "two")
    two = scores_of(tmp_path / "two")
    low, high = two["incomplete"][score]
    assert two[score] is None and low < whole[score] < high
    assert two["n_failed"] == whole["n_questions"] - n > 0  # a shard that is missing shows
    if "both_orders" in two:
        assert two["both_orders"]["n_incomplete"] == two["n_failed"] / 2
    else:
        assert "An incomplete score is a range" in said
    ran(command, "none", "--shard", "2/3", "--out", tmp_path / "other")
    refused(script(MERGE, parts[0], tmp_path / "other", "--out", tmp_path / "x"), "its memory is 'none'")


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--limit", 5], ["--units-per-conversation", 2]])
def test_rows_with_stores_of_their_own_are_split(dataset, tmp_path, more):
    base = [EVALUATE, "--dataset", dataset, "--config", "long_hop", "--isolate", "--system", "verbatim-bm25"]
    base += ["--k", 1, 3, *more]
    ran(*base, "--out", tmp_path / "whole")
    parts = [tmp_path / f"part{i}" for i in (1, 2, 3)]
    for i, part in enumerate(parts, 1):
        ran(*base, "--shard", f"{i}/3", "--out", part)
    ran(MERGE, *parts, "--out", tmp_path / "merged")
    assert scores_of(tmp_path / "merged") == scores_of(tmp_path / "whole")
    outcomes = [pq.read_table(tmp_path / run / "questions.parquet").to_pylist() for run in ("merged", "whole")]
    assert sorted(outcomes[0], key=str) == sorted(outcomes[1], key=str)
    stores = [read(tmp_path / run, "memories.json") for run in ("merged", "whole")]
    assert stores[0] == stores[1]
    sizes = [scores_of(part)["n_questions"] for part in parts]
    assert sum(sizes) == scores_of(tmp_path / "whole")["n_questions"] and max(sizes) < sum(sizes)
    ran("eval_scripts/verify.py", parts[0])
    ran("eval_scripts/verify.py", tmp_path / "merged")


def test_a_missing_part_shows_and_no_shard_is_overwritten(dataset, tmp_path):
    base = [EVALUATE, "--dataset", dataset, "--config", "long_hop", "--isolate", "--system", "full-context"]
    ran(*base, "--shard", "1/2", "--out", tmp_path / "part1")
    ran(MERGE, tmp_path / "part1", "--out", tmp_path / "merged")
    part, merged = scores_of(tmp_path / "part1"), scores_of(tmp_path / "merged")
    assert merged["n_failed"] == merged["n_questions"] - part["n_questions"] > 0
    refused(script(MERGE, tmp_path / "part1", "--out", tmp_path / "part1"), "one of the shards")


def test_tokens_of_a_model_that_is_not_loaded_are_not_counted(dataset, tmp_path):
    base = [EVALUATE, "--dataset", dataset, "--config", "long_hop", "--isolate", "--system", "full-context"]
    ran(*base, "--shard", "1/2", "--out", tmp_path / "part")
    run = tmp_path / "part" / "run.json"
    run.write_text(run.read_text().replace('"model": "lexical"', '"model": "hf:gone"'))
    assert '"model": "hf:gone"' in run.read_text()
    ran(MERGE, tmp_path / "part", "--out", tmp_path / "merged")
    (before,), (after,) = (scores_of(tmp_path / name)["by_k"].values() for name in ("part", "merged"))
    assert before["tokens_per_memory"] > 0 and after["tokens_per_memory"] is None


@pytest.mark.slow
def test_configs_with_one_store_are_split_whole(dataset, tmp_path):
    base = [EVALUATE, "--dataset", dataset, "--config", "long_hop", "coexisting_facts", "--system", "verbatim-bm25"]
    ran(*base, "--out", tmp_path / "whole")
    for i in (1, 2):
        ran(*base, "--shard", f"{i}/2", "--out", tmp_path / f"part{i}")
    assert [path.parent.name for path in tmp_path.glob("part1/*/run.json")] == ["long_hop"]
    ran(MERGE, tmp_path / "part1", tmp_path / "part2", "--out", tmp_path / "merged")
    for config in ("long_hop", "coexisting_facts"):
        assert scores_of(tmp_path / "merged" / config) == scores_of(tmp_path / "whole" / config)
