"""Documents of a file as the verbs need them: a corpus, or batch after batch."""

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
    usual: Mapping[str, str] | None = None  # columns to look for first where none is named
    n_before: int = 0  # documents that came earlier, from another file: numbers go on behind them

    @property
    def once(self) -> bool:
        """Whether what was read is gone: standard input, a pipe."""
        return (
            not builtin.meant(self.path)
            and not os.path.isfile(self.path)
            and not os.path.isdir(self.path)
        )


class Batch(NamedTuple):
    """Some documents, one after the other."""

    ids: list[str | int]
    texts: list[str]
    labels: list[Any] | None = None  # as they stand in the file; None: no document has the field
    targets: list[float] | None = None
    times: list[Any] | None = None
    n_undated: int = 0  # where dates were looked for


def texts_only(text: str | None, id: str | None = "") -> Columns:
    """Columns of verbs that look at nothing but the text and the name of a document."""
    from bayou.data.table import Columns

    return Columns(text=text or "text", label="", target="", time="", id=id)


def check_there(path: str) -> None:
    """Miss a file before seconds are spent on loading what would read it."""
    if path != STDIN and not builtin.meant(path):
        os.stat(path)


def form_of(source: Source) -> str:
    """The format: as given, told by the name, or JSONL."""
    form = source.format
    if form is not None and form not in _FORMATS:
        raise typer.BadParameter(
            f"{form!r} is none of {', '.join(_FORMATS)}", param_hint="--format"
        )
    if form is not None or source.path == STDIN:
        return form or "jsonl"
    check_there(source.path)  # so that a missing file is told from a strange name
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
    """A file whose name tells nothing must at least begin like JSON."""
    if not os.path.isfile(path):
        return  # what comes through a pipe can be looked at only once
    with reading(path) as file:
        head = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head and not head.startswith((b"{", b"[")):
        raise DataError(
            f"{path} is not JSON lines, and its name does not tell what it is; save it as CSV, pass "
            f"--format ({', '.join(_FORMATS)}), or put texts into a folder, a file each"
        )


def _table(source: Source) -> Table:
    from bayou.data.table import Table

    return Table(source.columns, None, source.label_separator or None, source.usual)


def texts(source: Source, table: Table) -> Iterator[str]:
    """The texts of a file, one after the other; what is beside them goes to the table."""
    options = check_options(source.encoding_errors, source.max_line_bytes)
    if builtin.meant(source.path):
        return table.texts(builtin.records(source.path))
    form = form_of(source)
    found = table.texts(iter_located_records(source.path, form, options))
    return _hinted(found) if source.path == STDIN and source.format is None else found


def _hinted(texts: Iterator[str]) -> Iterator[str]:
    """Texts of standard input, which are JSON lines unless told otherwise; who sends a table is told so."""
    begun = False
    try:
        for text in texts:
            begun = True
            yield text
    except DataError as error:
        if begun or "JSON" not in str(error):
            raise
        raise DataError(
            f"{error}; standard input is read as JSON lines: give --format csv (or tsv) for a table"
        ) from None


def read_corpus(
    source: Source, vectorizer: Vectorizer, *, keep_texts: bool = False
) -> tuple[Corpus, list[str]]:
    """All documents as counts, with what is beside them; and their texts, if they are to be kept.

    A vectoriser that is not fitted yet will be.
    """
    from bayou.data.corpus import Corpus

    table, kept = _table(source), []

    def each() -> Iterator[str]:
        for text in texts(source, table):
            if keep_texts:
                kept.append(text)
            yield text

    fitted = hasattr(vectorizer, "vocabulary_")
    counts = vectorizer.transform(each()) if fitted else vectorizer.fit_transform(each())
    name = describe(source.path)
    if not counts.shape[0]:
        raise DataError(f"{name}: there are no documents in it; check the file")
    try:
        fields = table.fields()
        return Corpus.from_matrix(counts, vocabulary=vectorizer.vocabulary_, **fields), kept
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def flags(source: Source) -> list[str]:
    """The options that another verb needs to read the same documents."""
    columns = source.columns
    told = {
        "--text": columns.text if columns.text != "text" else None,
        "--label": columns.label,
        "--target": columns.target,
        "--label-separator": source.label_separator,
        "--format": source.format,
        "--encoding-errors": source.encoding_errors if source.encoding_errors != "strict" else None,
        "--max-line-bytes": source.max_line_bytes if source.max_line_bytes != MAX_LINE else None,
    }
    return [word for flag, value in told.items() if value for word in (flag, str(value))]


def batches(source: Source, size: int, skip: int = 0, first: int | None = None) -> Iterator[Batch]:
    """Documents ``size`` at a time, after ``skip`` of them; without names they are numbered.

    ``first`` is how many come at the first time, if not ``size``.
    """
    table = _table(source)
    stream = texts(source, table)
    at = 0
    for _ in islice(stream, skip):
        at += 1
        _forget(table)
    empty = at == 0
    while some := list(islice(stream, first or size)):
        first = None
        found = {name: list(values) for name, values in table.fields().items()}
        _forget(table)
        number = source.n_before + at + 1
        ids = found.get("ids") or list(range(number, number + len(some)))
        times = found.get("times")
        beside = (found.get("labels"), found.get("targets"), times)
        yield Batch(ids, some, *beside, _n_undated(times or [None] * len(some)))
        at, empty = at + len(some), False
    if empty:
        raise DataError(f"{describe(source.path)}: there are no documents in it; check the file")


def _n_undated(times: Sequence[Any]) -> int:
    from numpy import isnat

    return sum(time is None or bool(isnat(time)) for time in times)


def _forget(table: Table) -> None:
    for values in table.values.values():
        values.clear()


def title_of(file: str) -> str:
    """What a report on these documents is called."""
    if builtin.meant(file):
        return file.removeprefix(builtin.PREFIX).partition("/")[0]
    return Path(file.removesuffix(".gz")).stem
