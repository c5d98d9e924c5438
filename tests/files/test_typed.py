"""Whatever a file holds, it is of the type, or one line names the field, what was found and what was expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.files.typed import Whole, fields, typed

KIND = fields({"a": str, "b": list[Whole]}, {"c": dict[str, str]})
HALF = "\ud800"
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just(HALF),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c", HALF]), inner, max_size=3)
    ),
)


@given(values)
def test_any_value_is_read_or_refused_in_one_line(value):
    try:
        found = typed("file, row 3", value, KIND)
    except BadInput as error:
        assert str(error).startswith("file, row 3") and "expected" in str(error) and "\n" not in str(error)
        str(error).encode("utf-8")
    else:
        assert isinstance(value["a"], str) and found.a == value["a"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (HALF, "expected an object, found '?'"),
        ({"a": "x", "b": HALF}, "field 'b': expected a list, found '?'"),
        ({"a": "x", HALF: 1, "b": [1, "y"]}, "field 'b[1]': expected a whole number, found 'y'"),
        ({"a": "x", HALF: 1, "b": []}, "expected names of fields in UTF-8"),
        ({"a": "x", "b": [], "c": {HALF: 3}}, "field 'c.?': expected a text, found 3"),
    ],
)
def test_half_of_a_surrogate_pair_is_named(value, words):
    with pytest.raises(BadInput) as refused:
        typed("file", value, KIND)
    assert words in str(refused.value)


@pytest.mark.parametrize("at_the_end", ["x", HALF])
def test_a_deeply_nested_value_is_refused_in_one_line(at_the_end):
    deep = at_the_end
    for _ in range(480):
        deep = {"x": deep}
    with pytest.raises(BadInput, match="field 'b': expected a list, found"):
        typed("file", {"a": "x", "b": deep}, KIND)
