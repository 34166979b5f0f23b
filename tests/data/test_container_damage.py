"""Every way to damage or forge a model file ends in `ModelFileError`."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from bayou.data import ModelFileError, header
from bayou.data.container import load, peek, save


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.bayou"
    arrays = {
        "topics": np.arange(12, dtype=np.float32).reshape(3, 4),
        "weights": np.linspace(0, 1, 5),
        "mask": np.array([True, False, True]),
        "indptr": np.array([0, 2, 5], np.int64),
        "empty": np.zeros((0, 7), np.int8),
    }
    save(path, arrays, {"kind": "test", "params": {"alpha": 0.1, "names": ["ä", "b"]}})
    return path


def _mutations(original: bytes, n: int):
    rng = np.random.default_rng(7)
    size = len(original)
    head = 8 + int.from_bytes(original[:8], "little")
    for i in range(n):
        raw = bytearray(original)
        a, b = sorted(int(x) for x in rng.integers(0, size, 2))
        match i % 8:
            case 0:  # one bit anywhere
                raw[a] ^= 1 << int(rng.integers(8))
            case 1:  # one byte of the header
                raw[int(rng.integers(0, head))] = int(rng.integers(256))
            case 2:  # cut
                del raw[a:]
            case 3:  # insert
                raw[a:a] = rng.bytes(int(rng.integers(1, 20)))
            case 4:  # remove a piece
                del raw[a : a + int(rng.integers(1, 20))]
            case 5:  # swap two ranges
                n_swap = int(rng.integers(1, 16))
                if b + n_swap <= size and a + n_swap <= b:
                    raw[a : a + n_swap], raw[b : b + n_swap] = (
                        raw[b : b + n_swap],
                        raw[a : a + n_swap],
                    )
            case 6:  # edit a digit of the header: shapes, offsets, version, digest
                digits = [j for j in range(8, head) if chr(raw[j]).isdigit()]
                raw[int(rng.choice(digits))] = int(rng.integers(48, 58))
            case 7:  # append
                raw += rng.bytes(int(rng.integers(1, 9)))
        if raw != original:
            yield bytes(raw)


def test_ten_thousand_damaged_files(tmp_path, saved):
    shm = Path("/dev/shm")
    path = (shm if shm.is_dir() and os.access(shm, os.W_OK) else tmp_path) / (
        f"bayou-test-{os.getpid()}"
    )
    tried = 0
    try:
        for raw in _mutations(saved.read_bytes(), 12_000):
            path.write_bytes(raw)
            with pytest.raises(ModelFileError):
                load(path)
            with pytest.raises(ModelFileError):
                peek(path, verify=True)
            tried += 1
    finally:
        path.unlink(missing_ok=True)
    assert tried >= 10_000


def test_every_single_byte_matters(tmp_path, saved):
    original = saved.read_bytes()
    path = tmp_path / "damaged"
    for i in range(len(original)):
        raw = bytearray(original)
        raw[i] ^= 0x20  # also turns the case of letters
        path.write_bytes(raw)
        with pytest.raises(ModelFileError):
            load(path)
        path.write_bytes(original[:i])
        with pytest.raises(ModelFileError):
            load(path)


# Forgeries have a header of the forger's choice and a digest that is right.


def _forge(path, fields, data=b"", *, text=None, meta=None):
    meta = {
        "format": "bayou",
        "format_version": "1",
        "manifest": "{}",
        "sha256": "0" * 64,
    } | (meta or {})
    if text is None:
        text = header.canonical(fields | {"__metadata__": meta}).encode()
    text += b" " * (-len(text) % 8)
    raw = len(text).to_bytes(8, "little") + text + data
    digest = hashlib.sha256(raw).hexdigest().encode()
    path.write_bytes(raw.replace(b"0" * 64, digest))
    return path


def _entry(shape, start, end, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def test_an_honest_forgery_loads(tmp_path):
    path = _forge(tmp_path / "f", {"a": _entry([2], 0, 2), "b": _entry([1], 2, 3)}, b"abc")
    arrays, _ = load(path)
    assert arrays["a"].tolist() == [97, 98]


@pytest.mark.parametrize(
    ("fields", "data", "why"),
    [
        ({"a": _entry([2**62, 2**62], 0, 8)}, b"x" * 8, "match its shape"),
        ({"a": _entry([2**40], 0, 2**40)}, b"x" * 8, "describes"),
        ({"a": _entry([2**70], 0, 8)}, b"x" * 8, "invalid shape"),
        ({"a": _entry([-1], 0, 8)}, b"x" * 8, "invalid shape"),
        ({"a": _entry([8.0], 0, 8)}, b"x" * 8, "invalid shape"),
        ({"a": _entry([True], 0, 1)}, b"x", "invalid shape"),
        ({"a": _entry(["8"], 0, 8)}, b"x" * 8, "invalid shape"),
        ({"a": _entry(None, 0, 8)}, b"x" * 8, "invalid shape"),
        ({"a": _entry([1] * 40, 0, 1)}, b"x", "invalid shape"),
        ({"a": _entry([0, 2**62, 2**62], 0, 0)}, b"", "memory"),
        ({"a": _entry([8], 8, 0)}, b"x" * 8, "match its shape"),
        ({"a": _entry([8], -8, 0)}, b"x" * 8, "invalid offsets"),
        ({"a": _entry([4], 0, 4), "b": _entry([4], 2, 6)}, b"x" * 6, "overlaps"),
        ({"a": _entry([4], 0, 4), "b": _entry([4], 0, 4)}, b"x" * 4, "overlaps"),
        ({"a": _entry([2], 0, 2), "b": _entry([2], 4, 6)}, b"x" * 6, "gap"),
        ({"a": _entry([4], 0, 4)}, b"x" * 6, "describes"),
        ({"a": _entry([4], 0, 4)}, b"x" * 2, "describes"),
        ({"a": _entry([1], 0, 1, "I4")}, b"x", "unknown dtype"),
        ({"a": _entry([1], 0, 2, "BF16")}, b"xx", "unknown dtype"),
        ({"a": _entry([1], 0, 1, ["U8"])}, b"x", "unknown dtype"),
        ({"a": _entry([1], 0, 8, "F64") | {"more": 1}}, b"x" * 8, "must be described"),
        ({"a": [1, 2]}, b"", "must be described"),
        ({"a": _entry([2], 0, 2, "BOOL")}, b"\x01\x02", "other than 0 and 1"),
        ({"a b": _entry([1], 0, 1)}, b"x", "not a valid array name"),
        ({"": _entry([1], 0, 1)}, b"x", "not a valid array name"),
        ({f"n{i}": _entry([0], 0, 0) for i in range(100_000)}, b"", "100000 arrays"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_entries(tmp_path, fields, data, why):
    with pytest.raises(ModelFileError, match=why):
        load(_forge(tmp_path / "f", fields, data))


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({"format": "other"}, "not a bayou"),
        ({"format_version": "2"}, "newer bayou.*upgrade"),
        ({"format_version": "0"}, "unknown file format version"),
        ({"format_version": 1}, "unknown file format version"),
        ({"manifest": "[]"}, "manifest is not a JSON object"),
        ({"manifest": "{"}, "manifest is not valid JSON"),
        ({"manifest": '{"a":1,"a":2}'}, "twice"),
        ({"manifest": '{"a":NaN}'}, "NaN is not JSON"),
        ({"manifest": "[" * 100_000}, "manifest is not valid JSON"),
        ({"manifest": None}, "no manifest"),
        ({"extra": "1"}, "unknown fields"),
        ({"sha256": "0" * 63}, "no SHA-256"),
        ({"sha256": "0" * 63 + "G"}, "no SHA-256"),
    ],
)
def test_hostile_metadata(tmp_path, meta, why):
    with pytest.raises(ModelFileError, match=why):
        load(_forge(tmp_path / "f", {}, meta=meta))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[" * 200_000, "not valid JSON"),
        (b'{"a":' * 200_000, "not valid JSON"),
        (b"{}", "not a bayou"),
        (b"[]", "not a JSON object"),
        (b"", "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b'{"a":1,"a":1}', "twice"),
        (b'{"a":' + b"9" * 5000 + b"}", "not valid JSON"),
        (
            b'{ "__metadata__":{"format":"bayou","format_version":"1","manifest":"{}",'
            b'"sha256":"' + b"0" * 64 + b'"}}',
            "form that bayou writes",
        ),
        (
            b'{"__metadata__":{"format":"bayou","format_version":"1","format_version":"1",'
            b'"manifest":"{}","sha256":"' + b"0" * 64 + b'"}}',
            "twice",
        ),
    ],
    ids=range(10),
)
def test_hostile_header_text(tmp_path, text, why):
    with pytest.raises(ModelFileError, match=why):
        load(_forge(tmp_path / "f", {}, text=text))


@pytest.mark.parametrize("length", [0, 9, 2**24 + 1, 2**63, 2**64 - 1])
def test_hostile_header_length(tmp_path, length):
    path = tmp_path / "f"
    path.write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelFileError):
        load(path)


def test_edited_headers_with_a_right_digest(tmp_path, saved):
    """A forger who recomputes the digest gets an error or arrays of the right size, no crash."""
    original = saved.read_bytes()
    head = 8 + int.from_bytes(original[:8], "little")
    place = original.index(b'"sha256":"') + len(b'"sha256":"')
    rng = np.random.default_rng(3)
    loaded = 0
    for _ in range(2_000):
        raw = bytearray(original)
        for at in rng.integers(8, head, int(rng.integers(1, 4))):
            raw[at] = int(rng.choice(list(b'0123456789"[]{},:FIUBabc ')))
        raw[place : place + 64] = b"0" * 64
        raw[place : place + 64] = hashlib.sha256(raw).hexdigest().encode()
        path = tmp_path / "forged"
        path.write_bytes(raw)
        try:
            arrays, _ = load(path)
        except ModelFileError:
            continue
        loaded += 1
        assert sum(array.nbytes for array in arrays.values()) == len(original) - head
    assert 0 < loaded < 1_000
