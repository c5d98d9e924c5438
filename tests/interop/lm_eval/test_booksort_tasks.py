import math

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_pairs
from epbench.booksort.scores.results import scored_pairs
from epbench.booksort.scores.run_files import record_of, table_of
from epbench.booksort.scores.scoring import score_run
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal
from epbench.models.hf.prompt_tokens import PromptTokens
from tests.interop.lm_eval.scripted_model import Scripted, run
from tests.tiny_model import make_tiny_model

TASK = "epbench_booksort"


@pytest.fixture(scope="module")
def pairs(datasets):
    return load_pairs(str(datasets / "booksort"))


def scripted(pairs):
    """Probabilities of A and B: mostly right ones, some wrong ones, and two that are equal."""
    found = {}
    for number, pair in enumerate(pairs):
        right = (0.6, 0.3) if number % 2 else (0.2, 0.1)
        low_high = right if number % 5 else right[::-1]
        found[pair.id] = low_high if pair.answer == "A" else low_high[::-1]
    return found | {pairs[3].id: (0.4, 0.4), pairs[4].id: (0.0, 0.0)}


def scored_by_us(pairs, probabilities, folder):
    """What our own evaluation makes of a journal with these probabilities."""
    journal = Journal(folder / ANSWERS)
    for id_, (a, b) in probabilities.items():
        said = "A" if a > 0.5 else "B" if b > 0.5 else ""
        journal.add(id_, id=id_, repeat=0, answer=said, probabilities={"A": a, "B": b})
    journal.close()
    rows = scored_pairs(folder, pairs, {pair.id: pair.id for pair in pairs})
    return score_run(table_of(map(record_of, rows)))


@pytest.mark.slow
def test_accuracy_is_that_of_our_own_evaluation(datasets, pairs, tmp_path):
    probabilities = scripted(pairs)
    expected = scored_by_us(pairs, probabilities, tmp_path)
    assert expected["n_invalid"] == 2 and 0.5 < expected["accuracy"] < 0.9
    scores = run(Scripted(probabilities), [TASK], datasets)["results"][TASK]
    assert scores["acc,none"] == pytest.approx(expected["accuracy"], abs=1e-9)
    assert scores["answers_a,none"] == pytest.approx(expected["share_a"] * (1 - 2 / len(pairs)), abs=1e-9)
    assert scores["label_mass,none"] == pytest.approx(expected["label_mass"], abs=1e-9)
    assert scores["failed,none"] == 0 and scores["acc_stderr,none"] > 0


@pytest.mark.slow
def test_a_number_that_is_missing_is_wrong_and_counted(datasets, pairs):
    probabilities = {pair.id: (0.9, 0.1) if pair.answer == "A" else (0.1, 0.9) for pair in pairs}
    probabilities[pairs[0].id] = (-1, 0.5)  # nan
    scores = run(Scripted(probabilities), [TASK], datasets)["results"][TASK]
    assert scores["acc,none"] == pytest.approx(1 - 1 / len(pairs))
    assert scores["failed,none"] == pytest.approx(1 / len(pairs)) and not math.isnan(scores["label_mass,none"])


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "chat"), [("in-context", True), ("none", False)])
def test_prompts_are_those_of_our_own_evaluation(memory, chat, datasets, pairs, tmp_path):
    from transformers import AutoTokenizer

    folder = make_tiny_model(tmp_path / "model", " ".join(pair.excerpt for pair in pairs), chat=chat)
    prompts = PromptTokens(AutoTokenizer.from_pretrained(folder))
    task = TASK + ("_none" if memory == "none" else "")
    found = run(Scripted({}, prompts.tokenizer), [task], datasets, limit=5, apply_chat_template=chat)
    pack = load_prompts()
    asked = {request.id: request for request in requests_for(memory, pairs, pack, pack.usual)}
    answers = {pair.id: pair.answer for pair in pairs}
    for sample in found["samples"][task]:
        (first, a), (second, b) = sample["arguments"]
        assert first == second == prompts.text(asked[sample["doc"]["id"]]).rstrip(" ")
        assert (a, b) == (" A", " B") and sample["target"] == answers[sample["doc"]["id"]]


@pytest.mark.slow
def test_a_model_of_transformers_gives_the_answers_that_our_backend_gives(datasets, pairs, tmp_path):
    from epbench.models.hf.model import TransformersModel

    text = " ".join(pair.excerpt for pair in pairs)
    folder = make_tiny_model(tmp_path / "model", text, vocabulary=900)
    args = {"pretrained": str(folder), "dtype": "float32"}
    found = run(
        "hf", [TASK], datasets, args, model_args=args, device="cpu", batch_size=4, apply_chat_template=True, limit=16
    )  # fmt: skip
    pack = load_prompts()
    asked = requests_for("in-context", pairs[:16], pack, pack.usual)
    ours = {reply.id: reply.probabilities for reply in TransformersModel(str(folder), device="cpu").answer(asked)}
    for sample in found["samples"][TASK]:
        (a, _), (b, _) = sample["filtered_resps"]
        expected = ours[sample["doc"]["id"]]
        # Ours counts every spelling of a label, the harness one, so that it may find less, but never more.
        assert math.exp(a) <= expected["A"] + 1e-6 and math.exp(b) <= expected["B"] + 1e-6
    assert len(found["samples"][TASK]) == 16
