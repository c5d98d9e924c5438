import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput
from epbench.tulving.dataset.parts import part_of

ROWS = [{"id": f"t{i}"} for i in range(50)]


@given(st.integers(1, 60), st.integers(1, 8))
def test_shards_are_the_whole_once(limit, n):
    whole = part_of(ROWS, limit)
    shards = [part_of(ROWS, limit, f"{i}/{n}") for i in range(1, n + 1)]
    assert sorted(row["id"] for shard in shards for row in shard) == sorted(row["id"] for row in whole)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert [row for row in ROWS if row in whole] == whole


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_no_such_shard(shard):
    with pytest.raises(BadInput, match="--shard"):
        part_of(ROWS, None, shard)
