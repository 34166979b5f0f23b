"""Records of document files as a stream: JSON lines, CSV, TSV, Parquet, folders of text."""

import csv
import io
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

from bayou.data.errors import DataError
from bayou.data.lines import (
    MAX_LINE_BYTES,
    STDIN,
    EncodingErrors,
    Source,
    decode,
    describe,
    iter_lines,
    reading,
)

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".parquet": "parquet",
    ".pq": "parquet",
}
FORMATS = (*dict.fromkeys(_SUFFIXES.values()), "uci", "folder")
MATRIX_FORMATS = ("svmlight", "uci")
_MAX_PARQUET = 2**30  # bytes of standard input or unpacked from gzip, which are held in memory
_KNOWN = f"pass format= one of {', '.join(FORMATS)}"


class Options(NamedTuple):
    """Options for reading bytes, for all formats."""

    encoding_errors: EncodingErrors = "strict"
    max_line_bytes: int = MAX_LINE_BYTES


class LocatedRecord(NamedTuple):
    """A record and its place in the source, for error messages."""

    where: str
    record: dict[str, Any]


def check_options(encoding_errors: Any, max_line_bytes: Any) -> Options:
    """The options of a reader; a `DataError` if one is invalid."""
    if encoding_errors not in get_args(EncodingErrors):
        raise DataError(f'encoding_errors must be "strict" or "replace", got {encoding_errors!r}')
    if not isinstance(max_line_bytes, int) or max_line_bytes < 1:
        raise DataError(f"max_line_bytes must be a whole number > 0, got {max_line_bytes!r}")
    return Options(encoding_errors, max_line_bytes)


def format_of(path: Source, given: str | None) -> str:
    """The format of a source: as given, or inferred from its name."""
    if given is not None:
        if given not in FORMATS:
            raise DataError(f"unknown format {given!r}; must be one of {', '.join(FORMATS)}")
        return given
    if os.fspath(path) == STDIN:
        raise DataError(f"standard input has no name to infer the format from; {_KNOWN}")
    plain = Path(path)
    if plain.is_dir():
        return "folder"
    if not plain.exists():
        raise FileNotFoundError(f"no such file: {plain}")
    return format_of_name(plain)


def format_of_name(plain: Path) -> str:
    """The format inferred from the name of a file, which need not exist."""
    name = plain.name.lower().removesuffix(".gz")
    if name.startswith("docword.") and name.endswith(".txt"):
        return "uci"
    found = _SUFFIXES.get(Path(name).suffix)
    if found is None:
        raise DataError(f"{plain}: cannot infer the format from the name; {_KNOWN}")
    return found


def iter_located_records(path: Source, format: str, options: Options) -> Iterator[LocatedRecord]:
    """Stream the records of a file other than a matrix, each with its place."""
    if format == "folder":
        yield from _folder(Path(path), options)
        return
    with reading(path) as file:
        if format == "jsonl":
            yield from _jsonl(file, describe(path), options)
        elif format == "parquet":
            yield from _parquet(file, path)
        else:
            yield from _csv(file, describe(path), options, format)


def not_json(error: Exception) -> str:
    """The message for a line that is not valid JSON."""
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON ({error.msg} at character {error.pos + 1})"
    return f"not valid JSON ({error!s:.200})"


def not_a_row(error: csv.Error) -> str:
    """The message for a line that is not a valid row of a table."""
    if "unexpected end of data" in str(error):
        return (
            "a quote is opened but never closed; close it, or double it if it is part of the text"
        )
    return f"not a row of a table ({error}); quote the texts, and double the quotes inside them"


def same_name(columns: list[str]) -> str:
    """The message for a table with two columns of the same name."""
    twice = next(name for i, name in enumerate(columns) if name in columns[:i])
    return f"two columns have the same name, {twice!r}; rename one of them"


def _jsonl(file: Any, name: str, options: Options) -> Iterator[LocatedRecord]:
    for number, line in iter_lines(file, name, options.max_line_bytes):
        where = f"{name}, line {number}"
        text = decode(line, options.encoding_errors, where)
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: {not_json(error)}; write one object per line") from None
        if not isinstance(record, dict):
            raise DataError(
                f"{where}: expected a JSON object, got {text.strip()[:40]!r}; write one object per line"
            )
        yield LocatedRecord(where, record)


