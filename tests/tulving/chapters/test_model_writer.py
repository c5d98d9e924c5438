"""Writing by a model, against an endpoint on loopback that plays an author and a checker."""

import json
from dataclasses import asdict, replace

import pytest

from epbench.errors import BadInput, RunFailed
from epbench.models.openai.model import EndpointModel
from epbench.progress import no_progress
from epbench.tulving.chapters.chapter import Candidate, Task
from epbench.tulving.chapters.loop import (
    MOST_ATTEMPTS,
    fact_positions,
    first_tasks,
    write_chapters,
    writing_files,
)
from epbench.tulving.chapters.model_writer import CHAPTERS, CHECKS, ModelWriter, writing_folder
from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
from epbench.tulving.events.universe import secondary_names
from tests.models.loopback_endpoint import BROKEN, Fault, first_calls
from tests.tulving.scripted_writer import (
    FORGIVEN,
    FOUND_BY_EXACT,
    FOUND_BY_LLM,
    NEVER_A_VERDICT,
    NOTHING,
    RETRY,
    WITHOUT_VERDICT,
    WRAPPINGS,
    ScriptedWriter,
    expected_iterations,
    expected_requests,
    no_faults,
    paid,
)

OUTLINE = draw_outline(Recipe("short"))
FIRST_KEYS = (
    ["f4589f9e42668f9d516845d2", "c49ee7834be9efc1ca0e643c"],
    ["43f049c1dc4729e52e6fdfc1", "362cbe3192091ef253085e4f"],
)
LONG = next(i for i, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3)


def model_at(endpoint, name="tiny"):
    return EndpointModel(name, base_url=endpoint.url, window=32768, attempts=1)


def write(endpoint, folder, numbers, *, name="tiny", seed=0, checker=None):
    """Chapters of some of the events of the short book."""
    folder.mkdir(exist_ok=True)
    events, layouts = [OUTLINE.events[i] for i in numbers], [OUTLINE.layouts[i] for i in numbers]
    writer = ModelWriter(model_at(endpoint, name), OUTLINE.universe, folder, checker=checker, seed=seed)
    return write_chapters(events, layouts, writer, secondary_names())


def scripted(numbers, mistakes):
    return ScriptedWriter(OUTLINE.universe, [OUTLINE.events[i] for i in numbers], mistakes)


def requests_in(endpoint, words):
    return [call for call in endpoint.calls if words in call.user]


@pytest.mark.parametrize(
    ("mistake", "check"), [*FOUND_BY_EXACT.items(), *FOUND_BY_LLM.items(), *((kind, None) for kind in sorted(FORGIVEN))]
)
def test_every_mistake_is_found_by_its_own_check(tmp_path, mistake, check):
    with scripted([LONG], {0: [mistake]}).endpoint() as endpoint:
        chapters, writing = write(endpoint, tmp_path, [LONG])
    first = writing.iterations[0]
    assert first.failed_checks == ({check: 1} if check else {})
    assert (first.failed_exact, first.failed_llm) == (mistake in FOUND_BY_EXACT, mistake in FOUND_BY_LLM)
    assert len(writing.iterations) == (2 if check else 1) and not writing.dropped
    assert len(requests_in(endpoint, "=== Chapter ===")) == expected_requests({0: [mistake]}, 1) - len(
        writing.iterations
    )
    assert len(chapters) == 1 and "$entity" not in chapters[0].text and "(1)" not in chapters[0].text
    assert [fact in chapters[0].text for fact in (chapters[0].event.day, chapters[0].event.detail.lower())] == [
        True
    ] * 2


