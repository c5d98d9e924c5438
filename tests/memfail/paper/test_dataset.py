"""Table 2: the statistics of the rows of a dataset beside those of the paper."""

from __future__ import annotations

import pytest

from epbench.memfail.paper import dataset
from epbench.memfail.paper.dataset import table_2
from epbench.memfail.paper.inputs import Inputs, read_datasets
from tests.conftest import SHARED


@pytest.fixture
def counted(monkeypatch):
    """Tokens are words, so that nobody needs a vocabulary."""
    monkeypatch.setattr(dataset, "cl100k_tokens", lambda: lambda text: len(text.split()))


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

    monkeypatch.setattr(dataset, "cl100k_tokens", absent)
    exhibit = table_2(made.inputs)
    assert {r["tokens"] for r in exhibit.records if r["source"] == "own"} == {None}
    assert "Tokens were not counted: no vocabulary." in exhibit.table.notes


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
