"""Which version of a model's weights is meant: a revision of the Hub, and an adapter on top.

Nothing here loads weights. Two variants of one model have different identities, so that they never share answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, reason_of
from epbench.models.controls import Controls, refuse_controls
from epbench.models.fingerprint import commit_of, content_fingerprint, weights_fingerprint
from epbench.models.hf.checkpoint import find_checkpoint, load_tokenizer, read_window
from epbench.models.packages import PACKAGES

if TYPE_CHECKING:
    from epbench.models.hf.prompt_tokens import PromptTokens
    from epbench.models.protocol import Request

_CONFIG, _WEIGHTS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")


@dataclass(frozen=True)
class Variant:
    """Files of a model that have been found, without anything loaded."""

    path: str  # the folder of the checkpoint, or its name on the Hub
    revision: str | None = None  # what was asked for; None for the Hub's main branch, or for a folder
    commit: str | None = None  # the commit that the revision stands for, 40 hex digits; None without a revision
    adapter: str | None = None  # what was asked for; None without an adapter
    adapter_folder: Path | None = None  # the folder of the adapter

    def identity(self, name: str, dtype: str) -> str:
        """A model's name with the fingerprint of its weights, as `hf:PATH@1f0c3a…`; the name alone if there is none.

        What answers depend on belongs to it: an adapter, as `hf:PATH@1f0c3a…+77ab01…`, and a dtype that somebody has chosen, as
        `hf:PATH@1f0c3a…-bfloat16`.
        """
        weights = self.commit or weights_fingerprint(self.path) or ""
        if self.adapter_folder is not None:
            weights += f"+{content_fingerprint(self.adapter_folder)}"
        fingerprint = "-".join(filter(None, (weights, "" if dtype == "auto" else dtype)))
        return f"{name}@{fingerprint}" if fingerprint else name

    def about(self) -> dict[str, str]:
        """What run.json says of the variant; nothing for a model that is named without one."""
        about = {"revision": self.revision, "commit": self.commit, "adapter": self.adapter}
        if self.adapter_folder is not None:
            in_snapshot = self.adapter_folder.parent.name == "snapshots"
            about["adapter_commit"] = self.adapter_folder.name if in_snapshot else None
            about["adapter_weights"] = content_fingerprint(self.adapter_folder)
        return {name: value for name, value in about.items() if value is not None}


def find_variant(
    name: str, revision: str | None = None, adapter: str | None = None, *, dtype: str = "auto", device: str = "auto"
) -> Variant:
    """Find the files of a model; what the Hub's cache does not have is downloaded, unless `HF_HUB_OFFLINE=1`.

    `revision` is a branch, tag or commit of a model on the Hub, `adapter` the folder of an adapter that peft has saved, or its
    name on the Hub. `dtype` is in what it computes, which is how a GGUF file is stored.

    Raises:
        BadInput: A file on this machine has no revisions, the Hub has no such revision, there is no such adapter, or the
            model is an adapter itself.
    """
    path = find_checkpoint(name, dtype, device)
    commit = None
    if revision is not None:
        if Path(path).is_dir() or name in PACKAGES:
            raise BadInput(
                f"model {name}: revision {revision!r} was asked for, but only a model on the Hub has revisions, and this "
                "one lies on this machine"
            )
        commit = commit_of(path, revision)
        if commit is None:
            raise BadInput(f"model {name}: no revision {revision!r} of it, neither in the Hub's cache nor on the Hub")
    if adapter is None:
        return Variant(path, revision, commit)
    if (Path(path) / _CONFIG).is_file():
        raise BadInput(f"model {name}: it is an adapter itself; give its base model, and one adapter")
    return Variant(path, revision, commit, adapter, _adapter_folder(adapter))


class LocalModel:
    """What models with weights on this machine share: which files are meant, and what they say before weights are loaded."""

    costs_nothing = False
    continues_prompts = True
    device = "auto"

    def __init__(
        self, kind: str, path_or_id: str, dtype: str, revision: str | None, adapter: str | None, controls: Controls
    ) -> None:
        refuse_controls(f"{kind}:{path_or_id}", controls)
        self.name, self.dtype, self.controls = f"{kind}:{path_or_id}{controls.mark}", dtype, controls
        self._given = path_or_id, revision, adapter

    @cached_property
    def variant(self) -> Variant:
        """The files of the model; see `find_variant`."""
        return find_variant(*self._given, dtype=self.dtype, device=self.device)

    def about_variant(self) -> dict[str, Any]:
        """See `variant_of`."""
        return self.variant.about() | self.controls.given

    @cached_property
    def identity(self) -> str:
        return self.variant.identity(self.name, self.dtype)

    @cached_property
    def prompts(self) -> PromptTokens:
        """The prompts as this model's tokenizer writes them; `BadInput` if there is no tokenizer."""
        from epbench.models.hf.prompt_tokens import PromptTokens

        return PromptTokens(load_tokenizer(self.variant.path, self.variant.commit), self.controls)

    @cached_property
    def own_window(self) -> int | None:
        """What config and tokenizer say of the window."""
        return read_window(self.variant.path, self.prompts.tokenizer, self.variant.commit)

    def window(self) -> int | None:
        return self.own_window

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """See `Model.count_tokens`; the tokenizer counts."""
        n = len(self.prompts.ids(request))
        return n, min(n, self.prompts.shared(request))


def _adapter_folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        if name.startswith(("/", ".", "~")) or name.count("/") > 1:
            raise BadInput(f"adapter {name}: no such folder")
        try:
            folder = Path(snapshot_download(name, allow_patterns=[_CONFIG, *_WEIGHTS]))
        except Exception as error:  # the Hub's library raises errors of its own, of requests and of the system
            raise BadInput(
                f"adapter {name}: no such folder, and no such adapter on the Hub ({reason_of(error, 200)})"
            ) from None
    if not (folder / _CONFIG).is_file() or not any((folder / file).is_file() for file in _WEIGHTS):
        raise BadInput(
            f"adapter {name}: expected a folder with {_CONFIG} and {_WEIGHTS[0]}, as peft saves them; a whole model is "
            "not an adapter and is named as the model"
        )
    return folder
