"""SHA-256 of values and of model files, independent of where classes are defined."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import issparse


def of_bytes(data):
    return hashlib.sha256(data).hexdigest()


def of_value(value):
    """A digest of type, shape and every bit of numbers, arrays, containers and plain objects."""
    digest = hashlib.sha256()
    for part in _parts(value):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def attempt(work):
    """What ``work`` gives as a digest, or the type of the error that it raises."""
    try:
        return of_value(work())
    except Exception as error:
        return failure(error)


def failure(error):
    return f"error: {type(error).__name__}"


def of_file(path):
    """Digests of a model file: of all bytes, of the arrays and of the manifest.

    The file is safetensors: eight bytes with the length of the header, the header as JSON, the
    arrays. The manifest is a JSON text in the header; the version of bayou is left out of its
    digest. The checkpoint of a stream holds the inode of a file, so its bytes differ from run to
    run: of such a file, the arrays and the manifest without the inode are all that is recorded.
    """
    data = Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    manifest = json.loads(header.pop("__metadata__")["manifest"])
    arrays = {}
    for name, about in header.items():
        lo, hi = about["data_offsets"]
        arrays[name] = (about["dtype"], about["shape"], data[end + lo : end + hi])
    out = {"arrays": of_value(arrays), "manifest": of_value(_settled(manifest))}
    return out if "stream" in manifest else {"file": of_bytes(data), **out}


def _settled(value):
    """A manifest without the version of bayou and without inodes, the last entry of a place."""
    if not isinstance(value, dict):
        return value
    kept = {k: _settled(v) for k, v in value.items() if k != "bayou"}
    return kept | ({"place": kept["place"][:-1]} if "place" in kept else {})


def _parts(value):
    if value is None or isinstance(value, bool | int | str):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, np.generic):
        yield from _array(np.asarray(value), "scalar")
    elif isinstance(value, float):
        yield f"float {value.hex()}".encode()
    elif isinstance(value, bytes):
        yield b"bytes"
        yield value
    elif isinstance(value, np.ndarray):
        yield from _array(value, "array")
    elif issparse(value):
        rows = value.tocsr()
        yield f"sparse {value.format} {value.shape}".encode()
        for part in (rows.indptr, rows.indices, rows.data):
            yield from _array(part, "array")
    elif isinstance(value, Mapping):
        yield from _fields("mapping", sorted(value.items(), key=repr))
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        yield from _fields("fields", value._asdict().items())
    elif dataclasses.is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        yield from _fields("fields", pairs)
    elif isinstance(value, set | frozenset):
        yield from _items("set", sorted(value, key=repr))
    elif isinstance(value, Iterable):
        yield from _items("tuple" if isinstance(value, tuple) else "list", value)
    else:
        raise TypeError(f"no digest of {type(value).__name__}")


def _array(array, kind):
    yield f"{kind} {array.dtype.str} {array.shape}".encode()
    if array.dtype == object:
        for item in array.ravel().tolist():
            yield from _parts(item)
    else:
        yield np.ascontiguousarray(array).tobytes()


def _fields(kind, pairs):
    yield kind.encode()
    for name, value in pairs:
        yield from _parts(name)
        yield from _parts(value)
    yield b"end"


def _items(kind, values):
    yield kind.encode()
    for value in values:
        yield from _parts(value)
    yield b"end"
