"""Log-probabilities of given tokens: those of a plain loop, whatever is read together and however."""

import logging
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.errors import RunFailed
from epbench.models.hf import likelihood
from epbench.models.hf.likelihood import Likelihoods, SpanLikelihood, perplexity
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request
from tests.models.hf import tiny_models
from tests.models.hf.tiny_models import of_tokens
from tests.refusals import refusal
from tests.tiny_model import make_tiny_model

LONG_ROPE = {  # frequencies for texts of up to 15 tokens, and others for longer ones
    "rope_type": "longrope",
    "rope_theta": 100.0,
    "short_factor": [1.0] * 8,
    "long_factor": [4.0] * 8,
    "original_max_position_embeddings": 15,
}
MODELS = {
    "Llama": {},
    "GPT2": {},
    "longrope": {"rope_parameters": LONG_ROPE, "max_position_embeddings": 64},
    "Gemma2": {"sliding_window": 6, "final_logit_softcapping": 2.0},
    "Mamba": {},
}


def tiny(kind):
    return tiny_models.tiny("Llama" if kind == "longrope" else kind, **MODELS[kind])[0]


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return tiny(request.param)


@pytest.fixture(scope="module")
def llama():
    return tiny("Llama")


def rows_of(*lengths):
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(3, 300, (length,), generator=generator).tolist() for length in lengths]


ROWS = rows_of(9, 20, 1, 14, 20, 2, 17)


def one_at_a_time(model, row):
    """The plain loop: the whole text up to a token by itself, for each token."""
    found = [math.nan]
    for n in range(1, len(row)):
        with torch.no_grad():
            logits = model(torch.tensor([row[:n]])).logits[0, -1]
        found.append(float(logits.double().log_softmax(-1)[row[n]]))
    return found


def at_once(model, row):
    with torch.no_grad():
        scores = model(torch.tensor([row])).logits[0].double().log_softmax(-1)
    return [math.nan, *(float(scores[i, token]) for i, token in enumerate(row[1:]))]


def close(found, expected, most=1e-5):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=most)


def test_the_numbers_are_those_of_a_plain_loop(model):
    # With a rope that depends on the length, the loop reads the heads of a text by other frequencies than the whole.
    plain = at_once if "longrope" in str(model.config) else one_at_a_time
    found = of_tokens(Likelihoods(model), ROWS)
    close(found, [plain(model, row) for row in ROWS])
    assert np.nanstd(np.concatenate(found)) > 0.3  # a model with opinions


@pytest.mark.parametrize("tokens", [1, 40])
def test_it_does_not_matter_what_is_read_together(model, tokens):
    alone = [of_tokens(Likelihoods(model), [row])[0] for row in ROWS]
    together = Likelihoods(model, tokens=tokens)
    close(of_tokens(together, ROWS), alone)
    close(of_tokens(together, ROWS[::-1]), alone[::-1])


def test_the_vocabulary_in_parts_is_the_same(llama, monkeypatch):
    whole = of_tokens(Likelihoods(llama), ROWS)
    for most in (1, 300 * 7 * 3):
        monkeypatch.setattr(likelihood, "_MOST_SCORES", most)
        close(of_tokens(Likelihoods(llama), ROWS), whole, 0)


@pytest.mark.slow
def test_joint_attention_which_questions_leave_behind_changes_nothing(tmp_path):
    folder = make_tiny_model(tmp_path / "m", "A lamp at the ferry, a lamp in the harbour. " * 40)
    model = TransformersModel(str(folder))
    rows = [model.prompts.ids(Request(str(i), "s", "", "lamp " * i + "?")) for i in range(1, 6)]
    before = of_tokens(model.likelihoods, rows)
    asked = [Request(str(i), "s", "the lamp " * 60, f"{i}?", labels=("a", "t")) for i in range(4)]
    list(model.answer(asked))
    assert model.reader.strategy == "joint"
    close(of_tokens(model.likelihoods, rows), before)
    close(before, [at_once(model.reader.forward.model, row) for row in rows])


spans_of_rows = st.lists(
    st.integers(2, 24).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(1, n - 1), unique=True), max_size=3),
        )
    ),
    min_size=1,
    max_size=6,
)


