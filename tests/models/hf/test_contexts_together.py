"""Several contexts in one call: each is read once, and whatever is read together, the answers stay the same."""

from itertools import count

import pytest
import torch

from epbench.models.hf import shared_prefix
from epbench.models.hf.shared_prefix import Prompt, SharedPrefix
from tests.models.hf.tiny_models import alone, answered, before_each_read, out_of_memory_if, tiny

HEAD = 12
CONTEXTS = ((90, 3), (31, 4), (60, 1), (90, 2), (7, 3), (44, 1), (140, 2))  # tokens, and questions about them


def asked(contexts=CONTEXTS):
    """Prompts in mixed order as (ids, name of the context), and what has to be computed if each part is read once."""
    generator = torch.Generator().manual_seed(5)

    def text(n):
        return torch.randint(3, 300, (n,), generator=generator).tolist()

    head, found, needed = text(HEAD), [], HEAD
    for number, (length, questions) in enumerate(contexts):
        context = [3 + number, *text(length - 1)]
        needed += length
        for question in range(questions):
            rest = [100 + question, *text((question + number) % 5)]
            found.append(([*head, *context, *rest], number if questions > 1 else None))
            needed += len(rest)
    return found[::2] + found[1::2], needed


def forwards(monkeypatch):
    """The shapes of what the model reads from now on."""
    shapes = []
    before_each_read(monkeypatch, lambda ids, cache: shapes.append(tuple(ids.shape)))
    return shapes


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Llama", "Gemma2", "Qwen3Next"])
def test_answers_are_those_of_each_prompt_alone(kind):
    model, _ = tiny(kind)
    pairs, _ = asked()
    found = answered(SharedPrefix(model, [2]), [Prompt(ids, 8, context=name) for ids, name in pairs])
    assert [one.ids for one in found] == [alone(model, ids, 8) for ids, _ in pairs]
    assert len({tuple(one.ids) for one in found}) > 5


@pytest.mark.parametrize(("kind", "batch_size"), [("Llama", 3), ("GPT2", None), ("Mistral", 3), ("Mamba", None)])
def test_label_probabilities_are_those_of_each_prompt_alone(kind, batch_size):
    model, _ = tiny(kind)
    pairs, _ = asked()
    labels = {"A": range(3, 150), "B": [7]}
    reader = SharedPrefix(model, [2], batch_size=batch_size)
    found = answered(reader, [Prompt(ids, labels=labels, context=name) for ids, name in pairs])
    for one, (ids, _) in zip(found, pairs, strict=True):
        with torch.no_grad():
            plain = model(torch.tensor([ids])).logits[0, -1].softmax(-1)
        assert one.probabilities == pytest.approx({"A": float(plain[3:150].sum()), "B": float(plain[7])}, abs=1e-4)


def test_each_part_of_the_prompts_is_read_once(llama, monkeypatch):
    pairs, needed = asked()
    prompts = [Prompt(ids, labels={"A": [5]}, context=name) for ids, name in pairs]
    reader = SharedPrefix(llama, [2])
    answered(reader, prompts[:1])
    shapes = forwards(monkeypatch)
    found = answered(reader, prompts)
    assert shapes[0] == (1, HEAD)
    assert [rows for rows, _ in shapes[1:]] == [5, 14, 2]  # contexts, their questions, and the prompts by themselves
    assert sum(len(ids) - one.cached for one, (ids, _) in zip(found, pairs, strict=True)) == needed
    assert {one.shared for one in found} == {HEAD}
    assert sum(one.cached == 0 for one in found) == 1


def test_a_context_with_much_to_read_goes_alone(llama, monkeypatch):
    monkeypatch.setattr(shared_prefix, "_LONG_READ", 100)
    pairs, _ = asked()
    found = answered(SharedPrefix(llama, [2]), [Prompt(ids, 4, context=name) for ids, name in pairs])
    assert [one.ids for one in found] == [alone(llama, ids, 4) for ids, _ in pairs]
    assert {name: one.shared for one, (_, name) in zip(found, pairs, strict=True)} == {
        None: HEAD, 0: HEAD + 90, 1: HEAD, 4: HEAD, 3: HEAD + 90, 6: HEAD + 140
    }  # fmt: skip


def test_a_batch_on_a_cpu_is_small_enough_to_be_lost(llama, monkeypatch):
    prompts = [Prompt(ids, labels={"A": [5]}, context=name) for ids, name in asked([(20, 2)] * 30)[0]]
    reader = SharedPrefix(llama, [2])
    whole = answered(reader, prompts)
    monkeypatch.setattr(shared_prefix, "_SPEED", 2 * llama.num_parameters() * 150 / shared_prefix._LONGEST_BATCH)
    shapes = forwards(monkeypatch)
    arriving = reader.answer(prompts)
    assert next(arriving)[1].probabilities
    assert sum(rows * width for rows, width in shapes) <= HEAD + 150
    found = dict(arriving)
    assert len(found) == len(prompts) - 1
    assert all(found[i].probabilities == pytest.approx(whole[i].probabilities, abs=1e-4) for i in found)


def test_an_answer_is_there_as_soon_as_it_has_ended(llama, monkeypatch):
    pairs, _ = asked([(20, 2)] * 4)
    prompts = [Prompt(ids, 1 + 3 * i, context=name) for i, (ids, name) in enumerate(pairs)]
    reader = SharedPrefix(llama, [])
    answered(reader, prompts[:1])
    shapes = forwards(monkeypatch)
    steps = [(i, len(shapes), len(one.ids)) for i, one in reader.answer(prompts)]
    assert [i for i, _, _ in steps] == list(range(8))
    assert [n for _, _, n in steps] == [1 + 3 * i for i in range(8)]
    assert [calls - steps[0][1] for _, calls, _ in steps] == [3 * i for i in range(8)]
    assert [rows for rows, width in shapes if width == 1][-1] == 1  # rows that have ended are dropped


@pytest.mark.parametrize("most", [0, 3])
@pytest.mark.parametrize("labels", [{}, {"A": [5]}])
def test_batches_shrink_when_memory_runs_out(llama, monkeypatch, most, labels):
    pairs, _ = asked()
    prompts = [Prompt(ids, 4, labels=labels, context=name) for ids, name in pairs]
    reader = SharedPrefix(llama, [2])
    expected = answered(reader, prompts)
    out_of_memory_if(monkeypatch, lambda ids, cache: ids.shape[0] > most and ids.shape[1] != HEAD)
    found = answered(reader, prompts)
    if most:
        assert [one.ids for one in found] == [one.ids for one in expected]
        assert reader.batch_size <= most
    else:
        assert all("no memory" in one.failure for one in found)


def test_what_runs_out_of_memory_on_the_way_keeps_the_answers_that_were_there(llama, monkeypatch):
    pairs, _ = asked([(20, 2)] * 4)
    prompts = [Prompt(ids, 1 + i, context=name) for i, (ids, name) in enumerate(pairs)]
    reader = SharedPrefix(llama, [])
    expected = answered(reader, prompts)
    reads = count(1)
    out_of_memory_if(monkeypatch, lambda ids, cache: next(reads) == 6)
    found = list(reader.answer(prompts))
    assert sorted(i for i, _ in found) == list(range(8))
    assert {i: one.ids for i, one in found} == {i: one.ids for i, one in enumerate(expected)}
    assert reader.batch_size == 4
