"""Universes beside ours: one by a model, proposed, refused, asked again, killed, taken up, and books of one's own."""

import re
import shutil
from collections import Counter

import pytest

from epbench.tulving.events.universe import load_universe
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import files_below, files_in, lines_of, scores_of, taken_up
from tests.tulving.own_universe import EVENTS, PLACES, toml, write_universe
from tests.tulving.proposing.scripted_universe import SIZE, THEME, ScriptedUniverse, sentence

BUILD, BOOK = "builders/universe.py", "builders/tulving.py"
KEPT = "harbour-by-openai-scripted"


def words(endpoint, out, *more):
    address = ["--source", "openai:scripted", "--base-url", endpoint.base_url, "--window", "100000"]
    return [BUILD, *address, "--theme", THEME, "--name", "harbour", "--size", SIZE, "--out", out, *more]


def with_part(part, change):
    return lambda reply: {**reply, part: change(reply[part])}


def never(*task):
    return {task: [lambda reply: "I would rather not."] * 4}


def too_few(reply):
    return {"details": reply["details"][:3]}


FAULTS = {
    ("settings", ""): [with_part("last_day", lambda texts: ["2031-03-02"]), with_part("last_day", lambda texts: ["soon"])],
    ("place", "yard"): [with_part("air", lambda texts: [*texts[:7], "It was cold."])],
    ("locations", ""): [
        lambda reply: {**reply, "quay": [PLACES[0], PLACES[0].upper(), f"Old {PLACES[0]}", "Dock.", *reply["quay"][1:]]}
    ],
    ("contents", ""): [lambda reply: "Here they are: Gull Count, Tide Watch", lambda reply: {"contents": "Gull Count"}],
    ("review", "contents"): [lambda reply: {"keep": [EVENTS[1], "Regatta", *EVENTS[2:6]]}],
    ("details", EVENTS[1]): [too_few, lambda reply: {}, lambda reply: {"details": []}, lambda reply: {"details": [5]}],
    ("details", EVENTS[2]): [with_part("details", lambda texts: [*texts[:20], f"Left the {PLACES[2]} at noon"])],
    ("scene", EVENTS[3]): [with_part("begin", lambda texts: [f"They came to the {EVENTS[3]}."])] * 4,
    ("scene", EVENTS[4]): [with_part("end", lambda texts: [sentence("middle", 0).replace("{who}", "{hero}")])],
    ("names", ""): [with_part("first", lambda texts: [*texts[:3], "Mary Ann", texts[0], texts[1]])],
}  # fmt: skip
# By hand: what is told of each list that had a fault: requests, and texts that were refused.
TOLD = {
    "settings": (3, 2), "place of yard": (2, 1), "locations": (1, 3), "contents": (3, 2), "review of contents": (2, 1),
    f"details of {EVENTS[1]}": (4, 2), f"details of {EVENTS[2]}": (2, 1), f"scene of {EVENTS[3]}": (4, 4),
    f"scene of {EVENTS[4]}": (2, 1), "names": (2, 3),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(script, tmp_path_factory):
    """A universe with faults on the way, and whom it was asked of."""
    out, scripted = tmp_path_factory.mktemp("universe"), ScriptedUniverse(FAULTS)
    with ScriptedEndpoint(scripted) as endpoint:
        done = script(*words(endpoint, out), OPENAI_API_KEY="secret-of-mine")
        assert done.returncode == 0, done.stderr
        first = scripted.asked.copy()
        ran(*words(endpoint, out))
        assert scripted.asked == first  # nothing is asked twice
    return out, done.stdout, scripted


def notes_of(out):
    return lines_of(out / KEPT / "proposals.jsonl")


def test_the_universe_is_as_large_as_wanted_and_passes_the_checks(made):
    out, shown, _ = made
    universe = load_universe(str(out / "harbour"), SIZE)
    assert (universe.name, universe.size, universe.kind) == ("harbour", SIZE, "novel")
    assert set(universe.spaces) <= set(PLACES) and set(universe.contents) <= set(EVENTS)
    assert min(map(len, universe.details.values())) >= 30
    assert {EVENTS[1], EVENTS[3]}.isdisjoint(universe.contents)  # spare ones took their places
    assert {name.split()[0][:2] for name in universe.entities} == {"Zo"}
    command = f"python builders/tulving.py --book short --universe {out / 'harbour'} --universe-size {SIZE} --out out"
    assert shown.splitlines()[-1] == command and "for books of any level" in shown
    assert not any("secret-of-mine" in path.read_text("utf-8") for path in out.rglob("*") if path.is_file())


def test_what_was_refused_is_told_with_its_reason_and_asked_again(made):
    out, shown, scripted = made
    requests = Counter(record["id"] for record in lines_of(out / KEPT / "replies.jsonl"))
    reasons = Counter(note["list"] for note in notes_of(out) if "refused" in note)
    assert {name: (requests[name], reasons[name]) for name in TOLD} == TOLD and reasons.keys() == TOLD.keys()
    assert requests.total() == scripted.asked.total() and f"after {requests.total()} requests" in shown
    second = scripted.prompts["details", EVENTS[2]][1]
    assert f"- 'Left the {PLACES[2]} at noon': details: found the location '{PLACES[2]}' in a detail" in second
    assert '- "details": 16' in second and "These are there already" in second  # the twenty that passed are kept
    assert "no JSON object with contents was found" in scripted.prompts["contents", ""][1]
    assert "field 'contents': expected a list, found 'Gull Count'" in scripted.prompts["contents", ""][2]


@pytest.mark.slow
@pytest.mark.parametrize("level", [1, 5])
def test_a_book_is_made_of_it(made, tmp_path, level):
    options = ["--universe", made[0] / "harbour", "--universe-size", SIZE, "--events", 8, "--level", level]
    ran(BOOK, "--book", "short", *options, "--out", tmp_path)
    (folder,) = tmp_path.iterdir()
    assert folder.name == ("harbour-short" if level == 1 else f"harbour-short-l{level}")
    options = ["--dataset", folder, "--memory", "in-context", "--limit", 40, "--out", tmp_path / "run"]
    ran("eval_scripts/tulving.py", *options)
    assert scores_of(tmp_path / "run")["n_questions"] == 40


@pytest.mark.slow
def test_a_universe_without_scenes_is_for_level_1(tmp_path):
    """They are not asked for, or no kind of event gets one; the few that pass are then left out."""
    never = {("scene", event): [lambda reply: {}] * 4 for event in EVENTS}
    for name, faults, more in (("one", {}, ["--without-scenes"]), ("two", never, [])):
        scripted = ScriptedUniverse(faults)
        with ScriptedEndpoint(scripted) as endpoint:
            said = ran(*words(endpoint, tmp_path / name, *more))
        assert "for books of level 1," in said
        assert not (tmp_path / name / "harbour/scenes.json").exists()
        assert load_universe(str(tmp_path / name / "harbour"), SIZE).size == SIZE
        assert sum(task == "scene" for task, _ in scripted.prompts) == (SIZE if faults else 0)


def test_a_plan_asks_and_writes_nothing(tmp_path):
    scripted = ScriptedUniverse()
    with ScriptedEndpoint(scripted) as endpoint:
        said = ran(*words(endpoint, tmp_path, "--plan"))
        assert not scripted.asked and not any(tmp_path.iterdir())
        planned = int(re.search(r"  (\d+) requests over", said)[1])
        ran(*words(endpoint, tmp_path))
    # The plan has six kinds of location, and the script three.
    assert planned == scripted.asked.total() + 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "message"),
    [
        (never("settings", ""), "0 of 1 settings (first_day) passed the checks; most often (4): no JSON object"),
        (never("contents", ""), "0 of 6 contents passed the checks; most often (4): no JSON object with contents"),
        (never("names", ""), "0 of 4 names (first) passed the checks"),
        ({("details", event): [too_few] * 4 for event in EVENTS}, "0 of 6 contents with enough details passed the checks"),
    ],
)  # fmt: skip
def test_a_model_that_never_gives_a_list_is_one_line(tmp_path, faults, message):
    with ScriptedEndpoint(ScriptedUniverse(faults)) as endpoint:
        done = script(*words(endpoint, tmp_path))
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(f"error: openai:scripted: {message}")
    assert not (tmp_path / "harbour").exists() and (tmp_path / KEPT / "replies.jsonl").is_file()


