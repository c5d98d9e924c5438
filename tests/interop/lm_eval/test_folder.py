import subprocess
import sys

import pytest
from lm_eval.tasks._yaml_loader import load_yaml

from epbench.booksort.pairs import EXCERPT_WORDS, SEGMENT_WORDS
from tests.interop.lm_eval.scripted_model import FOLDER, manager

CELLS = {f"e{excerpt}_s{segment}" for excerpt in EXCERPT_WORDS for segment in SEGMENT_WORDS}


def test_every_task_is_found_and_the_functions_that_it_names_are_there(tmp_path):
    names = manager(tmp_path).all_tasks
    for path in FOLDER.glob("*.yaml"):
        config = load_yaml(path)
        assert config.get("task") in names or config.get("group") in names, path
    books = {f"epbench_tulving_{book}{end}" for book in ("short", "long") for end in ("", "_none")}
    sort = {f"epbench_booksort_{cell}" for cell in CELLS - {"e250_s20"}} | {"epbench_booksort", "epbench_booksort_none"}
    assert set(names) == books | sort | {"epbench_booksort_all"}


def test_the_group_has_every_config_once():
    members = load_yaml(FOLDER / "booksort_all.yaml")["task"]
    configs = [
        load_yaml(FOLDER / f"{name.removeprefix('epbench_')}.yaml")["dataset_kwargs"]["config"] for name in members
    ]
    assert sorted(configs) == sorted(CELLS)


@pytest.mark.slow
def test_the_command_line_takes_the_folder_and_where_the_datasets_are(short_book, datasets, tmp_path):
    for dataset in (short_book, datasets / "booksort"):
        (tmp_path / dataset.name).symlink_to(dataset)
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--include_path", str(FOLDER), "--limit", "4",
         "--tasks", "epbench_booksort,epbench_tulving_short_none", "--metadata", f'{{"datasets": "{tmp_path}"}}'],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "simple_recall" in done.stdout and "label_mass" in done.stdout
