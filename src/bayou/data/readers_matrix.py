"""Files that hold counts: svmlight with several labels, and the UCI bag of words.

A chunk of lines that holds only digits and the usual separators is parsed with array operations.
Any other chunk is parsed line by line. The slow parser supports fractions, exponents and comments,
and names the invalid line.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.counts import CSR, narrow_indices
from bayou.data.errors import DataError
from bayou.data.lines import Source, describe, iter_chunks, reading
from bayou.data.records import Options

_MAX_INDEX = np.iinfo(np.int32).max - 1
_MAX_DIGITS = 9  # such numbers are below 2**31
_MAX_EMPTY_DOCS = 10_000_000  # the most documents without entries that a UCI header may announce
_WHOLE = re.compile(rb"\d+")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SPACES = bytes.maketrans(b"\t\r", b"  ")


class Rows(NamedTuple):
    """Consecutive documents of an svmlight file."""

    label_sizes: npt.NDArray[np.int64]  # (n_docs,)
    labels: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]  # (n_docs,)
    terms: npt.NDArray[np.int64]
    counts: npt.NDArray[np.float64]


class Numbers(NamedTuple):
    """Every run of digits in a chunk, and the bytes before and after it."""

    start: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    before: npt.NDArray[np.uint8]
    after: npt.NDArray[np.uint8]


def iter_svmlight(path: Source, options: Options) -> Iterator[tuple[int, Rows]]:
    """Stream (number of the first line, documents) from an svmlight file."""
    name = describe(path)
    with reading(path) as file:
        for first, chunk in iter_chunks(file, name, options.max_line_bytes):
            plain = chunk.translate(_SPACES)
            rows = _svmlight_fast(plain)
            yield first, _svmlight_slow(plain, name, first) if rows is None else rows


def read_svmlight(
    path: Source, options: Options, n_terms: int | None = None, n_labels: int | None = None
) -> tuple[CSR, CSR]:
    """Read counts and label indicator. Default sizes: the largest number of each kind plus one."""
    parts = [rows for _, rows in iter_svmlight(path, options)]
    if not sum(len(rows.sizes) for rows in parts):
        raise DataError(f"{describe(path)}: no documents in the file")
    label_sizes, labels, sizes, terms, counts = (
        np.concatenate(x) for x in zip(*parts, strict=True)
    )
    name = describe(path)
    n_terms = _width(terms, sizes, n_terms, f"{name}: term", "vocabulary")
    n_labels = _width(labels, label_sizes, n_labels, f"{name}: label", "list of label names")
    matrix = sp.csr_array(
        (counts, terms.astype(np.int32), _ends(sizes)), shape=(len(sizes), n_terms)
    )
    indicator = sp.csr_array(
        (np.ones(len(labels), np.int8), labels.astype(np.int32), _ends(label_sizes)),
        shape=(len(sizes), n_labels),
    )
    indicator.sum_duplicates()
    indicator.data[:] = 1  # a label written twice is one label
    return matrix, narrow_indices(indicator)


def read_uci(path: Source, options: Options) -> CSR:
    """Read a UCI ``docword`` file: documents, terms, entries; then ``doc term count`` from 1."""
    name = describe(path)
    header: list[int] = []
    parts = []
    with reading(path) as file:
        for first, chunk in iter_chunks(file, name, options.max_line_bytes):
            body, first_line = chunk, first
            while len(header) < 3 and body:
                line, _, body = body.partition(b"\n")
                header.append(_uci_size(line, f"{name}, line {first_line}"))
                first_line += 1
            plain = body.translate(_SPACES)
            triples = _uci_fast(plain)
            parts.append(_uci_slow(plain, name, first_line) if triples is None else triples)
    if len(header) < 3:
        raise DataError(
            f"{name}: the header must be three lines with one number each; it is truncated"
        )
    n_docs, n_terms, n_entries = header
    docs, terms, counts = np.concatenate(parts).T
    if len(docs) != n_entries:
        raise DataError(
            f"{name}: the header announces {n_entries} entries, the file has {len(docs)}"
        )
    if n_docs > n_entries + _MAX_EMPTY_DOCS:
        raise DataError(
            f"{name}: the header announces {n_docs} documents, but only {n_entries} entries"
        )
    for what, values, size in (("document", docs, n_docs), ("term", terms, n_terms)):
        bad = (values < 1) | (values > size)
        if bad.any():
            i = int(np.argmax(bad))
            raise DataError(f"{name}, line {i + 4}: {what} {values[i]:g} is not in 1 .. {size}")
    places = (docs.astype(np.int64) - 1, terms.astype(np.int64) - 1)
    return sp.csr_array(sp.coo_array((counts, places), shape=(n_docs, n_terms)))


def _numbers(chunk: bytes) -> Numbers | None:
    """Find and read all runs of digits; None if one has too many digits for array operations."""
    raw = np.frombuffer(b"\n" + chunk, np.uint8)  # so that every run has a byte before it
    digit = (raw - np.uint8(48)) < 10  # wraps around below "0"
    edges = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    start, end = edges[::2], edges[1::2]
    length = end - start
    longest = int(length.max(initial=0))
    if longest > _MAX_DIGITS:
        return None
    value = np.zeros(len(start), np.int64)
    for place in range(longest):
        inside = place < length
        digits = raw[np.where(inside, start + place, 0)].astype(np.int64) - 48
        value = np.where(inside, value * 10 + digits, value)
    return Numbers(start, value, raw[start - 1], raw[end])


def _svmlight_fast(chunk: bytes) -> Rows | None:
    """Parse lines of ``label,label term:count term:count``; None if the chunk holds anything else."""
    if chunk.translate(None, b"0123456789,: \n"):
        return None
    numbers = _numbers(chunk)
    if numbers is None:
        return None
    before, after = numbers.before, numbers.after
    is_term, is_count = after == ord(":"), before == ord(":")
    is_label = ~(is_term | is_count)
    at_start, spaced = before == ord("\n"), before == ord(" ")
    ends = (after == ord(" ")) | (after == ord("\n"))
    legal = np.where(
        is_label,
        (at_start | (before == ord(","))) & (ends | (after == ord(","))),
        np.where(is_term, ~is_count & (at_start | spaced), ends),
    )
    # every colon and every comma must have a number on both sides
    colons, commas = chunk.count(b":"), chunk.count(b",")
    paired = is_term.sum() == is_count.sum() == colons
    paired &= (before == ord(",")).sum() == (after == ord(",")).sum() == commas
    if not legal.all() or not paired:
        return None
    line_ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n")) + 1
    return Rows(
        _per_line(numbers.start[is_label], line_ends),
        numbers.value[is_label],
        _per_line(numbers.start[is_term], line_ends),
        numbers.value[is_term],
        numbers.value[is_count].astype(np.float64),
    )


def _per_line(
    starts: npt.NDArray[np.int64], line_ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    return np.diff(np.searchsorted(starts, line_ends), prepend=0)


def _svmlight_slow(chunk: bytes, name: str, first: int) -> Rows:
    label_sizes, labels, sizes, terms, counts = [], [], [], [], []
    for number, line in enumerate(chunk.split(b"\n")[:-1], first):
        where = f"{name}, line {number}"
        text, mark, _ = line.partition(b"#")
        if mark and not text.strip():
            continue
        fields = text.split()
        n_labels = n_terms = 0
        if fields and not text.startswith(b" ") and b":" not in fields[0]:
            for label in fields.pop(0).split(b","):
                labels.append(_index(label, where, "label"))
                n_labels += 1
        for field in fields:
            term, colon, count = field.partition(b":")
            if not colon:
                raise DataError(f"{where}: expected term:count, got {_format_field(field)}")
            terms.append(_index(term, where, "term"))
            counts.append(_count(count, where))
            n_terms += 1
        label_sizes.append(n_labels)
        sizes.append(n_terms)
    return Rows(
        np.array(label_sizes, np.int64),
        np.array(labels, np.int64),
        np.array(sizes, np.int64),
        np.array(terms, np.int64),
        np.array(counts, np.float64),
    )


def _uci_fast(chunk: bytes) -> npt.NDArray[np.float64] | None:
    if chunk.translate(None, b"0123456789 \n"):
        return None
    numbers = _numbers(chunk)
    if numbers is None:
        return None
    line_ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n")) + 1
    if (_per_line(numbers.start, line_ends) != 3).any():
        return None
    return numbers.value.reshape(-1, 3).astype(np.float64)


def _uci_slow(chunk: bytes, name: str, first: int) -> npt.NDArray[np.float64]:
    rows = []
    for number, line in enumerate(chunk.split(b"\n")[:-1], first):
        where, fields = f"{name}, line {number}", line.split()
        if not fields:
            continue
        if len(fields) != 3:
            raise DataError(f"{where}: expected three numbers, got {len(fields)} fields")
        doc, term = (_index(field, where, "number") for field in fields[:2])
        rows.append((doc, term, _count(fields[2], where)))
    return np.array(rows, np.float64).reshape(-1, 3)


def _uci_size(line: bytes, where: str) -> int:
    return _index(line.strip(), where, "size")


def _index(field: bytes, where: str, what: str) -> int:
    if not _WHOLE.fullmatch(field):
        raise DataError(f"{where}: {what} {_format_field(field)} is not a whole number >= 0")
    if len(field) > 18 or int(field) > _MAX_INDEX:
        raise DataError(f"{where}: {what} {_format_field(field)} is larger than {_MAX_INDEX}")
    return int(field)


def _count(field: bytes, where: str) -> float:
    value = float(field) if _NUMBER.fullmatch(field) else np.nan
    if not 0 <= value < np.inf:
        raise DataError(f"{where}: count {_format_field(field)} is not a finite number >= 0")
    return value


def _format_field(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))


def _ends(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _width(
    values: npt.NDArray[Any], sizes: npt.NDArray[Any], width: int | None, what: str, where: str
) -> int:
    largest = int(values.max(initial=-1))
    if width is None:
        return largest + 1
    if largest >= width:
        i = int(np.argmax(values >= width))
        d = int(np.searchsorted(np.cumsum(sizes), i, side="right"))
        raise DataError(
            f"{what} {values[i]} of document {d} is not in the {where}, which has {width} entries"
        )
    return width
