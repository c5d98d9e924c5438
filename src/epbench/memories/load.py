"""From `module:Class` on the command line to a memory system.

`load_system` imports foreign code into the process that calls it. A run does so only where it is asked to; by default
`epbench.memories.process.describe_system` has it imported in a process of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from epbench.errors import BadInput
from epbench.memories.guard import LIST, RETRIEVE, STORE, reason_of
from epbench.memories.protocol import MemorySystem

METHODS = (STORE, RETRIEVE, LIST)
BRING_YOUR_OWN = (
    f"any other, such as mem0, as module:Class or path/to/file.py:Class: a class around it with {', '.join(METHODS)}, "
    f"as in epbench.memories.example"
)
"""What to tell who names a memory system that is not built in."""


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """A memory system that can be made.

    Attributes:
        name: as on the command line.
        make: the class, or what else makes an instance; None for a class that is imported in a process of its own only.
        durable: what was told lies in the folder and outlives the process.
        beyond_k: gives back more than k memories by design, as a control may.
        baseline: whether this is a yardstick rather than a system to be compared.
        may_be_empty: holds nothing by design.
    """

    name: str
    make: Any = None
    durable: bool = False
    beyond_k: bool = False
    baseline: bool = False
    may_be_empty: bool = False

    def open(self, folder: Path) -> MemorySystem:
        """An instance; `folder` is its own, and is passed on if the constructor has such a parameter."""
        made: MemorySystem = self.make(folder=folder) if _takes_folder(self.make) else self.make()
        return made


def load_system(name: str) -> SystemSpec:
    """The class behind `module:Class` (of the path or the current folder) or `path/to/file.py:Class`.

    Raises:
        BadInput: no such module or class, a module that cannot be imported, a class that is no memory system.
    """
    place, _, class_name = name.rpartition(":")
    if not place or not class_name:
        raise BadInput(f"memory system {name!r}: module:Class or path/to/file.py:Class is expected")
    module = _load_file(name, Path(place)) if place.endswith(".py") else _load_module(name, place)
    try:
        return _system(name, module, class_name)
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module and a class may answer getattr() by any code, sys.exit() included
        raise BadInput(f"memory system {name!r}: its class cannot be looked at ({reason_of(error)})") from None


def _system(name: str, module: ModuleType, class_name: str) -> SystemSpec:
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        classes = [n for n, c in vars(module).items() if inspect.isclass(c) and c.__module__ == module.__name__]
        raise BadInput(f"memory system {name!r}: no class {class_name!r} there; there are: {', '.join(classes) or '–'}")
    for method in METHODS:
        if not callable(getattr(found, method, None)):
            raise BadInput(f"memory system {name!r}: it has no method {method}(); {', '.join(METHODS)} are expected")
        if inspect.iscoroutinefunction(getattr(found, method)):
            raise BadInput(f"memory system {name!r}: {method}() is async; a plain method is expected")
    durable = bool(getattr(found, "durable", False))
    if durable and not _takes_folder(found):
        raise BadInput(f"memory system {name!r}: durable = True needs a constructor with the parameter 'folder'")
    return SystemSpec(name, found, durable=durable)


def _takes_folder(make: Any) -> bool:
    try:
        return "folder" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # a class of an extension module may have no signature
        return False


def _load_module(name: str, module: str) -> ModuleType:
    _search_also(Path.cwd())
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise BadInput(f"memory system {name!r}: no module {error.name!r} here") from None
        raise _broken(name, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(name, error) from error


def _load_file(name: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"memory system {name!r}: no file {path}")
    _search_also(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(f"memory_system_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses and pickle look the module up
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(name, error) from error
    return module


def _search_also(folder: Path) -> None:
    """At the end of the path, so that nothing there hides a library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _broken(name: str, error: BaseException) -> BadInput:
    return BadInput(f"memory system {name!r}: its module cannot be imported ({reason_of(error)})")
