"""Tables 1 to 5: the systems, the statistics of the rows, and what they are drawn from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from epbench.memfail.paper.inputs import Inputs, read_datasets
from epbench.memfail.paper.material import statistics_of_rows
from epbench.memfail.paper.material.pools import table_3, table_4, table_5
from epbench.memfail.paper.material.statistics_of_rows import table_2
from epbench.memfail.paper.material.systems import table_1
from epbench.memories.systems.catalog import SYSTEMS
from tests.conftest import SHARED


@pytest.fixture
def counted(monkeypatch):
    """Tokens are words, so that nobody needs a vocabulary."""
    monkeypatch.setattr(statistics_of_rows, "cl100k_tokens", lambda: lambda text: len(text.split()))


def test_table_1_has_every_system_and_baseline_with_its_version():
    exhibit = table_1()
    assert [r["system"] for r in exhibit.records if r["in_the_paper"]] == ["mem0-1", "a-mem", "simplemem", "structmem"]
    found = {r["system"]: r for r in exhibit.records}
    for name, known in SYSTEMS.items():
        assert found[name]["package"] == " ".join(known.package) and found[name]["kind"] == "system"
    assert [row[0] for row in exhibit.table.rows][-1] == "oracle (baseline)"
    assert all(len(row) == len(exhibit.table.head) for row in exhibit.table.rows)


def test_table_2_counts_the_rows_of_a_dataset_beside_those_of_the_paper(made, counted):
    exhibit = table_2(made.inputs)
    rows = made.rows["coexisting_facts"]
    for n in sorted({len(row["preferences"]) for row in rows}):
        part = [row for row in rows if len(row["preferences"]) == n]
        (record,) = [
            r
            for r in exhibit.records
            if (r["source"], r["config"], r["size"]) == ("own", "coexisting_facts", f"N = {n}")
        ]
        words = sum(len(text.split()) for row in part for text in [*row["preference_facts"], row["question"]])
        assert (record["rows"], record["questions"], record["facts"]) == (len(part), len(part), n * len(part))
        assert record["tokens"] == pytest.approx(words / len(part))
        assert [f"N = {n}", str(len(part)), str(len(part)), f"{words / len(part):.0f}", str(n * len(part))] in [
            row[2:7] for row in exhibit.table.rows
        ]
    (persona,) = [r for r in exhibit.records if (r["source"], r["config"]) == ("own", "persona_retrieval")]
    asked = [question["is_misleading"] for row in made.rows["persona_retrieval"] for question in row["questions"]]
    assert persona["misleading"] == sum(asked) / len(asked) and persona["questions"] == len(asked)
    reported = [r for r in exhibit.records if r["source"] == "reported"]
    assert len(reported) == 10 and sum(r["rows"] for r in reported) == 492
    assert [r["tokens"] for r in reported if r["config"] == "long_hop"] == [59, 74, 87]


def test_table_2_says_why_tokens_are_not_counted(made, monkeypatch):
    from epbench.errors import BadInput

    def absent():
        raise BadInput("no vocabulary")

    monkeypatch.setattr(statistics_of_rows, "cl100k_tokens", absent)
    exhibit = table_2(made.inputs)
    assert {r["tokens"] for r in exhibit.records if r["source"] == "own"} == {None}
    assert "Tokens were not counted: no vocabulary." in exhibit.table.notes


def test_tables_3_and_4_have_the_pools_of_the_paper_and_the_rows_of_a_dataset(made):
    types, categories = table_3(Inputs()), table_4(Inputs())
    assert len(types.records) == 32 and len(categories.records) == 100
    assert types.table.rows[0] == ["Time", "time_of_day, day_of_week, season, time_elapsed"]
    assert types.table.rows[-1] == ["Habitual", "prior_activity, frequency_cap, streak_state"]
    assert [row[1].split(", ")[0] for row in categories.table.rows][-3:] == [
        "career fields", "social media content types", "animals",
    ]  # fmt: skip
    own = table_4(made.inputs)
    counts = Counter(row["preference_category"] for row in made.rows["coexisting_facts"])
    found = {r["preference_category"]: r["rows"] for r in own.records}
    assert {value: n for value, n in found.items() if n} == counts
    assert sum(int(row[2].partition(":")[0]) for row in own.table.rows) == len(made.rows["coexisting_facts"])


def test_table_5_counts_essays_and_misleading_questions_by_name(made):
    exhibit = table_5(made.inputs)
    rows = made.rows["persona_retrieval"]
    essays = Counter(row["entity"] for row in rows)
    asked = Counter(q["distractor"] for row in rows for q in row["questions"] if q["is_misleading"])
    named = {r["value"]: r for r in exhibit.records if r["kind"].startswith("name")}
    assert {name: r["essays"] for name, r in named.items() if r["essays"]} == essays
    assert {name: r["asked"] for name, r in named.items() if r["asked"]} == asked
    kinds = Counter(r["kind"] for r in exhibit.records)
    assert kinds["name"] == 30 and kinds["flavor"] == 30
    last = exhibit.table.rows[-1]
    outside = [r for r in exhibit.records if r["kind"] == "name outside the pool"]
    assert last[1] == f"{len(outside)} names" and last[3] == str(sum(r["essays"] for r in outside))
    assert [row[1] for row in table_5(Inputs()).table.rows][:2] == ["Ava Thompson", "Liam Carter"]


def test_two_datasets_stand_side_by_side(made):
    (name, configs), = made.inputs.datasets.items()  # fmt: skip
    two = replace(made.inputs, datasets={name: configs, "other": configs})
    assert table_4(two).table.head[2:] == [name, "other"]


@pytest.mark.skipif(not (SHARED / "memfail").is_dir(), reason="needs the published rows beside the checkout")
def test_published_rows_have_the_numbers_of_the_paper(script, tmp_path):
    built = script("builders/memfail.py", "--source", SHARED / "memfail", "--out", tmp_path)
    assert built.returncode == 0, built.stderr
    found = table_2(Inputs(datasets=read_datasets([str(tmp_path / "memfail")])))
    for config, size in {(r["config"], r["size"]) for r in found.records}:
        one, other = (r for r in found.records if (r["config"], r["size"]) == (config, size))
        for column in ("rows", "questions", "yes", "no", "condition_types"):
            assert one[column] == other[column], (config, size, column)
        if one["tokens"] is not None and other["tokens"] is not None:
            assert round(one["tokens"] if one["source"] == "own" else other["tokens"]) == round(
                other["tokens"] if one["source"] == "own" else one["tokens"]
            )
