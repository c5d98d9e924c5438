"""Upload dataset folders and metric folders to the Hub."""

from __future__ import annotations

from pathlib import Path

from epbench.errors import BadInput, RunFailed
from epbench.hub.dataset_folder import parquet_files
from epbench.metric_folders import metric_path


def push_dataset(folder: Path, namespace: str, *, private: bool = False) -> str:
    """Upload a dataset folder as the dataset `<namespace>/<folder's name>`.

    The login is that of `hf auth login` or the environment's HF_TOKEN.

    Returns:
        Address of the dataset.

    Raises:
        BadInput: the folder is no dataset, or not to be passed on.
        RunFailed: the Hub refuses, or cannot be reached.
    """
    check_may_be_passed_on(folder)
    return _push(folder, f"{namespace}/{folder.name}", "dataset", private)


def check_may_be_passed_on(folder: Path) -> None:
    """Raise BadInput for a folder that is no dataset, or whose card says no licence: its rows belong to others."""
    from huggingface_hub import DatasetCard

    parquet_files(folder)
    license = DatasetCard.load(folder / "README.md").data.to_dict().get("license")
    if license in (None, "unknown"):
        raise BadInput(
            f"{folder / 'README.md'}, field 'license': found {license or 'nothing'}, expected the licence under which "
            f"these rows may be passed on; without one they are for your own use (--to cache)"
        )


def push_metric(name: str, namespace: str, *, private: bool = False) -> str:
    """Upload a metric folder as the Space `<namespace>/<name>`, from where `evaluate.load` takes it.

    Raises:
        BadInput: there is no metric of that name.
        RunFailed: the Hub refuses, or cannot be reached.
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
            delete_patterns="*/*.parquet" if kind == "dataset" else None,  # of configs that are no longer there
        )
    except Exception as error:  # the Hub's client raises its own, the HTTP library's and the system's errors
        raise RunFailed(
            f"{repo}: the Hub did not take it: {error}; log in with `hf auth login` and try again"
        ) from None
    return str(commit.repo_url)
