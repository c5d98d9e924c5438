"""A study: the page without what is right, the files that come back, and who is included."""

import json
import re

import pytest

from epbench.errors import BadInput
from epbench.people import KEY, PAGE, Item, Part, compare_labels, read_returned, read_texts, write_answers, write_study

PAIRS = [Item(f"p{i}", f"p{i}", "Which is first?", choices=[("A", f"one {i}"), ("B", f"two {i}")]) for i in range(4)]
ABOUT = {"dataset": "/home/me/secret/booksort", "config": ["e250_s20"], "fingerprint": "f"}
RULE = {"per_person": 3, "within_days": None, "pass_share": 0.75}


def made(out, kind="sort", parts=None, texts=None, **rule):
    parts = parts or [Part("A book", "Once upon a time.", [[item] for item in PAIRS])]
    return write_study(out, texts or read_texts(None), parts, kind=kind, about=ABOUT, **{**RULE, **rule})


def returned(path, study, answers, checks=("blue", "four"), **head):
    start = {"study": study.study, "session": path.stem, "started": "2026-03-31T10:00:00Z", "about": {}}
    rows = [start | head, {"read": "instructions", "ms": 5}]
    rows += [{"id": id_, "answer": answer, "ms": 9} for id_, answer in answers]
    rows += [{"id": f"check-{number}", "answer": answer} for number, answer in enumerate(checks, 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


THREE = (("p0", "A"), ("p1", "B"), ("p2", "A"))


def test_the_page_holds_neither_what_is_right_nor_a_verdict_nor_a_path(tmp_path):
    item = Item("q1", "q1/0", "Does the answer give this?", choices=[("yes", "yes"), ("no", "no")], judge="NO-VERDICT")
    made(tmp_path, "labels", [Part("", None, [[item]])])
    page = (tmp_path / PAGE).read_text("utf-8")
    assert "NO-VERDICT" not in page and "/home/me" not in page and '"right"' not in page
    assert "NO-VERDICT" in (tmp_path / KEY).read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'" in policy and "connect-src" not in policy and "http" not in page.split("<main>")[1]


def test_a_folder_keeps_one_study(tmp_path):
    assert made(tmp_path) == made(tmp_path)
    with pytest.raises(BadInput, match=r"another study"):
        made(tmp_path, per_person=2)


def test_answers_of_all_people_go_into_one_file_and_a_second_answer_to_a_pair_is_told_apart(tmp_path):
    study = made(tmp_path)
    files = [returned(tmp_path / f"{name}.jsonl", study, THREE) for name in ("ann", "ben")]
    (path,) = write_answers(tmp_path, study, read_returned(study, files))
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["p0", "p1", "p2", "p0#2", "p1#2", "p2#2"]
    assert {row["answered_by"] for row in rows} == {"people"} and [row["person"] for row in rows] == [*"111222"]
    told = json.loads((tmp_path / "people.json").read_text("utf-8"))["people"]
    assert [(of["file"], of["left_out"]) for of in told] == [("ann.jsonl", ""), ("ben.jsonl", "")]


def test_of_a_book_each_person_has_a_file(tmp_path):
    items = [[Item(f"q{i}", f"q{i}", "Who?")] for i in range(3)]
    study = made(tmp_path, "tulving", [Part("A book", "Ada.", items)])
    words = [("q0", "Ada"), ("q1", "Ben\nCleo"), ("q2", "nobody")]
    files = [returned(tmp_path / f"{name}.jsonl", study, words) for name in ("ann", "ben")]
    paths = write_answers(tmp_path, study, read_returned(study, files))
    assert [path.name for path in paths] == ["answers-1.jsonl", "answers-2.jsonl"]
    assert json.loads(paths[1].read_text("utf-8").splitlines()[1])["answer"] == "Ben\nCleo"


def test_who_is_left_out_and_why(tmp_path):
    study = made(tmp_path, "book", within_days=30)
    of = {"about": {"finished": "2026-03-01"}}
    files = [
        first := returned(tmp_path / "in.jsonl", study, THREE, **of),
        returned(tmp_path / "checks.jsonl", study, THREE, checks=("blue", "one"), **of),
        returned(tmp_path / "early.jsonl", study, THREE[:2], **of),
        returned(tmp_path / "late.jsonl", study, THREE, about={"finished": "2026-02-28"}),
        returned(tmp_path / "later.jsonl", study, THREE, about={"finished": "2026-04-02"}),
        returned(tmp_path / "silent.jsonl", study, THREE),
        returned(tmp_path / "again.jsonl", study, THREE, session="in", **of),
        first,
    ]
    assert [session.why_not for session in read_returned(study, files)] == [
        "",
        "1 of 2 checks right, expected 2",
        "2 of 3 questions answered",
        "finished the book 31 days before, expected 0 to 30",
        "finished the book -2 days before, expected 0 to 30",
        "does not say on which day the book was finished",
        "the session of in.jsonl again",
        "the session of in.jsonl again",
    ]


def test_three_of_four_checks_are_enough_as_in_the_paper(tmp_path):
    texts = read_texts(None)
    texts["check"] = texts["check"] * 2
    study = made(tmp_path, texts=texts)
    right = ("blue", "four", "blue", "four")
    files = [
        returned(tmp_path / f"{n}.jsonl", study, THREE, checks=(*right[:n], *["red"] * (4 - n))) for n in (4, 3, 2)
    ]
    assert [bool(session.why_not) for session in read_returned(study, files)] == [False, False, True]


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (0, {"study": "other"}, r"ann.jsonl, row 0, field 'study': expected '\w+', got 'other'"),
        (0, {"session": None}, r"ann.jsonl, row 0.*session"),
        (2, {"id": "p9"}, r"ann.jsonl, row 2, field 'id': expected an item of the study, got 'p9'"),
        (3, {"id": "p0"}, r"ann.jsonl, row 3, field 'id': expected one answer to each item, got 'p0'"),
        (2, {"answer": "C"}, r"ann.jsonl, row 2, field 'answer': expected one of \['A', 'B'\], got 'C'"),
        (2, {"answer": 1}, r"ann.jsonl, row 2, field 'answer'"),
    ],
)
def test_a_changed_file_is_refused_by_row_and_field(tmp_path, row, change, message):
    study = made(tmp_path)
    path = returned(tmp_path / "ann.jsonl", study, THREE)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows[row] |= change
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(BadInput, match=message):
        read_returned(study, [path])


