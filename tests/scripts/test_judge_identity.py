"""Two servers behind one name are two judges: nothing of one passes for the other, in any command."""

import json

import pytest

from epbench.judges.model import BaseModelJudge
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import change, drop, files_in, lines_of, read, scores_of, write_lines
from tests.tulving.scripted_judge import truth, verdict

TULVING, MEMFAIL = "eval_scripts/tulving.py", "eval_scripts/memfail.py"
MERGE, VERIFY, REPORT, COMPARE = (f"eval_scripts/{name}.py" for name in ("merge", "verify", "report", "compare"))
LIMIT = 40


def says(score):
    """A judge that gives every true item this score."""
    return lambda prompt: json.dumps(verdict(prompt, [score] * len(truth(prompt))) | {"items": truth(prompt)})


@pytest.fixture
def ones():
    with LoopbackEndpoint(says(1)) as endpoint:
        yield endpoint


@pytest.fixture
def zeros():
    with LoopbackEndpoint(says(0)) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def mine(small_sets, tmp_path_factory):
    """A file with an answer to every question."""
    from epbench.tulving.dataset.load import load_book

    path = tmp_path_factory.mktemp("answers") / "mine.jsonl"
    ids = [row["id"] for row in load_book(str(small_sets / "short")).rows]
    write_lines(path, [{"id": id_, "answer": f"somebody, {id_}"} for id_ in ids])
    return path


@pytest.fixture
def judged(small_sets, mine):
    """The words of a command that has an endpoint judge the answers into a folder."""

    def words(out, endpoint, *more, url=None):
        by = f"--judge openai:j --judge-url {url or endpoint.url}"
        answers = f"--dataset {small_sets / 'short'} --answers {mine} --limit {LIMIT}"
        return f"{TULVING} {answers} {by} --out {out}", *more

    return words


def mean_of(run):
    return scores_of(run)["f1_by_bin"]["1"]


@pytest.mark.slow
def test_judging_again_at_another_address_asks_that_server(judged, ones, zeros, tmp_path):
    run = tmp_path / "r"
    ran(*judged(run, ones))
    assert mean_of(run) == 1.0 and not zeros.calls
    refused(script(*judged(run, zeros)), "to have another judge judge all answers, add --rejudge")
    ran(*judged(run, zeros, "--rejudge"))
    assert len(zeros.calls) == len(ones.calls) and mean_of(run) == 0.0
    setups = {f"{endpoint.url}, max_tokens=2048, temperature=0" for endpoint in (ones, zeros)}
    for name in ("judgements.jsonl", "judge_calls.jsonl"):
        assert {record["setup"] for record in lines_of(run / name)} == setups
    assert read(run, "run.json")["judge"]["setup"] == scores_of(run)["judge"]["setup"]
    ran(VERIFY, run)
    ran(COMPARE, run, "--out", tmp_path / "agreement")
    (pair,) = read(tmp_path / "agreement", "agreement.json")["pairs"]
    assert all(endpoint.url in judge for endpoint, judge in zip((ones, zeros), pair["judges"], strict=True))
    calls = len(ones.calls)
    ran(*judged(run, ones, "--rejudge"))
    assert len(ones.calls) == calls and mean_of(run) == 1.0  # its own verdicts are still there


