"""A-MEM: notes that a language model describes and links, in the package `a-mem` 0.2.6 (imported as `agentic_memory`).

MemFail, Section 5.2 and Appendix A. Each turn of a conversation becomes a note, as in the published evaluation. The model
is asked for its keywords, context and tags, and then whether its neighbours change. A memory is the note's text with its
context and its tags.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from epbench.memories.protocol import Conversation
from epbench.memories.systems.adapter import EmbeddingsFailed, Watch, stand_in

DEFAULTS: dict[str, Any] = {"evo_threshold": 100, "response_format": "json_schema"}
"""`evo_threshold`: after how many evolutions the notes are consolidated. Version 0.2.6 writes every change at once.
`response_format`: how the model is told the form of its reply: "json_schema", as the system itself does, or "json_object"
with the schema beside it, for the server of llama-cpp-python, which knows no other."""

_ENVIRONMENT = {
    "ANONYMIZED_TELEMETRY": "False",  # of Chroma
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or importing litellm fetches a list of prices
    "LITELLM_TELEMETRY": "False",
}


class AMem:
    """One store of A-MEM, in a folder of Chroma."""

    durable = True

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        os.environ.update(_ENVIRONMENT, OPENAI_BASE_URL=settings["base_url"])  # the only way to name the endpoint
        self._embedder = stand_in(settings)
        _leave_out_transformers()
        memory_system = importlib.import_module("agentic_memory.memory_system")
        self._response_format = settings["response_format"]
        if self._response_format not in ("json_schema", "json_object"):
            raise ValueError(f"response_format: expected json_schema or json_object, got {self._response_format!r}")
        self._memory = memory_system.AgenticMemorySystem(
            model_name=settings["embedding_model"],
            llm_backend="openai",
            llm_model=settings["model"],
            evo_threshold=settings["evo_threshold"],
            api_key=settings["api_key"],
            storage_path=str(folder / "chroma"),
        )
        _change_notes_in_one_step(self._memory.retriever)
        self._evolutions = folder / "evolutions"  # the system itself counts them in memory only
        if self._evolutions.exists():
            self._memory.evo_cnt = int(self._evolutions.read_text())
        self._watch = Watch()
        self.usage = self._watch.usage
        controller = self._memory.llm_controller.llm
        self._ask = self._watch.counting_errors_of(controller.get_completion)
        controller.get_completion = self._completion

    def store_conversation(self, conversation: Conversation) -> None:
        """Make a note of each turn of the user and the reply to it. A note that is there already is kept."""
        with self._watch.watching():
            for time, text in _turns(conversation):
                if not self._notes(where={"timestamp": time}):
                    self._memory.add_note(text, time=time)
                    self._save_evolutions()

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Find the notes nearest to the query and, where there are fewer than k, those that they link to.

        Raises:
            EmbeddingsFailed: the query cannot be embedded. A-MEM itself would find nothing.
        """
        failures = self._embedder.failures
        ids = [note["id"] for note in self._memory.search_agentic(query, k)]
        if self._embedder.failures > failures:
            raise EmbeddingsFailed("the query could not be embedded")
        notes = self._notes(ids=ids) if ids else {}
        return [notes[id_] for id_ in ids if id_ in notes]

    def get_all_memories(self) -> list[str]:
        """List all notes."""
        return list(self._notes().values())

    def _notes(self, **which: Any) -> dict[str, str]:
        """Return the text of notes by their ids, read from Chroma.

        The system's own `read_multiple` turns a text that looks like a number or like JSON into one, if the note is not in
        its cache.
        """
        notes = self._memory.retriever.collection.get(include=["metadatas"], **which)
        return dict(zip(notes["ids"], map(_text, notes["metadatas"]), strict=True))

    def _save_evolutions(self) -> None:
        new = self._evolutions.with_suffix(".new")
        new.write_text(str(self._memory.evo_cnt))
        new.replace(self._evolutions)

    def _completion(self, prompt: str, response_format: dict[str, Any], **options: Any) -> Any:
        """Ask the model as the system does, and count what it will swallow."""
        schema = response_format["json_schema"]["schema"]
        if self._response_format == "json_object":
            response_format = {"type": "json_object", "schema": schema}
        reply = self._ask(prompt, response_format, **options)
        if not _has(reply, schema.get("required", ())):
            self._watch.unparsable += 1
        return reply


def _turns(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Yield the timestamp and the text of each note: what the user said, with the reply if there is one."""
    turns = [*conversation]
    while turns:
        turn = turns.pop(0)
        if turn["role"] != "user":
            yield turn["timestamp"], f"Assistant: {turn['content']}"
        elif turns and turns[0]["role"] == "assistant":
            yield turn["timestamp"], f"User: {turn['content']}\nAssistant: {turns.pop(0)['content']}"
        else:
            yield turn["timestamp"], turn["content"]


def _text(metadata: Mapping[str, Any]) -> str:
    """Return a memory as the published evaluation shows it: the note, its context and its tags."""
    tags = metadata["tags"]  # a list as JSON, if the model gave a list
    if tags.startswith("["):
        tags = ", ".join(map(str, json.loads(tags)))
    return f"{metadata['content']}\nContext: {metadata['context']}\nTags: {tags}"


def _has(reply: str | None, keys: Iterable[str]) -> bool:
    """Whether a reply is a JSON object with these keys."""
    try:
        content = json.loads(reply or "")
    except ValueError:
        return False
    return isinstance(content, dict) and all(key in content for key in keys)


def _change_notes_in_one_step(retriever: Any) -> None:
    """Have a change of a note replace it, and leave its text alone.

    The system deletes the note and adds it again; in between, it can get lost. It also reads a text that looks like a
    number or like JSON back as one.
    """
    notes = retriever.collection
    notes.add = notes.upsert  # by which the method below adds

    def update_document(id_: str, metadata: dict[str, Any], content: Any) -> None:
        text = notes.get(ids=[id_], include=["metadatas"])["metadatas"][0]["content"]
        retriever.add_document(text, metadata | {"content": text}, id_)

    retriever.update_document = update_document


def _leave_out_transformers() -> None:
    """Let A-MEM import two classes that it never uses from a package that is not in its environment."""
    module = ModuleType("transformers")
    module.AutoModel = module.AutoTokenizer = None  # type: ignore[attr-defined]
    sys.modules.setdefault("transformers", module)
