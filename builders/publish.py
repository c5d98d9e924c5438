"""Install datasets and metrics on this machine, or upload them to the Hub.

    python builders/publish.py out/short out/long --to cache
    python builders/publish.py --metrics --to cache
    python builders/publish.py out/short --metrics --to hub --namespace my-lab --private

After `--to cache`, `load_dataset("epbench/short")` and `evaluate.load("episodic_f1")` work from any folder, without a
network (set HF_HUB_OFFLINE=1 and HF_EVALUATE_OFFLINE=1 there, or both libraries first try to reach the Hub for a
while). `--to hub` needs a login (`hf auth login`, or HF_TOKEN in the environment). It refuses a dataset whose card says
`license: unknown`, such as converted published rows, which are for your own use. `--dry-run` checks everything and only
says what it would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from epbench import command


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What the command line says."""

    datasets: list[Path]
    metrics: bool
    to: Literal["cache", "hub"]
    namespace: str
    private: bool
    dry_run: bool


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = command.parser(__doc__)
    parser.add_argument("datasets", nargs="*", type=Path, help="dataset folders, as the builders write them")
    parser.add_argument("--metrics", action="store_true", help="all metrics too")
    parser.add_argument("--to", choices=["cache", "hub"], required=True, help="this machine's caches, or the Hub")
    parser.add_argument("--namespace", default="epbench", help="owner of the names (epbench)")
    parser.add_argument("--private", action="store_true", help="make new Hub repositories private")
    parser.add_argument("--dry-run", action="store_true", help="check everything and change nothing")
    return Arguments(**vars(parser.parse_args(argv)))


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)

    from epbench.errors import BadInput
    from epbench.metric_folders import metric_names

    metrics = metric_names() if args.metrics else []
    if not args.datasets and not metrics:
        raise BadInput("nothing to publish: name dataset folders, or give --metrics")
    _check(args)
    console = command.console()
    for folder in args.datasets:
        console.say(_publish_dataset(args, folder))
    for metric in metrics:
        console.say(_publish_metric(args, metric))


def _check(args: Arguments) -> None:
    """Check all folders before the first one is published."""
    from epbench.hub.dataset_folder import parquet_files
    from epbench.hub.push import check_may_be_passed_on

    for folder in args.datasets:
        parquet_files(folder)
        if args.to == "hub":
            check_may_be_passed_on(folder)


def _publish_dataset(args: Arguments, folder: Path) -> str:
    """Publish a dataset, and return a line that says where it is."""
    from epbench.hub.install import install_dataset
    from epbench.hub.push import push_dataset

    name = f"{args.namespace}/{folder.resolve().name}"
    if args.dry_run:
        return f"would publish {folder} as {name} to the {args.to}"
    if args.to == "hub":
        return f"uploaded: {push_dataset(folder.resolve(), args.namespace, private=args.private)}"
    install_dataset(folder.resolve(), args.namespace)
    return f'installed: load_dataset("{name}")'


def _publish_metric(args: Arguments, metric: str) -> str:
    """Publish a metric, and return a line that says where it is."""
    from epbench.hub.install import install_metric
    from epbench.hub.push import push_metric

    if args.dry_run:
        return f"would publish the metric {metric} as {args.namespace}/{metric} to the {args.to}"
    if args.to == "hub":
        return f"uploaded: {push_metric(metric, args.namespace, private=args.private)}"
    install_metric(metric, args.namespace)
    return f'installed: evaluate.load("{metric}")'


if __name__ == "__main__":
    command.run(main)
