"""Results on standard output or in a file: JSON lines, CSV, TSV or Parquet, by the file name."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import typer

from bayou.cli.terminal import echo
from bayou.data.errors import DataError, reason_of
from bayou.data.untrusted import for_file, for_spreadsheet, json_text

STDOUT = "-"
_FORMS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}

_HEAD = 4096  # bytes from which the type of a file is determined

Row = Mapping[str, Any]


def form_of(path: str) -> str:
    """The format of results, by the file name; standard output gets JSON lines."""
    if path == STDOUT:
        return "jsonl"
    form = _FORMS.get(Path(path).suffix.lower())
    if form is None:
        raise typer.BadParameter(
            f"{path!r} must end in .jsonl, .csv, .tsv or .parquet", param_hint="--output"
        )
    return form


def check_lines(place: str, flag: str) -> None:
    """Refuse a file for JSON lines with the extension of another format."""
    if "://" in place:
        return
    form = _FORMS.get(Path(place).suffix.lower())
    if form not in (None, "jsonl") or place.endswith(".gz"):
        raise typer.BadParameter(
            f"{place} would contain JSON lines, not {Path(place).suffix}; name a .jsonl file",
            param_hint=flag,
        )


def check_writable(
    path: str | os.PathLike[str], flag: str = "--output", unlike: Sequence[Any] = ()
) -> None:
    """Refuse a path that cannot be written, before the work; ``unlike`` are files that must not change."""
    check_apart(path, unlike, flag)
    folder = Path(path).parent
    if not folder.is_dir():
        raise typer.BadParameter(f"the folder {folder} does not exist", param_hint=flag)
    if Path(path).is_dir():
        raise typer.BadParameter(f"{path} is a folder; name a file", param_hint=flag)
    if not os.access(folder, os.W_OK):
        raise typer.BadParameter(f"the folder {folder} is not writable", param_hint=flag)


def check_model(
    path: str | os.PathLike[str], flag: str = "--output", unlike: Sequence[Any] = ()
) -> None:
    """`check_writable` for a model: an existing file must be a model."""
    check_writable(path, flag, unlike)
    head = _head(path)
    if head and b'"format":"bayou"' not in head:
        raise _refuse_overwrite(path, "a model of bayou", flag)


def check_page(
    path: str | os.PathLike[str], flag: str = "--output", unlike: Sequence[Any] = ()
) -> None:
    """`check_writable` for a report: an existing file must be HTML."""
    check_writable(path, flag, unlike)
    head = _head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head and not head.startswith(b"<"):
        raise _refuse_overwrite(path, "HTML", flag)


def check_alerts(path: str, flag: str = "--alerts") -> None:
    """Refuse an existing file that does not contain alerts."""
    head = b"" if path == STDOUT else _head(path).partition(b"\n")[0]
    if head.strip() and not (head.startswith(b"{") and b'"kind"' in head and b'"topic"' in head):
        raise _refuse_overwrite(path, "a file of alerts", flag)


def _head(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file; empty for a missing or special file."""
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise DataError(f"{os.fspath(path)}: {reason_of(error)}; name another file") from None


def _refuse_overwrite(path: str | os.PathLike[str], what: str, flag: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"{os.fspath(path)} already exists and is not {what}; bayou never overwrites a file of another type: "
        "name another file, or remove it",
        param_hint=flag,
    )


def check_apart(path: str | os.PathLike[str], others: Sequence[Any], flag: str) -> None:
    """Refuse to overwrite a file that the same command reads or writes otherwise."""
    for other in others:
        if other is None or os.fspath(other) == STDOUT or os.fspath(path) == STDOUT:
            continue
        if Path(path).absolute() == Path(other).absolute() or _same_file(path, other):
            raise typer.BadParameter(
                f"{path} would overwrite {other}, which this command needs; name another file",
                param_hint=flag,
            )


def _same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # one of them does not exist, or is not a path
        return False


class Writer:
    """Writes rows in one of the formats."""

    def __init__(self, form: str, file: BinaryIO) -> None:
        self.tabular = form != "jsonl"
        self._form = form
        self._file = file
        self._table: Any = None

    def write(self, rows: Sequence[Row]) -> None:
        """Write some rows; all must have the keys of the first one."""
        if self._form == "jsonl":
            for row in rows:
                self._file.write(as_json(row) + b"\n")
        elif self._form == "parquet":
            self._write_parquet(rows)
        elif rows:
            names = list(rows[0])
            if self._table is None:
                self._write_cells(names)
                self._table = True
            for row in rows:
                self._write_cells([row[name] for name in names])

    def _write_cells(self, cells: Sequence[Any]) -> None:
        text = io.StringIO()
        # with this line end, the csv module puts cells with CR in quotes
        table = csv.writer(text, delimiter="\t" if self._form == "tsv" else ",")
        table.writerow([for_spreadsheet(cell) for cell in cells])
        line = text.getvalue().removesuffix("\r\n") + "\n"
        self._file.write(line.encode("utf-8", "backslashreplace"))

    def _write_parquet(self, rows: Sequence[Row]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise DataError("writing Parquet needs pyarrow: pip install 'bayou[frames]'") from None
        batch = pyarrow.Table.from_pylist([for_file(row) for row in rows])
        if self._table is None:
            self._table = pyarrow.parquet.ParquetWriter(self._file, batch.schema)
        self._table.write_table(batch)

    def close(self) -> None:
        """Write what is still buffered."""
        if hasattr(self._table, "close"):
            self._table.close()
        self._file.flush()


def as_json(value: Any) -> bytes:
    """One line of JSON, in which no character is obeyed by a terminal."""
    return json_text(value).encode()


def print_json(value: Any) -> None:
    """Print one line of JSON."""
    sys.stdout.flush()
    sys.stdout.buffer.write(as_json(value) + b"\n")
    sys.stdout.buffer.flush()


def finite_or_none(value: Any) -> Any:
    """A value for JSON: None in place of infinities and NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_measure(name: str, value: float) -> None:
    """Print one measure."""
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
    echo(f"{name:<24} {'not defined' if finite_or_none(value) is None else shown:>14}")


@contextlib.contextmanager
def writing(path: str, unlike: Sequence[Any] = ()) -> Iterator[Writer]:
    """A writer; a file gets its name only when it is complete, and never overwrites ``unlike``."""
    form = form_of(path)
    if path == STDOUT:
        sys.stdout.flush()
        writer = Writer(form, sys.stdout.buffer)
        yield writer
        writer.close()
        return
    check_writable(path, unlike=unlike)
    part = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.tmp")
    try:
        with part.open("wb") as file:
            writer = Writer(form, file)
            yield writer
            writer.close()
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