def test_a_book_of_twenty_has_the_rounds_that_the_script_implies(tmp_path):
    several = [i for i, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3]
    kinds = [*FOUND_BY_EXACT, *FOUND_BY_LLM, *sorted(FORGIVEN)]
    mistakes = {
        number: [kinds[(place + k) % len(kinds)] for k in range(place % 4)] for place, number in enumerate(several)
    }
    mistakes[several[-1]] = ["name forgotten"] * 9 + ["a second date"]
    mistakes[several[-2]] = ["one paragraph less"] * 9
    with scripted(range(20), mistakes).endpoint() as endpoint:
        chapters, writing = write(endpoint, tmp_path, range(20))
    rounds, dropped = expected_iterations(mistakes, 20)
    assert [asdict(one) for one in writing.iterations] == rounds and len(rounds) == MOST_ATTEMPTS
    assert {number: checks for number, (_, checks) in writing.dropped.items()} == {several[-1]: ["llm_date"]}
    assert dropped == {several[-1]: "llm_date"}
    kept = [i for i in range(20) if i != several[-1]]
    assert [chapter.event for chapter in chapters] == [OUTLINE.events[i] for i in kept]
    assert [chapter.number for chapter in chapters] == list(range(1, 20))
    assert [chapter.n_paragraphs for chapter in chapters] == [OUTLINE.layouts[i].n_paragraphs for i in kept]
    answered = paid(endpoint)
    assert set(answered.values()) == {1} and len(answered) == expected_requests(mistakes, 20)
    tokens = writing.about["tokens"]
    assert tokens["requests"] == len(answered) and tokens["generated"] > 19 * 20


def test_nothing_is_asked_twice_and_a_longer_book_begins_with_the_same_chapters(tmp_path):
    with scripted(
        range(20), {2: ["an opening without a number"], 3: ["verdict in prose at first"]}
    ).endpoint() as endpoint:
        short, _ = write(endpoint, tmp_path, range(5))
        n = len(endpoint.calls)
        again, writing = write(endpoint, tmp_path, range(5))
        assert len(endpoint.calls) == n and again == short
        longer, _ = write(endpoint, tmp_path, range(8))
        assert len(endpoint.calls) == n + 2 * 3
    assert longer[:5] == short
    assert writing.about["tokens"]["requests"] == n  # whoever paid for them


def test_foreign_candidates_are_not_taken_up(tmp_path, monkeypatch):
    def other_prompts():
        return prompts.__class__(**(asdict(prompts) | {"check_system": "You check twice."}))

    with scripted(range(3), {}).endpoint() as endpoint:
        write(endpoint, tmp_path, range(3))
        assert len(endpoint.calls) == 6
        write(endpoint, tmp_path, range(3), seed=0, name="other")
        assert len(endpoint.calls) == 12
        write(endpoint, tmp_path, range(3), seed=1)
        assert len(endpoint.calls) == 18
        prompts = ModelWriter(None, OUTLINE.universe, tmp_path)._prompts
        monkeypatch.setattr("epbench.tulving.chapters.model_writer.load_writing_prompts", other_prompts)
        write(endpoint, tmp_path, range(3))
        assert len(endpoint.calls) == 21  # the chapters are the same, the checks are not


def test_requests_without_an_answer_end_the_round_and_are_tried_again(tmp_path):
    with scripted(range(6), {}).endpoint(first_calls(None, BROKEN, None, Fault("status", 400, words="no"))) as endpoint:
        with pytest.raises(
            RunFailed, match=r"2 of 6 requests \(chapters, round 1\) got no answer; most often \(1\): .*continues"
        ):
            write(endpoint, tmp_path, range(6))
        assert len(endpoint.calls) == 6
        endpoint.script = lambda number, body: BROKEN if number == 9 else None
        with pytest.raises(RunFailed, match=r"1 of 6 requests \(checks, round 1\) got no answer"):
            write(endpoint, tmp_path, range(6))
        endpoint.script = no_faults
        chapters, writing = write(endpoint, tmp_path, range(6))
    assert len(chapters) == 6 and len(writing.iterations) == 1
    answered = paid(endpoint)
    assert set(answered.values()) == {1} and len(answered) == 12


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


