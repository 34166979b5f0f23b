"""Corpora that are always there: the documentation of the installed Python libraries."""

from bayou.datasets.docstrings import Docstring, iter_docstrings, load_docstrings, versions

__all__ = ["Docstring", "iter_docstrings", "load_docstrings", "versions"]