@pytest.mark.parametrize("content", ["", "not JSON", "[1]"])
def test_what_is_no_such_file_is_refused(tmp_path, content):
    study = made(tmp_path)
    (tmp_path / "x.jsonl").write_text(content, "utf-8")
    with pytest.raises(BadInput, match=r"x.jsonl, row 0"):
        read_returned(study, [tmp_path / "x.jsonl"])


def test_labels_are_compared_by_what_is_decided(tmp_path):
    yes_no = [("yes", "yes"), ("no", "no")]
    groups = [[Item(f"q{i}", f"q{i}/answer", "Right?", choices=yes_no, judge="yes", what="answers")] for i in range(3)]
    groups[0].append(Item("q0", "q0/stage", "Where?", choices=yes_no, judge="no", what="stages"))
    study = made(tmp_path, "labels", [Part("", None, groups)], per_person=4)
    answers = [("q0/answer", "yes"), ("q1/answer", "no"), ("q2/answer", "yes"), ("q0/stage", "no")]
    files = [returned(tmp_path / "ann.jsonl", study, answers), returned(tmp_path / "ben.jsonl", study, answers[:2])]
    found = compare_labels(study, read_returned(study, files))
    assert list(found) == ["answers", "stages"] and write_answers(tmp_path, study, read_returned(study, files)) == []
    assert (found["answers"]["n"], found["answers"]["people"]) == (3, 1)
    assert found["answers"]["agreement"] == pytest.approx(2 / 3) and found["stages"]["agreement"] == 1


def test_texts_are_checked(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("title = 1", "utf-8")
    with pytest.raises(BadInput, match=r"mine.toml"):
        read_texts(path)
    path.write_text("title = ", "utf-8")
    with pytest.raises(BadInput, match=r"mine.toml: expected TOML"):
        read_texts(path)
    ours = read_texts(None)
    assert ours["consent"] and all(ours["instructions"][kind] for kind in ("sort", "book", "tulving", "labels"))
