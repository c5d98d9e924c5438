"""What the tasks share: long texts in a log once, lost answers as errors, and bad input as one line.

Many questions may be about one text, such as a book. A log of inspect_ai keeps what each sample's model was shown, so that a
book would be in it as often as there are questions. Here a sample has a reference in the place of the text. A model gets the
text, as the reference is replaced below everything that is logged, and the sample that first shows a text notes it in its
transcript.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec

from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError  # what its command shows as one line
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.log._samples import clear_active_model_event
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.tool import ToolChoice, ToolInfo
from rich.markup import escape

from epbench.errors import BadInput, QuestionFailed
from epbench.judges.replies import FAILURES, kind_of_reply
from epbench.models.inspect_ai import estimate_text_tokens, read_output
from epbench.models.protocol import Reply, Request

LONG = 1_000
"""Characters from which a text that several samples show is noted once."""

_REFERENCE = re.compile(r"⟦epbench: context ([0-9a-f]{16}), [^⟧]*⟧")
_texts: dict[str, str] = {}  # by their hash


def reference_to(text: str) -> str:
    """Return what stands for a text in a log; `with_texts` puts the text in its place."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    _texts[digest] = text
    return f"⟦epbench: context {digest}, {len(text):,} characters, in the transcript of the sample that first shows it⟧"


def with_texts(text: str) -> str:
    """Return a text with what its references stand for; references to other texts than those of this process stay."""
    return _REFERENCE.sub(lambda match: _texts.get(match[1], match[0]), text)


def messages_of(requests: Mapping[str, Request]) -> dict[str, list[ChatMessage]]:
    """Return the messages of each request, with references to the long texts that several requests share."""
    shared = {text for text, n in Counter(request.context for request in requests.values()).items() if n > 1}
    shown = {text: reference_to(text) if len(text) >= LONG else text for text in shared}
    messages: dict[str, list[ChatMessage]] = {}
    for id_, request in requests.items():
        context = shown.get(request.context, request.context)
        user = f"{context}\n\n{request.question}" if context else request.question
        system: list[ChatMessage] = [ChatMessageSystem(content=request.system)] if request.system else []
        messages[id_] = [*system, ChatMessageUser(content=user)]
    return messages


def texts_in(messages: Iterable[ChatMessage]) -> dict[str, str]:
    """Return the texts that references in these messages stand for, by their hashes."""
    digests = (digest for message in messages for digest in _REFERENCE.findall(message.text))
    return {digest: _texts[digest] for digest in digests if digest in _texts}


@solver
def show_contexts() -> Solver:
    """Have the model of the task see the texts that references stand for; it comes before the solver of a task."""
    noted: dict[str, tuple[int | str, int]] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        if not getattr(model.api, "shows_contexts", False):
            model.api = _showing(model.api)
        this = state.sample_id, state.epoch
        for digest, text in texts_in(state.messages).items():
            if noted.setdefault(digest, this) == this:  # again if the sample is tried again
                transcript().info({"context": digest, "text": text}, source="epbench")
        return state

    return solve


def _showing(api: ModelAPI) -> ModelAPI:
    """A copy of a provider that replaces references in what it sends, and puts them back into the call that is logged."""
    showing: Any = copy.copy(api)

    async def generate(
        input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        # Providers would note what they send in the transcript before it is answered, and the text with it. The call that
        # they return is noted instead; the model sets its event back when this ends.
        clear_active_model_event()
        result = await type(api).generate(showing, [_shown(message) for message in input], tools, tool_choice, config)
        if not isinstance(result, tuple):
            return result
        output, call = result
        texts = {text: reference_to(text) for text in texts_in(input).values()}
        return output, call.model_copy(update={"request": _hidden(call.request, texts)}) if call else call

    showing.generate, showing.shows_contexts = generate, True
    estimate_text_tokens(api, showing)
    shown: ModelAPI = showing
    return shown


def _shown(message: ChatMessage) -> ChatMessage:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": with_texts(message.content)})
    parts = [
        part.model_copy(update={"text": with_texts(part.text)}) if isinstance(part, ContentText) else part
        for part in message.content
    ]
    return message.model_copy(update={"content": parts})


def _hidden(value: Any, texts: Mapping[str, str]) -> Any:
    """A JSON value with references in the place of the texts."""
    if isinstance(value, str):
        for text, reference in texts.items():
            value = value.replace(text, reference)
        return value
    if isinstance(value, list):
        return [_hidden(item, texts) for item in value]
    if isinstance(value, dict):
        return {name: _hidden(item, texts) for name, item in value.items()}
    return value


def reply_in(state: TaskState, request: Request) -> Reply:
    """Return the reply to a request, as our own evaluation would read it.

    QuestionFailed if there is no answer: it is empty, or was cut off or refused. inspect_ai then counts the sample as
    an error and leaves it out of all scores.
    """
    reply = read_output(state.output, request, "")
    if reply.failure is not None:
        raise QuestionFailed(reply.failure)
    kind = kind_of_reply(reply.text)
    if reply.probabilities is None and (kind == "empty" or (kind == "refusal" and not request.labels)):
        raise QuestionFailed(FAILURES[kind])
    return reply


P = ParamSpec("P")


def refusing(make: Callable[P, Task]) -> Callable[P, Task]:
    """Have a function that makes a task raise what inspect_ai shows as one line where it raises `BadInput`."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Task:
        try:
            return make(*args, **kwargs)
        except BadInput as error:
            raise PrerequisiteError(escape(str(error))) from error

    return made


def task_of(
    name: str, samples: list[Sample], scorer: Scorer, about: dict[str, Any], max_tokens: int, **asked: Any
) -> Task:
    """Return a task whose model sees the texts that references stand for, and which goes on after a lost answer."""
    return Task(
        dataset=MemoryDataset(samples, name=name),
        setup=show_contexts(),
        solver=generate(),
        scorer=scorer,
        config=GenerateConfig(max_tokens=max_tokens, temperature=0.0, **asked),
        fail_on_error=False,
        metadata=about,
    )
