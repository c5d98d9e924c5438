"""Records of journals and files of runs: those that we write are read, and no other JSON raises anything but BadInput."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from epbench import BadInput
from epbench.booksort.evaluation import CHOSEN
from epbench.booksort.scores import run_files as booksort
from epbench.files.json_files import read_json
from epbench.files.typed import typed
from epbench.journals.journal import ANY_RECORD, JOURNALS, Journal, read_journal
from epbench.memfail.scores import run_files as memfail
from epbench.memories.session import MEMORIES_TYPE
from epbench.runs.benchmark import NAMES, benchmark_named
from epbench.runs.folder import RUN, read_run, read_scores
from epbench.tulving.judging.own_answers import read_answers
from epbench.tulving.scores import run_files as tulving
from tests.refusals import refusal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)

PLAIN = {
    inspect.StrType: st.text(max_size=5), inspect.IntType: st.integers(), inspect.FloatType: st.floats(),
    inspect.BoolType: st.booleans(), inspect.NoneType: st.none(), inspect.AnyType: st.just({}),
}  # fmt: skip


def values_of(kind):
    """Values that are mostly of a type, so that a check goes deep, and sometimes anything."""
    return _values(inspect.type_info(kind))


def _values(info):
    match info:
        case inspect.StructType(fields=fields):
            required = {field.name: _values(field.type) for field in fields if field.required}
            optional = {field.name: _values(field.type) for field in fields if not field.required}
            right = st.fixed_dictionaries(required, optional=optional)
        case inspect.DictType(value_type=of):
            right = st.dictionaries(st.text(max_size=3), _values(of), max_size=2)
        case inspect.ListType(item_type=of):
            right = st.lists(_values(of), max_size=3)
        case inspect.TupleType(item_types=of):
            right = st.tuples(*map(_values, of)).map(list)
        case inspect.UnionType(types=types):
            right = st.one_of(*map(_values, types))
        case _:
            right = PLAIN[type(info)]
    return st.integers(0, 19).flatmap(lambda n: JSON if n == 0 else right)


BENCHMARKS = (tulving, booksort, memfail)
FILES = {"memories.json": MEMORIES_TYPE, "prompt_selection.json": CHOSEN}
TYPES = [
    *JOURNALS.values(), *FILES.values(), RUN, *(benchmark_named(name, Path()).described for name in NAMES),
    *(kind for benchmark in BENCHMARKS for kind in (benchmark.IDENTITY, benchmark.SCORES)),
]  # fmt: skip
GOOD = {
    "answers.jsonl": {"id": "q", "repeat": 0, "answer": "x"},
    "judgements.jsonl": {"id": "q", "judge": "j", "items": [], "scores": [1, 0.5], "order": [], "reason": ""},
    "stored.jsonl": {"store": "", "conversation": "c", "units": ["u"], "seconds": 0.1},
    "retrieved.jsonl": {"of": "x", "memories": ["m"], "question": "q", "k": 2, "store": ""},
}


@pytest.mark.parametrize(
    ("file", "field", "value", "message"),
    [
        ("answers.jsonl", "repeat", "x", "field 'repeat': expected a whole number, found 'x'"),
        ("answers.jsonl", "usage", {"prompt": 1.5}, "field 'usage.prompt': expected a whole number, found 1.5"),
        ("answers.jsonl", "seconds", float("inf"), "field 'seconds': expected a number <= 4.611686018427388e+18, found inf"),
        ("answers.jsonl", "repeat", 10**400, "field 'repeat': expected a whole number <= 4611686018427387904, found 1000"),
        ("judgements.jsonl", "scores", ["x"], "field 'scores[0]': expected a number, found 'x'"),
        ("judgements.jsonl", "scores", [True], "field 'scores[0]': expected a number, found True"),
        ("retrieved.jsonl", "of", ..., "expected the fields"),
        ("stored.jsonl", "store", ..., "field 'store': expected a text, found nothing"),
        ("retrieved.jsonl", "memories", [None], "field 'memories[0]': expected a text, found None"),
    ],
)  # fmt: skip
def test_a_foreign_value_in_a_journal_is_named_with_its_line(tmp_path, file, field, value, message):
    path = tmp_path / file
    good = {"key": "k", **GOOD[file]}
    path.write_text(f"{json.dumps(good)}\n" * 6)
    assert read_journal(path) == {"k": good}
    with path.open("a") as out:
        out.write(json.dumps({name: v for name, v in {**good, field: value}.items() if v is not ...}) + "\n")
    for read in (read_journal, Journal):
        said = refusal(read, path)
        assert said.startswith(f"{path}, line 7") and message in said


def test_a_folder_or_a_binary_file_in_place_of_a_journal_is_named(tmp_path):
    (tmp_path / "answers.jsonl").mkdir()
    assert "answers.jsonl: expected a file of JSON lines" in refusal(read_journal, tmp_path / "answers.jsonl")
    (tmp_path / "run.json").mkdir()
    assert "run.json: expected a JSON file that can be read" in refusal(read_run, tmp_path)
    assert "nothing: no run.json in it; expected the folder of a run" in refusal(read_run, tmp_path / "nothing")
    (tmp_path / "a.jsonl").write_bytes(b"\x80\x81\n")
    assert "a.jsonl, line 1: expected a JSON object" in refusal(read_journal, tmp_path / "a.jsonl")


def test_scores_of_another_tool_are_refused(tmp_path):
    (tmp_path / "scores.json").write_text('{"accuracy": 0.5}')
    with pytest.raises(BadInput, match=r"scores\.json, field 'simple_recall_score': expected .*, found nothing"):
        tulving.read_scores(tmp_path)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(TYPES).flatmap(lambda kind: st.tuples(st.just(kind), values_of(kind))))
def test_no_value_makes_a_check_fail_otherwise(pair):
    kind, value = pair
    try:
        typed("file.json", value, kind)
    except BadInput as error:
        assert str(error).startswith("file.json") and len(str(error)) < 1000 and "\n" not in str(error)
        str(error).encode("utf-8")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*JOURNALS, "any.jsonl"]), st.data())
def test_no_record_makes_a_journal_fail_otherwise(tmp_path_factory, file, data):
    path = tmp_path_factory.mktemp("journal") / file
    records = data.draw(st.lists(values_of(JOURNALS.get(file, ANY_RECORD)), max_size=3))
    lines = [json.dumps({"key": "k", **record} if isinstance(record, dict) else record) for record in records]
    path.write_text("".join(line + "\n" for line in lines))
    try:
        for record in read_journal(path).values():
            json.dumps(record, ensure_ascii=False).encode()  # no half of a surrogate pair is left
    except BadInput as error:
        assert str(error).startswith(f"{path}, line ")


@settings(deadline=None)
@given(st.sampled_from(["run.json", "scores.json", "any.json", *FILES]), JSON | values_of(RUN) | st.binary())
def test_no_content_makes_a_file_of_a_run_fail_otherwise(tmp_path_factory, file, content):
    folder = tmp_path_factory.mktemp("run")
    (folder / "run.json").write_text('{"identity": {"benchmark": "memfail"}}')
    (folder / file).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    reads = [lambda: read_run(folder), lambda: read_scores(folder), lambda: read_json(folder / file, FILES.get(file))]
    for benchmark in BENCHMARKS:
        reads += [lambda b=benchmark: b.read_run(folder), lambda b=benchmark: b.read_scores(folder)]
    for read in reads:
        try:
            read()
        except BadInput as error:
            assert str(error).startswith(str(folder))


@settings(deadline=None)
@given(st.lists(JSON | st.fixed_dictionaries({"id": st.just("a"), "answer": st.text() | JSON}), max_size=3))
def test_no_line_makes_answers_fail_otherwise(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("run")
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    try:
        json.dumps(asdict(read_answers(folder / "answers.jsonl", ["a"])), ensure_ascii=False).encode()
    except BadInput as error:
        assert str(error).startswith(str(folder))
