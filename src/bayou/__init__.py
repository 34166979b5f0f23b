"""Topic models that learn from labels and from streams."""

from bayou import lazy, registry
from bayou._version import __version__ as __version__

# Type checkers read the same names from __init__.pyi, which `make registry` writes.
__all__ = sorted(["__version__", *registry.HOMES])  # noqa: PLE0605

__getattr__, __dir__ = lazy.attributes(__name__, registry.HOMES, registry.PACKAGES)
