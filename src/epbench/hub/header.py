"""The YAML header of a dataset folder's card, as somebody may have edited it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import check_size, shown
from epbench.hub.dataset_folder import parquet_files
from epbench.safe_text import one_line

_HEADER = re.compile(r"\s*---\r?\n(.*?)\r?\n---\s*(?:\n|$)", re.DOTALL)


def header_of(folder: Path) -> dict[str, Any]:
    """Return the fields of the header; none if there is no header.

    Raises:
        BadInput: The card is not UTF-8, or its header is not a mapping in YAML.
        OSError: There is no card, or it cannot be read.
    """
    import yaml  # type: ignore[import-untyped]

    path = folder / "README.md"
    try:
        check_size(path)
        found = _HEADER.match(path.read_text("utf-8"))
        fields = (yaml.safe_load(found[1]) if found else None) or {}
    except BadInput:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: expected a header in YAML, found something else ({one_line(str(error))})") from None
    if not isinstance(fields, dict):
        raise BadInput(f"{path}: expected a header with fields, found {shown(fields)}")
    return fields


def default_config(folder: Path) -> str:
    """Return the name of the config that `load_dataset` takes if none is named.

    Raises:
        BadInput: The folder is not a dataset folder, no config is marked as the default, or it has no Parquet files.
    """
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
