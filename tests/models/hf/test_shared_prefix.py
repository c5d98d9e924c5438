from inspect import Parameter, Signature

import pytest
import torch

from epbench import BadInput
from epbench.models.hf import prefix_attention, prefix_rows, shared_prefix
from epbench.models.hf.prefix_rows import Forward, Rows
from epbench.models.hf.shared_prefix import Prompt, SharedPrefix
from epbench.progress import Tally, bar
from tests.models.hf.tiny_models import MODELS, alone, answered, answered_as_alone, biased, out_of_memory_if, tiny


def prompts(n=22, head=200, longest=9):
    generator = torch.Generator().manual_seed(3)

    def text(length):
        return torch.randint(3, 300, (length,), generator=generator).tolist()

    shared = text(head)
    return [[*shared, 3 + i, *text(1 + i % longest)] for i in range(n)]


RARER = ("Qwen3", "Gemma2", "Qwen3Next")


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow) if k in RARER else k for k in MODELS])
def test_greedy_tokens_are_those_of_the_plain_path(kind, n=9, tokens=5):
    model, strategy = tiny(kind)
    asked = prompts(n)
    expected = [alone(model, ids, tokens) for ids in asked]
    reader = SharedPrefix(model, [2], batch_size=8)
    found = answered(reader, [Prompt(ids, tokens) for ids in asked])
    assert [one.ids for one in found] == expected and len(set(map(tuple, expected))) >= n // 2
    assert strategy is None or reader.strategy == strategy
    assert {one.shared for one in found} == {0 if reader.strategy == "none" else 200}
    assert all(one.ended == (len(one.ids) < tokens) for one in found)


def under(monkeypatch, model, name):
    """Let a model take its cache under another name, as other versions of transformers do."""
    real, own = model.forward, Forward(model)._cache_name

    def forward(**given):
        return real(**{own if key == name else key: value for key, value in given.items()})

    known = ["input_ids", "position_ids", "logits_to_keep", "use_cache", name]
    forward.__signature__ = Signature([Parameter(key, Parameter.KEYWORD_ONLY) for key in known])
    monkeypatch.setattr(model, "forward", forward)


@pytest.mark.parametrize("name", ["cache", "cache_params"])
def test_the_cache_goes_under_the_name_that_the_model_has_for_it(llama, monkeypatch, name):
    asked = prompts(5)
    expected = [alone(llama, ids, 4) for ids in asked]
    under(monkeypatch, llama, name)
    found = answered(SharedPrefix(llama, [2]), [Prompt(ids, 4) for ids in asked])
    assert [one.ids for one in found] == expected and {one.shared for one in found} == {200}


def test_a_model_that_takes_no_cache_is_refused(llama, monkeypatch):
    under(monkeypatch, llama, "states")
    with pytest.raises(BadInput, match=r"takes cache, past_key_values or cache_params, found input_ids, .*states"):
        next(SharedPrefix(llama, [2]).answer([Prompt([5, 6], 2)]))


