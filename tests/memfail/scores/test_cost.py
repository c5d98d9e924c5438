"""What runs took and cost: by hand, with what is unknown told apart from nothing."""

from pathlib import Path

import pytest

from epbench.errors import BadInput
from epbench.memfail.scores.tables import cost_tables, spent, total, usage_of
from epbench.models.estimate import Price, Prices, read_prices

ROOT = Path(__file__).parents[3]
TOML = """
currency = "EUR"
[models."gpt-5-mini"]
input = 0.25
output = 2
[models.small]
input = 1.0
output = 3.0
[models."embed"]
input = 0.5
"""
RUN = {
    "identity": {
        "system": "mem0-1", "control": False, "model": "openai:gpt-5-mini", "system_model": "small",
        "embedder": "openai:embed",
    },
    "judge": {"name": "lexical", "prompt_hash": "rules-1"},
}  # fmt: skip
USAGE = {
    "storing": {"calls": 9, "tokens_in": 2_000_000, "tokens_out": 1_000_000, "seconds": 61.5, "retries": 2, "embedding_tokens": 0},
    "retrieving": {"calls": 0, "tokens_in": 0, "tokens_out": 0, "seconds": 1, "retries": 0, "embedding_tokens": 4_000_000},
    "answering": {"requests": 5, "prefilled": 3_000_000, "saved": 1_000_000, "generated": 500_000, "seconds": 9},
    "judging": {"requests": 7, "prefilled": 0, "saved": 0, "generated": 0, "seconds": 0.5},
}  # fmt: skip


@pytest.fixture
def prices(tmp_path):
    (tmp_path / "prices.toml").write_text(TOML, "utf-8")
    return read_prices(tmp_path / "prices.toml")


def run_with(**identity):
    return {**RUN, "identity": RUN["identity"] | identity}


def costs(run, usage, prices):
    return {stage: of_stage.cost for stage, of_stage in spent(run, usage, prices).items()}


def test_every_stage_has_the_price_of_its_model(prices):
    assert costs(RUN, USAGE, prices) == {"storing": 5.0, "retrieving": 2.0, "answering": 2.0, "judging": 0.0}
    assert total(found := spent(RUN, USAGE, prices)) == 9.0
    assert (found["answering"].tokens_in, found["storing"].retries) == (4_000_000, 2)


@pytest.mark.parametrize(
    "text", [Prices.__doc__, (ROOT / "eval_scripts/report.py").read_text("utf-8")], ids=["library", "script"]
)
def test_the_examples_can_be_read(tmp_path, text):
    example = text[text.index('    currency = "') :].split("\n\nThe name")[0].split('"""')[0]
    (tmp_path / "prices.toml").write_text("\n".join(line.strip() for line in example.splitlines()), "utf-8")
    prices = read_prices(tmp_path / "prices.toml")
    assert prices.currency == "USD" and prices.of("openai:gpt-5-mini") == Price(0.25, 2.0)
    assert prices.of("text-embedding-3-small") == Price(0.02, 0.0)


def test_what_has_no_price_has_no_cost_and_the_whole_has_none(prices):
    found = spent(run_with(system_model="other"), USAGE, prices)
    assert found["storing"].cost is None and found["answering"].cost == 2.0 and total(found) is None
    embedded = costs(run_with(embedder=""), USAGE, prices)
    assert embedded["retrieving"] is None and embedded["storing"] == 5.0
    assert set(costs(RUN, USAGE, None).values()) == {None}
    free = Prices("EUR", {**prices.models, "small": Price(0.0, 0.0)})
    assert costs(RUN, USAGE, free)["storing"] == 0.0


def test_tokens_that_nobody_counted_are_unknown(prices):
    """An endpoint without usage, and a system whose calls did not go through the relay."""
    usage = {**USAGE, "storing": {"seconds": 3.0}, "answering": {**USAGE["judging"], "requests": 5}}
    found = spent(RUN, usage, prices)
    assert found["storing"].tokens_in is None and found["storing"].cost is None
    assert found["answering"].tokens_in is None and found["answering"].cost is None
    without_tokens = {**USAGE, "storing": {**USAGE["storing"], "tokens_in": 0, "tokens_out": 0}}
    storing = (found := spent(RUN, without_tokens, prices))["storing"]
    assert (storing.tokens_in, storing.cost, total(found)) == (None, None, None)
    baseline = costs(run_with(control=True, model="lexical"), usage, prices)
    assert baseline == {"storing": 0.0, "retrieving": 2.0, "answering": 0.0, "judging": 0.0}


def test_replies_to_what_is_stored_are_the_readers(prices):
    runs = {"mine": spent(RUN, {**USAGE, "replying": USAGE["answering"]}, prices), "other": spent(RUN, USAGE, prices)}
    assert runs["mine"]["replying"].cost == 2.0 and total(runs["mine"]) == 11.0
    _, money = cost_tables(runs, prices)
    assert [row[3] for row in money.rows] == ["2.0000", ""]


def test_tables(prices):
    runs = {"mine": spent(RUN, USAGE, prices), "other": spent(RUN, {**USAGE, "storing": {}}, prices)}
    usage, money = cost_tables(runs, prices)
    assert usage.rows[0] == ["mine", "storing", "9", "2", "2,000,000", "1,000,000", "0", "61.5"]
    assert usage.rows[4] == ["other", "storing", "–", "–", "–", "–", "0", "–"]
    assert money.head[0] == "cost in EUR"
    assert money.rows == [
        ["mine", "5.0000", "2.0000", "2.0000", "0.0000", "9.0000"],
        ["other", "–", "2.0000", "2.0000", "0.0000", "–"],
    ]
    assert len(cost_tables(runs, None)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "expected a file of prices"),
        ("currency = ", "expected prices in TOML"),
        ('currency = "EUR"', "field 'models': expected an object, found nothing"),
        ('currency = "EUR"\n[models.a]\ninput = -1', "field 'models.a.input': expected a number >= 0.0, found -1"),
    ],
)
def test_bad_files_are_one_line(tmp_path, text, message):
    if text is not None:
        (tmp_path / "prices.toml").write_text(text, "utf-8")
    with pytest.raises(BadInput, match=message):
        read_prices(tmp_path / "prices.toml")


def test_usage_that_is_no_number_is_named(tmp_path):
    (tmp_path / "usage.json").write_text('{"storing": {"tokens_in": "many"}}', "utf-8")
    with pytest.raises(BadInput, match="tokens_in"):
        usage_of(tmp_path)
