"""The embedder elsewhere: an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.errors import BadInput, RunFailed
from epbench.retrieval.dense import batches
from epbench.retrieval.embedders import one_line, query_instruction

if TYPE_CHECKING:
    from epbench.retrieval.dense import Matrix

_REQUEST_BYTES = 600_000  # an endpoint takes 300,000 tokens a request; no usual text has more than one in two bytes
_RETRIES = 8  # of a request, after 0.5 s, 1 s, … 8 s, or as the server says: three quarters of a minute in all
_TOO_MUCH = (400, 413, 422)  # what endpoints answer where a request or one of its texts is too long
_PASSING = (408, 409, 429, *range(500, 600))


class EndpointEmbedder:
    """A model behind an OpenAI-compatible `/embeddings`; the key is the environment's OPENAI_API_KEY."""

    batch_bytes = _REQUEST_BYTES

    def __init__(self, model: str, base_url: str | None = None) -> None:
        """
        Args:
            model: as the endpoint calls it.
            base_url: up to `/v1`; OPENAI_BASE_URL or OpenAI's own if None. Elsewhere no key is needed.

        Raises:
            BadInput: no key, or the openai package is not installed.
        """
        try:
            import openai
        except ImportError:
            raise BadInput(f"openai:{model} needs the openai package: pip install 'epbench[models]'") from None
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY") or ("none" if base_url else None)
        if key is None:
            raise BadInput(f"openai:{model}: set OPENAI_API_KEY, or give the address of an endpoint that needs no key")
        self._client = openai.OpenAI(api_key=key, base_url=base_url, max_retries=_RETRIES)
        self._model, self._instruction = model, query_instruction(model)
        self.name = f"openai:{model}@{str(self._client.base_url).rstrip('/')}"

    def check(self, chunks: Sequence[str]) -> None:
        """Nothing is known of the model; the endpoint refuses what is too long."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """One vector for each text, (number of texts, d), in as few requests as the endpoint takes.

        Raises:
            BadInput: the request is refused: wrong key, unknown model, too long a text.
            RunFailed: there is still no answer after eight retries, or a wrong number of vectors.
        """
        import numpy as np

        asked = [self._instruction + text for text in texts] if query else list(texts)
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
            told = f"{self.name}: HTTP {error.status_code}: {one_line(error)}"
            if error.status_code in _TOO_MUCH:
                told += f"; the text has {len(texts[0])} characters and begins {texts[0][:40]!r}"
            raise (RunFailed if error.status_code in _PASSING else BadInput)(told) from None
        except (openai.OpenAIError, ValueError) as error:  # no connection, or an answer that is none
            raise RunFailed(f"{self.name}: {one_line(error)}") from None
        if sorted(item.index for item in data) != list(range(len(texts))):
            raise RunFailed(f"{self.name}: {len(data)} vectors for {len(texts)} texts, or their numbers are wrong")
        return [item.embedding for item in sorted(data, key=lambda item: item.index)]
