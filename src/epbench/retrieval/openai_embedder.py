"""The embedder elsewhere: an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.errors import BadInput, RunFailed
from epbench.models.openai.address import find_address, shown
from epbench.models.protocol import whole
from epbench.retrieval.dense import batches
from epbench.retrieval.embedders import query_instruction
from epbench.runs.secrets import without_secrets

if TYPE_CHECKING:
    from epbench.retrieval.dense import Matrix

_REQUEST_BYTES = 600_000  # an endpoint takes 300,000 tokens a request; no usual text has more than one in two bytes
_RETRIES = 8  # of a request, after 0.5 s, 1 s, … 8 s, or as the server says: three quarters of a minute in all
_TOO_MUCH = (400, 413, 422)  # what endpoints answer where a request or one of its texts is too long
_LONGEST_WORDS = 200  # characters
_PASSING = (408, 409, 429, *range(500, 600))


class EndpointEmbedder:
    """A model behind an OpenAI-compatible `/embeddings`; the key is the environment's OPENAI_API_KEY."""

    batch_bytes = _REQUEST_BYTES

    def __init__(self, model: str, base_url: str | None = None, timeout_s: float = 300.0) -> None:
        """
        Args:
            model: as the endpoint calls it.
            base_url: up to `/v1`; OPENAI_BASE_URL or OpenAI's own if None. Elsewhere no key is needed. Its query, if it
                has one, is sent with every request.
            timeout_s: seconds, above 0, that the endpoint may be silent in one try of one request.

        Raises:
            BadInput: the URL is none, the key is missing or cannot be sent, or the openai package is not installed.
        """
        self._address = find_address(base_url, f"openai:{model}")
        import openai

        self._client = openai.OpenAI(
            **self._address.client_options,
            max_retries=_RETRIES,
            timeout=timeout_s,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        self._model, self._instruction = model, query_instruction(model)
        self.name = f"openai:{model}@{shown(self._address.url).rstrip('/')}"

    def check(self, chunks: Sequence[str]) -> None:
        """Nothing is known of the model; the endpoint refuses what is too long."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """One vector for each text, (number of texts, d), in as few requests as the endpoint takes.

        Raises:
            BadInput: the request is refused: wrong key, unknown model, too long a text, a redirect.
            RunFailed: there is still no answer after eight retries, or a wrong number of vectors.
        """
        import numpy as np

        asked = [whole(self._instruction + text if query else text) for text in texts]
        found = [vector for batch in batches(asked, self.batch_bytes) for vector in self._request(batch)]
        return np.array(found, dtype=np.float32)

    def _request(self, texts: list[str]) -> list[list[float]]:
        import openai

        try:
            data = self._client.embeddings.create(model=self._model, input=texts).data
        except openai.APIStatusError as error:
            if error.status_code in _TOO_MUCH and len(texts) > 1:
                half = len(texts) // 2
                return self._request(texts[:half]) + self._request(texts[half:])
            told = f"{self.name}: HTTP {error.status_code}: {self._words(error)}"
            if 300 <= error.status_code < 400:
                told += f"; it redirects to {shown(error.response.headers.get('location', ''))}, which is not followed"
            if error.status_code in _TOO_MUCH:
                told += f"; the text has {len(texts[0])} characters and begins {texts[0][:40]!r}"
            raise (RunFailed if error.status_code in _PASSING else BadInput)(told) from None
        except (openai.OpenAIError, ValueError) as error:  # no connection, or an answer that is none
            raise RunFailed(f"{self.name}: {self._words(error)}") from None
        if not all(isinstance(getattr(item, "index", None), int) for item in data):
            raise RunFailed(f"{self.name}: the answer holds no numbered vectors")
        if sorted(item.index for item in data) != list(range(len(texts))):
            raise RunFailed(f"{self.name}: {len(data)} vectors for {len(texts)} texts, or their numbers are wrong")
        return [item.embedding for item in sorted(data, key=lambda item: item.index)]

    def _words(self, error: Exception) -> str:
        """One line, without keys: some endpoints quote them."""
        words = " ".join(without_secrets(str(error), self._address.secrets).split())
        return words[:_LONGEST_WORDS] or type(error).__name__
