"""Docstrings from the source files of installed packages, without importing the packages.

Names are public: ``sklearn/cluster/_kmeans.py`` defines ``sklearn.cluster.KMeans``, so components
with a leading underscore are dropped. The documentation of compiled functions is read from calls of
``add_newdoc``.
"""

import ast
import importlib.util
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bayou.datasets.prose import documented_parameters

LIBRARIES = ("numpy", "scipy", "sklearn")

# Tests, vendored code, programs, and data stored as modules.
_SKIPPED_FOLDERS = frozenset(
    {
        *("tests", "test", "testing", "idle_test", "site-packages", "dist-packages"),
        *("__pycache__", "_vendor", "_bundled", "externals", "_lib", "_external", "_pyinstaller"),
        *("idlelib", "lib2to3", "turtledemo", "pydoc_data", "ensurepip", "lib-dynload"),
        *("encodings", "_build_utils", "_distutils", "distutils", "config"),
    }
)
# Python implementations of compiled modules of the standard library.
_TWINS = {"_pydecimal": "decimal", "_pydatetime": "datetime", "_pyio": "io"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class SourceDocstring(NamedTuple):
    """A docstring as found in a source file."""

    name: str  # public dotted name
    path: str  # dotted name with the private components, unique
    package: str  # library and sub-package; top-level module in the standard library
    docstring: str
    parameters: tuple[str, ...]


def iter_libraries() -> Iterator[tuple[str, Path]]:
    """Yield ("", folder) for the standard library and (name, folder) for each library found."""
    yield "", Path(sysconfig.get_path("stdlib"))
    for name in LIBRARIES:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield name, Path(folder)


def docstrings_in(library: str, root: Path) -> Iterator[SourceDocstring]:
    """Yield the public docstrings of every source file under ``root``, in order of names."""
    for path in _files(root):
        parts = [*([library] if library else []), *path.relative_to(root).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        if parts and not library:
            parts[0] = _TWINS.get(parts[0], parts[0])
        if not parts or parts[-1] in {"__main__", "setup"} or (not library and parts[0][0] == "_"):
            continue
        tree = _parse(path)
        if tree is not None:
            yield from _in_module(tree, ".".join(parts))


def _files(root: Path) -> Iterator[Path]:
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            if entry.name not in _SKIPPED_FOLDERS and entry.name.isidentifier():
                yield from _files(entry)
        elif entry.suffix == ".py" and not entry.name.startswith(("test_", "conftest")):
            yield entry


def _parse(path: Path) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escape sequences in third-party code
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None  # a template, or a file for another version of Python


def _in_module(tree: ast.Module, module: str) -> Iterator[SourceDocstring]:
    package = package_of(module)
    if "add_newdoc" in module.rpartition(".")[2]:
        for name, added in _iter_newdocs(tree):
            yield _make_docstring(f"{module}.{name}", package, added, documented_parameters(added))
        return
    doc = ast.get_docstring(tree, clean=False)
    if doc and not module.rpartition(".")[2].startswith("_"):
        yield _make_docstring(module, package, doc, ())
    yield from _in_body(tree.body, module, package)


def _in_body(body: list[ast.stmt], prefix: str, package: str) -> Iterator[SourceDocstring]:
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from _in_body(node.body, prefix, package)
        if not isinstance(node, _Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        name = f"{prefix}.{node.name}"
        doc = ast.get_docstring(node, clean=False)
        if isinstance(node, ast.ClassDef):
            if doc:
                yield _make_docstring(name, package, doc, _constructor(node))
            yield from _in_body(node.body, name, package)
        elif doc:
            yield _make_docstring(name, package, doc, _parameters(node))


def _make_docstring(
    path: str, package: str, doc: str, parameters: tuple[str, ...]
) -> SourceDocstring:
    return SourceDocstring(public_name(path), path, package, doc, parameters)


def _constructor(node: ast.ClassDef) -> tuple[str, ...]:
    for child in node.body:
        if isinstance(child, _Function) and child.name in {"__init__", "__new__"}:
            return _parameters(child)
    return ()


def _parameters(node: _Function) -> tuple[str, ...]:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = (argument.arg for argument in named)
    return tuple(n for n in names if n not in {"self", "cls"} and not n.startswith("_"))


def _iter_newdocs(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) from ``add_newdoc([place,] name, doc)`` in its several forms."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if not node.func.id.startswith("add_newdoc"):
            continue
        strings = [_string(argument) for argument in node.args]
        given = [text for text in strings if text is not None]
        if strings and strings[-1] is not None and len(given) >= 2:
            name = strings[0] if len(strings) == 2 or "scalar" in node.func.id else strings[1]
            if name and name.isidentifier() and not name.startswith("_"):
                yield name, given[-1]
        elif len(given) == 2 and given[1].isidentifier():
            for member, doc in _members(node.args[-1]):
                yield f"{given[1]}.{member}", doc


def _members(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield (member, docstring) from a tuple of two strings or a list of such tuples."""
    pairs = node.elts if isinstance(node, ast.List) else [node]
    for pair in pairs:
        if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
            member, doc = (_string(element) for element in pair.elts)
            if member and doc and not member.startswith("_"):
                yield member, doc


def _string(node: ast.expr) -> str | None:
    """The value of a literal string, also if a method such as ``replace`` is applied to it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def public_name(path: str) -> str:
    """Drop the private components of a dotted path.

    Examples
    --------
    >>> public_name("sklearn.cluster._kmeans.KMeans")
    'sklearn.cluster.KMeans'
    >>> public_name("numpy.lib._function_base_impl.average")
    'numpy.average'
    """
    parts = path.split(".")
    in_core = parts[:2] in (["numpy", "_core"], ["numpy", "core"])
    if in_core or (parts[:2] == ["numpy", "lib"] and "".join(parts[2:3]).startswith("_")):
        del parts[1:3]  # NumPy exports the contents of these modules at the top level
    return ".".join(part for part in parts if not part.startswith("_"))


def package_of(module: str) -> str:
    """Return the library and sub-package of a module, or its first name in the standard library.

    Examples
    --------
    >>> package_of("scipy.stats._morestats"), package_of("numpy._core.fromnumeric")
    ('scipy.stats', 'numpy')
    >>> package_of("asyncio.tasks")
    'asyncio'
    """
    first, *rest = public_name(module).split(".")
    if first not in LIBRARIES or not rest:
        return first
    return f"{first}.{rest[0]}"
