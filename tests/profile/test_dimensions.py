"""A planted weakness of a reader moves its dimension, and no other beyond its interval."""

import json
import random
from pathlib import Path

import pytest

from epbench.profile.dimensions import DIMENSIONS, measured
from epbench.tulving.dataset.load import load_book
from tests.scripts.in_process import ran

N_CHAPTERS = 20
FORGETS = 0.25
"""How often the reader that others are compared with forgets an item, so that there are intervals."""


def plain(row, draws):
    kept = [item for item in row["answer"] if draws.random() > FORGETS]
    return "\n".join(f"- {item}" for item in kept) or "I do not know."


def never_abstains(row, draws):
    return plain(row, draws) if row["answer"] else "- Ada Moss"


def confuses_persons(row, draws):
    confused = row["cue"] == "e" and row["answer"] and random.Random(f"person {row['id']}").random() < 0.3
    return "- Somebody Else" if confused else plain(row, draws)


def confuses_the_last_third(row, draws):
    late = row["n_chapters"] == 1 and row["chapters"][0] > N_CHAPTERS * 2 / 3
    return "- Somebody Else" if late and random.Random(f"late {row['id']}").random() < 0.3 else plain(row, draws)


def backwards(row, draws):
    if row["get"] != "chronological":
        return plain(row, draws)
    return "\n".join(f"- {item}" for item in reversed(row["answer"]))


def forwards(row, draws):
    return "\n".join(f"- {item}" for item in row["answer"]) if row["get"] == "chronological" else plain(row, draws)


def scores(short_book, folder: Path, reader):
    """The dimensions that the book measures, of a reader whose slips are the same every time."""
    rows = load_book(str(short_book)).rows
    lines = [{"id": row["id"], "answer": reader(row, random.Random(row["id"]))} for row in rows]
    folder.mkdir(parents=True)
    (folder / "answers.in").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run = folder / "tulving-1"
    ran(f"eval_scripts/tulving.py --dataset {short_book} --answers {folder / 'answers.in'} --out {run}")
    return {one.dimension.name: one.estimate for one in measured({"tulving-1": run}, folder)}


@pytest.fixture(scope="module")
def base(short_book, tmp_path_factory):
    return scores(short_book, tmp_path_factory.mktemp("base") / "plain", plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "moved", "against"),
    [
        (never_abstains, "what never happened", plain),
        (confuses_persons, "cue: person", plain),
        (confuses_the_last_third, "late events", plain),
        (backwards, "order over a book", forwards),
    ],
)
def test_a_planted_weakness_moves_its_dimension_and_no_other(short_book, base, tmp_path, reader, moved, against):
    before = base if against is plain else scores(short_book, tmp_path / "against", against)
    after = scores(short_book, tmp_path / "weak", reader)
    assert set(before) == set(after) == {one.name for one in DIMENSIONS if one.part == "tulving-1"}
    assert after[moved].mean < before[moved].low
    for name, estimate in after.items():
        if name != moved:
            assert before[name].low - 1e-9 <= estimate.mean <= before[name].high + 1e-9, name


@pytest.mark.slow
def test_always_abstaining_and_never_abstaining_are_at_the_floor(short_book, tmp_path):
    silent = scores(short_book, tmp_path / "silent", lambda row, draws: "I do not know.")
    talking = scores(short_book, tmp_path / "talking", lambda row, draws: "- Ada Moss")
    for found in (silent, talking):
        never = found["what never happened"]
        assert never.mean == pytest.approx(0.5)
        assert never.low < 0.5 < never.high  # one half has all right, the other all wrong; neither is proved
    assert silent["single events"].mean == 0
