"""Install datasets and metrics into the caches of `datasets` and `evaluate`.

Afterwards `load_dataset("epbench/short")` and `evaluate.load("episodic_f1")` work from any folder, without a network.
Both libraries use these caches if the Hub cannot be reached or does not know the name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.replacing import replacing
from epbench.hub.dataset_folder import parquet_files
from epbench.metric_folders import metric_path

_FAR_FUTURE = 4_102_444_800  # 2100-01-01
_VERSION = "0.0.0"


def install_dataset(folder: Path, namespace: str = "epbench") -> Path:
    """Install a dataset folder in the cache of `datasets` as `<namespace>/<folder's name>`.

    Returns:
        The folder in the cache.

    Raises:
        BadInput: The folder is not a dataset folder, or its default config has no files.
    """
    import datasets
    from datasets.packaged_modules.parquet.parquet import Parquet

    files = parquet_files(folder)
    default = _default_config(folder)
    if default not in files:
        raise BadInput(f"{folder / 'README.md'}: the default config is {default!r}, but it has no Parquet files")
    root = Path(datasets.config.HF_DATASETS_CACHE) / f"{namespace}___{folder.name}"
    datasets.disable_progress_bars()
    with replacing(root) as prepared:
        for config, paths in files.items():
            builder = Parquet(
                cache_dir=str(prepared.parent / "built"),
                dataset_name=folder.name,
                config_name=config,
                hash=_content_hash(config, paths),
                data_files={_split_of(path): str(path) for path in paths},
            )
            builder.download_and_prepare()
            shutil.move(builder.cache_dir, prepared / config / _VERSION / str(builder.hash))
        # Without the Hub, `datasets` takes the newest config if no name is given, and refuses if several configs share
        # a version and a hash. So every config has its own hash, and the default one has the latest date.
        os.utime(next((prepared / default / _VERSION).iterdir()), (_FAR_FUTURE, _FAR_FUTURE))
    return root


def _default_config(folder: Path) -> str:
    from huggingface_hub import DatasetCard

    configs = DatasetCard.load(folder / "README.md").data.to_dict().get("configs") or []
    names = [config["config_name"] for config in configs if config.get("default")]
    if not names:
        raise BadInput(f"{folder / 'README.md'}: no config is marked 'default: true' in the YAML header")
    return str(names[0])


def _split_of(path: Path) -> str:
    return path.name.split("-")[0]


def _content_hash(config: str, paths: list[Path]) -> str:
    digest = hashlib.sha256(config.encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def install_metric(name: str, namespace: str = "epbench") -> list[Path]:
    """Install a metric in the module cache of `evaluate`, as `<name>` and as `<namespace>/<name>`.

    Returns:
        The folders in the cache.

    Raises:
        BadInput: There is no metric with that name.
    """
    from evaluate.loading import init_dynamic_modules

    source = metric_path(name) / f"{name}.py"
    code = source.read_bytes()
    modules = Path(init_dynamic_modules()) / "metrics"
    places = []
    for owner in ("evaluate-metric", namespace):
        package = modules / f"{owner}--{name}"
        version = hashlib.sha256(code).hexdigest()
        with replacing(package) as draft:
            (draft / version).mkdir()
            (draft / version / f"{name}.py").write_bytes(code)
            (draft / version / f"{name}.json").write_text("{}")
            for folder in (draft, draft / version):
                (folder / "__init__.py").touch()
        places.append(package / version)
    return places
