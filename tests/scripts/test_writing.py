"""A book by a model, as a user makes it: written, checked, taken up, published."""

import pytest

from epbench.tulving.dataset.build import Recipe, draw_outline
from tests.models.loopback_endpoint import BROKEN, CUT, DROP, GARBAGE, SLOW_DOWN, Fault, some_calls
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import files_below, lines_of, read
from tests.tiny_model import make_tiny_model
from tests.tulving.scripted_writer import (
    NEVER_A_VERDICT,
    ScriptedWriter,
    expected_iterations,
    expected_requests,
    no_faults,
    paid,
)

BUILD = "builders/tulving.py"
OUTLINE = draw_outline(Recipe("short"))
SEVERAL = [number for number, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3]
NEVER = SEVERAL[3]
MISTAKES = {
    SEVERAL[0]: ["date in another paragraph", "place in two paragraphs"],
    SEVERAL[1]: ["name forgotten", "a second date", "numbers from 2"],
    SEVERAL[2]: ["one paragraph less", "identity"],
    NEVER: ["deed forgotten"] * 9 + ["a second date"],
    SEVERAL[4]: ["verdict in prose at first"],
    SEVERAL[5]: ["verdict thrice broken"],
    SEVERAL[6]: ["refused", "a second place", "empty"],
    SEVERAL[7]: ["a second person", "a second event"],
}


def scripted():
    return ScriptedWriter(OUTLINE.universe, OUTLINE.events, MISTAKES)


def options(endpoint, *more, book="short"):
    return ["--book", book, "--writer", "openai:tiny", "--base-url", endpoint.url, "--window", 32768, *more]


@pytest.fixture(scope="module")
def book(script, tmp_path_factory, drawing_of_pictures):
    """The whole book, written without a stop; its folder, what was printed, and how often each request was paid."""
    out = tmp_path_factory.mktemp("written")
    with drawing_of_pictures(), scripted().endpoint() as endpoint:
        done = script(BUILD, *options(endpoint), "--out", out, OPENAI_API_KEY="secret-of-mine")
        assert done.returncode == 0, done.stderr
        return out / "short", done.stdout, paid(endpoint)


@pytest.mark.slow
def test_the_book_has_the_rounds_that_the_script_implies(book):
    folder, printed, answered = book
    told = read(folder, "writing.json")
    rounds, dropped = expected_iterations(MISTAKES, 20)
    assert told["iterations"] == rounds and len(rounds) == 10
    by_hand = "correct_date has_entity paragraphs_nb has_content refused llm_entity"
    assert rounds[0]["failed_checks"] == dict.fromkeys(by_hand.split(), 1)
    assert dropped == {NEVER: "llm_date"}
    (lost,), event = told["dropped"], OUTLINE.events[NEVER]
    facts = (event.time.isoformat(), event.space, event.entity, event.content, event.detail)
    names = ("date", "location", "entity", "content", "detail")
    assert (lost["event_number"], lost["failed_checks"]) == (NEVER, ["llm_date"])
    assert lost["event"] == dict(zip(names, facts, strict=True))
    assert (told["writer"], told["seed"], told["max_tokens"], told["temperature"]) == ("openai:tiny", 0, 4096, 1.0)
    assert set(answered.values()) == {1}
    assert len(answered) == told["tokens"]["requests"] == expected_requests(MISTAKES, 20)
    assert all(sum(counts.values()) == 19 for counts in told["chapters"].values())
    assert told["chapters"]["side_characters"] == {"2": 19}
    assert all(len(places) == 19 for by_fact in told["positions"].values() for places in by_fact.values())
    assert (folder / "positions.svg").read_text().rstrip().endswith("</svg>")
    said = ("20 requests over", "a chapter for each of 20 events", f"dropped: event {NEVER}", "failed llm_date")
    assert all(words in printed for words in said), printed


@pytest.mark.slow
def test_the_book_is_a_dataset_like_any_other(book, short_book):
    from datasets import load_dataset

    folder, _, _ = book
    written = load_dataset(str(folder), "chapters", split="test")
    by_templates = load_dataset(str(short_book), "chapters", split="test")
    assert written["chapter"] == list(range(1, 20))
    event = ("date", "location", "entity", "content", "detail", "style", "n_paragraphs")
    same = by_templates.select([number for number in range(20) if number != NEVER])
    assert [[row[name] for name in event] for row in written] == [[row[name] for name in event] for row in same]
    title = load_dataset(str(folder), "book", split="test")[0]["title"]
    assert title == "The days of short, seed 0, written by openai:tiny"
    questions = load_dataset(str(folder), split="test")
    assert max(number for row in questions for number in row["chapters"]) == 19
    lost = OUTLINE.events[NEVER]
    assert not any(row["time"] == lost.day and row["space"] == lost.space and row["answer"] for row in questions)


