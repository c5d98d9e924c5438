"""What a run may spend: it stops before, says so, ends with what it has, and goes on with a higher bound."""

from types import SimpleNamespace

import pytest

from epbench.arguments.declaring import duration
from epbench.files.json_files import read_json
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.models.estimate import Bounds, Price, Prices, bounds_now, held
from epbench.models.openai.model import EndpointModel
from epbench.models.protocol import Reply, Request, Sampling
from tests.models.endpoint_asks import key  # noqa: F401
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.scripts.in_process import refused, script

ASKED = [Request(f"q{n}", "", "", f"question {n}", Sampling(max_tokens=20)) for n in range(40)]
PRICES = Prices("USD", {"tiny": Price(1e6 / 100, 1e6 / 10)})  # a cent for a token of input, ten for one of output


def usage(body):
    return {"usage": {"prompt_tokens": 3, "completion_tokens": 7}}


def asked(tmp_path, endpoint, requests=ASKED, **bounds):
    made = Bounds(**bounds)
    with held(made):
        ask(tmp_path / "answers.jsonl", requests, EndpointModel("tiny", base_url=endpoint.url))
    assert bounds_now() is None
    records = read_journal(tmp_path / "answers.jsonl").values()
    return made, [record for record in records if "answer" in record], [r for r in records if "answer" not in r]


def test_tokens_are_not_exceeded_and_a_higher_bound_asks_the_rest_only(tmp_path):
    with LoopbackEndpoint(more=usage) as endpoint:
        made, answered, failed = asked(tmp_path, endpoint, tokens=150)
        # A question is estimated at 3 + 20 tokens and takes 10, so that after 13 of them 20 tokens are left, too few.
        assert len(answered) == 13 and len(endpoint.calls) == 13
        assert {record["failure"] for record in failed} == {"not asked: the run has reached its limit of 150 tokens"}
        assert made.reached == "its limit of 150 tokens"
        made, answered, failed = asked(tmp_path, endpoint, tokens=230)
        assert len(answered) == len(endpoint.calls) == 21 and len(failed) == 19
        made, answered, failed = asked(tmp_path, endpoint)
        assert len(answered) == len(endpoint.calls) == 40 and not failed and made.reached is None


def test_a_cost_is_not_exceeded(tmp_path):
    with LoopbackEndpoint(more=usage) as endpoint:
        made, answered, failed = asked(tmp_path, endpoint, cost=10.0, prices=PRICES)
    # 0.73 for an answer, at most 2.03.
    assert len(answered) == 11 and made.reached == "its limit of 10 USD" and len(failed) == 29


def test_a_time_ends_a_run_between_answers(tmp_path):
    with LoopbackEndpoint(more=usage, latency_s=0.4) as endpoint:
        made, answered, failed = asked(tmp_path, endpoint, seconds=0.6)  # after 16 answers, of which 8 come at one time
        endpoint.latency_s = 0.0
        assert len(answered) == 16 and made.reached == "its limit of 1 s"
        made, answered, failed = asked(tmp_path, endpoint, seconds=60.0)
        assert len(answered) == 40 and not failed and made.reached is None


def test_no_more_is_asked_than_the_time_left_allows(monkeypatch):
    clock, made = [0.0], Bounds(seconds=205)
    monkeypatch.setattr(made, "_begin", 0.0)
    monkeypatch.setattr("epbench.models.estimate.time", SimpleNamespace(monotonic=lambda: clock[0]))
    model, kept = EndpointModel("tiny", base_url="http://127.0.0.1:9/v1"), []

    def answer(part):
        for request in part:
            clock[0] += 10
            yield Reply(request.key(model.identity), request.id, "yes")

    replies = list(made.within(ASKED, model, answer, kept.append))
    # The first 16 took 160 s, so that 4 more fit into 45 s.
    assert len(replies) == 40 and len(kept) == 20 and clock == [200] and made.reached == "its limit of 205 s"
    later = Bounds(seconds=35)  # a start that goes on knows the pace from the journal
    monkeypatch.setattr(later, "_begin", clock[0])
    later.recall("answers.jsonl", [{"seconds": 9.0}, {"seconds": 11.0}, {"failure": "late", "seconds": 0.1}], model)
    kept.clear()
    assert len(list(later.within(ASKED, model, answer, kept.append))) == 40
    assert len(kept) == 37 and clock == [230] and later.reached == "its limit of 35 s"


def evaluate(dataset, out, *words):
    model = ("--model", "openai:tiny", "--max-tokens", "20")
    return script("eval_scripts/tulving.py", "--dataset", dataset, "--out", out, *model, *words)


def test_a_run_ends_with_what_it_has_and_status_3(short_book, tmp_path):
    out, words = tmp_path / "run", ("--memory", "none", "--limit", "30")
    with LoopbackEndpoint(more=usage) as endpoint:
        words = (*words, "--base-url", endpoint.url)
        done = evaluate(short_book, out, *words, "--max-tokens-total", "250")
        assert done.returncode == 3 and "the run has reached its limit of 250 tokens" in done.stderr
        few, scores = len(endpoint.calls), read_json(out / "scores.json")
        assert 0 < few < 30 and scores["simple_recall_score"] is None and scores["incomplete"]["simple_recall_score"]
        done = evaluate(short_book, out, *words, "--max-tokens-total", "3000")
        assert done.returncode == 0, done.stderr
        assert len(endpoint.calls) == 30 and not read_json(out / "scores.json")["incomplete"]


def test_what_does_not_fit_is_skipped_if_asked_for(short_book, tmp_path):
    with LoopbackEndpoint(more=usage) as endpoint:
        words = ("--memory", "rag-chapter", "--limit", "12", "--base-url", endpoint.url, "--window", "2200")
        refused(evaluate(short_book, tmp_path / "run", *words), "the window of openai:tiny has 2,200")
        done = evaluate(short_book, tmp_path / "run", *words, "--overlong", "skip")
        assert done.returncode == 0, done.stderr
    assert "prompts do not fit with their answers in the 2,200 tokens of openai:tiny" in done.stdout
    failed = read_json(tmp_path / "run" / "usage.json")["failed"]
    assert 0 < len(endpoint.calls) < 12 and sum(failed.values()) == 12 - len(endpoint.calls)
    assert all("tokens and answer of 20 do not fit in the window of 2,200 tokens" in reason for reason in failed)


def test_a_cost_needs_the_price_of_every_model(short_book, tmp_path):
    (tmp_path / "prices.toml").write_text('currency = "USD"\n[models."other"]\ninput = 1.0\n')
    words = ("--memory", "none", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1")
    done = evaluate(short_book, tmp_path / "run", *words)
    refused(done, "--max-cost: expected prices beside it, got none")
    done = evaluate(short_book, tmp_path / "run", *words, "--prices", tmp_path / "prices.toml")
    refused(done, "expected a price of openai:tiny, found other")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5h", 5400), ("1h30m", 5400), ("2m5s", 125)])
def test_times_are_read(text, seconds):
    assert duration(text) == seconds
