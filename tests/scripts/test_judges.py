"""Runs judged by a model behind an endpoint on loopback: once, again by another judge, after a kill, in shards."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.scripts.in_process import ROOT, ran, refused, script
from tests.scripts.run_files import change, files_in, killed, lines_of, read, scores_of, write_lines
from tests.tiny_model import make_tiny_model
from tests.tulving.scripted_judge import answer, honest, is_order, zealous

EVALUATE = "eval_scripts/tulving.py"
LIMIT = 60


@pytest.fixture(scope="module")
def judged_by_rules(short_book, tmp_path_factory):
    """A run of the embedded reader and judge."""
    out = tmp_path_factory.mktemp("runs") / "r"
    ran(EVALUATE, "--dataset", short_book, "--memory", "rag-paragraph", "--limit", LIMIT, "--out", out)
    return out


@pytest.fixture
def run(judged_by_rules, tmp_path):
    """A copy of it, to be judged again."""
    return shutil.copytree(judged_by_rules, tmp_path / "r", ignore=shutil.ignore_patterns(".*"))


def by(endpoint, name="tiny"):
    return ["--judge", f"openai:{name}", "--judge-url", endpoint.url]


@pytest.mark.slow
def test_a_model_judges_a_run_from_the_start(short_book, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-mine")
    with LoopbackEndpoint(honest) as endpoint:
        base = [EVALUATE, "--dataset", short_book, "--memory", "in-context", "--limit", LIMIT, *by(endpoint)]
        said = ran(*base, "--out", tmp_path / "r")
        assert "judge openai:tiny: 60 verdicts, at most " in said and "judging: " in said
        scores, journal = scores_of(tmp_path / "r"), lines_of(tmp_path / "r/judgements.jsonl")
        run = read(tmp_path / "r", "run.json")
        assert run["judge"] == {name: scores["judge"][name] for name in ("name", "prompt_hash", "setup")}
        assert run["judge"]["name"] == "openai:tiny" and "judge" not in run["identity"]
        assert scores["n_failed"] == 0 and scores["simple_recall_score"] > 0.8
        assert len(journal) <= LIMIT and all(json.loads(raw) for record in journal for raw in record["raw"])
        firsts = [call for call in endpoint.calls if not is_order(call.user)]
        assert len(firsts) == len(journal)
        ordered = [record for record in journal if len(record["raw"]) == 2]
        assert len(endpoint.calls) == len(firsts) + len(ordered) and ordered
        assert sum(record["usage"]["prompt"] for record in journal) == 10 * len(endpoint.calls)
        n, before = len(endpoint.calls), files_in(tmp_path / "r")
        ran(*base, "--out", tmp_path / "r")
        assert len(endpoint.calls) == n and files_in(tmp_path / "r") == before
    assert not [name for name, content in before.items() if b"secret-of-mine" in content]


def test_a_plan_counts_the_judge_at_most_and_asks_nothing(short_book, tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        base = [EVALUATE, "--dataset", short_book, "--memory", "none", *by(endpoint), "--out", tmp_path / "r"]
        said = ran(*base, "--plan")
        assert "judge openai:tiny: 450 verdicts, at most 4" in said
        assert said.count("at most") >= 3 and not (tmp_path / "r").exists()
        refused(script(*base, "--judge-window", 3000), "judge openai:tiny: a prompt and its reply take up to")
        ran(*base, "--judge-window", 3000, "--max-tokens", 50, "--judge-max-tokens", 100, "--plan")
        mine = tmp_path / "mine.jsonl"
        mine.write_text("")
        done = script(EVALUATE, "--dataset", short_book, "--answers", mine, *by(endpoint), "--out", tmp_path / "r")
        refused(done, "expected answers, found none")
        assert not endpoint.calls and not (tmp_path / "r").exists()


@pytest.mark.slow
def test_judging_again_asks_no_reader_and_keeps_all_verdicts(short_book, run):
    lexical, answers = scores_of(run), (run / "answers.jsonl").read_bytes()
    with LoopbackEndpoint(zealous) as endpoint:
        base = [EVALUATE, "--dataset", short_book, "--rejudge", *by(endpoint), "--out", run]
        planned = ran(*base, "--plan")
        assert not endpoint.calls
        n = len(lines_of(run / "judgements.jsonl"))
        assert f"judge openai:tiny: {n} verdicts, at most" in planned
        ran(*base)
        scores, judges = scores_of(run), Counter(r["judge"] for r in lines_of(run / "judgements.jsonl"))
        assert (run / "answers.jsonl").read_bytes() == answers
        assert judges == {"lexical": n, "openai:tiny": n}
        assert scores["judge"]["name"] == "openai:tiny" and scores["f1_by_bin"]["1"] > lexical["f1_by_bin"]["1"]
        assert scores["n_questions"] == LIMIT  # the part that was asked, though nobody said so again
        assert "openai:tiny" in (run / "report.html").read_text()
        calls = len(endpoint.calls)

        # Another judge, or the first one, needs the word again; with it nothing is judged twice.
        reader = ["--memory", "rag-paragraph", "--limit", LIMIT, "--out", run]
        done = script(EVALUATE, "--dataset", short_book, *reader)
        refused(done, "to have another judge judge all answers, add --rejudge")
        ran(EVALUATE, "--dataset", short_book, *reader, "--rejudge")
        assert scores_of(run) == lexical
        ran(*base)
        assert scores_of(run) == scores
        assert len(endpoint.calls) == calls and len(lines_of(run / "judgements.jsonl")) == 2 * n


def results(folder):
    """What a run says of itself: every file but the journals and their hashes."""
    files = {name: content for name, content in files_in(folder).items() if name.endswith((".json", ".md", ".html"))}
    del files["checksums.json"]
    return files


@pytest.mark.slow
@pytest.mark.parametrize("part", [["--limit", 10], ["--shard", "1/4"]])
def test_a_trial_of_a_judge_on_a_few_answers_leaves_the_run_as_it_is(short_book, run, part):
    before = results(run)
    with LoopbackEndpoint(zealous) as endpoint:
        rejudge = [EVALUATE, "--dataset", short_book, "--rejudge", *by(endpoint), "--out", run]
        said = ran(*rejudge, *part)
        assert results(run) == before
        n = len(endpoint.calls)
        assert 0 < n < LIMIT and "simple recall" in said
        assert f"the scores in {run} are still those of judge lexical" in said
        ran(EVALUATE, "--dataset", short_book, "--memory", "rag-paragraph", "--limit", LIMIT, "--out", run)
        assert results(run) == before
        ran(*rejudge, "--limit", LIMIT)  # no trial: it is the whole run
        firsts = {call.user for call in endpoint.calls}
        assert len(firsts) == len(endpoint.calls) > n  # the verdicts of the trial were kept
    assert scores_of(run)["judge"]["name"] == read(run, "run.json")["judge"]["name"] == "openai:tiny"


def test_what_is_said_of_the_reader_must_be_true(short_book, run, tmp_path):
    base = [EVALUATE, "--dataset", short_book, "--rejudge", "--out"]
    refused(script(*base, run, "--memory", "none"), "its memory is 'rag-paragraph', expected 'none'")
    refused(script(*base, run, "--temperature", "0.5"), "its temperature is 0.0, expected 0.5")
    refused(script(*base, run, "--repeats", "2"), "its repeats is 1, expected 2")
    refused(script(*base, tmp_path / "nothing"), "no answers here; --rejudge judges those of an earlier run")
    (run / "answers.jsonl").write_text("")
    refused(script(*base, run), "no answers here")
    refused(script(EVALUATE, "--released", tmp_path, "--rejudge", "--out", run), "--rejudge needs --dataset")
    assert not (tmp_path / "nothing").exists()
    ran("builders/tulving.py", "--book", "short", "--seed", "9", "--out", tmp_path)
    (run / "answers.jsonl").write_text("x")
    refused(script(EVALUATE, "--dataset", tmp_path / "short", "--rejudge", "--out", run), "its fingerprint is")


@pytest.mark.slow
def test_own_answers_are_judged_by_a_model_and_again(short_book, judged_by_rules, tmp_path):
    mine = shutil.copyfile(judged_by_rules / "answers.jsonl", tmp_path / "mine.jsonl")
    base = [EVALUATE, "--dataset", short_book, "--answers", mine, "--limit", LIMIT, "--out", tmp_path / "r"]
    with LoopbackEndpoint(honest) as endpoint:
        ran(*base, *by(endpoint))
        n = len(endpoint.calls)
        first = scores_of(tmp_path / "r")
        ran(*base, *by(endpoint, "other"), "--rejudge")
        assert len(endpoint.calls) == 2 * n
    second = scores_of(tmp_path / "r")
    assert second["judge"]["name"] == "openai:other" and second["f1_by_bin"] == first["f1_by_bin"]
    mine.write_text(json.dumps({"id": lines_of(judged_by_rules / "answers.jsonl")[0]["id"], "answer": "x"}))
    refused(script(*base, "--rejudge"), "its answers is")


def odd_answers(run):
    odd = {r["answer"] for r in lines_of(run / "answers.jsonl") if "-" in r["answer"]}
    assert 3 < len(odd) < LIMIT
    return odd


@pytest.mark.slow
def test_a_judge_that_fails_on_some_answers_leaves_the_scores_of_the_one_before(short_book, run):
    odd, before = odd_answers(run), results(run)
    with LoopbackEndpoint(lambda p: "{no}" if answer(p) in odd else honest(p)) as endpoint:
        base = [EVALUATE, "--dataset", short_book, "--rejudge", *by(endpoint), "--out", run]
        done = script(*base)
        assert done.returncode == 1 and results(run) == before, done.stderr
        failed = [r for r in lines_of(run / "judgements.jsonl") if r.get("failure")]
        n_answers = sum(r["answer"] in odd for r in lines_of(run / "answers.jsonl"))
        assert len(failed) <= n_answers
        assert f"openai:tiny has given no verdict on {n_answers} of {LIMIT} answers" in done.stderr
        assert "remain those of judge lexical; start again to ask for the missing verdicts" in done.stderr
        assert f"judge openai:tiny failed {len(failed)} times: the judge's reply is unusable" in done.stdout
        assert all(r["raw"] == ["{no}", "{no}"] for r in failed)
        ran(EVALUATE, "--dataset", short_book, "--memory", "rag-paragraph", "--limit", LIMIT, "--out", run)
        assert results(run) == before
        endpoint.answer, n = honest, len(endpoint.calls)
        ran(*base)
        assert scores_of(run)["n_failed"] == 0
        firsts = [call for call in endpoint.calls[n:] if not is_order(call.user)]
        assert len(firsts) == len(failed)  # those alone
    assert read(run, "run.json")["judge"]["name"] == scores_of(run)["judge"]["name"] == "openai:tiny"


@pytest.mark.slow
def test_a_judge_that_fails_wholly_leaves_no_trace_in_a_run(short_book, run, tmp_path):
    before = results(run)
    with LoopbackEndpoint(lambda p: "{no}") as endpoint:
        done = script(EVALUATE, "--dataset", short_book, "--rejudge", *by(endpoint), "--out", run)
        assert done.returncode == 1 and results(run) == before
        assert f"no verdict on {LIMIT} of {LIMIT} answers" in done.stderr
        base = [EVALUATE, "--dataset", short_book, "--memory", "rag-paragraph", "--limit", LIMIT]
        base += ["--out", tmp_path / "n"]
        done = script(*base, *by(endpoint))
        assert done.returncode == 1 and "nothing to score: all 60 questions failed" in done.stderr
    assert "judge" not in read(tmp_path / "n", "run.json") and not (tmp_path / "n/scores.json").exists()
    ran(*base)  # the run is free for any judge
    assert scores_of(tmp_path / "n") == scores_of(run)


@pytest.mark.slow
def test_a_first_judge_that_fails_on_some_answers_gives_bounds(short_book, run, tmp_path):
    odd = odd_answers(run)
    with LoopbackEndpoint(lambda p: "{no}" if answer(p) in odd else honest(p)) as endpoint:
        base = [EVALUATE, "--dataset", short_book, "--memory", "rag-paragraph", "--limit", LIMIT, *by(endpoint)]
        base += ["--out", tmp_path / "n"]
        said = ran(*base)
        part = scores_of(tmp_path / "n")
        assert 0 < part["n_failed"] < LIMIT and part["n_questions"] == LIMIT
        assert part["simple_recall_score"] is None and part["corrected"] is None
        assert f"{part['n_failed']} of {LIMIT} questions have no answer or no verdict" in said
        endpoint.answer = honest
        ran(*base)
    whole = scores_of(tmp_path / "n")
    assert whole["n_failed"] == 0 and whole["incomplete"] == {}
    for name, (low, high) in part["incomplete"].items():
        value = whole["f1_by_bin"][name.split(".")[1]] if "." in name else whole[name]
        assert low - 1e-9 <= value <= high + 1e-9, name


def killed_while_writing(name, *argv):
    """Start the script in a process of its own that dies, as by kill -9, when it is about to write a file of this name."""
    die = f"""
