"""Imported by the Python of a system's environment: the adapter $ADAPTER, of whose process every address is noted in $REACHED."""

import importlib
import os
import sys

REACHED = os.open(os.environ["REACHED"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def watch(event, args):
    """Note the host and the port of each connection that is tried, and of each name that is looked up."""
    address = args[1] if event == "socket.connect" else args if event == "socket.getaddrinfo" else None
    if isinstance(address, tuple):
        os.write(REACHED, f"{address[0]} {address[1]}\n".encode())


sys.addaudithook(watch)
module, _, name = os.environ["ADAPTER"].partition(":")
Adapter = getattr(importlib.import_module(f"epbench.memories.systems.{module}"), name)
