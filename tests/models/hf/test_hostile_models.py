"""A folder of a model from anywhere: none of its code is run, nothing is asked, and what is broken is one line."""

import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from epbench.errors import BadInput
from epbench.models.hf import chat_templates
from epbench.models.hf.chat_templates import render
from epbench.models.hf.checkpoint import load_tokenizer
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request, Sampling
from tests.refusals import refusal
from tests.tiny_model import CHAT

ASKED = Request("1", "You read.", "The book.", "Who left?", Sampling(max_tokens=3))


def the_one_line(folder, what=lambda model: list(model.answer([ASKED]))):
    line = refusal(what, TransformersModel(str(folder)))
    assert line.startswith((f"model {folder}: ", f"model hf:{folder}: ")) and len(line) < 700
    return line


def with_own_code(folder, file, **more):
    content = json.loads((folder / file).read_text()) | more
    (folder / file).write_text(json.dumps(content))
    (folder / "own.py").write_text(f"from pathlib import Path\nPath({str(folder / 'ran')!r}).touch()\n")


@pytest.mark.slow
def test_a_model_with_code_of_its_own_is_refused_without_a_question(folder):
    """Transformers would ask on standard input: here one says yes to everything."""
    own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    with_own_code(folder, "config.json", auto_map=own, model_type="of-its-own")
    code = f"""
from epbench.errors import BadInput
from epbench.models.protocol import Request
from epbench.models.hf.model import TransformersModel
model = TransformersModel({str(folder)!r})
for call in (model.window, lambda: list(model.answer([Request('1', '', '', 'Who?')]))):
    try:
        call()
    except BadInput as error:
        print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], input="y\n" * 20, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused: model ") == done.stdout.count("\n") == 2
    assert "[y/N]" not in done.stdout + done.stderr and not (folder / "ran").exists()


def test_a_tokenizer_with_code_of_its_own_is_refused(folder):
    own = {"AutoTokenizer": ["own.Tok", None]}
    with_own_code(folder, "tokenizer_config.json", auto_map=own, tokenizer_class="OwnTok")
    try:
        TransformersModel(str(folder)).count_tokens(ASKED)  # transformers may take its plain tokenizer instead
    except BadInput as error:
        assert "\n" not in str(error)
    assert not (folder / "ran").exists()


def test_weights_that_are_a_program_are_not_run(folder):
    class Program:
        def __reduce__(self):
            return (open, (str(folder / "ran"), "w"))

    for weights in folder.glob("*.safetensors"):
        weights.unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Program()}))
    the_one_line(folder)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", 0),  # bytes that are left of it
        ("model.safetensors", -100),
        ("config.json", ""),
        ("config.json", '{"model_type": 7}'),
        ("config.json", '{"model_type": "llama", "hidden_size": "x"}'),
        ("tokenizer.json", "[]"),
        ("tokenizer.json", '{"version": "1.0", "model": {"type": "BPE"}}'),
    ],
)
def test_a_torn_or_odd_file_is_one_line(folder, file, content):
    path = folder / file
    path.write_bytes(content.encode() if isinstance(content, str) else path.read_bytes()[:content])
    assert isinstance(content, str) or "weights" in the_one_line(folder)
    the_one_line(folder)


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no\nway') }}",
        "{{ ''.__class__.__base__.__subclasses__()[0]() }}",
        "{% for",
        "{% for i in range(99999) %}{% for m in messages %}{{ m.content }}{% endfor %}{% endfor %}",
    ],
)
def test_a_chat_template_that_fails_is_one_line(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    assert "chat template" in the_one_line(folder, lambda model: model.count_tokens(ASKED))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "why"),
    [
        (
            "{% if 'Who left' in messages[-1].content %}{{ (messages|length + 9) ** (10 ** 9) }}{% endif %}" + CHAT,
            "seconds of CPU time",
        ),
        ("{{ ('x' * 10 ** 12)|length }}", "MemoryError"),
    ],
)
def test_a_chat_template_without_end_is_one_line(folder, monkeypatch, template, why):
    monkeypatch.setattr(chat_templates, "_SECONDS", 1)
    (folder / "chat_template.jinja").write_text(template)
    model = TransformersModel(str(folder))
    if template.endswith(CHAT):
        assert model.prompts.text(replace(ASKED, question="Who stayed?")).endswith("<|assistant|>\n")
    line = the_one_line(folder, lambda model: model.prompts.conversation([{"role": "user", "content": "Who left?"}]))
    assert "its chat template cannot write the prompt" in line and why in line
    model.prompts.tokenizer.chat_template = CHAT  # and the next one is rendered
    assert model.prompts.text(ASKED).startswith("<s><|system|>\nYou read.<|end|>")


@pytest.mark.parametrize(
    "template",
    [
        CHAT,
        "{{ bos_token }}{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m|tojson }}{{ eos_token }}"
        "{% endfor %}{{ strftime_now('%Y')|length }}{{ 'on' if add_generation_prompt }}",
        "  {% set ns = namespace(n=0) %}\n{% for m in messages %}\n  {% set ns.n = ns.n + 1 %}\n{{ m['content'] | trim }}"
        "\n{% endfor %}\n{{ ns.n }}{% generation %}a{% endgeneration %}",
    ],
)
def test_a_chat_template_writes_what_transformers_writes(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    tokenizer = load_tokenizer(str(folder))
    messages = [{"role": "user", "content": " \u00e9<b>\r\n\U0001f40b "}, {"role": "assistant", "content": "A\x00'\"B"}]
    for answer_follows in (True, False):
        expected = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=answer_follows)
        assert render(tokenizer, messages, answer_follows=answer_follows, most=10**6) == expected


@pytest.mark.slow
def test_prompts_of_several_threads_and_of_a_fork_are_not_mixed_up(tiny):
    tokenizer = load_tokenizer(str(tiny))

    def write(i):
        messages = [{"role": "user", "content": f"question {i} " * 2000}]
        return render(tokenizer, messages, answer_follows=False, most=10**6).count(f"question {i} ")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(100))) == [2000] * 100
    if (child := os.fork()) == 0:
        os._exit(0 if all(write(i) == 2000 for i in range(100, 130)) else 1)
    assert [write(i) for i in range(30)] == [2000] * 30
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
def test_the_process_that_renders_ends_when_its_parent_lets_go_of_it(tiny):
    child = chat_templates._Child()
    child.render(("{{ 1 }}", [], {}, 100, 10))
    child._connection.close()  # as the death of the parent does
    assert child._process.wait(60) == 0
