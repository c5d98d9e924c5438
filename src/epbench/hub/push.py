"""Upload dataset folders and metric folders to the Hub."""

from __future__ import annotations

from pathlib import Path

from epbench.errors import BadInput, RunFailed
from epbench.hub.dataset_folder import parquet_files
from epbench.metric_folders import metric_path


def push_dataset(folder: Path, namespace: str, *, private: bool = False) -> str:
    """Upload a dataset folder as the dataset `<namespace>/<folder's name>`.

    The credentials are those of `hf auth login`, or of HF_TOKEN in the environment.

    Returns:
        The address of the dataset.

    Raises:
        BadInput: The folder is not a dataset folder, or its rows must not be passed on.
        RunFailed: The Hub refuses the upload, or cannot be reached.
    """
    check_may_be_passed_on(folder)
    return _push(folder, f"{namespace}/{folder.name}", "dataset", private)


def check_may_be_passed_on(folder: Path) -> None:
    """Refuse rows that belong to others.

    Raises:
        BadInput: The folder is not a dataset folder, or its card names no licence.
    """
    from huggingface_hub import DatasetCard

    parquet_files(folder)
    license = DatasetCard.load(folder / "README.md").data.to_dict().get("license")
    if license in (None, "unknown"):
        raise BadInput(
            f"{folder / 'README.md'}, field 'license': expected the licence under which these rows may be passed on, found "
            f"{license or 'nothing'}; without a licence they are for your own use, in the local cache"
        )


def push_metric(name: str, namespace: str, *, private: bool = False) -> str:
    """Upload a metric folder as the Space `<namespace>/<name>`, from which `evaluate.load` loads it.

    Returns:
        The address of the Space.

    Raises:
        BadInput: There is no metric with that name.
        RunFailed: The Hub refuses the upload, or cannot be reached.
    """
    return _push(metric_path(name), f"{namespace}/{name}", "space", private)


def _push(folder: Path, repo: str, kind: str, private: bool) -> str:
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        api.create_repo(
            repo, repo_type=kind, private=private, exist_ok=True, space_sdk="gradio" if kind == "space" else None
        )
        commit = api.upload_folder(
            folder_path=folder,
            repo_id=repo,
            repo_type=kind,
            commit_message=f"Publish {repo}",
            ignore_patterns=["__pycache__/*", ".*"],
            delete_patterns="*/*.parquet" if kind == "dataset" else None,  # of configs that no longer exist
        )
    except Exception as error:  # errors of the Hub's client, of its HTTP library or of the system
        raise RunFailed(
            f"{repo}: the upload to the Hub failed: {error}; log in with `hf auth login` and try again"
        ) from None
    return str(commit.repo_url)