@given(spans_of_rows, st.integers(1, 80))
@settings(max_examples=10, deadline=None)
def test_a_span_adds_up_its_tokens(llama, given_spans, tokens):
    rows, spans = rows_of(*(n for n, _ in given_spans)), [named for _, named in given_spans]
    by_token = of_tokens(Likelihoods(llama), rows)
    found = Likelihoods(llama, tokens=tokens).of_spans(rows, spans)
    for values, named, one in zip(by_token, spans, found, strict=True):
        assert one.keys() == named.keys()
        for name, span in named.items():
            assert one[name].n_tokens == len(span)
            assert one[name].log_likelihood == pytest.approx(sum(values[i] for i in span), abs=1e-4)


def test_logits_are_computed_for_spans_alone(llama, monkeypatch):
    shapes = []
    llama.lm_head.register_forward_hook(lambda module, given, out: shapes.append(tuple(out.shape)))
    Likelihoods(llama).of_spans(ROWS[:2], [{"a": range(3, 6)}, {"a": range(4, 8), "b": []}])
    assert shapes == [(2, 5, 300)]  # tokens 3 to 7, predicted by those before them
    assert Likelihoods(llama).of_spans(ROWS[:1], [{"b": []}]) == [{"b": SpanLikelihood(0, 0.0)}]
    assert len(shapes) == 1


@pytest.mark.parametrize(("row", "position"), [(2, 1), (0, 0), (0, 9)])
def test_a_position_outside_its_row_is_refused(llama, row, position):
    said = f"text {row}, span 'a': expected positions from 1 to {len(ROWS[row]) - 1}, got"
    spans = [{"a": [position]} if i == row else {} for i in range(len(ROWS))]
    assert refusal(Likelihoods(llama).of_spans, ROWS, spans).startswith(said)


def test_perplexity_is_that_of_all_tokens():
    spans = [SpanLikelihood(3, -6.0), SpanLikelihood(1, -2.0), SpanLikelihood(0, 0.0)]
    assert perplexity(iter(spans)) == pytest.approx(math.exp(2))
    assert perplexity([SpanLikelihood(4, 4 * math.log(1 / 7))]) == pytest.approx(7)
    assert "expected at least one token, got none in 1 spans" in refusal(perplexity, spans[2:])


def test_states_are_those_that_the_head_sees(model):
    found = Likelihoods(model, tokens=45).last_states(ROWS)
    assert found.dtype == np.float32 and found.shape == (len(ROWS), 64)
    for row, states in zip(ROWS, found, strict=True):
        with torch.no_grad():
            expected = model(torch.tensor([row]), output_hidden_states=True).hidden_states[-1][0, -1]
        np.testing.assert_allclose(states, expected.numpy(), atol=1e-5)
    assert Likelihoods(model).last_states([]).shape == (0, 64)


def test_what_does_not_fit_is_refused_with_both_numbers(llama):
    fits = Likelihoods(llama, window=20)
    assert len(fits.last_states(ROWS)) == len(ROWS)
    said = "text 1: expected at most the 19 tokens of the model's window, got 20"
    assert refusal(Likelihoods(llama, window=19).last_states, ROWS) == said
    assert refusal(fits.last_states, [[4], []]) == "text 1: expected at least one token, got none"


def test_the_model_is_left_as_it_was(llama):
    for module in (llama, llama.model.layers[1].mlp):
        module.train()
    llama.model.layers[0].eval()
    modes, config = [m.training for m in llama.modules()], llama.config.to_dict()
    generation = llama.generation_config.to_dict()
    of_tokens(Likelihoods(llama), ROWS)
    Likelihoods(llama).last_states(ROWS)
    with pytest.raises(TypeError):
        Likelihoods(llama).read(ROWS, lambda batch: batch + 1)
    assert [m.training for m in llama.modules()] == modes and len(set(modes)) == 2
    assert (llama.config.to_dict(), llama.generation_config.to_dict()) == (config, generation)
    assert not any(parameter.is_inference() for parameter in llama.parameters())
    llama.eval()


def test_batches_are_halved_when_memory_runs_out(llama, monkeypatch, caplog):
    forward = llama.forward

    def short_of_memory(input_ids, **more):
        if input_ids.numel() > 30:
            raise torch.OutOfMemoryError("out of memory")
        return forward(input_ids, **more)

    expected = of_tokens(Likelihoods(llama), ROWS)
    monkeypatch.setattr(llama, "forward", short_of_memory)
    small = Likelihoods(llama)
    with caplog.at_level(logging.INFO, "epbench"):
        close(of_tokens(small, ROWS), expected)
    assert small.tokens <= 60 and "out of memory with 7 texts at a time: at most 70 tokens" in caplog.text
    with pytest.raises(RunFailed, match="^no memory to read a text of 31 tokens"):
        of_tokens(small, rows_of(31))
