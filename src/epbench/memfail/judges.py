"""From the name on the command line to a judge of MemFail."""

from __future__ import annotations

from pathlib import Path

from epbench.errors import BadInput
from epbench.memfail.checks import Judge
from epbench.memfail.lexical_judge import LexicalJudge
from epbench.models.choose import Options, choose_model


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
    from epbench.memfail.judging_prompts import load_judging_prompts
    from epbench.memfail.model_judge import ModelJudge

    return ModelJudge(choose_model(name, options), load_judging_prompts(prompts))
