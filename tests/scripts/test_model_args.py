"""`--model-args`: what the scripts refuse, what run.json says, and that no two variants share answers."""

import json
from dataclasses import dataclass

import pytest

from epbench.arguments import options
from epbench.arguments.declaring import included, parse
from epbench.models.load import Options
from epbench.tulving.judging.load import load_judge
from tests.booksort.sort_set import write_set
from tests.models.tiny_adapter import make_adapter
from tests.scripts.in_process import refused, script
from tests.scripts.run_files import read
from tests.tiny_model import make_tiny_model

TEXT = "Segment A: the ferry. Segment B: the lamp. Answer: Segment A. Answer: Segment B. " * 60


@pytest.fixture
def tiny(tmp_path):
    return make_tiny_model(tmp_path / "tiny", TEXT, ends=True)


@dataclass(frozen=True, kw_only=True)
class Both:
    """The arguments of a script with a reader and a judge."""

    backend: options.Backend = included()
    judging: options.Judge = included()


def sort(dataset, model, out, *more):
    return script(
        "eval_scripts/booksort.py", "--dataset", dataset, "--memory", "none", "--model", model, "--limit", 4, "--out", out,
        *more,
    )  # fmt: skip


def run_of(folder):
    return read(folder, "run.json")


def keys_in(folder):
    return {json.loads(line)["key"] for line in (folder / "answers.jsonl").open()}


@pytest.mark.slow
def test_an_adapter_is_another_run_which_verify_knows(tiny, tmp_path):
    dataset, adapter = write_set(tmp_path / "booksort"), make_adapter(tmp_path / "adapter", tiny)
    assert sort(dataset, f"hf:{tiny}", tmp_path / "base").returncode == 0
    done = sort(dataset, f"hf:{tiny}", tmp_path / "lora", "--model-args", f"adapter={adapter},dtype=float32")
    assert done.returncode == 0, done.stderr
    base, lora = run_of(tmp_path / "base"), run_of(tmp_path / "lora")
    about = lora["model_args"]
    assert "model_args" not in base and about["adapter"] == str(adapter)
    weights = base["identity"]["weights"]
    assert lora["identity"]["weights"] == f"{weights}+{about['adapter_weights']}-float32"
    assert not keys_in(tmp_path / "base") & keys_in(tmp_path / "lora")
    refused(sort(dataset, f"hf:{tiny}", tmp_path / "lora"), "this folder holds another run: its weights is")
    make_adapter(adapter, tiny, seed=1)
    verified = script("eval_scripts/verify.py", tmp_path / "lora")
    assert verified.returncode == 1 and "weights" in verified.stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--model-args", "rank=8"], "--model-args: expected one of the keys dtype, revision, adapter, enable_thinking"),
        (["--model-args", "dtype=int8"], "--model-args: expected dtype to be one of auto, float32, bfloat16, float16, got 'int8'"),
        (["--model-args", "dtype=float32", "--dtype", "float16"], "its dtype=float32 contradicts --dtype float16"),
        (["--model-args", "revision=main"], "model lexical: expected no revision, which only hf: and vllm: models have"),
        (["--judge-args", "adapter=x"], "lexical: expected no adapter, which only hf: and vllm: models have"),
        (["--judge-args", "adapter"], "--judge-args: expected KEY=VALUE"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_line(small_sets, tmp_path, given, message):
    for name, *more in (
        ["tulving", "--dataset", small_sets / "short", "--memory", "none"],
        ["memfail", "--dataset", small_sets / "memfail", "--config", "long_hop", "--system", "none"],
    ):
        refused(script(f"eval_scripts/{name}.py", *more, *given, "--out", tmp_path / "r"), message)
    assert not (tmp_path / "r").exists()


def test_a_judge_shares_the_weights_of_the_reader_only_if_both_are_one_variant(tmp_path):
    def same(*given):
        args = parse(Both, "Doc.", given)
        return args.judging.may_be_reader(args.backend)

    assert same() and same("--model-args", "adapter=a", "--judge-args", "adapter=a")
    assert not same("--model-args", "adapter=a") and not same("--judge-args", "revision=b")
    tiny = make_tiny_model(tmp_path / "tiny", TEXT, ends=True)
    adapter = make_adapter(tmp_path / "adapter", tiny)
    judges = [load_judge(f"hf:{tiny}", Options(adapter=one)) for one in (None, str(adapter))]
    assert len({judge.name for judge in judges}) == 2  # so they share no verdicts


@pytest.mark.parametrize("given", [["--base-url", "http://127.0.0.1:1/v1"], ["--model-args", "revision=main"]])
def test_what_is_for_a_model_needs_one_as_source(tmp_path, given):
    done = script("builders/memfail.py", "--source", "template", *given, "--out", tmp_path)
    refused(done, "--base-url and --model-args are for a model: name one with --source, got 'template'")
    if given[0] == "--model-args":
        done = script("builders/tulving.py", "--book", "short", "--events", 6, *given, "--out", tmp_path)
        refused(done, "model template: expected no revision, which only hf: and vllm: models have")
