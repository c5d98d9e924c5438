"""What is known of a checkpoint before its weights are loaded: where it is, its tokenizer and window, the tokens of a label."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, reason_of

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

_WINDOW_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "model_max_length")
_NO_LIMIT = 10**9  # a tokenizer without a limit says 1e30


def find_checkpoint(name: str, dtype: str = "float32", device: str = "auto") -> str:
    """Return the folder of a model, or its name on the Hub.

    It may be named by its folder, a GGUF file, which is converted into the user's cache once for each dtype, an installed package
    (see `epbench.models.packages`), or on the Hub. `BadInput` if a file cannot be converted, or a package is not installed.
    """
    from epbench.models.packages import PACKAGES, package_file

    file = package_file(name) if name in PACKAGES else Path(name).expanduser()
    if file.suffix == ".gguf" and not file.is_dir():
        from epbench.models.hf.gguf_files import checkpoint_of

        return str(checkpoint_of(file, torch_dtype(dtype, device)))
    return str(file) if name.startswith("~") else name


def torch_dtype(name: str, device: str = "auto") -> torch.dtype:
    """Return a dtype of torch by name, else `BadInput`; `auto`: bfloat16 on CUDA, float16 if that is emulated, else float32."""
    import torch

    if name == "auto":
        if not (device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())):
            return torch.float32
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise BadInput(f"dtype: expected auto, float32, bfloat16 or float16, got {name!r}")
    return dtype


def load_tokenizer(path_or_id: str, revision: str | None = None) -> Any:
    """Load a tokenizer from a folder or the Hub, without running code from there; `BadInput` if there is none."""
    from transformers import AutoTokenizer

    return _read_part(path_or_id, "tokenizer", AutoTokenizer.from_pretrained, revision)


def read_window(path_or_id: str, tokenizer: Any, revision: str | None = None) -> int | None:
    """Read how many tokens prompt and answer may have together, the least that config and tokenizer say; None if none does."""
    from transformers import AutoConfig

    def of_text(*name: str, **more: Any) -> Any:
        return AutoConfig.from_pretrained(*name, **more).get_text_config()

    config = _read_part(path_or_id, "config", of_text, revision)
    limits = [getattr(config, key, None) for key in _WINDOW_KEYS] + [tokenizer.model_max_length]
    lengths = [int(length) for length in limits if isinstance(length, int | float) and 0 < length < _NO_LIMIT]
    return min(lengths, default=None)


def label_ids(tokenizer: Any, label: str) -> list[int]:
    """Return the ids of the tokens that spell a label alone or after a space, in ascending order; `BadInput` if none does."""
    marked = [tokenizer.convert_tokens_to_ids(token) for token in (label, f"\u2581{label}", f"\u0120{label}")]
    spelled = {id_ for id_ in marked if id_ is not None and id_ != tokenizer.unk_token_id}
    for spelling in (label, f" {label}"):
        ids = tokenizer(spelling, add_special_tokens=False)["input_ids"]
        spelled |= {ids[0]} if len(ids) == 1 and ids[0] != tokenizer.unk_token_id else set()
    if not spelled:
        raise BadInput(
            f"label {label!r}: expected one token, but the tokenizer has no single token for it; choose a shorter label"
        )
    return sorted(spelled)


def _read_part(path_or_id: str, part: str, load: Callable[..., Any], revision: str | None) -> Any:
    # Transformers would take a path that does not exist for a name on the Hub, and report that instead.
    looks_local = path_or_id.startswith(("/", ".")) or path_or_id.count("/") > 1
    if looks_local and not Path(path_or_id).is_dir():
        raise BadInput(f"model {path_or_id}: no such folder")
    try:
        return load(path_or_id, trust_remote_code=False, revision=revision or "main")
    except Exception as error:  # a foreign file can make transformers, tokenizers and JSON raise anything
        raise BadInput(
            f"model {path_or_id}: no {part} that transformers can read, in a folder or on the Hub ({reason_of(error, 200)})"
        ) from None


@contextmanager
def no_bars_in_a_log() -> Iterator[None]:
    """Load weights without the progress bars of transformers where they would fill a log instead of a terminal."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()  # type: ignore[no-untyped-call]
    if not sys.stderr.isatty():
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
