"""Writing by a model, against an endpoint on loopback that plays an author and a checker."""

import json
from dataclasses import replace

import pytest

from epbench.errors import BadInput, RunFailed
from epbench.models.openai.model import EndpointModel
from epbench.progress import no_progress
from epbench.tulving.chapters.chapter import Candidate, Task
from epbench.tulving.chapters.loop import fact_positions, first_tasks, write_chapters, writing_files
from epbench.tulving.chapters.model_writer import CHAPTERS, CHECKS, ModelWriter
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
from epbench.tulving.events.universe import secondary_names
from tests.tulving.scripted_writer import (
    FORGIVEN,
    FOUND_BY_EXACT,
    FOUND_BY_LLM,
    NEVER_A_VERDICT,
    RETRY,
    ScriptedWriter,
    expected_requests,
)

OUTLINE = draw_outline(Recipe("short"))
FIRST_KEYS = (
    ["f4589f9e42668f9d516845d2", "c49ee7834be9efc1ca0e643c"],
    ["43f049c1dc4729e52e6fdfc1", "362cbe3192091ef253085e4f"],
)
LONG = next(i for i, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3)


def write(endpoint, folder, numbers, *, name="tiny", seed=0):
    """Chapters of some of the events of the short book."""
    folder.mkdir(exist_ok=True)
    events, layouts = [OUTLINE.events[i] for i in numbers], [OUTLINE.layouts[i] for i in numbers]
    model = EndpointModel(name, base_url=endpoint.url, window=32768, attempts=1)
    writer = ModelWriter(model, OUTLINE.universe, folder, seed=seed)
    return write_chapters(events, layouts, writer, secondary_names())


def scripted(numbers, mistakes):
    return ScriptedWriter(OUTLINE.universe, [OUTLINE.events[i] for i in numbers], mistakes)


@pytest.mark.parametrize(
    ("mistake", "check"), [*FOUND_BY_EXACT.items(), *FOUND_BY_LLM.items(), *((kind, None) for kind in sorted(FORGIVEN))]
)
def test_every_mistake_is_found_by_its_own_check(tmp_path, mistake, check):
    with scripted([LONG], {0: [mistake]}).endpoint() as endpoint:
        (chapter,), writing = write(endpoint, tmp_path, [LONG])
        n = len(endpoint.calls)
        assert write(endpoint, tmp_path, [LONG])[0] == [chapter] and len(endpoint.calls) == n
    first, n_rounds = writing.iterations[0], len(writing.iterations)
    assert first.failed_checks == ({check: 1} if check else {})
    assert (first.failed_exact, first.failed_llm) == (mistake in FOUND_BY_EXACT, mistake in FOUND_BY_LLM)
    assert n_rounds == (2 if check else 1) and not writing.dropped
    n_checks = sum("=== Chapter ===" in call.user for call in endpoint.calls)
    assert n_checks == expected_requests({0: [mistake]}, 1) - n_rounds
    assert "$entity" not in chapter.text and "(1)" not in chapter.text
    assert chapter.event.day in chapter.text and chapter.event.detail.lower() in chapter.text


def test_nothing_is_asked_twice_and_a_longer_book_begins_with_the_same_chapters(tmp_path):
    mistakes = {2: ["an opening without a number"], 3: ["verdict in prose at first"]}
    with scripted(range(20), mistakes).endpoint() as endpoint:
        short, _ = write(endpoint, tmp_path, range(5))
        n = len(endpoint.calls)
        again, writing = write(endpoint, tmp_path, range(5))
        assert len(endpoint.calls) == n and again == short
        longer, _ = write(endpoint, tmp_path, range(8))
        assert len(endpoint.calls) == n + 2 * 3 and longer[:5] == short
    assert writing.about["tokens"]["requests"] == n  # whoever paid for them


def test_foreign_candidates_are_not_taken_up(tmp_path, monkeypatch):
    with scripted(range(3), {}).endpoint() as endpoint:
        for n, more in ((6, {}), (12, {"name": "other"}), (18, {"seed": 1})):
            write(endpoint, tmp_path, range(3), **more)
            assert len(endpoint.calls) == n
        others = replace(load_writing_prompts(), check_system="You check twice.")
        monkeypatch.setattr("epbench.tulving.chapters.model_writer.load_writing_prompts", lambda: others)
        write(endpoint, tmp_path, range(3))
        assert len(endpoint.calls) == 21  # the chapters are the same, the checks are not


def test_a_candidate_that_comes_again_is_checked_once(tmp_path):
    with scripted([LONG], {0: ["a second date"] * 2}).endpoint() as endpoint:
        write(endpoint, tmp_path, [LONG])
        writer = ModelWriter(EndpointModel("tiny", base_url=endpoint.url), OUTLINE.universe, tmp_path)
        (first,) = writer.candidates([Task(0, OUTLINE.events[LONG], OUTLINE.layouts[LONG], 0)], no_progress)
        n = len(endpoint.calls)
        again = Candidate(replace(first.task, attempt=7), first.text)
        assert writer.doubts([again], no_progress) == [["llm_date"]]
        assert len(endpoint.calls) == n


