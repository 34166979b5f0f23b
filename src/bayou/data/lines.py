"""Lines of bytes from files or standard input, gzip or plain, with a length limit."""

import contextlib
import gzip
import io
import itertools
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

from bayou.data.errors import DataError

STDIN = "-"
MAX_LINE_BYTES = 64 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"

Source = str | os.PathLike[str]
EncodingErrors = Literal["strict", "replace"]


@contextlib.contextmanager
def reading(path: Source) -> Iterator[BinaryIO]:
    """Open a file (``-``: standard input), decompress gzip, and convert failures to `DataError`.

    Gzip is detected by its first bytes, so compressed standard input works too.
    """
    name = describe(path)
    with contextlib.ExitStack() as stack:
        raw = _raw(path, stack)
        start = raw.peek(2)[:2]
        if not start:
            raise DataError(f"{name}: the file is empty; give a file that contains documents")
        if start in _UTF16:
            raise DataError(f"{name}: the text is UTF-16; save it as UTF-8")
        if start != _GZIP_MAGIC and name.endswith(".gz"):
            raise DataError(f"{name}: the name ends in .gz, but the file is not gzip data")
        file: Any = raw
        if start == _GZIP_MAGIC:
            file = io.BufferedReader(stack.enter_context(gzip.GzipFile(fileobj=raw)), 2**20)
        try:
            yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{name}: the gzip data is damaged or truncated ({error})") from None


def describe(path: Source) -> str:
    """The name of a source for error messages."""
    return "standard input" if os.fspath(path) == STDIN else os.fspath(path)


def check_stdin() -> None:
    """Raise a `DataError` if standard input is closed: its descriptor may now be another file."""
    if sys.stdin is None:
        raise DataError("standard input is closed; send documents through it, or name a file")


def _raw(path: Source, stack: contextlib.ExitStack) -> Any:
    if os.fspath(path) == STDIN:
        check_stdin()
        stream = sys.stdin.buffer
        return stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    try:
        return stack.enter_context(Path(path).open("rb"))
    except IsADirectoryError:
        raise DataError(f'{path} is a folder; read it with format="folder"') from None


def iter_lines(
    file: BinaryIO, name: str, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line with its end); a line over the limit is never read whole."""
    for number in itertools.count(1):
        line = file.readline(max_line_bytes + 1)
        if not line:
            return
        if len(line) > max_line_bytes:
            raise _too_long(name, number, max_line_bytes)
        yield number, line.removeprefix(_BOM) if number == 1 else line


def _too_long(name: str, number: int, max_line_bytes: int) -> DataError:
    return DataError(
        f"{name}, line {number}: longer than {max_line_bytes} bytes; "
        "raise max_line_bytes to accept such lines"
    )


def iter_chunks(
    file: BinaryIO, name: str, max_line_bytes: int = MAX_LINE_BYTES, size: int = 2**22
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, several whole lines); every chunk ends in a line feed."""
    size = min(size, max_line_bytes)  # so that a line over the limit always spans two blocks
    number, carry = 1, b""
    while block := file.read(size):
        cut = block.rfind(b"\n") + 1
        if len(carry) + (block.find(b"\n") if cut else len(block)) > max_line_bytes:
            raise _too_long(name, number, max_line_bytes)
        if not cut:
            carry += block
            continue
        chunk, carry = carry + block[:cut], block[cut:]
        yield number, chunk.removeprefix(_BOM) if number == 1 else chunk
        number += chunk.count(b"\n")
    if carry:
        yield number, (carry.removeprefix(_BOM) if number == 1 else carry) + b"\n"


def decode(line: bytes, errors: EncodingErrors, where: str) -> str:
    """Decode UTF-8; an error names the place."""
    try:
        return line.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: not valid UTF-8 (byte {error.start + 1} of the line); "
            'save the file as UTF-8 or pass encoding_errors="replace"'
        ) from None


def read_names(path: Source) -> list[str]:
    """Read one name per line (``vocab.txt``, ``labels.txt``, gzip or plain).

    Line n, from 0, names term or label n.
    """
    name = describe(path)
    with reading(path) as file:
        return [
            decode(line, "strict", f"{name}, line {number}").rstrip("\r\n")
            for number, line in iter_lines(file, name)
        ]
