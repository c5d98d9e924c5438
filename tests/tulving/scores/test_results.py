"""A reader that fails now and then: what failed is neither right nor wrong, and is asked again."""

import json
import re

import pyarrow.parquet as pq
import pytest

from epbench.errors import NothingToScore
from epbench.judges.protocol import PUBLISHED, PastJudge
from epbench.progress import no_progress
from epbench.reports.plots import FRONTIER
from epbench.runs.folder import open_run
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.own_answers import OwnAnswers, read_answers, record_answers, record_own_answers
from epbench.tulving.judging.verdicts import judge_answers, judged, lost_questions
from epbench.tulving.scores.report import comparison_report
from epbench.tulving.scores.results import finish, scores_of
from epbench.tulving.scores.tables import complete_first, markdown_table, naming_notes, notes, score_cell, screen_tables
from tests.scripts.run_files import lines_of, write_lines
from tests.tulving.made_runs import FAILURE, Told, made_run
from tests.tulving.question_rows import row


def person(id_):
    return row(id_, [f"Person {id_}"])


def judged_run(path, rows, write, repeats=1):
    """The verdicts and the scores of a run whose answers are written into its folder."""
    with open_run(path, {}, {"book": "b"}) as folder:
        write(folder)
        verdicts = judge_answers(folder, rows, LexicalJudge(), no_progress)
        return verdicts, finish(folder, rows, LexicalJudge(), "mine", repeats=repeats)


def telling(*ids, repeats=1):
    """A reader that names the person of each of these questions, and fails on others."""
    return Told({(id_, n): f"Person {id_}" for id_ in ids for n in range(repeats)})


def test_failed_questions_are_counted_apart_and_asked_again(tmp_path):
    rows = [person(f"{letter}x") for letter in "abcdefgh"]
    ids = [row["id"] for row in rows]
    first = made_run(tmp_path / "r", rows, shaky := telling(*ids[:1], *ids[2:3], *ids[4:]))
    assert (first["n_failed"], first["n_questions"], first["failed_by_bin"]) == (2, 8, {"1": 2})
    assert first["f1_by_bin"] == {} and first["incomplete"]["f1_by_bin.1"] == [0.75, 1.0]
    assert shaky.asked == ids
    reasons = [record.get("failure") for record in lines_of(tmp_path / "r/answers.jsonl")]
    assert reasons.count(FAILURE) == 2
    second = made_run(tmp_path / "r", rows, again := telling(*ids))
    assert again.asked == ["bx", "dx"]
    assert (second["n_failed"], second["n_questions"], second["f1_by_bin"]) == (0, 8, {"1": 1.0})
    assert made_run(tmp_path / "r", rows, never := telling()) == second and never.asked == []


def test_repeats_are_judged_each_and_the_usage_adds_up(tmp_path):
    scores = made_run(tmp_path / "r", [person("ax")], telling("ax", repeats=3), repeats=3)
    assert scores["coverage"]["answered"] == 3
    assert len(lines_of(tmp_path / "r/judgements.jsonl")) == 1  # the same answer is judged once
    usage = json.loads((tmp_path / "r/usage.json").read_text())
    assert (usage["requests"], usage["failed"], usage["saved"]) == (3, {}, 0)
    assert "No request failed" in (tmp_path / "r/report.html").read_text()


def test_a_repeat_that_is_missing_is_lost_and_never_more_are_found_than_asked(tmp_path):
    """An answer that was asked anew under another key replaces the one before it."""
    rows = [person("ax"), person("bx")]
    given = [("ax", 0, "Nobody"), ("ax", 1, "Person ax"), ("ax", 0, "Person ax"), ("bx", 1, "Person bx")]
    lines = [{"key": str(i), "id": id_, "repeat": n, "answer": text} for i, (id_, n, text) in enumerate(given)]
    write_lines(tmp_path / "answers.jsonl", lines)
    verdicts = judge_answers(tmp_path, rows, LexicalJudge(), no_progress)
    assert [(v.id, list(v.scores)) for v in verdicts] == [("ax", [1]), ("ax", [1]), ("bx", [1])]
    assert [question.id for question in lost_questions(rows, verdicts, 2)] == ["bx"]
    assert scores_of(verdicts, lost_questions(rows, verdicts, 2))["n_failed"] == 1
    assert lost_questions(rows[:1], verdicts, 1) == []  # were there more verdicts than repeats, none is lost


