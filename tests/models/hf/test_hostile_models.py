"""A folder of a model from anywhere: none of its code is run, nothing is asked, and what is broken is one line."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from epbench.errors import BadInput
from epbench.models.hf import chat_templates
from epbench.models.hf.chat_templates import render
from epbench.models.hf.checkpoint import load_tokenizer
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request, Sampling
from tests.tiny_model import CHAT, make_tiny_model

TEXT = "Answer A or B. A and B were seen at the harbour; B left, A stayed. " * 50
ASKED = Request("1", "You read.", "The book.", "Who left?", Sampling(max_tokens=3))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", TEXT, window=4096)


@pytest.fixture
def folder(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "copy")


def the_one_line(folder, what=lambda model: list(model.answer([ASKED]))):
    with pytest.raises(BadInput, match=f"model (hf:)?{folder}: ") as error:
        what(TransformersModel(str(folder)))
    assert "\n" not in str(error.value) and len(str(error.value)) < 700
    return str(error.value)


def with_own_code(folder, file, **more):
    content = json.loads((folder / file).read_text()) | more
    (folder / file).write_text(json.dumps(content))
    (folder / "own.py").write_text(f"from pathlib import Path\nPath({str(folder / 'ran')!r}).touch()\n")


@pytest.mark.slow
@pytest.mark.parametrize("call", ["window", "answer"])
def test_a_model_with_code_of_its_own_is_refused_without_a_question(folder, call):
    """Transformers would ask on standard input: here one says yes to everything."""
    own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    with_own_code(folder, "config.json", auto_map=own, model_type="of-its-own")
    ends = "model.window()" if call == "window" else "list(model.answer([Request('1', '', '', 'Who?')]))"
    code = f"""
from epbench.errors import BadInput
from epbench.models.protocol import Request
from epbench.models.hf.model import TransformersModel
model = TransformersModel({str(folder)!r})
try:
    {ends}
except BadInput as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], input="y\n" * 20, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused: model ") and done.stdout.count("\n") == 1
    assert "[y/N]" not in done.stdout + done.stderr and not (folder / "ran").exists()


def test_a_tokenizer_with_code_of_its_own_is_refused(folder):
    with_own_code(
        folder, "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Tok", None]}, tokenizer_class="OwnTok"
    )
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


@pytest.mark.parametrize("length", [0, 5, 200, -100])
def test_torn_weights_are_one_line(folder, length):
    (weights,) = folder.glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:length])
    assert "weights" in the_one_line(folder)


@pytest.mark.parametrize(
    "content", ["", "[]", "null", '{"model_type": 7}', '{"model_type": "llama", "hidden_size": "x"}']
)
def test_an_odd_config_is_one_line(folder, content):
    (folder / "config.json").write_text(content)
    the_one_line(folder)


@pytest.mark.parametrize("content", ["", "[]", '{"version": "1.0", "model": {"type": "BPE"}}'])
def test_an_odd_tokenizer_is_one_line(folder, content):
    (folder / "tokenizer.json").write_text(content)
    the_one_line(folder, lambda model: model.count_tokens(ASKED))


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no\nway') }}",
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''.__class__.__base__.__subclasses__()[0]() }}",
        "{{ messages[99].content.x.y }}",
        "{% for",
        "{{ 'x' * 10000000 }}",
        "{% for i in range(99999) %}{% for m in messages %}{{ m.content }}{% endfor %}{% endfor %}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_chat_template_that_fails_is_one_line(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    assert "chat template" in the_one_line(folder, lambda model: model.count_tokens(ASKED))


@pytest.mark.parametrize(
    ("template", "why"),
    [
        pytest.param(
            "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
            "seconds of CPU time",
            marks=pytest.mark.slow,
        ),
        pytest.param("{{ 10 ** (10 ** 9) }}", "seconds of CPU time", marks=pytest.mark.slow),
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


def test_the_process_that_renders_dies_with_its_parent(tiny):
    tokenizer, (told, say) = load_tokenizer(str(tiny)), os.pipe()
    if (parent := os.fork()) == 0:
        try:
            render(tokenizer, [{"role": "user", "content": "?"}], answer_follows=True, most=100)
            os.write(say, str(chat_templates._child._process.pid).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(parent, 0)[1] == signal.SIGKILL
    pid = int(os.read(told, 20))
    for _ in range(600):
        if not is_running(pid):
            return
        time.sleep(0.1)
    pytest.fail(f"process {pid} still runs")


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_half_a_surrogate_pair_in_a_prompt_is_replaced(folder):
    (folder / "chat_template.jinja").write_text(CHAT)
    model = TransformersModel(str(folder))
    odd, clean = (Request("1", f"s{c}", f"c{c}", f"q{c}") for c in ("\ud83d", "\ufffd"))
    assert model.prompts.ids(odd) == model.prompts.ids(clean)
    model.prompts.tokenizer.chat_template = None
    assert model.prompts.text(odd) == model.prompts.text(clean)
