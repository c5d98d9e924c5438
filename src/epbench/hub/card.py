"""The card of a dataset: YAML for the Hub's viewer and text for its readers, from templates; and reading its header again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.text import check_size, one_line, shown
from epbench.hub.dataset_folder import CANARY, CANARY_COLUMN, CROISSANT_FILE, FIELDS, Card, Config, parquet_files

if TYPE_CHECKING:
    from jinja2 import Template

VERSION = "0.1.0"
"""Version of our datasets, in the header of every card; on the Hub a tag. Other rows or columns need a higher one."""


def filled_card(package: str, configs: Sequence[Config], values: Mapping[str, Any]) -> Card:
    """Return a card from the template `data/card.md.jinja` of a package; a value that is missing is an error.

    The template is the Markdown of the card. It sets `header`, the further arguments of `card` by name, and says
    something of each field of responsible use by setting its name.
    """
    rendered = _template(package, "card.md.jinja").make_module(dict(values))
    use = {field: getattr(rendered, field) for field in FIELDS}
    return card(configs, str(rendered), **rendered.header, responsible_use=use)


def filled(package: str, name: str, values: Mapping[str, Any]) -> str:
    """Return the text of a template in the folder `data` of a package; a value that is missing is an error."""
    return str(_template(package, name).render(values))


def card(
    configs: Sequence[Config],
    text: str,
    *,
    pretty_name: str,
    license: str,
    tags: Sequence[str],
    task_category: str = "question-answering",
    task_ids: Sequence[str] = (),
    version: str = VERSION,
    responsible_use: Mapping[str, str | Sequence[str]] | None = None,
) -> Card:
    """Return a card, README.md with its YAML header, and `text` below it.

    The default config comes first; entries with the same name are splits of one config. The tags follow `epbench`.
    `version` of the rows becomes a tag on the Hub. `responsible_use` is what the card says of each of `FIELDS`; None for
    no such section.
    """
    from huggingface_hub import DatasetCardData

    by_name: dict[str, list[Config]] = {}
    for config in configs:
        by_name.setdefault(config.name, []).append(config)
    header = DatasetCardData(
        language="en",
        license=license,
        pretty_name=pretty_name,
        task_categories=[task_category],
        task_ids=list(task_ids) or None,
        size_categories=[_size_category(sum(config.n_rows for config in configs))],
        tags=["epbench", *tags],
        version=version,
        configs=[
            {
                "config_name": name,
                "data_files": [{"split": of.split, "path": f"{name}/{of.split}-*.parquet"} for of in splits],
                **({"default": True} if name == configs[0].name else {}),
            }
            for name, splits in by_name.items()
        ],
        dataset_info=[
            {
                "config_name": name,
                "features": splits[0].stored_features._to_yaml_list(),
                "splits": [{"name": of.split, "num_bytes": of.n_bytes, "num_examples": of.n_rows} for of in splits],
            }
            for name, splits in by_name.items()
        ],
    )
    use = {  # as cells of a table
        field: " ".join(value.replace("|", "/").split()) if isinstance(value, str) else value
        for field, value in (responsible_use or {}).items()
    }
    values = {"header": header.to_yaml(), "text": text.strip(), "responsible_use": use, "file": CROISSANT_FILE}
    values |= {"canary": CANARY, "canary_column": CANARY_COLUMN}
    return Card(filled("epbench.hub", "card.md.jinja", values), vars(header), use)


def _template(package: str, name: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True, "undefined": StrictUndefined}
    environment = Environment(loader=FileSystemLoader(packaged(package)), **options)
    # A paragraph loses the line breaks of its template.
    environment.filters |= {"one_line": lambda text: re.sub(r"\s*\n\s*", " ", text.strip()), "thousands": "{:,}".format}
    return environment.get_template(name)


def _size_category(rows: int) -> str:
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((label for limit, label in limits.items() if rows < limit), "1M<n<10M")


BENCHMARK_FILE = "eval.yaml"  # by which the Hub knows a dataset as a benchmark; it is validated when it is pushed


def benchmark_yaml(name: str, description: str, tasks: Mapping[str, str]) -> str:
    """Return the text of eval.yaml of a benchmark that our own commands run.

    `tasks` has, by the name of a score as `epbench export eval-results` reports it, the config that it is about.
    """
    import yaml  # type: ignore[import-untyped]

    about = {"name": name, "description": description}
    listed = [{"id": task, "config": config, "split": "test"} for task, config in tasks.items()]
    return str(yaml.safe_dump(about | {"tasks": listed}, sort_keys=False, allow_unicode=True, width=120))


_HEADER = re.compile(r"\s*---\r?\n(.*?)\r?\n---\s*(?:\n|$)", re.DOTALL)


def header_of(folder: Path) -> dict[str, Any]:
    """Return the fields of the header, none without one; BadInput if it is no mapping in YAML, or not UTF-8."""
    import yaml  # type: ignore[import-untyped]

    path = folder / "README.md"
    check_size(path)
    try:
        match = _HEADER.match(path.read_text("utf-8"))
        fields = (yaml.safe_load(match[1]) if match else None) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: expected a header in YAML, found something else ({one_line(str(error))})") from None
    if not isinstance(fields, dict):
        raise BadInput(f"{path}: expected a header with fields, found {shown(fields)}")
    return fields


def licence_of(folder: Path, which: str, otherwise: str) -> str:
    """Return the licence of a dataset; `which` rows it is about, and what holds without it (`otherwise`), are for messages.

    BadInput if the card names no licence, or says that it is unknown: the rows belong to others.
    """
    license = header_of(folder).get("license")
    if license in (None, "unknown"):
        raise BadInput(
            f"{folder / 'README.md'}, field 'license': expected the licence under which {which} may be passed on, found "
            f"{license or 'nothing'}; {otherwise}"
        )
    return str(license)


def default_config(folder: Path) -> str:
    """Return the config that `load_dataset` takes if none is named; BadInput if no config with files is marked so."""
    files, path = parquet_files(folder), folder / "README.md"
    configs = header_of(folder).get("configs") or []
    if not isinstance(configs, list) or not all(isinstance(config, dict) for config in configs):
        raise BadInput(f"{path}, field 'configs': expected a list of configs, found {shown(configs)}")
    names = [config.get("config_name") for config in configs if config.get("default")]
    if not names:
        raise BadInput(f"{path}: no config is marked 'default: true' in the YAML header")
    if names[0] not in files:
        raise BadInput(f"{path}: the default config is {names[0]!r}, but it has no Parquet files")
    return str(names[0])
