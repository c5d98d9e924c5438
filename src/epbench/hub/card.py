"""The card of a dataset: YAML for the Hub's viewer, and text for its readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.hub.dataset_folder import Config

VERSION = "0.1.0"
"""Version of our datasets, in the header of every card; on the Hub a tag. Other rows or columns need a higher one."""

CANARY = "epbench:canary:8c0f2e9d-5b1a-4f67-9d3e-71f4c6a2b05e"
CANARY_TEXT = f"""## Do not train on this

The rows measure memory and are worth nothing once they stand in a training set. If you filter training data,
drop every document that holds this line:

```
{CANARY}
```
"""


def card(configs: Sequence[Config], text: str, *, pretty_name: str, license: str, tags: Sequence[str]) -> str:
    """Return the text of a README.md, with its YAML header.

    Args:
        configs: The configs of the dataset, the default first. Entries with the same name are splits of one config.
        text: The Markdown below the header.
        pretty_name: The title on the Hub.
        license: The identifier of a licence, such as `mit` or `unknown`.
        tags: Tags besides `epbench`, which is always added.
    """
    from huggingface_hub import DatasetCardData

    by_name: dict[str, list[Config]] = {}
    for config in configs:
        by_name.setdefault(config.name, []).append(config)
    header = DatasetCardData(
        language="en",
        license=license,
        pretty_name=pretty_name,
        task_categories=["question-answering"],
        size_categories=[_size_category(max(config.n_rows for config in configs))],
        tags=["epbench", *tags],
        version=VERSION,
        configs=[_config_entry(splits, default=i == 0) for i, splits in enumerate(by_name.values())],
        dataset_info=[_info_entry(splits) for splits in by_name.values()],
    )
    return f"---\n{header.to_yaml()}\n---\n\n{text.strip()}\n\n{CANARY_TEXT}"


def _config_entry(splits: Sequence[Config], *, default: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "config_name": splits[0].name,
        "data_files": [{"split": each.split, "path": f"{each.name}/{each.split}-*.parquet"} for each in splits],
    }
    return entry | ({"default": True} if default else {})


def _info_entry(splits: Sequence[Config]) -> Mapping[str, Any]:
    return {
        "config_name": splits[0].name,
        "features": splits[0].features._to_yaml_list(),
        "splits": [{"name": each.split, "num_bytes": each.n_bytes, "num_examples": each.n_rows} for each in splits],
    }


def _size_category(rows: int) -> str:
    for limit, label in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")):
        if rows < limit:
            return label
    return "1M<n<10M"
