"""What one command measures on a CUDA device, in small on a CPU: that everything runs, and that no number is lost."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
SECTION = """
import json, os, sys, time
name, records = sys.argv[1], open(sys.argv[3], "a")
records.write(json.dumps(["8b, 100,000 tokens", {"ratio": 41.5, "reading_seconds": 11.0}]) + "\\n")
if name == "device":
    print("CUDA error: an illegal memory access", file=sys.stderr)
    records.flush()
    os.abort()
records.write(json.dumps(["8b, 100,000 tokens", {"strategy": "joint"}]) + "\\n" + '["8b, 100,000 tokens", {"rat')
records.flush()
time.sleep(60)
"""


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"benchmarks/{name}.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gpu():
    return loaded("gpu")


@pytest.mark.slow
def test_what_a_section_has_told_is_kept_though_it_crashes_or_is_stopped(gpu, tmp_path, monkeypatch, capsys):
    (tmp_path / "gpu_sections.py").write_text(SECTION)
    monkeypatch.setattr(gpu, "HERE", tmp_path)
    monkeypatch.setattr(gpu, "SECONDS", {"device": 20, "shared-8b": 1.5, "labels": 1.5})
    monkeypatch.setattr(gpu, "LEAST", 598.8)  # of ten minutes, so that nothing is left for the third section
    gpu.main(["--small", "--out", str(tmp_path / "gpu.json")])
    result = json.loads((tmp_path / "gpu.json").read_text("utf-8"))
    (row,) = result["sections"]["shared-8b"].values()
    assert row == {"ratio": 41.5, "reading_seconds": 11.0, "strategy": "joint"}
    assert result["sections"]["device"] and result["log"]["device"] == ["CUDA error: an illegal memory access"]
    missing = result["not_measured"]
    assert missing["device"] == "its process ended with code -6: CUDA error: an illegal memory access"
    assert missing["shared-8b"] == "what is not in the table: stopped after 2 s"
    assert missing["labels"] == "598 s were left of --minutes 10"
    shown = capsys.readouterr().out
    assert "| 8b, 100,000 tokens | 11 | 41.5 | joint |" in shown
    assert "Not measured: labels: 598 s were left of --minutes 10." in shown
    gpu.main(["--table", str(tmp_path / "gpu.json")])
    assert capsys.readouterr().out == shown


def test_a_missing_package_or_device_is_one_line(gpu, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cuda = SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__spec__=1, cuda=cuda))
    with pytest.raises(SystemExit, match="finds no CUDA device; --small measures toy sizes on any device"):
        gpu.main([])
    monkeypatch.setattr(gpu, "NEEDED", ("torch", "no_such_package"))
    with pytest.raises(SystemExit, match=r"^gpu.py needs no_such_package: .* -m pip install no_such_package$"):
        gpu.main(["--small"])
    assert not list(tmp_path.iterdir())


def measured(tmp_path, *sections):
    """What `--small` writes, where nothing can be imported that a machine with torch may lack."""
    for name in ("msgspec", "rich", "evaluate", "trl", "bm25s", "pooch"):
        (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError(__name__)")
    command = [sys.executable, ROOT / "benchmarks/gpu.py", "--small", "--minutes", "60", "--only", *sections]
    command += ["--out", tmp_path / "gpu.json"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Toy sizes: these numbers say only that everything runs." in done.stdout
    return json.loads((tmp_path / "gpu.json").read_text("utf-8"))


@pytest.mark.slow
def test_a_book_is_measured_with_sharing_and_without_in_small(tmp_path):
    result = measured(tmp_path, "device", "shared-1b")
    assert result["not_measured"] == {} and set(result["sections"]) == {"device", "shared-1b"}
    assert result["sections"]["device"]["speed"]["teraflops"] > 0
    for row in result["sections"]["shared-1b"].values():
        assert row["strategy"] == "joint" and row["alone_questions"] == 2 and row["ratio"] > 0 and row["of_limit"] > 0
        together = (row["reading_seconds"] + row["answers_seconds"]) / row["questions"]
        assert row["seconds_per_question"] == pytest.approx(together, rel=1e-3)
        assert row["answers_identical"] == row["first_tokens_equal"] == "2 of 2"
        assert abs(row["kl"]) < 1e-6 < 0.1 < row["kl_without_book"], "else agreement would prove nothing"


@pytest.mark.slow
@pytest.mark.nightly
def test_labels_and_training_are_measured_in_small_and_what_fails_says_why(tmp_path):
    result = measured(tmp_path, "labels", "finetune", "vllm")
    labels, training = result["sections"]["labels"], result["sections"]["finetune"]
    ways = ("each alone", "1 at a time", "12 at a time")
    assert set(labels) == {f"{size}, {way}" for size in ("1b", "8b") for way in ways}
    assert all(row["pairs_per_second"] > 0 for row in labels.values())
    assert training["trainer"]["loss"] == pytest.approx(training["bare loop"]["loss"], rel=1e-3)
    assert training["trainer"]["tokens_per_second"] > 0 and training["estimate"]["peak_gb"] > 0
    if importlib.util.find_spec("vllm") is None:
        assert result["not_measured"] == {"vllm, 1b": "vLLM is not installed (No module named 'vllm')"}


@pytest.mark.slow
def test_rows_fail_alone_and_vllm_is_asked_through_our_backend(tmp_path, monkeypatch):
    import torch

    from epbench.models import vllm as backend
    from epbench.models.hf.checkpoint import load_tokenizer
    from epbench.models.hf.prompt_tokens import PromptTokens
    from epbench.models.protocol import Reply, Usage

    class Engine:
        """Counts tokens as vLLM would, and caches all but the question."""

        hit_rate = 0.97

        def __init__(self, path, *, dtype, max_model_len, engine_args):
            self.prompts, self.window, asked["engine"] = PromptTokens(load_tokenizer(path)), max_model_len, engine_args

        def answer(self, requests):
            for request in requests:
                n = len(self.prompts.ids(request))
                assert n + request.sampling.max_tokens <= self.window
                asked[len(request.context)] = n
                yield Reply("", request.id, "text", usage=Usage(n))

    asked = {}
    loaded("gpu")
    sections = loaded("gpu_sections")
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(__version__="0.99"))
    monkeypatch.setattr(backend, "VllmModel", Engine)
    with (tmp_path / "records").open("w") as file:
        run = sections.Run(True, "cpu", 0.0, file)
        sections.vllm(run)
        with run.attempt("too much"):
            raise torch.OutOfMemoryError("tried to allocate 100 GB\nand more")
    rows = loaded("gpu").rows_in(tmp_path / "records")
    assert [rows[f"1b, {n} tokens"]["hit_rate"] for n in ("400", "1,000")] == [0.97, 0.97]
    assert asked["engine"]["load_format"] == "dummy" and 400 <= asked[400] < 500 and 1000 <= asked[1000] < 1100
    assert rows["too much"]["failed"] == "OutOfMemoryError: tried to allocate 100 GB"
