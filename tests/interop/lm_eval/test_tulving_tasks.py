import math

import pytest

from epbench.errors import BadInput
from epbench.models.hf.prompt_tokens import PromptTokens
from epbench.tulving.context.requests import Reading
from epbench.tulving.dataset.load import load_book
from tests.interop.lm_eval.scripted_model import Scripted, manager, run
from tests.interop.scripted_answers import scored_by_script, scripted_answers
from tests.tiny_model import make_tiny_model

TASK = "epbench_tulving_short"
NAMES = {
    "simple_recall": "simple_recall_score",
    **{name: name for name in ("latest", "all_matched", "kendall_tau", "chronological_awareness")},
}


@pytest.fixture(scope="module")
def rows(short_book):
    return load_book(str(short_book)).rows


@pytest.mark.slow
def test_the_same_answers_get_the_same_scores_as_from_our_own_script(script, short_book, rows, tmp_path):
    # Empty answers are wrong and counted, even where nothing has happened.
    empty = [row["id"] for row in rows if row["bin"] == "0"][:7] + [row["id"] for row in rows if row["bin"] == "2"][:3]
    answers = scripted_answers(rows) | dict.fromkeys(empty, " \n")
    expected, questions = scored_by_script(script, short_book, answers, tmp_path / "run")
    found = run(Scripted(answers), [TASK], short_book.parent)

    samples = found["samples"][TASK]
    assert [sample["doc"]["id"] for sample in samples] == [row["id"] for row in rows]
    for sample in samples:
        assert sample["f1"] == pytest.approx(questions.loc[sample["doc"]["id"], "f1"], abs=1e-9)
    assert len({round(sample["f1"], 3) for sample in samples}) > 5  # so that equality says something

    scores = found["results"][TASK]
    for ours, theirs in NAMES.items():
        assert 0 < expected[theirs] < 1, theirs
        assert scores[f"{ours},none"] == pytest.approx(expected[theirs], abs=1e-9)
    for bin_, value in expected["f1_by_bin"].items():
        assert scores[f"f1_bin_{bin_},none"] == pytest.approx(value, abs=1e-9)
    assert math.isnan(scores["f1_bin_6+,none"]) and "6+" not in expected["f1_by_bin"]
    assert scores["missing,none"] == pytest.approx(10 / len(rows)) and expected["coverage"]["missing"] == 10
    assert scores["f1,none"] == pytest.approx(questions["f1"].mean(), abs=1e-9) and scores["f1_stderr,none"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "chat"), [("in-context", True), ("none", False)])
def test_prompts_are_those_of_our_own_evaluation(memory, chat, short_book, rows, tmp_path):
    folder = make_tiny_model(tmp_path / "model", "a text", chat=chat)
    from transformers import AutoTokenizer

    prompts = PromptTokens(AutoTokenizer.from_pretrained(folder))
    task = TASK + ("_none" if memory == "none" else "")
    more = {} if chat else {"system_instruction": "Answer in English."}  # which stands before ours
    found = run(Scripted({}, prompts.tokenizer), [task], short_book.parent, limit=5, apply_chat_template=chat, **more)
    asked = {request.id: request for request in Reading(memory=memory).requests(load_book(str(short_book)), rows)}
    for sample in found["samples"][task]:
        (prompt, how) = sample["arguments"][0]
        assert prompt == "Answer in English.\n\n" * (not chat) + prompts.text(asked[sample["doc"]["id"]])
        assert how["max_gen_toks"] == 1024 and how["do_sample"] is False and how["until"] == []


def test_a_book_that_the_model_cannot_hold_is_refused_before_anything_is_asked(short_book, tmp_path):
    folder = str(make_tiny_model(tmp_path / "model", short_book.joinpath("README.md").read_text(), window=4096))
    with pytest.raises(BadInput, match=r"tokens, the window of .* has 4,096; these memories fit: none"):
        manager(short_book.parent, pretrained=folder).load([TASK])
    manager(short_book.parent, pretrained=folder).load([f"{TASK}_none"])
    manager(short_book.parent, pretrained=folder, max_length=200_000).load([TASK])
    with pytest.raises(BadInput, match="has 4,000"):
        manager(short_book.parent, model="served", tokenizer=folder, max_length=4000).load([TASK])


def test_a_window_that_is_unknown_is_said(short_book, caplog):
    manager(short_book.parent, model="served", base_url="http://127.0.0.1:1/v1").load([TASK])
    assert "it was not checked that the prompts fit" in caplog.text


def test_an_unknown_judge_or_book_is_refused_before_anything_is_asked(short_book, tmp_path):
    with pytest.raises(BadInput, match="judge: expected one of lexical, minilm, got 'gpt'"):
        manager(short_book.parent, judge="gpt").load([TASK])
    with pytest.raises(BadInput, match="short"):
        manager(tmp_path).load([TASK])
