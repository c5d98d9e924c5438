"""The files in docs/clusters: their form, and the Slurm scripts as Slurm would run them, on Ray nodes of this machine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from epbench.cli import commands
from tests.booksort.sort_set import book_text, write_set
from tests.conftest import ROOT
from tests.tiny_model import make_tiny_model

FOLDER = ROOT / "docs/clusters"
SCRIPTS = sorted([*FOLDER.glob("*.sbatch"), *FOLDER.glob("*.sh")])
SORT = ("eval", "booksort", "--config", "e120_s20", "--memory", "in-context")

# What stands in for Slurm: every node is this machine.
STAND_INS = {
    "scontrol": "echo node1; echo node2",
    "srun": 'while [[ $1 == -* ]]; do [[ $1 == -w ]] && shift; shift; done; echo "$@" >> "$CALLS"; exec "$@"',
    "hostname": "echo 127.0.0.1",
}


def write_commands(folder, commands):
    for name, lines in commands.items():
        (folder / name).write_text(f"#!/bin/bash\n{lines}\n")
        (folder / name).chmod(0o755)


@pytest.fixture
def slurm(tmp_path):
    """The variables of a job of two nodes, and of a machine on which Slurm's commands exist."""
    (tmp_path / "stand-ins").mkdir()
    write_commands(tmp_path / "stand-ins", STAND_INS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "home").mkdir()
    ours = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_CPUS_PER_TASK": "1", "RAY_PORT": str(port)}
    ours |= {"PATH": f"{tmp_path / 'stand-ins'}:{os.environ['PATH']}", "EPBENCH_BIN": str(Path(sys.executable).parent)}
    ours |= {"HOME": str(tmp_path / "home"), "SLURM_SUBMIT_DIR": str(ROOT), "CALLS": str(tmp_path / "calls.txt")}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "SLURM_"))}
    return inherited | ours


def submitted(script, environment, *words):
    command = ["bash", str(FOLDER / script), *map(str, words)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_slurm_script_answers_on_two_nodes_and_leaves_nothing_behind(slurm, tmp_path):
    dataset, model = write_set(tmp_path / "booksort"), make_tiny_model(tmp_path / "tiny", book_text(101))
    words = (*SORT, "--dataset", dataset, "--model", f"hf:{model}", "--limit", 4, "--out", tmp_path / "run")
    done = submitted("slurm.sbatch", slurm, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    run, scores = (json.loads((tmp_path / "run" / name).read_text()) for name in ("run.json", "scores.json"))
    assert (run["engine"]["name"], run["engine"]["nodes"], run["engine"]["replicas"]) == ("ray", 2, 2)
    assert scores["n_failed"] == 0 and scores["n_questions"] > 0
    calls = (tmp_path / "calls.txt").read_text()
    assert calls.count("ray start --head") == 1 and calls.count("ray start --address") == 1
    assert not list((tmp_path / "home/.ray").iterdir()), "the token of the job is still there"
    with socket.socket() as port, pytest.raises(OSError):
        port.connect(("127.0.0.1", int(slurm["RAY_PORT"])))


@pytest.fixture
def stand_in(slurm, tmp_path):
    """The same job, for which `epbench` only notes its words and ends with a status; nothing is started."""
    notes = 'echo "$@" >> "$CALLS"; exit "${STATUS:-0}"'
    write_commands(tmp_path / "stand-ins", {"epbench": notes, "ray": "", "python": ""})
    return slurm | {"EPBENCH_BIN": str(tmp_path / "stand-ins")}


def test_the_exit_status_of_a_job_is_that_of_its_run(stand_in, tmp_path):
    assert submitted("slurm.sbatch", stand_in | {"STATUS": "2"}, *SORT, "--out", tmp_path / "r").returncode == 2
    assert f"{' '.join(SORT)} --out {tmp_path / 'r'} --engine ray" in (tmp_path / "calls.txt").read_text()
    assert not list((tmp_path / "home/.ray").iterdir()), "the token of the job is still there"


def test_each_job_of_an_array_runs_its_part(stand_in, tmp_path):
    array = stand_in | {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "3"}
    assert submitted("slurm_shards.sbatch", array, tmp_path / "runs", *SORT).returncode == 0
    called = f"{' '.join(SORT)} --shard 2/3 --out {tmp_path / 'runs/part-2'}\n"
    assert (tmp_path / "calls.txt").read_text() == called


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_shell_and_say_what_they_expect(script):
    assert subprocess.run(["bash", "-n", script], capture_output=True).returncode == 0
    done = subprocess.run(["bash", script], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("expected ")


def test_the_job_of_hugging_face_is_shell_inside_shell():
    inner = re.search(r"IN_THE_JOB='\n(.*?)\n'", (FOLDER / "hf_jobs.sh").read_text(), re.S)
    assert inner and subprocess.run(["bash", "-n"], input=inner[1], text=True).returncode == 0


def test_the_job_of_kubernetes_mounts_what_it_uses():
    job = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    for pod in [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]:
        spec = pod["template"]["spec"]
        mounted = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
        assert set(mounted) == {volume["name"] for volume in spec["volumes"]}
        assert all(f"{path}/" in job["spec"]["entrypoint"] for path in mounted.values())


def test_the_task_of_skypilot_is_shell():
    task = yaml.safe_load((FOLDER / "skypilot.yaml").read_text())
    for part in ("setup", "run"):
        assert subprocess.run(["bash", "-n"], input=task[part], text=True).returncode == 0


def test_every_command_and_file_in_the_page_exists():
    page = (ROOT / "docs/clusters.md").read_text()
    texts = [page, *(path.read_text() for path in FOLDER.iterdir())]
    used = {(words[0], words[1]) for text in texts for words in re.findall(r"epbench (eval) (\w+)", text)}
    assert used and used <= set(commands())
    links = set(re.findall(r"\]\(clusters/([^)]+)\)", page))
    assert links == {path.name for path in FOLDER.iterdir()}
