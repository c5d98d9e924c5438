"""What is known of the systems that can be installed, before anything is installed."""

import hashlib
import re
from pathlib import Path

import pytest

from epbench import BadInput
from epbench.memories.load import SYSTEMS, load_memory
from epbench.memories.protocol import Endpoint
from epbench.memories.systems import mem0
from tests.memories.systems.conftest import LOCKS
from tests.refusals import refusal

URL = "http://127.0.0.1:9/v1"


def load(name, tmp_path, **chosen):
    source = {"source": tmp_path} if name == "structmem" else {}
    return load_memory(name, endpoint=Endpoint("m", URL), **{**source, **chosen})


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_has_a_class_a_lock_and_the_published_settings(name, tmp_path):
    system = load(name, tmp_path)
    assert system.durable and not system.baseline and system.installation.endpoint.embedder
    assert {"system_model": "m", "system_url": URL}.items() <= system.identity.items()
    lock = system.installation.lock.read_text()
    assert re.search(r"^# python: 3\.\d+ to 3\.\d+$", lock, re.M) and re.search(r"^# system: ", lock, re.M)
    package, version = system.version.split()
    assert name == "structmem" or f"{package}=={version}" in re.sub(r"\[.*?\]", "", lock)


def test_each_lock_belongs_to_a_system():
    assert {path.stem for path in LOCKS.glob("*.txt")} == set(SYSTEMS)


def test_a_setting_is_read_as_its_default_and_changes_the_identity(tmp_path):
    usual = load("simplemem", tmp_path)
    name, default = next((n, v) for n, v in usual.settings.items() if type(v) is int)
    other = load("simplemem", tmp_path, settings={name: str(default + 1)})
    assert other.settings[name] == default + 1 and other.identity != usual.identity
    with pytest.raises(BadInput, match="setting top_p: expected a value like 0.1, got 'high'"):
        load("mem0", tmp_path, settings={"top_p": "high"})
    for name in SYSTEMS:
        with pytest.raises(BadInput, match=f"{name}.*no setting 'colour'; its settings and their defaults: "):
            load(name, tmp_path, settings={"colour": "red"})


def test_source_code_is_for_the_system_that_needs_it(tmp_path):
    with pytest.raises(BadInput, match="expected the folder of its source code, got none"):
        load_memory("structmem", endpoint=Endpoint("m", URL))
    assert "found no folder" in refusal(load, "structmem", tmp_path, source=tmp_path / "none")
    assert "it takes no source code" in refusal(load, "mem0", tmp_path, source=tmp_path)


def test_a_changed_file_of_the_source_is_another_system(tmp_path):
    (tmp_path / "lightmem.py").write_text("a = 1")
    before = load("structmem", tmp_path).identity
    (tmp_path / "lightmem.py").write_text("a = 2")
    assert load("structmem", tmp_path).identity != before


def test_what_does_not_go_together_is_said_at_once(monkeypatch):
    at = Endpoint("m", URL)
    for name, options, words in (
        ("none", {"endpoint": at}, "can be chosen for mem0, "),
        ("mem0", {"endpoint": at, "isolation": "none"}, "lives in an environment of its own"),
        ("mem0", {"endpoint": at, "variables": ["MY_KEY"]}, "it gets no variables of ours"),
        ("mem0", {}, "the model of mem0: set OPENAI_API_KEY, or give the base URL"),
    ):
        for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(variable, raising=False)
        assert words in refusal(load_memory, name, **options)


def test_the_hashes_of_packages_do_not_make_another_system():
    """So that runs go on that were begun when the locks had none."""
    lock = Path(mem0.__file__).with_name("locks") / "mem0.txt"
    plain = re.sub(rb" --hash=\S+", b"", lock.read_bytes())
    files = (Path(mem0.__file__), Path(mem0.__file__).with_name("adapter.py"))
    digests = [hashlib.sha256(content).digest() for content in (*(file.read_bytes() for file in files), plain)]
    assert plain != lock.read_bytes()
    assert load("mem0", None).digest == hashlib.sha256(b"".join(digests)).hexdigest()[:16]
