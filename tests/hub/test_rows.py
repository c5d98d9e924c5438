import pytest

from epbench import BadInput
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows, check_rows, checked_rows
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
        ({"id": "b", "n": "2"}, "here, row 1, field 'n': expected a whole number, found '2'"),
        ({"id": "b", "n": True}, "here, row 1, field 'n': expected a whole number, found True"),
        ({"id": None, "n": 2}, "here, row 1, field 'id': expected a text, found None"),
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
