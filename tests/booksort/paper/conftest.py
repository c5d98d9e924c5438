import pytest

from epbench.booksort.paper.inputs import read_inputs
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.paper.plain_counts import write_wide_set


def some_failed(pair):
    return (
        {"failure": "timeout"}
        if pair.distance_bin == 200 and pair.segment_length == 20
        else mostly_right(0.8, "f")(pair)
    )


@pytest.fixture(scope="session")
def wide_set(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        return write_wide_set(tmp_path_factory.mktemp("wide") / "booksort", patch)


@pytest.fixture(scope="session")
def made(tmp_path_factory, wide_set):
    """The folders of seven runs by name."""
    root = tmp_path_factory.mktemp("runs")
    found = {}
    for name, memory, model, plan in (
        ("base", "none", "big", mostly_right(0.56, "b")),
        ("base-small", "none", "small", mostly_right(0.5, "s")),
        ("shown", "in-context", "big", mostly_right(0.9, "c")),
        ("shown-small", "in-context", "small", mostly_right(0.65, "d")),
        ("shown-failed", "in-context", "other", some_failed),
        ("searched", "rag", "small", mostly_right(0.7, "r")),
        ("both", "none", "big", mostly_right(0.7, "o")),
    ):
        retrieved = (lambda pair: (pair.distance_bin > 100, pair.distance_bin > 200)) if memory == "rag" else None
        found[name] = make_run(
            root / name, wide_set, plan, memory=memory, model=model, retrieved=retrieved, both_orders=name == "both"
        )
    return found


@pytest.fixture(scope="session")
def given(made):
    """All runs but the one in both orders, with the numbers that the package carries."""
    return read_inputs([folder for name, folder in made.items() if name != "both"])
