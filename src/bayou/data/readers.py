"""Read a file into a `Corpus`, or as a stream of records."""

from collections.abc import Iterable, Iterator
from typing import Any

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.lines import MAX_LINE_BYTES, EncodingErrors, Source, describe, read_names
from bayou.data.readers_matrix import iter_svmlight, read_svmlight, read_uci
from bayou.data.records import (
    MATRIX_FORMATS,
    Options,
    check_options,
    format_of,
    iter_located_records,
)
from bayou.data.table import Columns, Table
from bayou.data.text import Vectorizer
from bayou.data.vocabulary import Vocabulary


def read(
    path: Source,
    *,
    format: str | None = None,
    text: str = "text",
    label: str | None = None,
    target: str | None = None,
    time: str | None = None,
    id: str | None = None,
    split: str | None = None,
    label_separator: str | None = None,
    vocabulary: Source | Vocabulary | Iterable[str] | None = None,
    label_names: Source | Iterable[str] | None = None,
    vectorizer: Vectorizer | None = None,
    encoding_errors: EncodingErrors = "strict",
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Corpus:
    r"""Read a corpus from a file, a folder of text files, or standard input.

    Files may be compressed with gzip. A file without any document is an error; an empty document
    is not.

    Parameters
    ----------
    path : path
        ``-`` is standard input.
    format : str, optional
        "jsonl", "csv", "tsv", "parquet", "svmlight", "uci" or "folder". Default: inferred from the
        name. An svmlight file has one document per line: label numbers from 0, separated by commas,
        then ``term:count`` with terms from 0.
    text : str
        Name of the text field.
    label, target, time, id : str, optional
        Names of these fields. Default: ``labels`` or ``label``, ``target``, ``date`` or ``time``,
        and ``id``, each if present. An empty string ignores the field.
    split : str, optional
        Keep only the records whose field ``split`` has this value.
    label_separator : str, optional
        Separator of several labels in one string.
    vocabulary : path, Vocabulary or list of str, optional
        The terms, or a file with one term per line. Other terms are not counted.
    label_names : path or list of str, optional
        The labels, or a file with one label per line.
    vectorizer : Vectorizer, optional
        Counts the terms of the text; fitted here if it is not fitted yet.
    encoding_errors : "strict" or "replace"
        How to handle bytes that are not UTF-8.
    max_line_bytes : int
        A longer line is an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pets.csv")
    ...     _ = file.write_text("text,label\na cat,yes\na dog,no\n")
    ...     read(file)
    Corpus(2 documents, 2 terms, 2 tokens, 2 labels)
    """
    options = check_options(encoding_errors, max_line_bytes)
    form = format_of(path, format)
    given = vocabulary if isinstance(vocabulary, Vocabulary) else _names(vocabulary)
    terms = given if given is None or isinstance(given, Vocabulary) else Vocabulary(given)
    names = _names(label_names)
    columns = Columns(text, label, target, time, id)
    if form in MATRIX_FORMATS:
        if columns != Columns() or split or label_separator or vectorizer is not None:
            raise DataError(
                f"a {form} file holds counts, not fields of text; leave out text, label, target, "
                "time, id, split, label_separator and vectorizer"
            )
        return _read_matrix(path, form, options, terms, names)
    if vectorizer is not None and terms is not None:
        raise DataError("give the vocabulary to the Vectorizer, or leave the Vectorizer out")
    counter = Vectorizer(vocabulary=terms) if vectorizer is None else vectorizer
    table = Table(columns, split, label_separator)
    texts = table.texts(iter_located_records(path, form, options))
    return _read_text(describe(path), table, texts, counter, names)


def iter_records(
    path: Source,
    *,
    format: str | None = None,
    encoding_errors: EncodingErrors = "strict",
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[dict[str, Any]]:
    """Stream the records of a file as dictionaries, one per document.

    Each record has the fields of the file. Folders give ``id``, ``text`` and, for sub-folders,
    ``label``. Matrix files give ``terms`` and ``counts`` (arrays), and svmlight also ``labels``
    (list of int). Only a UCI file is read completely before the first record.

    Parameters
    ----------
    path, format, encoding_errors, max_line_bytes
        As in `read`.
    """
    options = check_options(encoding_errors, max_line_bytes)
    form = format_of(path, format)
    if form in MATRIX_FORMATS:
        return _matrix_records(path, form, options)
    return (record for _, record in iter_located_records(path, form, options))


def _names(given: Any) -> tuple[str, ...] | None:
    """Read names from a file; anything but str and PathLike is the names themselves."""
    is_path = isinstance(given, str) or hasattr(given, "__fspath__")
    return None if given is None else tuple(read_names(given) if is_path else given)


def _read_text(
    source: str, table: Table, texts: Iterator[str], counter: Vectorizer, names: Any
) -> Corpus:
    fitted = hasattr(counter, "vocabulary_")
    counts = counter.transform(texts) if fitted else counter.fit_transform(texts)
    if not counts.shape[0]:
        selected = f" whose split is {table.split!r}" if table.split else ""
        raise DataError(f"{source}: no records{selected} in the file")
    try:
        return Corpus.from_matrix(
            counts, vocabulary=counter.vocabulary_, label_names=names, **table.fields()
        )
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _read_matrix(path: Source, form: str, options: Options, terms: Any, names: Any) -> Corpus:
    if form == "uci":
        if names is not None:
            raise DataError("a uci file has no labels; leave out label_names")
        return Corpus.from_matrix(read_uci(path, options), vocabulary=terms)
    sizes = [None if given is None else len(given) for given in (terms, names)]
    counts, labels = read_svmlight(path, options, *sizes)
    labelled = names is not None or labels.shape[1] > 0
    return Corpus.from_matrix(
        counts, vocabulary=terms, labels=labels if labelled else None, label_names=names
    )


def _matrix_records(path: Source, form: str, options: Options) -> Iterator[dict[str, Any]]:
    if form == "uci":
        matrix = read_uci(path, options)
        for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            yield {"terms": matrix.indices[start:end], "counts": matrix.data[start:end]}
        return
    for _, rows in iter_svmlight(path, options):
        i = j = 0
        for n_labels, n_terms in zip(rows.label_sizes, rows.sizes, strict=True):
            yield {
                "labels": rows.labels[i : i + n_labels].tolist(),
                "terms": rows.terms[j : j + n_terms],
                "counts": rows.counts[j : j + n_terms],
            }
            i, j = i + n_labels, j + n_terms