def test_a_torn_record_is_asked_for_again(tmp_path):
    with scripted(range(3), {}).endpoint() as endpoint:
        whole, _ = write(endpoint, tmp_path, range(3))
        for file, n in ((CHAPTERS, 1), (CHECKS, 1)):
            content = (tmp_path / file).read_bytes()
            (tmp_path / file).write_bytes(content[:-20])
            before = len(endpoint.calls)
            assert write(endpoint, tmp_path, range(3))[0] == whole
            assert len(endpoint.calls) == before + n
            keys = [json.loads(line)["key"] for line in (tmp_path / file).read_bytes().splitlines()]
            assert len(keys) == len(set(keys)) == 3


def test_a_model_that_refuses_is_stopped_with_its_words(tmp_path):
    mistakes = {number: ["refused"] * 10 for number in range(5)}
    with scripted(range(5), mistakes).endpoint() as endpoint:
        message = r"failed refused 5 times.*\(the model refused to answer: I cannot write"
        for _ in range(2):
            with pytest.raises(BadInput, match=message):
                write(endpoint, tmp_path, range(5))
        assert len(endpoint.calls) == 5  # the second start has asked nothing


def test_a_checker_that_accepts_nothing_is_stopped_after_the_first_round(tmp_path):
    mistakes = {number: ["a second date"] * 10 for number in range(6)}
    with scripted(range(6), mistakes).endpoint() as endpoint, pytest.raises(BadInput) as refused:
        write(endpoint, tmp_path, range(6))
    assert len(endpoint.calls) == 12
    assert "failed llm_date 6 times" in str(refused.value) and "another checker or writer" in str(refused.value)
    assert f"not all of it happens on {OUTLINE.events[0].day}" in str(refused.value)


@pytest.mark.parametrize(("n_events", "n_rounds"), [(1, 5), (2, 3), (4, 2), (5, 1)])
def test_with_few_events_some_candidates_are_written_before_it_stops(tmp_path, n_events, n_rounds):
    numbers, failed = range(n_events), rf"paragraphs_initials_shape {n_events * n_rounds} times"
    mistakes, rounds = dict.fromkeys(numbers, ["no numbers"] * 10), rf"{n_events} events in {n_rounds} rounds?"
    with (
        scripted(numbers, mistakes).endpoint() as endpoint,
        pytest.raises(BadInput, match=f"{rounds}, .* {failed}") as no,
    ):
        write(endpoint, tmp_path, numbers)
    assert 'Its text begins: "$entity_2 spoke of' in str(no.value) and "choose another writer" in str(no.value)
    assert len(endpoint.calls) == n_events * n_rounds


@pytest.mark.slow
def test_later_rounds_end_early_only_after_many_failures_in_a_row(tmp_path):
    fails = {number: ["name forgotten"] * 10 for number in range(10)}
    with scripted(range(11), fails).endpoint() as endpoint:
        chapters, writing = write(endpoint, tmp_path, range(11))
    assert [one.candidates for one in writing.iterations] == [11, 10, 10] and writing.ended_early
    assert len(chapters) == 1 and set(writing.dropped) == set(range(10))
    assert json.loads(writing_files(writing, chapters, 0)["writing.json"])["ended_early"] is True

    late = {number: ["name forgotten"] * 8 for number in range(2)}
    with scripted(range(8), late).endpoint() as endpoint:
        chapters, writing = write(endpoint, tmp_path / "late", range(8))
    assert len(chapters) == 8 and len(writing.iterations) == 9 and not writing.ended_early


def test_the_prompt_of_the_next_attempt_says_what_was_wrong(tmp_path):
    event, layout = OUTLINE.events[LONG], OUTLINE.layouts[LONG]
    mistakes = ["date in another paragraph", "a second place", "name forgotten"]
    with scripted([LONG], {0: mistakes}).endpoint() as endpoint:
        _, writing = write(endpoint, tmp_path, [LONG])
    first, *later = [call.user for call in endpoint.calls if "=== Chapter ===" not in call.user]
    assert RETRY not in first and all(prompt.startswith(first) for prompt in later)
    told = [prompt.removeprefix(first).strip().splitlines() for prompt in later]
    assert [lines[0] for lines in told] == [RETRY] * 3 and len(writing.iterations) == 4
    other, where = layout.time % layout.n_paragraphs + 1, f"belongs in paragraph ({layout.entity}) only."
    assert [lines[1:-1] for lines in told] == [
        [f'- The date "{event.day}" was told in paragraph ({other}), but belongs in paragraph ({layout.time}) only.'],
        [f"- A check found that not all of it happens at the place {event.space}, or that another place is named."],
        [f'- The full name "{event.entity}" was told nowhere word for word, but {where}'],
    ]


