"""Tables 7 and 10: the choice, and every text that was tried, are what the journal of the search for it says."""

import json

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_pairs
from epbench.booksort.paper.inputs import read_runs
from epbench.booksort.paper.settings.chosen import chosen_table
from epbench.booksort.prompt_selection import select_prompt
from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.models.protocol import Reply
from epbench.progress import no_progress
from tests.booksort.paper.made_runs import make_run, mostly_right
from tests.booksort.sort_set import write_set

CONFIG = "e120_s20"
REPORTED = {
    what: ReportedRow("Paper", "T", "validation", "L8", "in-context", {what: 7}, {}, {}, {})
    for what in ("prompt", "reading")
}


class Reader:
    """Says A to the first pairs, as many as the number of the prompt says, and B to the others; fails on one of prompt 5."""

    name = identity = "reader"

    def __init__(self, numbers):
        self.numbers = numbers  # the number of the prompt by the key of the request

    def answer(self, requests):
        asked = {}
        for request in requests:
            number = self.numbers[request.key(self.name)]
            asked[number] = asked.get(number, 0) + 1
            if number == 5 and asked[number] == 3:
                yield Reply(request.key(self.name), request.id, failure="no answer")
            else:
                yield Reply(request.key(self.name), request.id, "A" if asked[number] <= number else "B")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """By what is chosen, the run's folder and the number of the prompt of each request."""
    folder = tmp_path_factory.mktemp("runs")
    dataset = write_set(folder / "booksort")
    pairs, pack, found = load_pairs(str(dataset), [CONFIG], "validation"), load_prompts(), {}
    for what in ("prompt", "reading"):
        out = folder / what
        make_run(out, dataset, mostly_right(0.6), memory="in-context", model="m/x", configs=[CONFIG])
        requests = {number: requests_for("in-context", pairs, pack, number) for number in pack.prompts}
        numbers = {request.key("reader"): number for number, asked in requests.items() for request in asked}
        select_prompt(out, requests, pairs, Reader(numbers), no_progress, what)
        found[what] = out, numbers, {pair.id: pair.answer for pair in pairs}
    return found


def counted(made):
    """By number of the prompt: right answers, answers, failed questions and answers that are A, from the journal."""
    folder, numbers, truth = made
    found = {}
    for line in (folder / "prompt_answers.jsonl").read_text().splitlines():
        record = json.loads(line)
        one = found.setdefault(numbers[record["key"]], [0, 0, 0, 0])
        if record.get("failure"):
            one[2] += 1
            continue
        one[0] += record["answer"] == truth[record["id"]]
        one[1] += 1
        one[3] += record["answer"] == "A"
    return found


@pytest.mark.parametrize("what", ["prompt", "reading"])
def test_every_cell_is_that_of_the_journal(made, what):
    name = {"prompt": "Table 7", "reading": "Table 10"}[what]
    chosen, sweep = chosen_table(what, read_runs([made[what][0]]), [REPORTED[what]])
    assert (chosen.name, sweep.name) == (name, f"{name}, all that were tried")
    found = counted(made[what])
    best = max(right / n for right, n, _, _ in found.values())
    size = next(n for right, n, _, _ in found.values() if right / n == best)
    error = (best * (1 - best) / size) ** 0.5
    tied = sorted(number for number, (right, n, _, _) in found.items() if right / n >= best - error)
    leans = {number: abs(found[number][3] / found[number][1] - 0.5) for number in tied}
    choice = min(tied, key=lambda number: (leans[number], -found[number][0] / found[number][1], number))
    assert [record["number" if "number" in record else what] for record in sweep.records] == sorted(found)
    for record, row in zip(sweep.records, sweep.table.rows, strict=True):
        right, n, failed, n_a = found[record[what]]
        assert (record["n"], record["n_failed"], record["share_a"]) == (n, failed, pytest.approx(n_a / n))
        assert record["chosen"] == (record[what] == choice) and record["tied"] == (record[what] in tied)
        assert record["n_tied"] == len(tied)
        text = f"{right / n:.3f}"
        if failed:
            ends = right / (n + failed), (right + failed) / (n + failed)
            assert record["accuracy"] is None
            assert (record["if_failed_wrong"], record["if_failed_right"]) == pytest.approx(ends)
            text = f"{ends[0]:.2f}–{ends[1]:.2f} (incomplete)"
        else:
            assert record["accuracy"] == pytest.approx(right / n)
        assert row == [str(record[what]), text + (" ←" if record["chosen"] else "")]
    assert [failed for _, _, failed, _ in found.values()].count(1) == 1
    right, n, failed, n_a = found[choice]
    first, own = chosen.table.rows
    assert first == ["L8 (reported)", "in-context", "validation", "7", *["–"] * 5]
    assert own[:4] == ["m/x", "in-context", CONFIG, str(choice)]
    assert own[5:] == [f"{n_a / n:.3f}", str(n), str(failed), str(len(tied))]
    assert "Reported: Paper, T." in chosen.table.notes


def test_runs_of_several_configs_show_each_choice(made, tmp_path):
    import shutil

    shutil.copytree(made["prompt"][0], tmp_path / "m/e120")
    make_run(
        tmp_path / "m/e250", made["prompt"][0].parent / "booksort", mostly_right(0.5), memory="in-context", model="m/x",
        configs=["e250_s20"],
    )  # fmt: skip
    chosen, _ = chosen_table("prompt", read_runs([tmp_path / "m"]), [])
    assert [row[2] for row in chosen.table.rows] == [CONFIG]


def test_without_a_choice_the_reported_ones_remain(made):
    runs = read_runs([made["reading"][0]])
    chosen, sweep = chosen_table("prompt", runs, [REPORTED["prompt"]])
    assert len(chosen.records) == 1 and isinstance(sweep, Missing)
    (nothing,) = chosen_table("reading", [], [])
    assert isinstance(nothing, Missing) and nothing.needs.startswith("runs with retrieval")
    assert chosen_table("prompt", [], [])[0].needs.startswith("runs in which the prompt was chosen")