def test_a_model_that_never_passes_is_stopped_after_the_first_round(tmp_path):
    mistakes = {number: ["no numbers"] * 10 for number in range(20)} | {3: ["name forgotten"] * 10}
    with scripted(range(20), mistakes).endpoint() as endpoint, pytest.raises(BadInput) as refused:
        write(endpoint, tmp_path, range(20))
    assert len(endpoint.calls) == 20 and not requests_in(endpoint, "=== Chapter ===")
    message, event = str(refused.value), OUTLINE.events[0]
    assert "writer openai:tiny: no chapter for any of 20 events in 1 round, so the writing stops" in message
    assert "failed paragraphs_initials_shape 19 times, has_entity 1 times" in message
    assert f"An example of paragraphs_initials_shape: event 0 ({event.content}, {event.day}, {event.space}, " in message
    assert 'did not begin with its number, such as "(1) ": "$entity_2 spoke of' in message
    assert 'Its text begins: "$entity_2 spoke of' in message and "choose another writer" in message
    assert len((tmp_path / CHAPTERS).read_text().splitlines()) == 20


def test_a_model_that_refuses_is_stopped_with_its_words(tmp_path):
    mistakes = {number: ["refused"] * 10 for number in range(5)}
    with scripted(range(5), mistakes).endpoint() as endpoint:
        for _ in range(2):
            with pytest.raises(
                BadInput, match=r"failed refused 5 times.*\(the model refused to answer: I cannot write"
            ):
                write(endpoint, tmp_path, range(5))
        assert len(endpoint.calls) == 5  # the second start has asked nothing


@pytest.mark.parametrize("mistake", sorted(NOTHING))
def test_a_reply_without_a_chapter_is_a_failed_candidate_and_not_asked_for_again(tmp_path, mistake):
    with scripted([LONG], {0: [mistake]}).endpoint() as endpoint:
        chapters, writing = write(endpoint, tmp_path, [LONG])
        assert [one.failed_checks for one in writing.iterations] == [{FOUND_BY_EXACT[mistake]: 1}, {}]
        n = len(endpoint.calls)
        assert n == 3 and write(endpoint, tmp_path, [LONG])[0] == chapters
        assert len(endpoint.calls) == n
    sentence = {"cut_off": "It was too long", "empty": "It was empty.", "refused": "No chapter was written."}
    assert f"- {sentence[FOUND_BY_EXACT[mistake]]}" in endpoint.calls[1].user.rpartition(RETRY)[2]


def test_a_checker_that_accepts_nothing_is_stopped_after_the_first_round(tmp_path):
    mistakes = {number: ["a second date"] * 10 for number in range(6)}
    with scripted(range(6), mistakes).endpoint() as endpoint, pytest.raises(BadInput) as refused:
        write(endpoint, tmp_path, range(6))
    assert len(endpoint.calls) == 12
    assert "failed llm_date 6 times" in str(refused.value) and "another checker or writer" in str(refused.value)
    assert f"not all of it happens on {OUTLINE.events[0].day}" in str(refused.value)


@pytest.mark.parametrize(("n_events", "n_rounds"), [(1, 5), (2, 3), (4, 2), (5, 1)])
def test_with_few_events_some_candidates_are_written_before_it_stops(tmp_path, n_events, n_rounds):
    message = rf"no chapter for any of {n_events} events in {n_rounds} rounds?, .* no_numbers"
    message = message.replace("no_numbers", f"paragraphs_initials_shape {n_events * n_rounds} times")
    numbers = range(n_events)
    mistakes = {number: ["no numbers"] * 10 for number in numbers}
    with scripted(numbers, mistakes).endpoint() as endpoint, pytest.raises(BadInput, match=message):
        write(endpoint, tmp_path, numbers)
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


@pytest.mark.parametrize("wrapping", sorted(WRAPPINGS))
def test_what_stands_around_a_chapter_costs_no_candidate(tmp_path, wrapping):
    with scripted([LONG], {0: [wrapping]}).endpoint() as endpoint:
        wrapped, writing = write(endpoint, tmp_path / "wrapped", [LONG])
    with scripted([LONG], {}).endpoint() as plain:
        clean, _ = write(plain, tmp_path / "clean", [LONG])
    assert wrapped == clean and writing.iterations[0].accepted == 1
    assert [call.user for call in endpoint.calls] == [call.user for call in plain.calls]  # the checker sees no wrapping


