"""A folder of a model from anywhere: none of its code is run, nothing is asked, and what is broken is one line."""

import json
import pickle
import shutil
import subprocess
import sys

import pytest

from epbench.errors import BadInput
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


def test_half_a_surrogate_pair_in_a_prompt_is_replaced(folder):
    (folder / "chat_template.jinja").write_text(CHAT)
    model = TransformersModel(str(folder))
    odd, clean = (Request("1", f"s{c}", f"c{c}", f"q{c}") for c in ("\ud83d", "\ufffd"))
    assert model.prompts.ids(odd) == model.prompts.ids(clean)
    model.prompts.tokenizer.chat_template = None
    assert model.prompts.text(odd) == model.prompts.text(clean)
