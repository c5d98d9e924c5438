"""The weights of a run: what `--model-args` chooses of them, and what happens when others lie under the same path."""

from dataclasses import dataclass

import pytest

from epbench.arguments import options
from epbench.arguments.declaring import included, parse
from epbench.models.load import Options
from epbench.tulving.judging.load import load_judge
from tests.models.tiny_adapter import make_adapter
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import lines_of, read
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


def sort(sort_set, model):
    """The line of a command that asks a model about few pairs; the folder of the run is to follow."""
    return f"eval_scripts/booksort.py --dataset {sort_set} --memory none --model hf:{model} --limit 4 --out"


def keys_in(folder):
    return {record["key"] for record in lines_of(folder / "answers.jsonl")}


@pytest.mark.slow
def test_an_adapter_is_another_run_which_verify_knows(sort_set, tiny, tmp_path):
    command, adapter = sort(sort_set, tiny), make_adapter(tmp_path / "adapter", tiny)
    ran(command, tmp_path / "base")
    ran(command, tmp_path / "lora", "--model-args", f"adapter={adapter},dtype=float32")
    base, lora = (read(tmp_path / name, "run.json") for name in ("base", "lora"))
    about = lora["model_args"]
    assert "model_args" not in base and about["adapter"] == str(adapter)
    weights = base["identity"]["weights"]
    assert lora["identity"]["weights"] == f"{weights}+{about['adapter_weights']}-float32"
    assert not keys_in(tmp_path / "base") & keys_in(tmp_path / "lora")
    refused(script(command, tmp_path / "lora"), "this folder holds another run: its weights is")
    make_adapter(adapter, tiny, seed=1)
    verified = script("eval_scripts/verify.py", tmp_path / "lora")
    assert verified.returncode == 1 and "weights" in verified.stdout


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


# ---- other weights under the same path ----


def weights_in(folder):
    return read(folder, "run.json")["identity"].get("weights")


def refuses_the_other(tmp_path, command, folder):
    """Run the command, swap the model under it, and run it again."""
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    assert before and len(weights_in(folder)) == 12
    make_tiny_model(tmp_path / "tiny", TEXT, ends=True, seed=1)
    refused(script(*command), "this folder holds another run: its weights is")
    assert {path: path.read_bytes() for path in folder.rglob("*.jsonl")} == before
    make_tiny_model(tmp_path / "tiny", TEXT, ends=True)
    return script(*command)


@pytest.mark.slow
def test_another_dtype_is_another_run(sort_set, tmp_path):
    command = sort(sort_set, make_tiny_model(tmp_path / "tiny", TEXT))
    ran(command, tmp_path / "r", "--dtype", "bfloat16")
    ran(command, tmp_path / "auto")
    assert weights_in(tmp_path / "r") == f"{weights_in(tmp_path / 'auto')}-bfloat16"
    refused(script(command, tmp_path / "r"), "this folder holds another run: its weights is")
    answers = lines_of(tmp_path / "r/answers.jsonl")
    exact = {answer["id"]: answer for answer in lines_of(tmp_path / "auto/answers.jsonl")}
    assert len(answers) == 4 and len({answer["key"] for answer in [*answers, *exact.values()]}) == 8
    for answer in answers:
        assert answer["probabilities"] != exact[answer["id"]]["probabilities"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        "memfail.py --dataset {}/memfail --config long_hop --system oracle",
        "tulving.py --dataset {}/short --memory none",
    ],
)
def test_a_reader(tiny, small_sets, tmp_path, asked):
    how = ["--model", f"hf:{tiny}", "--max-tokens", 8, "--limit", 3, "--out", tmp_path / "r"]
    command = [f"eval_scripts/{asked.format(small_sets)}", *how]
    ran(*command)
    assert refuses_the_other(tmp_path, command, tmp_path / "r").returncode == 0


def test_a_book_by_a_model(tiny, tmp_path):
    """These weights write no chapter, but what they wrote is kept for them alone."""
    command = [f"builders/tulving.py --book short --events 1 --writer hf:{tiny} --max-tokens 4 --out {tmp_path}"]
    assert script(*command).returncode == 2
    (folder,) = tmp_path.glob("written-by-hf-*")
    done = refuses_the_other(tmp_path, command, folder)
    assert done.returncode == 2 and "no chapter for any of 1 events" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_verify_tells_that_the_weights_are_others(sort_set, tiny, tmp_path):
    run = tmp_path / "r"
    ran(sort(sort_set, tiny), run, "--dtype", "bfloat16")
    ran("eval_scripts/verify.py", run)
    make_tiny_model(tiny, TEXT, ends=True, seed=1)
    other = script("eval_scripts/verify.py", run)
    assert other.returncode == 1 and f"{run}: weights: found fingerprint" in other.stdout
    make_tiny_model(tiny, TEXT, ends=True).rename(tmp_path / "elsewhere")
    gone = script("eval_scripts/verify.py", run)
    assert gone.returncode == 0 and "is not here" in " ".join(gone.stdout.split())