@pytest.mark.slow
def test_the_card_tells_of_the_writing_and_no_file_has_the_key(book, short_book):
    folder, _, _ = book
    assert not any(b"secret-of-mine" in path.read_bytes() for path in folder.parent.rglob("*") if path.is_file())
    card = (folder / "README.md").read_text()
    rounds, _ = expected_iterations(MISTAKES, 20)
    total = {name: sum(one[name] for one in rounds) for name in ("candidates", "failed_exact", "failed_llm")}
    assert "--book short --writer openai:tiny`" in card and "127.0.0.1" not in card
    assert f"In 10 rounds {total['candidates']} candidates gave 19 chapters; " in card
    assert f"; {total['failed_exact']} failed an exact check, {total['failed_llm']} the model's" in card
    event = OUTLINE.events[NEVER]
    assert f"number {NEVER} ({event.content}, {event.day}, {event.space}, {event.entity}: llm_date)" in card
    assert "template writer" not in card and "the terms of that model apply" in card
    assert "template writer" in (short_book / "README.md").read_text()


@pytest.mark.slow
def test_a_bad_line_costs_no_candidate(book, tmp_path, drawn_pictures):
    """What fails is tried again; what fails for good ends the run, and the same command goes on."""

    def faults(number, body):
        if OUTLINE.events[5].detail.lower() in str(body["messages"]) and "=== Chapter" in str(body["messages"]):
            return Fault("status", 400, words="content policy")
        return some_calls(0.15, 7, (SLOW_DOWN, BROKEN, CUT, DROP, GARBAGE))(number, body)

    with scripted().endpoint(faults) as endpoint:
        done = script(BUILD, *options(endpoint), "--out", tmp_path)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("error: openai:tiny: 1 of ") and "content policy" in last and "continues" in last
        assert not (tmp_path / "short").exists()
        endpoint.script = no_faults
        ran(BUILD, *options(endpoint), "--out", tmp_path)
        answered = paid(endpoint)
    whole, _, answered_of_whole = book
    assert answered == answered_of_whole
    assert files_below(tmp_path / "short") == files_below(whole)


@pytest.mark.slow
def test_the_ordered_book_has_the_same_chapters_and_costs_nothing(tmp_path):
    from datasets import load_dataset

    with scripted().endpoint() as endpoint:
        small = options(endpoint, "--events", 6, "--out", tmp_path)
        ran(BUILD, *small)
        n = len(endpoint.calls)
        ran(BUILD, *small, "--order", "chronological")
        assert len(endpoint.calls) == n
        with scripted().endpoint() as other:
            done = script(BUILD, *options(other, "--events", 6, "--out", tmp_path))
        assert done.returncode == 2 and "this folder holds another run: its base_url is" in done.stderr
    chapters = [load_dataset(str(tmp_path / name), "chapters", split="test") for name in ("short", "short-ordered")]
    texts = [{*of["text"]} for of in chapters]
    assert texts[0] == texts[1] and len(texts[0]) == 6 - (NEVER < 6)


def test_a_folder_of_something_else_is_not_overwritten(tmp_path):
    (tmp_path / "short").mkdir()
    with scripted().endpoint() as endpoint:
        command = f"{BUILD} --book short --out {tmp_path} --writer openai:tiny --base-url {endpoint.url}"
        refused(script(command), "exists and is not a dataset folder")
        assert not endpoint.calls
        (tmp_path / "short").rmdir()
        assert "the window of openai:tiny is unknown" in ran(command, "--events", 2)
    assert len(endpoint.calls) == expected_requests({n: m for n, m in MISTAKES.items() if n < 2}, 2)


