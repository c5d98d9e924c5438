"""What the doubles of servers on loopback share, and waiting for what another process does."""

import time
from http.server import BaseHTTPRequestHandler
from threading import Thread


class Handler(BaseHTTPRequestHandler):
    def reply(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        """Nothing: stderr belongs to pytest."""


class Loopback:
    """A server that serves between `with` and its end; `url` is its address."""

    def __init__(self, server):
        self._server, self.url = server, f"http://127.0.0.1:{server.server_address[1]}"

    def __enter__(self):
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()


def wait_until(happened, seconds=60.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
