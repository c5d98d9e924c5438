"""The script as a user runs it: controls, systems that work and that do not, and kills at every stage."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.memories.test_isolation import needs_bwrap
from tests.models.loopback_endpoint import Fault, LoopbackEndpoint
from tests.scripts.in_process import ROOT, ran, refused, script
from tests.scripts.run_files import files_in, killed, lines_of, read, rows_of, scores_of, write_lines

FAULTY = "tests/memories/faulty.py"
SCRIPT = "eval_scripts/memfail.py"
STAGES = ("stored.jsonl", "retrieved.jsonl", "answers.jsonl", "judgements.jsonl")


def test_a_control_has_a_folder_with_all_its_files_and_a_second_start_changes_none(memfail_set, tmp_path):
    control = ["--config", "long_hop", "--system", "oracle", "--k", 2, 4]
    command = ["--dataset", memfail_set, *control, "--out", tmp_path / "r"]
    assert script(SCRIPT, *command).stderr == ""
    before = files_in(tmp_path / "r")
    assert before.keys() >= {
        "run.json", "stored.jsonl", "memories.json", "retrieved.jsonl", "answers.jsonl", "judgements.jsonl", "scores.json",
        "usage.json", "table.md", "report.html",
    }  # fmt: skip
    scores, usage = scores_of(tmp_path / "r"), json.loads(before["usage.json"])
    assert set(scores["by_k"]) == {"2", "4"} and scores["by_k"]["4"]["success_rate"] == 1.0
    assert {"storing", "retrieving", "answering", "judging", "memory_tokens"} <= usage.keys()
    run = json.loads(before["run.json"])
    assert run["identity"]["control"] is True and "(baseline)" in run["label"]
    ran(SCRIPT, *command)
    assert files_in(tmp_path / "r") == before


def test_several_configs_have_folders_and_one_table(memfail_set, tmp_path):
    system = "epbench.memories.example:KeywordMemory"
    configs = ("conditional_facts_easy", "long_hop")
    asked = ["--system", system, "--isolate", "--limit", 4, "--out", tmp_path / "r"]
    shown = ran(SCRIPT, "--dataset", memfail_set, "--config", *configs, *asked)
    assert "KeywordMemory" in shown and "long_hop, lexical" not in shown  # a line is called by its system
    table = (tmp_path / "r/table.md").read_text()
    assert f"| {system}, lexical | 5 |" in table and "| long_hop | 5 |" not in table
    for config in configs:
        scores = scores_of(tmp_path / "r" / config)
        assert scores["n_questions"] == 4 and scores["stored"]["stores"] == 4 and scores["n_failed"] == 0
        assert config in table


@pytest.mark.slow
def test_what_was_corrected_or_withdrawn_is_told_apart(tmp_path):
    ran("builders/memfail.py", "--config", "revision", "--rows", 6, "--out", tmp_path)
    found, base = {}, ["--dataset", tmp_path / "memfail", "--config", "revision"]
    for system in ("none", "oracle", "full-context"):
        shown = ran(SCRIPT, *base, "--system", system, "--out", tmp_path / system)
        found[system] = scores_of(tmp_path / system)["by_k"]["5"]
    assert found["none"]["success_rate"] == 0 and found["none"]["storage_error"] == 1
    assert found["oracle"]["success_rate"] == found["oracle"]["rows_right"] == 1
    everything = found["full-context"]  # a reader that lists what it is shown
    assert everything["stale"] == pytest.approx(2 / 12) and everything["resurrected"] == pytest.approx(4 / 12)
    assert everything["lost_with_it"] == everything["rows_right"] == 0
    assert "corrected or withdrawn" in shown
    page = (tmp_path / "full-context" / "report.html").read_text("utf-8")
    assert "Resurrected: it gives away what was withdrawn." in page and "not needed: a neighbour" in page
    ran("eval_scripts/verify.py", tmp_path / "full-context")


@pytest.mark.slow
def test_a_system_that_kept_nothing_is_warned_of_loudly(memfail_set, tmp_path):
    base = ["--dataset", memfail_set, "--config", "long_hop", "--out", tmp_path / "r"]
    done = script(SCRIPT, *base, "--system", f"{FAULTY}:KeepsNothing")
    assert done.returncode == 0 and "warning: long_hop: the store holds nothing after storing" in done.stderr
    assert "holds nothing" in scores_of(tmp_path / "r")["warnings"][0]
    assert "holds nothing" in (tmp_path / "r/report.html").read_text()
    refused(script(SCRIPT, *base, "--system", "none"), "its system is")


@pytest.mark.slow
def test_a_system_that_ends_its_process_does_not_end_the_run(memfail_set, tmp_path):
    base = ["--dataset", memfail_set, "--config", "long_hop", "--out", tmp_path / "r"]
    done = script(SCRIPT, *base, "--system", f"{FAULTY}:EndsItsProcess")
    assert done.returncode == 0, done.stderr
    assert scores_of(tmp_path / "r")["n_failed"] == 20
    reasons = [record["failure"] for record in lines_of(tmp_path / "r/retrieved.jsonl")]
    assert reasons[:3] == ["the system's process ended with status 0"] * 3
    not_called = "not called: 3 calls in a row hung, ended the system's process"
    assert all(reason.startswith(not_called) for reason in reasons[3:])
    assert "the system's process ended with status 0; it is started again" in done.stderr


@pytest.mark.slow
def test_memory_is_limited(memfail_set, tmp_path):
    of = f"--config long_hop --limit 2 --system {ROOT / FAULTY}:TakesAllMemory"
    base = f"{SCRIPT} --dataset {memfail_set} {of} --memory-limit"
    ran(base, 1, "--out", tmp_path / "little")
    reasons = {record["failure"] for record in lines_of(tmp_path / "little/retrieved.jsonl")}
    assert reasons == {"out of memory: the limit of its process is 1 GB"}
    ran(base, 8, "--out", tmp_path / "enough")
    assert scores_of(tmp_path / "enough")["n_failed"] == 0


@pytest.fixture
def endpoint():
    """A judge that finds everything true."""
    with LoopbackEndpoint(lambda prompt: '{"reason": "so it is", "verdict": true}') as endpoint:
        yield endpoint


@pytest.fixture
def asked(memfail_set, tmp_path):
    """A command whose answers the rules judge."""
    of = "--config conditional_facts_easy --system verbatim-bm25"
    return f"{SCRIPT} --dataset {memfail_set} {of} --out {tmp_path / 'r'}"


def test_a_run_that_one_judge_has_scored_is_refused_to_another(asked, tmp_path, endpoint):
    ran(asked)
    run, before = read(tmp_path / "r", "run.json"), files_in(tmp_path / "r")
    assert run["judge"] == {"name": "lexical", "prompt_hash": "rules-3"} and "judge" not in run["identity"]
    done = script(f"{asked} --judge openai:tiny --judge-url {endpoint.url}")
    refused(done, "this run was judged by lexical (rules-3), not by openai:tiny (")
    assert f"; {endpoint.url}" in done.stderr and "give another --out" in done.stderr
    assert not endpoint.calls  # it is refused before anything is judged
    ran(asked)
    assert files_in(tmp_path / "r") == before


@pytest.mark.slow
def test_the_same_judge_resumes_a_run_and_asks_for_what_is_missing(asked, tmp_path, endpoint):
    out, command = tmp_path / "r", f"{asked} --judge-url {endpoint.url} --judge openai:"
    ran(f"{command}tiny")
    whole, n, verdicts = files_in(out), len(endpoint.calls), lines_of(out / "judgements.jsonl")
    assert n == len(verdicts) > 40
    ran(f"{command}tiny")
    assert files_in(out) == whole and len(endpoint.calls) == n
    write_lines(out / "judgements.jsonl", verdicts[:-7])
    (out / "checksums.json").unlink()  # the run was stopped before its end
    ran(f"{command}tiny")
    assert len(endpoint.calls) == n + 7 and files_in(out)["scores.json"] == whole["scores.json"]
    refused(script(f"{command}other"), "not by openai:other")
    refused(script(asked), "not by lexical")
    assert {record["judge"] for record in lines_of(out / "judgements.jsonl")} == {"openai:tiny"}


@pytest.mark.slow
@pytest.mark.parametrize("where", [["--in-process"], ["--isolation", "bwrap"]])
def test_a_system_has_the_same_scores_in_its_own_process_and_elsewhere(memfail_set, tmp_path, where):
    if "bwrap" in where:
        needs_bwrap()
    base = ["--dataset", memfail_set, "--config", "conditional_facts_easy", "--limit", 6, "--isolate"]
    base += ["--system", "epbench.memories.example:KeywordMemory", "--out"]
    ran(SCRIPT, *base, tmp_path / "own")
    ran(SCRIPT, *base, tmp_path / "elsewhere", *where)
    assert scores_of(tmp_path / "own") == scores_of(tmp_path / "elsewhere")
    ran(SCRIPT, *base, tmp_path / "own", "--isolation", "none")  # nor is it another run


@pytest.mark.slow
def test_a_system_that_hangs_costs_three_limits_and_no_scores(process, memfail_set, tmp_path):
    base = ["--dataset", memfail_set, "--config", "long_hop", "--out", tmp_path / "r", "--timeout", 1.5]
    done = process(SCRIPT, *base, "--system", f"{FAULTY}:HangsInRetrieval")
    assert done.returncode == 0, done.stderr
    scores = scores_of(tmp_path / "r")
    assert scores["n_failed"] == 20 and scores["by_k"]["5"]["success_rate"] is None
    reasons = Counter(record["failure"] for record in lines_of(tmp_path / "r/retrieved.jsonl"))
    assert list(reasons.values()) == [3, 17]
    assert "warning: long_hop: 20 retrievals failed; the first reason: not called" in done.stderr


@pytest.mark.slow
def test_an_endpoint_reads_replies_and_judges_and_what_it_paid_is_told_apart(memfail_set, tmp_path):
    """One message of the user is refused for good: its reply fails, so what it told, so the question about it."""

    def answer(prompt):
        return '{"verdict": true, "reason": "so it is"}' if "verdict" in prompt else "Yes, indeed."

    def refuses(number, body):
        content = body["messages"][-1]["content"]
        told = content.endswith(first) and "verdict" not in content
        return Fault("status", 400, words="refused by a filter") if told else None

    first = rows_of(memfail_set, "conditional_facts_easy")[0]["entity_facts"][0]
    with LoopbackEndpoint(answer, script=refuses) as endpoint:
        asked = ["--config", "conditional_facts_easy", "--system", f"{ROOT / FAULTY}:Good", "--with-replies", "--k", 2]
        model = ["--model", "openai:tiny", "--base-url", endpoint.url, "--window", 100_000, "--judge", "openai:tiny"]
        done = script(SCRIPT, "--dataset", memfail_set, *asked, *model, "--out", tmp_path / "r")
    scores, usage = scores_of(tmp_path / "r"), read(tmp_path / "r", "usage.json")
    assert scores["n_failed"] == 1 and scores["by_k"]["2"]["success_rate"] == 1.0
    assert usage["replying"]["requests"] == 20 and sum(usage["replying"]["failed"].values()) == 1
    assert usage["answering"]["requests"] == 19 and usage["judging"]["requests"] > 19
    lost = "1 facts or chapters could not be stored"
    assert lost in scores["warnings"][0] and "refused by a filter" in scores["warnings"][0]
    assert f"warning: conditional_facts_easy: {lost}" in done.stderr


def test_a_system_that_cannot_be_made_is_named(memfail_set, tmp_path):
    base = f"{SCRIPT} --dataset {memfail_set} --config long_hop --out {tmp_path / 'r'}"
    refused(script(base, "--system", f"{FAULTY}:RaisesInConstructor"), "cannot make an instance: OSError: no API key")


def test_a_plan_stops_before_anything_is_done(memfail_set, tmp_path):
    asked = ["--config", "conditional_facts_easy", "long_hop", "--system", "verbatim-bm25", "--k", 5, 10]
    shown = ran(SCRIPT, "--dataset", memfail_set, *asked, "--plan", "--out", tmp_path / "r")
    assert "conditional_facts_easy:\n  20 facts to tell verbatim-bm25, 40 retrievals" in shown
    assert "reader lexical: 40 requests over 40 contexts" in shown and "judge lexical: no tokens" in shown
    assert not (tmp_path / "r").exists()


@pytest.fixture(scope="module")
def whole(script, memfail_set, tmp_path_factory):
    """Runs that nobody killed, by system."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("Counting", "DurableCounting"):
        done = script(*_command(memfail_set, name, folder / name), CALLS=str(folder / f"{name}.calls"))
        assert done.returncode == 0, done.stderr
    return folder


