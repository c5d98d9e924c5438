"""Whatever a file holds, it is of the type, or one line names the field, what was found and what was expected."""

import pytest

from epbench.files.typed import Whole, fields, typed
from tests.refusals import refusal

KIND = fields({"a": str, "b": list[Whole]}, {"c": dict[str, str]})
HALF = "\ud800"


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
    assert words in refusal(typed, "file", value, KIND)


@pytest.mark.parametrize("at_the_end", ["x", HALF])
def test_a_deeply_nested_value_is_refused_in_one_line(at_the_end):
    deep = at_the_end
    for _ in range(480):
        deep = {"x": deep}
    assert "field 'b': expected a list, found" in refusal(typed, "file", {"a": "x", "b": deep}, KIND)
