"""A model behind an endpoint's batch API: all requests in one file, answered within a day, usually at half the price.

What was done is journaled before the next step, in `batches.jsonl` beside the answers. So a run that is killed at any moment goes
on where it was, and no request is submitted twice: if the id of a batch was not journaled any more, the batch is found by the
mark that it was given.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import RunFailed
from epbench.journals.journal import Journal, Record
from epbench.models.openai.address import SizeLimit
from epbench.models.openai.concurrency import Fault, fault_of
from epbench.models.openai.model import Deliver, EndpointModel
from epbench.models.openai.wire import Dialect, chat_body, error_words, read_chat
from epbench.models.protocol import Reply, Request, packed

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)

_MOST_REQUESTS, _MOST_BYTES = 50_000, 190_000_000  # of one batch, a little less than OpenAI takes
_MOST_RESULTS = 2_000_000_000  # bytes of a file of results
_ROUNDS = 4  # batches for one request: after it has expired, or was to be written otherwise
_RETRIES = 5
_ENDED = frozenset(["completed", "failed", "expired", "cancelled"])
_MARK = "epbench"


class BatchModel(EndpointModel):
    """A model behind an endpoint's batch API; everything else is as in `EndpointModel`."""

    notes: Path | None = None  # the journal of the batches; whoever asks sets it to a file beside the answers
    waits = (2.0, 60.0)  # seconds between two looks at a batch, at first and at most

    async def _answer_all(self, requests: Sequence[Request], deliver: Deliver) -> None:
        import openai

        if self.notes is None:
            raise RunFailed(f"{self.name}: a batch needs a journal, so that it is not submitted twice")
        self._journal = journal = Journal(self.notes)
        open_ = {request.key(self.identity): request for request in requests}

        def close(reply: Reply) -> None:
            deliver(reply)
            del open_[reply.key]

        http = openai.DefaultAsyncHttpxClient(**SizeLimit(_MOST_RESULTS).options(asynchronous=True))
        options = {**self._address.client_options, "max_retries": _RETRIES, "timeout": self._timeout_s}
        try:
            async with openai.AsyncOpenAI(**options, http_client=http) as client:
                for record in [record for record in journal if not record.get("collected")]:
                    if not open_.keys().isdisjoint(record["requests"]):
                        await self._finish(client, record["key"], open_, close)
                for _ in range(_ROUNDS):
                    if not open_:
                        return
                    waiting = list(open_.items())  # what is answered leaves `open_` before the next part is taken
                    for part in packed(waiting, lambda item: len(self._line(*item)), _MOST_BYTES, _MOST_REQUESTS):
                        await self._finish(client, self._plan(dict(part)), open_, close)
        except (openai.OpenAIError, Fault) as error:
            why = self._clean((error if isinstance(error, Fault) else fault_of(error, self._timeout_s)).reason)
            raise RunFailed(f"{self.name}: the batch API says: {why}; start the run again to go on") from error
        finally:
            journal.close()
        for request in open_.values():
            deliver(self._failed(request, f"no answer in {_ROUNDS} batches"))

    def _line(self, key: str, request: Request) -> bytes:
        body = chat_body(request, self._model, self._dialect, self._controls)
        line = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
        return json.dumps(line).encode() + b"\n"

    def _plan(self, requests: Mapping[str, Request]) -> str:
        """Journal that these requests are about to become a batch, and return its mark."""
        lines = sorted(self._line(key, request) for key, request in requests.items())
        earlier = sum(record["requests"] == list(requests) for record in self._journal)
        mark = sha256(b"".join([*lines, f"{self._address.url} {earlier}".encode()])).hexdigest()[:32]
        self._journal.add(mark, requests=list(requests))
        return mark

    def _note(self, mark: str, **more: Any) -> Record:
        self._journal.add(**self._journal.records[mark] | more)
        return self._journal.records[mark]

    async def _finish(
        self, client: AsyncOpenAI, mark: str, open_: Mapping[str, Request], deliver: Callable[[Reply], None]
    ) -> None:
        """Take a batch from where it is to its end, and deliver what came of it."""
        record = self._journal.records[mark]
        written = Dialect() if "batch" in record else self._dialect  # an earlier start knew nothing of the endpoint yet
        if "batch" not in record and (found := await self._found(client, mark)):
            record = self._note(mark, batch=found)
        if "batch" not in record:
            wanted = {key: open_[key] for key in record["requests"] if key in open_}
            if "file" not in record or len(wanted) < len(record["requests"]):
                content = b"".join(self._line(key, request) for key, request in wanted.items())
                file = await client.files.create(file=(f"{mark}.jsonl", content), purpose="batch")
                record = self._note(mark, file=file.id)
            made = await client.batches.create(
                input_file_id=record["file"],
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_MARK: mark},
            )
            record = self._note(mark, batch=made.id)
            log.info("%s: batch %s of %d requests is submitted; it may take a day", self.name, made.id, len(wanted))
        batch = await self._waited(client, record["batch"])
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            results = await client.files.content(file_id)
            for line in results.text.splitlines():
                self._read(line, open_, written, deliver)
        if batch.status == "failed":
            reasons = "; ".join(str(error.message) for error in (batch.errors.data if batch.errors else None) or ())
            self._note(mark, collected=True)
            raise Fault(f"batch {batch.id} failed: {reasons or 'it does not say why'}")
        self._note(mark, collected=True)

    async def _found(self, client: AsyncOpenAI, mark: str) -> str | None:
        """The id of the batch with a mark, which was submitted although that was not journaled any more."""
        async for batch in client.batches.list(limit=100):
            if (batch.metadata or {}).get(_MARK) == mark:
                return batch.id
        return None

    async def _waited(self, client: AsyncOpenAI, id_: str) -> Any:
        wait, most = self.waits
        while True:
            batch = await client.batches.retrieve(id_)
            if batch.status in _ENDED:
                return batch
            await asyncio.sleep(wait)
            wait = min(1.5 * wait, most)

    def _read(
        self, line: str, open_: Mapping[str, Request], written: Dialect, deliver: Callable[[Reply], None]
    ) -> None:
        """Read one result; a request that expired, or that is to be written otherwise than it was, stays open."""
        try:
            result = json.loads(line)
            request, response = open_.get(result["custom_id"]), result.get("response")
            status = response["status_code"] if response else 0
            body = json.dumps(response["body"]) if response else ""
        except (ValueError, KeyError, TypeError):
            return  # its request stays open
        if request is None:
            return
        key = request.key(self.identity)
        if status == 200:
            try:
                deliver(self._cleaned(read_chat(body, request, key), self._model))
            except Exception as error:
                deliver(self._failed(request, fault_of(error, self._timeout_s).reason))
            return
        complaint = result.get("error") or {}
        expired = isinstance(complaint, Mapping) and complaint.get("code") == "batch_expired"
        if expired or status == 429 or status >= 500:
            return
        reason = f"{status} {error_words(body)}" if response else error_words(json.dumps(complaint))
        with_format = request.schema is not None and written.answer_format != "prompt"
        learned = written.learned(reason, with_format=with_format) if status in (400, 422) else written
        if learned == written:
            deliver(self._failed(request, reason))
        else:
            self._learn(learned, reason)

    def _failed(self, request: Request, reason: str) -> Reply:
        return Reply(request.key(self.identity), request.id, failure=self._clean(reason))