def test_an_empty_answer_is_a_failure_and_no_abstention(tmp_path):
    rows = [row("ax", []), row("bx", [])]
    given = {"ax": " \n", "bx": "Nothing in the book says so."}
    for _ in range(2):  # a second start writes nothing more
        _, scores = judged_run(tmp_path / "r", rows, lambda folder: record_answers(folder, given, "mine"))
    assert scores["incomplete"]["f1_by_bin.0"] == [0.5, 1.0] and scores["simple_recall_score"] is None
    assert json.loads((tmp_path / "r/usage.json").read_text())["failed"] == {"empty answer": 1}
    assert len(lines_of(tmp_path / "r/answers.jsonl")) == 2


def test_incomplete_scores_are_shown_as_ranges_and_rank_nowhere(tmp_path, drawn_pictures):
    rows = [person(f"{letter}x") for letter in "abcd"]
    part = made_run(tmp_path / "r", rows, telling("ax", "cx", "dx"))
    whole = scores_of([judged_row(id_) for id_ in ("ax", "cx", "dx")], [], judge=LexicalJudge())
    assert score_cell(part, "f1_by_bin.1") == score_cell(part, "simple_recall_score") == "0.750–1.000 (incomplete)"
    assert score_cell(whole, "f1_by_bin.1") == "1.000" and score_cell(whole, "f1_by_bin.2") == "–"
    older = {name: value for name, value in whole.items() if name != "kendall_tau"}
    assert score_cell(older, "kendall_tau") == "–" and markdown_table({"older": older, "whole": whole})
    assert list(complete_first({"part": part, "whole": whole, "other": part})) == ["whole", "part", "other"]
    table = markdown_table({"part": part, "whole": whole})
    assert table.index("| whole | –") < table.index("| part | – | 0.750–1.000 (incomplete) |")
    assert "- part: 1 of 4 questions have no answer or no verdict (bin 1: 1)." in table
    assert "- An incomplete score is a range, from all of these questions wrong to all of them right." in table
    assert notes({"part": part})[0].startswith("1 of 4 questions") and "questions have" not in notes({"w": whole})[0]
    page = (tmp_path / "r/report.html").read_text()
    assert "0.75–1.00 (4, 1 lost)" in page and "0.750–1.000 (incomplete)" in page
    for shown in (page, comparison_report("b", {"part": part, "whole": whole})):
        figure = re.search("<svg.*</svg>", shown, re.DOTALL)[0]
        assert "all wrong to all right" in figure
        assert figure.count("url(#h") == 2  # hatched: the bin, and its sign in the legend
    assert "url(#h" not in comparison_report("b", {"whole": whole})


def test_runs_of_different_judges_name_them_in_each_line_and_say_so():
    verdicts = [judged_row("ax"), judged_row("bx")]
    one = scores_of(verdicts, [], {"judge": {"name": "claude", "prompt_hash": None, "passport": None}})
    two = scores_of(verdicts, [], judge=LexicalJudge())
    three = two | {"judge": two["judge"] | {"prompt_hash": "other"}}
    table = markdown_table({"released": one, "mine": two})
    assert "| F1 by chapters | judge | 0 (0)" in table and "| released | claude (as released) | –" in table
    assert "| mine | lexical | –" in table and "judge claude, as released: " in table
    assert "scores from different judges are not comparable" in table
    assert '<td class="text">claude (as released)</td>' in comparison_report("b", {"released": one, "mine": two})
    assert f"lexical ({two['judge']['prompt_hash']})" in markdown_table({"a": two, "b": three})
    assert "different judges" not in markdown_table({"a": two, "b": two})


