import sys
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.memories import process
from epbench.memories.guard import Limits
from epbench.memories.load import load_memory
from epbench.memories.process import describe_system
from epbench.memories.worker import import_system
from tests.refusals import refusal

FAULTY = Path(__file__).with_name("faulty.py")


@pytest.fixture(params=[describe_system, import_system])
def load(request):
    return request.param


def test_a_class_is_found_by_module_and_by_file(tmp_path, monkeypatch):
    (tmp_path / "mine_by_module.py").write_text(FAULTY.read_text())
    monkeypatch.chdir(tmp_path)
    for name in ("mine_by_module:Good", "mine_by_module.py:Good", f"{FAULTY}:Good"):
        system = import_system(name)
        assert system.name == name and not system.durable and not system.beyond_k and not system.baseline
        instance = system.open(tmp_path)
        instance.store_conversation([{"role": "user", "content": "I like tea", "timestamp": "2025-01-06T09:00:00"}])
        assert instance.get_all_memories() == ["I like tea"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Memory", "found no module 'no_such_module'"),
        ("epbench.no_such:Memory", "found no module 'epbench.no_such'"),
        ("nowhere.py:Memory", "found no file nowhere.py"),
        ("json:", "expected module:Class or path/to/file.py:Class"),
        ("json:Memory", "found no class 'Memory', only: –"),
        ("epbench.memories.example:Keyword", "found no class 'Keyword', only: KeywordMemory"),
        ("epbench.memories.example:re", "found no class 're'"),
        (f"{FAULTY}:LacksAMethod", "found no retrieve_memories()"),
        (f"{FAULTY}:IsAsync", "expected a plain method retrieve_memories(), found an async one"),
        (f"{FAULTY}:DurableWithoutFolder", "durable = True requires a constructor with a parameter 'folder'"),
    ],
)
def test_a_class_that_is_not_a_memory_system_is_refused(load, name, message):
    assert message in refusal(load, name)


@pytest.mark.parametrize("content", ["import not_installed_anywhere", "raise SystemExit(1)", "def ("])
def test_a_module_that_cannot_be_imported_is_refused(load, tmp_path, content):
    (tmp_path / "broken.py").write_text(content)
    assert "its module cannot be imported" in refusal(load, f"{tmp_path / 'broken.py'}:Memory")


@pytest.mark.slow
def test_a_module_that_ends_or_hangs_its_process_is_refused(tmp_path, monkeypatch):
    (tmp_path / "ends.py").write_text("import os\nprint('no licence')\nos._exit(0)")
    with pytest.raises(BadInput, match=r"\(the system's process ended with status 0; it printed last: no licence\)"):
        describe_system(f"{tmp_path / 'ends.py'}:Memory")
    monkeypatch.setattr(process, "START_LIMIT", 2.0)
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(3600)")
    with pytest.raises(BadInput, match=r"its module cannot be imported \(no answer within 2 s\)"):
        describe_system(f"{tmp_path / 'hangs.py'}:Memory")


def test_a_description_imports_nothing_here_and_says_what_is_durable(tmp_path, monkeypatch, capfd):
    (tmp_path / "described_only.py").write_text(f"print('a banner')\n{FAULTY.read_text()}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise RuntimeError('hidden')")  # it hides no library
    system = describe_system("described_only:Good")
    assert (system.name, system.make, system.durable, system.baseline) == ("described_only:Good", None, False, False)
    assert describe_system("described_only.py:DurableCounting").durable
    assert "described_only" not in sys.modules and capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("verbatim-dense:", {}, "expected verbatim-dense alone, or verbatim-dense:PATH_OR_ID"),
        ("oracle", {}, "'oracle': expected the texts that each query needs"),
        ("none", {"limits": Limits(float("nan"))}, "timeout: expected a finite number of seconds above 0, got nan"),
        ("none", {"limits": Limits(1, 1e300)}, "memory limit: expected a finite number of gigabytes above 0"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(name, options, words):
    assert words in refusal(load_memory, name, **options)


@pytest.mark.slow
def test_an_edited_file_is_another_system(tmp_path):
    """So that a run does not go on with the scores of what the file was."""
    (tmp_path / "helper.py").write_text("LIMIT = 1")
    file = tmp_path / "edited.py"
    file.write_text(FAULTY.read_text() + "\nimport helper\n")
    name = f"{file}:Good"
    first = describe_system(name)
    assert first.digest and describe_system(name).identity == first.identity
    file.write_text(file.read_text() + "# stores nothing\n")
    second = describe_system(name)
    (tmp_path / "helper.py").write_text("LIMIT = 2")
    assert len({first.digest, second.digest, describe_system(name).digest}) == 3
