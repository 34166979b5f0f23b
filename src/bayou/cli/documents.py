"""Reads documents of a file: all as a corpus, or batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from bayou.cli import builtin
from bayou.data.errors import DataError
from bayou.data.lines import MAX_LINE_BYTES, STDIN, describe, reading
from bayou.data.records import (
    FORMATS,
    MATRIX_FORMATS,
    check_options,
    format_of,
    iter_located_records,
)

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.data.table import Columns, Table
    from bayou.data.text import Vectorizer

_FORMATS = tuple(form for form in FORMATS if form not in MATRIX_FORMATS)
MAX_LINE = MAX_LINE_BYTES


class Source(NamedTuple):
    """A file of documents and how to read it."""

    path: str
    columns: Columns
    format: str | None = None
    encoding_errors: str = "strict"
    max_line_bytes: int = MAX_LINE_BYTES
    label_separator: str | None = None
    usual: Mapping[str, str] | None = None  # columns to try first where none is named
    n_before: int = 0  # documents of earlier files: numbering continues after them

    @property
    def is_read_once(self) -> bool:
        """Whether it can be read only once: standard input, a pipe."""
        return (
            not builtin.is_builtin(self.path)
            and not os.path.isfile(self.path)
            and not os.path.isdir(self.path)
        )


class Batch(NamedTuple):
    """Some consecutive documents."""

    ids: list[str | int]
    texts: list[str]
    labels: list[Any] | None = None  # as they are in the file; None: no document has the field
    targets: list[float] | None = None
    times: list[Any] | None = None
    n_undated: int = 0  # documents without a date


def texts_only(text: str | None, id: str | None = "") -> Columns:
    """Columns of verbs that read only the text and the id."""
    from bayou.data.table import Columns

    return Columns(text=text or "text", label="", target="", time="", id=id)


def check_there(path: str) -> None:
    """Refuse a missing file before the slow imports."""
    if path != STDIN and not builtin.is_builtin(path):
        os.stat(path)


def form_of(source: Source) -> str:
    """The format: as given, by the file name, or JSONL."""
    form = source.format
    if form is not None and form not in _FORMATS:
        raise typer.BadParameter(
            f"{form!r} is not one of {', '.join(_FORMATS)}", param_hint="--format"
        )
    if form is not None or source.path == STDIN:
        return form or "jsonl"
    check_there(source.path)  # a missing file is not an unknown format
    try:
        form = format_of(source.path, None)
    except DataError:
        _check_json(source.path)
        return "jsonl"
    if form in MATRIX_FORMATS:
        raise DataError(
            f"{source.path}: a {form} file holds counts, not text; read it in Python with "
            "bayou.data.read and fit an estimator to it"
        )
    return form


def _check_json(path: str) -> None:
    """Refuse a file of unknown format that does not start like JSON."""
    if not os.path.isfile(path):
        return  # a pipe can be read only once
    with reading(path) as file:
        head = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head and not head.startswith((b"{", b"[")):
        raise DataError(
            f"{path} is not JSON lines, and its name gives no format; save it as CSV, pass --format "
            f"({', '.join(_FORMATS)}), or put each text into a file of a folder"
        )


def _table(source: Source) -> Table:
    from bayou.data.table import Table

    return Table(source.columns, None, source.label_separator or None, source.usual)


def texts(source: Source, table: Table) -> Iterator[str]:
    """The texts of a file; the other columns go to the table."""
    options = check_options(source.encoding_errors, source.max_line_bytes)
    if builtin.is_builtin(source.path):
        return table.texts(builtin.records(source.path))
    form = form_of(source)
    found = table.texts(iter_located_records(source.path, form, options))
    return _with_hint(found) if source.path == STDIN and source.format is None else found


def _with_hint(texts: Iterator[str]) -> Iterator[str]:
    """Texts of standard input; an error at its start mentions --format, since it may be a table."""
    has_begun = False
    try:
        for text in texts:
            has_begun = True
            yield text
    except DataError as error:
        if has_begun or "JSON" not in str(error):
            raise
        raise DataError(
            f"{error}; standard input is read as JSON lines: give --format csv (or tsv) for a table"
        ) from None


def read_corpus(
    source: Source, vectorizer: Vectorizer, *, keep_texts: bool = False
) -> tuple[Corpus, list[str]]:
    """All documents as counts with their other columns; and their texts, with ``keep_texts``.

    Fits the vectorizer if it is not fitted.
    """
    from bayou.data.corpus import Corpus

    table, kept = _table(source), []

    def each() -> Iterator[str]:
        for text in texts(source, table):
            if keep_texts:
                kept.append(text)
            yield text

    is_fitted = hasattr(vectorizer, "vocabulary_")
    counts = vectorizer.transform(each()) if is_fitted else vectorizer.fit_transform(each())
    name = describe(source.path)
    if not counts.shape[0]:
        raise DataError(f"{name}: contains no documents; check the file")
    try:
        fields = table.fields()
        return Corpus.from_matrix(counts, vocabulary=vectorizer.vocabulary_, **fields), kept
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def flags(source: Source) -> list[str]:
    """The options that another verb needs to read the same documents."""
    columns = source.columns
    given = {
        "--text": columns.text if columns.text != "text" else None,
        "--label": columns.label,
        "--target": columns.target,
        "--label-separator": source.label_separator,
        "--format": source.format,
        "--encoding-errors": source.encoding_errors if source.encoding_errors != "strict" else None,
        "--max-line-bytes": source.max_line_bytes if source.max_line_bytes != MAX_LINE else None,
    }
    return [word for flag, value in given.items() if value for word in (flag, str(value))]


def batches(source: Source, size: int, skip: int = 0, first: int | None = None) -> Iterator[Batch]:
    """Documents after the first ``skip``, ``size`` per batch; documents without an id are numbered.

    ``first`` is the size of the first batch. Default: ``size``.
    """
    table = _table(source)
    stream = texts(source, table)
    at = 0
    for _ in islice(stream, skip):
        at += 1
        _clear(table)
    is_empty = at == 0
    while some := list(islice(stream, first or size)):
        first = None
        found = {name: list(values) for name, values in table.fields().items()}
        _clear(table)
        number = source.n_before + at + 1
        ids = found.get("ids") or list(range(number, number + len(some)))
        times = found.get("times")
        others = (found.get("labels"), found.get("targets"), times)
        yield Batch(ids, some, *others, _n_undated(times or [None] * len(some)))
        at, is_empty = at + len(some), False
    if is_empty:
        raise DataError(f"{describe(source.path)}: contains no documents; check the file")


def _n_undated(times: Sequence[Any]) -> int:
    from numpy import isnat

    return sum(time is None or bool(isnat(time)) for time in times)


def _clear(table: Table) -> None:
    for values in table.values.values():
        values.clear()


def title_of(file: str) -> str:
    """Title of a report on these documents."""
    if builtin.is_builtin(file):
        return file.removeprefix(builtin.PREFIX).partition("/")[0]
    return Path(file.removesuffix(".gz")).stem
