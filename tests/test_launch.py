"""Arguments from a file and the command line, and processes that must know of one another."""

import shutil
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from epbench import launch
from epbench.errors import BadInput
from epbench.finetuning import memory
from epbench.finetuning.cost import parameters_of
from epbench.finetuning.ranks import Ranks
from epbench.finetuning.recipe import Recipe, said
from epbench.starting import scripts
from tests.finetuning.small_configs import LLAMA


@dataclass(frozen=True, kw_only=True)
class Arguments(Recipe):
    """What a script might take."""

    out: str = said("runs", "the folder")
    pairs: list[str] = said(["one"], "some names")


@pytest.mark.slow
def test_the_command_line_overrules_the_file_and_the_file_the_defaults(tmp_path):
    file = tmp_path / "recipe.yaml"
    file.write_text("learning_rate: 1e-3\nbatch_size: 7\npairs: [two, three]\n")
    args = launch.parse(Arguments, "doc", ["--config", str(file), "--batch_size", "9"])
    assert (args.learning_rate, args.batch_size, args.pairs, args.out) == (1e-3, 9, ["two", "three"], "runs")
    assert launch.parse(Arguments, "doc", ["--pairs", "a", "b"], toy=file).pairs == ["a", "b"]
    assert launch.parse(Arguments, "doc", []).pairs == ["one"]


def test_the_file_may_be_given_with_an_equals_sign_and_must_be_given(tmp_path):
    file = tmp_path / "recipe.yaml"
    file.write_text("batch_size: 7\n")
    assert launch.parse(Arguments, "doc", [f"--config={file}"]).batch_size == 7
    with pytest.raises(BadInput, match="--config: expected the name of a YAML file"):
        launch.parse(Arguments, "doc", ["--config"])


@pytest.mark.parametrize("more", [["--model=m"], ["--model", "m"]])
def test_the_toy_is_for_a_command_line_without_a_model(tmp_path, more):
    @dataclass(frozen=True, kw_only=True)
    class WithModel(Recipe):
        model: str | None = said(None, "the model")

    file = tmp_path / "toy.yaml"
    file.write_text("batch_size: 7\n")
    assert launch.parse(WithModel, "doc", [], toy=file).batch_size == 7
    assert launch.parse(WithModel, "doc", more, toy=file).batch_size == 192


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1", "unknown arguments: --learning_rat 1"),
        ("- a list", "YAML mapping"),
        ("batch_size: many", "batch_size"),
        ("batch_size: 1.5", "batch_size: expected a whole number of at least 1, got 1.5"),
        ("a: b: c", "recipe.yaml"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, message):
    file = tmp_path / "recipe.yaml"
    file.write_text(text)
    with pytest.raises(BadInput, match=message):
        launch.parse(Arguments, "doc", ["--config", str(file)])


def test_processes_that_do_not_know_of_one_another_are_refused(monkeypatch):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    monkeypatch.setenv("MASTER_PORT", "29500")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(BadInput, match="asked for several processes and has started one"), launch.joined():
        pass
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadInput, match="2 processes were started, but accelerate counts 1"), launch.joined():
        pass


@pytest.fixture
def base(tmp_path):
    LLAMA.save_pretrained(tmp_path / "base")
    return str(tmp_path / "base")


def memory_of(base, tmp_path, **recipe):
    """The number of bytes that training is said to take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda device: 10**15)
        told = launch.check_cost(Recipe(**recipe), base, Ranks(), tmp_path / "run")[1]
    return float(told.split("about ")[1].split(" GB")[0]) * 1e9


def test_too_little_memory_is_refused_with_the_flags_that_fit(base, tmp_path, monkeypatch):
    long_rows = {"row_tokens": 60_000, "activation_checkpointing": False}
    assert memory_of(base, tmp_path, **long_rows) > 1e9
    asked = Recipe(**long_rows)
    available = int(memory_of(base, tmp_path, row_tokens=60_000) + 1e8)  # enough when activations are computed twice
    monkeypatch.setattr(memory, "available_memory", lambda device: available)
    with pytest.raises(BadInput, match=r"available; it would fit with --activation_checkpointing true \(\d+\.\d GB\)$"):
        launch.check_cost(asked, base, Ranks(), tmp_path / "run")
    launch.check_cost(Recipe(row_tokens=60_000), base, Ranks(), tmp_path / "run")
    with pytest.raises(BadInput, match="it would not fit either with --lora_r 16"):  # both share the machine
        launch.check_cost(Recipe(row_tokens=60_000), base, Ranks(0, 2), tmp_path / "run")


def test_too_little_disk_is_refused_but_not_what_an_earlier_start_has_written(base, tmp_path, monkeypatch):
    needed = memory.disk_needed(parameters_of(LLAMA).total, 5)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed // 2))
    with pytest.raises(BadInput, match=r"run: the checkpoints take 0\.0 GB, but 0\.0 GB are free"):
        launch.check_cost(Recipe(), base, Ranks(), tmp_path / "run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/model.safetensors").write_bytes(bytes(needed // 2 + 1))
    assert "parameters; disk" in launch.check_cost(Recipe(), base, Ranks(), tmp_path / "run")[0]


def test_the_help_from_a_wheel_names_scripts_where_they_lie(monkeypatch, capsys):
    monkeypatch.setattr(scripts, "_IN_WHEEL", scripts.scripts_root())
    with pytest.raises(SystemExit):
        launch.parse(Arguments, "accelerate launch finetune/sort_lm.py\n\nThen eval_scripts/merge.py", ["--help"])
    shown = capsys.readouterr().out
    assert 'accelerate launch "$(epbench path finetune/sort_lm.py)"\n' in shown and "Then epbench merge" in shown
