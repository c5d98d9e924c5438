"""A headless Chromium that opens pages and is driven over the DevTools protocol; what it complains of is kept."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NONE_HERE = "no Chromium is installed here"
_OFF = "gpu extensions background-networking component-update dev-shm-usage sync".split()
_FLAGS = "--headless=new --no-sandbox --remote-debugging-port=0 --no-first-run".split() + [
    f"--disable-{it}" for it in _OFF
]
_SECONDS = 60


class Browser:
    """One browser with one tab; use it as a context manager."""

    def __init__(self, profile: Path) -> None:
        from websockets.sync.client import connect

        command = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        port, path = _port(profile / "DevToolsActivePort", self._process)
        self._socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None, max_queue=None, proxy=None)
        self._number = 0
        self._session = None
        self.events = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.do(f"{domain}.enable")
        self.do("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def do(self, method, **params):
        """Call a method of the protocol; return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            reply = json.loads(self._socket.recv(timeout=_SECONDS))
            if reply.get("id") == self._number:
                assert "error" not in reply, (method, reply["error"])
                return reply["result"]
            self.events.append(reply)

    def open(self, path):
        """Open a file and wait until it is loaded and drawn; return the seconds that took."""
        self._load("about:blank")  # the page before ends here, with what it still polls and complains of
        begin = time.perf_counter()
        self._load(path if str(path).startswith("http") else Path(path).resolve().as_uri())
        self.drawn()
        return time.perf_counter() - begin

    def _load(self, url):
        self.events.clear()
        loader = self.do("Page.navigate", url=url)["loaderId"]
        loaded = {"loaderId": loader, "name": "load"}
        while not any(loaded.items() <= event.get("params", {}).items() for event in self.events):
            self.events.append(json.loads(self._socket.recv(timeout=_SECONDS)))

    def js(self, expression):
        """The value of an expression of JavaScript; of a promise, what it comes to."""
        result = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def drawn(self):
        """Wait until the next picture is drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).innerText")

    def key(self, name, code):
        for kind in ("rawKeyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def choose(self, label, value):
        """Choose the option of a filter whose text begins with a value and a blank."""
        self.js(
            f"""(() => {{
              const label = [...document.querySelectorAll(".filters label")].find(l => l.firstChild.data === {json.dumps(label)});
              const select = label.querySelector("select");
              select.value = [...select.options].find(o => o.text.startsWith({json.dumps(value + " (")})).value;
              select.dispatchEvent(new Event("change"));
            }})()"""
        )

    def write(self, text):
        """Write into the field of the search, and wait for what it finds."""
        self.js(
            f"""(() => {{
              const field = document.querySelector(".filters input");
              field.value = {json.dumps(text)};
              field.dispatchEvent(new Event("input"));
              return new Promise(done => setTimeout(done, 300));
            }})()"""
        )

    def complaints(self):
        """What the page has complained of: errors, warnings of a policy, exceptions."""
        self.drawn()
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"])
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] != "verbose":
                found.append(params["entry"])
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(params)
        return found


def _port(path, process):
    """The port and the path that a starting browser writes into its profile."""
    for _ in range(_SECONDS * 20):
        if path.exists() and len(lines := path.read_text().split()) == 2:
            return lines
        assert process.poll() is None, "the browser ended at its start"
        time.sleep(0.05)
    raise AssertionError("the browser did not say where it listens")
