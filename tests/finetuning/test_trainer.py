"""Training as a whole: its learning rate, and that kills, restarts and more processes change nothing."""

import json
import math
import signal
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from epbench.errors import RunFailed
from epbench.finetuning import trainer
from epbench.finetuning.recipe import Recipe
from epbench.finetuning.trainer import epoch_folder, last_state
from tests.conftest import ROOT
from tests.finetuning.sharded_steps import some_steps
from tests.finetuning.training_run import RECIPE, made_samples, training


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    """A training that nobody stops, and the records of its steps."""
    out, steps = tmp_path_factory.mktemp("whole"), []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    trainer.train(training(base, out, steps=steps))
    torch.set_num_threads(threads)
    return out, steps


def weights(out, epoch=3):
    return load_file(epoch_folder(out, epoch) / "model.safetensors")


def full_weights(out):
    return load_file(last_state(out)[1] / "model.safetensors")


def largest_difference(one, other):
    assert one.keys() == other.keys()
    return max(float((one[name].float() - other[name].float()).abs().max()) for name in one)


def launched(*command):
    return subprocess.run([sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_the_rate_is_the_cosine(whole):
    rates = [step["rate"] for step in whole[1]]
    expected = [RECIPE.learning_rate * 0.5 * (1 + math.cos(math.pi * i / 9)) for i in range(9)]
    assert rates == pytest.approx(expected, rel=0, abs=1e-9 * RECIPE.learning_rate)


def test_every_epoch_leaves_a_model_in_bfloat16(whole, base):
    out, steps = whole
    assert steps[-1]["loss"] < steps[0]["loss"]
    start = AutoModelForCausalLM.from_pretrained(base).state_dict()
    for epoch in (1, 2, 3):
        folder = epoch_folder(out, epoch)
        assert {tensor.dtype for tensor in weights(out, epoch).values()} == {torch.bfloat16}
        assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"
        assert AutoTokenizer.from_pretrained(folder).chat_template
        assert largest_difference(weights(out, epoch), start) > 1e-4
    assert {tensor.dtype for tensor in full_weights(out).values()} == {torch.float32}
    assert largest_difference(full_weights(out), weights(out)) < 0.01
    assert [path.name for path in (out / "state").iterdir()] == ["checkpoint-9"]
    before, again = weights(out), []
    trainer.train(training(base, out, steps=again))
    assert not again and largest_difference(weights(out), before) == 0.0  # nothing is left to train


def test_epochs_between_checkpoints_leave_nothing(base, tmp_path):
    assert Recipe(num_train_epochs=3, save_every=2).kept_epochs == [1, 2, 3]
    recipe = Recipe(num_train_epochs=4, batch_size=30, max_length=96, save_every=10, learning_rate=1e-3)
    trainer.train(training(base, tmp_path, recipe=recipe, samples=made_samples(3)))
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["epoch-1", "epoch-4"]


def test_a_loss_that_is_no_number_stops_training(base, tmp_path):
    recipe = Recipe(num_train_epochs=3, batch_size=2, max_length=96, learning_rate=1e30, max_grad_norm=1e30)
    with pytest.raises(RunFailed, match=r"step \d+: the loss is (nan|inf)"):
        trainer.train(training(base, tmp_path, recipe=recipe, samples=made_samples(4)))
    assert last_state(tmp_path) is None or last_state(tmp_path)[0] < 6


def test_one_process_trains_on_one_of_several_gpus(base, tmp_path, monkeypatch, caplog):
    def with_two(recipe, out, make=trainer.training_arguments):
        arguments = make(recipe, out)
        arguments._n_gpu = 2
        return arguments

    monkeypatch.setattr(trainer, "training_arguments", with_two)
    monkeypatch.setattr(torch.nn.DataParallel, "__init__", None)
    recipe = Recipe(num_train_epochs=1, batch_size=4, max_length=96)
    trainer.train(training(base, tmp_path, recipe=recipe, samples=made_samples(4)))
    assert "one of 2 GPUs" in caplog.text and weights(tmp_path, 1)


def test_tf32_is_asked_for_only_where_it_is(tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(trainer, "TrainingArguments", lambda **given: asked.update(given))
    for there, tf32 in ((True, True), (False, None)):  # False: older ones, and those of AMD
        monkeypatch.setattr(trainer, "is_torch_tf32_available", lambda there=there: there)
        trainer.training_arguments(RECIPE, tmp_path)
        assert asked["tf32"] is tf32 and asked["bf16"]


def test_lora_is_merged_into_the_model(base, tmp_path):
    recipe = Recipe(num_train_epochs=1, batch_size=8, max_length=96, learning_rate=1e-2, lora_r=2)
    trainer.train(training(base, tmp_path, recipe=recipe, samples=made_samples(8)))
    trained = weights(tmp_path, 1)
    start = {name: t.to(torch.bfloat16) for name, t in AutoModelForCausalLM.from_pretrained(base).state_dict().items()}
    assert trained.keys() == start.keys()
    changed = {name for name in start if largest_difference({name: trained[name]}, {name: start[name]}) > 0}
    assert changed and all("proj" in name for name in changed)
    name = "model.layers.0.self_attn.q_proj.weight"
    energy = torch.linalg.svdvals(trained[name].float() - start[name].float()) ** 2
    assert energy[:2].sum() > 0.95 * energy.sum()  # the rest comes from rounding to bfloat16


@pytest.mark.slow
@pytest.mark.parametrize("place", ["weights", *(pytest.param(p, marks=pytest.mark.nightly) for p in ("step", "state"))])
def test_a_killed_training_goes_on_to_the_same_weights(whole, base, tmp_path, place):
    command = ["-m", "tests.finetuning.training_run", base, tmp_path]
    killed = launched(*command, place)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = last_state(tmp_path)
    assert before[0] == 3
    if place == "state":
        assert (tmp_path / "state" / "checkpoint-6").is_dir()
    resumed = launched(*command)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout.splitlines()[0]) == {"epoch": 1}
    assert largest_difference(full_weights(tmp_path), full_weights(whole[0])) == 0.0
    for epoch in (1, 2, 3):
        assert largest_difference(weights(tmp_path, epoch), weights(whole[0], epoch)) == 0.0


@pytest.mark.slow
def test_two_processes_train_like_one(whole, base, tmp_path):
    done = launched(
        "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
        "-m", "tests.finetuning.training_run", base, tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"step"') == 9 and done.stdout.count('"epoch"') == 6
    assert largest_difference(full_weights(tmp_path), full_weights(whole[0])) < 1e-5


@pytest.mark.slow
def test_sharded_weights_train_like_whole_ones(base, tmp_path):
    done = launched(
        "-m", "torch.distributed.run", "--nproc_per_node", "2", "-m", "tests.finetuning.sharded_steps", base,
        tmp_path / "weights.pt",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    some_steps(model, 0, 1)
    sharded = torch.load(tmp_path / "weights.pt")
    assert largest_difference(sharded, dict(model.state_dict())) < 1e-5


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_low_rate_moves_the_weights(base, tmp_path):
    """Weights and the states of the optimizer stay in float32 under autocast."""
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
