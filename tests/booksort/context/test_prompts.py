import re

import pytest

from epbench.booksort.context.prompts import ALONE, OWN, SEARCH_RESULTS, load_prompts
from epbench.booksort.context.requests import MEMORIES, requests_for
from epbench.errors import BadInput

REFERENCE = """
name: "prompt_4.yaml"
system_prompt: "You help."
pre_excerpt: "Read this {part} of <booktitle>: <excerpt>"
post_excerpt: "Is <label_list[0]> or <label_1> the <tasktype> of <booktitle>? <segments> Say <label_0> or <label_list[1]>."
model_answer_prefix: "Answer: Segment"
"""


def changed(tmp_path, old, new, count=1):
    text = OWN.read_text("utf-8")
    assert old in text
    path = tmp_path / "pack.toml"
    path.write_text(text.replace(old, new, count))
    return path


def test_twelve_prompts_of_three_readings_and_six_tasks():
    pack = load_prompts()
    prompts = pack.prompts
    assert list(prompts) == list(range(1, 13))
    kinds = [{part(prompt) for prompt in prompts.values()} for part in (lambda p: p.reading, lambda p: p.task)]
    assert list(map(len, kinds)) == [3, 6] and len(set(prompts.values())) == 12
    assert all(prompts[n].task == prompts[n + 6].task for n in range(1, 7))  # as in Table 6
    assert {prompt.answer_start for prompt in prompts.values()} == {"Answer: Segment"}
    assert (len(pack.queries), pack.queries[ALONE], len(pack.passage_readings)) == (10, "{segments}", 10)
    assert pack.passage_readings[SEARCH_RESULTS].startswith("Read these results")
    assert len(set(pack.queries)) == len(set(pack.passage_readings)) == 10


@pytest.mark.parametrize("number", range(1, 13))
def test_a_prompt_is_filled_and_its_parts_are_separate(pairs, number):
    pack, pairs = load_prompts(), pairs[:8]
    alone = requests_for("none", pairs, pack, number)
    assert {request.context for request in alone} == {""}
    asked = requests_for("in-context", pairs, pack, number)
    assert [request.question for request in asked] == [request.question for request in alone]
    for request, pair in zip(asked, pairs, strict=True):
        assert request.id == pair.id and request.answer_start == "Answer: Segment" and request.labels == ("A", "B")
        assert request.context.endswith(f"\n\n{pair.excerpt}") and pair.title in request.context
        assert f"{pair.excerpt}\n\n" in request.user, "a blank line between excerpt and task"
        assert f"Segment A: {pair.shown[0]}\n\nSegment B: {pair.shown[1]}\n\n" in request.question
        assert pair.title in request.question and not re.search(r"[{}]", request.user)
        assert request.question.endswith("Segment A or Segment B?")


def test_unknown_numbers_and_memories_are_refused(pairs):
    with pytest.raises(BadInput, match="prompt: expected one of 1, 2,.*, got 13"):
        requests_for("none", pairs, load_prompts(), 13)
    with pytest.raises(BadInput, match=f"memory: expected one of {', '.join(MEMORIES)}, got 'all'"):
        requests_for("all", pairs, load_prompts(), 1)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("{excerpt}", "the excerpt", r"key 'readings', number 0: expected \{excerpt\} once, got it 0 times"),
        ("{title} {segments}", "{name} {segments}", r"key 'queries', number 9: unknown placeholder \{name\}"),
        ("{passages}", "{", "write a literal brace twice"),
        ("answer_start", "begin", "key 'answer_start': missing; a pack has system,"),
        ("prompts = ", "mine = 1\nprompts = ", "key 'mine': unknown"),
        ("[3, 6]]", "[3, 7]]", "key 'prompts', number 12: expected a number of tasks from 1 to 6, got 7"),
        ("[[1, 1]", "[[1]", r"key 'prompts', number 1: expected .*, got \[1\]"),
        ('system = "You', 'system = 3 # "You', "key 'system': expected a string, got 3"),
        ("system =", "system ==", "expected TOML"),
    ],
)
def test_a_faulty_pack_is_one_line(tmp_path, old, new, match):
    with pytest.raises(BadInput, match=match) as error:
        load_prompts(changed(tmp_path, old, new))
    assert "\n" not in str(error.value) and "pack.toml" in str(error.value)


def test_a_prompt_of_the_reference_is_read(tmp_path, pairs):
    path = tmp_path / "prompt_4.yaml"
    path.write_text(REFERENCE)
    pack = load_prompts(path)
    (request, *_) = requests_for("in-context", pairs[:1], pack, 1)
    pair = pairs[0]
    assert request.system == "You help." and request.answer_start == "Answer: Segment"
    assert request.context == f"Read this {{part}} of {pair.title}: {pair.excerpt}"
    first, second = pair.shown
    assert request.question == (
        f"Is Segment A or Segment B the first of {pair.title}? Segment A: {first}\n\nSegment B: {second} "
        f"Say Segment A or Segment B."
    )
    assert pack.queries == load_prompts().queries


def test_a_folder_of_prompts_is_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 0):
        (tmp_path / f"prompt_{number}.yaml").write_text(REFERENCE.replace("You help.", f"You are {number}."))
    prompts = load_prompts(tmp_path).prompts
    assert {n: prompt.system for n, prompt in prompts.items()} == {1: "You are 0.", 2: "You are 2.", 3: "You are 10."}


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("<excerpt>", "it", r"key 'pre_excerpt': expected \{excerpt\} once, got it 0 times"),
        ("<tasktype>", "<author>", "key 'post_excerpt': expected one of <booktitle>.*, got <author>"),
        ("post_excerpt", "after", "key 'post_excerpt': missing; a file may have system_prompt,"),
        ("name:", "name: [", "expected YAML"),
        (REFERENCE, "- a list", "expected keys such as .*, got a list"),
    ],
)
def test_a_faulty_prompt_of_the_reference_is_one_line(tmp_path, old, new, match):
    path = tmp_path / "prompt_0.yaml"
    path.write_text(REFERENCE.replace(old, new))
    with pytest.raises(BadInput, match=match) as error:
        load_prompts(path)
    assert "\n" not in str(error.value) and "prompt_0.yaml" in str(error.value)


def test_missing_prompts_are_refused(tmp_path):
    for path, match in (
        (tmp_path, "expected one YAML file for each prompt, got none"),
        (tmp_path / "x.toml", "expected a prompt pack .*, but there is no such file"),
        (tmp_path / "x.yaml", "expected YAML"),
    ):
        with pytest.raises(BadInput, match=match):
            load_prompts(path)