def test_the_prompt_of_the_next_attempt_says_what_was_wrong(tmp_path):
    event, layout = OUTLINE.events[LONG], OUTLINE.layouts[LONG]
    mistakes = ["date in another paragraph", "a second place", "name forgotten"]
    with scripted([LONG], {0: mistakes}).endpoint() as endpoint:
        _, writing = write(endpoint, tmp_path, [LONG])
    first, *later = [call.user for call in endpoint.calls if "=== Chapter ===" not in call.user]
    assert RETRY not in first and all(prompt.startswith(first) for prompt in later)
    told = [prompt.removeprefix(first).strip().splitlines() for prompt in later]
    assert [lines[0] for lines in told] == [RETRY] * 3 and len(writing.iterations) == 4
    other = layout.time % layout.n_paragraphs + 1
    assert [lines[1:-1] for lines in told] == [
        [f'- The date "{event.day}" was told in paragraph ({other}), but belongs in paragraph ({layout.time}) only.'],
        [f"- A check found that not all of it happens at the place {event.space}, or that another place is named."],
        [
            f'- The full name "{event.entity}" was told nowhere word for word, but belongs in paragraph ({layout.entity}) only.'
        ],
    ]


def test_the_requests_of_first_attempts_are_those_of_earlier_versions(tmp_path):
    """So that chapters that were paid for once are taken up; the keys are those of before there were retries."""
    writer = ModelWriter(EndpointModel("tiny", base_url="http://127.0.0.1:9/v1"), OUTLINE.universe, tmp_path)
    tasks = first_tasks(OUTLINE.events, OUTLINE.layouts)
    keys = [writer.chapter_request(task).key("openai:tiny") for task in tasks[:2]]
    checks = [writer.check_request(Candidate(task, "(1) It rained.")).key("openai:tiny") for task in tasks[:2]]
    assert (keys, checks) == FIRST_KEYS


@pytest.mark.parametrize("mistake", sorted(WITHOUT_VERDICT))
def test_a_check_without_a_verdict_is_asked_for_again(tmp_path, mistake):
    with scripted([LONG], {0: [mistake]}).endpoint() as endpoint:
        chapters, writing = write(endpoint, tmp_path, [LONG])
        asked = requests_in(endpoint, "=== Chapter ===")
        assert [call.body["seed"] for call in asked] == list(range(WITHOUT_VERDICT[mistake] + 1))
        assert len(chapters) == 1 and writing.iterations[0].accepted == 1
        n = len(endpoint.calls)
        assert write(endpoint, tmp_path, [LONG])[0] == chapters and len(endpoint.calls) == n


def test_a_chapter_without_a_verdict_is_neither_accepted_nor_discarded(tmp_path):
    mistakes = {1: [NEVER_A_VERDICT], 2: ["name forgotten"], 3: ["a second date"]}
    with scripted(range(6), mistakes).endpoint() as endpoint:
        message = (
            r"checker openai:tiny: no verdict on 1 of 5 chapters of round 1, in 4 attempts each, such as event 1 "
            r".* a second start asks for these verdicts again"
        )
        with pytest.raises(RunFailed, match=message):
            write(endpoint, tmp_path, range(6))
        assert len(endpoint.calls) == 6 + 5 + 3  # all others have their verdicts, and no second round has begun
        chapters, writing = write(endpoint, tmp_path, range(6))
        assert len(chapters) == 6 and [one.candidates for one in writing.iterations] == [6, 2]
    checked = [call.body["seed"] for call in requests_in(endpoint, f"happen at {OUTLINE.events[1].space},")]
    assert checked == [0, 1, 2, 3, 4]
    assert set(paid(endpoint).values()) == {1} and len(paid(endpoint)) == 14 + 1 + 2 * 2
    assert writing.about["tokens"]["requests"] == 19


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


