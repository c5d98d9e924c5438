"""A loopback endpoint with files and batches, which take a while, expire in part, or fail as the script of a test says."""

import json
import threading
from http.server import ThreadingHTTPServer

from tests.loopback import Handler, Loopback


class BatchEndpoint(Loopback):
    """The double, serving between `with` and its end."""

    def __init__(
        self, outcome=lambda question, n: {}, *, looks=1, status=lambda n: "completed", step=lambda name: None
    ):
        self.outcome = outcome  # by user message and number of the batch, what differs in a result; None if it expired
        self.looks = looks  # how often a batch is looked at until it has ended
        self.status = status  # how a batch ends, by its number
        self.step = step  # is told each step before its answer: `file`, `batch`, `look`, `results`, `list`
        self.files = {}  # by id, the content of uploaded files and of results
        self.batches = {}  # by id, in the order in which they were made
        self.submitted = []  # the custom ids of all requests in all batches
        self._lock = threading.Lock()
        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"endpoint": self})))
        self.url += "/v1"

    def uploaded(self, content):
        with self._lock:
            id_ = f"file-{len(self.files)}"
            self.files[id_] = content
        about = {"bytes": len(content), "created_at": 0, "filename": "f", "purpose": "batch", "status": "processed"}
        return about | {"id": id_, "object": "file"}

    def made(self, body):
        with self._lock:
            id_ = f"batch_{len(self.batches)}"
            self.batches[id_] = body | {"id": id_, "looked": 0, "n": len(self.batches)}
            lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
            self.submitted += [line["custom_id"] for line in lines]
        return self.shown(id_)

    def shown(self, id_):
        batch = self.batches[id_]
        ended = batch["looked"] >= self.looks
        status = self.status(batch["n"]) if ended else "in_progress"
        found = {
            "id": id_, "object": "batch", "endpoint": batch["endpoint"], "input_file_id": batch["input_file_id"],
            "completion_window": "24h", "created_at": 0, "metadata": batch["metadata"], "status": status,
        }  # fmt: skip
        if status == "failed":
            found["errors"] = {"object": "list", "data": [{"code": "quota", "message": "the quota is used up"}]}
        elif ended:
            found |= self.results(batch)
        return found

    def results(self, batch):
        if "output_file_id" not in batch:
            good, bad = [], []
            for line in map(json.loads, self.files[batch["input_file_id"]].splitlines()):
                question = line["body"]["messages"][-1]["content"]
                parts, id_ = self.outcome(question, batch["n"]), line["custom_id"]
                result = {"id": "r", "custom_id": id_, "response": None, "error": None}
                if parts is None:
                    bad.append(result | {"error": {"code": "batch_expired", "message": "too late"}})
                elif "status" in parts:
                    response = {"status_code": parts["status"], "body": {"error": {"message": parts["words"]}}}
                    bad.append(result | {"response": response})
                else:
                    message = {"role": "assistant", "content": f"answer to {question[-20:]}"}
                    choice = {"index": 0, "finish_reason": "stop", "message": message}
                    usage = {"prompt_tokens": 3, "completion_tokens": 2}
                    body = {"id": "c", "model": "tiny", "choices": [choice], "usage": usage}
                    good.append(result | {"response": {"status_code": 200, "body": body}})
            for name, lines in (("output_file_id", good), ("error_file_id", bad)):
                batch[name] = self.uploaded("\n".join(map(json.dumps, reversed(lines))))["id"] if lines else None
        return {name: batch[name] for name in ("output_file_id", "error_file_id") if batch[name]}


class _Handler(Handler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        content = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/files":
            found = self.endpoint.uploaded(_uploaded_file(content))
            self.endpoint.step("file")
        else:
            found = self.endpoint.made(json.loads(content))
            self.endpoint.step("batch")
        self._send(found)

    def do_GET(self):
        parts = self.path.partition("?")[0].strip("/").split("/")[1:]
        if parts == ["batches"]:
            self.endpoint.step("list")
            shown = [self.endpoint.shown(id_) for id_ in reversed(self.endpoint.batches)]
            self._send({"object": "list", "data": shown, "has_more": False})
        elif parts[0] == "batches":
            self.endpoint.step("look")
            shown_now = self.endpoint.shown(parts[1])
            self.endpoint.batches[parts[1]]["looked"] += 1
            self._send(shown_now)
        elif parts[-1] == "content":
            self.endpoint.step("results")
            self._send(self.endpoint.files[parts[1]])
        else:
            self._send({"object": "list", "data": []})

    def _send(self, found):
        data = (found if isinstance(found, str) else json.dumps(found)).encode()
        self.reply(200, data, {"content-type": "application/json"})


def _uploaded_file(content):
    """The lines of JSON in a form with a file; its other parts are none."""
    return "\n".join(line for line in content.decode().splitlines() if line.startswith('{"custom_id"'))
