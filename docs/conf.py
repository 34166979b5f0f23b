"""How the documentation is built. `make docs` treats every warning as an error."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import bayou

project = "bayou"
author = "The bayou developers"
release = version = bayou.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's Parameters section says it in words
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"bayou {version}"
html_copy_source = False


class PublicNames(SphinxDirective):
    """Document a module: its docstring, then each name of ``__all__`` where it is first public."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the directives of autodoc that stand for the module."""
        module = importlib.import_module(self.arguments[0])
        return self.parse_text_to_nodes("\n".join(_module_lines(module)))


def _module_lines(module: Any) -> Iterator[str]:
    yield f".. automodule:: {module.__name__}"
    yield "   :no-members:"
    yield ""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if name.startswith("__") or inspect.ismodule(thing):
            continue
        if _documented_at_the_top(module, name, thing):
            yield f"``{name}`` is the same as :py:obj:`bayou.{name}`."
        elif inspect.isclass(thing):
            kind = "autoexception" if issubclass(thing, Exception) else "autoclass"
            yield f".. {kind}:: {module.__name__}.{name}"
            if kind == "autoclass":
                yield "   :members:"
                yield "   :inherited-members:"
        elif callable(thing):
            yield f".. autofunction:: {module.__name__}.{name}"
        else:
            yield f".. py:data:: {module.__name__}.{name}"
        yield ""


def _documented_at_the_top(module: Any, name: str, thing: Any) -> bool:
    return (
        module is not bayou
        and name in getattr(bayou, "__all__", ())
        and (getattr(bayou, name) is thing)
    )


def _skip(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from elsewhere: those pages are not ours to write."""
    function = thing.fget if isinstance(thing, property) else inspect.unwrap(thing)
    owner = getattr(function, "__objclass__", function)  # a built-in method names its class only
    home = getattr(owner, "__module__", None) or "bayou"
    is_routing = name.startswith("set_") and name.endswith("_request")
    if is_routing or (callable(function) and not home.startswith("bayou")):
        return True
    return None


def setup(app: Sphinx) -> None:
    """Register the directive and the filter."""
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-skip-member", _skip)
