"""What is trained: questions in the very prompt in which they are asked, and answers that alone are learned."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench import load_book
from epbench.finetuning.tokens import SampleTokens
from epbench.models.hf.model import TransformersModel
from epbench.tulving.context.requests import Reading, load_prompts
from epbench.tulving.finetuning.material import held_out_samples, question_samples, training_questions
from tests.refusals import refusal
from tests.tulving.finetuning.tiny_book import N_TRAINED, TITLE

READING = Reading(memory="none")


@pytest.fixture(scope="module")
def model(tiny):
    return TransformersModel(str(tiny))


@pytest.fixture(scope="module")
def tokens(model):
    return SampleTokens(model.prompts.tokenizer)


@pytest.fixture(scope="module")
def samples(book, tokens):
    return question_samples(training_questions(str(book)), load_book(str(book)), READING, tokens)


def test_a_sample_is_the_prompt_that_is_asked_and_then_the_answer(book, model, samples):
    data, by_id = load_book(str(book)), {sample.id: sample for sample in samples}
    both = [(request, by_id[request.id]) for request in READING.requests(data, data.rows) if request.id in by_id]
    for request, sample in both:
        prompt = model.prompts.ids(request)
        assert sample.ids[: len(prompt)] == prompt and not any(sample.learned[: len(prompt)])
        assert all(sample.learned[len(prompt) :])
    assert len(both) == 8 < len(samples) == N_TRAINED


def test_the_answer_alone_is_learned_and_the_prompt_names_the_book(book, model, samples):
    for sample, question in zip(samples, training_questions(str(book)), strict=True):
        told = model.prompts.tokenizer.decode(sample.ids)
        learned = [id_ for id_, yes in zip(sample.ids, sample.learned, strict=True) if yes]
        assert model.prompts.tokenizer.decode(learned) == f"{question.answer}<|end|>"
        assert question.question in told and f'"{TITLE}"' in told and sample.kind == "question"


def test_a_sample_that_is_too_long_is_named_by_its_row(book, model):
    asked = training_questions(str(book)), load_book(str(book)), READING, SampleTokens(model.prompts.tokenizer, 100)
    refused = refusal(question_samples, *asked)
    assert refused.startswith(f"{book}, config 'finetune', row 0: sample t")
    assert "expected at most 100; nothing is cut" in refused


USER, ASSISTANT = {"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Zoe"}
GOOD, BLANK = {"id": "a", "messages": [USER, ASSISTANT]}, ASSISTANT | {"content": " \n"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a", "messages": [{"role": "user"}]}], "row 0, field 'messages[0].content': expected"),
        ([GOOD, {"id": "b", "messages": [USER]}], "row 1, field 'messages': expected a message of the user and one of"),
        ([{"id": "a", "messages": [ASSISTANT, USER]}], "found 'assistant', 'user'"),
        (
            [{"id": "a", "messages": [USER, BLANK]}],
            "row 0, field 'messages[1].content': expected a text, found a blank",
        ),
        ([GOOD, GOOD], "row 1, field 'id': expected another id in every row, found 'a' again"),
        (None, "finetune/train-*.parquet, found no such file"),
    ],
)
def test_bad_rows_are_named(tmp_path, rows, message):
    folder = tmp_path / "book"
    (folder / "finetune").mkdir(parents=True)
    if rows is not None:
        pq.write_table(pa.Table.from_pylist(rows), folder / "finetune/train-00000-of-00001.parquet")
    refused = refusal(training_questions, str(folder))
    assert message in refused and str(folder) in refused


def test_of_a_text_that_is_never_trained_only_its_own_words_count(model, tokens):
    prompts = load_prompts()
    one, two = held_out_samples(["It rained on Monday.", "Zoe danced."], prompts, tokens)
    tokenizer = model.prompts.tokenizer
    for sample, text in ((one, "It rained on Monday."), (two, "Zoe danced.")):
        learned = tokenizer.decode([id_ for id_, yes in zip(sample.ids, sample.learned, strict=True) if yes])
        assert learned == f"{text}<|end|>"
        assert prompts.book.split("{book}")[0].strip() in tokenizer.decode(sample.ids)
    assert one.id != two.id
