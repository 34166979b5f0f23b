"""Corpora: one that is always there, one with planted events, and those in a folder of yours."""

from bayou.datasets.docstrings import Docstring, iter_docstrings, load_docstrings, versions
from bayou.datasets.news import Event, News, make_news

__all__ = [
    "Docstring",
    "Event",
    "News",
    "iter_docstrings",
    "load_docstrings",
    "make_news",
    "versions",
]
