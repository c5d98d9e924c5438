import pytest
import yaml

from epbench.hub.card import CANARY
from epbench.memfail.dataset.card import labels, made_card
from epbench.memfail.dataset.findings import validate
from epbench.memfail.dataset.load import KNOWN
from epbench.memfail.dataset.schema import config_of
from epbench.memfail.dataset.shortcuts import PUBLISHED, RULES
from tests.memfail.memfail_samples import made_rows

COMMAND = "python builders/memfail.py --rows 12 --seed 0"


@pytest.fixture(scope="module")
def built():
    tables = {name: made_rows(name, 12) for name in KNOWN}
    return [config_of(name, rows) for name, rows in tables.items()], validate(tables, len)


RELEASED = {"source": "the folder `x`", "digests": dict.fromkeys(KNOWN, "abc123")}


@pytest.fixture(scope="module", params=[{}, RELEASED], ids=["made", "released"])
def text(request, built):
    return made_card(COMMAND, *built, **request.param).text


def test_our_rows_have_a_licence_and_published_rows_have_none(built):
    ours, theirs = made_card(COMMAND, *built).text, made_card(COMMAND, *built, **RELEASED).text
    assert yaml.safe_load(ours.split("---")[1])["license"] == "mit" and f"`{COMMAND}`" in ours
    assert yaml.safe_load(theirs.split("---")[1])["license"] == "unknown"
    assert "do not pass it on" in theirs and theirs.count("`abc123`") == 6


def test_the_card_describes_every_finding_in_words(built, text):
    names = {name for findings in built[1].values() for name in findings}
    assert names == set(labels())
    for config, findings in built[1].items():
        section = text.split(f"### {config}\n")[1].split("\n### ")[0].split("\n## ")[0]
        rows = [line for line in section.splitlines() if line.startswith("| ") and line != "| | |"]
        assert [row.split(" | ")[0][2:] for row in rows] == [labels()[name] for name in findings]
        assert all(row.count("|") == 3 and row.endswith(" |") and not row.endswith("|  |") for row in rows)
    assert CANARY in text


def test_long_lists_are_cut_and_counted(built):
    configs, report = built
    many = report["long_hop"] | {"head_not_in_stem": [f"row-{i}" for i in range(30)], "later_anchor_in_stem": []}
    text = made_card(COMMAND, configs, report | {"long_hop": many}).text
    assert "row-0, row-1, row-2, row-3, row-4, row-5, row-6, row-7, … (30 in all) |" in text
    assert f"| {labels()['later_anchor_in_stem']} | none |" in text


def test_shortcut_scores_stand_beside_those_of_the_published_rows(built, text):
    section = text.split("## What shortcuts get right\n")[1].split("\n## ")[0]
    for config, findings in built[1].items():
        for name, score in findings["shortcuts"].items():
            published = f"{PUBLISHED[config][name]:.2f}" if config in PUBLISHED else "none"
            assert f"| `{config}` | {RULES[name]} | {score:.2f} | {published} |" in section
