"""An OpenAI-compatible endpoint on loopback whose chat replies a test writes and whose embeddings count words."""

import json
import math
import re
import zlib
from http.server import ThreadingHTTPServer

from tests.loopback import Handler, Loopback

DIMENSIONS = 64


def settings_at(url):
    """The five settings that every adapter gets."""
    about = {"model": "scripted-model", "api_key": "placeholder", "embedding_model": "text-embedding-3-small"}
    return {**about, "base_url": url, "dimensions": DIMENSIONS}


class ScriptedEndpoint(Loopback):
    """`reply(body)` gets the body of a chat request and returns the text of the reply, or a whole message (a dict).

    An integer stands for an HTTP error of that status. `requests` holds (path, body) of all requests.
    """

    def __init__(self, reply, dimensions=DIMENSIONS):
        self.reply, self.dimensions, self.requests = reply, dimensions, []
        endpoint = self

        class Answering(Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append((self.path, body))
                status, answer = endpoint.answer(self.path, body)
                self.reply(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), Answering))
        self.base_url = f"{self.url}/v1"

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
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
        }
        usage = {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}
        about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return 200, {**about, "choices": [choice], "usage": usage}


def vector_of(text, dimensions):
    """Hashed counts of words, of length 1: texts that share words are close. Token ids are taken as words, too."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", str(text).lower()):
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]