def test_another_folder_is_not_replaced(tmp_path):
    (tmp_path / "harbour").mkdir()
    with ScriptedEndpoint(ScriptedUniverse()) as endpoint:
        refused(script(*words(endpoint, tmp_path)), "exists and was not proposed by this model")
        refused(script(*words(endpoint, tmp_path, "--theme", "a\nb")), "theme: expected one line of text")
        refused(script(*words(endpoint, tmp_path, "--name", "a b")), "expected at most 64 letters")


@pytest.mark.slow
@pytest.mark.parametrize("after", [12, *(pytest.param(n, marks=pytest.mark.nightly) for n in (3, 20))])
def test_a_killed_command_goes_on_where_it_was(made, tmp_path, after):
    """Kill -9 after so many replies: among the details, among the places, among the scenes."""
    (whole, _, of_whole), scripted = made, ScriptedUniverse(FAULTS)
    lost = taken_up(scripted, lambda endpoint: words(endpoint, tmp_path), tmp_path, "harbour", after)
    asked = of_whole.asked
    assert scripted.asked.keys() == asked.keys() and scripted.asked.total() == asked.total() + lost
    told, expected = ([note | {"key": ""} for note in notes_of(folder)] for folder in (tmp_path, whole))
    assert told == expected
    assert files_in(tmp_path / "harbour") == files_in(whole / "harbour")