def _csv(file: Any, name: str, options: Options, format: str) -> Iterator[LocatedRecord]:
    decoded = (
        decode(line, options.encoding_errors, f"{name}, line {number}")
        for number, line in iter_lines(file, name, options.max_line_bytes)
    )
    head = next(decoded, "")
    # Spreadsheets write semicolons in locales with a decimal comma.
    semicolons = ";" in head and "," not in head
    delimiter = "\t" if format == "tsv" else ";" if semicolons else ","
    lines = itertools.chain([head], decoded)
    # The limit is global to the csv module, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), options.max_line_bytes))
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    columns: list[str] | None = None
    try:
        for row in rows:
            where = f"{name}, line {rows.line_num}"
            if columns is None:
                columns = row
                if len(set(columns)) != len(columns):
                    raise DataError(f"{where}: {same_name(columns)}")
            elif len(row) == len(columns):
                yield LocatedRecord(where, dict(zip(columns, row, strict=True)))
            elif row:
                raise DataError(
                    f"{where}: {len(row)} fields, but the header names {len(columns)} columns; quote "
                    "texts that contain the separator"
                )
    except csv.Error as error:
        raise DataError(f"{name}, line {rows.line_num}: {not_a_row(error)}") from None


def _parquet(file: Any, path: Source) -> Iterator[LocatedRecord]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError("reading Parquet needs pyarrow: pip install 'bayou[frames]'") from None
    name = describe(path)
    try:
        packed = os.fspath(path) == STDIN or name.endswith(".gz")
        data = file.read(_MAX_PARQUET + 1) if packed else b""
        if len(data) > _MAX_PARQUET:
            raise DataError(f"{name}: more than {_MAX_PARQUET} bytes; store it without gzip")
        source = pyarrow.BufferReader(data) if packed else pyarrow.OSFile(name, "rb")
        number = 0
        for batch in pyarrow.parquet.ParquetFile(source).iter_batches(batch_size=1024):
            for record in batch.to_pylist():
                number += 1
                yield LocatedRecord(f"{name}, row {number}", record)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(f"{name}: not a valid Parquet file ({error!s:.200})") from None


def _folder(path: Path, options: Options) -> Iterator[LocatedRecord]:
    if not path.is_dir():
        raise DataError(f"{path} is not a folder")
    found = False
    for file_path in text_files(path):
        found = True
        yield LocatedRecord(str(file_path), text_record(file_path, path, options))
    if not found:
        raise DataError(
            f"{path}: no text files (.txt, .txt.gz or without suffix) in the folder; store one text per "
            "file there, or name a file"
        )


def text_record(file_path: Path, folder: Path, options: Options) -> dict[str, Any]:
    """A text file as a record; its sub-folder is its label."""
    name, text = str(file_path), ""
    if file_path.stat().st_size:  # an empty file is an empty document
        with reading(file_path) as file:
            data = file.read(options.max_line_bytes + 1)
            if len(data) > options.max_line_bytes:
                raise DataError(
                    f"{name}: longer than {options.max_line_bytes} bytes; "
                    "raise max_line_bytes to accept such texts"
                )
            text = "".join(
                decode(line, options.encoding_errors, f"{name}, line {number}")
                for number, line in iter_lines(io.BytesIO(data), name, options.max_line_bytes)
            )
    record = {"id": file_path.relative_to(folder).as_posix(), "text": text}
    if file_path.parent != folder:
        record["label"] = file_path.parent.relative_to(folder).as_posix()
    return record


def text_files(path: Path) -> list[Path]:
    """The text files under a folder, sorted, without hidden files."""
    found = []
    for folder, _, names in os.walk(path):
        for name in names:
            suffix = Path(name.removesuffix(".gz")).suffix
            if not name.startswith(".") and suffix in (".txt", ""):
                found.append(Path(folder, name))
    return sorted(file for file in found if file.is_file())
