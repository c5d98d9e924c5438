"""Install datasets and metrics on this machine, or upload them or finished runs to the Hub.

    python builders/publish.py out/short out/long --to cache
    python builders/publish.py --metrics --to cache
    python builders/publish.py out/short --metrics --to hub --namespace my-lab --private
    python builders/publish.py out/short --metrics --to hub --namespace my-lab --dry-run
    python builders/publish.py runs/long/rag-chapter --to hub --namespace my-lab

After `--to cache`, `load_dataset("epbench/short")` and `evaluate.load("episodic_f1")` work from any folder, without a
network (set HF_HUB_OFFLINE=1 and HF_EVALUATE_OFFLINE=1 there, or both libraries first try to reach the Hub for a
while). If other rows are installed under the name of a dataset, nothing is replaced without --force.

`--to hub` needs a login (`hf auth login`, or HF_TOKEN in the environment). Each folder becomes one commit of its
repository, with a tag: `v` and the `version` in the header of a dataset's README.md, or `epbench-` and the version of the
package for a metric. Load what you have measured on with `load_dataset("my-lab/short", revision="v0.1.0")`. A tag stays
where it is: if it is on other content, nothing is uploaded until you raise the version, or move the tag with --force.

The same command can be given again at any time, also after a broken connection or a kill: what has arrived is not sent
again, and without a difference there is no commit. If somebody else commits to the repository at the same moment, the
upload is repeated on top of it; if they have changed the same files, it stops and names them. `--dry-run` changes nothing
and lists what would be new, changed, deleted or unchanged.

A finished run becomes a dataset of its own: its questions and answers as rows, its scores, page and journals, and a card that
says how to verify it. Its run.json goes along as it is, with the command and paths of the machine that it was made on.
`epbench export eval-results RUN --source URL` names it as the source of a score on a model's page.

A dataset is refused whose card says `license: unknown`, such as converted published rows, which are for your own use.
Large files go through Xet; if a proxy does not let it pass, set HF_HUB_DISABLE_XET=1, and they go over plain HTTPS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.hub.install import Installation
    from epbench.hub.push import Difference, Push


@dataclass(frozen=True, kw_only=True)
class Arguments:
    datasets: list[Path] = argument("dataset folders, as the builders write them, or runs", default=[], positional=True)
    metrics: bool = argument("all metrics too")
    to: Literal["cache", "hub"] = argument("this machine's caches, or the Hub")
    namespace: str = argument("owner of the names (epbench)", default="epbench")
    private: bool = argument("make new Hub repositories private")
    force: bool = argument("replace other rows in the cache; on the Hub, move a tag that is on other content")
    dry_run: bool = argument("list the differences and change nothing")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.errors import BadInput
    from epbench.metric_folders import metric_names

    metrics = metric_names() if args.metrics else []
    folders = [folder.resolve() for folder in args.datasets]
    if not folders and not metrics:
        raise BadInput("nothing to publish: name dataset folders, or give --metrics")
    if args.to == "hub":
        with TemporaryDirectory(prefix="epbench-publish-") as scratch:
            _to_hub(args, folders, metrics, Path(scratch))
        return
    if runs := [folder for folder in folders if (folder / "run.json").is_file()]:
        raise BadInput(f"{runs[0]}: a run is published on the Hub alone; expected a dataset folder")
    _to_cache(args, folders, metrics)


def _to_cache(args: Arguments, folders: Sequence[Path], metrics: Sequence[str]) -> None:
    from epbench.errors import BadInput
    from epbench.hub.install import install_dataset, install_metric, metric_is_installed, planned_install

    console = command.console()
    planned = [planned_install(folder, args.namespace) for folder in folders]  # all, before the first one is changed
    for each in planned:
        if args.dry_run:
            _show_installation(each)
        elif each.replaces and not args.force:
            raise BadInput(f"{_replacement(each)}; give --force to replace it, or another --namespace")
    for each in () if args.dry_run else planned:
        install_dataset(each.folder, args.namespace)
        console.say(f'{"installed" if each.changes else "already installed"}: load_dataset("{each.name}")')
    for metric in metrics:
        if metric_is_installed(metric, args.namespace):
            console.say(f'already installed: evaluate.load("{metric}")')
        elif args.dry_run:
            console.say(f'would install: evaluate.load("{metric}")')
        else:
            install_metric(metric, args.namespace)
            console.say(f'installed: evaluate.load("{metric}")')


def _to_hub(args: Arguments, folders: Sequence[Path], metrics: Sequence[str], scratch: Path) -> None:
    from epbench.errors import BadInput
    from epbench.hub.push import (
        check_may_be_passed_on,
        dataset_push,
        is_run,
        metric_push,
        push,
        run_push,
        write_run_folder,
    )

    datasets, runs = [f for f in folders if not is_run(f)], [f for f in folders if is_run(f)]
    for folder in datasets:
        check_may_be_passed_on(folder)  # all of them, before the first request
    written = [write_run_folder(folder, args.namespace, scratch) for folder in runs]
    planned = [dataset_push(folder, args.namespace) for folder in datasets]
    planned += [run_push(folder, args.namespace) for folder in written]
    planned += [metric_push(metric, args.namespace) for metric in metrics]
    for each in planned:
        if args.dry_run:
            _show_push(each)
        elif each.moves_tag and not args.force:
            raise BadInput(f"{_tag_conflict(each)}; raise the version, or give --force to move the tag")
    for each in () if args.dry_run else planned:
        done = push(each, private=args.private)
        counts = f" ({_counts(done.files)})" if done.changes else ""
        tag = f", tag {done.tag}" if done.tag else ", without a tag, as its README.md has no version"
        command.console().say(f"{'uploaded' if done.changes else 'unchanged'}: {done.address}{counts}{tag}")


def _replacement(planned: Installation) -> str:
    return (
        f"{planned.name} is already installed with {planned.there}, and {planned.folder} holds something else, "
        f"{planned.given}"
    )


def _tag_conflict(planned: Push) -> str:
    others = [each.path for each in planned.tagged_files if each.state != "unchanged"]
    return (
        f"{planned.repo}: the tag {planned.tag} is on other content than {planned.folder} "
        f"(commit {str(planned.tagged)[:7]}; {len(others)} files differ, the first is {others[0]})"
    )


def _show_installation(planned: Installation) -> None:
    command.console().say(f"{planned.name} in the cache, from {planned.folder}")
    _show_files(planned.files)
    if planned.replaces:
        command.console().say(f"  needs --force: {_replacement(planned)}")


def _show_push(planned: Push) -> None:
    new = "" if planned.head else ", a new repository"
    command.console().say(f"{planned.repo} on the Hub ({planned.kind}{new}), from {planned.folder}")
    _show_files(planned.files)
    if planned.moves_tag:
        command.console().say(f"  needs --force: {_tag_conflict(planned)}")
    elif planned.tag:
        command.console().say(f"  tag {planned.tag}: {'unchanged' if planned.tagged else 'new'}")
    else:
        command.console().say("  no tag: README.md has no version")


def _show_files(files: Iterable[Difference]) -> None:
    for each in files:
        command.console().say(f"  {each.state:<9} {each.size / 1000:>12,.1f} kB  {each.path}")


def _counts(files: Iterable[Difference]) -> str:
    """Such as `2 new, 1 changed`."""
    counts = Counter(each.state for each in files)
    return ", ".join(f"{counts[state]} {state}" for state in ("new", "changed", "deleted") if counts[state])


if __name__ == "__main__":
    command.run(main)
