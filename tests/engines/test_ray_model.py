"""A model as replicas on a real Ray cluster of two nodes: the same answers, also when replicas and nodes are killed."""

import os
import pickle
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import ray

from epbench.engines.ray_model import Engine, RayModel, spread
from epbench.errors import BadInput, RunFailed
from epbench.journals.answers import ask
from epbench.journals.journal import read_journal
from epbench.models.load import Options, load_model
from epbench.models.protocol import Request, Sampling
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.verdicts import JudgeInput
from tests.engines.slow_model import SlowModel, ends_its_process, lacks_a_library
from tests.tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a core each, beside a head that holds no replica."""
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        found.add_node(num_cpus=1)
    ray.init(address=found.address, log_to_driver=False, logging_level="ERROR", runtime_env={"env_vars": PATHS})
    yield found
    ray.shutdown()
    found.shutdown()


PATHS = {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
"""Where replicas find the models of the tests."""


def requests_of(contexts, questions=3):
    return [
        Request(f"{c}-{q}", "", f"Passage {c}. " + "The harbour lies quiet. " * 10, f"question {q}", Sampling(4))
        for c in range(contexts)
        for q in range(questions)
    ]


def slow(notes, replicas=2, **values):
    notes.mkdir(exist_ok=True)
    make = partial(SlowModel, notes, **values)
    return RayModel(make(), make, Engine(replicas=replicas), 0)


def started(model):
    """The model once all its replicas are ready, so that none finds all work done."""
    model.start()
    return model


def read_by(notes):
    """By context, the processes that have read it."""
    found = {}
    for file in notes.iterdir():
        for line in file.read_text().split():
            found.setdefault(line.split("-")[0], set()).add(file.name)
    return found


@pytest.mark.slow
def test_two_nodes_answer_as_one_process_does(cluster, tmp_path):
    folder = make_tiny_model(tmp_path / "tiny", "The harbour lies quiet. Passage question 0 1 2 3 4 5 6 7 8 9.")
    make = partial(load_model, f"hf:{folder}")
    requests = requests_of(5)
    ask(tmp_path / "local.jsonl", requests, make())
    model = RayModel(make(), make, Engine(), 0)
    assert model.engine["replicas"] == model.engine["nodes"] - 1 == 2
    ask(tmp_path / "ray.jsonl", requests, model)
    local, remote = (
        {key: record.get("answer", record.get("failure")) for key, record in read_journal(tmp_path / name).items()}
        for name in ("local.jsonl", "ray.jsonl")
    )
    assert len(local) == 15 and local == remote
    ask(tmp_path / "local.jsonl", requests_of(6), model)  # a run of one process goes on with replicas
    assert len(read_journal(tmp_path / "local.jsonl")) == 18
    model.close()


@pytest.mark.slow
def test_a_context_is_read_by_one_replica_unless_there_is_only_one_and_both_work(cluster, tmp_path):
    model = started(slow(tmp_path / "notes", seconds=0.05))
    replies = list(model.answer(requests_of(8)))
    assert sorted(reply.text for reply in replies) == sorted(f"about question {q}" for q in range(3) for _ in range(8))
    # Those of the second come in turn with the first's, or they would wait, unjournaled, until it had nothing more to say.
    assert len({reply.id.split("-")[0] for reply in replies[:8]}) > 2
    found = read_by(tmp_path / "notes")
    assert all(len(processes) == 1 for processes in found.values()) and len(set.union(*found.values())) == 2
    other = started(slow(tmp_path / "other", seconds=0.05))  # it takes the machines that the first model had
    assert len(list(other.answer(requests_of(1, questions=10)))) == 10
    assert len(read_by(tmp_path / "other")["0"]) == 2
    replies = other.answer(requests_of(50))
    next(replies)
    replies.close()  # which stops the replicas
    assert sum(len(file.read_text().split()) for file in (tmp_path / "other").iterdir()) < 60
    assert len(list(other.answer(requests_of(2)))) == 6  # it can be asked again
    other.close()


@pytest.mark.slow
def test_a_killed_replica_is_replaced_and_nothing_is_asked_twice(cluster, tmp_path):
    model = slow(tmp_path / "notes", seconds=0.05)
    requests, killed = requests_of(6), []

    def kill(items, what, total, done=0):
        for number, item in enumerate(items):
            if number == 4:
                killed.append(next((tmp_path / "notes").iterdir()).name)
                os.kill(int(killed[0]), signal.SIGKILL)
            yield item

    ask(tmp_path / "answers.jsonl", requests, model, kill)
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    records = read_journal(tmp_path / "answers.jsonl")
    assert killed and len(lines) == len(records) == 18 and all("answer" in record for record in records.values())
    model.close()


@pytest.mark.slow
def test_a_killed_node_is_done_without(cluster, tmp_path):
    node = cluster.add_node(num_cpus=1)
    model = slow(tmp_path / "notes", replicas=3, seconds=0.05)
    replies = []
    for reply in model.answer(requests_of(12)):
        replies.append(reply)
        if len(replies) == 6:
            cluster.remove_node(node)
    assert Counter(reply.id for reply in replies) == Counter(request.id for request in requests_of(12))
    assert all(reply.failure is None for reply in replies)
    model.close()


@pytest.mark.slow
def test_a_request_that_ends_every_replica_fails_and_the_others_are_answered(cluster, tmp_path):
    model = slow(tmp_path / "notes", deadly="question 1")
    requests = [*requests_of(3, questions=1), Request("bad", "", "A context of its own.", "question 1", Sampling(4))]
    replies = {reply.id: reply for reply in model.answer(requests)}
    assert set(replies) == {"0-0", "1-0", "2-0", "bad"}
    assert "the replica ended" in (replies["bad"].failure or "")
    assert [replies[f"{c}-0"].failure for c in range(3)] == [None] * 3
    model.close()


@pytest.mark.slow
def test_a_model_that_cannot_be_made_is_one_error(cluster, tmp_path):
    folder = make_tiny_model(tmp_path / "tiny", "some words")
    local = load_model(f"hf:{folder}")
    model = RayModel(local, partial(load_model, "hf:"), Engine(replicas=1), 0)
    with pytest.raises(BadInput, match="unknown model 'hf:'"):
        list(model.answer(requests_of(1)))
    other = make_tiny_model(tmp_path / "other", "some words", seed=1)
    model = RayModel(local, partial(load_model, f"hf:{other}"), Engine(replicas=1), 0)
    with pytest.raises(BadInput, match="expected the weights"):
        list(model.answer(requests_of(1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lacks_a_library, BadInput, "a machine of the cluster lacks libraries .*'vllm'"),
        (ends_its_process, RunFailed, "3 replicas ended while they started; the last: "),
    ],
)
def test_replicas_that_never_start_are_one_line(cluster, tmp_path, make, error, said):
    model = RayModel(SlowModel(tmp_path), partial(make, tmp_path), Engine(replicas=1), 0)
    with pytest.raises(error, match=said) as raised:
        list(model.answer(requests_of(1)))
    assert "\n" not in str(raised.value)
    model.close()


def test_an_address_with_a_login_stays_in_this_process(tmp_path):
    sent = []
    folder = make_tiny_model(tmp_path / "tiny", "some words")
    options = Options("http://me:secret@127.0.0.1/v1", engine=lambda model, make, gpus: sent.append(make) or model)
    load_model(f"hf:{folder}", options)
    assert b"secret" not in pickle.dumps(sent[0])


@pytest.mark.parametrize(
    ("engine", "gpus", "nodes", "expected"),
    [
        (Engine(), 1, [(16, 8), (16, 8)], (16, 1, 1)),
        (Engine(), 4, [(16, 8), (16, 8)], (4, 1, 4)),
        (Engine(gpus_per_replica=0.5), 1, [(16, 1)], (2, 1, 0.5)),
        (Engine(replicas=3), 1, [(4, 2), (4, 2)], (3, 1, 1)),
        (Engine(), 1, [(4, 0), (8, 0)], (2, 4, 0)),
        (Engine(replicas=4), 1, [(2, 0), (8, 0)], (4, 2, 0)),
        (Engine(), 1, [(0, 0), (1, 0), (1, 0)], (2, 1, 0)),
    ],
)
def test_replicas_fit_the_machines(engine, gpus, nodes, expected):
    plan = spread(engine, gpus, nodes)
    assert (plan.replicas, plan.cpus, plan.gpus) == expected


@pytest.mark.parametrize(
    ("engine", "gpus", "nodes"),
    [(Engine(replicas=3), 1, [(16, 2)]), (Engine(), 8, [(16, 4)]), (Engine(replicas=5), 1, [(4, 0)])],
)
def test_too_small_a_cluster_is_refused_with_numbers(engine, gpus, nodes):
    with pytest.raises(BadInput, match=r"the cluster has 1 machines, \d+ CPU cores and \d+ GPUs, which is room for"):
        spread(engine, gpus, nodes)


@pytest.mark.slow
def test_a_judge_with_weights_answers_from_replicas_too(cluster, tmp_path):
    """Judges and writers get their model from the same factory as readers."""
    folder = make_tiny_model(tmp_path / "tiny", "The harbour lies quiet. Which items does the answer name? {} []")
    inputs = [
        JudgeInput(f"q{i}", f"Where was it, {i}?", "spaces", "all", ("the harbour",), f"At the harbour, {i}.")
        for i in range(4)
    ]
    made = []

    def on_replicas(model, make, gpus):
        made.append(RayModel(model, make, Engine(replicas=2), 0))
        return made[-1]

    found = []
    for engine in (None, on_replicas):
        judge = load_judge(f"hf:{folder}", Options(engine=engine), max_tokens=6)
        said = {one.key: (one.verdict, one.failure, one.usage.completion) for one in judge.judge(inputs)}
        found.append(said)
    assert len(found[0]) == 4 and found[0] == found[1] and all(tokens for *_, tokens in found[0].values())
    assert len(made) == 1 and made[0]._copies
    made[0].close()