import os, signal, sys
from pathlib import Path
from tests.scripts.in_process import loaded
replace = Path.replace
def mortal(path, target):
    if Path(target).name == {name!r}:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)
Path.replace = mortal
loaded({EVALUATE!r}).main(sys.argv[1:])
"""
    done = subprocess.run([sys.executable, "-c", die, *map(str, argv)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores.json", pytest.param("run.json", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("again", ["reader", "judge"])
def test_a_kill_between_two_result_files_is_mended_by_the_next_start(short_book, run, name, again):
    """Judged by rules, then by a stricter reading of the same answers; the process dies at each of the files."""
    reader = ["--dataset", short_book, "--memory", "rag-paragraph", "--limit", LIMIT, "--out", run]
    before = scores_of(run)
    with LoopbackEndpoint(zealous) as endpoint:
        rejudge = ["--dataset", short_book, "--rejudge", *by(endpoint), "--out", run]
        killed_while_writing(name, *rejudge)
        assert read(run, "run.json")["judge"]["name"] == "lexical"
        assert (scores_of(run) == before) == (name == "scores.json")
        n = len(endpoint.calls)
        ran(EVALUATE, *(reader if again == "reader" else rejudge))
        assert len(endpoint.calls) == n
    judge = "lexical" if again == "reader" else "openai:tiny"
    assert scores_of(run)["judge"]["name"] == read(run, "run.json")["judge"]["name"] == judge
    assert f"judge {judge}" in (run / "table.md").read_text() and f"judge {judge}" in (run / "report.html").read_text()
    assert (scores_of(run) == before) == (again == "reader")


@pytest.mark.parametrize("after", [3, pytest.param(55, marks=pytest.mark.slow)])
def test_a_judge_that_is_killed_asks_no_journaled_call_twice(short_book, run, after):
    before_judging = results(run)
    with LoopbackEndpoint(honest, latency_s=0.02) as endpoint:
        command = [EVALUATE, "--dataset", short_book, "--rejudge", *by(endpoint), "--out", run]
        calls = run / "judge_calls.jsonl"
        killed(command, lambda: len(lines_of(calls)) >= after)
        assert results(run) == before_judging
        kept = len(lines_of(calls))
        before = Counter(call.user for call in endpoint.calls if call.answered)
        ran(*command)
        paid = Counter(call.user for call in endpoint.calls if call.answered)
    assert kept >= after and scores_of(run)["n_failed"] == 0
    keys = [record["key"] for record in lines_of(calls)]
    assert len(set(keys)) == len(keys) == len(paid)
    assert sum(paid.values()) - len(paid) == sum(before.values()) - kept  # those in flight when it was killed


def test_a_tiny_model_in_process_fails_cleanly_as_a_judge(short_book, run, tmp_path):
    tiny = make_tiny_model(tmp_path / "tiny", "a book of words", window=8192, ends=True)
    rejudge = f"{EVALUATE} --dataset {short_book} --rejudge --judge hf:{tiny} --judge-max-tokens 8 --limit 5"
    done = script(rejudge, "--out", run)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "nothing to score: all 5 questions failed" in done.stderr
    assert f"judge hf:{tiny}@" in done.stdout.replace("\n", "")
    failed = [r for r in lines_of(run / "judgements.jsonl") if r["judge"].startswith(f"hf:{tiny}@")]
    assert failed and all("no JSON object" in r["failure"] and len(r["raw"]) == 2 for r in failed)
    assert read(run, "run.json")["judge"]["name"] == scores_of(run)["judge"]["name"] == "lexical"


def test_reader_and_judge_of_one_name_are_loaded_once(short_book, tmp_path):
    tiny = make_tiny_model(tmp_path / "tiny", "a book of words", window=8192, ends=True)
    both = f"--model hf:{tiny} --max-tokens 4 --judge hf:{tiny} --judge-max-tokens 4"
    done = script(f"{EVALUATE} --dataset {short_book} --memory none {both} --limit 3 --out {tmp_path / 'r'}")
    assert done.returncode == 1 and done.stderr.count("device cpu") == 1, done.stderr


@pytest.mark.slow
def test_shards_with_one_judge_merge_without_judging_anew(short_book, tmp_path):
    with LoopbackEndpoint(honest) as endpoint:
        base = [EVALUATE, "--dataset", short_book, "--memory", "rag-chapter", "--limit", LIMIT]
        ran(*base, *by(endpoint), "--out", tmp_path / "whole")
        for i in (1, 2):
            ran(*base, "--shard", f"{i}/2", *by(endpoint), "--out", tmp_path / f"part{i}")
        n = len(endpoint.calls)
        parts = [tmp_path / "part1", tmp_path / "part2"]
        merge = ["eval_scripts/merge.py", *parts]  # the shards say that they had a limit
        ran(*merge, "--out", tmp_path / "merged")
        assert len(endpoint.calls) == n
        assert scores_of(tmp_path / "merged") == scores_of(tmp_path / "whole")
        assert {r["judge"] for r in lines_of(tmp_path / "merged/judgements.jsonl")} == {"openai:tiny"}

        # A verdict that is missing is missing; the judge itself can add it.
        write_lines(parts[0] / "judgements.jsonl", lines_of(parts[0] / "judgements.jsonl")[3:])
        (parts[0] / "checksums.json").unlink()  # the shard was stopped before its end
        assert "has not judged this answer" in ran(*merge, "--out", tmp_path / "again")
        again = scores_of(tmp_path / "again")
        assert 3 <= again["n_failed"] < LIMIT / 2 and again["simple_recall_score"] is None and again["incomplete"]
        ran(EVALUATE, "--dataset", short_book, "--rejudge", *by(endpoint), "--out", tmp_path / "again")
        assert len(endpoint.calls) == n  # its calls were in the shards
        assert scores_of(tmp_path / "again") == scores_of(tmp_path / "whole")

        ran(EVALUATE, "--dataset", short_book, "--rejudge", "--out", parts[1])
        refused(script(*merge, "--out", tmp_path / "x"), "the shards have different judges: lexical (")
        refused(script(*merge, "--out", parts[0]), "one of the shards; expected another folder")
        refused(script(*merge, tmp_path / "nothing", "--out", tmp_path / "x"), "nothing: no run.json in it")
        change(parts[0] / "run.json", limit=LIMIT + 1, judge=read(parts[1], "run.json")["judge"])
        refused(script(*merge, "--out", tmp_path / "x"), "the shards have different limits (")
        assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_published_answers_are_judged_again_on_their_book(released, tmp_path):
    ran("builders/tulving.py", "--released", released, "--book", "short", "--out", tmp_path)
    ran(EVALUATE, "--released", released, "--out", tmp_path / "published")
    run = next(path.parent for path in sorted((tmp_path / "published").glob("*/*/scores.json")))
    published = scores_of(run)
    with LoopbackEndpoint(honest) as endpoint:
        ran(EVALUATE, "--dataset", tmp_path / "short", "--rejudge", *by(endpoint), "--out", run)
    scores = scores_of(run)
    assert scores["n_questions"] == published["n_questions"] and scores["n_failed"] == 0
    assert scores["judge"]["name"] == "openai:tiny" and "reference" not in scores
    assert read(run, "run.json")["judge"]["name"] == "openai:tiny"
    assert len(lines_of(run / "judgements.jsonl")) > len(endpoint.calls) > 100
    ran(EVALUATE, "--released", released, "--out", tmp_path / "published")
    assert scores_of(run) == published  # the published judge is the last again
    assert read(run, "run.json")["judge"]["name"] == published["judge"]["name"]
    ran("builders/tulving.py", "--book", "short", "--out", tmp_path / "made")
    done = script(EVALUATE, "--dataset", tmp_path / "made/short", "--rejudge", "--out", run)
    refused(done, "a published run on 'short'")


@pytest.mark.slow
def test_own_and_published_runs_on_one_book_stand_side_by_side(released, tmp_path):
    ran("builders/tulving.py", "--released", released, "--book", "short", "--out", tmp_path)
    ran(EVALUATE, "--released", released, "--out", tmp_path / "published")
    book, mine = tmp_path / "short", tmp_path / "mine"
    ran(EVALUATE, "--dataset", book, "--memory", "rag-chapter", "--out", mine)
    published = next(path.parent for path in sorted((tmp_path / "published").glob("*/*/scores.json")))
    assert read(published, "run.json")["fingerprint"] == read(mine, "run.json")["identity"]["fingerprint"]
    report = ["eval_scripts/report.py", published, mine, "--out", tmp_path / "report"]
    ran(*report)
    table = (tmp_path / "report/table.md").read_text()
    assert re.search(rf"\| {re.escape(published.name)} \| \S+ \(as released\) \|", table)
    assert "| mine | lexical |" in table and "scores from different judges are not comparable" in table
    ran(EVALUATE, "--dataset", book, "--rejudge", "--out", published)
    ran(*report)
    table = (tmp_path / "report/table.md").read_text()
    assert "| judge |" not in table and "not comparable" not in table and "| mine | 1.000 |" in table
    ran("builders/tulving.py", "--book", "short", "--out", tmp_path / "made")
    other = tmp_path / "other"
    ran(EVALUATE, "--dataset", tmp_path / "made/short", "--memory", "none", "--out", other)
    refused(script("eval_scripts/report.py", published, other, "--out", tmp_path / "x"), "on different datasets")
