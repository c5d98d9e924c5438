"""What is known of a checkpoint before its weights are loaded: its tokenizer, its window and the tokens of a label.

A GGUF file becomes an ordinary checkpoint in the user's cache, once. Torch and transformers are imported when needed.
"""

from __future__ import annotations

import logging
import mmap
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from copy import deepcopy
from io import StringIO
from math import prod
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, reason_of
from epbench.files.cache import VARIABLE, cache_folder
from epbench.files.replacing import replacing
from epbench.models.fingerprint import digests_of
from epbench.starting.extras import install_hint

log = logging.getLogger(__name__)

_WINDOW_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "model_max_length")
_NO_LIMIT = 10**9  # a tokenizer without a limit says 1e30


def find_checkpoint(name: str) -> str:
    """Return the folder of a model, or its name on the Hub.

    Args:
        name: The folder, a GGUF file, the name of an installed package with a language model (see
            `epbench.models.packages`), or the name on the Hub. A GGUF file is converted once, into the user's cache.

    Raises:
        BadInput: The package is not installed, or the file cannot be converted.
    """
    from epbench.models.packages import PACKAGES, package_file

    file = package_file(name) if name in PACKAGES else Path(name).expanduser()
    if file.suffix == ".gguf" and not file.is_dir():
        return str(checkpoint_of(file))
    return str(file) if name.startswith("~") else name


def load_tokenizer(path_or_id: str, revision: str | None = None) -> Any:
    """Load the tokenizer of a model, from its folder or the Hub, there of a revision if one is given.

    No code from the folder is run, and the user is asked nothing.

    Raises:
        BadInput: there is no tokenizer, or it needs code of its own.
    """
    from transformers import AutoTokenizer

    _check_folder(path_or_id)
    try:
        return AutoTokenizer.from_pretrained(path_or_id, trust_remote_code=False, **_revision_keyword(revision))
    except Exception as error:  # a foreign file can make transformers, tokenizers and JSON raise anything
        raise _unreadable(path_or_id, "tokenizer", error) from None


def read_window(path_or_id: str, tokenizer: Any, revision: str | None = None) -> int | None:
    """Read how many tokens prompt and answer may have together; None if neither config nor tokenizer says.

    If they differ, the smaller number counts, as it does for vLLM.

    Raises:
        BadInput: the config cannot be read.
    """
    from transformers import AutoConfig

    _check_folder(path_or_id)
    try:
        config = AutoConfig.from_pretrained(
            path_or_id, trust_remote_code=False, **_revision_keyword(revision)
        ).get_text_config()
    except Exception as error:  # a foreign file can make transformers, tokenizers and JSON raise anything
        raise _unreadable(path_or_id, "config", error) from None
    limits = [getattr(config, key, None) for key in _WINDOW_KEYS] + [tokenizer.model_max_length]
    lengths = [int(length) for length in limits if isinstance(length, int | float) and 0 < length < _NO_LIMIT]
    return min(lengths, default=None)


def label_ids(tokenizer: Any, label: str) -> list[int]:
    """Return the ids of the tokens that spell the label alone or after a space, in ascending order.

    Raises:
        BadInput: there is no such token, so the probability of the label cannot be read from one token.
    """
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


def _revision_keyword(revision: str | None) -> dict[str, str]:
    return {"revision": revision} if revision else {}


def _check_folder(path_or_id: str) -> None:
    """Refuse a path that does not exist; transformers would take it for a name on the Hub and report that instead."""
    looks_local = path_or_id.startswith(("/", ".")) or path_or_id.count("/") > 1
    if looks_local and not Path(path_or_id).is_dir():
        raise BadInput(f"model {path_or_id}: no such folder")


def _unreadable(path_or_id: str, part: str, error: Exception) -> BadInput:
    return BadInput(
        f"model {path_or_id}: no {part} that transformers can read, in a folder or on the Hub ({reason_of(error, 200)})"
    )


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


_SPARE = 10**7  # bytes, for the tokenizer and the configuration
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_LONGEST_ARRAY = 10**7  # items; the gguf package makes an object of each


