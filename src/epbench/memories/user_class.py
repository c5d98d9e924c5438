"""From `module:Class` to a memory system that somebody else wrote.

`import_system` imports foreign code into the process that calls it. A run does so only where it is asked to; by default
`epbench.memories.process.describe_system` has the code imported in a process of its own.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Mapping
from functools import partial
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import ModuleType
from typing import Any

from epbench.errors import BadInput
from epbench.memories.guard import LIST, RETRIEVE, STORE, reason_of
from epbench.memories.spec import Setting, SystemSpec, takes_folder

METHODS = (STORE, RETRIEVE, LIST)


def import_system(name: str, settings: Mapping[str, Setting] | None = None) -> SystemSpec:
    """Import the class behind `module:Class` or `path/to/file.py:Class` into this process.

    Args:
        name: of the class. A module is searched for on Python's path and in the current folder.
        settings: passed to the constructor as `settings`; None passes nothing.

    Raises:
        BadInput: there is no such module or class, the module cannot be imported, or the class is not a memory system.
    """
    where, _, class_name = name.rpartition(":")
    if not where or not class_name:
        raise BadInput(f"memory system {name!r}: expected module:Class or path/to/file.py:Class")
    before = set(sys.modules)
    module = _load_file(name, Path(where)) if where.endswith(".py") else _load_module(name, where)
    try:
        loaded = {loaded for loaded in set(sys.modules) - before if not loaded.startswith("epbench.")}
        return _system(name, module, class_name, loaded | {module.__name__}, settings)
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # looking up an attribute may run any code, sys.exit() included
        raise BadInput(f"memory system {name!r}: its class cannot be inspected ({reason_of(error)})") from None


def _system(
    name: str, module: ModuleType, class_name: str, loaded: set[str], settings: Mapping[str, Setting] | None
) -> SystemSpec:
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        classes = [n for n, c in vars(module).items() if inspect.isclass(c) and c.__module__ == module.__name__]
        raise BadInput(f"memory system {name!r}: found no class {class_name!r}, only: {', '.join(classes) or '–'}")
    for method in METHODS:
        if not callable(getattr(found, method, None)):
            raise BadInput(f"memory system {name!r}: expected the methods {', '.join(METHODS)}, found no {method}()")
        if inspect.iscoroutinefunction(getattr(found, method)):
            raise BadInput(f"memory system {name!r}: expected a plain method {method}(), found an async one")
    durable = bool(getattr(found, "durable", False))
    if durable and not takes_folder(found):
        raise BadInput(f"memory system {name!r}: durable = True requires a constructor with a parameter 'folder'")
    make: Any = found if settings is None else partial(found, settings=dict(settings))  # type: ignore[call-arg]
    return SystemSpec(name, make, durable=durable, digest=_digest(loaded), version=_version(module))


def _digest(modules: set[str]) -> str:
    """Return the digest of the source of those modules that belong to no installed package: the user's own files."""
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    files = {Path(file).resolve() for name in modules if (file := getattr(sys.modules.get(name), "__file__", None))}
    own = [file for file in files if file.is_file() and not installed & set(file.parents)]
    found = sorted((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in own)
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def _version(module: ModuleType) -> str:
    """Return the version of the package that the module was installed with; empty if it belongs to none."""
    top = module.__name__.partition(".")[0]
    return next((found.version for found in distributions() if _brings(found, top)), "")


def _brings(found: Distribution, top: str) -> bool:
    """Whether a distribution has a module of this name: `packages_distributions` reads every file name of every package."""
    named = found.read_text("top_level.txt")
    if named is not None:
        return top in named.split()
    files = "\n" + (found.read_text("RECORD") or "")
    return f"\n{top}/" in files or f"\n{top}.py," in files


def _load_module(name: str, module: str) -> ModuleType:
    _search_also(Path.cwd())
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise BadInput(f"memory system {name!r}: found no module {error.name!r}") from None
        raise _broken(name, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(name, error) from error


def _load_file(name: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"memory system {name!r}: found no file {path}")
    _search_also(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(f"memory_system_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses and pickle look up the module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(name, error) from error
    return module


def _search_also(folder: Path) -> None:
    """Add a folder to the end of Python's path, where nothing in it can hide a library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _broken(name: str, error: BaseException) -> BadInput:
    return BadInput(f"memory system {name!r}: its module cannot be imported ({reason_of(error)})")
