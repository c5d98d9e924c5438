"""A finished run on the Hub: its rows can be loaded, and whoever downloads it can verify it."""

import json
import shutil

import pytest
import yaml

from epbench.errors import BadInput
from epbench.hub.push import run_name, write_run_folder
from tests.scripts.in_process import ran

LOAD = """
import json
from datasets import load_dataset

rows = load_dataset("lab/{name}", split="train")
print(json.dumps([rows.num_rows, rows.column_names]))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    ran(f"builders/tulving.py --book short --events 6 --out {out}")
    ran(f"eval_scripts/tulving.py --dataset {out / 'short'} --memory none --limit 12 --out {out / 'run'}")
    return out / "run"


def test_the_folder_has_the_whole_run_and_a_card(run, tmp_path):
    made = write_run_folder(run, "lab", tmp_path)
    assert made.name == run_name(run) and made.name.startswith("run-short-none-lexical-")
    files = {path.name for path in run.iterdir() if path.is_file() and not path.name.startswith(".")}
    assert {path.name for path in made.iterdir()} == files | {"README.md"}
    header = yaml.safe_load((made / "README.md").read_text("utf-8").split("---\n")[1])
    assert header["configs"] == [{"config_name": "questions", "default": True, "data_files": "questions.parquet"}]
    assert header["license"] == "mit" and "simple recall" in (made / "README.md").read_text("utf-8")


def test_a_run_that_has_not_ended_and_one_on_rows_of_others_are_refused(run, tmp_path):
    half = shutil.copytree(run, tmp_path / "half")
    (half / "scores.json").unlink()
    with pytest.raises(BadInput, match=r"has no scores.json"):
        run_name(half)
    data = shutil.copytree(run.parent / "short", tmp_path / "data")
    card = (data / "README.md").read_text("utf-8")
    (data / "README.md").write_text(card.replace("license: mit", "license: unknown"), "utf-8")
    other = shutil.copytree(run, tmp_path / "other")
    described = json.loads((other / "run.json").read_text("utf-8"))
    (other / "run.json").write_text(json.dumps(described | {"dataset_folder": str(data)}), "utf-8")
    with pytest.raises(BadInput, match="for your own use"):
        write_run_folder(other, "lab", tmp_path / "out")


@pytest.mark.slow
def test_what_was_published_can_be_loaded_and_verified(run, tmp_path, hub, python, upload):
    for said in ("uploaded", "unchanged"):
        done = upload(run)
        assert done.returncode == 0 and said in done.stdout, done.stderr
    name = run_name(run)
    loaded = python("-c", LOAD.format(name=name))
    n_rows, columns = json.loads(loaded.stdout.splitlines()[-1])
    assert n_rows == 12 and {"question", "answer", "outcome"} <= set(columns)
    there = tmp_path / "there"
    there.mkdir()
    for path, content in hub.repos["datasets", f"lab/{name}"].files.items():
        (there / path).write_bytes(content)
    assert "0 do not" in ran("eval_scripts/verify.py", there, "--dataset", run.parent / "short")