@pytest.mark.slow
def test_a_run_begun_with_one_server_and_finished_with_another_has_verdicts_of_one(judged, ones, zeros, tmp_path):
    run = tmp_path / "r"
    ran(*judged(run, ones))
    half = (run / "judgements.jsonl").read_bytes().splitlines(keepends=True)[: LIMIT // 2]
    (run / "judgements.jsonl").write_bytes(b"".join(half))
    drop(run / "run.json", "judge")
    for name in ("scores.json", "checksums.json", "table.md", "report.html", "usage.json", "questions.parquet"):
        (run / name).unlink()
    ran(*judged(run, zeros))
    assert mean_of(run) == 0.0 and len(zeros.calls) > len(half)
    ran(VERIFY, run)


@pytest.mark.slow
def test_verification_sees_a_judge_that_was_swapped_in_one_file(judged, ones, zeros, tmp_path):
    run = tmp_path / "r"
    ran(*judged(run, ones))
    ran(*judged(run, zeros, "--rejudge"))
    (run / "checksums.json").unlink()
    judge = scores_of(run)["judge"]
    change(run / "scores.json", judge=judge | {"setup": judge["setup"].replace(zeros.url, ones.url)})
    done = script(VERIFY, run)
    assert done.returncode == 1 and "judge.setup" in done.stdout.replace("\n", ""), done.stdout


@pytest.mark.slow
def test_shards_of_two_servers_are_not_merged(judged, ones, zeros, tmp_path):
    for number, endpoint in ((1, ones), (2, zeros)):
        ran(*judged(tmp_path / f"part{number}", endpoint, "--shard", f"{number}/2"))
    merged = script(MERGE, tmp_path / "part1", tmp_path / "part2", "--out", tmp_path / "whole")
    refused(merged, "the shards have different judges: openai:j (")
    assert ones.url in merged.stderr and zeros.url in merged.stderr


@pytest.mark.slow
def test_runs_of_two_servers_are_told_apart_side_by_side_and_not_compared(judged, ones, zeros, tmp_path):
    runs = [tmp_path / "a", tmp_path / "b"]
    for run, endpoint in zip(runs, (ones, zeros), strict=True):
        ran(*judged(run, endpoint))
    ran(REPORT, *runs, "--out", tmp_path / "side")
    for name in ("table.md", "report.html"):
        text = (tmp_path / "side" / name).read_text("utf-8")
        assert "scores from different judges are not comparable" in text
        assert ones.url in text and zeros.url in text
    refused(script(COMPARE, *runs), "the runs have different judges (")
    ran("eval_scripts/tables.py", *runs, "--out", tmp_path / "tables")
    board = next((tmp_path / "tables").rglob("leaderboard*.md")).read_text("utf-8")
    assert "not comparable" in board and ones.url in board and zeros.url in board


@pytest.mark.slow
def test_records_of_an_earlier_version_are_an_unknown_judge(judged, ones, tmp_path, monkeypatch):
    run = tmp_path / "old"
    with monkeypatch.context() as earlier:
        earlier.setattr(BaseModelJudge, "setup", "")
        ran(*judged(run, ones))
    assert "setup" not in read(run, "run.json")["judge"] and "setup" not in lines_of(run / "judgements.jsonl")[0]
    before, calls = files_in(run), len(ones.calls)
    ran(VERIFY, run)
    ran(REPORT, run, "--out", tmp_path / "side")
    done = script(*judged(run, ones))
    refused(done, "an earlier version did not note the address and the sampling of its judge")
    assert "add --rejudge" in done.stderr and files_in(run) == before
    ran(*judged(run, ones, "--rejudge"))
    assert len(ones.calls) == 2 * calls and read(run, "run.json")["judge"]["setup"]
    ran(VERIFY, run)


def test_a_login_is_no_part_of_a_judge_and_in_no_file(judged, ones, tmp_path):
    run, url = tmp_path / "r", ones.url.replace("://", "://me:word-of-mine@") + "/?api_key=another-secret"
    ran(*judged(run, ones, url=url))
    calls = len(ones.calls)
    ran(*judged(run, ones))  # the same judge without the login
    assert len(ones.calls) == calls
    for path in run.iterdir():
        assert b"word-of-mine" not in path.read_bytes() and b"another-secret" not in path.read_bytes(), path


@pytest.mark.parametrize("score", [0, 1])
def test_a_judge_that_gives_everything_one_score_is_warned_of(judged, tmp_path, score):
    with LoopbackEndpoint(says(score)) as endpoint:
        shown = ran(*judged(tmp_path / "r", endpoint))
    said = f"WARNING: the judge gave {score} to every true item of all "
    assert said in " ".join(shown.split())
    for name in ("table.md", "report.html"):
        assert said in (tmp_path / "r" / name).read_text("utf-8"), name
    same = scores_of(tmp_path / "r")["judge"]["one_score"]
    assert same["score"] == score and 20 <= same["answers"] < LIMIT  # questions without a true item do not count
    ran(REPORT, tmp_path / "r", "--out", tmp_path / "side")
    assert said in (tmp_path / "side/report.html").read_text("utf-8")


def memfail_run(small_sets, out, endpoint, *more):
    run = f"{MEMFAIL} --dataset {small_sets / 'memfail'} --config long_hop --system verbatim-bm25 --isolate --limit 4"
    return f"{run} --judge openai:j --judge-url {endpoint.url} --out {out}", *more


@pytest.mark.slow
def test_memfail_keeps_two_servers_apart(small_sets, tmp_path):
    said = {word: json.dumps({"reason": "so", "verdict": word}) for word in (True, False)}
    with LoopbackEndpoint(lambda p: said[True]) as yes, LoopbackEndpoint(lambda p: said[False]) as no:
        ran(*memfail_run(small_sets, tmp_path / "a", yes))
        ran(*memfail_run(small_sets, tmp_path / "b", no))
        refused(script(*memfail_run(small_sets, tmp_path / "a", no)), "give another --out for another judge")
        setups = {record["setup"] for record in lines_of(tmp_path / "a/judgements.jsonl")}
        assert setups == {f"{yes.url}, max_tokens=2048, temperature=0"}
        # Begun with one server, whose verdicts are all there, and taken up by the other.
        asked = len(no.calls)
        drop(tmp_path / "a/run.json", "judge")
        ran(*memfail_run(small_sets, tmp_path / "a", no))
        assert len(no.calls) == 2 * asked
        scores = [scores_of(tmp_path / name)["by_k"] for name in "ab"]
        assert scores[0] == scores[1]
        for name in "ab":
            ran(VERIFY, tmp_path / name)
        for number, endpoint in ((1, yes), (2, no)):
            ran(*memfail_run(small_sets, tmp_path / f"part{number}", endpoint, "--shard", f"{number}/2"))
    parts = [tmp_path / "part1", tmp_path / "part2"]
    refused(script(MERGE, *parts, "--out", tmp_path / "whole"), "the shards have different judges: openai:j (")