# ---- a universe of one's own ----


@pytest.mark.slow
def test_a_short_book_from_an_own_universe_is_a_dataset_like_any_other(tmp_path):
    from datasets import load_dataset

    folder, out = write_universe(tmp_path / "harbour"), tmp_path / "out"
    options = ["--book", "short", "--universe", folder, "--universe-size", 12]
    ran(BOOK, *options, "--out", out)
    assert [path.name for path in out.iterdir()] == ["harbour-short"]
    chapters = load_dataset(str(out / "harbour-short"), "chapters", split="test")
    assert len(chapters) == 20 and set(chapters["location"]) <= set(PLACES) and set(chapters["content"]) <= set(EVENTS)
    assert all(fact in row["text"] for row in chapters for fact in (row["location"], row["entity"], row["detail"][1:]))
    questions = load_dataset(str(out / "harbour-short"), split="test")
    assert len(questions) > 300 and {row["origin"] for row in questions} == {"book", "inner", "outer"}
    card = (out / "harbour-short/README.md").read_text()
    digest = load_universe(str(folder), 12).files_hash
    assert f"the user's own universe `harbour` (hash of its files: `{digest}`)" in card and "license: unknown" in card
    assert "--book short --universe harbour --universe-size 12`" in card and str(tmp_path) not in card

    ran(BOOK, *options, "--order", "chronological", "--out", out)
    assert (out / "harbour-short-ordered/qa").is_dir()
    ran(f"eval_scripts/tulving.py --dataset {out / 'harbour-short'} --memory in-context --out {tmp_path / 'r'}")
    assert scores_of(tmp_path / "r")["simple_recall_score"] > 0.5


def test_the_same_files_under_another_path_write_the_same_bytes(tmp_path):
    folder = write_universe(tmp_path / "one/harbour")
    shutil.copytree(folder, tmp_path / "two/harbour")
    for place in ("one", "two"):
        options = ["--book", "short", "--events", 5, "--universe", tmp_path / place / "harbour", "--universe-size", 12]
        ran(BOOK, *options, "--out", tmp_path / place)
    one, two = (files_below(tmp_path / place / "harbour-short") for place in ("one", "two"))
    assert len(one) == 10 and one == two


def test_a_faulty_universe_is_one_line_and_leaves_nothing(tmp_path):
    folder = write_universe(tmp_path / "harbour")
    build = [BOOK, "--book", "short", "--out", tmp_path / "out", "--universe", folder]
    refused(script(*build), "a universe of 100 needs 100 names; ")
    refused(script(*build, "--universe-size", 13, "--events", 170), "170 events")
    (folder / "universe.toml").write_text(toml({"western": ["dusty", "laconic", "wide"]}))
    done = script(*build, "--universe-size", 12)
    refused(done, "style 'western': the template writer has no sentences in this style")
    (folder / "universe.toml").write_text(toml(kind='"western"'))
    refused(script(*build), f"{folder / 'universe.toml'}, key 'kind': expected novel, news, scifi, found 'western'")
    done = script(*build[:-1], tmp_path / "habrour")
    refused(done, "habrour': expected default, family, news, scifi, software, ward, or a folder with univ")
    assert not (tmp_path / "out").exists()