def test_another_model_checks(tmp_path):
    mistakes = {1: ["a second date"], 2: ["verdict in prose at first"]}
    script = scripted(range(4), mistakes)
    with script.endpoint() as author, script.endpoint() as reviewer:
        chapters, writing = write(author, tmp_path, range(4), checker=model_at(reviewer, "sage"))
        assert len(author.calls) == 5 and not requests_in(author, "=== Chapter ===")
        assert len(reviewer.calls) == 6 == len(requests_in(reviewer, "=== Chapter ==="))
        assert {call.body["model"] for call in reviewer.calls} == {"sage"} and len(chapters) == 4
        assert (writing.writer, writing.about["checker"]) == ("openai:tiny", "openai:sage")
        _, by_itself = write(author, tmp_path, range(4))
        assert len(author.calls) == 5 + 6  # the chapters are there, the verdicts of another checker are not
        assert by_itself.about["checker"] == "openai:tiny"


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
            assert line.endswith(
                "anywhere in the paragraph" if layout.n_paragraphs == 1 else f"in paragraph ({where}) only"
            )
        assert ("One single paragraph" in request.user) == (layout.n_paragraphs == 1)
        assert "{" not in request.system + request.user
    assert any(layout.n_paragraphs == 1 for layout in draw_outline(Recipe("short")).layouts)


def test_every_kind_of_universe_has_a_tone_of_its_own(tmp_path):
    outlines = [draw_outline(Recipe("short", name)) for name in ("default", "news", "scifi")]
    tasks = [first_tasks(outline.events, outline.layouts)[0] for outline in outlines]
    requests = [
        ModelWriter(None, outline.universe, tmp_path).chapter_request(task)
        for outline, task in zip(outlines, tasks, strict=True)
    ]
    assert len({request.system for request in requests}) == 3
    assert len({request.user.splitlines()[0] for request in requests}) == 3


def test_a_writing_folder_is_named_after_the_model(tmp_path):
    assert writing_folder(tmp_path, "openai:gpt-4o").name == "written-by-openai-gpt-4o"
    assert writing_folder(tmp_path, "vllm:Qwen/Qwen3-8B").name == "written-by-vllm-Qwen3-8B"
    assert writing_folder(tmp_path, "hf:../models/my llama/").parent == tmp_path


def test_positions_are_middles_of_first_matches():
    chapters = make_book(Recipe("short")).chapters
    positions = fact_positions(chapters)
    book = "\n\n\n".join(f"Chapter {c.number}\n\n{c.text}" for c in chapters)
    for place, chapter in enumerate(chapters):
        fact, paragraph = chapter.event.day, next(p for p in chapter.text.split("\n\n") if chapter.event.day in p)
        middle = chapter.text.index(fact) + len(fact) / 2
        assert positions["chapter"]["date"][place] == pytest.approx(middle / len(chapter.text))
        assert positions["paragraph"]["date"][place] == pytest.approx(
            (paragraph.index(fact) + len(fact) / 2) / len(paragraph)
        )
        assert positions["book"]["date"][place] == pytest.approx((book.index(chapter.text) + middle) / len(book))
    for by_fact in positions.values():
        assert all(0 < place < 1 for places in by_fact.values() for place in places)
    assert positions["book"]["date"] == sorted(positions["book"]["date"])


@pytest.mark.slow
def test_the_templates_tell_of_their_writing_too(drawn_pictures):
    data = make_book(Recipe("short"))
    assert data.writing
    files = writing_files(data.writing, data.chapters, 0)
    told = json.loads(files["writing.json"])
    assert told["iterations"] == [
        {"candidates": 20, "accepted": 20, "failed_exact": 0, "failed_llm": 0, "failed_checks": {}}
    ]
    assert (told["writer"], told["seed"], told["dropped"]) == ("template", 0, [])
    assert all(sum(counts.values()) == 20 for counts in told["chapters"].values())
    quantiles = list(told["position_quantiles"]["chapter"]["content"].values())
    assert quantiles == sorted(quantiles) and len(quantiles) == 5
    assert files["positions.svg"].startswith("<?xml") and files == writing_files(data.writing, data.chapters, 0)
