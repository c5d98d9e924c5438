"""A folder of the tests' own for the caches of Hugging Face's libraries and ours.

Those libraries read their variables when they are imported, so that this module comes first. It is no part of conftest.py,
which Python knows by two names and runs twice.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

HOME = Path(tempfile.mkdtemp(prefix="epbench-tests-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)

# A worker of the tests inherits the variables that its parent has set below.
USERS_CACHE = os.environ.setdefault("EPBENCH_USERS_CACHE", os.environ.get("EPBENCH_CACHE", "")) or None
"""The cache that the user has chosen; only environments of memory systems are looked up and built there."""

# No test may reach the internet, and none may touch the user's own caches.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
os.environ |= {"HF_HOME": str(HOME), "EPBENCH_CACHE": str(HOME / "vectors")}
