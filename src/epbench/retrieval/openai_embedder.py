"""The embedder behind an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.errors import BadInput, RunFailed
from epbench.files.secrets import without_secrets
from epbench.models.openai.address import find_address, shown
from epbench.models.openai.wire import ReplyTooLarge
from epbench.models.protocol import whole
from epbench.retrieval.dense import batches
from epbench.retrieval.embedders import query_instruction

if TYPE_CHECKING:
    from epbench.retrieval.protocol import Matrix

_REQUEST_BYTES = (
    600_000  # an endpoint takes 300,000 tokens per request, and ordinary text has at most one token in two bytes
)
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
        Args:
            model: its name at the endpoint.
            base_url: URL up to `/v1`; by default OPENAI_BASE_URL, else OpenAI itself. An endpoint other than OpenAI may
                need no key. The query of the URL, if it has one, is sent with every request.
            timeout_s: seconds, more than 0, that the endpoint may stay silent in one attempt at one request.

        Raises:
            BadInput: the URL is not valid, the key is missing or cannot be sent, or the openai package is not installed.
        """
        self._address = find_address(base_url, f"openai:{model}")
        import openai

        from epbench.models.openai.reply_size import SizeLimit

        self._limit = SizeLimit()
        self._client = openai.OpenAI(
            **self._address.client_options,
            max_retries=_RETRIES,
            timeout=timeout_s,
            http_client=openai.DefaultHttpxClient(**self._limit.options(asynchronous=False)),
        )
        self._model, self._instruction = model, query_instruction(model)
        self.name = f"openai:{model}@{shown(self._address.url).rstrip('/')}"

    def check(self, chunks: Sequence[str]) -> None:
        """Do nothing: the endpoint itself refuses texts that are too long."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Embed the texts in as few requests as the endpoint takes; see `Embedder.embed`.

        Raises:
            BadInput: the endpoint refuses a request because of its key, its model or its length, or redirects it.
            RunFailed: there is no answer after eight retries, or the number of vectors is wrong.
        """
        import numpy as np

        asked = [whole(self._instruction + text if query else text) for text in texts]
        found = [vector for batch in batches(asked, self.batch_bytes) for vector in self._request(batch)]
        return np.array(found, dtype=np.float32)

    def _request(self, texts: list[str]) -> list[list[float]]:
        import openai

        from epbench.models.openai.reply_size import MOST_BYTES

        self._limit.most_bytes = MOST_BYTES + len(texts) * _VECTOR_BYTES
        try:
            data = self._client.embeddings.create(model=self._model, input=texts).data
        except openai.APIStatusError as error:
            if error.status_code in _TOO_MUCH and len(texts) > 1:
                half = len(texts) // 2
                return self._request(texts[:half]) + self._request(texts[half:])
            message = f"{self.name}: HTTP {error.status_code}: {self._words(error)}"
            if 300 <= error.status_code < 400:
                message += (
                    f"; it redirects to {shown(error.response.headers.get('location', ''))}, which is not followed"
                )
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
        said = error.__cause__ if isinstance(error.__cause__, ReplyTooLarge) else error
        words = " ".join(without_secrets(str(said), self._address.secrets).split())
        return words[:_LONGEST_WORDS] or type(error).__name__
