"""From a judge's name to a judge of MemFail."""

from __future__ import annotations

from pathlib import Path

from epbench.errors import BadInput
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.model import ModelJudge
from epbench.memfail.judging.prompts import load_judging_prompts
from epbench.memfail.judging.protocol import Judge
from epbench.models.load import Options, load_model, refuse_variant


def load_judge(name: str, options: Options | None = None, prompts: Path | None = None) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (rule-based, offline), or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: Another prompt pack, in TOML or JSON; ours by default (`data/memfail_judging.toml`).

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name == "lexical":
        if prompts is not None:
            raise BadInput(f"judge lexical: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return LexicalJudge()
    pack = load_judging_prompts(prompts)
    try:
        return ModelJudge(load_model(name, options, also=["lexical (rule-based, offline)"]), pack)
    except BadInput as error:
        raise BadInput(f"judge: {error}") from None
