"""What is said to someone whose device or disk is too small."""

from pathlib import Path

import psutil
import pytest

from epbench.errors import BadInput
from epbench.finetuning import capacity
from epbench.finetuning.capacity import available_memory, check_disk, check_memory, disk_needed, fewest_devices
from epbench.finetuning.memory import MemoryEstimate

GB = 10**9


def estimate(total, measuring=0):
    """Of so many GB, an eighth each but for the optimizer and the logits."""
    part = total * GB // 8
    return MemoryEstimate(part, part, 2 * part, 0, part, 3 * part, measuring * GB)


def test_what_fits_is_not_refused():
    check_memory(estimate(80), 80 * GB, {})


def test_a_refusal_has_all_numbers_and_what_would_fit():
    ways = {"rows of 2,048 tokens": estimate(100), "eight devices": estimate(32), "adapters": estimate(40)}
    with pytest.raises(BadInput) as error:
        check_memory(estimate(160), 80 * GB, ways)
    assert str(error.value) == (
        "memory: training takes about 160.0 GB on each device (weights 20.0 GB + gradients 20.0 GB + optimizer 40.0 GB + "
        "activations 20.0 GB + logits 60.0 GB), but 80.0 GB are available; it would fit with eight devices (32.0 GB), or "
        "with adapters (40.0 GB)"
    )


def test_a_refusal_says_that_nothing_would_fit():
    with pytest.raises(BadInput, match=r"; it would not fit either with rows of 8 tokens \(96.0 GB\)$"):
        check_memory(estimate(160), 80 * GB, {"rows of 8 tokens": estimate(96)})
    with pytest.raises(BadInput, match="but 80.0 GB are available$"):
        check_memory(estimate(160), 80 * GB, {})


def test_a_refusal_names_the_copy_that_is_measured_if_that_is_the_peak():
    with pytest.raises(
        BadInput, match=r"about 40.0 GB .*\(weights 4.0 GB \+ optimizer 8.0 GB \+ model copied 28.0 GB\)"
    ):
        check_memory(estimate(32, measuring=28), 30 * GB, {})


def test_fewest_devices_is_the_first_number_that_fits():
    assert fewest_devices(30 * GB, lambda n: estimate(128 // n)) == 5
    assert fewest_devices(30 * GB, lambda n: estimate(16)) == 1
    assert fewest_devices(30 * GB, lambda n: estimate(31)) is None


def test_memory_of_a_cpu_is_what_the_machine_or_its_container_has(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(capacity, "_CGROUP_LIMITS", (limit, tmp_path / "none"))
    assert 0 < available_memory("cpu") <= psutil.virtual_memory().total
    limit.write_text("1048576\n")
    assert available_memory("cpu") == 1048576
    limit.write_text("max\n")
    assert available_memory("cpu") > 1048576


def test_disk_for_checkpoints():
    # 5 models in bfloat16, and the training state twice while the last is replaced
    assert disk_needed(8 * GB, 5) == 5 * 16 * GB + 2 * 96 * GB
    assert disk_needed(8 * GB, 5, n_trained=GB) == 5 * 16 * GB + 2 * 12 * GB


def test_a_full_disk_is_refused_before_the_folder_exists(tmp_path):
    folder = tmp_path / "a" / "b"
    check_disk(folder, 1)
    with pytest.raises(BadInput, match=rf"^{folder}: the checkpoints take 1,000,000,000.0 GB, but [\d,.]+ GB are free"):
        check_disk(folder, 10**18)
    assert not (tmp_path / "a").exists()


def test_a_folder_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_disk(Path("runs/one"), 1)