def test_what_memory_cost_stands_below_the_scores():
    scores = scores_of([judged_row("ax"), judged_row("bx")], [], judge=LexicalJudge())
    seconds = {"p50": 0.25, "p95": 1.5}
    price = {"store": seconds, "retrieve": seconds, "tokens_storing": 9, "tokens_retrieving": None}
    price |= {"bytes_per_fact": None, "by_k": {"3": {"tokens": 40.0, "memories": 2.0, "left_out": 1}}}
    prices = {"a": price}
    runs = {"a": scores, "b": scores, "c": scores}
    alone = comparison_report("b", runs, prices)
    assert "What memory cost" in alone and "0.250" in alone and FRONTIER not in alone
    both = comparison_report("b", runs, {**prices, "b": price})
    assert FRONTIER in both and "tokens before the reader" in both
    assert "What memory cost" not in comparison_report("b", runs)


def judged_row(id_):
    return judged(person(id_), {"items": [f"Person {id_}"], "scores": [1.0], "order": []})


def test_a_missing_answer_is_wrong_names_nothing_and_replaces_the_failure_of_an_earlier_version(tmp_path):
    rows = [row("ax", []), row("bx", [])]
    own = OwnAnswers({"bx": "Nothing in the book says so."})

    def write(folder):
        record_answers(folder, {"ax": ""}, "mine")  # as an earlier version did with a file of answers
        for _ in range(2):  # a second start writes nothing more
            record_own_answers(folder, own, ["ax", "bx"], "mine")

    _, scores = judged_run(tmp_path / "r", rows, write)
    assert len(lines_of(tmp_path / "r/answers.jsonl")) == 3
    assert scores["coverage"] == {"questions": 2, "asked": 2, "answered": 1, "missing": 1, "failed": 0}
    assert scores["simple_recall_score"] == 0.5 and scores["possible"]["simple_recall_score"] == [0.5, 1.0]
    missing, given = pq.read_table(tmp_path / "r/questions.parquet").to_pylist()
    assert (missing["outcome"], missing["f1"], missing["answer"], missing["items"]) == ("wrong", 0.0, None, [])
    assert (given["outcome"], given["f1"]) == ("right", 1.0)


def test_a_run_that_was_asked_fewer_questions_stands_after_the_others_and_says_so():
    letters = "abcd"
    whole = scores_of([judged_row(f"{letter}x") for letter in letters], [], judge=LexicalJudge())
    trial = scores_of([judged_row("ax")], [], judge=LexicalJudge())
    older = {name: value for name, value in whole.items() if name not in ("coverage", "possible")}
    assert list(complete_first({"trial": trial, "whole": whole, "older": older})) == ["whole", "older", "trial"]
    table = markdown_table({"trial": trial, "whole": whole})
    assert table.index("| whole |") < table.index("| trial |")
    assert "trial: it was asked 1 questions and another run 4" in table
    assert "it was asked" not in markdown_table({"whole": whole, "older": older})
    twice = scores_of([judged_row(f"{letter}x") for letter in letters * 2], [], judge=LexicalJudge())
    assert list(complete_first({"whole": whole, "twice": twice})) == ["whole", "twice"]  # repeats are no more questions


def said(folder, answers, **more):
    lines = [{"key": id_, "id": id_, "repeat": 0, "answer": answer, **more} for id_, answer in answers.items()]
    write_lines(folder / "answers.jsonl", lines)


NO_ANSWERS = {
    "ax": "I’m sorry, but I can’t help with that.",
    "bx": "-",
    "cx": "\u200b",
    "dx": "No such event took place.",
}


