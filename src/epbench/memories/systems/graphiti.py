"""Graphiti: a graph of entities and of facts between them, extracted by a model, searched by words and by vectors.

For graphiti-core 0.31 with the embedded database Kuzu. It was not part of the published evaluation, so that the settings
are its own defaults. A conversation is one episode at its simulated time. A memory is the fact of an edge between two
entities; Graphiti sets edges that a later episode contradicts to invalid, but goes on to return them.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from epbench.memories.systems.adapter import Watch

DEFAULTS: dict[str, Any] = {
    "temperature": 1.0,
    "max_tokens": 16384,
    "sim_min_score": 0.6,  # of similarity, for an edge to be found by its vector
}

_GROUP = "memories"
_LARGEST = 1 << 32  # bytes of a database; a power of two
_BUFFERS = 1 << 29  # bytes
_NO_JSON = ("Expecting", "Extra data", "Unterminated", "Invalid", "empty response", "validation error")


class Graphiti:
    """A graph in one file of the folder."""

    durable = True

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        os.environ |= {"GRAPHITI_TELEMETRY_ENABLED": "false", "EMBEDDING_DIM": str(settings["dimensions"])}
        import graphiti_core  # type: ignore[import-not-found]
        from graphiti_core.driver.driver import GraphProvider  # type: ignore[import-not-found]
        from graphiti_core.driver.kuzu_driver import KuzuDriver  # type: ignore[import-not-found]
        from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig  # type: ignore[import-not-found]
        from graphiti_core.graph_queries import get_fulltext_indices  # type: ignore[import-not-found]
        from graphiti_core.llm_client.config import LLMConfig  # type: ignore[import-not-found]
        from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient  # type: ignore[import-not-found]

        self._settings = settings
        self._watch = Watch("graphiti_core", logging.ERROR, _NO_JSON, about="LLM response")
        self.usage = self._watch.usage
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        database = folder / "graph.kuzu"
        new = not database.exists()
        with _small_database():
            self._driver = KuzuDriver(str(database))
        self._driver._database = _GROUP  # add_episode() compares it with the group, and this driver does not set it
        api = {"api_key": settings["api_key"], "base_url": settings["base_url"]}
        model = LLMConfig(**api, model=settings["model"], temperature=settings["temperature"])
        vectors = OpenAIEmbedderConfig(
            **api, embedding_model=settings["embedding_model"], embedding_dim=settings["dimensions"]
        )
        self._graphiti = graphiti_core.Graphiti(
            graph_driver=self._driver,
            llm_client=OpenAIGenericClient(model, max_tokens=settings["max_tokens"]),
            embedder=OpenAIEmbedder(vectors),
            cross_encoder=_no_cross_encoder(),
        )
        if new:  # the driver creates the tables, and leaves the indices of words to others
            for query in get_fulltext_indices(GraphProvider.KUZU):
                self._run(self._driver.execute_query(query))

    def store_conversation(self, conversation: list[dict[str, str]]) -> None:
        """Add the conversation as one episode, with a line for each turn.

        Raises:
            Exception: the model or the embedder gave no answer that could be used, after Graphiti's own attempts.
        """
        if not conversation:
            return
        lines = "\n".join(f"{turn['role']}: {turn['content']}" for turn in conversation)
        when = datetime.fromisoformat(conversation[0]["timestamp"])
        with self._watch.watching():
            self._run(
                self._graphiti.add_episode(
                    name=f"conversation of {when.isoformat()}",
                    episode_body=lines,
                    source_description="conversation",
                    reference_time=when if when.tzinfo else when.replace(tzinfo=UTC),
                    group_id=_GROUP,
                )
            )
        self._run(self._driver.execute_query("CHECKPOINT;"))  # so that the file alone, without its log, holds all of it

    def retrieve_memories(self, query: str, conversation: list[dict[str, str]], k: int) -> list[str]:
        """Return the facts of the k best edges: found by words and by vectors, both ranks fused."""
        from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF  # type: ignore[import-not-found]

        config = EDGE_HYBRID_SEARCH_RRF.model_copy(deep=True)
        config.limit = k
        config.edge_config.sim_min_score = self._settings["sim_min_score"]
        results = self._run(self._graphiti.search_(query, config, group_ids=[_GROUP]))
        return [edge.fact for edge in results.edges[:k]]

    def get_all_memories(self) -> list[str]:
        """Return the facts of all edges, in the order of their creation."""
        query = "MATCH (e:RelatesToNode_) RETURN e.fact AS fact ORDER BY e.created_at, e.uuid"
        records, _, _ = self._run(self._driver.execute_query(query))
        return [record["fact"] for record in records]

    def close(self) -> None:
        """Close the database and the connections."""
        with suppress(Exception):
            self._run(self._graphiti.llm_client.client.close())
            self._run(self._graphiti.embedder.client.close())
        self._driver.client.close()
        self._driver.db.close()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


@contextmanager
def _small_database() -> Iterator[None]:
    """Have Kuzu reserve 4 GiB of addresses; by default it is 8 TiB, which a limit of memory does not allow."""
    import kuzu  # type: ignore[import-not-found]

    usual = kuzu.Database
    kuzu.Database = partial(usual, max_db_size=_LARGEST, buffer_pool_size=_BUFFERS)
    try:
        yield
    finally:
        kuzu.Database = usual


def _no_cross_encoder() -> Any:
    """Return what stands for a model that ranks passages: the search used here needs none, and a default would ask one."""
    from graphiti_core.cross_encoder.client import CrossEncoderClient  # type: ignore[import-not-found]

    class NoCrossEncoder(CrossEncoderClient):  # type: ignore[misc]
        async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
            raise NotImplementedError("the search that fuses ranks asks no cross-encoder")

    return NoCrossEncoder()
