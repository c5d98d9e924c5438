"""From the name on the command line to a judge of MemFail."""

from __future__ import annotations

from pathlib import Path

from epbench.errors import BadInput
from epbench.memfail.judging.lexical import LexicalJudge
from epbench.memfail.judging.protocol import Judge
from epbench.models.load import Options, load_model


def choose_judge(name: str, options: Options | None = None, prompts: Path | None = None) -> Judge:
    """The judge of that name; weights are not loaded yet.

    Args:
        name: `lexical` (rule-based, offline), or a model: `hf:PATH_OR_ID`, `vllm:PATH_OR_ID`, `openai:NAME`.
        options: of the model's backend.
        prompts: another pack than ours, in TOML.

    Raises:
        BadInput: there is no such judge, what it needs is not installed, or the pack cannot be used.
    """
    if name == "lexical":
        if prompts is not None:
            raise BadInput(f"judge lexical: it goes by rules and reads no prompts; {prompts} is of no use to it")
        return LexicalJudge()
    from epbench.memfail.judging.model import ModelJudge
    from epbench.memfail.judging.prompts import load_judging_prompts

    return ModelJudge(load_model(name, options, also=["lexical (rule-based, offline)"]), load_judging_prompts(prompts))