def _command(memfail_set, name, out):
    of = ["--config", "conditional_facts_easy", "--system", f"{FAULTY}:{name}", "--system-env", "CALLS"]
    return [SCRIPT, "--dataset", memfail_set, *of, "--k", 2, 4, "--out", out]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage"), [("Counting", 1), ("DurableCounting", 0), ("DurableCounting", 3)])
def test_a_killed_run_goes_on_where_it_was(script, memfail_set, whole, tmp_path, name, stage):
    """Kill -9 in storing, retrieving, answering or judging; then the same command."""
    out, calls = tmp_path / "r", tmp_path / "calls"
    killed(_command(memfail_set, name, out), lambda: len(_keys(out / STAGES[stage])) >= 7, CALLS=str(calls))
    kept = {file: _keys(out / file) for file in STAGES}
    before = lines_of(calls)
    done = script(*_command(memfail_set, name, out), CALLS=str(calls))
    assert done.returncode == 0, done.stderr
    after = lines_of(calls)[len(before) :]

    scores, of_whole = scores_of(out), scores_of(whole / name)
    assert scores | {"warnings": []} == of_whole | {"warnings": []}
    assert all("same content twice" in warning for warning in scores["warnings"])
    assert read(out, "memories.json") == read(whole / name, "memories.json")
    for file in STAGES:
        keys, expected = Counter(_keys(out / file)), set(_keys(whole / name / file))
        assert keys.keys() == expected
        if file != "stored.jsonl":
            assert set(keys.values()) == {1}  # nothing that was journaled was done again
    told, asked = ([call for call in after if call.startswith(kind)] for kind in ("told", "asked"))
    assert len(asked) == 40 - len(kept["retrieved.jsonl"])
    if len(kept["retrieved.jsonl"]) == 40:
        assert after == []  # retrieval that is complete needs no system
    elif name == "DurableCounting":
        first = lines_of(out / "stored.jsonl")[: len(kept["stored.jsonl"])]
        ended = {record["key"] for record in first if not record.get("failure")}
        assert len(told) == 20 - sum("|told|" in key for key in ended)
    else:
        assert len(told) == 20
        again = "does not outlive its process; all 20 conversations are stored again"
        assert (again in done.stderr) == bool(kept["stored.jsonl"])


