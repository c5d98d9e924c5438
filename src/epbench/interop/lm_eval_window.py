"""Refuse prompts that lm-eval would cut off: it drops the beginning of a prompt that exceeds the window, and goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from epbench.errors import BadInput
from epbench.models.estimate import check_window
from epbench.models.hf.model import TransformersModel
from epbench.models.protocol import Request

log = logging.getLogger(__name__)

_UNCHECKED = "it was not checked that the prompts fit the model's window, and the harness cuts those that do not: %s"


class _Windowed(TransformersModel):
    """A tokenizer with the window that the harness has for the model."""

    def __init__(self, tokenizer: str, weights: str | None, given: int | None) -> None:
        super().__init__(tokenizer)
        self._weights = weights or tokenizer
        self._known = given

    def window(self) -> int | None:
        """The window that the user has set, or the one that the harness finds: 2048 tokens if the config names none."""
        if self._known:
            return self._known
        from lm_eval.models.utils import resolve_max_length  # type: ignore[import-untyped]
        from transformers import AutoConfig

        found: int = resolve_max_length(AutoConfig.from_pretrained(self._weights), self.prompts.tokenizer)
        return found


def check_prompts_fit(
    requests: Sequence[Request],
    model_args: Mapping[str, Any],
    others: Mapping[str, Callable[[], Iterable[Request]]] | None = None,
) -> None:
    """Count the tokens of the longest prompts with the model's tokenizer, before its weights are loaded.

    Args:
        requests: What is asked.
        model_args: The harness's arguments of the model: `pretrained`, or the name `model` behind an address; perhaps
            another `tokenizer`, and `max_length` or `max_model_len`. Where they do not say enough, a warning is logged.
            Nothing is checked for a model without such arguments, which is a class of the user's own or a dummy.
        others: By name of a memory, what makes its requests, so that the message can name those that fit.

    Raises:
        BadInput: A prompt and its answer do not fit. The message has the needed and the available tokens.
    """
    weights, given = model_args.get("pretrained"), model_args.get("max_length") or model_args.get("max_model_len")
    tokenizer = model_args.get("tokenizer") or weights or model_args.get("model")
    if not isinstance(tokenizer, str):
        return
    if not weights and not given:
        log.warning(_UNCHECKED, "max_length is not among the arguments of the model")
        return
    try:
        model = _Windowed(tokenizer, weights, int(given) if given else None)
        model.prompts  # noqa: B018  the tokenizer is loaded now
    except BadInput as error:  # such as a tokenizer that needs code of its own, which only the harness may run
        log.warning(_UNCHECKED, error)
        return
    check_window(requests, model, others or {})
