"""How much memory there is for a model."""

import psutil

from epbench.models.hf import memory
from epbench.models.hf.memory import available_memory


def test_memory_of_a_cpu_is_what_the_machine_or_its_container_has(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CGROUP_LIMITS", (limit, tmp_path / "none"))
    assert 0 < available_memory("cpu") <= psutil.virtual_memory().total
    limit.write_text("1048576\n")
    assert available_memory("cpu") == 1048576
    limit.write_text("max\n")
    assert available_memory("cpu") > 1048576
