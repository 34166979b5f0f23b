"""Built-in documents in place of a file: ``builtin:docstrings`` and ``builtin:news``."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from bayou.data.errors import did_you_mean
from bayou.data.records import LocatedRecord

PREFIX = "builtin:"
NAMES = ("docstrings", "docstrings/train", "docstrings/test", "news")
NEWS = "news"


def is_builtin(path: str) -> bool:
    """Whether this names a built-in corpus, not a file; an unknown one is a usage error."""
    if not path.startswith(PREFIX):
        return False
    name = path.removeprefix(PREFIX)
    if name not in NAMES:
        known = ", ".join(PREFIX + n for n in NAMES)
        raise typer.BadParameter(
            f"there is no {path}; known are {known}{did_you_mean(name, NAMES)}",
            param_hint="FILE",
        )
    return True


def records(path: str) -> Iterator[LocatedRecord]:
    """The documents: ``id``, ``text``, ``package``, ``parameters``, ``n_parameters``, ``split``.

    Fields of the news are ``id``, ``text`` and ``date``; its words and events are synthetic.
    """
    if path == PREFIX + NEWS:
        yield from _news()
        return
    from bayou.datasets.docstrings import docstring_records

    part = path.removeprefix(PREFIX).partition("/")[2] or "all"
    for record in docstring_records(subset=part):  # type: ignore[arg-type]
        yield LocatedRecord(f"{path}, {record['id']}", record)


def _news() -> Iterator[LocatedRecord]:
    """A stream of dated documents with planted events."""
    from bayou.datasets import make_news

    corpus, _ = make_news()
    terms = corpus.vocabulary or ()
    for d, (name, time) in enumerate(zip(corpus.ids or (), corpus.times, strict=True)):  # type: ignore[arg-type]
        row = slice(corpus.counts.indptr[d], corpus.counts.indptr[d + 1])
        pairs = zip(corpus.counts.indices[row], corpus.counts.data[row], strict=True)
        text = " ".join(word for v, n in pairs for word in [terms[int(v)]] * int(n))
        yield LocatedRecord(
            f"{PREFIX}{NEWS}, {name}", {"id": name, "text": text, "date": str(time)}
        )
