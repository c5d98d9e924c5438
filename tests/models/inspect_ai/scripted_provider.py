"""A provider of inspect_ai that answers as a test says: `inspect:scripted/NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

Call = tuple[list[ChatMessage], GenerateConfig]


class Refused(Exception):
    """What a provider's library raises for a request that it does not take."""

    status_code = 400


class ScriptedApi(ModelAPI):
    says: ClassVar[Callable[[str], Any]]
    refuses: ClassVar[Callable[[GenerateConfig], bool]]
    calls: ClassVar[list[Call]]

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        type(self).calls.append((input, config))
        if type(self).refuses(config):
            raise Refused("Invalid parameter: logprobs or response_format")
        said = type(self).says(input[-1].text)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, str):
            said = ModelOutput.from_content(self.model_name, said)
        said.usage = said.usage or ModelUsage(
            input_tokens=7, input_tokens_cache_read=3, output_tokens=5, total_tokens=15, reasoning_tokens=0
        )
        return said


@modelapi(name="scripted")
def scripted() -> type[ModelAPI]:
    return ScriptedApi


@contextmanager
def saying(
    says: Callable[[str], Any], refuses: Callable[[GenerateConfig], bool] = lambda config: False
) -> Iterator[list[Call]]:
    """Have the provider answer like this; the calls that it gets."""
    calls: list[Call] = []
    how = {"says": staticmethod(says), "refuses": staticmethod(refuses), "calls": calls}
    with patch.multiple(ScriptedApi, **how, create=True):
        yield calls
