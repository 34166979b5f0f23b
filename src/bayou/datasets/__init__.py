"""Corpora: a built-in one, a synthetic one with planted events, and the corpora of a user's folder."""

from bayou.datasets.corpora import load_corpus
from bayou.datasets.docstrings import Docstring, iter_docstrings, load_docstrings, versions
from bayou.datasets.folder import CorpusFiles, list_corpora
from bayou.datasets.news import Event, News, make_news

__all__ = [
    "CorpusFiles",
    "Docstring",
    "Event",
    "News",
    "iter_docstrings",
    "list_corpora",
    "load_corpus",
    "load_docstrings",
    "make_news",
    "versions",
]
