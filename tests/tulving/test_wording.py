"""Other words for a Tulving book: the paper's own give requests equal to those of its code, and what is wrong is named."""

from __future__ import annotations

import pytest

from epbench.errors import UnusableReply
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import own_wording
from epbench.models.load import Options
from epbench.retrieval.load import Bm25
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.context.requests import Reading, load_prompts, passages_of
from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
from epbench.tulving.dataset.load import Book, Loaded
from epbench.tulving.judging.load import ModelJudge, load_judge, load_judge_prompts, read_indexes, read_named
from epbench.tulving.judging.verdicts import judge_input
from epbench.tulving.questions.templates import OUTCOME_TEMPLATES, TEMPLATES
from epbench.tulving.wording import WORDS, read_wording
from tests.published_archive import TRACES as SORTS
from tests.reference_wording import COPIES, array, copy_of, functions
from tests.refusals import refusal

CODE = "epbench/src/"


@pytest.fixture(scope="module", params=COPIES)
def copy(request, tmp_path_factory):
    return copy_of(request.param, "tulving", tmp_path_factory.mktemp("tulving"))


@pytest.fixture(scope="module")
def words(copy):
    return read_wording(f"published:{copy}")


@pytest.fixture(scope="module")
def data(words):
    return make_book(Recipe(book="short"), texts=words["questions"])


@pytest.fixture(scope="module")
def rows(data):
    return [question._asdict() for question in data.selected]


def test_readers_are_asked_in_the_words_of_the_code(copy, words, data, rows):
    text = "\n\n\n".join(f"Chapter {chapter.number}\n\n{chapter.text}" for chapter in data.chapters)
    book = Book(text, [(chapter.number, chapter.text) for chapter in data.chapters], data.title)
    loaded = Loaded("made", rows, book, "", "")
    whole = functions(copy / f"{CODE}evaluation/prompts.py", "generate_episodic_memory_prompt")
    questions = {row["id"]: row["question"] for row in rows}
    requests = Reading(memory="in-context", prompts=words["reader"]).requests(loaded, rows)
    assert len(requests) > 10
    for request in requests:
        assert request.user == whole["generate_episodic_memory_prompt"](text, questions[request.id])
    file = copy / f"{CODE}evaluation/generator_answers_2_rag.py"
    found = functions(file, "query_message", "generate_episodic_memory_rag_prompt")
    chunks = list(passages_of(book.chapters, "rag-chapter").values())
    hits = Bm25(chunks).search([row["question"] for row in rows], 3)
    shown = Reading(memory="rag-chapter", top_k=3, prompts=words["reader"]).requests(loaded, rows)
    for request, places in zip(shown, hits, strict=True):
        passages = [chunks[place] for place in places]
        found["strings_ranked_by_relatedness"] = lambda *_, passages=passages: (passages, [0.0] * len(passages))
        arguments = (passages, {}, "")[: found["query_message"].__code__.co_argcount - 1]
        assert request.user == found["query_message"](questions[request.id], *arguments)
    (alone,) = Reading(memory="none", prompts=words["reader"]).requests(loaded, rows[:1])
    assert data.title in alone.user and alone.user.endswith(rows[0]["question"]) and "/n" in alone.user


def test_questions_are_those_of_the_code(copy, data):
    templates = functions(copy / f"{CODE}generation/qa_templates.py", "qa_templates")["qa_templates"]()
    for asked in data.questions:
        values = {"t": asked.time, "s": asked.space, "ent": asked.entity, "c": asked.content}
        assert asked.question == templates[asked.template]["template"].format(**values)


def test_judges_are_asked_in_the_words_of_the_code(copy, words, rows):
    file = copy / f"{CODE}evaluation/scoring_answers.py"
    asked = functions(file, "judge_prompt_func", "judge_prompt_chronological_func")
    answer, ordered = 'It\'s {so}:\n1. "Here"', 0
    for row in rows:
        judged = judge_input(row, answer)
        request = words["judge"].verdict_request(judged, "id", 100)
        items = long = array(row["answer"])
        if row["trace"] == "full_details" and row["answer"]:
            items, long = array([f"Full chapter {row['chapters'][0]}"]), row["answer"][0]
        assert request.user == asked["judge_prompt_func"](SORTS[row["trace"]], items, answer, long)
        assert request.schema is None
        if len(judged.distinct_reference) > 1 and row["get"] == "chronological":
            ordered += 1
            request = words["judge"].order_request(judged, "id", 100, ["a", "b'c", "a"])
            reference = list(judged.distinct_reference)
            assert request.user == asked["judge_prompt_chronological_func"](reference, ["a", "b'c"])
            assert request.system != words["judge"].system
    assert ordered


@pytest.mark.parametrize("universe", ["default", "news", "scifi"])
def test_writers_are_told_in_the_words_of_the_code(copy, words, universe):
    outline = draw_outline(Recipe(book="short", universe=universe))
    styles = outline.universe.styles
    told = functions(
        copy / f"{CODE}generation/prompts.py",
        *("complete_prompt_func", "s_func", "idx_str_func", "system_prompt_func", "verification_prompt_func"),
        parameters_styles_func=lambda _: {"styles": list(styles), "style_to_description": styles},
    )
    writer = words["writer"]
    assert {layout.n_paragraphs for layout in outline.layouts} > {1}
    for event, layout in zip(outline.events, outline.layouts, strict=True):
        places = {"location": layout.space, "date": layout.time, "entity": layout.entity, "content": layout.content}
        values = [event.day, event.space, event.entity, event.content, event.detail]
        expected = told["complete_prompt_func"](values, layout.n_paragraphs, places, layout.style, universe)
        assert writer.chapter_prompt(event, layout, outline.universe) == expected
        assert writer.check_prompt(event, "a {chapter}") == told["verification_prompt_func"]("a {chapter}")
    assert writer.chapter_system(outline.universe) == told["system_prompt_func"]() and not writer.retry


