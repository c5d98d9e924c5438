"""Rows of a dataset: checked one by one, and in subsets that are the same for everybody."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows, check_rows, checked_rows, subset
from tests.hub.test_dataset_folder import CARD, CONFIGS, write_dataset

KIND = fields({"id": str, "n": Whole}, {"note": str | None, "list": list[str]})


def test_rows_come_one_by_one_and_the_first_wrong_column_is_named_with_its_row():
    rows = [{"id": "a", "n": 1, "more": 2.5}, {"id": "b", "n": 2, "list": ["x", None]}, {}]
    assert next(check_rows("here", iter(rows), KIND)) is rows[0]
    with pytest.raises(BadInput, match=r"^here, row 1, field 'list\[1\]': expected a text, found None$"):
        list(check_rows("here", rows, KIND))
    with pytest.raises(BadInput, match="^here: found no rows$"):
        list(check_rows("here", [], KIND))


def test_the_rows_of_a_folder_are_checked(tmp_path):
    write_dataset(tmp_path / "name", CONFIGS, CARD)
    folder = str(tmp_path / "name")
    expected = [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
    for read in (all_checked_rows, checked_rows):
        assert list(read(folder, "second", "test", KIND)) == expected
    with pytest.raises(BadInput, match=r"name, config 'second', row 0, field 'text': expected a text, found nothing"):
        all_checked_rows(folder, "second", "test", fields({"text": str}))
    with pytest.raises(BadInput, match=r"the rows of a dataset in second/train-\*.parquet, found no such file"):
        all_checked_rows(folder, "second", "train", KIND)


QUESTIONS = [f"q{i}" for i in range(12)]
EXCERPTS = [" ".join(words) for words in product(("e250_s20", "e1000_s50"), "12", "01")]
PAIRS = [f"{excerpt}/{i}" for excerpt in EXCERPTS for i in range(4)]


@pytest.mark.parametrize(
    ("limit", "shard", "chosen", "pairs"),
    [
        (6, None, "q0 q3 q4 q5 q7 q9", {"e1000_s50 1 1": 2, "e1000_s50 2 0": 4}),
        (None, "1/3", "q0 q6 q7 q10", {"e250_s20 1 1": 4, "e250_s20 2 0": 4, "e1000_s50 2 0": 4}),
        (None, "2/3", "q2 q4 q8 q9", {"e250_s20 1 0": 4, "e250_s20 2 1": 4, "e1000_s50 1 1": 4}),
        (None, "3/3", "q1 q3 q5 q11", {"e1000_s50 1 0": 4, "e1000_s50 2 1": 4}),
        (7, "1/2", "q5 q6 q7 q9", {"e1000_s50 2 0": 4}),
        (7, "2/2", "q0 q3 q4", {"e1000_s50 1 1": 3}),
        (10, "1/2", "q1 q5 q6 q7 q9", {"e1000_s50 1 0": 2, "e1000_s50 2 0": 4}),
    ],
)
def test_a_subset_never_changes(limit, shard, chosen, pairs):
    """Runs of earlier versions must be continued with the same questions; of pairs, the first ones of each excerpt."""
    assert subset(QUESTIONS, str, limit, shard) == chosen.split()
    expected = [f"{excerpt}/{i}" for excerpt, n in pairs.items() for i in range(n)]
    assert subset(PAIRS, lambda pair: pair.partition("/")[0], limit, shard) == expected


@given(st.integers(1, 60), st.integers(1, 8))
def test_the_shards_hold_every_item_once(limit, n):
    items = [f"t{i}" for i in range(50)]
    whole = subset(items, str, limit)
    shards = [subset(items, str, limit, f"{i}/{n}") for i in range(1, n + 1)]
    assert sorted(item for shard in shards for item in shard) == sorted(whole)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert [item for item in items if item in whole] == whole
    assert set(whole) <= set(subset(items, str, limit + 1))


@pytest.mark.parametrize("shard", ["0/4", "5/4", "a/b"])
def test_a_shard_that_does_not_exist_is_refused(shard):
    with pytest.raises(BadInput, match=f"shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got '{shard}'"):
        subset(QUESTIONS, str, None, shard)
