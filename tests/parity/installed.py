"""Modules of the package radeval by themselves."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType


def module(name: str) -> ModuleType:
    """Load the module `name` of radeval, unmodified, without what `import radeval` does beside it.

    The package's own `__init__` imports every metric there is and fetches data; stand-ins for
    the packages on the way let the one module be imported by its own name.
    """
    spec = PathFinder.find_spec("radeval")
    assert spec is not None
    assert spec.origin is not None
    parts = name.split(".")[:-1]
    for end in range(len(parts) + 1):
        stand_in = ModuleType(".".join(["radeval", *parts[:end]]))
        stand_in.__path__ = [str(Path(spec.origin).parent.joinpath(*parts[:end]))]
        sys.modules[stand_in.__name__] = stand_in
    return importlib.import_module(f"radeval.{name}")