NAMED = {"items": "found", "scores": "marks", "reason": "why", "order": "places"}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"found": [" a ", ""], "marks": [{"a": 1}, {"b": "0.5"}, {"a": 0}], "why": "so"}', (["a"], [1, 0.5], "so")),
        ('{"found": [], "marks": [{"x": 0}, {"y": 0}, {"z": 0}]}', ([], [0, 0], "")),
        ('{"found": [], "marks": [{"a": 1}, {"b": 1}]}', "3 objects are expected"),
        ('{"found": [], "marks": [{"a": 2}, {"b": 1}, {"a": 1}]}', "its score from 0 to 1"),
        ('{"found": [1], "marks": [{"a": 1}, {"b": 1}, {"a": 1}]}', "a text is expected"),
        ('{"found": []}', "marks"),
    ],
)
def test_replies_with_a_score_by_item(reply, expected):
    if isinstance(expected, str):
        with pytest.raises(UnusableReply, match=expected):
            read_named(reply, ("a", "b", "a"), NAMED)
    else:
        assert read_named(reply, ("a", "b", "a"), NAMED) == expected


def test_replies_with_indexes():
    assert read_indexes('{"places": [1, -1, 0, 7, 1]}', 2, "places") == [1, 0]
    with pytest.raises(UnusableReply, match="whole numbers"):
        read_indexes('{"places": ["first"]}', 2, "places")


def test_our_own_words_change_nothing(tmp_path):
    (tmp_path / "own.toml").write_text(own_wording(WORDS), "utf-8")
    (tmp_path / "empty.toml").write_text("", "utf-8")
    for name in ("own.toml", "empty.toml"):
        words = read_wording(str(tmp_path / name))
        assert words["reader"] == load_prompts() and words["writer"] == load_writing_prompts()
        assert words["judge"].hash == load_judge_prompts().hash
        assert words["questions"] == {each.id: each.text for each in (*TEMPLATES, *OUTCOME_TEMPLATES)}
    assert read_wording(None) == {}


def test_other_words_are_taken_to_the_letter_and_make_another_judge(tmp_path):
    (tmp_path / "mine.toml").write_text('[judge]\nsystem = """\n\nJudge.\n"""\n[writer.facts]\ndate = "{date}!"\n')
    words = read_wording(str(tmp_path / "mine.toml"))
    assert words["judge"].system == "\nJudge.\n" and words["judge"].hash != load_judge_prompts().hash
    assert words["writer"].facts["date"] == "{date}!" and words["writer"].facts["entity"]
    assert load_judge("lexical", prompts=words["judge"]).prompt_hash == load_judge("lexical").prompt_hash
    judge = load_judge("openai:m", Options("http://127.0.0.1:9/v1"), prompts=words["judge"])
    assert isinstance(judge, ModelJudge) and judge.prompt_hash == words["judge"].hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[readers]\n", "expected sections [reader], [judge], [writer], [questions], found 'readers'"),
        ('[reader]\nbok = ""\n', "section 'reader': found the unknown key 'bok'"),
        ('[reader]\nsystem = "{who}"\n', "section 'reader', key 'system': expected no placeholders, found {who}"),
        (
            '[judge]\ncase = "{truth}"\n',
            "section 'judge', key 'case': expected {truth} or {truth_array} or {truth_list} and",
        ),
        (
            '[judge.reply]\nitems = "a"\n',
            "section 'judge', key 'reply': expected items, scores, reason, order, found items",
        ),
        ('[judge.sorts]\ntimes = "a"\n', "section 'judge', key 'sorts': expected times, spaces"),
        ('[writer]\nchapter = "{date}"\n', "section 'writer', key 'chapter': expected {date} and {place}"),
        ('[writer.genres]\nwestern = "a"\n', "section 'writer', key 'genres.western': unknown, expected one of novel"),
        ('[writer.faults]\nempty = "{x}"\n', "section 'writer', key 'faults.empty': expected no placeholders but"),
        ('[questions]\n0 = "When?"\n', "section 'questions', key '0': expected {t}, found none"),
        ('[questions]\n99 = "When?"\n', "section 'questions': found the unknown key '99'"),
        ("[reader\n", "mine.toml: not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_file_section_and_key(tmp_path, text, message):
    (tmp_path / "mine.toml").write_text(text)
    refused = refusal(read_wording, str(tmp_path / "mine.toml"))
    assert message in refused and "mine.toml" in refused


def test_a_copy_without_the_texts_is_refused(tmp_path):
    assert "expected a folder or a zip file" in refusal(read_wording, f"published:{tmp_path / 'none'}")
    assert "expected the text of the reference implementation there" in refusal(read_wording, f"published:{tmp_path}")


def test_nothing_of_the_published_words_is_shipped():
    listed = packaged("epbench.tulving", "published_wording.toml").read_text("utf-8")
    assert max(len(word) for word in listed.split('"')[1::2]) < 80
