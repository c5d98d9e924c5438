"""Install datasets and metrics on this machine, or push them to the Hub.

    python builders/publish.py out/short out/long --to cache
    python builders/publish.py --metrics --to cache
    python builders/publish.py out/short --metrics --to hub --namespace my-lab --private

After `--to cache`, `load_dataset("epbench/short")` and `evaluate.load("episodic_f1")` work from any folder, without a
network (set HF_HUB_OFFLINE=1 and HF_EVALUATE_OFFLINE=1 there, or both libraries first try to reach the Hub for a
while). `--to hub` needs a login (`hf auth login`, or HF_TOKEN in the environment), and refuses a dataset whose card says
`license: unknown`, such as converted published rows: these are for your own use. `--dry-run` only says what it would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from epbench import command


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("datasets", nargs="*", type=Path, help="dataset folders, as the builders make them")
    parser.add_argument("--metrics", action="store_true", help="all metrics too")
    parser.add_argument("--to", choices=["cache", "hub"], required=True, help="this machine's caches, or the Hub")
    parser.add_argument("--namespace", default="epbench", help="owner of the names (epbench)")
    parser.add_argument("--private", action="store_true", help="make new Hub repositories private")
    parser.add_argument("--dry-run", action="store_true", help="check everything and change nothing")
    args = parser.parse_args(argv)

    from epbench.errors import BadInput
    from epbench.hub import install as local
    from epbench.hub import push
    from epbench.hub.dataset_folder import parquet_files
    from epbench.metric_folders import metric_names

    metrics = metric_names() if args.metrics else []
    if not args.datasets and not metrics:
        raise BadInput("nothing to publish: name dataset folders, or give --metrics")
    for folder in args.datasets:
        parquet_files(folder)  # all folders are looked at before the first is published
        if args.to == "hub":
            push.check_may_be_passed_on(folder)

    console = command.console()
    for folder in args.datasets:
        name = f"{args.namespace}/{folder.resolve().name}"
        if args.dry_run:
            console.print(f"would publish {folder} as {name} to the {args.to}")
        elif args.to == "cache":
            local.install_dataset(folder.resolve(), args.namespace)
            console.print(f'installed: load_dataset("{name}")')
        else:
            console.print(f"pushed: {push.push_dataset(folder.resolve(), args.namespace, private=args.private)}")
    for metric in metrics:
        if args.dry_run:
            console.print(f"would publish the metric {metric} as {args.namespace}/{metric} to the {args.to}")
        elif args.to == "cache":
            local.install_metric(metric, args.namespace)
            console.print(f'installed: evaluate.load("{metric}")')
        else:
            console.print(f"pushed: {push.push_metric(metric, args.namespace, private=args.private)}")


if __name__ == "__main__":
    command.run(main)
