"""What a training sees: in every epoch, every word of every book once."""

from collections import Counter

import pytest
from transformers import AutoTokenizer

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.finetuning.material import books_of_set, chunks_of_texts
from epbench.errors import BadInput
from epbench.finetuning.packing import Schedule
from epbench.finetuning.steps import StepLoader
from epbench.finetuning.texts.tokens import SampleTokens
from tests.booksort.sort_set import book_text
from tests.tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    text = book_text(101) + book_text(102)
    return AutoTokenizer.from_pretrained(make_tiny_model(tmp_path_factory.mktemp("model"), text, window=4096))


@pytest.fixture(scope="module")
def texts(dataset):
    return books_of_set(dataset)


def words_of(tokenizer, sample_ids, learned):
    """The words of the tokens that are learned, without those that end a text."""
    kept = [id_ for id_, label in zip(sample_ids, learned, strict=True) if label != -100]
    return tokenizer.decode(kept, skip_special_tokens=True).split()


@pytest.mark.parametrize("n_ranks", [1, 2])
def test_the_words_of_the_stream_are_those_of_the_books_once_an_epoch(texts, tokenizer, n_ranks):
    samples = chunks_of_texts(texts, load_prompts(), 3, SampleTokens(tokenizer, 4096), n_words=300, learn="text")
    chunks = {tuple(sample.ids): sample.id for sample in samples}
    assert len(chunks) == len(samples) > 15
    schedule = Schedule(range(len(samples)), (), 3, seed=1)
    for epoch in range(3):
        seen = {}
        for rank in range(n_ranks):
            loader = StepLoader(samples, schedule, batch_size=5, row_tokens=5000, rank=rank, n_ranks=n_ranks)
            loader.set_epoch(epoch)
            for row in (row for step in loader for row in step["rows"]):
                starts = [i for i, position in enumerate(row["position_ids"][0].tolist()) if position == 0]
                ids, labels = row["input_ids"][0].tolist(), row["labels"][0].tolist()
                for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
                    if tuple(ids[start:end]) in chunks:  # or it is an empty row
                        id_ = chunks[tuple(ids[start:end])]
                        assert id_ not in seen, "a chunk was seen twice"
                        seen[id_] = words_of(tokenizer, ids[start:end], labels[start:end])
        for text in texts:
            own = sorted(
                (int(id_.split("/")[1]), words) for id_, words in seen.items() if id_.startswith(f"{text.id}/")
            )
            assert [word for _, words in own for word in words] == " ".join(text.paragraphs).split()


def test_the_pairs_are_never_trained(texts, tokenizer):
    """What is learned of a chunk is the book alone: no question, no label, no word of the task."""
    pack = load_prompts()
    samples = chunks_of_texts(texts, pack, 3, SampleTokens(tokenizer, 4096), n_words=300)
    counted = Counter("Segment A" in tokenizer.decode(sample.ids) for sample in samples)
    assert counted == {False: len(samples)}


def test_a_chunk_over_the_limit_is_refused_with_numbers(texts, tokenizer):
    with pytest.raises(BadInput, match="sample 101/0: found 545 tokens, expected at most 400"):
        chunks_of_texts(texts, load_prompts(), 3, SampleTokens(tokenizer, 400), n_words=300)
