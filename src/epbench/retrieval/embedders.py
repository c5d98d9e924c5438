"""The embedders: a sentence-transformers model on this machine, and a model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import logging
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput, RunFailed, install_hint, reason_of
from epbench.files.cache import cache_folder
from epbench.files.secrets import without_secrets
from epbench.files.text import whole
from epbench.files.writing import replacing
from epbench.models.fingerprint import digest_over, digests_of
from epbench.models.hf.checkpoint import no_bars_in_a_log
from epbench.models.openai.address import MOST_BYTES, SizeLimit, find_address, shown
from epbench.models.openai.wire import ReplyTooLarge
from epbench.models.packages import PACKAGES, package_file
from epbench.retrieval.dense import batches

if TYPE_CHECKING:
    from epbench.retrieval.protocol import Matrix


DEFAULT_MODEL = "BAAI/bge-large-en-v1.5"
_PUBLISHED = {  # from the BGE model cards; bge-m3 and later models have no instruction
    "en": "Represent this sentence for searching relevant passages: ",
    "zh": "为这个句子生成表示以用于检索相关文章：",
}
_PARTS_OF_A_MODEL = {".json", ".txt", ".model", ".safetensors", ".bin"}

_log = logging.getLogger(__name__)


def query_instruction(model: str) -> str:
    """Return what the card of a model, or of its folder, puts before a query; empty for all but English and Chinese BGE."""
    match = re.search(r"(?:^|[/_-])bge-(?:small|base|large)-(en|zh)(?:[^a-z]|$)", model.lower())
    return _PUBLISHED[match[1]] if match else ""


class SentenceTransformerEmbedder:
    """A model on this machine, run on its GPU if there is one. Nothing is downloaded."""

    # About 15 long chunks: without a GPU a large model takes seconds for each, and a kill loses them.
    batch_bytes = 1 << 15

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        """Load the model from its folder, an installed package if it is `minilm`, or the Hub's cache by its name there.

        `BadInput` if the model is not on this machine, or sentence-transformers is not installed.
        """
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise BadInput(f"st:{model} needs sentence-transformers: {install_hint('models')}") from None
        local = _unpacked(package_file(model)) if model in PACKAGES else Path(model).expanduser()
        try:
            if model in PACKAGES:
                published, version = model, _content_of(local)
            elif local.is_dir():
                hub_name = next((part for part in local.resolve().parts if part.startswith("models--")), None)
                published, version = hub_name or local.resolve().name, _content_of(local)
            else:
                from huggingface_hub import snapshot_download

                local = Path(snapshot_download(model, local_files_only=True))  # a folder that is named after its commit
                published, version = model, local.name
            with no_bars_in_a_log():
                self._model = SentenceTransformer(str(local), local_files_only=True, trust_remote_code=False)
        except Exception as error:  # from the Hub's client, transformers, safetensors, pickle, JSON or the system
            raise BadInput(
                f"st:{model}: cannot load the model ({reason_of(error, 200)}); run `hf download {model}` first, "
                "name a folder, or use bm25"
            ) from None
        self.name = f"st:{published}@{version}"
        self._instruction = query_instruction(published)

    def check(self, chunks: Sequence[str]) -> None:
        """Warn of chunks that are longer than what the model reads."""
        limit, tokenizer = self._model.max_seq_length, self._model.tokenizer
        if not chunks or limit is None or not callable(tokenizer):  # a bag of words reads texts of any length
            return
        texts = [whole(chunk) for chunk in chunks]
        token_ids = tokenizer(texts, truncation=False, return_attention_mask=False, verbose=False)["input_ids"]
        lengths = [len(tokens) for tokens in token_ids]
        if cut := sum(length > limit for length in lengths):
            _log.warning(
                "%s reads at most %d tokens: %d of %d chunks are cut, and the longest has %d tokens; choose shorter chunks or "
                "a model that reads more",
                *(self.name, limit, cut, len(chunks), max(lengths)),
            )

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        asked = [whole(self._instruction + text if query else text) for text in texts]
        # With the empty prompt, no default from the model's configuration is put before chunks or queries.
        vectors: Matrix = self._model.encode(asked, prompt="", show_progress_bar=False, convert_to_numpy=True)
        return vectors


def _unpacked(archive: Path) -> Path:
    """Return the folder of a model that a package brings as a zip file. It is unpacked once, into the user's cache."""
    folder = cache_folder("checkpoints") / f"{archive.parent.name}-{digests_of([archive])[0][:12]}"
    if not folder.is_dir():
        try:
            with replacing(folder) as draft, zipfile.ZipFile(archive) as content:
                content.extractall(draft)  # it leaves out what would lead out of the folder
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise BadInput(f"{archive}: expected a zip file ({error}); install its package again") from None
    return folder


