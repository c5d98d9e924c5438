"""The browser of the tests itself: what an earlier page does is not charged to a later one."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = b"<title>x</title><script>setInterval(() => fetch('/x').catch(() => 0), 10)</script>"


class Polled(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


def test_a_page_that_polls_a_closed_server_ends_when_another_is_opened(browser, tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Polled)
    threading.Thread(target=server.serve_forever).start()
    browser.open(f"http://127.0.0.1:{server.server_port}/")
    server.shutdown()
    server.server_close()
    time.sleep(0.5)  # it complains of the closed server meanwhile
    (tmp_path / "next.html").write_text("<p>next</p>")
    browser.open(tmp_path / "next.html")
    assert browser.text("p") == "next" and browser.complaints() == []