def test_the_requests_of_first_attempts_are_those_of_earlier_versions(tmp_path):
    """So that chapters that were paid for once are taken up; the keys are those of before there were retries."""
    writer = ModelWriter(EndpointModel("tiny", base_url="http://127.0.0.1:9/v1"), OUTLINE.universe, tmp_path)
    tasks = first_tasks(OUTLINE.events, OUTLINE.layouts)
    keys = [writer.chapter_request(task).key("openai:tiny") for task in tasks[:2]]
    checks = [writer.check_request(Candidate(task, "(1) It rained.")).key("openai:tiny") for task in tasks[:2]]
    assert (keys, checks) == FIRST_KEYS


def test_a_start_that_was_killed_between_the_checks_asks_no_more_often(tmp_path):
    with scripted([LONG], {0: [NEVER_A_VERDICT]}).endpoint() as endpoint:
        with pytest.raises(RunFailed):
            write(endpoint, tmp_path, [LONG])
        lines = (tmp_path / CHECKS).read_bytes().splitlines(keepends=True)
        (tmp_path / CHECKS).write_bytes(b"".join(lines[:2]))
        n = len(endpoint.calls)
        with pytest.raises(RunFailed):
            write(endpoint, tmp_path, [LONG])
        assert len(endpoint.calls) == n + 2


@pytest.mark.parametrize("name", ["default", "news", "scifi"])
def test_prompts_say_all_that_the_checks_want(name, tmp_path):
    outline = draw_outline(Recipe("short", name))
    writer = ModelWriter(None, outline.universe, tmp_path)
    for task in first_tasks(outline.events, outline.layouts):
        request = writer.chapter_request(task)
        event, layout = task.event, task.layout
        assert (request.sampling.temperature, request.sampling.max_tokens) == (1.0, 4096)
        assert f"{layout.style}: {', '.join(outline.universe.styles[layout.style])}." in request.user
        facts = {event.day: layout.time, event.space: layout.space, event.entity: layout.entity}
        for fact, where in (facts | {event.detail_in_sentence: layout.content}).items():
            line = next(line for line in request.user.splitlines() if f'"{fact}"' in line)
            alone = layout.n_paragraphs == 1
            assert line.endswith("anywhere in the paragraph" if alone else f"in paragraph ({where}) only")
        assert ("One single paragraph" in request.user) == (layout.n_paragraphs == 1)
        assert "{" not in request.system + request.user
    assert any(layout.n_paragraphs == 1 for layout in draw_outline(Recipe("short")).layouts)


def test_every_kind_of_universe_has_a_tone_of_its_own(tmp_path):
    requests = []
    for outline in (draw_outline(Recipe("short", name)) for name in ("default", "news", "scifi")):
        writer, tasks = ModelWriter(None, outline.universe, tmp_path), first_tasks(outline.events, outline.layouts)
        requests.append(writer.chapter_request(tasks[0]))
    assert len({request.system for request in requests}) == 3
    assert len({request.user.splitlines()[0] for request in requests}) == 3


def test_positions_are_middles_of_first_matches():
    chapters = make_book(Recipe("short")).chapters
    positions = fact_positions(chapters)
    book = "\n\n\n".join(f"Chapter {c.number}\n\n{c.text}" for c in chapters)
    for place, chapter in enumerate(chapters):
        fact, paragraph = chapter.event.day, next(p for p in chapter.text.split("\n\n") if chapter.event.day in p)
        for span, text in (("chapter", chapter.text), ("paragraph", paragraph), ("book", book)):
            start = book.index(chapter.text) if span == "book" else 0
            middle = text.index(fact, start) + len(fact) / 2
            assert positions[span]["date"][place] == pytest.approx(middle / len(text))
    for by_fact in positions.values():
        assert all(0 < place < 1 for places in by_fact.values() for place in places)
    assert positions["book"]["date"] == sorted(positions["book"]["date"])


@pytest.mark.slow
def test_the_templates_tell_of_their_writing_too(drawn_pictures):
    data = make_book(Recipe("short"))
    assert data.writing
    files = writing_files(data.writing, data.chapters, 0)
    told = json.loads(files["writing.json"])
    counts = {"candidates": 20, "accepted": 20, "failed_exact": 0, "failed_llm": 0, "failed_checks": {}}
    assert told["iterations"] == [counts]
    assert (told["writer"], told["seed"], told["dropped"]) == ("template", 0, [])
    assert all(sum(counts.values()) == 20 for counts in told["chapters"].values())
    quantiles = list(told["position_quantiles"]["chapter"]["content"].values())
    assert quantiles == sorted(quantiles) and len(quantiles) == 5
    assert files["positions.svg"].startswith("<?xml") and files == writing_files(data.writing, data.chapters, 0)