def checkpoint_of(file: Path) -> Path:
    """Return a folder with the model of a GGUF file, as `save_pretrained` writes one.

    The weights are those of the file, in float32, with its tokenizer and chat template. The first call makes the folder,
    which is named after the file and its content; another process that asks for it meanwhile waits.

    Raises:
        BadInput: There is no such file, it is damaged or says that it holds more than it does, it has no tokenizer,
            transformers does not know the architecture, or the disk of the cache is too small.
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
        _check_sizes(file)
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


def _check_sizes(file: Path) -> None:
    """Refuse a file whose header does not fit it, before anything is allocated by that header."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    def refuse(found: str) -> BadInput:
        return BadInput(f"model {file}: cannot read its header ({found}); expected a whole GGUF file")

    try:
        blocks, weights = _blocks_and_weights(file)
    except (ValueError, struct.error) as error:  # of struct where the file ends too early
        raise refuse(str(error)) from None
    config = _read(file, "sizes", AutoConfig.from_pretrained)
    text = config.get_text_config()
    if text.num_hidden_layers > blocks:
        raise refuse(f"it names {text.num_hidden_layers:,} blocks and has {blocks:,}")
    try:
        with torch.device("meta"):
            named = AutoModelForCausalLM.from_config(config).num_parameters()  # type: ignore[no-untyped-call]
    except Exception as error:  # sizes that make no model can make torch and transformers raise anything
        raise refuse(reason_of(error)) from None
    if named > 1.05 * weights:  # some architectures have a few that files leave out
        raise refuse(f"the sizes that it names make a model of {named:,} weights, and it has {weights:,}")


def _blocks_and_weights(file: Path) -> tuple[int, int]:
    """Return how many blocks of layers and how many weights a file has."""
    from gguf.constants import GGML_QUANT_SIZES

    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = 0

        def number(form: str) -> Any:
            nonlocal at
            (value,) = struct.unpack_from(form, content, at)
            at += struct.calcsize(form)
            return value

        def skip(n: int) -> bytes:
            nonlocal at
            if n > len(content) - at:
                raise ValueError(f"an item of {n:,} bytes at byte {at:,} of {len(content):,}")
            at += n
            return content[at - n : at] if n < 1000 else b""

        def value(kind: int) -> Any:
            if kind == _STRING:
                return skip(number("<Q"))
            if kind in _NUMBERS:
                return number(_NUMBERS[kind])
            raise ValueError(f"a value of type {kind} at byte {at:,}")

        if content[:4] != b"GGUF" or struct.unpack_from("<I", content, 4)[0] not in (2, 3):
            raise ValueError("it does not begin like a GGUF file of version 2 or 3")
        at = 8
        n_tensors, n_values = number("<Q"), number("<Q")
        values: dict[bytes, Any] = {}
        for _ in range(n_values):
            key, kind = skip(number("<Q")), number("<I")
            if kind != _ARRAY:
                values.setdefault(key, value(kind))
                continue
            kind, n = number("<I"), number("<Q")
            if n > _LONGEST_ARRAY:
                raise ValueError(f"an array of {n:,} items")
            if kind in _NUMBERS:
                skip(n * struct.calcsize(_NUMBERS[kind]))
            else:
                for _ in range(n):
                    value(kind)
        alignment = values.get(b"general.alignment", 32)
        tensors, blocks = [], set()
        for _ in range(n_tensors):
            name = skip(number("<Q")).decode(errors="replace")
            shape = [number("<Q") for _ in range(min(number("<I"), 9))]
            if (kind := number("<I")) not in GGML_QUANT_SIZES:
                raise ValueError(f"tensor {name!r} of an unknown type, {kind}")
            tensors.append((name, prod(shape), *GGML_QUANT_SIZES[kind], number("<Q")))
            if name.startswith("blk."):
                blocks.add(name.split(".")[1])
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError(f"an alignment of {alignment}")
        room, taken = len(content) - at - -at % alignment, 0
        for name, n, in_block, block_bytes, offset in tensors:
            taken += (n_bytes := n // in_block * block_bytes)
            if offset % alignment or offset + n_bytes > room or taken > room:
                raise ValueError(f"tensor {name!r} of {n_bytes:,} bytes at offset {offset:,} of {room:,} bytes")
        return len(blocks), sum(tensor[1] for tensor in tensors)


def _read(file: Path, part: str, load: Callable[..., Any], **more: Any) -> Any:
    """Read a part of the file with transformers; whatever goes wrong is one line."""
    try:
        return load(str(file.parent), gguf_file=file.name, trust_remote_code=False, local_files_only=True, **more)
    except MemoryError:
        raise
    except ImportError as error:
        raise BadInput(f"model {file}: reading GGUF needs more ({error}); {install_hint('models')}") from None
    except Exception as error:  # a foreign file can make transformers, gguf, tokenizers and numpy raise anything
        raise BadInput(
            f"model {file}: cannot read its {part} ({reason_of(error)}); expected a whole GGUF file, of an architecture that "
            "transformers knows, with a tokenizer"
        ) from error


def _quietly() -> AbstractContextManager[object]:
    """Without the progress bars of transformers where they would fill a log."""
    return nullcontext() if sys.stderr.isatty() else redirect_stderr(StringIO())
