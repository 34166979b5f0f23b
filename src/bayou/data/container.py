"""The model file: named arrays and a JSON manifest in one file. Reading it executes nothing.

The file is valid safetensors: eight bytes of header length, a JSON header, the arrays. In the
header, ``__metadata__`` holds ``format`` ("bayou"), ``format_version``, ``manifest`` (JSON, as a
string) and ``sha256``: the digest of the whole file with those 64 digits replaced by zeros. Equal
contents give equal bytes. The reader checks every size against the size of the file before it
allocates memory, and checks the digest before it returns anything.
"""

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from bayou.data.errors import DamagedFileError, ModelFileError
from bayou.data.header import DTYPES, MAX_HEADER, NO_DIGEST, Header, canonical, decode, describe
from bayou.data.header import encode as encode_header
from bayou.data.header import parse as parse_json
from bayou.data.whole_file import replace_file

_CHUNK = 2**20


def save(
    path: str | os.PathLike[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    manifest: Mapping[str, Any],
) -> None:
    """Write arrays and a manifest to one file, completely or not at all.

    If writing fails (a full disk, an interrupt), an existing file at `path` is unchanged and no
    temporary file is left.

    Parameters
    ----------
    path : path
        The file to write; its folder must exist.
    arrays : mapping of str to array
        Booleans, integers or floating-point numbers of any shape.
    manifest : mapping
        Any JSON object with string keys.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(folder + "/model.bayou", {"topics": np.eye(2)}, {"kind": "demo"})
    ...     arrays, manifest = load(folder + "/model.bayou")
    >>> arrays["topics"].tolist(), manifest
    ([[1.0, 0.0], [0.0, 1.0]], {'kind': 'demo'})
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    entries = describe(plain)
    header = Header(entries, _spell(manifest), NO_DIGEST)
    data = [_bytes(plain[entry.name]) for entry in entries]
    digest = hashlib.sha256(encode_header(header))
    for part in data:
        digest.update(part)
    head = encode_header(header._replace(digest=digest.hexdigest()))
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ModelFileError(f"{target} is a folder; give the name of a file to save the model to")
    replace_file(target, [head, *data])


def load(path: str | os.PathLike[str]) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read a model file; nothing in it is executed.

    Returns
    -------
    arrays : dict of str to array
        Fresh, writable, C-contiguous.
    manifest : dict

    Raises
    ------
    ModelFileError
        The file is damaged, not a model file, or from a newer bayou.
    OSError
        The file does not exist or cannot be read.
    """
    with _open(path) as file, _naming(path):
        header = _read_header(file)
        digest = hashlib.sha256(encode_header(header._replace(digest=NO_DIGEST)))
        arrays = {}
        for entry in header.entries:
            array = _empty(entry.shape, DTYPES[entry.dtype])
            raw = array.reshape(-1).view(np.uint8)
            _read_into(file, raw)
            digest.update(raw.data)
            if entry.dtype == "BOOL" and raw.size and raw.max() > 1:
                raise DamagedFileError(f"array {entry.name!r} holds bytes other than 0 and 1")
            arrays[entry.name] = array
        _check_digest(digest.hexdigest(), header)
        # arrays are stored by item size; callers get them sorted by name
        ordered = {name: arrays[name] for name in sorted(arrays)}
        return ordered, parse_json(header.manifest, "manifest")


def peek(path: str | os.PathLike[str], *, verify: bool = False) -> dict[str, Any]:
    """Read only the manifest.

    Parameters
    ----------
    path : path
    verify : bool
        Also read the arrays (without keeping them) and check the digest.
    """
    with _open(path) as file, _naming(path):
        header = _read_header(file)
        if verify:
            digest = hashlib.sha256(encode_header(header._replace(digest=NO_DIGEST)))
            left = header.entries[-1].end if header.entries else 0
            while left:
                chunk = np.empty(min(left, _CHUNK), np.uint8)
                _read_into(file, chunk)
                digest.update(chunk.data)
                left -= chunk.size
            _check_digest(digest.hexdigest(), header)
        return parse_json(header.manifest, "manifest")


def pack_strings(strings: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Turn a long list of strings (a vocabulary) into an array that a model file can hold.

    Examples
    --------
    >>> unpack_strings(pack_strings(["ape", "bée"]))
    ['ape', 'bée']
    """
    return np.frombuffer(canonical(list(strings)).encode("ascii"), np.uint8).copy()


def unpack_strings(packed: npt.NDArray[np.uint8]) -> list[str]:
    """Undo `pack_strings`."""
    try:
        strings = json.loads(np.asarray(packed, np.uint8).tobytes().decode("ascii"))
    except (ValueError, TypeError, RecursionError):
        strings = None
    if not isinstance(strings, list) or not all(isinstance(s, str) for s in strings):
        raise ModelFileError(
            "an array of the model file does not hold a list of strings, as expected"
        )
    return strings


def _spell(manifest: Mapping[str, Any]) -> str:
    try:
        text = canonical(dict(manifest))
        parse_json(text, "manifest")
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the manifest cannot be written as JSON: {error!s:.200}") from None
    return text


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return little.reshape(-1).view(np.uint8).data


@contextlib.contextmanager
def _open(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    # checked before opening: opening a pipe would wait for a writer
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{os.fspath(path)} is not a regular file")
    with open(path, "rb") as file:
        yield file


@contextlib.contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except ModelFileError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None


def _read_header(file: BinaryIO) -> Header:
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise DamagedFileError(f"not a bayou model file: it has only {size} bytes")
    length = int.from_bytes(file.read(8), "little")
    if length > MAX_HEADER:
        raise DamagedFileError("not a bayou model file: its first bytes are not a header length")
    if length > size - 8:
        raise DamagedFileError(
            f"not a bayou model file, or a truncated one: its header would end at byte {length + 8}, "
            f"the file has {size}"
        )
    raw = file.read(length)
    if len(raw) != length:
        raise DamagedFileError("the file ends in the middle of its header")
    return decode(raw, size - 8 - length)


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        raise ModelFileError(f"an array of shape {shape} does not fit in memory") from None


def _read_into(file: BinaryIO, raw: npt.NDArray[np.uint8]) -> None:
    if raw.size and file.readinto(raw.data) != raw.size:  # type: ignore[attr-defined]
        raise DamagedFileError("the file ends in the middle of an array")


def _check_digest(found: str, header: Header) -> None:
    if found != header.digest:
        raise DamagedFileError(
            "the contents do not match their SHA-256 digest: the file was damaged or changed "
            "after it was written; restore it from a copy or save the model again"
        )
