"""A sentence-transformers model of a few kilobytes, and an embeddings endpoint on loopback."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.loopback_endpoint import Body, Fault, LoopbackEndpoint
from tests.retrieval.counting_embedder import vector

WORDS = "the red blue green cat dog fox bird sat ran sang at in on park river hill who where was".split()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of one layer that reads 24 tokens, with mean pooling."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    bert, out = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("models") / "tiny"
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [*"[PAD] [UNK] [CLS] [SEP] [MASK] : ?".split(), *letters, *(f"##{x}" for x in letters), *WORDS]
    (bert / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=24,
    )  # fmt: skip
    BertModel(config).save_pretrained(bert)
    BertTokenizerFast(vocab=str(bert / "vocab.txt"), model_max_length=24).save_pretrained(bert)
    words = Transformer(str(bert), max_seq_length=24)
    SentenceTransformer(modules=[words, Pooling(16, "mean")], device="cpu").save(str(out))
    return out


class Endpoint(LoopbackEndpoint):
    """`/v1/embeddings` that fails on request."""

    path = "/v1/embeddings"

    def __init__(self) -> None:
        super().__init__(script=self._fault)
        self.failures: list[int] = []  # statuses of the next answers
        self.most_texts, self.most_characters, self.reverse = 2048, 10_000, False

    @property
    def embedded(self) -> list[list[str]]:
        """The texts of each request that was answered."""
        return [call.body["input"] for call in self.calls if call.answered]

    def _fault(self, number: int, body: Body) -> Fault | None:
        if self.failures:
            headers = {"Retry-After-Ms": "20", "Location": f"{self.url}/elsewhere?token=abc"}
            return Fault("status", self.failures.pop(0), headers, "on purpose")
        if body["model"] not in ("m", "BAAI/bge-small-en-v1.5"):
            return Fault("status", 404, words=f"no {body['model']} at {self.path}")
        if len(body["input"]) > self.most_texts:
            return Fault("status", 413, words=f"batch of {len(body['input'])}")
        long = any(len(text) > self.most_characters for text in body["input"])
        return Fault("status", 400, words="maximum context length") if long else None

    def completion(self, body: Body) -> Body:
        rows, coded = map(vector, body["input"]), body.get("encoding_format") == "base64"
        vectors = [base64.b64encode(row.tobytes()).decode() if coded else row.tolist() for row in rows]
        data = [{"object": "embedding", "index": i, "embedding": one} for i, one in enumerate(vectors)]
        about = {"object": "list", "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        return about | {"data": data[:: -1 if self.reverse else 1]}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    pytest.importorskip("openai", reason="openai is not installed")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Endpoint() as running:
        yield running
