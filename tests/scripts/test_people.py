"""eval_scripts/people.py: a page asks people, their answers are scored like a model's, and their labels check a judge."""

import time

import pytest

from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import lines_of, read, scores_of, write_lines

PEOPLE, SORT = "eval_scripts/people.py", "eval_scripts/booksort.py"
HOSTILE = "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
FILL = """(() => {
  for (const box of document.querySelectorAll("form input[type=checkbox]")) box.checked = true;
  for (const day of document.querySelectorAll("form input[type=date]"))
    day.value = new Date(Date.now() - 3 * 864e5).toISOString().slice(0, 10);
  const boxes = [...document.querySelectorAll("form input[type=radio]")];
  for (const name of new Set(boxes.map(box => box.name))) {
    const of = boxes.filter(box => box.name === name);
    (of.find(box => ["blue", "four", "A", "yes"].includes(box.value)) || of[0]).checked = true;
  }
  for (const field of document.querySelectorAll("form textarea")) field.value = "Ada, in June";
  document.querySelector("form button").click();
})()"""


def answered(study, out, person, answer):
    """The file of somebody who answers everything, by a function of the id of the item."""
    key = read(study, "study.json")
    head = {"study": key["study"], "session": person, "started": "2026-03-31T10:00:00Z"}
    head["about"] = {"finished": "2026-03-30"}
    rows = [head, *({"id": id_, "answer": answer(id_, item)} for id_, item in key["items"].items())]
    rows += [{"id": id_, "answer": right} for id_, right in key["checks"].items()]
    write_lines(out / f"{person}.jsonl", rows)
    return out / f"{person}.jsonl"


def only_file(folder):
    """The content of the one JSON file of a folder."""
    (path,) = folder.glob("*.json")
    return read(folder, path.name)


@pytest.fixture(scope="module")
def people_run(small_sets, tmp_path_factory):
    """Two people who answered all pairs of the small set: one is always right, one says A."""
    from epbench.booksort.dataset.load import load_pairs

    out = tmp_path_factory.mktemp("people")
    right = {pair.id: pair.answer for pair in load_pairs(str(small_sets / "booksort"))}
    ran(f"{PEOPLE} --dataset {small_sets / 'booksort'} --book 0 --n 100 --per-person 4 --within-days 30 --out {out}")
    files = [answered(out, out, "ann", lambda id_, _: right[id_]), answered(out, out, "ben", lambda *_: "A")]
    printed = ran(PEOPLE, "--returned", *files, "--out", out)
    assert "included: 2 of 2 people" in printed and "epbench eval booksort" in printed
    ran(f"{SORT} --dataset {small_sets / 'booksort'} --answers {out / 'answers.jsonl'} --out {out / 'run'}")
    return out / "run", right


def test_answers_of_people_are_scored_like_those_of_a_model(people_run):
    run, right = people_run
    scores = scores_of(run)
    asked = [answer for id_, answer in right.items() if id_.startswith("0-")]
    assert scores["n_questions"] == 2 * len(asked)
    assert scores["accuracy"] == (len(asked) + asked.count("A")) / (2 * len(asked))
    identity = read(run, "run.json")["identity"]
    assert (identity["model"], identity["memory"]) == ("people", "read-once")
    assert "9 of 9 checks hold" in ran("eval_scripts/verify.py", run)


def test_the_row_of_a_run_says_that_people_answered(people_run, tmp_path):
    printed = ran("eval_scripts/submit.py", people_run[0], "--by", "Ada", "--note", "in a test", "--out", tmp_path)
    assert printed.startswith("row: ") and "Add people with read-once on booksort" in printed
    row = only_file(tmp_path)
    assert row["note"] == "answered by people: 2; in a test" and row["standings"][0]["model"] == "people"


def test_people_stand_in_figure_2_with_a_test_for_every_distance(people_run, tmp_path):
    ran("eval_scripts/tables.py", people_run[0], "--out", tmp_path)
    (figure,) = tmp_path.rglob("figure-02.csv")
    lines = figure.read_text("utf-8").splitlines()
    assert "p_holm" in lines[0] and any("people,read-once" in line for line in lines[1:])


