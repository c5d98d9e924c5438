"""The arrows of the house, as CONTRIBUTING draws them: who may import whom, and what a room may know."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
BENCHMARKS = ("tulving", "booksort", "memfail")
HARNESSES = "interop"  # uses everything, as a script does, and is used by scripts and harnesses only
MOST_MODULES = 20
FACES = ("__init__.py", "__main__.py")  # what a package is from outside; not counted among its modules
# The only modules of the library that know flags and scripts.
FOR_SCRIPTS = ("cli", "command", "launch", "options", "starting")


def module_name(path):
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SRC / "epbench").rglob("*.py"))}
ROOMS = sorted({name for name, path in MODULES.items() if path.name == "__init__.py"})


@cache
def imports():
    """By module, the modules of ours that it imports anywhere: inside functions and for types too."""
    found = {}
    for name, path in MODULES.items():
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name.split(".")[0] == "epbench"}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                if node.module and node.module.split(".")[0] == "epbench":
                    for alias in node.names:
                        inner = f"{node.module}.{alias.name}"
                        found[name].add(inner if inner in MODULES else node.module)
    return found


def circles(graph):
    """Groups of nodes that reach one another."""
    reach = {node: set(targets) for node, targets in graph.items()}
    for middle in graph:
        for targets in reach.values():
            if middle in targets:
                targets |= reach[middle]
    return {frozenset(other for other in reach[node] if node in reach[other]) for node in graph if node in reach[node]}


def part_of(module):
    """`tulving` of `epbench.tulving.events.dates`; empty for `epbench` itself."""
    return [*module.split("."), ""][1]


@pytest.mark.slow
def test_no_modules_import_one_another_in_a_circle():
    face = {"epbench"}  # exports lazily from everywhere; importing it runs none of that
    graph = {name: targets - face for name, targets in imports().items() if name not in face}
    assert not circles(graph)


def test_no_shared_rooms_import_one_another_in_a_circle():
    graph = {}
    for name, targets in imports().items():
        if name != "epbench":
            graph.setdefault(part_of(name), set()).update(
                part_of(target) for target in targets if target != "epbench" and part_of(target) != part_of(name)
            )
    assert not circles(graph)


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_small_and_says_what_is_in_it(room):
    folder = MODULES[room].parent
    assert len([path for path in folder.glob("*.py") if path.name not in FACES]) <= MOST_MODULES
    words = ast.get_docstring(ast.parse(MODULES[room].read_text("utf-8"))) or ""
    assert len(words.split()) >= 12, f"{room}: say in a few lines what is in the room, and in which order to read it"


def test_benchmarks_stay_apart_and_shared_rooms_know_none_of_them():
    for name, targets in imports().items():
        if name != "epbench":
            for target in targets:
                allowed = part_of(name) in (part_of(target), HARNESSES)
                assert allowed or part_of(target) not in (*BENCHMARKS, HARNESSES), f"{name} imports {target}"


def test_the_library_never_imports_scripts():
    for path in MODULES.values():
        found = re.search(
            r"^\s*(?:from|import) (builders|eval_scripts|finetune|benchmarks|tests)\b", path.read_text("utf-8"), re.M
        )
        assert not found, path


def test_shared_rooms_know_no_flags_scripts_or_benchmarks():
    """Not even in a message or a docstring: what a script calls a thing is the script's business."""
    known = re.compile(r"(?<![\w-])--[a-z][a-z-]+|eval_scripts/|builders/")
    for name, path in MODULES.items():
        if part_of(name) in BENCHMARKS or part_of(name) in FOR_SCRIPTS or name == "epbench":
            continue
        if name == "epbench.memories.isolation":  # its flags are those of bubblewrap
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            ours = re.sub(r"pip install .*", "", line)  # pip's own flags are not ours
            assert not known.search(ours), f"{path}:{number}: {line.strip()}"


def test_metric_folders_import_nothing_of_ours():
    for path in ROOT.glob("metrics/*/*.py"):
        assert "epbench" not in "".join(re.findall(r"^\s*(?:from|import) .*", path.read_text("utf-8"), re.M)), path


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
