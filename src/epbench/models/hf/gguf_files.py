"""A GGUF file becomes an ordinary checkpoint in the user's cache, once for each dtype."""

from __future__ import annotations

import ctypes
import gc
import logging
import mmap
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from copy import deepcopy
from functools import cache
from io import StringIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, install_hint, reason_of
from epbench.files.cache import cache_folder, refuse_full_disk
from epbench.files.writing import replacing
from epbench.models.fingerprint import digests_of, note_fingerprint
from epbench.models.hf.memory import refuse_large_weights, weights_named

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

_SPARE = 10**7  # bytes, for the tokenizer and the configuration
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_LONGEST_ARRAY = 10**7  # items; the gguf package makes an object of each


def checkpoint_of(file: Path, dtype: torch.dtype) -> Path:
    """Return a folder with the model of a GGUF file, as `save_pretrained` writes one.

    The first call makes the folder, which is named after the file, its content and the dtype; another process that asks for it
    meanwhile waits. `BadInput` if the file cannot be converted, or memory or the disk of the cache is too small.
    """
    from filelock import FileLock

    file = file.expanduser()
    if not file.is_file():
        raise BadInput(f"model {file}: no such file")
    (digest,) = digests_of([file])
    folder = cache_folder("checkpoints") / f"{file.stem}-{digest[:12]}-{str(dtype).removeprefix('torch.')}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            log.info("%s: converting it to a checkpoint, once, in %s", file, folder)
            # Without the progress bars of transformers where they would fill a log.
            quietly: Any = nullcontext() if sys.stderr.isatty() else redirect_stderr(StringIO())
            with quietly, replacing(folder) as draft:
                _convert(file, draft, dtype)
                note_fingerprint(draft, digest)
            gc.collect()
            with suppress(OSError, AttributeError):  # only glibc keeps gigabytes of tensors of less than 32 MB
                ctypes.CDLL(None).malloc_trim(0)
    return folder


def _convert(file: Path, draft: Path, dtype: torch.dtype) -> None:
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    try:
        blocks, weights = _blocks_and_weights(file)
    except (ValueError, struct.error) as error:  # of struct where the file ends too early
        raise _unfit(file, str(error)) from None
    with _headers_read_once():
        parameters = _check_sizes(file, blocks, weights)
        refuse_large_weights(str(file), parameters, dtype, "cuda" if torch.cuda.is_available() else "cpu")
        needed = dtype.itemsize * parameters + _SPARE
        refuse_full_disk(draft.parents[1], needed, f"the converted weights of {file}")
        tokenizer = _read(file, "tokenizer", AutoTokenizer.from_pretrained)
        if not tokenizer.chat_template:
            log.warning("%s: it has no chat template, so prompts will be plain text", file)
        # Since version 5.24, transformers has to be asked for plain weights where packed ones could be computed with.
        packed = getattr(transformers, "GgufConfig", None)
        plain = {"quantization_config": packed(dequantize=True)} if packed else {}
        loaded = _read(file, "weights", AutoModelForCausalLM.from_pretrained, dtype=dtype, **plain)
    # A model that was read from a GGUF file refuses to be saved. One that is made from its config takes its weights.
    config = deepcopy(loaded.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict(), assign=True)
    model.tie_weights()
    model.generation_config = GenerationConfig.from_model_config(config)
    model.save_pretrained(draft)
    tokenizer.save_pretrained(draft)


@contextmanager
def _headers_read_once() -> Iterator[None]:
    """Let transformers, which takes its reader from the package gguf, read the header of a file once instead of five times."""
    import gguf

    def opened(path: str) -> Any:
        opened = reader(path)
        opened.tensors = _Tensors(opened)
        return opened

    reader = gguf.GGUFReader
    gguf.GGUFReader = cache(opened)  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        gguf.GGUFReader = reader  # type: ignore[misc]


class _Tensors(list[Any]):
    """The tensors of a file, whose pages in memory are given back when the next one is taken."""

    def __init__(self, reader: Any) -> None:
        super().__init__(reader.tensors)
        self._pages = reader.data._mmap

    def __iter__(self) -> Iterator[Any]:
        for tensor in super().__iter__():
            yield tensor
            if hasattr(mmap, "MADV_DONTNEED"):
                self._pages.madvise(mmap.MADV_DONTNEED)


def _unfit(file: Path, found: str) -> BadInput:
    return BadInput(f"model {file}: cannot read its header ({found}); expected a whole GGUF file")


def _check_sizes(file: Path, blocks: int, weights: int) -> int:
    """Refuse a file whose header does not fit it, before anything is allocated by that; return how many weights it names."""
    from transformers import AutoConfig

    config = _read(file, "sizes", AutoConfig.from_pretrained)
    text = config.get_text_config()
    if text.num_hidden_layers > blocks:
        raise _unfit(file, f"it names {text.num_hidden_layers:,} blocks and has {blocks:,}")
    try:
        named = weights_named(config)
    except Exception as error:  # sizes that make no model can make torch and transformers raise anything
        raise _unfit(file, reason_of(error)) from None
    if named > 1.05 * weights:  # some architectures have a few that files leave out
        raise _unfit(file, f"the sizes that it names make a model of {named:,} weights, and it has {weights:,}")
    return named


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