def test_a_writer_of_whom_nothing_is_accepted_is_asked_for_one_round(tmp_path):
    never = ScriptedWriter(OUTLINE.universe, OUTLINE.events, {number: ["no numbers"] * 10 for number in range(20)})
    with never.endpoint() as endpoint:
        done = script(BUILD, *options(endpoint), "--out", tmp_path)
        refused(done, "no chapter for any of 20 events in 1 round")
        assert "paragraphs_initials_shape 20 times. An example of paragraphs_initials_shape: event 0" in done.stderr
        assert len(endpoint.calls) == 20 and not (tmp_path / "short").exists()
        again = script(BUILD, *options(endpoint), "--out", tmp_path)
        assert (again.returncode, again.stderr) == (2, done.stderr) and len(endpoint.calls) == 20


@pytest.mark.slow
def test_another_model_checks_and_the_files_say_so(tmp_path):
    script_of_both = scripted()
    with script_of_both.endpoint() as author, script_of_both.endpoint() as reviewer:
        few = options(author, "--events", 4, "--out", tmp_path, "--checker", "openai:sage")
        few += ["--checker-url", reviewer.url, "--checker-window", 32768]
        said = ran(BUILD, *few)
        assert not any("=== Chapter ===" in call.user for call in author.calls)
        assert all("=== Chapter ===" in call.user for call in reviewer.calls) and len(reviewer.calls) >= 4
        assert "by openai:sage" in said
        n = len(author.calls), len(reviewer.calls)
        ran(BUILD, *few)
        assert (len(author.calls), len(reviewer.calls)) == n
    told = read(tmp_path, "short/writing.json")
    assert (told["writer"], told["checker"]) == ("openai:tiny", "openai:sage")
    card = (tmp_path / "short/README.md").read_text()
    assert "--writer openai:tiny --checker openai:sage`" in card
    assert "four questions to another model, `openai:sage`" in card and "was judged by `openai:sage`" in card


def test_a_chapter_without_a_verdict_ends_the_command_and_the_next_one_asks_again(tmp_path):
    silent = ScriptedWriter(OUTLINE.universe, OUTLINE.events, {2: [NEVER_A_VERDICT]})
    with silent.endpoint() as endpoint:
        few = options(endpoint, "--events", 5, "--out", tmp_path)
        done = script(BUILD, *few)
        assert done.returncode == 1 and "no verdict on 1 of 5 chapters of round 1" in done.stderr, done.stderr
        assert not (tmp_path / "short").exists() and len(endpoint.calls) == 5 + 5 + 3
        ran(BUILD, *few)
        assert len(endpoint.calls) == 14 and set(paid(endpoint).values()) == {1}
    told = read(tmp_path, "short/writing.json")
    assert told["dropped"] == [] and told["iterations"][0]["accepted"] == 5


def test_a_plan_asks_nothing_and_writes_nothing(tmp_path):
    with scripted().endpoint() as endpoint:
        said = ran(BUILD, *options(endpoint), "--checker", "openai:sage", "--plan", "--out", tmp_path / "out")
        assert not endpoint.calls
    assert "first round, a chapter for each of 20 events, by openai:tiny:\n  20 requests over" in said
    assert "then a check of each exact chapter, by openai:sage, if all are exact:\n  20 requests over" in said
    assert "at most 81,920 answer tokens" in said and "819,200 answer tokens)" in said
    assert "in 10 rounds with up to 4 checks of a chapter: 200 chapters (" in said and "and 800 checks (" in said
    said = ran(BUILD, "--book", "long", "--plan", "--out", tmp_path / "out")
    assert "200 events, and a chapter for each of them by the template writer; no model is asked" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_model_in_process_writes_what_it_can(short_book, tmp_path):
    """Random weights never write a chapter: some rounds, and one line that says so; the chapters are kept."""
    from datasets import load_dataset

    text = load_dataset(str(short_book), "book", split="test")[0]["text"]
    tiny = make_tiny_model(tmp_path / "tiny", text)
    done = script(f"{BUILD} --book short --events 2 --writer hf:{tiny} --max-tokens 12 --out {tmp_path / 'out'}")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "no chapter for any of 2 events in 3 rounds" in last and "failed cut_off 6 times" in last
    assert "raise the limit of tokens" in last
    assert "2 requests over 1 contexts" in done.stdout
    records = lines_of(tmp_path / "out/written-by-hf-tiny/chapters.jsonl")
    assert len(records) == 6 and len({record["answer"] for record in records}) > 3
    assert {record["repeat"] for record in records} == {0, 1, 2}
