"""What tells a run of Book-SORT from another one: a folder is resumed only by a run of the same identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from epbench.booksort.context.prompts import Pack
from epbench.booksort.dataset.load import BookText, Pair, fingerprint
from epbench.files.secrets import without_login
from epbench.models.protocol import Model, weights_of
from epbench.runs.answers import fingerprint_of


def run_identity(
    memory: str,
    everything: Sequence[Pair],
    model: Model,
    pack: Pack,
    prompt: int | Literal["selected"],
    *,
    configs: Sequence[str],
    split: str,
    books: Sequence[int] | None = None,
    both_orders: bool = False,
    max_tokens: int = 1,
    base_url: str | None = None,
    search: Mapping[str, Any] | None = None,
    texts: Sequence[BookText] = (),
    held_out: Sequence[Pair] = (),
) -> dict[str, Any]:
    """Return the field `identity` of run.json.

    Args:
        memory: What the model is shown; see `epbench.booksort.context.requests.MEMORIES`.
        everything: All pairs of the configs and the split, whether the run asks about them or not.
        model: The model that answers.
        pack: The prompt pack.
        prompt: Number of the prompt in the pack, or `selected` if it is chosen on held-out pairs.
        configs: The configs as the user names them; `all` stands for all of them.
        split: `test` or `validation`.
        books: Numbers of the books that the run asks about; None for all.
        both_orders: Whether each pair is asked a second time with its segments swapped.
        max_tokens: The largest number of tokens in an answer.
        base_url: Address of the endpoint, if the model is behind one. A login in it is left out.
        search: How passages are found and presented, if the memory shows passages.
        texts: The whole books, if the memory draws from them.
        held_out: The pairs that the prompt or the reading is chosen on, if it is chosen.
    """
    identity: dict[str, Any] = {"benchmark": "booksort", "fingerprint": fingerprint(everything)}
    identity |= {"memory": memory} | weights_of(model)
    identity |= {"config": list(configs), "split": split, "books": None if books is None else list(books)}
    identity |= {"model": model.name, "base_url": without_login(base_url or ""), "max_tokens": max_tokens}
    identity |= {"both_orders": both_orders or None}  # None, as in the folders of earlier versions
    identity |= {"prompts": fingerprint_of(pack), "prompt": prompt, **(search or {})}
    if texts:
        identity |= {"texts": fingerprint(texts)}
    if held_out:
        identity |= {"held_out": fingerprint(held_out)}
    return identity
