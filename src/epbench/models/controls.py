"""What can be said about a model beside its name: which weights are meant, and how it generates.

Controls belong to the name of a model, as in `hf:Qwen/Qwen3-8B?enable_thinking=false`, so that journals, runs, verdicts and
tables tell models with different controls apart.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_type_hints

from epbench.errors import BadInput
from epbench.models.protocol import Request

VARIANT_KEYS = ("dtype", "revision", "adapter")
"""What tells which weights are meant, and in which numbers they compute."""

_TEXTS = ("reasoning_effort", "system")
_KEPT = re.compile(r"[^?&@\s]{1,40}")  # in the name of a model; of another value, the name has a hash

_RANGES: Mapping[str, tuple[float, float, str]] = {
    "thinking_budget": (1, math.inf, "at least 1"),
    "top_p": (1e-9, 1, "a share above 0 up to 1"),
    "top_k": (1, math.inf, "at least 1"),
    "min_p": (0, 1, "a share from 0 to 1"),
    "repetition_penalty": (1e-9, math.inf, "a number above 0"),
}
"""By control, the least and the largest value, and both in words."""


@dataclass(frozen=True, slots=True)
class Controls:
    """How a model generates, beyond temperature, seed and length; None or empty leaves a control to the model.

    `BadInput` if a number is out of its range, or a text to stop at is empty.
    """

    enable_thinking: bool | None = None  # whether the chat template, if it has that switch, lets the model think first
    thinking_budget: int | None = None  # the largest number of tokens of thinking, from 1
    reasoning_effort: str | None = None  # how much a reasoning model thinks, in its provider's word, such as `low`
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)  # further values for the chat template, by name
    extra_body: dict[str, Any] = field(default_factory=dict)  # further fields of each request to an endpoint, over ours
    top_p: float | None = None  # tokens are drawn from the most probable ones with this share together, above 0 to 1
    top_k: int | None = None  # tokens are drawn from this many of the most probable ones, from 1
    min_p: float | None = None  # tokens have at least this share of the most probable one's probability, 0 to 1
    # By what the logits of tokens that prompt or answer already have are divided (multiplied if negative), above 0.
    repetition_penalty: float | None = None
    stop: list[str] = field(default_factory=list)  # texts before which an answer ends
    system: str | None = None  # a system message, which comes before that of the benchmark

    def __post_init__(self) -> None:
        for name, (least, most, expected) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise BadInput(f"{name}: expected {expected}, got {value}")
        if "" in self.stop:
            raise BadInput("stop: expected texts of at least one character, got an empty one")

    @property
    def given(self) -> dict[str, Any]:
        """The controls that are given, by name."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {}, [])}

    @property
    def mark(self) -> str:
        """What the name of the model ends with: `?top_k=20&top_p=0.8`; "" without controls."""
        parts = []
        for name, value in sorted(self.given.items()):
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
            if not _KEPT.fullmatch(text):
                text = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            parts.append(f"{name}={text}")
        return f"?{'&'.join(parts)}" if parts else ""

    @property
    def template_values(self) -> dict[str, Any]:
        """What a chat template is given beside the messages."""
        switches = {"enable_thinking": self.enable_thinking, "reasoning_effort": self.reasoning_effort}
        return {name: value for name, value in switches.items() if value is not None} | self.chat_template_kwargs

    def with_system(self, request: Request) -> Request:
        """The request with the system message of these controls before its own."""
        if not self.system:
            return request
        return replace(request, system="\n\n".join(filter(None, (self.system, request.system))))

    def cut(self, text: str) -> str | None:
        """The text up to the first text at which it has to stop; None if it has none of them."""
        places = [place for place in map(text.find, self.stop) if place >= 0]
        return text[: min(places)] if places else None


AS_IT_IS = Controls()
"""No controls: a model as it is."""

_OURS = {"top_p", "top_k", "min_p", "repetition_penalty", "stop", "system"}
_OURS |= {"enable_thinking", "reasoning_effort", "chat_template_kwargs"}  # for the chat template
TAKES = {
    "hf": _OURS,
    "vllm": _OURS,
    "openai": _OURS | {"extra_body"},
    "inspect": {"thinking_budget", "reasoning_effort", "extra_body", "top_p", "top_k", "stop", "system"},
}
"""The controls of each backend."""


def parse_model_args(text: str, where: str) -> tuple[dict[str, str], Controls]:
    """Read `KEY=VALUE,KEY=VALUE`; return the given values of `VARIANT_KEYS`, by key, and the controls.

    A value that is JSON is taken as such, so that it may contain commas. What is wrong is a `BadInput` that begins with `where`.
    """
    from epbench.files.typed import typed

    controls = [each.name for each in fields(Controls)]
    found: dict[str, Any] = {}
    for part in _parts(text):
        key, mark, value = (piece.strip() for piece in part.partition("="))
        if not mark:
            raise BadInput(f"{where}: expected KEY=VALUE, with commas between several of them, got {part!r}")
        if key not in (*VARIANT_KEYS, *controls):
            raise BadInput(f"{where}: expected one of the keys {', '.join((*VARIANT_KEYS, *controls))}, got {key!r}")
        if key in found:
            raise BadInput(f"{where}: expected each key once, got {key!r} twice")
        if not value:
            raise BadInput(f"{where}: expected a value after {key}=, got none")
        found[key] = value if key in VARIANT_KEYS else _value(key, value)
    variant = {key: found.pop(key) for key in VARIANT_KEYS if key in found}
    kinds = get_type_hints(Controls)
    for key, value in found.items():
        typed(f"{where}: {key}", value, kinds[key])
    try:
        return variant, Controls(**found)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def refuse_controls(name: str, controls: Controls) -> None:
    """Refuse controls that the backend in a model's name lacks."""
    known = TAKES.get(name.partition(":")[0], set())
    for control, value in controls.given.items():
        if control not in known:
            has = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            raise BadInput(f"model {name}: there is no control {control} for it, got {value!r}; {has}")


def _value(key: str, text: str) -> Any:
    """The value of a control, as JSON says it, or else as text; a single text to stop at is a list of one."""
    if key in _TEXTS:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = {"true": True, "false": False}.get(text.lower(), text)
    return [text] if key == "stop" and not isinstance(value, list) else value


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that stand outside brackets and quotes."""
    depth, quoted, start = 0, False, 0
    for i, character in enumerate(text):
        if character == '"' and text[i - 1 : i] != "\\":
            quoted = not quoted
        if not quoted:
            depth += (character in "[{") - (character in "]}")
        if character == "," and not quoted and depth <= 0:
            yield text[start:i]
            start = i + 1
    if text:
        yield text[start:]
