"""A model that writes a book of a higher level, on loopback: it gets the plan, and what it writes goes through the same checks."""

import json
from dataclasses import replace

import pytest

from epbench.errors import BadInput
from epbench.models.openai.model import EndpointModel
from epbench.tulving.chapters.checks import Vocabulary, check_chapter
from epbench.tulving.chapters.load import load_writer
from epbench.tulving.chapters.loop import first_tasks
from epbench.tulving.chapters.model_writer import ModelWriter
from epbench.tulving.dataset.build import Recipe, make_book
from tests.models.loopback_endpoint import LoopbackEndpoint
from tests.tulving.levels.books import UNIVERSE, outline

LEVEL = 4


class Author:
    """Writes what the scene writer would, with a mistake in the first candidate of some events."""

    def __init__(self, spoil):
        drawn = outline(LEVEL)
        writer = load_writer("template", drawn.universe, level=LEVEL)
        self.tasks = first_tasks(drawn.events, drawn.layouts, drawn.plans)
        self.spoil, self.prompts = spoil, []
        self.texts, vocabulary = {}, Vocabulary(drawn.universe)
        for task in self.tasks:  # the first candidate that passes, as the writer would find it
            attempts = (writer.write(replace(task, attempt=n)) for n in range(9))
            self.texts[task.number] = next(
                one for one in attempts if not check_chapter(one, task.event, task.layout, task.plan, vocabulary)
            )

    def task_of(self, prompt):
        asked = (one for one in self.tasks if one.plan.when in prompt)
        return next(one for one in asked if f'"{one.event.detail_in_sentence}"' in prompt)

    def answer(self, body):
        prompt = str(body["messages"][-1]["content"])
        self.prompts.append(prompt)
        if "=== Chapter ===" in prompt:
            return {"message": {"content": json.dumps(dict.fromkeys("1234", True))}}
        task = self.task_of(prompt)
        text = self.texts[task.number]
        if task.number in self.spoil and "The previous attempt" not in prompt:
            text = self.spoil[task.number](text, task)
        return {"message": {"content": text}, "choice": {"finish_reason": "stop"}}


def book_by(author, folder):
    with LoopbackEndpoint(script=lambda number, body: None, more=author.answer) as endpoint:
        model = EndpointModel("tiny", base_url=endpoint.url, window=32768, attempts=1)
        writer = ModelWriter(model, outline(LEVEL).universe, folder)
        return make_book(Recipe("short", UNIVERSE, level=LEVEL, writer="openai:tiny"), outline(LEVEL), writer)


@pytest.mark.slow
def test_a_model_gets_the_plan_and_its_mistakes_are_named(tmp_path):
    spoil = {
        2: lambda text, task: text.replace(task.plan.fixed[0].text, ""),
        5: lambda text, task: text + " It was the twelfth of March, 2025, at last.",
    }
    author = Author(spoil)
    data = book_by(author, tmp_path)
    assert len(data.chapters) == 20 and not data.writing.dropped
    assert [one.failed_checks for one in data.writing.iterations] == [{"fixed_sentence": 1, "other_date": 1}, {}]
    asked = [prompt for prompt in author.prompts if "=== Chapter ===" not in prompt]
    for task in author.tasks:
        prompt = next(one for one in asked if author.task_of(one) is task)
        plan = task.plan
        for words in (plan.when, plan.where, plan.name, *(one.text for one in plan.fixed), *plan.deeds):
            assert words.lower() in prompt.lower()
        assert task.plan.what.lower() in prompt.lower() or task.plan.named
        own = "\n".join(line for line in prompt.splitlines() if not line.startswith("- in paragraph"))
        assert task.event.day not in own or plan.when.endswith(task.event.day)
        assert task.event.entity not in own or not plan.evidence["entity"].links
        for fact, words in {"date": plan.when, "location": plan.where, "entity": plan.name}.items():
            assert (f'"{words}"' in own) == (fact not in plan.contrasted)
    again = [prompt for prompt in asked if "The previous attempt" in prompt]
    assert (
        len(again) == 2 and "Another date was named" in "".join(again) and "word for word was missing" in "".join(again)
    )
    assert all(chapter.evidence for chapter in data.chapters)


@pytest.mark.slow
def test_a_book_is_refused_if_a_chapter_fails_that_all_others_need(tmp_path):
    class Stubborn(Author):
        def answer(self, body):
            prompt = str(body["messages"][-1]["content"])
            if f'"{self.tasks[0].event.detail_in_sentence}"' in prompt and "=== Chapter ===" not in prompt:
                return {"message": {"content": "(1) Nothing."}, "choice": {"finish_reason": "stop"}}
            return super().answer(body)

    with pytest.raises(BadInput, match="19 have one, but each needs one that is missing.*All candidates are kept"):
        book_by(Stubborn({}), tmp_path)


@pytest.mark.parametrize(("named", "told"), [(True, True), (False, True), (False, False)])
def test_the_prompt_says_whether_the_event_may_be_named(tmp_path, named, told):
    # Few chapters of a higher level name it without a contrast, or have none and do not name it
    drawn = outline(2 if named and told else LEVEL, "long" if told else "middle")
    tasks = first_tasks(drawn.events, drawn.layouts, drawn.plans)
    task = next(one for one in tasks if one.plan.named == named and ("content" not in one.plan.contrasted) == told)
    model = EndpointModel("tiny", base_url="http://127.0.0.1:1", window=32768, attempts=1)
    prompt = ModelWriter(model, drawn.universe, tmp_path).chapter_request(task).question
    assert ("Never call it by this name" in prompt) == (told and not named)
    assert ("A sentence below calls it by its name" in prompt) == (not told)
