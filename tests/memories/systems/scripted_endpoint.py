"""An OpenAI-compatible endpoint on loopback whose chat replies a test writes and whose embeddings count words."""

import json
import math
import re
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

DIMENSIONS = 64


class ScriptedEndpoint:
    """`reply(body)` gets the body of a chat request and returns the text of the reply, or a whole message (a dict).

    An integer stands for an HTTP error of that status. `requests` holds (path, body) of all requests.
    """

    def __init__(self, reply, dimensions=DIMENSIONS):
        self.reply, self.dimensions, self.requests = reply, dimensions, []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append((self.path, body))
                status, answer = endpoint.answer(self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *args):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path, body):
        if path.endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            data = [
                {"object": "embedding", "index": i, "embedding": vector_of(text, self.dimensions)}
                for i, text in enumerate(texts)
            ]
            n = sum(len(str(text).split()) for text in texts)
            usage = {"prompt_tokens": n, "total_tokens": n}
            return 200, {"object": "list", "data": data, "model": body["model"], "usage": usage}
        reply = self.reply(body)
        if isinstance(reply, int):
            return reply, {"error": {"message": f"scripted error {reply}", "type": "server_error"}}
        message = {"role": "assistant", **(reply if isinstance(reply, dict) else {"content": reply})}
        n_in, n_out = len(json.dumps(body.get("messages")).split()), len(str(message.get("content")).split())
        return 200, {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                }
            ],
            "usage": {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out},
        }


def vector_of(text, dimensions):
    """Hashed counts of words, of length 1: texts that share words are close. Token ids are taken as words, too."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", str(text).lower()):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]
