"""Training on a CUDA device: weights and the states of the optimizer stay in float32 under autocast."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from epbench.finetuning import trainer
from epbench.finetuning.recipe import Recipe
from epbench.finetuning.trainer import epoch_folder, last_state
from tests.finetuning.training_run import made_samples, training


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_low_rate_moves_the_weights(base, tmp_path):
    recipe = Recipe(num_train_epochs=1, batch_size=8, max_length=96, row_tokens=128, learning_rate=5e-6)
    steps = []
    trainer.train(training(base, tmp_path / "run", recipe=recipe, samples=made_samples(16), steps=steps))
    state = last_state(tmp_path / "run")[1]
    trained, start = load_file(state / "model.safetensors"), AutoModelForCausalLM.from_pretrained(base).state_dict()
    moved = [float((trained[name] != start[name].float()).float().mean()) for name in trained]
    assert {tensor.dtype for tensor in trained.values()} == {torch.float32}
    assert sum(moved) / len(moved) > 0.9  # with weights in bfloat16 it would be less than a tenth
    optimizer = torch.load(state / "optimizer.pt", weights_only=True)["state"]
    assert {value.dtype for one in optimizer.values() for value in one.values()} == {torch.float32}
    assert load_file(epoch_folder(tmp_path / "run", 1) / "model.safetensors")
    assert steps and all("loss" in step for step in steps)