def _keys(path):
    return [record["key"] for record in lines_of(path)]


@pytest.mark.slow
def test_a_memory_system_reads_a_book(short_book, tmp_path):
    """The same class serves the other benchmark; a verbatim one is as good as retrieval by chapter, or nearly."""
    base = ["eval_scripts/tulving.py", "--dataset", short_book, "--limit", 60]
    ran(*base, "--memory", f"{FAULTY}:Good", "--top-k", 20, "--out", tmp_path / "r")
    scores = scores_of(tmp_path / "r")
    assert scores["simple_recall_score"] > 0.9 and scores["n_failed"] == 0  # the whole book came back
    assert len(read(tmp_path / "r", "memories.json")[""]) == 20
    usage, report = read(tmp_path / "r", "usage.json"), (tmp_path / "r/report.html").read_text()
    storing, retrieving = usage["storing"], usage["retrieving"]
    assert (storing["conversations"], storing["memories"], storing["failed"]) == (20, 20, {})
    assert (retrieving["queries"], retrieving["failed"]) == (60, {})
    assert "<h3>storing</h3>" in report and "<h3>retrieving</h3>" in report
    example = "epbench.memories.example:KeywordMemory"
    ran(*base, "--memory", example, "--out", tmp_path / "keyword")
    assert scores_of(tmp_path / "keyword")["n_failed"] == 0
    done = script(*base, "--memory", f"{FAULTY}:RaisesInRetrieval", "--out", tmp_path / "raises")
    assert done.returncode == 1 and "all 60 questions failed" in done.stderr
    assert "warning: 60 retrievals failed; the first reason: KeyError" in done.stderr
    ran(*base, "--memory", example, "--in-process", "--timeout", 60, "--out", tmp_path / "thread")
    assert scores_of(tmp_path / "thread") == scores_of(tmp_path / "keyword")
    for memory, message in [
        ((example, "--memory-limit", 0), "memory limit: expected"),
        ((example, "--keep-order"), "go with rag-paragraph"),
        (("memgpt",), "any other as module:Class"),
        (("mem0",), "the model of mem0: set OPENAI_API_KEY"),
        (("no_such:Class",), "found no module 'no_such'"),
    ]:
        refused(script(*base, "--memory", *memory, "--out", tmp_path / "x"), message)
    assert "60 requests" in ran(*base, "--memory", example, "--plan", "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_system_whose_file_was_edited_does_not_go_on_with_the_old_scores(memfail_set, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(Path(FAULTY).read_text())
    command = ["--dataset", memfail_set, "--config", "long_hop", "--system", f"{file}:Good", "--out", tmp_path / "r"]
    ran(SCRIPT, *command)
    before = scores_of(tmp_path / "r")
    ran(SCRIPT, *command)  # the same file goes on
    file.write_text(file.read_text() + "\nGood.store_conversation = lambda self, conversation: None\n")
    refused(script(SCRIPT, *command), "this folder holds another run: its system_digest is")
    assert scores_of(tmp_path / "r") == before
    ran(SCRIPT, *command[:-1], tmp_path / "edited")
    assert scores_of(tmp_path / "edited")["stored"]["memories"] == 0
