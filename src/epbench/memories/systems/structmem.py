"""StructMem: events with their relations, in a checkout of LightMem (https://github.com/zjunlp/LightMem).

MemFail, Section 5.2 and Appendix A. The package index has no release of it. The settings and the steps are those of the
published evaluation: after each conversation, the new entries are summarised and all entries are consolidated. Summaries
go to a store of their own, which no retrieval reads; a memory is an entry with its time.

One thing differs. The published evaluation cuts a conversation into topics by the attention of a BERT model, which needs
PyTorch and the Hub. Here a conversation is one segment, so that a conversation of one turn is treated alike.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.memories.protocol import Conversation
from epbench.memories.systems.adapter import Watch, stand_in

DEFAULTS: dict[str, Any] = {
    "source": "",  # folder of the checkout
    "messages_use": "user_only",
    "extract_threshold": 0.1,
    "max_tokens": 20000,
    "summarize": True,
    "summary_window": 3600,  # seconds of simulated time
    "summary_seeds": 15,
    "update_score": 0.9,
}

_FOREIGN = ("OPENROUTER_API_KEY", "OPENROUTER_API_BASE", "OPENAI_API_BASE")  # would lead LightMem to another address
_OFFSET = timedelta(seconds=1)  # LightMem moves the later ones of several messages with one time by half a second

_Message = dict[str, str]


class StructMem:
    """One store of StructMem, in two folders of Qdrant."""

    durable = True

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        _add_checkout(settings["source"])
        for name in _FOREIGN:
            os.environ.pop(name, None)
        self._embedder = stand_in(settings)
        _count_tokens_by_length()
        self._module: Any = importlib.import_module("lightmem.memory.lightmem")
        self._memory = self._module.LightMemory.from_config(_config(folder, settings))
        if not hasattr(self._memory, "summary_retriever"):
            raise BadInput(f"source of structmem: {settings['source']!r} is LightMem from before it had StructMem")
        self._settings = settings
        self._summarised: float | None = None  # until when, in simulated time; LightMem finds it out after a restart
        self._watch = Watch()
        self.usage = self._watch.usage
        _watch_replies(self._memory.manager, self._watch)

    def store_conversation(self, conversation: Conversation) -> None:
        """Have LightMem extract what the conversation says, summarise it and consolidate all entries."""
        with self._watch.watching():
            self._add(conversation)
            if self._settings["summarize"]:
                self._summarize()
            self._memory.construct_update_queue_all_entries()
            self._memory.offline_update_all_entries(score_threshold=self._settings["update_score"])

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Find the entries nearest to the query.

        The parts of LightMem's `retrieve` are used, because its result is one text in some versions and a list in others.
        """
        entries = self._memory.embedding_retriever.search(
            query_vector=self._memory.text_embedder.embed(query), limit=k, return_full=True
        )
        return [_text(entry["payload"]) for entry in entries]

    def get_all_memories(self) -> list[str]:
        """List all entries."""
        return [_text(entry["payload"]) for entry in self._entries()]

    def close(self) -> None:
        """Release the two folders of Qdrant."""
        self._memory.embedding_retriever.close()
        self._memory.summary_retriever.close()

    def _entries(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self._memory.embedding_retriever.get_all(with_vectors=False)
        return entries

    def _entries_of(self, conversation: Conversation) -> list[str]:
        """Return the ids of the entries whose time lies in a conversation."""
        times = [datetime.fromisoformat(turn["timestamp"]) for turn in conversation]
        stamped = {entry["id"]: entry["payload"]["time_stamp"] for entry in self._entries()}
        return [
            id_
            for id_, stamp in stamped.items()
            if stamp and min(times) <= datetime.fromisoformat(stamp) <= max(times) + _OFFSET
        ]

    def _add(self, conversation: Conversation) -> None:
        messages = _pairs(conversation)
        result = self._memory.add_memory(messages=messages, force_segment=True, force_extract=True)
        if "api_call_nums" not in result and not self._entries_of(conversation):
            # This version leaves it to a segmenter to go on, and has stored nothing.
            self._memory.config.topic_segment = True
            self._memory.segmenter = None
            self._memory.senmem_buffer_manager = _OneSegment()
            self._memory.add_memory(messages=messages, force_segment=True, force_extract=True)

    def _summarize(self) -> None:
        """Summarise what is new. LightMem keeps in its module how far it is; here each store has a place of its own."""
        self._module.GLOBAL_LAST_SUMMARY_TIME = self._summarised
        self._memory.summarize(
            retrieval_scope="global",
            time_window=self._settings["summary_window"],
            top_k_seeds=self._settings["summary_seeds"],
            process_all=True,
        )
        self._summarised = self._module.GLOBAL_LAST_SUMMARY_TIME


def _watch_replies(manager: Any, watch: Watch) -> None:
    """Count what LightMem will swallow.

    The wrapper knows nothing of the store: Qdrant's folders have to be free as soon as nobody holds the store any more.
    """
    ask = watch.counting_errors_of(manager.generate_response)

    def generate_response(*args: Any, **options: Any) -> Any:
        reply, usage = ask(*args, **options)
        if options.get("response_format") and not _is_expected(reply or ""):
            watch.unparsable += 1
        return reply, usage

    manager.generate_response = generate_response


class _OneSegment:
    """Takes the place of the buffer that LightMem cuts into topics: messages that come together stay together."""

    def __init__(self) -> None:
        self._messages: list[Any] = []

    def add_messages(self, messages: list[Any], *rest: Any) -> list[list[Any]]:
        self._messages = messages
        return []

    def cut_with_segmenter(self, *rest: Any) -> list[list[Any]]:
        return [self._messages]


class _Tokens:
    """Takes the place of a tokenizer of tiktoken, which downloads its table: four bytes count as one token."""

    def encode(self, text: str) -> list[int]:
        return [0] * (len(text.encode(errors="replace")) // 4 + 1)


def _count_tokens_by_length() -> None:
    """LightMem counts tokens only to ask for long conversations in several requests."""
    tiktoken = importlib.import_module("tiktoken")
    for name in ("encoding_for_model", "get_encoding"):
        setattr(tiktoken, name, lambda _: _Tokens())


def _add_checkout(source: str) -> None:
    """Have Python find LightMem in its checkout."""
    for folder in (Path(source).absolute() / "src", Path(source).absolute()):
        if source and (folder / "lightmem" / "memory" / "lightmem.py").exists():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return
    raise BadInput(f"source of structmem: expected the folder of a checkout of LightMem, found {source or 'none'!r}")


def _config(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    def store(name: str) -> dict[str, Any]:
        place = {"collection_name": name, "path": str(folder / name), "on_disk": True}
        return {"model_name": "qdrant", "configs": {**place, "embedding_model_dims": settings["dimensions"]}}

    return {
        "pre_compress": False,
        "topic_segment": False,
        "messages_use": settings["messages_use"],
        "metadata_generate": True,
        "text_summary": True,
        "memory_manager": {
            "model_name": "openai",
            "configs": {
                "model": settings["model"],
                "api_key": settings["api_key"],
                "openai_base_url": settings["base_url"],
                "max_tokens": settings["max_tokens"],
            },
        },
        "extract_threshold": settings["extract_threshold"],
        "extraction_mode": "event",
        "index_strategy": "embedding",
        "text_embedder": {
            "model_name": "huggingface",
            "configs": {
                "model": settings["embedding_model"],
                "embedding_dims": settings["dimensions"],
                "model_kwargs": {},
            },
        },
        "retrieve_strategy": "embedding",
        "embedding_retriever": store("entries"),
        "summary_retriever": store("summaries"),
        "update": "offline",
    }


def _pairs(conversation: Conversation) -> list[_Message]:
    """Return the messages in pairs of user and assistant, by whose order LightMem finds the time of an entry."""
    messages: list[_Message] = []
    for turn in conversation:
        expected = "assistant" if len(messages) % 2 else "user"
        if turn["role"] != expected:
            messages.append({"role": expected, "content": "", "time_stamp": turn["timestamp"]})
        messages.append({"role": turn["role"], "content": turn["content"], "time_stamp": turn["timestamp"]})
    if len(messages) % 2:
        messages.append({"role": "assistant", "content": "", "time_stamp": messages[-1]["time_stamp"]})
    return messages


def _text(payload: Mapping[str, Any]) -> str:
    """Return an entry as LightMem's `retrieve` does."""
    return f"{payload['time_stamp']} {payload['weekday']} {payload['memory']}"


def _is_expected(reply: str) -> bool:
    """Whether a reply holds a list of entries, or says what becomes of an entry; a fence around it is allowed."""
    fenced = re.search(r"```(?:json)?\s*(.*?)\s*```", reply, re.DOTALL)
    try:
        content = json.loads(fenced[1] if fenced else reply)
    except ValueError:
        return False
    return isinstance(content, list) or (isinstance(content, dict) and ("data" in content or "action" in content))
