"""The header of a model file, in one canonical encoding.

A header is JSON in the safetensors layout. Its contents have exactly one valid encoding, and the
reader compares byte by byte. White space, duplicate keys, number formats and the position of the
digest therefore need no rules of their own.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from bayou.data.errors import DamagedFileError, ModelFileError

FORMAT_VERSION = 1
MAX_HEADER = 16 * 2**20
MAX_ENTRIES = 10_000
NO_DIGEST = "0" * 64
_ALIGN = 8
_MAX_NDIM = 32

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """One array: its name, type, shape and byte range."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class Header(NamedTuple):
    """The contents of a header; entries in the order of their bytes."""

    entries: tuple[Entry, ...]
    manifest: str
    digest: str


def describe(arrays: Mapping[str, np.ndarray[Any, Any]]) -> tuple[Entry, ...]:
    """Lay out arrays one after the other, widest items first, so that all are aligned."""
    if len(arrays) > MAX_ENTRIES:
        raise ModelFileError(f"a model file holds at most {MAX_ENTRIES} arrays, got {len(arrays)}")
    for name, array in arrays.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "__metadata__":
            raise ModelFileError(
                f"{name!r:.80} is not a valid array name; use up to 200 letters, digits and _ . : / -"
            )
        if array.dtype.newbyteorder("<") not in _NAMES:
            raise ModelFileError(
                f"array {name!r} has dtype {array.dtype}; "
                f"a model file holds {', '.join(sorted(map(str, _NAMES)))}"
            )
        if array.ndim > _MAX_NDIM:
            raise ModelFileError(
                f"array {name!r} has {array.ndim} dimensions; at most {_MAX_NDIM} are supported"
            )
    entries, start = [], 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].itemsize, name)):
        array = arrays[name]
        end = start + array.nbytes
        dtype = _NAMES[array.dtype.newbyteorder("<")]
        entries.append(Entry(name, dtype, array.shape, start, end))
        start = end
    return tuple(entries)


def canonical(value: object) -> str:
    """The canonical JSON of a value: sorted keys, no spaces, ASCII."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def encode(header: Header) -> bytes:
    """Encode a header: its length, then JSON padded with spaces to a multiple of 8 bytes."""
    fields: dict[str, Any] = {
        entry.name: {
            "dtype": entry.dtype,
            "shape": list(entry.shape),
            "data_offsets": [entry.start, entry.end],
        }
        for entry in header.entries
    }
    fields["__metadata__"] = {
        "format": "bayou",
        "format_version": str(FORMAT_VERSION),
        "manifest": header.manifest,
        "sha256": header.digest,
    }
    text = canonical(fields).encode("ascii")
    text += b" " * (-len(text) % _ALIGN)
    if len(text) > MAX_HEADER:
        raise ModelFileError(
            f"the header would take {len(text)} bytes; at most {MAX_HEADER} are allowed; "
            "store long lists of strings as arrays (pack_strings)"
        )
    return len(text).to_bytes(8, "little") + text


def decode(raw: bytes, n_data: int) -> Header:
    """Read and check a header (without its length). Nothing is allocated before the check.

    Parameters
    ----------
    raw : bytes
        The header as stored in the file.
    n_data : int
        Number of bytes that follow it.
    """
    try:
        fields = parse(raw, "header")
    except ModelFileError as error:
        raise DamagedFileError(str(error)) from None
    meta = fields.pop("__metadata__", None)
    digest, manifest = _check_metadata(meta)
    if len(fields) > MAX_ENTRIES:
        raise DamagedFileError(f"the header lists {len(fields)} arrays, more than {MAX_ENTRIES}")
    entries = [_check_entry(name, entry) for name, entry in fields.items()]
    entries.sort(key=lambda entry: (entry.start, entry.end))
    position = 0
    for entry in entries:
        if entry.start != position:
            raise DamagedFileError(f"array {entry.name!r} overlaps another one or leaves a gap")
        position = entry.end
    if position != n_data:
        raise DamagedFileError(
            f"the header describes {position} bytes of data, the file has {n_data}; "
            "the file was truncated or something was appended"
        )
    header = Header(tuple(entries), manifest, digest)
    if encode(header)[8:] != raw:
        raise DamagedFileError("the header is not in the canonical form that bayou writes")
    return header


def parse(raw: bytes | str, what: str) -> dict[str, Any]:
    """Parse a JSON object strictly; any error is a `ModelFileError`."""
    try:
        text = raw.decode("ascii") if isinstance(raw, bytes) else raw
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the {what} is not valid JSON: {error!s:.200}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"the {what} is not a JSON object")
    return value


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_metadata(meta: Any) -> tuple[str, str]:
    if not isinstance(meta, dict) or meta.get("format") != "bayou":
        raise ModelFileError("not a bayou model file (the header's format is not 'bayou')")
    version = meta.get("format_version")
    if not isinstance(version, str) or not re.fullmatch(r"[1-9][0-9]{0,8}", version):
        raise DamagedFileError(f"unknown file format version {version!r:.80}")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"written by a newer bayou (file format {version}; this version reads "
            f"{FORMAT_VERSION}); upgrade bayou to read it"
        )
    digest, manifest = meta.get("sha256"), meta.get("manifest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise DamagedFileError("the header has no SHA-256 digest")
    if not isinstance(manifest, str) or len(meta) != 4:
        raise DamagedFileError("the header has no manifest or has unknown fields")
    return digest, manifest


def _check_entry(name: str, entry: Any) -> Entry:
    if not _NAME.fullmatch(name):
        raise DamagedFileError(f"{name!r:.80} is not a valid array name")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise DamagedFileError(f"array {name!r} must be described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise DamagedFileError(f"array {name!r} has unknown dtype {dtype!r:.80}")
    if not _are_sizes(shape) or len(shape) > _MAX_NDIM:
        raise DamagedFileError(f"array {name!r} has an invalid shape")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise DamagedFileError(f"array {name!r} has invalid offsets")
    start, end = offsets
    if end - start != math.prod(shape) * DTYPES[dtype].itemsize:
        raise DamagedFileError(f"the size of array {name!r} does not match its shape")
    return Entry(name, dtype, tuple(shape), start, end)


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(n) is int and 0 <= n < 2**63 for n in values)