@pytest.mark.slow
def test_answers_of_a_person_about_a_book_are_scored(small_sets, tmp_path):
    ran(PEOPLE, "--dataset", small_sets / "short", "--n", 5, "--out", tmp_path)
    file = answered(tmp_path, tmp_path, "ann", lambda *_: "nothing of that kind happened")
    assert "--limit 5" in ran(PEOPLE, "--returned", file, "--out", tmp_path)
    own = f"--limit 5 --answers {tmp_path / 'answers-1.jsonl'} --out {tmp_path / 'run'}"
    ran(f"eval_scripts/tulving.py --dataset {small_sets / 'short'} {own}")
    run = read(tmp_path / "run", "run.json")
    assert (run["identity"]["model"], run["identity"]["memory"], run["people"]) == ("people", "read-once", 1)
    assert scores_of(tmp_path / "run")["n_questions"] == 5
    ran("eval_scripts/submit.py", tmp_path / "run", "--by", "Ada", "--out", tmp_path / "rows")
    row = only_file(tmp_path / "rows")
    assert (row["note"], row["standings"][0]["model"]) == ("answered by people: 1", "people")


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["tulving", "memfail"])
def test_labels_of_people_enter_the_passport_of_the_judge(benchmark, small_runs, tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    ran(PEOPLE, "--label", small_runs / benchmark, "--n", 8, "--out", tmp_path)
    other = {"yes": "no", "no": "yes"}
    first = next(iter(read(tmp_path, "study.json")["items"]))
    file = answered(tmp_path, tmp_path, "ann", lambda id_, of: other[of["judge"]] if id_ == first else of["judge"])
    if benchmark == "memfail":
        refused(script(PEOPLE, "--returned", file, "--out", tmp_path), "epbench judge-check")
        check = "eval_scripts/judge_check.py --benchmark memfail --judge lexical --n 20 --rows 20"
        ran(check, "--out", tmp_path / "check")
    assert "people agree on" in ran(PEOPLE, "--returned", file, "--out", tmp_path)
    said = only_file(tmp_path / "cache/passports")["people"]
    assert list(said) == (["items"] if benchmark == "tulving" else ["answers", "stages"])
    of = next(iter(said.values()))
    assert of["agreement"] == (of["n"] - 1) / of["n"] and of["people"] == 1
    shown = "row: " + ran("eval_scripts/submit.py", small_runs / benchmark, "--by", "Ada", "--out", tmp_path / "rows")
    assert "people agree on" in shown


def test_what_cannot_be_asked_or_scored_is_refused(small_sets, small_runs, tmp_path):
    refused(script(PEOPLE, "--label", small_runs / "booksort", "--out", tmp_path), "expected a finished run")
    refused(script(PEOPLE, "--dataset", small_sets / "short", "--within-days", 3, "--out", tmp_path), "--book")
    refused(script(PEOPLE, "--dataset", small_sets / "short", "--n", 0, "--out", tmp_path), "--n")
    refused(script(PEOPLE, "--returned", tmp_path / "none.jsonl", "--out", tmp_path), "study.json")
    mine, booksort = tmp_path / "mine.jsonl", (SORT, "--dataset", small_sets / "booksort", "--out", tmp_path / "run")
    mine.write_text('{"id": "x", "answer": "A"}\n', "utf-8")
    refused(script(*booksort, "--answers", mine), "mine.jsonl, row 0, field 'id'")
    refused(script(*booksort, "--answers", mine, "--limit", 3), "--answers")
    refused(script(*booksort, "--answers", mine, "--memory", "none"), "--memory")
    refused(script(*booksort, "--model", "oracle"), "--memory")
    mine.write_text('{"id": "0-e250_s20-0-62", "answer": "A"}\n' * 2, "utf-8")
    refused(script(*booksort, "--answers", mine), "occurs twice")
    mine.write_text('{"id": "x"}\n', "utf-8")
    refused(script(*booksort, "--answers", mine), "mine.jsonl, row 0")


def test_answers_of_code_are_not_called_answers_of_people(small_sets, tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"id": "0-e250_s20-0-62", "answer": "Segment B"}\n', "utf-8")
    ran(f"{SORT} --dataset {small_sets / 'booksort'} --answers {tmp_path / 'mine.jsonl'} --out {tmp_path / 'run'}")
    run = read(tmp_path / "run", "run.json")
    assert (run["identity"]["model"], run["identity"]["memory"]) == ("mine.jsonl", "answers") and "people" not in run


@pytest.mark.parametrize(("by", "people"), [("people", True), ("a model", False), (["people"], False), (None, False)])
def test_of_a_book_answers_are_those_of_people_only_if_every_line_says_so(by, people, tmp_path):
    from epbench.tulving.judging.own_answers import read_answers

    rows = [{"id": "q1", "answer": "Ada", "answered_by": "people"}, {"id": "q2", "answer": "Ben", "answered_by": by}]
    write_lines(tmp_path / "mine.jsonl", rows)
    assert read_answers(tmp_path / "mine.jsonl", ["q1", "q2"]).by_people is people


# ---- in a browser ----


def downloaded(browser, folder):
    folder.mkdir()
    browser.do("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.js("document.querySelector('a.download').click()")
    for _ in range(200):
        if found := list(folder.glob("*.jsonl")):
            return found[0]
        time.sleep(0.05)
    raise AssertionError("nothing was downloaded")


def test_a_page_asks_resumes_and_gives_a_file_that_can_be_scored(small_sets, tmp_path, browser):
    ran(PEOPLE, "--dataset", small_sets / "booksort", "--n", 20, "--per-person", 6, "--out", tmp_path / "study")
    page = tmp_path / "study" / "page.html"
    browser.open(page)
    browser.js("document.querySelector('form button').click()")
    assert browser.text("h2") == "Before you begin"  # nothing begins without consent
    for _ in range(5):
        browser.js(FILL)
    status, question = browser.text(".status"), browser.text("h2")
    assert "of 8 questions answered" in status
    browser.open(page)  # as after the page was closed
    assert (browser.text(".status"), browser.text("h2")) == (status, question)
    for _ in range(30):
        if browser.js("document.querySelector('a.download') === null"):
            browser.js(FILL)
    assert browser.text(".status") == "8 of 8 questions answered"
    file = downloaded(browser, tmp_path / "down")
    head, *rows = lines_of(file)
    assert head["dataset"] == "booksort" and head["fingerprint"] and head["seed"] and head["started"] < head["finished"]
    assert {"read", "ms", "at"} <= set(rows[0]) and sum("id" in row for row in rows) == 8
    assert browser.complaints() == []
    assert "included: 1 of 1 people" in ran(PEOPLE, "--returned", file, "--out", tmp_path / "study")
    browser.js("localStorage.clear()")


@pytest.mark.slow
def test_people_see_an_order_of_their_own_and_texts_stay_texts(tmp_path, browser):
    from epbench.people import Item, Part, read_texts, write_study

    def item(i):
        answers = [("A", f"a{i}"), ("B", HOSTILE)]
        return Item(f"p{i}", f"p{i}", HOSTILE, [(HOSTILE, HOSTILE)], answers, shuffled=True)

    pairs, texts = [[item(i)] for i in range(9)], read_texts(None) | {"check": [], "about": [], "title": HOSTILE}
    how = {"about": {"dataset": HOSTILE}, "per_person": 9, "within_days": None, "pass_share": 0}
    write_study(tmp_path, texts, [Part("", HOSTILE, pairs)], kind="sort", **how)
    orders = []
    for number in range(2):
        browser.open(tmp_path / "page.html")
        while browser.js("document.querySelector('a.download') === null"):
            browser.js(FILL)
        rows = lines_of(downloaded(browser, tmp_path / f"{number}"))[3:]
        assert {row["answer"] for row in rows} == {"A"}
        assert {tuple(row["order"]) for row in rows} == {("A", "B"), ("B", "A")}
        orders.append([row["id"] for row in rows])
        assert browser.js("window.stolen") is None and browser.complaints() == []
        browser.js("localStorage.clear()")
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]
