"""Upload what has been planned to the Hub: one commit and a tag.

A push can be repeated at any time. Large files that have arrived before are not sent again, and without a difference there
is no commit. The commit names its parent, so that what somebody else has committed meanwhile is not overwritten.
"""

from __future__ import annotations

from pathlib import Path

from epbench.errors import BadInput, RunFailed
from epbench.hub.push_plan import Push, compared_again, dataset_push, metric_push, one_line_error

_ATTEMPTS = 3  # commits that are tried if somebody else commits at the same time
_CONFLICTS = (409, 412)  # 412: the parent of the commit is no longer the newest


def push_dataset(folder: Path, namespace: str, *, private: bool = False) -> str:
    """Plan and push a dataset folder, and return its address; see `dataset_push` and `push`."""
    return push(dataset_push(folder, namespace), private=private).address


def push_metric(name: str, namespace: str, *, private: bool = False) -> str:
    """Plan and push a metric folder, and return its address; see `metric_push` and `push`."""
    return push(metric_push(name, namespace), private=private).address


def push(planned: Push, *, private: bool = False, move_tag: bool = False) -> Push:
    """Make the repository what the folder is, and set the tag.

    Args:
        planned: What `dataset_push` or `metric_push` found.
        private: Whether a new repository is private.
        move_tag: Whether to take the tag from other content.

    Returns:
        What has been committed; nothing if there was no difference.

    Raises:
        BadInput: The tag is on other content, and is not to be moved.
        RunFailed: The Hub refuses the upload, cannot be reached, or somebody else changes the same files.
    """
    if planned.moves_tag and not move_tag:
        raise BadInput(f"{planned.repo}: the tag {planned.tag} is on other content, at commit {planned.tagged}")
    with one_line_error(planned.repo):
        if planned.head is None:
            _create(planned, private)
            planned = compared_again(planned)
        done = _commit(planned)
        _set_tag(compared_again(done))
    return done


def _create(planned: Push, private: bool) -> None:
    from huggingface_hub import HfApi

    sdk = "gradio" if planned.kind == "space" else None
    HfApi().create_repo(planned.repo, repo_type=planned.kind, private=private, exist_ok=True, space_sdk=sdk)


def _commit(planned: Push) -> Push:
    """Commit the changes, again if somebody else has committed other files in the meantime."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    for _ in range(_ATTEMPTS):
        if not planned.changes:
            return planned
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationDelete(each.path)
            if each.state == "deleted"
            else CommitOperationAdd(each.path, planned.folder / each.path)
            for each in planned.files
            if each.state != "unchanged"
        ]
        try:
            HfApi().create_commit(
                planned.repo,
                operations,
                commit_message=f"Publish {planned.repo}" + (f" {planned.tag}" if planned.tag else ""),
                repo_type=planned.kind,
                parent_commit=planned.head,
            )
        except HfHubHTTPError as error:
            if error.response.status_code not in _CONFLICTS:
                raise
            planned = _after_conflict(planned)
        else:
            return planned
    raise RunFailed(f"{planned.repo}: somebody else keeps committing to it; give the same command again later")


def _after_conflict(planned: Push) -> Push:
    now = compared_again(planned)
    theirs = [
        each.path
        for each in now.files
        if each.state != "unchanged" and now.there.get(each.path) != planned.there.get(each.path)
    ]
    if theirs:
        raise RunFailed(
            f"{now.repo}: somebody else has changed {', '.join(theirs)} during the upload; look at their commit "
            f"{str(now.head)[:7]}, then give the same command again to replace it"
        )
    return now


def _set_tag(now: Push) -> None:
    """Tag the newest commit, unless the tag is already on the same content."""
    from huggingface_hub import HfApi

    if now.tag is None or (now.tagged is not None and not now.moves_tag):
        return
    if now.tagged is not None:
        HfApi().delete_tag(now.repo, tag=now.tag, repo_type=now.kind)
    HfApi().create_tag(now.repo, tag=now.tag, revision=now.head, repo_type=now.kind)