def test_a_refusal_and_a_text_that_only_looks_like_an_answer_have_failed_in_old_journals_too(tmp_path):
    rows = [row(id_, []) for id_ in NO_ANSWERS]
    folder = tmp_path / "r"
    verdicts, scores = judged_run(folder, rows, lambda folder: said(folder, NO_ANSWERS))
    assert [verdict.id for verdict in verdicts] == ["dx"]
    assert (scores["n_failed"], scores["incomplete"]["f1_by_bin.0"]) == (3, [0.25, 1.0])
    assert len(lines_of(folder / "judgements.jsonl")) == 1, "no judge is asked about them"
    failed = {"the reader refused to answer": 1, "the reply says nothing": 2}
    assert json.loads((folder / "usage.json").read_text())["failed"] == failed
    refused, *_, right = pq.read_table(folder / "questions.parquet").to_pylist()
    assert (refused["outcome"], refused["failure"]) == ("failed", "the reader refused to answer")
    assert (refused["answer"], refused["items"], right["outcome"]) == (NO_ANSWERS["ax"], None, "right")

    with pytest.raises(NothingToScore, match="most often .1.: the reader refused to answer"):
        judged_run(tmp_path / "s", rows[:1], lambda folder: said(folder, {"ax": NO_ANSWERS["ax"]}))


def test_a_published_judge_has_read_refusals_as_answers_and_its_verdicts_stand(tmp_path):
    judge = PastJudge("claude", PUBLISHED)
    rows = [row("ax", [])]
    with open_run(tmp_path / "r", {}, {"book": "b"}) as folder:
        said(folder, {"ax": NO_ANSWERS["ax"]})
        verdict = {"key": "ax", "id": "ax", "judge": "claude", "items": [], "scores": [], "order": [], "reason": ""}
        write_lines(folder / "judgements.jsonl", [verdict])
        more = {"judge": {"name": "claude", "prompt_hash": None, "passport": None}}
        assert finish(folder, rows, judge, "released", more=more)["f1_by_bin"] == {"0": 1.0}


def test_a_text_without_words_in_a_file_is_an_empty_answer_and_an_old_run_with_one_resumes(tmp_path):
    rows = [row("ax", []), person("bx")]
    (tmp_path / "mine.jsonl").write_text('{"id": "ax", "answer": "-"}\n{"id": "bx", "answer": "Person bx"}\n')
    own = read_answers(tmp_path / "mine.jsonl", ["ax", "bx"])
    assert (own.answers, own.empty) == ({"bx": "Person bx"}, {"ax": "-"})
    assert own.fingerprint == OwnAnswers({"ax": "-", "bx": "Person bx"}).fingerprint, "as earlier versions took it"

    def write(folder):
        for answers in (OwnAnswers({"ax": "-", "bx": "Person bx"}), own, own):  # a second start writes nothing more
            record_own_answers(folder, answers, ["ax", "bx"], "mine.jsonl")

    _, scores = judged_run(tmp_path / "r", rows, write)
    assert len(lines_of(tmp_path / "r/answers.jsonl")) == 3
    assert (scores["coverage"]["missing"], scores["n_failed"], scores["f1_by_bin"]) == (1, 0, {"0": 0.0, "1": 1.0})


def naming(recall, harsh, ratio, n=4):
    whole = scores_of([judged_row("ax")], [], judge=LexicalJudge())
    recalls = {"simple_recall_score": recall, "harsh_simple_recall_score": harsh}
    return whole | recalls | {"items_ratio": ratio, "n_by_bin": {"1": n}}


def test_naming_too_much_is_warned_of_and_so_is_a_rank_that_hangs_on_it():
    runs = {"all": naming(0.8, 0.1, 11.9), "few": naming(0.7, 0.7, 1.5), "none": naming(0.2, 0.2, None)}
    runs["other"] = naming(0.9, 0.0, 1, 5)
    many, ranks = naming_notes(runs)
    assert many.startswith("all: its answers name 11.9 items for each true one")
    assert many.endswith("simple recall is 0.100.")
    # The run `other` was asked other questions.
    assert ranks.endswith("By simple recall all is ahead of few; all is ahead of none.")
    for shown in (markdown_table(runs), comparison_report("b", runs), str(notes(runs))):
        assert "name 11.9 items" in shown and "all is ahead of few" in shown
    assert "| all | 11.900 | – | 0.100 |" in markdown_table(runs) and screen_tables(runs)
    assert notes({"all": runs["all"]})[0].startswith("The answers name 11.9 items")
    older = naming(0.8, 0.1, 11.9)
    del older["items_ratio"], older["harsh_simple_recall_score"]
    assert naming_notes({"a": older, "b": older}) == [] and markdown_table({"a": older})
