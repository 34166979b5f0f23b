"""Lazy import of public names, on first use.

Otherwise `bayou --help` would load scikit-learn and Numba, which takes seconds.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def attributes(
    package: str, homes: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    homes : mapping
        Public names, and the modules that define them.
    modules : tuple of str
        Modules of the package that are attributes without a prior import.
    """

    def get(name: str) -> Any:
        if name in homes:
            value = getattr(importlib.import_module(homes[name]), name)
            setattr(sys.modules[package], name, value)  # later lookups bypass this function
            return value
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get, list_names