def _content_of(folder: Path) -> str:
    """Hash the files that make up the model, so that another model in this folder does not get its vectors."""
    parts = [path for path in sorted(folder.rglob("*")) if path.suffix in _PARTS_OF_A_MODEL and path.is_file()]
    parts = [path for path in parts if path.relative_to(folder).parts[0] not in ("onnx", "openvino")]
    return digest_over(folder, parts).hexdigest()[:16]


# An endpoint takes 300,000 tokens per request, and ordinary text has at most one token in two bytes.
_REQUEST_BYTES = 600_000
_RETRIES = 8  # of a request, after 0.5 s, 1 s, … 8 s or as long as the server asks: about 45 s in all
_TOO_MUCH = (400, 413, 422)  # statuses of a request that is too long, or has a text that is too long
_VECTOR_BYTES = 200_000  # at most, of a vector in JSON: 8,192 numbers
_LONGEST_WORDS = 200  # characters
_PASSING = (408, 409, 429, *range(500, 600))


class EndpointEmbedder:
    """A model behind an OpenAI-compatible `/embeddings`; its key is read from OPENAI_API_KEY."""

    batch_bytes = _REQUEST_BYTES

    def __init__(self, model: str, base_url: str | None = None, timeout_s: float = 300.0) -> None:
        """
        Address and key, and what is wrong with them, are as for `find_address`. `timeout_s` is how many seconds the endpoint may
        stay silent in one attempt at one request.
        """
        self._address = find_address(base_url, f"openai:{model}")
        import openai

        self._limit = SizeLimit()
        http = openai.DefaultHttpxClient(**self._limit.options(asynchronous=False))
        options = {**self._address.client_options, "max_retries": _RETRIES, "timeout": timeout_s, "http_client": http}
        self._client = openai.OpenAI(**options)
        self._model, self._instruction = model, query_instruction(model)
        self.name = f"openai:{model}@{shown(self._address.url).rstrip('/')}"

    def check(self, chunks: Sequence[str]) -> None:
        """Do nothing: the endpoint itself refuses texts that are too long."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Embed the texts in as few requests as the endpoint takes; see `Embedder.embed`.

        `BadInput` if the endpoint refuses a request or redirects it, `RunFailed` if it does not answer, or with other vectors.
        """
        import numpy as np

        asked = [whole(self._instruction + text if query else text) for text in texts]
        vectors = [vector for batch in batches(asked, self.batch_bytes) for vector in self._request(batch)]
        return np.array(vectors, dtype=np.float32)

    def _request(self, texts: list[str]) -> list[list[float]]:
        import openai

        self._limit.most_bytes = MOST_BYTES + len(texts) * _VECTOR_BYTES
        try:
            data = self._client.embeddings.create(model=self._model, input=texts).data
        except openai.APIStatusError as error:
            if error.status_code in _TOO_MUCH and len(texts) > 1:
                half = len(texts) // 2
                return self._request(texts[:half]) + self._request(texts[half:])
            message = f"{self.name}: HTTP {error.status_code}: {self._words(error)}"
            if 300 <= error.status_code < 400:
                where = shown(error.response.headers.get("location", ""))
                message += f"; it redirects to {where}, which is not followed"
            if error.status_code in _TOO_MUCH:
                message += f"; the text has {len(texts[0])} characters and begins {texts[0][:40]!r}"
            raise (RunFailed if error.status_code in _PASSING else BadInput)(message) from None
        except (openai.OpenAIError, ValueError) as error:  # no connection, or no valid answer
            raise RunFailed(f"{self.name}: {self._words(error)}") from None
        if not all(isinstance(getattr(item, "index", None), int) for item in data):
            raise RunFailed(f"{self.name}: expected numbered vectors in the answer")
        if sorted(item.index for item in data) != list(range(len(texts))):
            raise RunFailed(f"{self.name}: expected {len(texts)} vectors, numbered from 0, got {len(data)}")
        return [item.embedding for item in sorted(data, key=lambda item: item.index)]

    def _words(self, error: Exception) -> str:
        """Return the error as one line without keys, which some endpoints quote."""
        cause = error.__cause__ if isinstance(error.__cause__, ReplyTooLarge) else error
        words = " ".join(without_secrets(str(cause), self._address.secrets).split())
        return words[:_LONGEST_WORDS] or type(error).__name__
