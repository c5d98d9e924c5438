"""Objects of JSON Lines and arrays, whatever the pieces in which the text arrives."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.files import json_files
from epbench.files.json_files import json_objects
from tests.refusals import refusal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["[", "]}", '"', "\\", "},\n{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=5)
FORMS = {
    "lines": lambda objects: "".join(json.dumps(one) + "\n" for one in objects),
    "no last line feed": lambda objects: "\n".join(json.dumps(one, ensure_ascii=False) for one in objects),
    "array": json.dumps,
    "indented": lambda objects: json.dumps(objects, indent=1),
}


def pieces_of(text, sizes):
    place, pieces = 0, []
    for size in sizes:
        pieces.append(text[place : place + size])
        place += size
    return [*pieces, text[place:]]


@given(OBJECTS, st.sampled_from(list(FORMS)), st.lists(st.integers(0, 20), max_size=30))
def test_every_form_gives_the_objects_in_order(objects, form, sizes):
    assert list(json_objects("here", pieces_of(FORMS[form](objects), sizes))) == objects


@pytest.mark.slow
@given(OBJECTS.filter(bool), st.data())
def test_a_truncated_array_is_refused(objects, data):
    text = json.dumps(objects)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(BadInput, match="^here"):
        list(json_objects("here", [text[:cut]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": }', "here, row 1: expected a JSON object that ends (Expecting value)"),
        ('{"a": 1}\n3', "here, row 1: expected a JSON object, found '3'"),
        ('[{"a": 1}, [{}]]', "here, row 1: expected a JSON object, found '[{}]]'"),
        ('[{"a": 1}] {}', "here, row 1: expected a JSON object, found '{}'"),
        ('{"a": 1}]', "here, row 1: expected a JSON object, found ']'"),
        ('[{"a": 1},', "here: expected a JSON array that ends, found its end after 1 rows; is it truncated?"),
        ('{"a": ' + "[" * 100_000, "here, row 0: expected a JSON object that ends ("),
    ],
)
def test_anything_else_is_named_by_its_row(text, message):
    assert refusal(list, json_objects("here", [text])).startswith(message)


def test_an_object_without_an_end_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(json_files, "MAX_OBJECT", 1000)
    read = []
    with pytest.raises(BadInput, match="row 0: expected a JSON object that ends"):
        list(json_objects("here", (read.append(i) or '{"a": "' + "x" * 99 for i in range(10**6))))
    assert len(read) < 20
