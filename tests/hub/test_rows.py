"""Rows of a dataset: checked one by one, and in subsets that are the same for everybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows, check_rows, checked_rows, subset
from tests.hub.test_dataset_folder import CARD, CONFIGS, write_dataset

KIND = fields({"id": str, "n": Whole}, {"note": str | None, "list": list[str]})


def test_rows_with_the_columns_come_one_by_one_and_unchanged():
    rows = [{"id": "a", "n": 1, "more": 2.5}, {"id": "b", "n": 2, "note": None, "list": ["x"]}]
    checked = check_rows("here", iter(rows), KIND)
    assert next(checked) is rows[0] and list(checked) == rows[1:]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "b"}, "here, row 1, field 'n': expected a whole number, found nothing"),
        ({"id": "b", "n": True}, "here, row 1, field 'n': expected a whole number, found True"),
        ({"id": "b", "n": 2, "note": 3}, "here, row 1, field 'note': expected a text or null, found 3"),
        ({"id": "b", "n": 2, "list": ["x", None]}, "here, row 1, field 'list[1]': expected a text, found None"),
    ],
)
def test_the_first_wrong_column_is_named_with_its_row(row, message):
    with pytest.raises(BadInput) as error:
        list(check_rows("here", [{"id": "a", "n": 1}, row], KIND))
    assert str(error.value) == message


def test_no_rows_are_an_error():
    with pytest.raises(BadInput, match="^here: found no rows$"):
        list(check_rows("here", [], KIND))


def test_the_rows_of_a_folder_are_checked(tmp_path):
    write_dataset(tmp_path / "name", CONFIGS, CARD)
    folder = str(tmp_path / "name")
    expected = [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
    assert all_checked_rows(folder, "second", "test", KIND) == list(checked_rows(folder, "second", "test", KIND))
    assert all_checked_rows(folder, "second", "test", KIND) == expected
    with pytest.raises(BadInput, match=r"name, config 'second', row 0, field 'text': expected a text, found nothing"):
        all_checked_rows(folder, "second", "test", fields({"text": str}))
    with pytest.raises(
        BadInput, match=r"expected the rows of a dataset in second/train-\*.parquet, found no such file"
    ):
        all_checked_rows(folder, "second", "train", KIND)


QUESTIONS = [f"q{i}" for i in range(12)]
PAIRS = [
    f"{config} {book} {excerpt}/{i}"
    for config in ("e250_s20", "e1000_s50")
    for book in (1, 2)
    for excerpt in (0, 1)
    for i in range(4)
]


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


@pytest.mark.parametrize(
    ("limit", "shard", "message"),
    [
        (None, "0/4", "shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got '0/4'"),
        (None, "5/4", "got '5/4'"),
        (None, "a/b", "got 'a/b'"),
        (0, None, "limit: expected at least 1, got 0"),
    ],
)
def test_a_shard_or_a_limit_that_does_not_exist_is_refused(limit, shard, message):
    with pytest.raises(BadInput, match=message):
        subset(QUESTIONS, str, limit, shard)
