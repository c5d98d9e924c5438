"""Run by the Python of a system's environment: makes one adapter and serves calls, JSON lines over two pipes.

The arguments are the folder of the package `epbench`, the descriptors to read calls from and to write replies to,
`module:Class` of the adapter inside `epbench.memories.systems`, its folder, and its settings as JSON. The package is
found by its path, because it is not installed in this environment.
"""

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

ADDRESSES = []  # host and port of every connection that was tried, and every name that was looked up


def watch(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        ADDRESSES.append([str(args[1][0]), args[1][1]])
    elif event == "socket.getaddrinfo":
        ADDRESSES.append([str(args[0]), args[1]])


def load_package(folder):
    found = importlib.util.spec_from_file_location(
        "epbench", Path(folder) / "__init__.py", submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(found)
    sys.modules["epbench"] = package
    found.loader.exec_module(package)


def main():
    package, read, write, target, folder, settings = sys.argv[1:]
    del sys.argv[1:]
    sys.addaudithook(watch)
    load_package(package)
    module, _, name = target.partition(":")
    found = importlib.import_module(f"epbench.memories.systems.{module}")
    calls, replies = os.fdopen(int(read)), os.fdopen(int(write), "w", buffering=1)
    adapter = None
    for line in calls:
        method, args = json.loads(line)
        try:
            if method == "open":
                adapter = getattr(found, name)(Path(folder), {**found.DEFAULTS, **json.loads(settings)})
                reply = {"found": None}
            else:
                reply = {"found": ADDRESSES if method == "addresses" else getattr(adapter, method)(*args)}
        except BaseException as error:
            reply = {"raised": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies)


if __name__ == "__main__":
    main()