def test_scores_are_computed_in_parts_even_for_one_long_question(llama, monkeypatch):
    monkeypatch.setattr(prefix_attention, "_fused", lambda query: False)
    asked = prompts(1, head=400, longest=1)[0]
    cache = (forward := Forward(llama)).read(asked[:300], 1000)
    list(SharedPrefix(llama, [2]).answer([Prompt(asked, 1)]))
    joint, scores = prefix_attention._joint, []

    def counted(query, prefix, own, mask, scale):
        scores.append(query.shape[:-1].numel() * (prefix[0].shape[2] + own[0].shape[2]))
        return joint(query, prefix, own, mask, scale)

    monkeypatch.setattr(prefix_attention, "_joint", counted)
    monkeypatch.setattr(prefix_attention, "_MAX_SCORES", 20_000)
    found = Rows(forward, cache, 300, 1, 102, joint=True).read([asked[300:]], 1000)[0]
    assert len(scores) > 10 and max(scores) <= 20_000
    assert torch.allclose(found, forward.read_logits(asked), atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("way", ["joint", "joint without the fused kernel", "repeated", "none"])
def test_large_key_biases_make_no_difference(monkeypatch, way, dtype):
    if way.endswith("kernel"):
        monkeypatch.setattr(prefix_attention, "_fused", lambda query: False)
    joint, n_prefix = way.startswith("joint"), 0 if way == "none" else 64
    generator = torch.Generator().manual_seed(5)
    head, *tails = (torch.randint(3, 300, (n,), generator=generator).tolist() for n in (64, *range(40, 64)))
    asked = [head + tail for tail in tails]
    forward = Forward(biased(dtype))
    expected = torch.stack([forward.read_logits(ids) for ids in asked])
    forward.model.set_attn_implementation(prefix_attention.NAME if joint else "sdpa")
    cache = forward.read(asked[0][:n_prefix], 40)
    found = []
    for batch in [asked] if n_prefix else [[ids] for ids in asked]:
        rows = Rows(forward, cache, n_prefix, len(batch), 64, joint=joint)
        found += rows.read([ids[n_prefix:] for ids in batch], 400)
    ours, theirs = torch.stack(found).log_softmax(-1), expected.log_softmax(-1)
    off, divergence = (ours - theirs).std() / theirs.std(), (theirs.exp() * (theirs - ours)).sum(-1).mean()
    behind = theirs.amax(-1) - theirs.gather(-1, ours.argmax(-1, keepdim=True))[:, 0]
    most, most_divergence = (1e-3, 1e-5) if dtype == torch.float32 else (0.03, 0.003)
    assert off < most and divergence < most_divergence
    assert (behind < 3 * most * theirs.std()).all()  # another token only if it is about as probable


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_strategy_is_tried_at_the_beginning_in_the_middle_and_at_the_end(llama, monkeypatch, bad):
    asked = prompts(5, head=600)
    begin, middle, end = asked[0], asked[2], asked[-1]
    wrong = (begin[95], middle[(len(middle) - 96) // 2 + 95], end[-1])[bad]
    add = Rows.add

    def spoiled(self, tokens):
        logits = add(self, tokens)
        return logits.roll(1, -1) if self.joint and wrong in tokens.tolist() else logits

    monkeypatch.setattr(Rows, "add", spoiled)
    reader = SharedPrefix(llama, [2])
    list(reader.answer([Prompt(ids, 1) for ids in asked]))
    assert reader.strategy == "repeated"


def test_a_strategy_is_judged_by_probabilities_as_well_as_logits():
    expected = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
    expected[:2] = torch.tensor([20.0, 19.0])
    found = expected.clone()
    found[:2] = torch.tensor([19.0, 20.0])  # alone they hardly count among the logits
    said = r"differ by 0\.004\d of their standard deviation, distributions by 0\.46 nats"
    with pytest.raises(ValueError, match=said):
        prefix_rows._compare(found, expected, (0.08, 0.02))
    prefix_rows._compare(expected + 7, expected, (0.08, 0.02))


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize(("kind", "fused"), [("Llama", True), ("Llama", False), ("GPT2", True)])
def test_chunks_change_nothing(monkeypatch, kind, fused, chunk):
    if not fused:
        monkeypatch.setattr(prefix_attention, "_fused", lambda query: False)
    model, _ = tiny(kind)
    reader = SharedPrefix(model, [2], chunk=chunk)
    answered_as_alone(reader, prompts(6), 6)
    assert reader.strategy == "joint"


def test_looking_at_tokens_only_now_and_then_changes_nothing(llama, monkeypatch):
    asked = [
        Prompt(ids, 1 + 3 * i, temperature=i % 2, stream=(i,), enough=None if i % 3 else lambda ids: len(ids) >= 16)
        for i, ids in enumerate(prompts(14))
    ]
    each = dict(SharedPrefix(llama, range(2, 30)).answer(asked))
    monkeypatch.setattr(shared_prefix, "_AHEAD", {"cpu": 3})
    assert dict(SharedPrefix(llama, range(2, 30)).answer(asked)) == each
    assert {completion.ended for completion in each.values()} == {True, False}


def test_prompts_of_all_sorts_stand_in_one_call(llama):
    asked = [*prompts(4), [1], [1, 7], prompts(1, head=90)[0]]
    batch = [Prompt(ids, 1 + i) for i, ids in enumerate(asked)]
    *found, labelled, _ = answered(
        SharedPrefix(llama, [2]), [*batch, Prompt(asked[0], labels={"A": [5]}), Prompt(asked[0], 3)]
    )
    assert [one.ids for one in found] == [alone(llama, ids, 1 + i) for i, ids in enumerate(asked)]
    assert labelled.probabilities and len(labelled.ids) == 1
    assert list(SharedPrefix(llama, [2]).answer([])) == []


def test_draws_follow_the_distribution(llama):
    ids = prompts(1)[0]
    found = SharedPrefix(llama, [2]).answer([Prompt(ids, 1, 2.0, (i,)) for i in range(2000)])
    drawn = torch.tensor([t.ids[0] for _, t in found if t.ids])
    with torch.no_grad():
        expected = (llama(torch.tensor([ids])).logits[0, -1] / 2).softmax(-1)
    top = expected.topk(5).indices
    shares = torch.tensor([float((drawn == token).float().mean()) for token in top])
    assert torch.allclose(shares, expected[top], atol=0.04)


def test_a_prefix_is_read_in_smaller_pieces_when_memory_runs_out(llama, monkeypatch):
    out_of_memory_if(monkeypatch, lambda ids, cache: ids.numel() > 100)
    reader = SharedPrefix(llama, [2])
    answered_as_alone(reader, prompts(3, head=400), 4)
    assert reader.chunk <= 100


def test_a_prefix_that_never_fits_is_a_failure_and_does_not_slow_down_the_next_one(llama, monkeypatch):
    out_of_memory_if(monkeypatch, lambda ids, cache: cache.get_seq_length() + ids.shape[1] > 300)
    reader = SharedPrefix(llama, [2])
    found = answered(reader, [Prompt(ids, 4) for ids in prompts(3, head=400)])
    assert all("no memory for the 400 tokens" in one.failure for one in found) and reader.chunk >= 256


def test_a_prefix_is_read_once(llama, monkeypatch):
    reader = SharedPrefix(llama, [2])
    batch = [Prompt(ids, 2) for ids in prompts(4)]
    first = dict(reader.answer(batch))
    monkeypatch.setattr(Forward, "read", None)
    assert dict(reader.answer(batch)) == first


def test_progress_tells_how_much_of_what_the_prompts_share_has_been_read(llama, monkeypatch):
    told, tell = [], Tally.tell
    monkeypatch.setattr(Tally, "tell", lambda tally, doing: (told.append(doing), tell(tally, doing)))
    reader = SharedPrefix(llama, [2], chunk=64)
    assert len(list(bar(reader.answer([Prompt(ids, 4) for ids in prompts(5)]), "answers", 5))) == 5
    read = [f"reading: {n} of 200 tokens" for n in (0, 64, 128, 192)]
    assert told == [*read, "", *[""] * 5]  # nothing once it has been read, nor when an answer is done
