"""What the model of a finished run was asked, made again from its dataset; a run's folder holds no prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from epbench.booksort.context import prompts as sort_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import both_orders, fingerprint, load_pairs
from epbench.errors import BadInput
from epbench.journals.answers import fingerprint_of
from epbench.memfail.context import prompts as memfail_prompts
from epbench.memfail.context.requests import requests_of as memfail_requests
from epbench.memfail.dataset.load import load_memfail
from epbench.memfail.dataset.types import QuestionRecord
from epbench.models.protocol import Request, Sampling
from epbench.runs.folder import dataset_of
from epbench.tulving.context import prompts as tulving_prompts
from epbench.tulving.context.reading import Reading
from epbench.tulving.context.requests import MEMORIES
from epbench.tulving.dataset.load import load_book

Row = Mapping[str, Any]


def requests_of(described: Row, rows: Sequence[Row]) -> tuple[dict[str, Request], str]:
    """Return the request about each question, and what is to be said of the requests.

    They are those of the run if its dataset is still where it was, its prompts are ours, and what the model was shown
    follows from them. Otherwise a request has the question alone, as far as the run's folder knows it.

    Args:
        described: The content of run.json.
        rows: Those of questions.parquet.

    Returns:
        The requests by the id of the question, for MemFail with `@k` behind it; and why they are not those of the run,
        or an empty text.
    """
    benchmark = described["identity"]["benchmark"]
    try:
        return _MAKE[benchmark](described, rows), ""
    except BadInput as error:
        plain = {}
        for row in rows:
            id_ = f"{row['id']}@{row['k']}" if benchmark == "memfail" else row["id"]
            plain[id_] = Request(id_, "", "", row.get("question") or f"pair {row['id']}")
        return plain, f"the questions alone, not the prompts of the run: {error}"


def _check(identity: Row, found: str, pack: Any) -> None:
    """Refuse another dataset, and other prompts than ours."""
    if found != identity.get("fingerprint"):
        raise BadInput("the dataset is not the one of the run any more")
    if fingerprint_of(pack) != identity.get("prompts"):
        raise BadInput("the run had prompts of its own, or none")


def _tulving(described: Row, rows: Sequence[Row]) -> dict[str, Request]:
    identity = described["identity"]
    memory = identity.get("memory")
    if memory not in MEMORIES or identity.get("retriever", "bm25") != "bm25":
        raise BadInput(f"what the memory {memory!r} showed the model is not made again")
    data, pack = load_book(str(dataset_of(described))), tulving_prompts.load_prompts()
    _check(identity, data.fingerprint, pack)
    if identity.get("chapters", data.chapters) != data.chapters:
        raise BadInput("the chapters of the dataset are not those of the run any more")
    reading = Reading(
        memory=memory, top_k=identity.get("top_k"), keep_order=bool(identity.get("keep_order")), prompts=pack,
        sampling=Sampling(identity["max_tokens"], identity["temperature"], identity["seed"]),
    )  # fmt: skip
    asked = {row["id"] for row in rows}
    return {request.id: request for request in reading.requests(data, [row for row in data.rows if row["id"] in asked])}


def _booksort(described: Row, rows: Sequence[Row]) -> dict[str, Request]:
    identity = described["identity"]
    if identity["memory"] not in ("none", "in-context") or not isinstance(identity.get("prompt"), int):
        raise BadInput(f"what the memory {identity['memory']!r} showed the model is not made again")
    everything = load_pairs(str(dataset_of(described)), identity["config"], identity["split"])
    pack = sort_prompts.load_prompts()
    _check(identity, fingerprint(everything), pack)
    asked = {row["id"] for row in rows}
    pairs = [pair for pair in both_orders(everything) if pair.id in asked]
    found = requests_for(identity["memory"], pairs, pack, identity["prompt"], max_tokens=identity["max_tokens"])
    return {request.id: request for request in found}


def _memfail(described: Row, rows: Sequence[Row]) -> dict[str, Request]:
    identity = described["identity"]
    data, pack = load_memfail(str(dataset_of(described)), identity["config"]), memfail_prompts.load_prompts()
    _check(identity, data.fingerprint, pack)
    by_id = {question.id: question for question in data.questions}
    records = [QuestionRecord(by_id[row["id"]], row["k"], "", tuple(row["retrieved"] or ())) for row in rows]
    return memfail_requests(records, pack, Sampling(identity["max_tokens"]))


_MAKE: Mapping[str, Callable[[Row, Sequence[Row]], dict[str, Request]]] = {
    "tulving": _tulving,
    "booksort": _booksort,
    "memfail": _memfail,
}
