import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import epbench
from epbench import BadInput, metric_path

ROOT = Path(__file__).parents[1]


def test_public_names_are_sorted_and_there():
    assert epbench.__all__ == sorted(epbench.__all__)
    for name in epbench.__all__:
        assert getattr(epbench, name).__module__.startswith("epbench") if name != "__version__" else epbench.__version__
        assert name in dir(epbench)
    with pytest.raises(AttributeError, match="no attribute 'load_bok'"):
        epbench.load_bok  # noqa: B018


def test_public_names_have_the_same_types_for_mypy():
    """What type checkers read stands under TYPE_CHECKING: the same names from the same places as at run time."""
    tree = ast.parse((ROOT / "src/epbench/__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {alias.name: node.module for node in block.body for alias in node.names}
    assert typed == epbench._HOMES
    assert {*typed, "BadInput", "EpbenchError", "RunFailed", "__version__"} == {*epbench.__all__}


def test_the_library_does_what_the_scripts_do(short_book, tmp_path):
    """A book, a question, a memory system and a judge, without a script."""
    book = epbench.load_book(str(short_book))
    spec = epbench.load_memory("verbatim-bm25", {})
    memory = spec.open(tmp_path)
    memory.store_conversation([{"role": "user", "content": book.rows[0]["question"], "timestamp": "2026-01-01"}])
    assert memory.get_all_memories() == [book.rows[0]["question"]]
    assert epbench.load_judge("lexical").name == "lexical"
    with pytest.raises(BadInput, match="unknown model"):
        epbench.load_model("gpt")


def test_import_is_light():
    """It takes no more than a few modules of Python's own, whatever the machine makes of that in seconds."""
    code = "import sys; before = {*sys.modules}; import epbench; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    imported = done.stdout.split()
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {"epbench"}, done.stderr
    assert len(imported) < 80


def test_unknown_metric_is_refused_with_the_names():
    with pytest.raises(BadInput, match="episodic_f1, episodic_kendall_tau"):
        metric_path("f1")


def test_the_error_tree_is_drawn_as_it_is():
    """Every public error stands in errors.py, in the drawing of its docstring, below its base."""
    errors = import_module("epbench.errors")
    drawn = re.findall(r"^([ │├└─]*)(\w+)", errors.__doc__.split("\n\n")[1], re.M)
    for (indent, name), (_, kind) in zip(drawn, ((n, getattr(errors, n)) for _, n in drawn), strict=True):
        bases = [base for base in kind.__mro__[1:] if base.__module__ == errors.__name__]
        assert len(indent) // 4 == len(bases), name
    assert {name for _, name in drawn} == {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    for path in (ROOT / "src/epbench").rglob("*.py"):
        for name in re.findall(
            r"^class ([A-Z]\w*)\((?:EpbenchError|BadInput|RunFailed|QuestionFailed)\b", path.read_text("utf-8"), re.M
        ):
            assert path.name == "errors.py", f"{path}: {name}"
