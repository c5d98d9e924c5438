"""LangMem: memories that a model writes and revises by tool calls, kept in LangGraph's store in memory.

The paper does not evaluate it; the settings are those of langmem 0.0.30. It does not take the time of a conversation.

The store is lost with its process. Therefore everything it holds is written to a file after each conversation, and put
back, which embeds it once more, when the folder is opened again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from epbench.memories.systems.adapter import Watch

DEFAULTS: dict[str, Any] = {
    "temperature": None,  # None leaves it to the model
    "query_limit": 5,  # memories that the model sees beside a conversation, and can revise
    "enable_deletes": False,
}

_ALL = 100_000  # memories to list; the default is 10
_NAMESPACE = ("memories",)
_FOREIGN = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_")  # variables that change the address, or turn tracing on


class LangMem:
    """A store manager over an `InMemoryStore` that lies in a JSON file as well."""

    durable = True

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
            del os.environ[name]
        from langchain_openai import ChatOpenAI, OpenAIEmbeddings  # type: ignore[import-not-found]
        from langgraph.store.base import PutOp  # type: ignore[import-not-found]
        from langgraph.store.memory import InMemoryStore  # type: ignore[import-not-found]
        from langmem import create_memory_store_manager  # type: ignore[import-not-found]

        api = {"base_url": settings["base_url"], "api_key": settings["api_key"]}
        embeddings = OpenAIEmbeddings(
            model=settings["embedding_model"],
            dimensions=settings["dimensions"],
            check_embedding_ctx_length=False,  # its check sends numbers of tokens instead of texts
            **api,
        )
        self._watch = Watch("extraction")
        self.usage = self._watch.usage
        model = ChatOpenAI(
            model=settings["model"],
            temperature=settings["temperature"],
            use_responses_api=False,
            callbacks=[_callbacks(self._watch)],
            **api,
        )
        self._store = InMemoryStore(index={"dims": settings["dimensions"], "embed": embeddings})
        self._manager = create_memory_store_manager(
            model,
            namespace=_NAMESPACE,
            store=self._store,
            query_limit=settings["query_limit"],
            enable_deletes=settings["enable_deletes"],
        )
        self._file = folder / "memories.json"
        if self._file.exists():
            memories = json.loads(self._file.read_text("utf-8"))
            while memories:  # more than once where a text occurs twice, with which the store fails
                keys = {json.dumps(value): key for key, value in memories.items()}.values()
                self._store.batch([PutOp(_NAMESPACE, key, memories.pop(key)) for key in keys])

    def store_conversation(self, conversation: list[dict[str, str]]) -> None:
        """Give the conversation to the manager.

        Raises:
            Exception: the model gave no answer, also when it was asked again. Nothing of the conversation is stored.
        """
        messages = [{"role": turn["role"], "content": turn["content"]} for turn in conversation]
        with self._watch.watching():
            puts = self._manager.invoke({"messages": messages})
        for put in puts:  # the manager does not look whether the store has taken them
            stored = self._store.get(put["namespace"], put["key"])
            self._watch.swallowed += stored is None or stored.value != put["value"]
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps({item.key: item.value for item in self._items()}), "utf-8")
        draft.replace(self._file)

    def retrieve_memories(self, query: str, conversation: list[dict[str, str]], k: int) -> list[str]:
        """Return the k memories closest to the query. The conversation is not used."""
        return [_text(item) for item in self._store.search(_NAMESPACE, query=query, limit=k)]

    def get_all_memories(self) -> list[str]:
        """Return all memories."""
        return [_text(item) for item in self._items()]

    def _items(self) -> list[Any]:
        return list(self._store.search(_NAMESPACE, limit=_ALL))


def _callbacks(watch: Watch) -> Any:
    """Have LangChain report each reply and each error of the model."""
    from langchain_core.callbacks import BaseCallbackHandler  # type: ignore[import-not-found]

    class Callbacks(BaseCallbackHandler):  # type: ignore[misc]
        def on_llm_end(self, response: Any, **named: Any) -> None:
            message = response.generations[0][0].message
            watch.unparsable += bool(message.invalid_tool_calls) or not message.tool_calls

        def on_llm_error(self, error: BaseException, **named: Any) -> None:
            watch.errors += 1

    return Callbacks()


def _text(item: Any) -> str:
    """The text of a memory, whose schema is that of LangMem."""
    return str(item.value["content"]["content"])
