"""Objects in a reply: what is found, and whether some object names a key twice."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.errors import UnusableReply
from epbench.models.replies import all_objects_in, boolean_of, last_object_with, number_of, objects_in

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=3), values, max_size=4)
prose = st.text(max_size=20).filter(lambda text: "{" not in text)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(objects, max_size=4), prose)
def test_all_objects_are_found_and_none_of_them_repeats_a_key(written, between):
    found = list(objects_in(between + "".join(json.dumps(one) + between for one in written)))
    assert found == written and all(one.repeated is None for one in found)


@settings(deadline=None)
@given(objects, st.text(max_size=3), values, values)
def test_objects_are_found_and_a_repeated_key_is_seen_at_any_depth(rest, key, first, second):
    (found,) = objects_in(f"so: {json.dumps(rest)} {{")
    assert found == rest and found.repeated is None
    twice = f"{{{json.dumps(key)}: {json.dumps(first)}, {json.dumps(key)}: {json.dumps(second)}}}"
    inside = json.dumps(rest | {"x": "HERE"}).replace('"HERE"', twice)
    for reply in (twice, inside, f"[{inside}]", f"so:\n```json\n{inside}\n```"):
        (found,) = objects_in(reply)
        assert found.repeated == key


def test_a_repeated_key_of_one_object_is_not_laid_to_another():
    before, broken, after = objects_in('{"a": 1, "a": 2} {"b": {"c": 1, "c": 2} {"a": 1}')
    assert (before.repeated, broken, broken.repeated) == ("a", {"c": 2}, "c")
    assert after == {"a": 1} and after.repeated is None


def test_the_last_object_with_the_keys_counts():
    assert last_object_with('{"a": 1, "a": 2} {"a": 3} {"b": 1, "b": 2}', "a") == {"a": 3}
    with pytest.raises(UnusableReply, match="no JSON object with a and b was found"):
        last_object_with('{"a": 1} {"b": 2}', "a", "b")
    with pytest.raises(UnusableReply, match='the object has "a" more than once'):
        last_object_with('{"a": 1} {"a": 1, "a": 1}', "a")


@settings(deadline=None)
@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_text_is_that_number(number):
    assert number_of(number) == number
    read = number_of(f" {number}\n")  # an integer may be longer than a float can be
    assert read is None or read == float(number)


@pytest.mark.parametrize(
    "value", [None, True, "true", "", " ", "one", "NaN", "inf", "1e999", "1" * 400, [1], {}, float("nan")]
)
def test_other_things_are_no_number(value):
    assert number_of(value) is None


def test_booleans():
    assert [boolean_of(value) for value in (True, False, "true", " False ", "TRUE")] == [True, False, True, False, True]
    assert [boolean_of(value) for value in (1, 0, None, "", "yes", "1", "t", [True])] == [None] * 8


def test_objects_inside_others_are_found_too():
    found = list(all_objects_in('{"a": [{"b": 1}, {"c": {"d": 2, "d": 3}}], "e": {}} {"f": 4}'))
    assert [sorted(one) for one in found] == [["a", "e"], ["b"], ["c"], ["d"], [], ["f"]]
    assert [one.repeated for one in found] == ["d", None, None, "d", None, None]
