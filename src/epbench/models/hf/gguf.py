"""From a GGUF file to an ordinary checkpoint in the user's cache, once. Torch and transformers are imported when needed."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

from epbench.cache import VARIABLE, cache_folder
from epbench.errors import BadInput
from epbench.files.replacing import replacing
from epbench.models.fingerprint import digests_of
from epbench.starting.extras import install_hint

log = logging.getLogger(__name__)

_LONGEST_REASON = 300  # characters
_SPARE = 10**7  # bytes, for the tokenizer and the configuration


def checkpoint_of(file: Path) -> Path:
    """Return a folder with the model of a GGUF file, as `save_pretrained` writes one.

    The weights are those of the file, in float32, with its tokenizer and chat template. The first call makes the folder,
    which is named after the file and its content; another process that asks for it meanwhile waits.

    Args:
        file: The GGUF file, with all weights in it.

    Raises:
        BadInput: There is no such file, it is damaged, it has no tokenizer, transformers does not know the architecture,
            or the disk of the cache is too small.
    """
    from filelock import FileLock

    file = file.expanduser()
    if not file.is_file():
        raise BadInput(f"model {file}: no such file")
    folder = cache_folder("checkpoints") / f"{file.stem}-{digests_of([file])[0][:12]}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            log.info("%s: converting it to a checkpoint, once, in %s", file, folder)
            _convert(file, folder)
    return folder


def _convert(file: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    with _quietly():
        tokenizer = _read(file, "tokenizer", AutoTokenizer.from_pretrained)
        if not tokenizer.chat_template:
            log.warning("%s: it has no chat template, so prompts will be plain text", file)
        loaded = _read(file, "weights", AutoModelForCausalLM.from_pretrained, dtype=torch.float32)
        needed, free = 4 * loaded.num_parameters() + _SPARE, shutil.disk_usage(folder.parent).free
        if free < needed:
            raise BadInput(
                f"{folder.parent}: the converted weights of {file} take {needed / 1e9:,.2f} GB, but {free / 1e9:,.2f} GB are "
                f"free on this disk; set {VARIABLE} to a folder on another one"
            )
        # A model that was read from a GGUF file refuses to be saved. One that is made from its config takes its weights.
        config = deepcopy(loaded.config)
        del config.quantization_config
        with torch.device("meta"):
            model = type(loaded)(config)
        model.load_state_dict(loaded.state_dict(), assign=True)
        model.tie_weights()
        model.generation_config = GenerationConfig.from_model_config(config)
        with replacing(folder) as draft:
            model.save_pretrained(draft)
            tokenizer.save_pretrained(draft)


def _read(file: Path, what: str, load: Callable[..., Any], **more: Any) -> Any:
    """Read a part of the file with transformers; whatever goes wrong is one line."""
    try:
        return load(str(file.parent), gguf_file=file.name, trust_remote_code=False, local_files_only=True, **more)
    except MemoryError:
        raise
    except ImportError as error:
        raise BadInput(f"model {file}: reading GGUF needs more ({error}); {install_hint('models')}") from None
    except Exception as error:  # a foreign file can make transformers, gguf, tokenizers and numpy raise anything
        reason = " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
        raise BadInput(
            f"model {file}: cannot read its {what} ({reason}); expected a whole GGUF file, of an architecture that "
            "transformers knows, with a tokenizer"
        ) from error


def _quietly() -> AbstractContextManager[object]:
    """Without the progress bars of transformers where they would fill a log."""
    return nullcontext() if sys.stderr.isatty() else redirect_stderr(StringIO())
