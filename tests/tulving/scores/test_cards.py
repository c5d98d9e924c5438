"""Question by question on the page of a run on a Tulving book: each card against the journals and the chapters."""

import pytest

from epbench.tulving.scores.inventions import NO_BOOK
from tests.reports.page_data import questions_of
from tests.scripts.run_files import lines_of, write_lines
from tests.tulving.made_runs import FAILURE, Told, made_run
from tests.tulving.question_rows import row

CHAPTERS = [
    (1, "On May 05, 2026 rain fell.\n\nAda Moss met Bo Lind at the quay."),
    (2, "Nothing at all.\n\nOn May 05, 2026 <b>Cy Dunn</b> came by."),
]


DAYS = {"both": "May 05, 2026", "one": "May 05, 2026", "none": "June 01, 2026", "lost": "May 05, 2026"}
ITEMS = {"both": ["Ada Moss", "Cy Dunn"], "one": ["Bo Lind"], "none": [], "lost": ["Ada Moss"]}
ROWS = [
    row(id_, items, question=f"Who was there on May 05, 2026? {id_}", time=DAYS[id_]) for id_, items in ITEMS.items()
]
ANSWERED = {("both", 0): "Ada Moss was there.", ("one", 0): "Bo Lind", ("none", 0): "Nobody was there. I do not know."}


def run(folder, chapters=CHAPTERS, repeats=1, answered=ANSWERED):
    made_run(folder, ROWS, Told(answered), repeats=repeats, chapters=chapters)
    return (folder / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_every_card_is_what_the_journals_and_the_book_say(tmp_path):
    html = run(tmp_path / "r")
    found = {question["id"]: question for question in questions_of(html)}
    assert list(found) == [r["id"] for r in ROWS] and NO_BOOK not in html
    verdicts = {record["id"]: record for record in lines_of(tmp_path / "r/judgements.jsonl")}
    for given in ROWS:
        card = found[given["id"]]
        assert card["facets"] == {name: given[name] for name in ("bin", "cue", "trace", "get")}
        assert (card["question"], card["reference"]) == (given["question"], given["answer"])
        assert card["answer"] == ANSWERED.get((given["id"], 0)) and card["retrieved"] is None and card["trails"] == []
        assert [text for _, text, _ in card["evidence"]] == [dict(CHAPTERS)[n] for n in given["chapters"]]
    assert {id_: card["outcome"] for id_, card in found.items()} == {
        "both": "wrong", "one": "right", "none": "right", "lost": "failed",
    }  # fmt: skip
    scores = dict(zip(ROWS[0]["answer"], verdicts["both"]["scores"], strict=True))
    assert scores == {"Ada Moss": 1, "Cy Dunn": 0}
    assert found["both"]["evidence"][0][2] == [
        ["May 05, 2026", "time, given", "cue"], ["Ada Moss", "item found", "found"], ["Cy Dunn", "item not found", "lost"],
    ]  # fmt: skip
    assert "recall 0.500" in found["both"]["verdict"] and "item not found: Cy Dunn" in found["both"]["verdict"]
    assert found["lost"]["reason"] == FAILURE and found["lost"]["verdict"] == ""
    assert found["lost"]["evidence"][0][2][1] == ["Ada Moss", "true item", "cue"]


def test_without_chapters_the_page_says_so(tmp_path):
    html = run(tmp_path / "r", chapters=None)
    assert NO_BOOK in html and all(card["evidence"] == [] for card in questions_of(html))


def test_the_page_says_where_invented_items_come_from(tmp_path):
    told = {("both", 0): "Ada Moss, Bo Lind, Eve Stone", ("one", 0): "Bo Lind", ("none", 0): "Ada Moss"}
    cards = {card["id"]: card["verdict"] for card in questions_of(run(tmp_path / "r", answered=told))}
    assert "\ninvented: eve stone (nowhere)" in cards["both"].replace("bo lind (chapter 1, which matches); ", "")
    assert "bo lind (chapter 1, which matches)" in cards["both"] and "invented" not in cards["one"]
    assert cards["none"].endswith("invented: ada moss (chapter 1, which does not match)")
    unknown = questions_of(run(tmp_path / "r", answered=told, chapters=None))
    assert not any("invented" in card["verdict"] for card in unknown)


def test_repeats_are_cards_of_their_own(tmp_path):
    found = questions_of(run(tmp_path / "r", repeats=2))
    assert [card["facets"]["repeat"] for card in found] == ["0", "1"] * len(ROWS)
    assert len({card["id"] for card in found}) == 2 * len(ROWS)


def test_what_a_system_retrieved_is_shown(tmp_path):
    run(tmp_path / "r")
    found = {"both": {"memories": ["m 1", "m 2"]}, "one": {"memories": []}, "lost": {"failure": "x"}}
    records = [{"key": f"{id_}@2", "of": "x", "seconds": 1, **more} for id_, more in found.items()]
    write_lines(tmp_path / "r/retrieved.jsonl", records)
    shown = {card["id"]: card["retrieved"] for card in questions_of(run(tmp_path / "r"))}
    assert shown == {"both": ["m 1", "m 2"], "one": [], "none": None, "lost": None}
